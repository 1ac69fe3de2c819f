"""Simulated annealing of a k-partition over neighbour lists (Kirkpatrick, Gelatt and Vecchi 1983; spec/5).

    repeat: a random record i of those whose turn it is; a random near record j, of another group b
        relocate i to b | swap i with a member of b | i to b, a member of b to a third group, one of that to i's
        seldom: create a group around i | dissolve i's group | merge the two groups and split them anew
        accept if delta <= T * heat[i] * an exponential random number

`heat` is the data's own scale around each record. Regions far apart do not touch each other's groups, so
each may have its own temperature; with one for all, dense regions would boil until sparse ones are frozen.

What cannot be foreseen makes the processor drop what it had begun, and costs more than the sums. So which move comes
is no chance, of two near records the one of another group is taken, and the random threshold comes from a table.
Indices are unsigned, as in `squares.py`.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import bare, inlined, kernel
from shoal.kernels.groups import GROUPS, SQUARES, Groups, transfer
from shoal.kernels.losses import entering, leaving, replacing, swapping
from shoal.kernels.moves import create, dissolve, empty_log, resplit, take_back
from shoal.kernels.randomness import draw

Indices = NDArray[np.int32]
Floats = NDArray[np.float64]

CREATE, DISSOLVE, RESPLIT, FEW = 1, 2, 3, 0
# One of 128 proposals is a move of many records, by turns, or a common one as all others, and of those every third is a
# rotation.
SELDOM = np.array([CREATE, RESPLIT, DISSOLVE, FEW, CREATE, FEW, DISSOLVE, FEW], dtype=np.int8)
THRESHOLDS = -np.log((np.arange(1024) + 0.5) / 1024)  # of the exponential distribution, equally likely

_S16, _S32 = np.uint64(16), np.uint64(32)
_LOW16, _LOW10 = np.uint64(0xFFFF), np.uint64(0x3FF)
_NONE: Any = np.uint64(0xFFFFFFFF)
_SHARE = 1.0 / 65536.0


@inlined
def index(number: Any) -> Any:
    """An index that is known not to be negative."""
    return np.uint64(number)


@inlined
def signed(number: Any) -> Any:
    """An index as the moves expect it."""
    return np.int64(number)


@inlined
def pick(bits: np.uint64, count: Any) -> Any:
    """A number below the count, by the upper half of random bits."""
    return ((bits >> _S32) * np.uint64(count)) >> _S32


@inlined
def nearer(bits: np.uint64, width: int) -> Any:
    """A place in a list of neighbours, the nearest the likeliest, by the lowest 16 of random bits."""
    u = np.float64(bits & _LOW16) * _SHARE
    return index(np.int64(u * u * width))


@bare
def rotate(loss: Any, g: Groups, near: Indices, i: Any, b: Any, limit: float, rng: NDArray[np.uint64]) -> bool:
    """Propose: i to b, a member of b to a third group c, and a member of c to i's group (none if c has room).

    False if c is not ours to change.
    """
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    a = index(g.label[i])
    r = draw(rng)
    m = index(member[b, pick(r, size[b])])
    c = index(g.label[index(near[m, nearer(r, near.shape[1])])])
    if g.owner[c] != g.mine:
        return False
    if c == a or c == b:  # noqa: SIM109
        return True
    o = _NONE
    delta = replacing(loss, x, w, summary, mass, member, size, b, m, i)
    if size[a] > g.k and size[c] < 2 * g.k - 1:
        delta += leaving(loss, x, w, summary, mass, member, size, a, i)
        delta += entering(loss, x, w, summary, mass, member, size, c, m)
    else:
        o = index(member[c, pick(draw(rng), size[c])])
        delta += replacing(loss, x, w, summary, mass, member, size, c, o, m)
        delta += replacing(loss, x, w, summary, mass, member, size, a, i, o)
    if delta <= limit * THRESHOLDS[(r >> _S16) & _LOW10]:
        transfer(loss, g, i, b)
        transfer(loss, g, m, c)
        if o != _NONE:
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
    width = near.shape[1]
    log = empty_log(k)
    pool, lean = np.empty(4 * k, dtype=np.int32), np.empty(4 * k)
    temperature = hot
    i_next, near_next, other_next = index(0), index(0), index(0)
    step, idle, turn = -2, 0, 0
    while step + 1 < proposals:
        step += 1
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        # Who is next does not depend on the moves: looked up a step ahead, memory is not waited for.
        i, j, other = i_next, near_next, other_next
        r = draw(rng)
        i_next = index(turns[pick(r, turns.size)])
        near_next = index(near[i_next, nearer(r, width)])
        other_next = index(near[i_next, nearer(r >> _S16, width)])
        a, b, c = index(label[i]), index(label[j]), index(label[other])
        b = c if b == a else b
        if owner[a] != mine or owner[b] != mine:  # before anything that another owner may be changing
            if idle < proposals:
                step, idle = step - 1, idle + 1
            continue
        if a == b:
            continue
        limit = temperature * heat[i]
        turn = turn + 1 if turn < 2 else 0
        kind = SELDOM[(step >> 7) & 7] if step & 127 == 0 else FEW
        if kind != FEW:
            if kind == CREATE:
                delta = create(loss, g, near, signed(i), log)
            elif kind == DISSOLVE:
                delta = dissolve(loss, g, near, signed(a), log)
            else:
                delta = resplit(loss, g, signed(a), signed(b), rng, log, pool, lean)
            if delta < np.inf and not delta <= limit * THRESHOLDS[draw(rng) & _LOW10]:
                take_back(loss, g, log)
        elif turn == 0:
            if not rotate(loss, g, near, i, b, limit, rng) and idle < proposals:
                step, idle = step - 1, idle + 1
        else:
            m = _NONE
            r = draw(rng)
            if size[a] > k and size[b] < 2 * k - 1 and step & 1:
                delta = leaving(loss, x, w, summary, mass, member, size, a, i)
                delta += entering(loss, x, w, summary, mass, member, size, b, i)
            else:
                m = index(member[b, pick(r, size[b])])
                delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
            if delta <= limit * THRESHOLDS[r & _LOW10]:
                transfer(loss, g, i, b)
                if m != _NONE:
                    transfer(loss, g, m, a)
