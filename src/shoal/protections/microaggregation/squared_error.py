"""The loss of microaggregation as the search over partitions takes it: weighted SSE (docs/reference/measures.md)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.prefetch import filled
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.kernels.groups import Groups, padded
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.neighbours import leaves, neighbour_kernels, neighbour_lists
from shoal.engine.partition.partition import KPartition
from shoal.protections.microaggregation.effort import large_proposals, proposals
from shoal.protections.microaggregation.kernels.pricing import Priced
from shoal.protections.microaggregation.kernels.squares import Squares
from shoal.protections.microaggregation.kernels.variants import variants
from shoal.protections.microaggregation.methods.mdav import engine_kernel, mdav
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares


class SquaredError(GroupLoss):
    """The sum of squared distances to the centroids; a group of 2k or more never costs less than its parts.

    There are three sums that round differently: of a partition, of its groups, and of groups that overlap.
    """

    first_name = "mdav"
    looks_around = True

    def __init__(
        self,
        values: Floats,
        k: int,
        weights: Floats | None = None,
        *,
        origin: NDArray[Any] | None = None,
        may_overwrite: bool = False,
    ) -> None:
        """Hold the records; may_overwrite: whether a search may change the array of values, which saves a copy."""
        self.marker = Squares()
        self.values = as_rows(values)
        self.may_overwrite = may_overwrite
        self._n = len(self.values)
        self.k, self.most = k, 2 * k - 1
        self.width = -(-self.values.shape[1] // 4) * 4
        self.weights = as_weights(weights, len(self.values))
        self.weighting = None if weights is None else self.weights
        self._origin = origin

    @cached_property
    def origin(self) -> NDArray[Any]:
        """The origin of the values: with a large offset, differences to centroids would lose digits."""
        return self.values.mean(axis=0) if self._origin is None else self._origin

    @cached_property
    def records(self) -> Floats:  # type: ignore[override]
        x = filled((self.n, self.width), 0.0)
        np.subtract(self.values, self.origin, out=x[:, : self.values.shape[1]])
        return x

    @property
    def n(self) -> int:
        return self._n

    @property
    def record_type(self) -> Any:
        return np.float64

    @property
    def total(self) -> float:
        return total_squares(self.values, self.weighting)

    @property
    def rounding(self) -> float:
        squares = self.records**2
        squares *= self.weights[:, None]
        return 1e-14 * float(squares.sum() / self.n)

    @property
    def identity(self) -> Sequence[NDArray[Any]]:
        return (self.values,) if self.weighting is None else (self.values, self.weighting)

    def of(self, partition: KPartition) -> float:
        return sse_of(partition, self.values, self.weighting)

    def costs(self, labels: NDArray[Any]) -> Floats:
        w, x = self.weights, self.records
        mass = np.bincount(labels, w)
        mass[mass == 0.0] = 1.0  # group numbers without a group
        sums = np.array([np.bincount(labels, w * column) for column in x.T])
        squares = w * ((x - (sums / mass).T[labels]) ** 2).sum(axis=1)
        return np.asarray(np.bincount(labels, squares), dtype=np.float64)

    def costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        costs = np.empty(len(groups))
        sizes = np.array([g.size for g in groups], dtype=np.int64)
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            rows = np.array([groups[i] for i in which])
            x, w = self.values[rows], self.weights[rows]
            centre = (w[:, :, None] * (x - x[:, :1])).sum(axis=1) / w.sum(axis=1)[:, None] + x[:, 0]
            costs[which] = (w * ((x - centre[:, None]) ** 2).sum(axis=2)).sum(axis=1)
        return costs

    def first(self) -> KPartition:
        return mdav(self.values, self.k, weights=self.weighting)

    def neighbours(self, count: int, *, seed: int, threads: int) -> tuple[Indices, Floats]:
        near, far = neighbour_lists(self.records, count, seed=seed, threads=threads)
        return near, self.weights * far[:, min(self.k, far.shape[1]) - 1]

    def leaves(self, most: int, random_state: int) -> tuple[Indices, Indices]:
        is_padded = self.values.shape[1] == self.width
        return leaves(self.values if is_padded else padded(self.values), most, random_state)

    def points(self, g: Groups) -> Floats:
        return g.summary

    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        return np.asarray(((self.values[others] - self.values[record]) ** 2).sum(axis=1))

    def part(self, rows: Any) -> SquaredError:
        return SquaredError(self.values[rows], self.k, self._weighting_of(rows), origin=self.origin)

    def reordered(self, order: Indices, *, in_place: bool = False) -> SquaredError:
        weighting = self._weighting_of(order)
        if not (in_place and self.may_overwrite):
            return SquaredError(self.values[order], self.k, weighting)
        values = self.values
        for j in range(values.shape[1]):
            values[:, j] = values[order, j]
        del self.values
        return SquaredError(values, self.k, weighting, may_overwrite=True)

    def keep_records_only(self) -> None:
        if self.may_overwrite and self.values.shape[1] == self.width:
            self.__dict__["records"] = np.subtract(self.values, self.origin, out=self.values)
        else:
            _ = self.records
        del self.values

    def _weighting_of(self, rows: Any) -> Floats | None:
        return None if self.weighting is None else self.weighting[rows]

    def proposals(self, effort: str) -> int:
        return proposals(self.n, self.k, effort)

    def large_proposals(self, effort: str) -> int:
        return large_proposals(self.n, effort)

    def kernels(self) -> list[Any]:
        return [*neighbour_kernels(self.n), engine_kernel(*self.values.shape)]

    def variants(
        self, groups: Sequence[NDArray[Any]], near: Indices, duals: Floats, limit: float, count: int
    ) -> list[Indices]:
        rows = np.full((len(groups), self.most), -1, dtype=np.int32)
        rows[np.arange(self.most) < np.array([group.size for group in groups])[:, None]] = np.concatenate(groups)
        variant_groups = Priced.with_room(len(groups) * count, self.most)
        dual = np.ascontiguousarray(duals)
        variants(self.records, self.weights, rows, near, dual, self.k, limit, count, variant_groups)
        return [row[row >= 0] for row in variant_groups.rows[: variant_groups.filled[0]]]
