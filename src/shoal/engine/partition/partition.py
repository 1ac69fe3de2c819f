"""A k-partition: the groups of the records, with their members, means and medians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import PromiseError, UsageError


@dataclass(frozen=True, eq=False)
class KPartition:
    """Groups of records. Labels run from 0, numbered by each group's first record.

    `facts` says how the partition was found (an engine, a chosen gamma, the stages of a search).
    """

    labels: Ints
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        if labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in "iu":
            raise UsageError("Labels must be a non-empty list of whole numbers, one per record.")
        if labels.min() < 0:
            raise UsageError(
                f"Every record must be in a group, but record {int(labels.argmin())} (counted from 0) is in none."
            )
        object.__setattr__(self, "labels", by_first_record(labels))
        self.labels.flags.writeable = False

    @property
    def n(self) -> int:
        return int(self.labels.size)

    @property
    def groups(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.labels, minlength=self.groups).astype(np.int64)

    def members(self) -> list[Ints]:
        """Return the records of each group, in their order."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(self.sizes)[:-1])

    def centroids(self, values: Floats, weights: Floats | None = None) -> Floats:
        """Return the (weighted) mean of each group."""
        values = _matrix(values, self.n)
        weigh = np.ones(self.n) if weights is None else weights
        totals = np.bincount(self.labels, weights=weigh, minlength=self.groups)
        means = np.empty((self.groups, values.shape[1]))
        for j, origin in enumerate(_origins(values)):
            sums = np.bincount(self.labels, weights=weigh * (values[:, j] - origin), minlength=self.groups)
            means[:, j] = origin + sums / totals
        # Rounding must not move a mean out of the range of its group: a group of equal values keeps that value.
        order = np.argsort(self.labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        for j in range(values.shape[1]):  # column by column, so that a large file is not copied
            inside = values[order, j]
            means[:, j] = np.clip(means[:, j], np.minimum.reduceat(inside, starts), np.maximum.reduceat(inside, starts))
        return means

    def medians(self, values: Floats) -> Floats:
        """Return the median of each group, column by column."""
        values = _matrix(values, self.n)
        return np.array([np.median(values[rows], axis=0) for rows in self.members()])

    def check(self, k: int) -> KPartition:
        """Return the partition. Raise PromiseError if a group has fewer than k records."""
        small = np.flatnonzero(self.sizes < k)
        if small.size:
            first = int(np.flatnonzero(self.labels == small[0])[0])
            raise PromiseError(
                f"{small.size} of {self.groups} groups have fewer than k = {k} records. The first one, of record "
                f"{first} (counted from 0), has {int(self.sizes[small[0]])}."
            )
        return self


def by_first_record(labels: NDArray[Any]) -> Ints:
    """Return the same groups, numbered from 0 in the order of their first records.

    >>> by_first_record(np.array([7, 3, 7, 1]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse.reshape(-1)]


def _origins(values: Floats) -> Floats:
    """Return the origin of each column's sums: 0, or near the mean if an offset would cost digits of a small spread.

    From 0 the mean of whole numbers is their sum divided once: 45.4, not 45.400000000000006.
    """
    middle, width = values.mean(axis=0), np.ptp(values, axis=0)
    step = np.exp2(np.floor(np.log2(np.where(width > 0, width, 1.0))))
    return np.where(np.abs(middle) <= 1024 * width, 0.0, np.rint(middle / step) * step)


def _matrix(values: Floats, n: int) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] != n:
        raise UsageError(f"The values must be an array of {n} rows, not of shape {values.shape}.")
    return values
