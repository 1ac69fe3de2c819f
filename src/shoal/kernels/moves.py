"""The moves of the search that change more than three records: create, dissolve, resplit.

Each is done by transfers that are written down in a log, so that a move that is not wanted is taken
back; its cost is the sum of its transfers' costs. They keep every group between k and 2k - 1.
A log holds (record, old group) pairs, their number in its last cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner
from shoal.kernels.groups import Groups, next_vacant, transfer
from shoal.kernels.losses import apart, entering, leaving, swapping
from shoal.kernels.randomness import below

Indices = NDArray[np.int32]


@inner
def empty_log(k: int) -> Indices:
    """Room for every move's transfers."""
    return np.zeros(32 * k + 1, dtype=np.int32)


@inner
def shift(loss: Any, g: Groups, i: int, b: int, log: Indices) -> float:
    """Move i to group b and write it down; gives the change of the loss."""
    a = g.label[i]
    delta = leaving(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a, i) + entering(
        loss, g.x, g.w, g.summary, g.mass, g.member, g.size, b, i
    )
    top = log.size - 1
    log[2 * log[top]] = i
    log[2 * log[top] + 1] = a
    log[top] += 1
    transfer(loss, g, i, b)
    return delta


@inner
def take_back(loss: Any, g: Groups, log: Indices) -> None:
    """Undo the transfers in the log, the last first."""
    for s in range(log[log.size - 1] - 1, -1, -1):
        transfer(loss, g, log[2 * s], log[2 * s + 1])
    log[log.size - 1] = 0


@inner
def create(loss: Any, g: Groups, near: Indices, i: int, log: Indices) -> float:
    """A new group around i from near records of groups that can spare one; infinite if there are too few."""
    log[log.size - 1] = 0
    if g.size[g.label[i]] <= g.k:
        return np.inf
    new = next_vacant(g)
    delta = shift(loss, g, i, new, log)
    for t in range(near.shape[1]):
        if g.size[new] == g.k:
            return delta
        j = near[i, t]
        if g.size[g.label[j]] > g.k:
            delta += shift(loss, g, j, new, log)
    if g.size[new] == g.k:
        return delta
    take_back(loss, g, log)
    return np.inf


@inner
def dissolve(loss: Any, g: Groups, near: Indices, a: int, log: Indices) -> float:
    """Every record of group a joins the best near group with room; infinite if one finds none."""
    log[log.size - 1] = 0
    delta = 0.0
    while g.size[a] > 0:
        i = g.member[a, g.size[a] - 1]
        best, where, last = np.inf, -1, -1
        for t in range(near.shape[1]):
            b = g.label[near[i, t]]
            if b != a and b != last and g.size[b] < 2 * g.k - 1:
                cost = entering(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, b, i)
                if cost < best:
                    best, where = cost, b
                last = b
        if where < 0:
            take_back(loss, g, log)
            return np.inf
        delta += shift(loss, g, i, where, log)
    return delta


@inner
def resplit(
    loss: Any, g: Groups, a: int, b: int, rng: NDArray[np.uint64], log: Indices, pool: Indices, lean: NDArray[np.float64]
) -> float:
    """Merge two groups and split them anew: along the line between two far members, then by the best swaps."""
    log[log.size - 1] = 0
    total = g.size[a] + g.size[b]
    for s in range(g.size[a]):
        pool[s] = g.member[a, s]
    for s in range(g.size[b]):
        pool[g.size[a] + s] = g.member[b, s]
    one = pool[below(rng, total)]
    other, far = one, -1.0
    for s in range(total):
        gap = apart(loss, g.x, pool[s], one)
        if gap > far:
            other, far = pool[s], gap
    for s in range(total):  # insertion sort: the pool is small
        i = pool[s]
        value = apart(loss, g.x, i, one) - apart(loss, g.x, i, other)
        t = s
        while t > 0 and lean[t - 1] > value:
            lean[t], pool[t] = lean[t - 1], pool[t - 1]
            t -= 1
        lean[t], pool[t] = value, i
    least = max(g.k, total - 2 * g.k + 1)
    cut = least + below(rng, min(2 * g.k - 1, total - g.k) - least + 1)
    delta = 0.0
    # One from each side in turn, so that neither group grows by more than one on the way.
    s, t = 0, cut
    while s < cut or t < total:
        while s < cut and g.label[pool[s]] == a:
            s += 1
        while t < total and g.label[pool[t]] == b:
            t += 1
        if t < total:
            delta += shift(loss, g, pool[t], b, log)
        if s < cut:
            delta += shift(loss, g, pool[s], a, log)
    for _ in range(4):
        best, i, j = 0.0, -1, -1
        for s in range(g.size[a]):
            for t in range(g.size[b]):
                trial = swapping(
                    loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a, g.member[a, s], b, g.member[b, t]
                )
                if trial < best:
                    best, i, j = trial, g.member[a, s], g.member[b, t]
        if i < 0:
            break
        delta += shift(loss, g, i, b, log) + shift(loss, g, j, a, log)
    return delta
