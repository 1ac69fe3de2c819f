"""Distances from records to a point, the nearest records, and means, shared by the classical kernels.

Distances are squared and summed in the order of the columns. Every engine and every reference implementation
therefore gets the same bits and the same ties. Records are held column by column (`columns[c, p]`), so that the
distances of many records are computed at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import inner
from shoal.engine.kernels.heap import offer

BLOCK = 512  # records whose distances are summed together: the sums stay in the fastest cache


@inner
def distances_to(columns: Any, first: int, last: int, point: Any, out: Any) -> None:
    """Write the squared distances of the records first..last-1 to a point into `out`."""
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        sums = out[start:stop]  # slices indexed from 0: the compiler vectorizes only these
        sums[:] = 0.0
        for c in range(columns.shape[0]):
            x = point[c]
            column = columns[c, start:stop]
            for p in range(sums.size):
                difference = column[p] - x
                sums[p] += difference * difference


@inner
def keep_nearest(distances: Any, rows: Any, count: int, far: Any, nearest: Any) -> int:
    """Fill a heap with the rows of the smallest finite distances among `count`, ties to the lowest row.

    The heap is `far` and `nearest`, with the farthest at the root. Returns the number of rows that it holds: fewer than
    far.size if there are not as many.
    """
    size = 0
    for p in range(count):
        if distances[p] < np.inf and (size < far.size or distances[p] <= far[0]):
            size = offer(far, nearest, size, distances[p], rows[p])
    return size


@inner
def weighted_mean(values: Any, weights: Any, out: Any) -> None:
    """Write the weighted mean of all rows, summed around the first row so that an offset costs no digits."""
    n, d = values.shape
    total = 0.0
    for i in range(n):
        total += weights[i]
    for c in range(d):
        origin = values[0, c]
        sum_ = 0.0
        for i in range(n):
            sum_ += weights[i] * (values[i, c] - origin)
        out[c] = origin + sum_ / total
