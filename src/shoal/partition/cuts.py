"""Cuts that make the relaxation of set partitioning tighter, so that its bound comes nearer to the optimum.

Of the groups that hold two or three of the same three records, a partition has one at most; the relaxation may take
halves of three such groups. A cut forbids that for its three records (a subset-row cut: Jepsen et al. 2008). Its dual
is never positive, so a group that the cuts touch has a higher reduced cost than its records' duals alone say: a search
that knows nothing of the cuts misses no group.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Cut = tuple[int, int, int]

WHOLE = 1e-6  # nearer to 0 or 1 than this, a group is left out or taken whole
VIOLATED = 0.01  # how far above 1 the sum of a cut must be
A_ROUND, A_RECORD = 200, 8  # cuts found at once, and those among them with the same record


def incidence(groups: Sequence[NDArray[Any]], n: int) -> csr_array:
    """One row a group, one column a record."""
    ends = np.concatenate(([0], np.cumsum([rows.size for rows in groups], dtype=np.int64)))
    records = np.concatenate(groups) if len(groups) else np.empty(0, dtype=np.int32)
    return csr_array((np.ones(records.size), records, ends), shape=(len(groups), n))


def touched(held: csr_array, cuts: Sequence[Cut]) -> csr_array:
    """One row a group, one column a cut: 1 where the group holds two or three of the cut's records."""
    n = held.shape[1]
    chosen = np.array(cuts, dtype=np.int64).reshape(len(cuts), 3)
    numbers = np.repeat(np.arange(len(cuts)), 3)
    found = csr_array(held @ csr_array((np.ones(3 * len(cuts)), (chosen.ravel(), numbers)), shape=(n, len(cuts))))
    found.data = (found.data > 1.5).astype(np.float64)
    found.eliminate_zeros()
    return found


def violated(held: csr_array, share: Floats) -> list[Cut]:
    """The cuts that a fractional partition violates most; `share` is how much of each group it takes.

    For three records the sum is that of their pairs, where a pair has the share of the groups that hold both; groups
    that hold all three are in it three times instead of once.
    """
    parted = np.flatnonzero((share > WHOLE) & (share < 1 - WHOLE))
    records = np.unique(held[parted].indices)
    held, share = csr_array(held[parted][:, records]), share[parted]
    pairs = (held.T @ (held * share[:, None])).toarray()
    np.fill_diagonal(pairs, 0.0)
    whole: dict[Cut, float] = {}
    for a, part in enumerate(share):
        for cut in combinations(sorted(held.indices[held.indptr[a] : held.indptr[a + 1]].tolist()), 3):
            whole[cut] = whole.get(cut, 0.0) + float(part)
    found: dict[Cut, float] = {}
    for i, line in enumerate(pairs):
        near = np.flatnonzero(line > 0.0)
        sums = pairs[np.ix_(near, near)] + line[near][:, None] + line[near][None, :]
        for a, b in np.argwhere(np.triu(sums > 1.0 + VIOLATED, 1)):
            first, second, third = sorted((i, int(near[a]), int(near[b])))
            cut = (first, second, third)
            excess = float(sums[a, b]) - 2 * whole.get(cut, 0.0) - 1.0
            if excess > VIOLATED:
                found[cut] = excess
    used = np.zeros(pairs.shape[0], dtype=np.int64)
    chosen: list[Cut] = []
    for cut in sorted(found, key=lambda cut: (-found[cut], cut)):
        if used[list(cut)].max() < A_RECORD and len(chosen) < A_ROUND:
            chosen.append(tuple(records[list(cut)].tolist()))
            used[list(cut)] += 1
    return chosen
