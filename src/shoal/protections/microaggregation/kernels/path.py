"""Orders of records for the path method: where to begin, and a walk through given groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel
from shoal.protections.microaggregation.kernels.columnwise import distances_to, squared_distance, weighted_mean


@kernel("int64(float64[:, ::1], float64[::1])")
def farthest_from_centroid(values: Any, weights: Any) -> Any:
    """The record farthest from the weighted mean, the lowest row among equals."""
    centre = np.empty(values.shape[1])
    weighted_mean(values, weights, centre)
    distances = np.empty(values.shape[0])
    distances_to(np.ascontiguousarray(values.T), 0, distances.size, centre, distances)
    return np.argmax(distances)


@kernel("void(float64[:, ::1], int64[::1], int64[::1], int64)")
def walk_through(values: Any, rows: Any, sizes: Any, first: int) -> None:
    """Reorder the rows of each group, the groups standing one after the other, so that the closest record comes next.

    The walk begins with the row `first`, which must be in the first group; ties go to the lowest row.
    """
    start, last = 0, first
    for size in sizes:
        for p in range(start, start + size):
            best, least = p, squared_distance(values, rows[p], last)
            for q in range(p, start + size):
                distance = squared_distance(values, rows[q], last)
                if rows[q] == first:
                    distance = -1.0  # before any duplicate of it
                if distance < least or (distance == least and rows[q] < rows[best]):
                    best, least = q, distance
            rows[p], rows[best] = rows[best], rows[p]
            last = rows[p]
        start += size
