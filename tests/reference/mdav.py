"""MDAV, slowly: the definition in plain Python, for the engines to be compared with.

Ties go to the lowest row. Distances are summed from the first column to the last, and the centroid of what is
left is a compensated running sum, because ties are decided by the last bit.
"""

from __future__ import annotations

import numpy as np

from reference.rows import join_closest, labels_of, squared


def mdav(values, k, *, weights=None, remainder="standard", metric="euclidean"):
    """Labels, numbered by each group's first record.

    while 3k records are left (2k for the other rules):
        r = the record farthest from the centroid of what is left; a group of the k records nearest to r
        s = the record farthest from r of what is left then;       a group of the k records nearest to s
    standard: if 2k are left, one more group around the farthest from the centroid; the rest is a group
    solanas: k or more left are a group, fewer join the groups with the closest centroids
    thesis: what is left is a group; distribute: what is left joins the groups with the closest centroids
    """
    values = np.array(values, dtype=np.float64)
    n = len(values)
    points = (values - np.sort(values, axis=0)[(n - 1) // 2]).tolist()
    weights = [1.0] * n if weights is None else [float(w) for w in weights]
    far = city_block if metric == "l1" else squared
    left = list(range(n))
    centroid = RunningMean(points, weights)
    groups = []

    def farthest_from(point):
        return min(left, key=lambda row: (-far(points[row], point), row))

    def group_around(r):
        nearest = sorted(left, key=lambda row: (far(points[row], points[r]), row))[:k]
        if r not in nearest:  # squares of tiny distances underflow to 0
            nearest[-1] = r
        for row in nearest:
            left.remove(row)
            centroid.leave(row)
        groups.append(nearest)

    while len(left) >= (3 * k if remainder == "standard" else 2 * k):
        r = farthest_from(centroid.now())
        group_around(r)
        group_around(farthest_from(points[r]))
    if remainder == "standard" and len(left) >= 2 * k:
        group_around(farthest_from(centroid.now()))
    alone = {"standard": k, "solanas": k, "thesis": 1, "distribute": n + 1}[remainder]
    if not groups or len(left) >= alone:
        groups.append(left)
        left = []
    return labels_of(join_closest(points, weights, groups, left, far), n)


def city_block(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += abs(x - y)
    return total


class RunningMean:
    """The weighted mean of the records left; each sum is a pair: the sum, and what rounding lost."""

    def __init__(self, records, weights):
        self.terms = [[w * x for x in record] + [w] for record, w in zip(records, weights, strict=True)]
        self.sums = [(0.0, 0.0)] * len(self.terms[0])
        for terms in self.terms:
            self.sums = [plus(sum_, x) for sum_, x in zip(self.sums, terms, strict=True)]

    def leave(self, row):
        self.sums = [plus(sum_, -x) for sum_, x in zip(self.sums, self.terms[row], strict=True)]

    def now(self):
        *columns, weight = [total + lost for total, lost in self.sums]
        return [column / weight for column in columns]


def plus(pair, x):
    """Neumaier's sum."""
    old, lost = pair
    new = old + x
    return new, lost + ((old - new) + x if abs(old) >= abs(x) else (x - new) + old)
