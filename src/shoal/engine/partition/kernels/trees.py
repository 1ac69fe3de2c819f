"""Random projection trees: near-linear cuts of a file into leaves of near records (Dasgupta and Freund 2008).

A node is cut at the median of its records' projections on the line through two of them, the farther apart
of a few random pairs, so that the cut follows the data's spread. A leaf is a run in the order of records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import squared
from shoal.engine.kernels.randomness import below


@inner
def select_middle(key: Floats, order: Indices, first: int, last: int, middle: int) -> None:
    """Put the records of order[first:last] with the smaller keys before `middle` (quickselect, Hoare 1961)."""
    low, high = first, last - 1
    while low < high:
        pivot = key[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel("int32[::1](float64[:, ::1], int32[::1], int64, uint64[::1])")
def cut(x: Floats, order: Indices, leaf: int, rng: NDArray[np.uint64]) -> Indices:
    """Reorder the records into leaves of at most `leaf`; gives the leaves' first positions and the end."""
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
            i = order[first + below(rng, last - first)]
            j = order[first + below(rng, last - first)]
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
