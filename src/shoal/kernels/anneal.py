"""Simulated annealing of a k-partition over neighbour lists (Kirkpatrick, Gelatt and Vecchi 1983; spec/5).

    repeat: a random record i of those whose turn it is; a random near record j, of another group b
        relocate i to b | swap i with a member of b | i to b, a member of b to a third group, one of that to i's
        seldom: create a group around i | dissolve i's group | merge the two groups and split them anew
        accept if delta <= 0 or u < exp(-delta / (T * heat[i]))

`heat` is the data's own scale around each record. Regions far apart do not touch each other's groups, so
each may have its own temperature; with one for all, dense regions would boil until sparse ones are frozen.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import bare, inlined, kernel
from shoal.kernels.groups import GROUPS, SQUARES, Groups, transfer
from shoal.kernels.losses import entering, leaving, replacing, swapping
from shoal.kernels.moves import create, dissolve, empty_log, resplit, take_back
from shoal.kernels.randomness import below, draw, uniform

Indices = NDArray[np.int32]
Floats = NDArray[np.float64]

CREATE, DISSOLVE, RESPLIT, ROTATE = 0.002, 0.004, 0.005, 0.35  # shares of the proposals, cumulated

_S16, _S32 = np.uint64(16), np.uint64(32)
_LOW16 = np.uint64(0xFFFF)
_SHARE = 1.0 / 65536.0


@inlined
def accept(delta: float, limit: float, rng: NDArray[np.uint64]) -> bool:
    """The Metropolis rule."""
    if delta <= 0.0:
        return True
    return delta < 30.0 * limit and uniform(rng) < math.exp(-delta / limit)


@bare
def rotate(loss: Any, g: Groups, near: Indices, i: int, b: int, limit: float, rng: NDArray[np.uint64]) -> bool:
    """Propose: i to b, a member of b to a third group c, and a member of c to i's group (none if c has room).

    False if c is not ours to change.
    """
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    a = g.label[i]
    r = draw(rng)
    m = member[b, np.int64(((r >> _S32) * np.uint64(size[b])) >> _S32)]
    u = np.float64(r & _LOW16) * _SHARE
    c = g.label[near[m, np.int64(u * u * near.shape[1])]]
    if g.owner[c] != g.mine:
        return False
    if c == a or c == b:  # noqa: SIM109
        return True
    o = -1
    delta = replacing(loss, x, w, summary, mass, member, size, b, m, i)
    if size[a] > g.k and size[c] < 2 * g.k - 1:
        delta += leaving(loss, x, w, summary, mass, member, size, a, i)
        delta += entering(loss, x, w, summary, mass, member, size, c, m)
    else:
        o = member[c, below(rng, size[c])]
        delta += replacing(loss, x, w, summary, mass, member, size, c, o, m)
        delta += replacing(loss, x, w, summary, mass, member, size, a, i, o)
    if accept(delta, limit, rng):
        transfer(loss, g, i, b)
        transfer(loss, g, m, c)
        if o >= 0:
            transfer(loss, g, o, a)
    return True


@kernel(
    [
        numba.void(
            SQUARES,
            GROUPS,
            numba.int32[:, ::1],
            numba.float64[::1],
            numba.int32[::1],
            numba.uint64[::1],
            numba.int64,
            numba.float64,
            numba.float64,
        )
    ]
)
def anneal(
    loss: Any,
    g: Groups,
    near: Indices,
    heat: Floats,
    turns: Indices,
    rng: NDArray[np.uint64],
    proposals: int,
    hot: float,
    cold: float,
) -> None:
    """Make proposals for the records in `turns`, as often as each stands there, while the temperature falls.

    A large file is annealed window by window, so that what is looked at stays in the processor's cache. A proposal for
    a group of another owner does not count, unless there are more of them than of the others.
    """
    x, w, summary, mass, label, size, member, k = g.x, g.w, g.summary, g.mass, g.label, g.size, g.member, g.k
    owner, mine = g.owner, g.mine
    span, width = np.uint64(turns.size), near.shape[1]
    log = empty_log(k)
    pool, lean = np.empty(4 * k, dtype=np.int32), np.empty(4 * k)
    temperature = hot
    i_next, j_next, r_next = 0, 0, np.uint64(0)
    step, idle = -2, 0
    while step + 1 < proposals:
        step += 1
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        # Who is next does not depend on the moves: looked up a step ahead, memory is not waited for.
        r, i, j = r_next, i_next, j_next
        r_next = draw(rng)
        i_next = turns[np.int64(((r_next >> _S32) * span) >> _S32)]
        u = np.float64(r_next & _LOW16) * _SHARE
        j_next = near[i_next, np.int64(u * u * width)]  # the nearest are the likeliest
        a, b = label[i], label[j]
        if owner[a] != mine or owner[b] != mine:  # before anything that another owner may be changing
            if idle < proposals:
                step, idle = step - 1, idle + 1
            continue
        if a == b:
            continue
        limit = temperature * heat[i]
        kind = np.float64((r >> _S16) & _LOW16) * _SHARE
        if kind < RESPLIT:
            if kind < CREATE:
                delta = create(loss, g, near, i, log)
            elif kind < DISSOLVE:
                delta = dissolve(loss, g, near, a, log)
            else:
                delta = resplit(loss, g, a, b, rng, log, pool, lean)
            if delta < np.inf and not accept(delta, limit, rng):
                take_back(loss, g, log)
        elif kind < ROTATE:
            if not rotate(loss, g, near, i, b, limit, rng) and idle < proposals:
                step, idle = step - 1, idle + 1
        else:
            m = -1
            if size[a] > k and size[b] < 2 * k - 1 and step & 1:
                delta = leaving(loss, x, w, summary, mass, member, size, a, i)
                delta += entering(loss, x, w, summary, mass, member, size, b, i)
            else:
                m = member[b, below(rng, size[b])]
                delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
            if accept(delta, limit, rng):
                transfer(loss, g, i, b)
                if m >= 0:
                    transfer(loss, g, m, a)
