"""Simulated annealing of a k-partition over neighbour lists (Kirkpatrick, Gelatt and Vecchi 1983).

    repeat: a random record i of those whose turn it is; a random near record j, of another group b
        relocate i to b | swap i with a member of b | i to b, a member of b to a third group, one of that to i's
        seldom: create a group around i | dissolve i's group | merge the two groups and split them anew
        accept if delta <= T * heat[i] * an exponential random number

`heat` is the data's own scale around each record. Regions far apart do not touch each other's groups, so
each may have its own temperature; with one for all, dense regions would boil until sparse ones are frozen.

What cannot be foreseen makes the processor drop what it had begun, and costs more than the sums. So which move comes
is no chance, of two near records the one of another group is taken, and the random threshold comes from a table.
In a large file it waits for memory even more. So proposals are drawn some steps ahead, and what each will look at is
asked for bit by bit as it comes nearer. Indices are unsigned, as in `squared`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import bare, inlined, kernel
from shoal.engine.kernels.prefetch import LARGE, ask_element, ask_row
from shoal.engine.kernels.randomness import draw
from shoal.engine.partition.kernels.groups import Groups, ask_group, transfer
from shoal.engine.partition.kernels.losses import entering, leaving, replacing, swapping
from shoal.engine.partition.kernels.moves import create, dissolve, empty_log, resplit, take_back

CREATE, DISSOLVE, RESPLIT, FEW = 1, 2, 3, 0
# One of 128 proposals (of more from k = 16 on) is a move of many records, by turns, or a common one as all others, and
# of those every third is a rotation.
SELDOM = np.array([CREATE, RESPLIT, DISSOLVE, FEW, CREATE, FEW, DISSOLVE, FEW], dtype=np.int8)
THRESHOLDS = -np.log((np.arange(1024) + 0.5) / 1024)  # of the exponential distribution, equally likely

_S16, _S32 = np.uint64(16), np.uint64(32)
_LOW16, _LOW10 = np.uint64(0xFFFF), np.uint64(0x3FF)
_MIX = np.uint64(0x9E3779B97F4A7C15)
RING = 8  # proposals under way
_RING = np.uint64(RING - 1)
# What is known of one: the record, two near ones, its random bits, and what was last seen of what it will look at.
WHO, ONE, TWO, BITS, SEEN = (np.uint64(column) for column in range(5))
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
def rotate(loss: Any, g: Groups, near: Indices, i: Any, b: Any, r: Any, limit: float) -> bool:
    """Propose: i to b, a member of b to a third group c, and a member of c to i's group (none if c has room).

    False if c is not ours to change.
    """
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    a = index(g.label[i])
    m = mate(g, b, r)
    c = index(g.label[beside(near, m, r)])
    if g.owner[c] != g.mine:
        return False
    if c == a or c == b:  # noqa: SIM109
        return True
    o = _NONE
    delta = replacing(loss, x, w, summary, mass, member, size, b, m, i)
    if size[a] > g.k and size[c] < g.most:
        delta += leaving(loss, x, w, summary, mass, member, size, a, i)
        delta += entering(loss, x, w, summary, mass, member, size, c, m)
    else:
        o = third(g, c, r)
        delta += replacing(loss, x, w, summary, mass, member, size, c, o, m)
        delta += replacing(loss, x, w, summary, mass, member, size, a, i, o)
    if delta <= limit * threshold(r):
        transfer(loss, g, i, b)
        transfer(loss, g, m, c)
        if o != _NONE:
            transfer(loss, g, o, a)
    return True


# What a proposal looks at, all from its random bits: the upper half for a member of the other group, the lowest 16 for
# a near one of that, the next 10 for the threshold; all of them, mixed, for a member of a third group.


@inlined
def mate(g: Groups, b: Any, r: np.uint64) -> Any:
    """The member of b that takes part."""
    return index(g.member[b, pick(r, g.size[b])])


@inlined
def beside(near: Indices, m: Any, r: np.uint64) -> Any:
    """The near record of m whose group is the third one."""
    return index(near[m, nearer(r, near.shape[1])])


@inlined
def third(g: Groups, c: Any, r: np.uint64) -> Any:
    """The member of c that takes part."""
    return index(g.member[c, pick(r * _MIX, g.size[c])])


@inlined
def threshold(r: np.uint64) -> float:
    """An exponential random number."""
    return float(THRESHOLDS[(r >> _S16) & _LOW10])


@inlined
def other_group(g: Groups, i: Any, near: Any, nearby: Any) -> Any:
    """The group of one near record of i; of another one, if that is i's own."""
    b = index(g.label[near])
    return index(g.label[nearby]) if b == index(g.label[i]) else b


@inlined
def ask_ahead(g: Groups, near: Indices, ring: Any, at: int) -> None:
    """Ask for the next thing that each proposal under way looks at: the newest for near records' labels, the one before
    for a group, and so on to the third group's member."""
    ask_element(g.label, ring[slot(at), ONE])
    ask_element(g.label, ring[slot(at), TWO])
    p = slot(at - 1)
    ring[p, SEEN] = other_group(g, ring[p, WHO], ring[p, ONE], ring[p, TWO])
    ask_group(g, ring[p, SEEN])
    p = slot(at - 2)
    ring[p, SEEN] = mate(g, ring[p, SEEN], ring[p, BITS])
    ask_row(g.x, ring[p, SEEN])
    ask_row(near, ring[p, SEEN])
    p = slot(at - 3)
    ring[p, SEEN] = beside(near, ring[p, SEEN], ring[p, BITS])
    ask_element(g.label, ring[p, SEEN])
    p = slot(at - 4)
    ring[p, SEEN] = index(g.label[ring[p, SEEN]])
    ask_group(g, ring[p, SEEN])
    p = slot(at - 5)
    ask_row(g.x, third(g, ring[p, SEEN], ring[p, BITS]))


@inlined
def slot(at: Any) -> Any:
    """The place of a proposal in the ring."""
    return index(at) & _RING


@kernel(
    lambda loss, groups: (
        *("void", loss, groups, "int32[:, ::1]", "float64[::1]", "int32[::1]", "uint64[::1]"),
        *("int64", "float64", "float64"),
    )
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
    log = empty_log(g.most)
    pool, lean = np.empty(2 * g.most, dtype=np.int32), np.empty(2 * g.most)
    ring = np.zeros((RING, 5), dtype=np.uint64)
    large = x.size > LARGE
    rare = 7
    while k >> (rare - 3) > 0:  # moves of many records cost by the square of k
        rare += 1
    temperature = hot
    step, idle, turn, at = 0, 0, 0, -RING
    while step < proposals:
        at += 1
        p = slot(at)
        r = draw(rng)
        i = index(turns[pick(r, turns.size)])
        ring[p, WHO] = i
        ring[p, ONE] = index(near[i, nearer(r, width)])
        ring[p, TWO] = index(near[i, nearer(r >> _S16, width)])
        ring[p, BITS] = draw(rng)
        if large:
            ask_ahead(g, near, ring, at)
        if at < 0:
            continue
        p = slot(at + 1)  # the oldest
        i, r = ring[p, WHO], ring[p, BITS]
        a, b = index(label[i]), other_group(g, i, ring[p, ONE], ring[p, TWO])
        step += 1
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        if owner[a] != mine or owner[b] != mine:  # before anything that another owner may be changing
            if idle < proposals:
                step, idle = step - 1, idle + 1
            continue
        if a == b:
            continue
        limit = temperature * heat[i]
        turn = turn + 1 if turn < 2 else 0
        kind = SELDOM[(step >> rare) & 7] if step & ((1 << rare) - 1) == 0 else FEW
        if kind != FEW:
            if kind == CREATE:
                delta = create(loss, g, near, signed(i), log)
            elif kind == DISSOLVE:
                delta = dissolve(loss, g, near, signed(a), log)
            else:
                delta = resplit(loss, g, signed(a), signed(b), rng, log, pool, lean)
            if not delta <= limit * threshold(r):  # also where the change is no number
                take_back(loss, g, log)
        elif turn == 0:
            if not rotate(loss, g, near, i, b, r, limit) and idle < proposals:
                step, idle = step - 1, idle + 1
        else:
            m = _NONE
            if size[a] > k and size[b] < g.most and step & 1:
                delta = leaving(loss, x, w, summary, mass, member, size, a, i)
                delta += entering(loss, x, w, summary, mass, member, size, b, i)
            else:
                m = mate(g, b, r)
                delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
            if delta <= limit * threshold(r):
                transfer(loss, g, i, b)
                if m != _NONE:
                    transfer(loss, g, m, a)
