"""Simulated annealing of a k-partition over neighbour lists (Kirkpatrick et al. 1983; moves of spec/5).

    repeat: a random record i, a random near record j of another group
        relocate i to j's group | swap i with a member of it | rotate i, a member, and a third group's record
        seldom: create a group around i, dissolve i's group
        accept if delta <= 0 or u < exp(-delta / (T * heat[i]))

`heat` is the local scale of the data around each record, so that dense and sparse regions cool together.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner, kernel
from shoal.kernels.groups import GROUPS, SQUARES, Groups, give_vacant, load, refresh, transfer
from shoal.kernels.losses import entering, leaving, replacing, swapping
from shoal.kernels.moves import create, dissolve, take_back
from shoal.kernels.randomness import below, draw, uniform

Indices = NDArray[np.int32]
Floats = NDArray[np.float64]

_S16, _S32, _S48 = np.uint64(16), np.uint64(32), np.uint64(48)
_LOW16, _LOW32 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)


@kernel([numba.float64(SQUARES, GROUPS)])
def start(loss: Any, g: Groups) -> float:
    """Build the state from the labels; gives the loss."""
    return load(loss, g)


@inner
def accept(delta: float, limit: float, rng: NDArray[np.uint64]) -> bool:
    """The Metropolis rule."""
    if delta <= 0.0:
        return True
    return delta < 30.0 * limit and uniform(rng) < math.exp(-delta / limit)


@kernel([numba.float64(SQUARES, GROUPS, numba.int32[:, ::1], numba.float64[::1], numba.uint64[::1], numba.int64, numba.float64, numba.float64, numba.int64[::1], numba.float64[::1], numba.int32[::1])])
def anneal(
    loss: Any,
    g: Groups,
    near: Indices,
    heat: Floats,
    rng: NDArray[np.uint64],
    proposals: int,
    hot: float,
    cold: float,
    counts: NDArray[np.int64],
    mix: Floats,
    deck: Indices,
) -> float:
    """Make proposals while the temperature falls from hot to cold; gives the loss at the end."""
    x, w, summary, mass, label, size, member, k = g.x, g.w, g.summary, g.mass, g.label, g.size, g.member, g.k
    n = np.uint64(deck.size)
    most = 2 * k - 1
    width = near.shape[1]
    log = np.zeros(4 * k + 1, dtype=np.int32)
    temperature = hot
    factor = (cold / hot) ** (256.0 / proposals)
    p_big, p_rot, p_rel = mix[0], mix[0] + mix[1], mix[2]
    for step in range(proposals):
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        r = draw(rng)
        i = deck[np.int64(((r >> _S32) * n) >> _S32)]
        u = np.float64(r & _LOW16) / 65536.0
        j = near[i, np.int64(u * u * width)]
        a, b = label[i], label[j]
        v = np.float64((r >> _S16) & _LOW16) / 65536.0
        limit = temperature * heat[i]
        if v < p_big:
            counts[6] += 1
            if v < 0.5 * p_big:
                delta = create(loss, g, near, i, log)
            else:
                delta = dissolve(loss, g, near, a, log)
            if delta < np.inf:
                if accept(delta, limit, rng):
                    counts[7] += 1
                else:
                    # the group that was opened or closed
                    if v < 0.5 * p_big:
                        opened = label[i]
                        take_back(loss, g, log)
                        give_vacant(g, opened)
                    else:
                        top = g.vacant.size - 1
                        g.vacant[top] -= 1
                        take_back(loss, g, log)
            continue
        if a == b:
            continue
        if size[a] > k and size[b] < most and (step & 3) < p_rel:
            counts[0] += 1
            delta = leaving(loss, x, w, summary, mass, member, size, a, i) + entering(
                loss, x, w, summary, mass, member, size, b, i
            )
            if accept(delta, limit, rng):
                counts[1] += 1
                transfer(loss, g, i, b)
            continue
        m = member[b, below(rng, size[b])]
        if v < p_rot:
            # i to b, m to c, and one of c to a (or none, if c has room and a can spare i)
            r = draw(rng)
            u = np.float64(r & _LOW16) / 65536.0
            c = label[near[m, np.int64(u * u * width)]]
            if c == a or c == b:
                continue
            counts[4] += 1
            delta = replacing(loss, x, w, summary, mass, member, size, b, m, i)
            if size[a] > k and size[c] < most:
                delta += leaving(loss, x, w, summary, mass, member, size, a, i) + entering(loss, x, w, summary, mass, member, size, c, m)
                if accept(delta, limit, rng):
                    counts[5] += 1
                    transfer(loss, g, i, b)
                    transfer(loss, g, m, c)
            else:
                l = member[c, np.int64(((r >> _S32) * np.uint64(size[c])) >> _S32)]
                delta += replacing(loss, x, w, summary, mass, member, size, c, l, m) + replacing(loss, x, w, summary, mass, member, size, a, i, l)
                if accept(delta, limit, rng):
                    counts[5] += 1
                    transfer(loss, g, i, b)
                    transfer(loss, g, m, c)
                    transfer(loss, g, l, a)
            continue
        counts[2] += 1
        delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
        if accept(delta, limit, rng):
            counts[3] += 1
            transfer(loss, g, i, b)
            transfer(loss, g, m, a)
    return refresh(loss, g)
