"""Distances and means in plain Python, summed in the order of the columns."""

from __future__ import annotations


def squared(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) * (x - y)
    return total


def mean(rows, weights):
    """Weighted mean, summed around the first row."""
    total = 0.0
    for w in weights:
        total += w
    centre = []
    for c in range(len(rows[0])):
        s = 0.0
        for row, w in zip(rows, weights, strict=True):
            s += w * (row[c] - rows[0][c])
        centre.append(rows[0][c] + s / total)
    return centre


def group_around(points, centre, left, size):
    """The record `centre` and the size-1 others of `left` closest to it, lowest rows first among equals."""
    others = sorted((squared(points[i], points[centre]), i) for i in left if i != centre)
    return [centre, *(i for _, i in others[: size - 1])]


def join_closest(points, weights, groups, left, far=squared):
    """Each record of `left` to the group with the closest centroid; ties to the group with the lowest first row."""
    groups = sorted(sorted(g) for g in groups)
    centroids = [mean([points[i] for i in g], [weights[i] for i in g]) for g in groups]
    joined = [list(g) for g in groups]
    for i in left:
        _, g = min((far(points[i], c), g) for g, c in enumerate(centroids))
        joined[g].append(i)
    return joined


def labels_of(groups, n):
    """Labels numbered by each group's first record."""
    labels = [-1] * n
    for g, members in enumerate(sorted(sorted(m) for m in groups)):
        for i in members:
            labels[i] = g
    return labels


def sse(points, groups, weights):
    total = 0.0
    for g in groups:
        centre = mean([points[i] for i in g], [weights[i] for i in g])
        total += sum(weights[i] * squared(points[i], centre) for i in g)
    return total
