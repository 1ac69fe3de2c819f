"""What every search over k-partitions needs once: padded rows, weights, neighbour lists, the local scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import compile_ahead
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.groups import Groups, claim, empty_groups, padded, renew, start
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.kernels.squares import Squares
from shoal.engine.partition.neighbours import neighbour_kernels, neighbour_lists
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.mdav import engine_kernel, mdav

TILT = 0.35  # the power of its scale that a record's turns grow with
TURNS = 8  # of a record on average
HOTTEST = 1e300


@dataclass(frozen=True, eq=False)
class Space:
    """The records as a search sees them.

    `heat` is each record's own scale of loss, `often` how often it is to be looked at and `turns` its number as often,
    `least` is no gain at all.
    """

    x: Floats
    w: Floats
    k: int
    near: Indices
    heat: Floats
    often: Floats
    turns: Indices
    least: float
    loss: Any

    @property
    def n(self) -> int:
        return int(self.x.shape[0])

    def state(self, labels: NDArray[Any]) -> tuple[Groups, float]:
        """The state of the search at a partition of groups of k to 2k - 1, and its loss."""
        g = empty_groups(self.x, self.w, self.k, 2 * self.k - 1, self.x.shape[1])
        g.label[:] = labels
        return g, float(start(self.loss, g))

    def costs(self, labels: NDArray[Any]) -> Floats:
        """The SSE of each group of a partition; equal to the last bit for equal groups."""
        mass = np.bincount(labels, self.w)
        mass[mass == 0.0] = 1.0  # a number that no group has
        sums = np.array([np.bincount(labels, self.w * column) for column in self.x.T])
        squares = self.w * ((self.x - (sums / mass).T[labels]) ** 2).sum(axis=1)
        return np.asarray(np.bincount(labels, squares), dtype=np.float64)


def search_kernels(loss: Any) -> list[tuple[Any, ...]]:
    """The kernels that every search over partitions calls, with the arguments that their form depends on."""
    groups = empty_groups(np.zeros((4, 4)), np.ones(4), 2, 3, 4)
    return [(claim, groups), *((entry, loss, groups) for entry in (anneal, sweep, start, renew))]


def prepare(n: int, d: int) -> None:
    """Compile what a search of so many records and columns calls, all at once, if it is not in the cache."""
    compile_ahead(*search_kernels(Squares()), *neighbour_kernels(n), engine_kernel(n, d))


def survey(
    values: Floats, k: int, weights: Floats | None = None, *, seed: int = 0, threads: int | None = None
) -> Space:
    """Pad the rows, find the neighbours, and take the local scale: the distance to the k-th neighbour."""
    rows = as_rows(values)
    x = padded(rows - rows.mean(axis=0))  # a large offset would leave differences to centroids few digits
    w = as_weights(weights, x.shape[0])
    near, far = neighbour_lists(x, max(12, k + 5), seed=seed, threads=threads or 1)
    scale = w * far[:, min(k, far.shape[1]) - 1]
    mean = float(scale.mean())
    # Among duplicates the scale is nothing; a small share of the mean lets them move at all.
    # A gain below this is rounding: counting it could go round in circles for ever.
    least = 1e-11 * mean + 1e-14 * float((w[:, None] * x**2).sum() / x.shape[0]) + 1e-300
    # An infinite change is forbidden, so no temperature may be infinite.
    heat = np.clip(scale, 1e-6 * mean, HOTTEST)
    # What there is to gain grows with the scale. Where all is equal or a square overflows, there is none.
    most = float(heat.max())
    often = (heat / most) ** TILT if 0.0 < most < np.inf else np.ones(heat.size)
    return Space(x, w, k, near, heat, often, turns(often), least, Squares())


def turns(often: Floats) -> Indices:
    """Each record's number in order, TURNS times on average, as often as told by comparison, and once at least."""
    times = np.maximum(1, np.rint(TURNS * often / often.mean()))
    return np.repeat(np.arange(often.size, dtype=np.int32), times.astype(np.int64))


def turns_of(turns: Indices, first: int, last: int) -> Indices:
    """Of the turns those of the records first .. last - 1."""
    ends = np.array([first, last], dtype=turns.dtype)  # of another type, NumPy would copy all turns first
    return turns[slice(*np.searchsorted(turns, ends))]


def random_word(seed: int, *place: int) -> int:
    """A 64-bit seed for one search, a function of the user's seed and the search's place alone."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0])


def without_oversized(values: Floats, k: int, partition: KPartition, weights: Floats | None = None) -> KPartition:
    """The partition with every group of 2k or more split by MDAV, which never costs."""
    partition.check(k)
    big = np.flatnonzero(partition.sizes >= 2 * k)
    if big.size == 0:
        return partition
    labels = partition.labels.copy()
    members = partition.members()
    fresh = partition.groups
    for group in big:
        rows = members[group]
        part = mdav(values[rows], k, weights=None if weights is None else weights[rows])
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
