"""The kernel of MSTP: a spanning tree is cut at its longest edges where both sides keep at least k records."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel


@kernel("int64[::1](int64[::1], int64[::1], int64[::1], int64)")
def cut_tree(order: Any, link: Any, edges: Any, k: int) -> Any:
    """Labels of the trees that remain, numbered in the order of visiting.

    order: the rows, each after the one it is linked to. link: that row; -1 for the root. edges:
    the other rows, each standing for the edge to its link, in the order to be tried.

    `size` is kept as the number of records below a row within its present tree. A cut changes it
    on the way up to the tree's root: O(height) a cut, never more than the tree took to build.
    """
    n = order.size
    link = link.copy()
    size = np.ones(n, dtype=np.int64)
    for step in range(n - 1, 0, -1):
        size[link[order[step]]] += size[order[step]]
    for row in edges:
        below = size[row]
        if below < k:
            continue
        root = row
        while link[root] >= 0:
            root = link[root]
        if size[root] - below < k:
            continue
        above = link[row]
        while above >= 0:
            size[above] -= below
            above = link[above]
        link[row] = -1
    labels = np.empty(n, dtype=np.int64)
    trees = 0
    for row in order:
        if link[row] < 0:
            labels[row] = trees
            trees += 1
        else:
            labels[row] = labels[link[row]]
    return labels
