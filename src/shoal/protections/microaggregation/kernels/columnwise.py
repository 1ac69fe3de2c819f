"""Distances from records to a point, the closest records, and means: what the classical kernels share.

Distances are squared and summed in the order of the columns, so that every engine and every
reference gets the same bits, and ties are ties everywhere. Records are held column by column
(`columns[c, p]`), which lets a distance be taken for many records at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import inner

# Records whose distances are summed together: the sums stay in the fastest cache.
BLOCK = 512


@inner
def squared_distance(values: Any, i: int, j: int) -> float:
    """Between two rows."""
    total = 0.0
    for c in range(values.shape[1]):
        difference = values[i, c] - values[j, c]
        total += difference * difference
    return total


@inner
def distances_to(columns: Any, first: int, last: int, point: Any, out: Any) -> None:
    """Squared distances of the records first..last-1 to a point, into out."""
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        sums = out[start:stop]  # slices indexed from 0: only these are taken several at a time
        sums[:] = 0.0
        for c in range(columns.shape[0]):
            x = point[c]
            column = columns[c, start:stop]
            for p in range(sums.size):
                difference = column[p] - x
                sums[p] += difference * difference


@inner
def _worse(distances: Any, rows: Any, p: int, q: int) -> Any:
    return distances[p] > distances[q] or (distances[p] == distances[q] and rows[p] > rows[q])


@inner
def _sift_up(distances: Any, rows: Any, heap: Any, child: int) -> None:
    while child > 0 and _worse(distances, rows, heap[child], heap[(child - 1) // 2]):
        parent = (child - 1) // 2
        heap[child], heap[parent] = heap[parent], heap[child]
        child = parent


@inner
def _sift_down(distances: Any, rows: Any, heap: Any) -> None:
    parent, child = 0, 1
    while child < heap.size:
        if child + 1 < heap.size and _worse(distances, rows, heap[child + 1], heap[child]):
            child += 1
        if not _worse(distances, rows, heap[child], heap[parent]):
            break
        heap[child], heap[parent] = heap[parent], heap[child]
        parent, child = child, 2 * child + 1


@inner
def keep_smallest(distances: Any, rows: Any, count: int, heap: Any) -> int:
    """Fill heap with the positions of the smallest finite distances among `count`, ties to the lowest row.

    The heap has the worst on top, in no further order. Gives the number kept: fewer than
    heap.size if there are not as many.
    """
    size = 0
    for p in range(count):
        if distances[p] == np.inf:
            continue
        if size < heap.size:
            heap[size] = p
            _sift_up(distances, rows, heap, size)
            size += 1
        elif _worse(distances, rows, heap[0], p):
            heap[0] = p
            _sift_down(distances, rows, heap)
    return size


@inner
def weighted_mean(values: Any, weights: Any, out: Any) -> None:
    """The weighted mean of all rows, summed around the first row so that an offset eats no digits."""
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
