"""The sums of squares of microaggregation: information loss is 100 * SSE / SST (docs/reference/measures.md).

SSE is the sum over groups and records of the squared distance to the group's centroid, and SST is that of one group of
all records. `SquaredError` has two more sums, of single groups. All of them round differently.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, in_slices
from shoal.engine.partition.partition import KPartition


def sse_of(partition: KPartition, values: Floats, weights: Floats | None = None) -> float:
    """Return SSE."""
    centroids = partition.centroids(values, weights)
    values, labels = np.asarray(values, dtype=np.float64).reshape(partition.n, -1), partition.labels
    parts = [((values[rows] - centroids[labels[rows]]) ** 2).sum(axis=1) for rows in in_slices(partition.n)]
    squares = np.concatenate(parts)
    return float(squares.sum() if weights is None else (weights * squares).sum())


def as_optimal(partition: KPartition, values: Floats, weights: Floats | None = None) -> KPartition:
    """Return the partition with the facts of a proof: its method ends at the optimum by its construction."""
    sse = sse_of(partition, values, weights)
    return KPartition(partition.labels, {**partition.facts, "lower_bound": sse, "gap": 0.0, "proved": True})


def sse_by_column(partition: KPartition, values: Floats, weights: Floats | None = None) -> float:
    """Return SSE, summed column by column, so that a large file needs no second matrix."""
    labels, mass = partition.labels, np.bincount(partition.labels, weights)
    sse = 0.0
    for j in range(values.shape[1]):
        column = np.ascontiguousarray(values[:, j])
        mean = np.bincount(labels, column if weights is None else weights * column) / mass
        squares = (column - mean[labels]) ** 2
        sse += float(squares.sum() if weights is None else (weights * squares).sum())
    return sse


def total_squares(values: Floats, weights: Floats | None = None) -> float:
    """Return SST."""
    values = np.asarray(values, dtype=np.float64)
    mean = np.average(values, axis=0, weights=weights)
    squares = np.concatenate([((values[rows] - mean) ** 2).sum(axis=1) for rows in in_slices(len(values))])
    return float(squares.sum() if weights is None else (weights * squares).sum())
