"""MDAV's loop: groups around the record farthest from the centroid and around the one farthest from it.

The search for neighbours comes from `mdav_brute` or `mdav_tree`; everything else is shared, so that the two
give the same labels. The centroid of what is left is kept as a compensated running sum (Neumaier 1974), from
which the members of a group are taken nearest first.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import Nearest, fill_blocks, left_in_order, take
from shoal.kernels.compiling import inner, kernel
from shoal.kernels.distance import Floats, Ints
from shoal.kernels.mdav_brute import sweep, sweep_halves
from shoal.kernels.mdav_tree import cut, farthest, grow, nearest, prune
from shoal.kernels.nearest import sort_nearest
from shoal.kernels.rim import empty_rim, farthest_from_centroid

BRUTE_BLOCK = 128
TREE_BLOCK = 64
SHARED_SWEEP = 4_000_000  # cells (a millisecond) from which on a sweep is worth handing a half to another thread


@inner
def centroid_sums(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted sums of the columns, and of the weights, with what rounding lost of each."""
    n, d = values.shape
    sums, lost = np.zeros(d + 1), np.zeros(d + 1)
    for i in range(n):
        for j in range(d):
            add(sums, lost, j, weights[i] * values[i, j])
        add(sums, lost, d, weights[i])
    return sums, lost


@inner
def leave(values: Floats, weights: Floats, rows: Ints, sums: Floats, lost: Floats) -> None:
    """Take a group out of the sums."""
    d = values.shape[1]
    for row in rows:
        for j in range(d):
            add(sums, lost, j, -(weights[row] * values[row, j]))
        add(sums, lost, d, -weights[row])


@inner
def add(sums: Floats, lost: Floats, j: int, x: float) -> None:
    """Add to a sum and keep what rounding loses."""
    old = sums[j]
    new = old + x
    if abs(old) >= abs(x):
        lost[j] += (old - new) + x
    else:
        lost[j] += (x - new) + old
    sums[j] = new


@inner
def keep_own(rows: Ints, own: int) -> None:
    """See to it that a record is in the group around it: k lower rows may be at distance 0 where squares underflow."""
    for row in rows:
        if row == own:
            return
    rows[rows.size - 1] = own


@inner
def set_centroid(sums: Floats, lost: Floats, centroid: Floats) -> None:
    d = centroid.size
    weight = sums[d] + lost[d]
    for j in range(d):
        centroid[j] = (sums[j] + lost[j]) / weight


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64, boolean, int64, boolean)")
def groups_by_sweep(
    values: Floats, weights: Floats, k: int, least: int, one_more: bool, metric: int, halves: bool
) -> Ints:
    """MDAV's groups by the brute-force search: two groups while `least` records are left.

    `one_more`: if 2k are left then, a group around the farthest from the centroid. `halves`: two threads share the
    large sweeps. Gives each record's group in the order of their making, -1 for the records left over.
    """
    n, d = values.shape
    labels = np.full(n, -1, np.int64)
    far, near_rows, buffers = np.empty((2, k)), np.empty((2, k), np.int64), np.empty((2, BRUTE_BLOCK))
    found = Nearest(far[0], near_rows[0], buffers[0])
    rim = empty_rim(n, d)
    sums, lost = centroid_sums(values, weights)
    centroid = np.empty(d)
    order = np.arange(n)
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
            if halves and left * d >= SHARED_SWEEP:
                last, row = sweep_halves(
                    b.cells, b.rows, b.counts, b.places, start, point, metric, far, near_rows, buffers
                )
            else:
                last, row = sweep(b, 0, b.counts.size, start, point, metric, found)[1:]
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
                row = sweep(b, 0, b.counts.size, start, point, metric, found)[2]
        if not pair:
            break
    return labels


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64, boolean, int64)")
def groups_by_tree(values: Floats, weights: Floats, k: int, least: int, one_more: bool, metric: int) -> Ints:
    """The same groups as by `groups_by_sweep`, by the pruned search."""
    n, d = values.shape
    labels = np.full(n, -1, np.int64)
    found = Nearest(np.empty(k), np.empty(k, np.int64), np.empty(TREE_BLOCK))
    rim = empty_rim(n, d)
    sums, lost = centroid_sums(values, weights)
    centroid = np.empty(d)
    set_centroid(sums, lost, centroid)
    tree = grow(values, np.arange(n), TREE_BLOCK, centroid, found.buffer)
    filled, left, group = n, n, 0
    while left >= least or (one_more and left >= 2 * k):
        if left < filled // 2 and tree.blocks.counts.size > 1:
            tree = grow(values, left_in_order(tree.blocks), TREE_BLOCK, centroid, found.buffer)
            filled = left
        set_centroid(sums, lost, centroid)
        row = farthest_from_centroid(rim, tree.blocks, left, values, centroid, metric, found.buffer)
        pair = left >= least
        for turn in range(2 if pair else 1):
            point = values[row]
            nearest(tree, point, metric, found)
            sort_nearest(found.far, found.rows, k)
            keep_own(found.rows, row)
            prune(tree, found.rows)
            leave(values, weights, found.rows, sums, lost)
            labels[found.rows] = group
            group += 1
            left -= k
            if turn == 0 and pair:
                row = farthest(tree, point, metric, found.buffer)
        if not pair:
            break
    return labels
