"""The methods that search: their options, and how a search over partitions becomes a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.protections.microaggregation.squared_error import SquaredError


@dataclass(frozen=True)
class SearchMethod:
    """A method that minimizes the loss of the groups by a search: by default the squared error."""

    search: Callable[[GroupLoss, Control, SearchSettings], KPartition]

    def __call__(
        self,
        values: Floats,
        k: int,
        *,
        weights: Floats | None = None,
        seed: int = 0,
        effort: str = "standard",
        seconds: float | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
        control: Control | None = None,
        loss: GroupLoss | None = None,
    ) -> KPartition:
        """Return the best partition that the search finds.

        Args:
            seconds: The time limit. After it the search returns the best partition so far.
            checkpoint: The file that keeps the state of the search.
            resume: Whether to continue from the checkpoint.
            loss: The loss to minimize, instead of the squared error of the values.
        """
        settings = SearchSettings(seed, effort, checkpoint, resume)
        loss = SquaredError(values, k, weights) if loss is None else loss
        return self.search(loss, (control or current()).part(seconds=seconds), settings)
