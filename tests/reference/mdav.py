"""MDAV, slowly: the definition in plain Python, for the engines to be compared with.

Ties go to the lowest row. Distances are summed from the first column to the last, and the centroid of what is
left is a compensated running sum, because ties are decided by the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

Record = list[float]


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
    values = values - np.sort(values, axis=0)[(n - 1) // 2]
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    records = values.tolist()
    far = partial(distance, metric=metric)
    left = list(range(n))
    centroid = RunningMean(records, weights.tolist())
    groups: list[list[int]] = []

    def group_around(point: Record) -> None:
        nearest = sorted(left, key=lambda row: (far(records[row], point), row))[:k]
        for row in nearest:
            left.remove(row)
            centroid.leave(row)
        groups.append(nearest)

    while len(left) >= (3 * k if remainder == "standard" else 2 * k):
        r = farthest(left, records, centroid.now(), far)
        group_around(records[r])
        s = farthest(left, records, records[r], far)
        group_around(records[s])
    if remainder == "standard" and len(left) >= 2 * k:
        group_around(records[farthest(left, records, centroid.now(), far)])
    alone = {"standard": k, "solanas": k, "thesis": 1, "distribute": n + 1}[remainder]
    if not groups or len(left) >= alone:
        groups.append(left)
    elif left:
        join_closest(groups, left, values, weights, far)
    return numbered(groups, n)


def farthest(rows: list[int], records: list[Record], point: Record, far: Callable[[Record, Record], float]) -> int:
    return min(rows, key=lambda row: (-far(records[row], point), row))


def distance(a: Record, b: Record, metric: str) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += abs(x - y) if metric == "l1" else (x - y) * (x - y)
    return total


class RunningMean:
    """The weighted mean of the records left; each sum is a pair: the sum, and what rounding lost."""

    def __init__(self, records: list[Record], weights: list[float]) -> None:
        self.terms = [[w * x for x in record] + [w] for record, w in zip(records, weights, strict=True)]
        self.sums = [(0.0, 0.0)] * len(self.terms[0])
        for terms in self.terms:
            self.sums = [plus(sum_, x) for sum_, x in zip(self.sums, terms, strict=True)]

    def leave(self, row: int) -> None:
        self.sums = [plus(sum_, -x) for sum_, x in zip(self.sums, self.terms[row], strict=True)]

    def now(self) -> Record:
        *columns, weight = [total + lost for total, lost in self.sums]
        return [column / weight for column in columns]


def plus(pair: tuple[float, float], x: float) -> tuple[float, float]:
    """Neumaier's sum."""
    old, lost = pair
    new = old + x
    return new, lost + ((old - new) + x if abs(old) >= abs(x) else (x - new) + old)


def join_closest(groups, left, values, weights, far):
    """Each record to the group with the closest centroid, the one with the lowest first record among equals.

    The centroids are those before anyone joined.
    """
    groups.sort(key=min)
    taken = np.sort(np.concatenate(groups))
    origin = values[taken].mean(axis=0)
    centroids = []
    for group in groups:
        total, sums = 0.0, np.zeros(values.shape[1])
        for row in sorted(group):
            total += weights[row]
            sums += weights[row] * (values[row] - origin)
        centroids.append((origin + sums / total).tolist())
    joins = [min(range(len(groups)), key=lambda g: (far(values[row].tolist(), centroids[g]), g)) for row in left]
    for row, g in zip(left, joins, strict=True):
        groups[g].append(row)


def numbered(groups: list[list[int]], n: int):
    labels = np.empty(n, dtype=np.int64)
    for number, group in enumerate(sorted(groups, key=min)):
        labels[group] = number
    return labels
