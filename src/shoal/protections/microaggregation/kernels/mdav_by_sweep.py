"""MDAV's groups by brute force: every record that is left is looked at, one sweep for the nearest and the farthest.

Two threads were tried on halves of the large sweeps and brought nothing: a sweep is over before another thread
has begun.
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
from shoal.protections.microaggregation.kernels.running_centroid import centroid_sums, keep_own, leave, set_centroid

BRUTE_BLOCK = 128


@inner
def sweep(blocks: Blocks, start: int, point: Floats, metric: int, found: Nearest) -> tuple[float, int]:
    """Fill `found` with the k records nearest to `point`; gives the distance and row of the farthest.

    The sweep starts at block `start`, near the point: the nearest are found early, and few others are offered.
    """
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    buffer, far = found.buffer, found.far
    size, best, best_row = 0, -1.0, -1
    for step in range(start, start + counts.size):
        b = step if step < counts.size else step - counts.size
        width = filled_width(blocks, b)
        block_distances(cells, b, width, point, metric, buffer)
        reach = far[0] if size == far.size else np.inf
        if hits_below(buffer, width, reach) > 0:
            size = offer_block(rows, b, counts[b], found, size)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(rows, b, counts[b], buffer, best, best_row)
    return best, best_row


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64, boolean, int64, uint8[::1])")
def groups_by_sweep(
    values: Floats, weights: Floats, k: int, least: int, one_more: bool, metric: int, flag: Bytes
) -> Ints:
    """`sweep_groups` for callers outside the kernels."""
    return sweep_groups(values, weights, k, least, one_more, metric, flag)


@inner
def sweep_groups(values: Floats, weights: Floats, k: int, least: int, one_more: bool, metric: int, flag: Bytes) -> Ints:
    """MDAV's groups by the brute-force search: two groups while `least` records are left.

    `one_more`: if 2k are left then, a group around the farthest from the centroid. Gives
    each record's group in the order of their making, -1 for the records left over. Ends early once the flag is up.
    """
    n, d = values.shape
    labels = np.full(n, -1, np.int64)
    found = Nearest(np.empty(k), np.empty(k, np.int64), np.empty(BRUTE_BLOCK))
    rim = empty_rim(n, d)
    sums, lost = centroid_sums(values, weights)
    centroid = np.empty(d)
    order = np.arange(n)
    if n > FEW:  # blocks of neighbours: few of them hold the nearest
        cut(values, order, BRUTE_BLOCK)
    blocks = fill_blocks(values, order, BRUTE_BLOCK)
    filled, left, group = n, n, 0
    while left >= least or (one_more and left >= 2 * k):
        if left < filled * 3 // 4 and blocks.counts.size > 1:
            blocks = fill_blocks(values, left_in_order(blocks), BRUTE_BLOCK)
            filled = left
        set_centroid(sums, lost, centroid)
        row = farthest_from_centroid(rim, blocks, left, values, centroid, metric, found.buffer)
        pair = left >= least
        for turn in range(2 if pair else 1):
            own, point = row, values[row]
            b, start = blocks, blocks.places[row] // BRUTE_BLOCK
            last, row = sweep(b, start, point, metric, found)
            sort_nearest(found.far, found.rows, k)
            keep_own(found.rows, own)
            tied = last == found.far[k - 1]
            for near in found.rows:
                take(blocks, near)
            leave(values, weights, found.rows, sums, lost)
            labels[found.rows] = group
            group += 1
            left -= k
            if tied and turn == 0 and pair:  # all others are as far as the group's last: the lowest row of those left
                row = sweep(b, start, point, metric, found)[1]
        if not pair or flag[0] != 0:
            break
    return labels
