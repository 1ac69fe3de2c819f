"""MDAV's groups by the pruned search of `mdav_tree`, with the same labels as by sweeps."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import kernel
from shoal.engine.kernels.heap import sort_nearest
from shoal.protections.microaggregation.kernels.mdav_tree import farthest, grow, nearest, prune
from shoal.protections.microaggregation.kernels.packed_records import Nearest, left_in_order
from shoal.protections.microaggregation.kernels.rim import empty_rim, farthest_from_centroid
from shoal.protections.microaggregation.kernels.running_centroid import centroid_sums, keep_centre, leave, set_centroid

TREE_BLOCK = 64


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64, boolean, int64, uint8[::1])")
def groups_by_tree(
    values: Floats, weights: Floats, k: int, pair_from: int, one_more: bool, metric: int, flag: Bytes
) -> Ints:
    """Return the same groups as `groups_by_sweep`, by the pruned search."""
    n, d = values.shape
    labels = np.full(n, -1, np.int64)
    group_rows = Nearest(np.empty(k), np.empty(k, np.int64), np.empty(TREE_BLOCK))
    rim = empty_rim(n, d)
    sums, lost = centroid_sums(values, weights)
    centroid = np.empty(d)
    set_centroid(sums, lost, centroid)
    tree = grow(values, np.arange(n), TREE_BLOCK, centroid, group_rows.buffer)
    filled, left, group = n, n, 0
    while left >= pair_from or (one_more and left >= 2 * k):
        if left < filled // 2 and tree.blocks.counts.size > 1:
            tree = grow(values, left_in_order(tree.blocks), TREE_BLOCK, centroid, group_rows.buffer)
            filled = left
        set_centroid(sums, lost, centroid)
        row = farthest_from_centroid(rim, tree.blocks, left, values, centroid, metric, group_rows.buffer)
        pair = left >= pair_from
        for turn in range(2 if pair else 1):
            point = values[row]
            nearest(tree, point, metric, group_rows)
            sort_nearest(group_rows.far, group_rows.rows, k)
            keep_centre(group_rows.rows, row)
            prune(tree, group_rows.rows)
            leave(values, weights, group_rows.rows, sums, lost)
            labels[group_rows.rows] = group
            group += 1
            left -= k
            if turn == 0 and pair:
                row = farthest(tree, point, metric, group_rows.buffer)
        if not pair or flag[0] != 0:
            break
    return labels
