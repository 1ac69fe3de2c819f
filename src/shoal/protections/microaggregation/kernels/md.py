"""The kernel of MD: find the two most distant records again and again, without comparing every pair.

Each record has an upper bound on the distance to its farthest partner. Records only leave, so
such a bound stays valid. Only the record with the highest bound is searched again, until its bound
is exact. Records are sorted from the farthest to the nearest of the overall centroid, so that by
the triangle inequality most of a search can be skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.engine.kernels.compiling import inner, kernel
from shoal.protections.microaggregation.kernels.columnwise import BLOCK, distances_to, keep_nearest, weighted_mean

# Bounds are widened by far more than rounding (and underflow) can change a distance.
WIDER = 1.0 + 1e-9
TINY = 1e-300


class Remaining(NamedTuple):
    """The records that are in no group yet, the farthest from the centroid first, and some that have left."""

    rows: Any  # of each position
    place: Any  # the position of each row
    columns: Any  # values by column and position
    radius: Any  # distance from the centroid
    reach: Any  # an upper bound on the squared distance to the farthest partner; -1 for records that have left
    partner: Any  # the row at that distance; -1 while reach is only a bound
    distances: Any  # from the record under search
    far: Any  # squared distances of the members of the group being formed


@inner
def _from_the_outside(values: Any, k: int) -> Any:
    """Return all records, the farthest from the centroid first."""
    n, d = values.shape
    centre = np.empty(d)
    weighted_mean(values, np.ones(n), centre)
    radius = np.empty(n)
    distances_to(np.ascontiguousarray(values.T), 0, n, centre, radius)
    rows = np.argsort(-radius, kind="mergesort")
    radius = np.sqrt(radius[rows])
    reach = np.empty(n)
    place = np.empty(n, dtype=np.int64)
    for p in range(n):
        reach[p] = _at_most(radius[p], radius[0])
        place[rows[p]] = p
    columns = np.ascontiguousarray(values[rows].T)
    return Remaining(rows, place, columns, radius, reach, np.full(n, -1, dtype=np.int64), np.empty(n), np.empty(k))


@inner
def _at_most(a: float, b: float) -> float:
    """Return an upper bound on the squared distance of two records, given their distances from the centroid."""
    return (a + b) * (a + b) * WIDER + TINY


@inner
def _highest(s: Remaining, length: int) -> int:
    """Return the position of the highest bound, the lowest row among equals."""
    best = 0
    for p in range(1, length):
        if s.reach[p] > s.reach[best] or (s.reach[p] == s.reach[best] and s.rows[p] < s.rows[best]):
            best = p
    return best


@inner
def _look(s: Remaining, p: int, length: int, labels: Any) -> None:
    """Find the farthest remaining partner of the record at p, the lowest row among equals."""
    point = s.columns[:, p].copy()
    far, who = -1.0, -1
    for start in range(0, length, BLOCK):
        # No record from here on is farther out than the record at `start`.
        if _at_most(s.radius[p], s.radius[start]) < far:
            break
        stop = min(start + BLOCK, length)
        distances_to(s.columns, start, stop, point, s.distances)
        for q in range(start, stop):
            distance, row = s.distances[q], s.rows[q]
            if distance >= far and labels[row] < 0 and q != p and (distance > far or row < who):
                far, who = distance, row
    s.reach[p], s.partner[p] = far, who


@inner
def _group_around(s: Remaining, p: int, other: int, length: int, labels: Any, group: int, members: Any) -> None:
    """Label the record at p and its closest, members.size in all; the record at `other` waits for its own group."""
    distances_to(s.columns, 0, length, s.columns[:, p].copy(), s.distances)
    for q in range(length):
        if labels[s.rows[q]] >= 0:
            s.distances[q] = np.inf
    s.distances[other] = np.inf
    s.distances[p] = -1.0  # nearer than any duplicate of it
    for m in range(keep_nearest(s.distances, s.rows, length, s.far, members)):
        labels[members[m]] = group
        s.reach[s.place[members[m]]] = -1.0


@inner
def _close_ranks(s: Remaining, length: int, labels: Any) -> int:
    """Move the remaining records together, in their order; return their number."""
    kept = 0
    for p in range(length):
        if labels[s.rows[p]] < 0:
            s.place[s.rows[p]] = kept
            s.rows[kept], s.radius[kept], s.reach[kept], s.partner[kept] = (
                s.rows[p],
                s.radius[p],
                s.reach[p],
                s.partner[p],
            )
            for c in range(s.columns.shape[0]):
                s.columns[c, kept] = s.columns[c, p]
            kept += 1
    return kept


@kernel("int64[::1](float64[:, ::1], int64, uint8[::1])")
def md(values: Any, k: int, flag: Any) -> Any:
    """Return labels in the order in which groups are formed; -1 for fewer than k records that are left over.

    It ends early once the flag is set.
    """
    n = values.shape[0]
    labels = np.full(n, -1, dtype=np.int64)
    s = _from_the_outside(values, k)
    members = np.empty(k, dtype=np.int64)
    length, left, groups = n, n, 0  # length: the positions in use, including records that have left
    while left >= 2 * k:
        p = _highest(s, length)
        while s.partner[p] < 0 or labels[s.partner[p]] >= 0:
            if flag[0] != 0:
                return labels
            _look(s, p, length, labels)
            p = _highest(s, length)
        q = s.place[s.partner[p]]
        _group_around(s, p, q, length, labels, groups, members)
        _group_around(s, q, q, length, labels, groups + 1, members)
        groups += 2
        left -= 2 * k
        if left < length - length // 8:
            length = _close_ranks(s, length, labels)
    if left >= k:
        for i in range(n):
            if labels[i] < 0:
                labels[i] = groups
    return labels
