"""The path method's parts in plain Python: orders, tours, the optimal cut."""

from __future__ import annotations

from math import sqrt

from reference.rows import labels_of, mean, squared


def cut(points, weights, k):
    """(cost, sizes) of the best cut of a sequence into groups of k to 2k-1; the shortest last group among equals."""
    best = [(0.0, [])] + [None] * len(points)
    for end in range(1, len(points) + 1):
        for size in range(k, min(2 * k - 1, end) + 1):
            if best[end - size] is None:
                continue
            cost = best[end - size][0] + spread(points[end - size : end], weights[end - size : end])
            if best[end] is None or cost < best[end][0]:
                best[end] = (cost, [*best[end - size][1], size])
    return best[-1]


def spread(points, weights):
    """Weighted squares around the mean, record by record from the last to the first."""
    centre, total, cost = list(points[-1]), weights[-1], 0.0
    for point, w in list(zip(points, weights, strict=True))[-2::-1]:
        share = w / (total + w)
        cost += total * share * squared(point, centre)
        centre = [c + share * (x - c) for c, x in zip(centre, point, strict=True)]
        total += w
    return cost


def all_cuts(n, k):
    """The sizes of every cut of n records into groups of k or more."""
    if n == 0:
        yield []
    for size in range(k, n + 1):
        for rest in all_cuts(n - size, k):
            yield [size, *rest]


def nearest_order(points, weights):
    """From the record farthest from the centroid always to the nearest one, lowest rows first."""
    centre = mean(points, weights)
    _, minus = max((squared(p, centre), -i) for i, p in enumerate(points))
    order = [-minus]
    while len(order) < len(points):
        order.append(
            min((squared(p, points[order[-1]]), i) for i, p in enumerate(points) if i not in order)[1],
        )
    return order


def walk_through(points, groups, first):
    """Group by group to the nearest record next, beginning with the record `first`."""
    order = [first]
    for group in groups:
        left = [i for i in group if i != first]
        while left:
            order.append(min((squared(points[i], points[order[-1]]), i) for i in left)[1])
            left.remove(order[-1])
    return order


def neighbours(points, count):
    return [
        [j for _, j in sorted((squared(p, q), j) for j, q in enumerate(points) if j != i)[:count]]
        for i, p in enumerate(points)
    ]


def labels_by_sizes(order, sizes):
    groups, start = [], 0
    for size in sizes:
        groups.append(order[start : start + size])
        start += size
    return labels_of(groups, len(order))


def tour_length(points, order):
    return sum(sqrt(squared(points[a], points[b])) for a, b in zip(order, [*order[1:], order[0]], strict=True))


def tours_one_move_away(points, order, near):
    """Every tour by one reversed way (2-opt), or by one to three stops put elsewhere, either way round (Or-opt).

    Only moves in which some record gets a near neighbour as its next stop for one that was farther away.
    """

    def closer(a, new, old):
        return new in near[a] and squared(points[a], points[new]) < squared(points[a], points[old])

    for i in range(len(order)):
        turned = order[i:] + order[:i]
        for j in range(2, len(order) - 1):
            a, b = turned[0], turned[j]
            c, d = turned[1], turned[j + 1]
            if closer(a, b, c) or closer(b, a, d) or closer(c, d, a) or closer(d, c, b):
                yield [a, *reversed(turned[1 : j + 1]), *turned[j + 1 :]]
        for length in (1, 2, 3):
            way, rest = turned[:length], turned[length:]
            old = {(way[0], rest[-1]), (way[-1], rest[0])}
            for at in range(1, len(rest)):
                for moved in (way, way[::-1]):
                    new = {(moved[0], rest[at - 1]), (moved[-1], rest[at])}
                    if any(a == b and closer(a, c, o) for a, c in new for b, o in old):
                        yield rest[:at] + moved + rest[at:]
