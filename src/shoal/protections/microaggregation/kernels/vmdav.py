"""The kernel of V-MDAV: groups of k to 2k-1 records from the outside in, each extended where the data are dense."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.engine.kernels.compiling import inner, kernel
from shoal.protections.microaggregation.kernels.columnwise import distances_to, keep_nearest, weighted_mean


class Remaining(NamedTuple):
    """The records that are in no group yet, in the order of their rows."""

    rows: Any  # of each position
    columns: Any  # values by column and position
    from_centre: Any  # squared distance from the overall centroid
    to_group: Any  # squared distance to the closest member of the group being formed; infinite for members
    distances: Any  # from the record under search
    positions: Any  # 0, 1, 2, ...
    far: Any  # squared distances of the first members of the group being formed


@inner
def _all_records(values: Any, weights: Any, k: int) -> Any:
    """Return all records."""
    n, d = values.shape
    centre = np.empty(d)
    weighted_mean(values, weights, centre)
    columns = np.ascontiguousarray(values.T)
    from_centre = np.empty(n)
    distances_to(columns, 0, n, centre, from_centre)
    return Remaining(np.arange(n), columns, from_centre, np.empty(n), np.empty(n), np.arange(n), np.empty(k))


@inner
def _lowest(distances: Any, count: int) -> int:
    """Return the position of the smallest distance, the first among equals."""
    best = 0
    for p in range(1, count):
        if distances[p] < distances[best]:
            best = p
    return best


@inner
def _highest(distances: Any, count: int) -> int:
    """Return the position of the largest distance, the first among equals."""
    best = 0
    for p in range(1, count):
        if distances[p] > distances[best]:
            best = p
    return best


@inner
def _begin(s: Remaining, e: int, left: int, members: Any) -> None:
    """Make the record at e and its closest the members of a group."""
    distances_to(s.columns, 0, left, s.columns[:, e].copy(), s.to_group)
    s.to_group[e] = -1.0  # nearer than any duplicate of it
    keep_nearest(s.to_group, s.positions, left, s.far, members)  # rows have the order of their positions
    for m in members:
        s.to_group[m] = np.inf


@inner
def _draw_near(s: Remaining, member: int, left: int) -> None:
    """Update the distances to the group with those to a member."""
    distances_to(s.columns, 0, left, s.columns[:, member].copy(), s.distances)
    for p in range(left):
        # Members stay at infinity.
        if s.distances[p] < s.to_group[p] and s.to_group[p] < np.inf:
            s.to_group[p] = s.distances[p]


@inner
def _to_nearest_other(s: Remaining, candidate: int, left: int) -> float:
    """Return the squared distance from a record to the nearest other one in no group; infinite if there is none."""
    distances_to(s.columns, 0, left, s.columns[:, candidate].copy(), s.distances)
    least = np.inf
    for p in range(left):
        if s.distances[p] < least and s.to_group[p] < np.inf and p != candidate:
            least = s.distances[p]
    return least


@inner
def _extend(s: Remaining, first: int, left: int, members: Any, gamma: float) -> None:
    """Add up to k-1 more members, as long as the closest record is closer to the group than to the others."""
    for m in members:
        if m != first:  # whose distances are known already
            _draw_near(s, m, left)
    for size in range(members.size, min(2 * members.size - 1, left)):
        candidate = _lowest(s.to_group, left)
        inside = s.to_group[candidate]
        if not inside < gamma * gamma * _to_nearest_other(s, candidate, left):
            return
        s.to_group[candidate] = np.inf
        if size < min(2 * members.size - 1, left) - 1:
            _draw_near(s, candidate, left)


@inner
def _take_away(s: Remaining, left: int, labels: Any, group: int) -> int:
    """Label the members and move the others together, in their order; return the number of others."""
    kept = 0
    for p in range(left):
        if s.to_group[p] == np.inf:
            labels[s.rows[p]] = group
        else:
            s.rows[kept], s.from_centre[kept] = s.rows[p], s.from_centre[p]
            for c in range(s.columns.shape[0]):
                s.columns[c, kept] = s.columns[c, p]
            kept += 1
    return kept


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, float64, uint8[::1])")
def vmdav(values: Any, weights: Any, k: int, gamma: float, flag: Any) -> Any:
    """Return labels in the order in which groups are formed; -1 for fewer than k records that are left over.

    It ends early once the flag is set.
    """
    n = values.shape[0]
    labels = np.full(n, -1, dtype=np.int64)
    s = _all_records(values, weights, k)
    members = np.empty(k, dtype=np.int64)
    left, groups = n, 0
    while left >= k and flag[0] == 0:
        first = _highest(s.from_centre, left)
        _begin(s, first, left, members)
        if gamma > 0.0:
            _extend(s, first, left, members, gamma)
        left = _take_away(s, left, labels, groups)
        groups += 1
    return labels
