"""Cuts that tighten the relaxation of set partitioning, so that its bound comes nearer to the optimum.

At most one group of a partition contains two or more of three records. The relaxation may take halves of three such
groups, each with another two of the records. A cut forbids that. In general, for three or five records: half their
number in a group, rounded down and summed over the groups, is at most half of them, rounded down (subset-row cuts:
Jepsen et al. 2008). The dual of a cut is never positive. Therefore a group that the cut touches has a higher reduced
cost than the duals of its records give, and a search that ignores the cuts misses no group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.partition.sparse import SparseTable, ends_of

Cut = tuple[int, ...]  # three or five records

WHOLE = 1e-6  # a share nearer to 0 or 1 counts as 0 or 1
VIOLATED = 0.01  # the sum of a cut must exceed its limit by at least this
CUTS_PER_ROUND, CUTS_PER_RECORD = 200, 8  # cuts per round, and those among them with the same record
HOPEFUL, STARTS, AROUND = 0.5, 400, 24  # for five records: smallest sum of a three, number of threes, records around


def incidence(groups: Sequence[NDArray[Any]], n: int) -> SparseTable:
    """Return the incidence table: one line per group, one column per record."""
    ends = ends_of(np.array([rows.size for rows in groups], dtype=np.int64))
    records = np.concatenate(groups) if len(groups) else np.empty(0, dtype=np.int32)
    return SparseTable(ends, records, np.ones(records.size), n)


def touched(held: SparseTable, cuts: Sequence[Cut]) -> SparseTable:
    """Return one line per group, one column per cut: half the number of the cut's records in the group, rounded down.

    In a line, the cut whose first record in the group comes last is the first one.
    """
    records = np.array([record for cut in cuts for record in cut], dtype=np.int64)
    ends = ends_of(np.array([len(cut) for cut in cuts], dtype=np.int64))
    by_record = SparseTable(ends, records, np.ones(records.size), held.width).transposed()
    pairs = by_record.part(held.columns)  # the cuts of each record of each group
    places = pairs.lines
    cells = held.lines[places] * len(cuts) + pairs.columns
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    shared = np.diff(starts, append=cells.size)
    starts, shared = starts[shared > 1], shared[shared > 1]
    group, cut = np.divmod(cells[order[starts]], max(len(cuts), 1))
    order = np.lexsort((-cut, -places[order[starts]], group))
    sizes = np.bincount(group, minlength=held.starts.size - 1)
    return SparseTable(ends_of(sizes), cut[order], (shared[order] // 2).astype(np.float64), len(cuts))


def limits(cuts: Sequence[Cut]) -> Floats:
    """Return the largest allowed sum of each cut."""
    return np.array([len(cut) // 2 for cut in cuts], dtype=np.float64)


def violated(held: SparseTable, share: Floats) -> list[Cut]:
    """Return the cuts that a fractional partition violates most; `share` is how much of each group it takes.

    All cuts of three records are tried. Cuts of five are tried only if no cut of three is violated, and only around
    the threes that come nearest.
    """
    parted = np.flatnonzero((share > WHOLE) & (share < 1 - WHOLE))
    if parted.size == 0:
        return []
    held, share = held.part(parted), share[parted]
    records, columns = np.unique(held.columns, return_inverse=True)
    groups = np.split(columns, held.starts[1:-1])
    pairs = np.zeros((records.size, records.size))  # the share of the groups that contain both
    for group, part in zip(groups, share, strict=True):
        pairs[np.ix_(group, group)] += part
    np.fill_diagonal(pairs, 0.0)
    threes = dict(_threes(groups, share, pairs))
    excess = {cut: total - 1 for cut, total in threes.items() if total > 1 + VIOLATED}
    if not excess:
        nearest = sorted(threes, key=lambda cut: (-threes[cut], cut))[:STARTS]
        excess = dict(_fives(held._replace(columns=columns, width=records.size).dense(), share, pairs, nearest))
    used = np.zeros(records.size, dtype=np.int64)
    chosen: list[Cut] = []
    for cut in sorted(excess, key=lambda cut: (-excess[cut], cut)):
        if used[list(cut)].max() < CUTS_PER_RECORD and len(chosen) < CUTS_PER_ROUND:
            chosen.append(tuple(records[list(cut)].tolist()))
            used[list(cut)] += 1
    return chosen


def _threes(groups: Sequence[Ints], share: Floats, pairs: Floats) -> Iterator[tuple[Cut, float]]:
    """Yield three records and their sum, if it is not small: the sum of their pairs, with a group of all three once."""
    together: dict[Cut, float] = {}
    for group, part in zip(groups, share, strict=True):
        for three in combinations(sorted(group.tolist()), 3):
            together[three] = together.get(three, 0.0) + float(part)
    for i, line in enumerate(pairs):
        near = np.flatnonzero(line > 0.0)
        sums = pairs[np.ix_(near, near)] + line[near][:, None] + line[near][None, :]
        for a, b in np.argwhere(np.triu(sums > HOPEFUL, 1)):
            cut = tuple(sorted((i, int(near[a]), int(near[b]))))
            yield cut, float(sums[a, b]) - 2 * together.get(cut, 0.0)


def _fives(held: Floats, share: Floats, pairs: Floats, starts: Sequence[Cut]) -> Iterator[tuple[Cut, float]]:
    """Yield the best five records around each three, and the excess of their cut, if there is one."""
    for three in starts:
        ties = pairs[list(three)].sum(axis=0)
        ties[list(three)] = 0.0
        near = np.argsort(-ties, kind="stable")[: min(AROUND, np.count_nonzero(ties))]
        if near.size < 2:
            continue
        a, b = np.triu_indices(near.size, 1)
        counts = held[:, list(three)].sum(axis=1)[:, None] + held[:, near[a]] + held[:, near[b]]
        sums = share @ np.floor(counts / 2)
        best = int(np.argmax(sums))
        if sums[best] > 2 + VIOLATED:
            yield tuple(sorted((*three, int(near[a[best]]), int(near[b[best]])))), float(sums[best]) - 2
