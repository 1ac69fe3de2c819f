"""MD as published: look at every pair for the two most distant records, O(n^3)."""

from __future__ import annotations

from reference.rows import group_around, join_closest, labels_of, squared


def md(values, k, weights=None):
    points = [list(map(float, row)) for row in values]
    n = len(points)
    weights = [1.0] * n if weights is None else list(weights)
    left, groups = list(range(n)), []
    while len(left) >= 2 * k:
        far, r, s = -1.0, -1, -1
        for i in left:
            for j in left:
                if i < j and squared(points[i], points[j]) > far:
                    far, r, s = squared(points[i], points[j]), i, j
        groups.append(group_around(points, r, [i for i in left if i != s], k))
        left = [i for i in left if i not in groups[-1]]
        groups.append(group_around(points, s, left, k))
        left = [i for i in left if i not in groups[-1]]
    if len(left) >= k:
        groups.append(left)
        left = []
    return labels_of(join_closest(points, weights, groups, left), n)
