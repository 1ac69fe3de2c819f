"""What every search over partitions begins with: its settings, the records in memory order, and its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from shoal.engine.control import Control
from shoal.engine.effort import EFFORTS
from shoal.engine.partition.checkpoint import Checkpoint
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.space import SearchSpace, prepare, random_state_of, search_space
from shoal.engine.partition.windows import memory_order, to_file_order
from shoal.engine.stage import Stage
from shoal.errors import check_choice, check_k


@dataclass(frozen=True)
class SearchSettings:
    """The options of a search. checkpoint: the file that keeps its state. resume: whether to continue from that file.

    Raises UsageError if the effort is unknown.
    """

    seed: int = 0
    effort: str = "standard"
    checkpoint: Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        check_choice("effort", self.effort, EFFORTS)


class PreparedSearch:
    """A search that is ready to start: its options are checked, its kernels compiled, its records in memory order.

    loss: the loss of the records in memory order. total: the loss of one group of all records. leaves: where each leaf
    of the memory order starts. proposals: the work of the whole search.

    Args:
        place: What the random numbers of the memory order depend on besides the seed.
        in_place: Whether the search does not need the loss of the file's order any more.
    """

    def __init__(
        self,
        file_loss: GroupLoss,
        control: Control,
        settings: SearchSettings,
        *,
        method: str,
        proposals: int,
        place: tuple[int, ...] = (),
        in_place: bool = False,
    ) -> None:
        self._started = time.process_time()
        check_k(file_loss.k, file_loss.n)
        options = (method, settings.effort, settings.seed)
        self.checkpoint = Checkpoint(settings.checkpoint, file_loss, options, proposals)
        self.control, self.settings, self.proposals, self.total = control, settings, proposals, file_loss.total
        prepare(file_loss)
        control.stage("", proposals, 100.0 / self.total if self.total > 0 else 1.0)
        self._order, self.leaves = memory_order(file_loss, random_state_of(settings.seed, *place))
        self.loss = file_loss.reordered(self._order, in_place=in_place)

    @cached_property
    def first(self) -> KPartition:
        """The loss's first partition, in memory order."""
        return self.loss.first()

    @cached_property
    def first_loss(self) -> float:
        """The loss of the first partition."""
        return self.loss.of(self.first)

    @property
    def has_nothing_to_improve(self) -> bool:
        """Whether the first partition is the best one: there is only one group, or no loss."""
        return self.loss.n < 2 * self.loss.k or self.first_loss == 0.0

    @cached_property
    def space(self) -> SearchSpace:
        """The neighbours and the local scales of the records."""
        return search_space(self.loss, seed=self.settings.seed, threads=self.control.threads)

    def in_memory_order(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return labels of the records of the file in memory order."""
        return labels[self._order]

    def cpu_seconds(self) -> float:
        """The CPU seconds since the last call, at first since the search was prepared."""
        before, self._started = self._started, time.process_time()
        return self._started - before

    def stage(self, name: str, before: float, after: float) -> Stage:
        """A stage that ends now and began where the last one ended."""
        return Stage(name=name, loss_before=before, loss_after=after, cpu_seconds=self.cpu_seconds())

    def result(self, labels: NDArray[Any], facts: Mapping[str, Any]) -> KPartition:
        """The partition that the labels of the records in memory order make of the file."""
        return KPartition(to_file_order(labels, self._order), facts)
