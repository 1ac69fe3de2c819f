"""Orders of records for the path method: the first record, and a walk through known groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel
from shoal.engine.kernels.distance import squared_in_order
from shoal.protections.microaggregation.kernels.columnwise import distances_to, weighted_mean


@kernel("int64(float64[:, ::1], float64[::1])")
def farthest_from_centroid(values: Any, weights: Any) -> Any:
    """Return the record farthest from the weighted mean, the lowest row among equals."""
    centre = np.empty(values.shape[1])
    weighted_mean(values, weights, centre)
    distances = np.empty(values.shape[0])
    distances_to(np.ascontiguousarray(values.T), 0, distances.size, centre, distances)
    return np.argmax(distances)


@kernel("void(float64[:, ::1], int64[::1], int64[::1], int64)")
def walk_through(values: Any, rows: Any, sizes: Any, first: int) -> None:
    """Reorder the rows of each group, in the order of the groups, so that the closest record comes next.

    The walk begins with the row `first`, which must be in the first group; ties go to the lowest row.
    """
    start, last = 0, first
    for size in sizes:
        for p in range(start, start + size):
            best, smallest = p, squared_in_order(values, rows[p], values, last)
            for q in range(p, start + size):
                distance = squared_in_order(values, rows[q], values, last)
                if rows[q] == first:
                    distance = -1.0  # nearer than any duplicate of it
                if distance < smallest or (distance == smallest and rows[q] < rows[best]):
                    best, smallest = q, distance
            rows[p], rows[best] = rows[best], rows[p]
            last = rows[p]
        start += size
