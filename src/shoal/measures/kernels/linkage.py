"""Count the protected records that are as near to an original record as its own protected record.

Each distinct protected record is searched once, with its count. The distance to the record's own protected record is
short, and the search stays within it. A tree of boxes therefore leaves few records to compare. The search ends as soon
as another record is nearer.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.distance import squared_in_order

LEAF = 16


@inner
def _widest(points: Floats, order: Ints, start: int, stop: int, low: Floats, high: Floats) -> int:
    """Return the column in which the points of a node spread most; `low` and `high` become the node's box."""
    d = points.shape[1]
    widest, spread = 0, -1.0
    for j in range(d):
        low[j] = np.inf
        high[j] = -np.inf
        for a in range(start, stop):
            value = points[order[a], j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
        if high[j] - low[j] > spread:
            widest, spread = j, high[j] - low[j]
    return widest


@kernel("Tuple((int64[::1], int64[:,::1], float64[:,::1], float64[:,::1]))(float64[:,::1])")
def grow_boxes(points: Floats) -> tuple[Ints, Ints, Floats, Floats]:
    """Return a tree over the points: their order, each node's (start, stop, left child or -1), and the nodes' boxes."""
    n, d = points.shape
    order = np.arange(n)
    room = 4 * (n // LEAF + 1) + 1
    nodes = np.empty((room, 3), np.int64)
    low, high = np.empty((room, d)), np.empty((room, d))
    nodes[0, 0], nodes[0, 1] = 0, n
    made, at = 1, 0
    while at < made:
        start, stop = nodes[at, 0], nodes[at, 1]
        widest = _widest(points, order, start, stop, low[at], high[at])
        nodes[at, 2] = -1
        if stop - start > LEAF and high[at, widest] > low[at, widest]:
            keys = np.empty(stop - start)
            for a in range(start, stop):
                keys[a - start] = points[order[a], widest]
            ranked = np.argsort(keys)
            copy_first(stop - start, order[start:stop][ranked], order[start:stop])
            middle = (start + stop) // 2
            nodes[at, 2] = made
            nodes[made, 0], nodes[made, 1] = start, middle
            nodes[made + 1, 0], nodes[made + 1, 1] = middle, stop
            made += 2
        at += 1
    return order, nodes[:made].copy(), low[:made].copy(), high[:made].copy()


@inner
def _box_distance(record: Floats, low: Floats, high: Floats) -> float:
    """Return a lower bound of the squared distances to the points in a box."""
    total = 0.0
    for j in range(record.size):
        gap = max(low[j] - record[j], record[j] - high[j], 0.0)
        total += gap * gap
    return total


@kernel(
    "int64[::1](float64[:,::1], int64[::1], float64[:,::1], int64[::1],"
    " int64[::1], int64[:,::1], float64[:,::1], float64[:,::1])"
)
def nearest_ties(
    records: Floats, own_point: Ints, points: Floats, counts: Ints, order: Ints, nodes: Ints, low: Floats, high: Floats
) -> Ints:
    """Return for each record 0 if some point is nearer than its own point, else the number of points as near."""
    tie_counts = np.empty(len(records), np.int64)
    stack = np.empty(128, np.int64)
    for i in range(len(records)):
        record = records[i]
        own_distance = squared_in_order(records, i, points, own_point[i])
        ties, beaten, top = np.int64(0), False, 1
        stack[0] = 0
        while top > 0 and not beaten:
            top -= 1
            node = stack[top]
            if _box_distance(record, low[node], high[node]) > own_distance:
                continue
            child = nodes[node, 2]
            if child >= 0:
                # The nearer child is pushed last, so that it is searched first.
                first = _box_distance(record, low[child], high[child])
                second = _box_distance(record, low[child + 1], high[child + 1])
                stack[top] = child + 1 if first <= second else child
                stack[top + 1] = child if first <= second else child + 1
                top += 2
                continue
            for a in range(nodes[node, 0], nodes[node, 1]):
                away = squared_in_order(records, i, points, order[a])
                if away < own_distance:
                    beaten = True
                    break
                if away == own_distance:
                    ties += counts[order[a]]
        tie_counts[i] = 0 if beaten else ties
    return tie_counts
