"""What every search over k-partitions computes once: neighbour lists and local scales of the records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import compile_missing
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.groups import Groups, build_state, claim, empty_groups, refresh_state
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.kernels.rebuild import rebuild_groups
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError

TILT = 0.35  # the visits of a record grow with this power of its local scale
VISITS_PER_RECORD = 8  # on average
HOTTEST = 1e300


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """The records as a search reads them.

    near: the nearest records of each. local_scale: the scale of the loss around each record. visit_weight: the sampling
    weight of each record. visits: record indices repeated by weight. smallest_gain: gains below it are rounding.
    """

    loss: GroupLoss
    near: Indices
    local_scale: Floats
    visit_weight: Floats
    visits: Indices
    smallest_gain: float

    @cached_property
    def n(self) -> int:
        return self.loss.n

    @property
    def k(self) -> int:
        return self.loss.k

    @property
    def marker(self) -> Any:
        """The marker that chooses the loss in a kernel."""
        return self.loss.marker

    def state(self, labels: NDArray[Any]) -> tuple[Groups, float]:
        """Return the state of the search at a partition into groups of k to `most`, and its loss."""
        loss = self.loss
        g = empty_groups(loss.records, loss.weights, loss.k, loss.most, loss.width, loss.summary_type)
        g.label[:] = labels
        return g, float(build_state(loss.marker, g))


def search_kernels(
    marker: Any, records: NDArray[Any] | None = None, summary_type: Any = np.float64, is_rebuilt: bool = False
) -> list[tuple[Any, ...]]:
    """Return the kernels that every search over partitions calls, with the arguments that their form depends on.

    Args:
        records: An example of the records, if they are not floats.
        summary_type: The type of the numbers of a group.
        is_rebuilt: Whether the search rebuilds whole groups.
    """
    dtype = None if records is None else records.dtype
    groups = empty_groups(np.zeros((4, 4), dtype), np.ones(4), 2, 3, 4, summary_type)
    entries = (rebuild_groups, build_state) if is_rebuilt else (anneal, sweep, build_state, refresh_state)
    return [(claim, groups), *((entry, marker, groups) for entry in entries)]


def prepare(loss: GroupLoss) -> None:
    """Compile the kernels of a search with the loss that are not in the cache, all at once."""
    compile_missing(
        *search_kernels(loss.marker, np.empty(0, loss.record_type), loss.summary_type, loss.is_rebuilt), *loss.kernels()
    )


def search_space(loss: GroupLoss, *, seed: int = 0, threads: int | None = None) -> SearchSpace:
    """Return the neighbours and the local scales of the records."""
    near, scale = loss.neighbours(max(12, loss.k + 5), seed=seed, threads=threads or 1)
    mean = float(scale.mean())
    # A gain below this is rounding: a search that counted it could repeat moves forever.
    smallest_gain = 1e-11 * mean + loss.rounding + 1e-300
    # Among duplicates the scale is 0; a small share of the mean lets them move. An infinite change means "forbidden",
    # so no temperature may be infinite.
    local_scale = np.clip(scale, 1e-6 * mean, HOTTEST)
    # Possible gains grow with the scale. If all records are equal or a cost overflows, all get the same weight.
    most = float(local_scale.max())
    visit_weight = (local_scale / most) ** TILT if 0.0 < most < np.inf else np.ones(local_scale.size)
    return SearchSpace(loss, near, local_scale, visit_weight, repeated_by_weight(visit_weight), smallest_gain)


def repeated_by_weight(visit_weight: Floats) -> Indices:
    """Return the index of each record, repeated by its weight: at least once, VISITS_PER_RECORD times on average."""
    times = np.maximum(1, np.rint(VISITS_PER_RECORD * visit_weight / visit_weight.mean()))
    return np.repeat(np.arange(visit_weight.size, dtype=np.int32), times.astype(np.int64))


def visits_of(visits: Indices, first: int, last: int) -> Indices:
    """Return the visits of the records first .. last - 1."""
    ends = np.array([first, last], dtype=visits.dtype)  # with another type, NumPy would copy all visits first
    return visits[slice(*np.searchsorted(visits, ends))]


def random_state_of(seed: int, *place: int) -> int:
    """Return the 64-bit random state of one search: a function of the user's seed and the place of the search only."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0])


def without_oversized(loss: GroupLoss, partition: KPartition) -> KPartition:
    """Return the partition with every group of more than `most` records split by the loss's first partition."""
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
    """Return the partition. Raise UsageError if it has another number of records."""
    if partition.n != n:
        raise UsageError(
            f"The partition has {partition.n} records, but there are {n} records of values. Pass the values that the "
            "partition was made from."
        )
    return partition
