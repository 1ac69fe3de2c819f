"""Random projection trees: cut a file into leaves of near records in near-linear time (Dasgupta and Freund 2008).

A node is cut at the median of its records' projections onto the line through two of them. These two are the farthest
apart of a few random pairs, so that the cut follows the spread of the data. A leaf is a run in the order of records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import kernel
from shoal.engine.kernels.distance import squared
from shoal.engine.kernels.quickselect import select_middle
from shoal.engine.kernels.randomness import below


@kernel("int32[::1](float64[:, ::1], int32[::1], int64, uint64[::1])")
def cut(x: Floats, order: Indices, leaf: int, random_state: NDArray[np.uint64]) -> Indices:
    """Reorder the records into leaves of at most `leaf`; return the first position of each leaf, and the end."""
    n, width = order.size, x.shape[1]
    key = np.empty(n)
    line = np.empty(width)
    starts = np.empty(n + 1, dtype=np.int32)
    count = 0
    stack = np.empty((128, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    height = 1
    while height > 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        if last - first <= leaf:
            starts[count] = first
            count += 1
            continue
        far, one, other = -1.0, 0, 0
        for _ in range(5):
            i = order[first + below(random_state, last - first)]
            j = order[first + below(random_state, last - first)]
            gap = squared(x, i, x, j)
            if gap > far:
                far, one, other = gap, i, j
        for c in range(width):
            line[c] = x[one, c] - x[other, c]
        for p in range(first, last):
            total = 0.0
            for c in range(width):
                total += line[c] * x[order[p], c]
            key[p] = total
        middle = (first + last) // 2
        select_middle(key, order, first, last, middle)
        stack[height, 0], stack[height, 1] = middle, last
        stack[height + 1, 0], stack[height + 1, 1] = first, middle
        height += 2
    starts[count] = n
    return starts[: count + 1].copy()
