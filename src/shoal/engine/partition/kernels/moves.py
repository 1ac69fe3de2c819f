"""The moves of the search that change more than three records: create, dissolve, resplit.

Each is done by transfers that are written down in a log, so that the caller takes back a move that is not wanted; its
cost is the sum of its transfers' costs. An infinite cost means that the loss, or the groups' sizes, forbid the move: it
may have stopped halfway. A move that is accepted leaves every group with k to `most` records.
A log holds (record, old group) pairs, their number in its last cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import bare, inner
from shoal.engine.kernels.randomness import below
from shoal.engine.partition.kernels.groups import Groups, next_vacant, transfer
from shoal.engine.partition.kernels.losses import apart, entering, leaving, swapping


@inner
def empty_log(most: int) -> Indices:
    """Room for every move's transfers."""
    return np.zeros(16 * (most + 1) + 1, dtype=np.int32)


@bare
def shift(loss: Any, g: Groups, i: int, b: int, log: Indices) -> float:
    """Move i to group b and write it down; gives the change of the loss."""
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
    """Undo the transfers in the log, the last first."""
    for s in range(log[log.size - 1] - 1, -1, -1):
        transfer(loss, g, log[2 * s], log[2 * s + 1])
    log[log.size - 1] = 0


@bare
def create(loss: Any, g: Groups, near: Indices, i: int, log: Indices) -> float:
    """A new group around i from near records of groups that can spare one; infinite if there are too few."""
    label, size, owner, mine, k = g.label, g.size, g.owner, g.mine, g.k
    log[log.size - 1] = 0
    if size[label[i]] <= k or g.vacant[g.vacant.size - 1] == 0:
        return np.inf
    new = next_vacant(g)
    delta = 0.0
    for t in range(-1, near.shape[1]):
        j = i if t < 0 else near[i, t]
        if owner[label[j]] == mine and size[new] < k < size[label[j]]:
            delta += shift(loss, g, j, new, log)
    return delta if size[new] == k else np.inf


@bare
def dissolve(loss: Any, g: Groups, near: Indices, a: int, log: Indices) -> float:
    """Every record of group a joins the best near group with room; infinite if one finds none."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    label, owner, mine, most = g.label, g.owner, g.mine, g.most
    log[log.size - 1] = 0
    delta = 0.0
    while size[a] > 0:
        i = member[a, size[a] - 1]
        best, where, last = np.inf, -1, -1
        for t in range(near.shape[1]):
            b = label[near[i, t]]
            if b != a and b != last and owner[b] == mine and size[b] < most:
                cost = entering(loss, x, w, summary, mass, member, size, b, i)
                if cost < best:
                    best, where = cost, b
                last = b
        if where < 0:
            return np.inf
        delta += shift(loss, g, i, where, log)
    return delta


@bare
def line_up(loss: Any, g: Groups, a: int, b: int, rng: NDArray[np.uint64], pool: Indices, lean: Floats) -> int:
    """The records of two groups along the line between two far ones; gives their number."""
    x, member, size = g.x, g.member, g.size
    total = size[a] + size[b]
    for s in range(total):
        pool[s] = member[a, s] if s < size[a] else member[b, s - size[a]]
    one = pool[below(rng, total)]
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
    loss: Any, g: Groups, a: int, b: int, rng: NDArray[np.uint64], log: Indices, pool: Indices, lean: Floats
) -> float:
    """Merge two groups and split them anew: along the line between two far members, then by the best swaps."""
    x, w, summary, mass, member, size, label = g.x, g.w, g.summary, g.mass, g.member, g.size, g.label
    log[log.size - 1] = 0
    total = line_up(loss, g, a, b, rng, pool, lean)
    least = max(g.k, total - g.most)
    cut = least + below(rng, min(g.most, total - g.k) - least + 1)
    delta = 0.0
    s, t, turn = 0, cut, 0
    while True:
        while s < cut and label[pool[s]] == a:
            s += 1
        while t < total and label[pool[t]] == b:
            t += 1
        if s == cut and t == total:
            break
        # One from each side in turn, so that neither group grows by more than one on the way.
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
