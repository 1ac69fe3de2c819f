"""The optimum by looking at every partition into groups of k or more."""

from __future__ import annotations

from itertools import combinations

from reference.rows import sse


def partitions(rows, k):
    """Every partition of the rows into groups of at least k, of any size."""
    if not rows:
        yield []
        return
    first, others = rows[0], rows[1:]
    for size in range(k - 1, len(others) + 1):
        for chosen in combinations(others, size):
            rest = [i for i in others if i not in chosen]
            for groups in partitions(rest, k):
                yield [[first, *chosen], *groups]


def least_sse(values, k, weights=None):
    points = [list(map(float, row)) for row in values]
    weights = [1.0] * len(points) if weights is None else list(weights)
    costs = {
        group: sse(points, [list(group)], weights)
        for size in range(k, len(points) + 1)
        for group in combinations(range(len(points)), size)
    }
    return min(sum(costs[tuple(group)] for group in groups) for groups in partitions(list(range(len(points))), k))
