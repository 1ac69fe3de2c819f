"""The moves that change more than three records: create, dissolve, resplit.

A move consists of transfers. A log records them, so that the caller can take a rejected move back. The cost of a move
is the sum of the costs of its transfers. An infinite cost means that the loss or the sizes of the groups forbid the
move. Such a move may have stopped halfway. An accepted move leaves every group with k to `most` records.
A log holds (record, old group) pairs, and their number in its last cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.kernels.compiling import bare, inner
from shoal.engine.kernels.randomness import below
from shoal.engine.partition.kernels.groups import Groups, next_vacant, transfer
from shoal.engine.partition.kernels.losses import apart, entering, is_allowed, leaving, swapping


@inner
def empty_log(most: int) -> Indices:
    """Return room for the transfers of any move."""
    return np.zeros(16 * (most + 1) + 1, dtype=np.int32)


@bare
def shift(loss: Any, g: Groups, i: int, b: int, log: Indices) -> float:
    """Move i to group b and log it; return the change of the loss."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    a = g.label[i]
    delta = leaving(loss, x, w, summary, mass, member, size, a, i)
    delta += entering(loss, x, w, summary, mass, member, size, b, i)
    top = log.size - 1
    log[2 * log[top]] = i
    log[2 * log[top] + 1] = a
    log[top] += 1
    transfer(loss, g, i, b)
    return delta


@bare
def take_back(loss: Any, g: Groups, log: Indices) -> None:
    """Undo the transfers in the log, the last one first."""
    for s in range(log[log.size - 1] - 1, -1, -1):
        transfer(loss, g, log[2 * s], log[2 * s + 1])
    log[log.size - 1] = 0


@bare
def allows(loss: Any, g: Groups, a: int, counts: Ints) -> bool:
    """Return whether the rules of the loss allow a group; an empty one is allowed."""
    if g.size[a] == 0:
        return True
    return bool(is_allowed(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a, counts))


@bare
def allows_all(loss: Any, g: Groups, log: Indices, counts: Ints) -> bool:
    """Return whether the rules of the loss allow every group that the transfers in the log have changed."""
    for s in range(log[log.size - 1]):
        if not (allows(loss, g, log[2 * s + 1], counts) and allows(loss, g, g.label[log[2 * s]], counts)):
            return False
    return True


@bare
def exchange(loss: Any, g: Groups, i: int, b: int, m: int, counts: Ints) -> bool:
    """Move record i to group b, and record m of b (-1 for none) to i's group, unless the rules of the loss forbid it.

    Returns whether the records were moved.
    """
    a = g.label[i]
    transfer(loss, g, i, b)
    if m >= 0:
        transfer(loss, g, m, a)
    if counts.size == 0 or (allows(loss, g, a, counts) and allows(loss, g, b, counts)):
        return True
    if m >= 0:
        transfer(loss, g, m, b)
    transfer(loss, g, i, a)
    return False


@bare
def create(loss: Any, g: Groups, near: Indices, i: int, log: Indices) -> float:
    """Create a group around i from near records of groups with more than k; infinite if there are too few."""
    label, size, owner, worker, k = g.label, g.size, g.owner, g.worker, g.k
    log[log.size - 1] = 0
    if size[label[i]] <= k or g.vacant[g.vacant.size - 1] == 0:
        return np.inf
    new = next_vacant(g)
    delta = 0.0
    for t in range(-1, near.shape[1]):
        j = i if t < 0 else near[i, t]
        if owner[label[j]] == worker and size[new] < k < size[label[j]]:
            delta += shift(loss, g, j, new, log)
    return delta if size[new] == k else np.inf


@bare
def dissolve(loss: Any, g: Groups, near: Indices, a: int, log: Indices) -> float:
    """Move every record of group a to the best near group with room; infinite if one has none."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    label, owner, worker, most = g.label, g.owner, g.worker, g.most
    log[log.size - 1] = 0
    delta = 0.0
    while size[a] > 0:
        i = member[a, size[a] - 1]
        best, where, last = np.inf, -1, -1
        for t in range(near.shape[1]):
            b = label[near[i, t]]
            if b != a and b != last and owner[b] == worker and size[b] < most:
                cost = entering(loss, x, w, summary, mass, member, size, b, i)
                if cost < best:
                    best, where = cost, b
                last = b
        if where < 0:
            return np.inf
        delta += shift(loss, g, i, where, log)
    return delta


@bare
def line_up(loss: Any, g: Groups, a: int, b: int, random_state: NDArray[np.uint64], pool: Indices, lean: Floats) -> int:
    """Sort the records of two groups along the line between two far ones; return their number."""
    x, member, size = g.x, g.member, g.size
    total = size[a] + size[b]
    for s in range(total):
        pool[s] = member[a, s] if s < size[a] else member[b, s - size[a]]
    one = pool[below(random_state, total)]
    other, far = one, -1.0
    for s in range(total):
        lean[s] = apart(loss, x, pool[s], one)
        if lean[s] > far:
            other, far = pool[s], lean[s]
    for s in range(total):  # insertion sort: the pool is small
        i, value = pool[s], lean[s] - apart(loss, x, pool[s], other)
        t = s
        while t > 0 and lean[t - 1] > value:
            lean[t], pool[t] = lean[t - 1], pool[t - 1]
            t -= 1
        lean[t], pool[t] = value, i
    return int(total)


@bare
def resplit(
    loss: Any, g: Groups, a: int, b: int, random_state: NDArray[np.uint64], log: Indices, pool: Indices, lean: Floats
) -> float:
    """Merge two groups and split them again: along the line between two far members, then by the best swaps."""
    x, w, summary, mass, member, size, label = g.x, g.w, g.summary, g.mass, g.member, g.size, g.label
    log[log.size - 1] = 0
    total = line_up(loss, g, a, b, random_state, pool, lean)
    lowest_cut = max(g.k, total - g.most)
    cut = lowest_cut + below(random_state, min(g.most, total - g.k) - lowest_cut + 1)
    delta = 0.0
    s, t, turn = 0, cut, 0
    while True:
        while s < cut and label[pool[s]] == a:
            s += 1
        while t < total and label[pool[t]] == b:
            t += 1
        if s == cut and t == total:
            break
        # One from each side in turn, so that neither group grows by more than one record in between.
        turn = 1 if t < total and (turn == 0 or s == cut) else 0
        delta += shift(loss, g, pool[t] if turn == 1 else pool[s], b if turn == 1 else a, log)
    for _ in range(4):
        best, i, j = 0.0, -1, -1
        for s in range(size[a]):
            for t in range(size[b]):
                trial = swapping(loss, x, w, summary, mass, member, size, a, member[a, s], b, member[b, t])
                if trial < best:
                    best, i, j = trial, member[a, s], member[b, t]
        if i < 0:
            break
        for turn in range(2):
            delta += shift(loss, g, i if turn == 0 else j, b if turn == 0 else a, log)
    return delta
