"""Simulated annealing of a k-partition over neighbour lists (Kirkpatrick, Gelatt and Vecchi 1983).

    repeat: draw a record i from `visits`, and a near record in another group b
        relocate i to b | swap i with a member of b | rotate: i to b, a member of b to a third group, one of that to i's
        rarely: create a group around i | dissolve i's group | merge the two groups and split them again
        accept if delta <= T * local_scale[i] * an exponential random number

`local_scale` is the scale of the loss around each record. Regions far apart do not touch each other's groups, so each
can have its own temperature. With one temperature for all, dense regions would still be changing when sparse ones have
stopped.

Unpredictable branches cost more than the arithmetic. The move type therefore follows a fixed cycle, of two near records
the one in another group is taken, and the random threshold comes from a table. In a large file the search waits for
memory even longer. Therefore proposals are drawn some steps ahead, and what each one reads is prefetched step by step.
Indices are unsigned, as in `squared`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.kernels.compiling import bare, inlined, kernel
from shoal.engine.kernels.hashing import GOLDEN
from shoal.engine.kernels.prefetch import LARGE, prefetch_element, prefetch_row
from shoal.engine.kernels.randomness import draw
from shoal.engine.partition.kernels.groups import Groups, prefetch_group, transfer
from shoal.engine.partition.kernels.losses import entering, leaving, replacing, rule_room, swapping
from shoal.engine.partition.kernels.moves import allows, allows_all, create, dissolve, empty_log, resplit, take_back

CREATE, DISSOLVE, RESPLIT, FEW = 1, 2, 3, 0
# Every 128th proposal (less often for k >= 16) follows this cycle: a move of many records, or a common move. Every
# third common move is a rotation.
RARE_MOVES = np.array([CREATE, RESPLIT, DISSOLVE, FEW, CREATE, FEW, DISSOLVE, FEW], dtype=np.int8)
THRESHOLDS = -np.log((np.arange(1024) + 0.5) / 1024)  # quantiles of the exponential distribution, equally likely

_S16, _S32 = np.uint64(16), np.uint64(32)
_LOW16, _LOW10 = np.uint64(0xFFFF), np.uint64(0x3FF)
RING = 8  # proposals that are drawn ahead
_RING = np.uint64(RING - 1)
# The columns of a proposal: its record, two near ones, its random bits, and the last index that was prefetched.
RECORD, NEAR_1, NEAR_2, RANDOM_BITS, LAST_SEEN = (np.uint64(column) for column in range(5))
_NONE: Any = np.uint64(0xFFFFFFFF)
_SHARE = 1.0 / 65536.0


@inlined
def index(number: Any) -> Any:
    """Return an index that is known not to be negative."""
    return np.uint64(number)


@inlined
def signed(number: Any) -> Any:
    """Return an index as the moves expect it."""
    return np.int64(number)


@inlined
def pick(bits: np.uint64, count: Any) -> Any:
    """Return a number below the count, by the upper half of random bits."""
    return ((bits >> _S32) * np.uint64(count)) >> _S32


@inlined
def nearer(bits: np.uint64, width: int) -> Any:
    """Return a place in a list of neighbours by the lowest 16 of random bits; the nearest is the most likely."""
    u = np.float64(bits & _LOW16) * _SHARE
    return index(np.int64(u * u * width))


@bare
def rotate(loss: Any, g: Groups, near: Indices, i: Any, b: Any, r: Any, limit: float, counts: Ints) -> bool:
    """Propose: i to b, a member of b to a third group c, and a member of c to i's group (none if c has room).

    Returns False if another worker owns c.
    """
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    a = index(g.label[i])
    m = mate(g, b, r)
    c = index(g.label[beside(near, m, r)])
    if g.owner[c] != g.worker:
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
        if counts.size > 0 and not (
            allows(loss, g, signed(a), counts)
            and allows(loss, g, signed(b), counts)
            and allows(loss, g, signed(c), counts)
        ):
            if o != _NONE:
                transfer(loss, g, o, c)
            transfer(loss, g, m, b)
            transfer(loss, g, i, a)
    return True


# A proposal reads everything from its random bits: the upper half chooses a member of the other group, the lowest 16 a
# near record of that member, the next 10 the threshold. All of them, mixed, choose a member of the third group.


@inlined
def mate(g: Groups, b: Any, r: np.uint64) -> Any:
    """Return the member of b that takes part."""
    return index(g.member[b, pick(r, g.size[b])])


@inlined
def beside(near: Indices, m: Any, r: np.uint64) -> Any:
    """Return the near record of m whose group is the third one."""
    return index(near[m, nearer(r, near.shape[1])])


@inlined
def third(g: Groups, c: Any, r: np.uint64) -> Any:
    """Return the member of c that takes part."""
    return index(g.member[c, pick(r * GOLDEN, g.size[c])])


@inlined
def threshold(r: np.uint64) -> float:
    """Return an exponential random number."""
    return float(THRESHOLDS[(r >> _S16) & _LOW10])


@inlined
def other_group(g: Groups, i: Any, near: Any, nearby: Any) -> Any:
    """Return the group of one near record of i, or of the other one if the first shares i's group."""
    b = index(g.label[near])
    return index(g.label[nearby]) if b == index(g.label[i]) else b


@inlined
def prefetch_ahead(g: Groups, near: Indices, ring: Any, at: int) -> None:
    """Prefetch what each proposal reads next: the labels of near records for the newest one, a group for the one before
    it, and so on to the member of the third group."""
    prefetch_element(g.label, ring[slot(at), NEAR_1])
    prefetch_element(g.label, ring[slot(at), NEAR_2])
    p = slot(at - 1)
    ring[p, LAST_SEEN] = other_group(g, ring[p, RECORD], ring[p, NEAR_1], ring[p, NEAR_2])
    prefetch_group(g, ring[p, LAST_SEEN])
    p = slot(at - 2)
    ring[p, LAST_SEEN] = mate(g, ring[p, LAST_SEEN], ring[p, RANDOM_BITS])
    prefetch_row(g.x, ring[p, LAST_SEEN])
    prefetch_row(near, ring[p, LAST_SEEN])
    p = slot(at - 3)
    ring[p, LAST_SEEN] = beside(near, ring[p, LAST_SEEN], ring[p, RANDOM_BITS])
    prefetch_element(g.label, ring[p, LAST_SEEN])
    p = slot(at - 4)
    ring[p, LAST_SEEN] = index(g.label[ring[p, LAST_SEEN]])
    prefetch_group(g, ring[p, LAST_SEEN])
    p = slot(at - 5)
    prefetch_row(g.x, third(g, ring[p, LAST_SEEN], ring[p, RANDOM_BITS]))


@inlined
def slot(at: Any) -> Any:
    """Return the place of a proposal in the ring."""
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
    local_scale: Floats,
    visits: Indices,
    random_state: NDArray[np.uint64],
    proposals: int,
    hot: float,
    cold: float,
) -> None:
    """Make proposals for the records in `visits`, each as often as it occurs there, while the temperature falls.

    A large file is annealed window by window, so that the window's data stay in the processor's cache. A proposal for a
    group of another worker does not count, unless such proposals outnumber all others.
    """
    x, w, summary, mass, label, size, member, k = g.x, g.w, g.summary, g.mass, g.label, g.size, g.member, g.k
    owner, worker = g.owner, g.worker
    width = near.shape[1]
    log = empty_log(g.most)
    counts = np.zeros(rule_room(loss), dtype=np.int64)
    pool, lean = np.empty(2 * g.most, dtype=np.int32), np.empty(2 * g.most)
    ring = np.zeros((RING, 5), dtype=np.uint64)
    large = x.size > LARGE
    rare = 7
    while k >> (rare - 3) > 0:  # the cost of a move of many records grows with the square of k
        rare += 1
    temperature = hot
    step, idle, turn, at = 0, 0, 0, -RING
    while step < proposals:
        at += 1
        p = slot(at)
        r = draw(random_state)
        i = index(visits[pick(r, visits.size)])
        ring[p, RECORD] = i
        ring[p, NEAR_1] = index(near[i, nearer(r, width)])
        ring[p, NEAR_2] = index(near[i, nearer(r >> _S16, width)])
        ring[p, RANDOM_BITS] = draw(random_state)
        if large:
            prefetch_ahead(g, near, ring, at)
        if at < 0:
            continue
        p = slot(at + 1)  # the oldest
        i, r = ring[p, RECORD], ring[p, RANDOM_BITS]
        a, b = index(label[i]), other_group(g, i, ring[p, NEAR_1], ring[p, NEAR_2])
        step += 1
        if step & 255 == 0:
            temperature = hot * (cold / hot) ** (step / proposals)
        if owner[a] != worker or owner[b] != worker:  # before anything is read that another worker may change
            if idle < proposals:
                step, idle = step - 1, idle + 1
            continue
        if a == b:
            continue
        limit = temperature * local_scale[i]
        turn = turn + 1 if turn < 2 else 0
        kind = RARE_MOVES[(step >> rare) & 7] if step & ((1 << rare) - 1) == 0 else FEW
        if kind != FEW:
            if kind == CREATE:
                delta = create(loss, g, near, signed(i), log)
            elif kind == DISSOLVE:
                delta = dissolve(loss, g, near, signed(a), log)
            else:
                delta = resplit(loss, g, signed(a), signed(b), random_state, log, pool, lean)
            is_accepted = delta <= limit * threshold(r)  # not if the change is NaN
            if not is_accepted or (counts.size > 0 and not allows_all(loss, g, log, counts)):
                take_back(loss, g, log)
        elif turn == 0:
            if not rotate(loss, g, near, i, b, r, limit, counts) and idle < proposals:
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
                if counts.size > 0 and not (allows(loss, g, signed(a), counts) and allows(loss, g, signed(b), counts)):
                    if m != _NONE:
                        transfer(loss, g, m, b)
                    transfer(loss, g, i, a)
