"""MDAV's brute-force search: every record that is left is looked at, one sweep for both answers.

A sweep may be cut into two halves for two threads. Each half finds its own k nearest and its own farthest, and
the answers are merged by (distance, row), so the result does not depend on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from shoal.kernels.blocks import Blocks, Nearest, farthest_of_block, filled_width, hits_above, hits_below, offer_block
from shoal.kernels.compiling import inner, kernel
from shoal.kernels.distance import Floats, Ints, block_distances
from shoal.kernels.nearest import offer


@inner
def sweep(
    blocks: Blocks, first: int, last: int, start: int, point: Floats, metric: int, found: Nearest
) -> tuple[int, float, int]:
    """Fill `found` with the k records of blocks `first` to `last` nearest to `point`.

    The sweep starts at block `start`, near the point: the nearest are found early, and few others are offered.
    Gives how many were found, and the distance and row of the farthest record.
    """
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    buffer, far = found.buffer, found.far
    size, best, best_row = 0, -1.0, -1
    for step in range(start, start + last - first):
        b = step if step < last else step - (last - first)
        width = filled_width(blocks, b)
        block_distances(cells, b, width, point, metric, buffer)
        reach = far[0] if size == far.size else np.inf
        if hits_below(buffer, width, reach) > 0:
            size = offer_block(rows, b, counts[b], found, size)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(rows, b, counts[b], buffer, best, best_row)
    return size, best, best_row


@kernel(
    "Tuple((float64, int64))(float64[:, :, ::1], int64[:, ::1], int64[::1], int64[::1], int64, float64[::1], int64, "
    "float64[:, ::1], int64[:, ::1], float64[:, ::1])",
    parallel=True,
)
def sweep_halves(
    cells: Floats,
    rows: Ints,
    counts: Ints,
    places: Ints,
    start: int,
    point: Floats,
    metric: int,
    far: Floats,
    near_rows: Ints,
    buffers: Floats,
) -> tuple[float, int]:
    """A whole sweep by two threads; the k nearest end up in the first rows of `far` and `near_rows`."""
    size, best, best_row = np.empty(2, np.int64), np.empty(2), np.empty(2, np.int64)
    middle = counts.size // 2
    for half in numba.prange(2):
        first, last = (0, middle) if half == 0 else (middle, counts.size)
        begin = start if first <= start < last else first
        found = Nearest(far[half], near_rows[half], buffers[half])
        blocks = Blocks(cells, rows, counts, places)
        size[half], best[half], best_row[half] = sweep(blocks, first, last, begin, point, metric, found)
    for i in range(size[1]):
        size[0] = offer(far[0], near_rows[0], size[0], far[1, i], near_rows[1, i])
    if best[1] > best[0] or (best[1] == best[0] and best_row[1] < best_row[0]):
        return best[1], best_row[1]
    return best[0], best_row[0]
