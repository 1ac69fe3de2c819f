"""The kernel of MSTP: a spanning tree is cut at its longest edges where both sides keep at least k records."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel


@kernel("int64[::1](int64[::1], int64[::1], int64[::1], int64)")
def cut_tree(order: Any, link: Any, edges: Any, k: int) -> Any:
    """Return the labels of the trees that remain, numbered in the order of the rows.

    `size` is the number of records below a row within its present tree. A cut changes it on the path to the
    root of the tree. That takes O(height) per cut, never more than building the tree took.

    Args:
        order: The rows, each after the one it is linked to.
        link: That row; -1 for the root.
        edges: The other rows, each representing the edge to its link, in the order in which they are tried.
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
