"""MDAV's groups by brute force: one sweep over all remaining records finds the nearest and the farthest.

Two threads on halves of the large sweeps are not faster: a sweep ends before another thread has started.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import block_distances
from shoal.engine.kernels.heap import sort_nearest
from shoal.protections.microaggregation.kernels.mdav_tree import cut
from shoal.protections.microaggregation.kernels.packed_records import (
    Blocks,
    Nearest,
    farthest_of_block,
    fill_blocks,
    filled_width,
    hits_above,
    hits_below,
    left_in_order,
    offer_block,
    take,
)
from shoal.protections.microaggregation.kernels.rim import FEW, empty_rim, farthest_from_centroid
from shoal.protections.microaggregation.kernels.running_centroid import centroid_sums, keep_centre, leave, set_centroid

BRUTE_BLOCK = 128


@inner
def sweep(blocks: Blocks, start: int, point: Floats, metric: int, nearest: Nearest) -> tuple[float, int]:
    """Fill `nearest` with the k records nearest to `point`; return the distance and row of the farthest.

    The sweep starts at block `start`, near the point. Therefore it meets the nearest records early, and few others are
    offered.
    """
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    buffer, far = nearest.buffer, nearest.far
    size, best, best_row = 0, -1.0, -1
    for step in range(start, start + counts.size):
        b = step if step < counts.size else step - counts.size
        width = filled_width(blocks, b)
        block_distances(cells, b, width, point, metric, buffer)
        reach = far[0] if size == far.size else np.inf
        if hits_below(buffer, width, reach) > 0:
            size = offer_block(rows, b, counts[b], nearest, size)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(rows, b, counts[b], buffer, best, best_row)
    return best, best_row


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64, boolean, int64, uint8[::1])")
def groups_by_sweep(
    values: Floats, weights: Floats, k: int, pair_from: int, one_more: bool, metric: int, flag: Bytes
) -> Ints:
    """Return the result of `sweep_groups`, for callers outside the kernels."""
    return sweep_groups(values, weights, k, pair_from, one_more, metric, flag)


@inner
def sweep_groups(
    values: Floats, weights: Floats, k: int, pair_from: int, one_more: bool, metric: int, flag: Bytes
) -> Ints:
    """Form MDAV's groups by brute force: two groups while at least `pair_from` records are left.

    Returns each record's group in the order in which groups are formed, -1 for the records left over.

    Args:
        one_more: Whether to form a group around the farthest from the centroid if 2k records are left at the end.
        flag: The search ends early once it is set.
    """
    n, d = values.shape
    labels = np.full(n, -1, np.int64)
    nearest = Nearest(np.empty(k), np.empty(k, np.int64), np.empty(BRUTE_BLOCK))
    rim = empty_rim(n, d)
    sums, lost = centroid_sums(values, weights)
    centroid = np.empty(d)
    order = np.arange(n)
    if n > FEW:  # blocks of neighbours: few of them contain the nearest
        cut(values, order, BRUTE_BLOCK)
    blocks = fill_blocks(values, order, BRUTE_BLOCK)
    filled, left, group = n, n, 0
    while left >= pair_from or (one_more and left >= 2 * k):
        if left < filled * 3 // 4 and blocks.counts.size > 1:
            blocks = fill_blocks(values, left_in_order(blocks), BRUTE_BLOCK)
            filled = left
        set_centroid(sums, lost, centroid)
        row = farthest_from_centroid(rim, blocks, left, values, centroid, metric, nearest.buffer)
        pair = left >= pair_from
        for turn in range(2 if pair else 1):
            centre_row, point = row, values[row]
            b, start = blocks, blocks.places[row] // BRUTE_BLOCK
            last, row = sweep(b, start, point, metric, nearest)
            sort_nearest(nearest.far, nearest.rows, k)
            keep_centre(nearest.rows, centre_row)
            tied = last == nearest.far[k - 1]
            for near in nearest.rows:
                take(blocks, near)
            leave(values, weights, nearest.rows, sums, lost)
            labels[nearest.rows] = group
            group += 1
            left -= k
            if tied and turn == 0 and pair:  # all others are as far as the last member: the lowest remaining row
                row = sweep(b, start, point, metric, nearest)[1]
        if not pair or flag[0] != 0:
            break
    return labels
