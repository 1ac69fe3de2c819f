"""V-MDAV by its definition: every distance taken anew."""

from __future__ import annotations

from reference.rows import group_around, join_closest, labels_of, mean, squared


def vmdav(values, k, gamma, weights=None):
    points = [list(map(float, row)) for row in values]
    n = len(points)
    weights = [1.0] * n if weights is None else list(weights)
    centre = mean(points, weights)
    left, groups = list(range(n)), []
    while len(left) >= k:
        _, minus = max((squared(points[i], centre), -i) for i in left)
        group = group_around(points, -minus, left, k)
        left = [i for i in left if i not in group]
        while left and len(group) < 2 * k - 1:
            inside, candidate = min((squared(points[i], points[m]), i) for i in left for m in group)
            outside = min((squared(points[candidate], points[i]) for i in left if i != candidate), default=float("inf"))
            if not inside < gamma * gamma * outside:
                break
            group.append(candidate)
            left.remove(candidate)
        groups.append(group)
    return labels_of(join_closest(points, weights, groups, left), n)
