"""What one column group costs, and how many records can be linked through several of them.

A column group is microaggregated by itself, so its loss, its interval disclosure and its table of distances
(every record to every centroid) depend on that group alone. The distance of a record to a protected record is
the sum of one entry a table; linkage is counted from the tables without ever building the protected data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.hashing import slot_of
from shoal.protections.microaggregation.kernels.mdav_by_sweep import sweep_groups

INTERVALS = 10  # interval disclosure is averaged over 1 %, 2 %, ..., 10 %


@inner
def group_centroids(columns: Floats, chosen: Ints, labels: NDArray[np.int32], groups: int) -> Floats:
    """Return one row per chosen column, one entry per group; a group of equal values keeps exactly that value."""
    n = columns.shape[1]
    centroids = np.zeros((chosen.size, groups))
    sizes = np.zeros(groups, np.int64)
    first = np.zeros(groups, np.int64)
    for i in range(n - 1, -1, -1):
        sizes[labels[i]] += 1
        first[labels[i]] = i
    for j in range(chosen.size):
        column, line = columns[chosen[j]], centroids[j]
        for i in range(n):
            line[labels[i]] += column[i]
        for g in range(groups):
            value = column[first[g]]
            line[g] /= sizes[g]
            # So near to the first value, the rest may be equal to it and the sum merely rounded: then groups of the
            # same values but of different sizes would differ in the last bit, and a tie between them would be missed.
            if line[g] != value and abs(line[g] - value) <= 1e-13 * n * abs(value):
                same = True
                for i in range(first[g], n):
                    same &= labels[i] != g or column[i] == value
                if same:
                    line[g] = value
    return centroids


@inner
def _intervals_hit(misses: Floats, widths: Floats) -> int:
    """Of the intervals of 1 % to 10 % of each width, how many hold the miss; one interval at a time, to vectorise."""
    hits = 0
    for p in range(1, INTERVALS + 1):
        share = 0.01 * p
        for i in range(misses.size):
            hits += misses[i] <= share * widths[i]
    return hits


@inner
def _share_labels(centroids: Floats, labels: NDArray[np.int32]) -> int:
    """Give groups with the same centroid the same label, so that a tie between them is seen; counts what is left."""
    columns, groups = centroids.shape
    order = np.argsort(centroids[0])
    target = np.arange(groups)
    for a in range(groups):
        g = order[a]
        if target[g] != g:
            continue
        for b in range(a + 1, groups):
            h = order[b]
            if centroids[0, h] != centroids[0, g]:
                break
            same = True
            for j in range(1, columns):
                if centroids[j, h] != centroids[j, g]:
                    same = False
                    break
            if same:
                target[h] = g
    dense = np.empty(groups, np.int32)
    distinct = 0
    for g in range(groups):
        if target[g] == g:
            dense[g] = distinct
            distinct += 1
    if distinct < groups:
        for i in range(labels.size):
            labels[i] = dense[target[labels[i]]]
    return distinct


@kernel("Tuple((int32[::1], int64))(float64[:,::1], int64[::1], int64, int64, boolean, int64, uint8[::1])")
def group_labels(
    columns: Floats, chosen: Ints, k: int, least: int, one_more: bool, metric: int, flag: Bytes
) -> tuple[NDArray[np.int32], int]:
    """The records' groups by MDAV on the chosen columns, and their number; the records left over are one too.

    Ends early, with too few groups, once the flag is up.
    """
    n = columns.shape[1]
    values = np.empty((n, chosen.size))
    for j in range(chosen.size):
        for i in range(n):
            values[i, j] = columns[chosen[j], i]
    group_of = sweep_groups(values, np.ones(n), k, least, one_more, metric, flag)
    whole = group_of.max() + 1
    labels = np.empty(n, np.int32)
    groups = whole
    for i in range(n):
        labels[i] = group_of[i]
        if group_of[i] < 0:
            labels[i] = whole
            groups = whole + 1
    return labels, groups


@kernel("Tuple((float64, int64, int64))(float64[:,::1], int64[::1], int32[::1], int64, float64[::1])")
def group_figures(
    columns: Floats, chosen: Ints, labels: NDArray[np.int32], groups: int, reach: Floats
) -> tuple[float, int, int]:
    """SSE, interval hits and distinct centroids of the chosen columns; groups with one centroid get one label.

    `reach` has the width of 100 % of each column's interval: a deviation, or a negative number for the protected value
    itself (NaN: the column is left out).
    """
    centroids = group_centroids(columns, chosen, labels, groups)
    sse, hits = 0.0, 0
    misses, widths = np.empty(columns.shape[1]), np.empty(columns.shape[1])
    for j in range(chosen.size):
        column, width = columns[chosen[j]], reach[chosen[j]]
        for i in range(column.size):
            value = centroids[j, labels[i]]
            misses[i] = abs(column[i] - value)
            widths[i] = abs(value) if width < 0.0 else width
            sse += misses[i] * misses[i]
        hits += _intervals_hit(misses, widths)
    return sse, hits, _share_labels(centroids, labels)


@kernel("void(float64[:,::1], int64[::1], int32[::1], int64, int64[::1], float64[:,::1], boolean[::1])")
def fill_distances(
    columns: Floats,
    chosen: Ints,
    labels: NDArray[np.int32],
    groups: int,
    records: Ints,
    table: Floats,
    surely: NDArray[np.bool_],
) -> None:
    """Squared distances of the records to every centroid; `surely` where the own one is strictly the least."""
    centroids = group_centroids(columns, chosen, labels, groups)
    count = records.size
    part = np.empty((chosen.size, count))
    for j in range(chosen.size):
        for t in range(count):
            part[j, t] = columns[chosen[j], records[t]]
    away = np.empty(count)
    for g in range(groups):
        away[:] = 0.0
        for j in range(chosen.size):
            line, value = part[j], centroids[j, g]
            for t in range(count):
                away[t] += (line[t] - value) ** 2
        copy_first(count, away, table[:, g])
    for t in range(count):
        row, own_group = table[t], labels[records[t]]
        least = True
        for g in range(groups):
            least &= row[g] > row[own_group] or g == own_group
        surely[t] = least


@inner
def _distinct(labels: NDArray[np.int32]) -> tuple[Ints, Ints, Ints]:
    """Number the distinct columns of `labels`: the number of each, its first place and its count."""
    parts, n = labels.shape
    room = 16
    while room < 2 * n:
        room *= 2
    keys, used = np.empty(room, np.int64), np.empty(room, np.uint8)
    numbers = np.empty(room, np.int64)
    identity = np.empty(n, np.int64)
    for i in range(n):
        identity[i] = labels[0, i]
    distinct = 0
    for j in range(1 if parts > 1 else 0, parts):
        used[:] = 0
        distinct = 0
        span = np.int64(labels[j].max()) + 1
        for i in range(n):
            key = identity[i] if parts == 1 else identity[i] * span + labels[j, i]
            slot = slot_of(keys, used, key)
            if used[slot] == 0:
                used[slot], keys[slot] = 1, key
                numbers[slot] = distinct
                distinct += 1
            identity[i] = numbers[slot]
    first = np.full(distinct, -1, np.int64)
    sizes = np.zeros(distinct, np.int64)
    for i in range(n):
        q = identity[i]
        if first[q] < 0:
            first[q] = i
        sizes[q] += 1
    return identity, first, sizes


@inner
def _by_label(codes: Ints, width: int) -> tuple[Ints, Ints]:
    """The distinct protected records of every label, as one list a table: its ends, and the records."""
    distinct, parts = codes.shape
    ends = np.zeros(width + 1, np.int64)
    for q in range(distinct):
        for j in range(parts):
            ends[codes[q, j] + 1] += 1
    for c in range(width):
        ends[c + 1] += ends[c]
    place = ends[:-1].copy()
    members = np.empty(distinct * parts, np.int64)
    for q in range(distinct):
        for j in range(parts):
            members[place[codes[q, j]]] = q
            place[codes[q, j]] += 1
    return ends, members


@inner
def _narrowest(row: Floats, code: Ints, starts: Ints, ends: Ints, least: Floats) -> tuple[int, float]:
    """The table that leaves the fewest protected records to look at, and how far above its least they may lie.

    A protected record as near as the own one exceeds the sum of the tables' least entries by no more than the own one
    does, so it exceeds the least entry of each single table by no more than that.
    """
    parts = least.size
    slack, own_distance = 0.0, 0.0
    for j in range(parts):
        least[j] = row[starts[j]]
        for c in range(starts[j] + 1, starts[j + 1]):
            least[j] = min(least[j], row[c])
        slack += row[code[j]] - least[j]
        own_distance += row[code[j]]
    slack += 1e-12 * own_distance  # rounding must not hide a tie
    best, fewest = 0, 2**62
    for j in range(parts):
        count = 0
        for c in range(starts[j], starts[j + 1]):
            if row[c] <= least[j] + slack:
                count += ends[c + 1] - ends[c]
        if count < fewest:
            best, fewest = j, count
    return best, least[best] + slack


@inner
def _ties(
    row: Floats, codes: Ints, sizes: Ints, me: int, starts: Ints, ends: Ints, members: Ints, least: Floats, strict: bool
) -> int:
    """How many protected records share the least distance, the own among them; 0 when another one is nearer."""
    parts = least.size
    own_distance = 0.0
    for j in range(parts):
        own_distance += row[codes[me, j]]
    best, most = _narrowest(row, codes[me], starts, ends, least)
    ties = int(sizes[me])
    for c in range(starts[best], starts[best + 1]):
        if row[c] > most:
            continue
        for place in range(ends[c], ends[c + 1]):
            q = members[place]
            away = 0.0
            for j in range(parts):
                away += row[codes[q, j]]
            if q == me or away > own_distance:
                continue
            if away < own_distance or strict:
                return 0
            ties += sizes[q]
    return ties


@kernel("float64(float64[:,:,::1], boolean[:,::1], int32[:,::1], int64[::1], int64[::1], int64[::1], boolean, float64)")
def count_links(
    tables: Floats,
    surely: NDArray[np.bool_],
    labels: NDArray[np.int32],
    places: Ints,
    starts: Ints,
    records: Ints,
    strict: bool,
    limit: float,
) -> float:
    """Links of the records to their own protected records; stops, with what it has, once they are more than `limit`.

    Of the tables those in `places` count; they stand side by side, the first column of each in `starts` and the end of
    the last behind it. A tie among m counts 1/m, or nothing if `strict`.
    """
    parts = places.size
    chosen = np.empty((parts, labels.shape[1]), np.int32)
    for j in range(parts):
        chosen[j] = labels[places[j]]
    identity, first, sizes = _distinct(chosen)
    codes = np.empty((first.size, parts), np.int64)
    for q in range(first.size):
        for j in range(parts):
            codes[q, j] = starts[j] + chosen[j, first[q]]
    row = np.empty(starts[parts])
    ends, members = _by_label(codes, row.size)
    least = np.empty(parts)
    links = 0.0
    for t in range(records.size):
        me = identity[records[t]]
        if strict and sizes[me] > 1:
            continue
        sure = True
        for j in range(parts):
            sure &= surely[places[j], t]
        ties = sizes[me]
        if not sure:
            for j in range(parts):
                for c in range(starts[j], starts[j + 1]):
                    row[c] = tables[places[j], t, c - starts[j]]
            ties = _ties(row, codes, sizes, me, starts, ends, members, least, strict)
        if ties > 0:
            links += 1.0 / ties
            if links > limit:
                break
    return links
