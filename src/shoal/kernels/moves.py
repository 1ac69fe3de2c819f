"""The moves that change more than a few records: create, dissolve, resplit.

Each is done step by step by transfers that are written down, so that a move that is not wanted is
taken back; its cost is the sum of its transfers' costs. They keep every group between k and 2k - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner
from shoal.kernels.groups import Groups, give_vacant, take_vacant, transfer
from shoal.kernels.losses import apart, entering, leaving, swapping
from shoal.kernels.randomness import below

Indices = NDArray[np.int32]


@inner
def relocation(loss: Any, g: Groups, i: int, b: int) -> float:
    """The change of the loss if i moves to group b."""
    a = g.label[i]
    return leaving(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a, i) + entering(
        loss, g.x, g.w, g.summary, g.mass, g.member, g.size, b, i
    )


@inner
def create(loss: Any, g: Groups, near: Indices, i: int, log: Indices) -> float:
    """A new group around i from near records of groups that can spare one; infinite if there are too few.

    `log` holds (record, old group) pairs, their number in its last cell.
    """
    top = log.size - 1
    log[top] = 0
    if g.size[g.label[i]] <= g.k:
        return np.inf
    new = take_vacant(g)
    delta = 0.0
    t = -1
    while t < near.shape[1] and g.size[new] < g.k:
        j = i if t < 0 else near[i, t]
        t += 1
        if g.size[g.label[j]] > g.k and g.label[j] != new:
            log[2 * log[top]] = j
            log[2 * log[top] + 1] = g.label[j]
            log[top] += 1
            delta += relocation(loss, g, j, new)
            transfer(loss, g, j, new)
    if g.size[new] < g.k:
        take_back(loss, g, log)
        give_vacant(g, new)
        return np.inf
    return delta


@inner
def dissolve(loss: Any, g: Groups, near: Indices, a: int, log: Indices) -> float:
    """Every record of group a joins the best near group with room; infinite if one finds none."""
    top = log.size - 1
    log[top] = 0
    delta = 0.0
    while g.size[a] > 0:
        i = g.member[a, g.size[a] - 1]
        best, where = np.inf, -1
        for t in range(near.shape[1]):
            b = g.label[near[i, t]]
            if b != a and g.size[b] < 2 * g.k - 1:
                cost = entering(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, b, i)
                if cost < best:
                    best, where = cost, b
        if where < 0:
            take_back(loss, g, log)
            return np.inf
        delta += leaving(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a, i) + best
        log[2 * log[top]] = i
        log[2 * log[top] + 1] = a
        log[top] += 1
        transfer(loss, g, i, where)
    give_vacant(g, a)
    return delta


@inner
def take_back(loss: Any, g: Groups, log: Indices) -> None:
    """Undo the transfers in the log, the last first."""
    for s in range(log[log.size - 1] - 1, -1, -1):
        transfer(loss, g, log[2 * s], log[2 * s + 1])
    log[log.size - 1] = 0
