"""What every search over k-partitions needs once: the loss, neighbour lists, the local scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import compile_missing
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.groups import Groups, claim, empty_groups, renew, start
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError

TILT = 0.35  # the power of its scale that a record's turns grow with
TURNS = 8  # of a record on average
HOTTEST = 1e300


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """The records as a search sees them.

    `heat` is each record's own scale of loss, `often` how often it is to be looked at and `turns` its number as often,
    `least` does not count.
    """

    loss: GroupLoss
    near: Indices
    heat: Floats
    often: Floats
    turns: Indices
    least: float

    @property
    def n(self) -> int:
        return self.loss.n

    @property
    def k(self) -> int:
        return self.loss.k

    @property
    def marker(self) -> Any:
        """What chooses the loss in a kernel."""
        return self.loss.marker

    def state(self, labels: NDArray[Any]) -> tuple[Groups, float]:
        """The state of the search at a partition of groups of k to `most`, and its loss."""
        loss = self.loss
        g = empty_groups(loss.records, loss.weights, loss.k, loss.most, loss.width)
        g.label[:] = labels
        return g, float(start(loss.marker, g))


def search_kernels(marker: Any, records: NDArray[Any] | None = None) -> list[tuple[Any, ...]]:
    """The kernels that every search over partitions calls, with the arguments that their form depends on.

    records: an example of them where they are not floats.
    """
    groups = empty_groups(np.zeros((4, 4), None if records is None else records.dtype), np.ones(4), 2, 3, 4)
    return [(claim, groups), *((entry, marker, groups) for entry in (anneal, sweep, start, renew))]


def prepare(loss: GroupLoss) -> None:
    """Compile what a search with the loss calls, all at once, if it is not in the cache."""
    compile_missing(*search_kernels(loss.marker, loss.records), *loss.kernels())


def search_space(loss: GroupLoss, *, seed: int = 0, threads: int | None = None) -> SearchSpace:
    """Find the neighbours and the local scale of the records."""
    near, scale = loss.neighbours(max(12, loss.k + 5), seed=seed, threads=threads or 1)
    mean = float(scale.mean())
    # Among duplicates the scale is nothing; a small share of the mean lets them move at all.
    # A gain below this is rounding: counting it could go round in circles for ever.
    least = 1e-11 * mean + loss.rounding + 1e-300
    # An infinite change is forbidden, so no temperature may be infinite.
    heat = np.clip(scale, 1e-6 * mean, HOTTEST)
    # What there is to gain grows with the scale. Where all is equal or a cost overflows, there is none.
    most = float(heat.max())
    often = (heat / most) ** TILT if 0.0 < most < np.inf else np.ones(heat.size)
    return SearchSpace(loss, near, heat, often, turns(often), least)


def turns(often: Floats) -> Indices:
    """Each record's number in order, TURNS times on average, as often as the weights say, and at least once."""
    times = np.maximum(1, np.rint(TURNS * often / often.mean()))
    return np.repeat(np.arange(often.size, dtype=np.int32), times.astype(np.int64))


def turns_of(turns: Indices, first: int, last: int) -> Indices:
    """Of the turns those of the records first .. last - 1."""
    ends = np.array([first, last], dtype=turns.dtype)  # of another type, NumPy would copy all turns first
    return turns[slice(*np.searchsorted(turns, ends))]


def random_word(seed: int, *place: int) -> int:
    """A 64-bit seed for one search, a function of the user's seed and the search's place alone."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0])


def without_oversized(loss: GroupLoss, partition: KPartition) -> KPartition:
    """The partition with every group that is too large split as a file of its own."""
    partition.check(loss.k)
    big = np.flatnonzero(partition.sizes > loss.most)
    if big.size == 0:
        return partition
    labels = partition.labels.copy()
    members = partition.members()
    fresh = partition.groups
    for group in big:
        rows = members[group]
        part = loss.part(rows).first()
        labels[rows] = np.where(part.labels == 0, group, fresh - 1 + part.labels)
        fresh += part.groups - 1
    return KPartition(labels, partition.facts)


def check_start(partition: KPartition, n: int) -> KPartition:
    """The partition, if it is one of these records."""
    if partition.n != n:
        raise UsageError(
            f"the partition is of {partition.n} records, the values have {n}: give the partition's own values"
        )
    return partition
