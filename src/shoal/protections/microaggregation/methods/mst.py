"""MSTP, minimum spanning tree partitioning (Laszlo and Mukherjee 2005).

The longest edges of the tree are cut first, so groups follow clusters that are far apart. Elsewhere the published
method leaves oversized groups. As a second step its authors apply a fixed-size method within each of these. Here this
method is MD: it starts from the ends of a component, which is often long and thin, and leaves no group above 2k-1.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import current
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_k
from shoal.protections.microaggregation.kernels.mst import cut_tree
from shoal.protections.microaggregation.kernels.nearest_next import visit
from shoal.protections.microaggregation.methods.md import md


def mst(values: Floats, k: int, *, weights: Floats | None = None, split: bool = True) -> KPartition:
    """Return the trees that remain when the minimum spanning tree is cut at its longest edges.

        tree = minimum spanning tree (Prim, from the first record)
        for each edge, the longest first (lowest row among equals, an edge having the row it was added for):
            cut it if both sides keep k records or more
        split: each tree of 2k or more is partitioned by MD

    Args:
        split: Whether to split the trees of 2k or more records by MD. Weights matter only there, because a tree has no
            centroids.
    """
    values = as_rows(values)
    k = check_k(k, len(values))
    weights = as_weights(weights, len(values))
    control = current()
    order, link, squares = visit(values, 0, True, control.flag)
    control.check()
    longest_first = np.argsort(-squares, kind="stable")
    trees = KPartition(cut_tree(order, link, longest_first[link[longest_first] >= 0], k))
    if not split:
        return trees
    labels, fresh = trees.labels.copy(), trees.groups
    for rows in trees.members():
        if rows.size >= 2 * k:
            within = md(values[rows], k, weights=weights[rows])
            labels[rows] = fresh + within.labels
            fresh += within.groups
    return KPartition(labels, {"trees": trees.groups})
