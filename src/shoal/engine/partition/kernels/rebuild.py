"""Annealing by rebuilding: a few neighbouring groups are pooled and built again by randomised greedy.

    repeat: draw a record, its group, and one to three groups near it; pool their records
        build as many groups of k as the pool gives, rarely one fewer:
            a random record, then the record that costs least, until there are k
        each record that is left joins the group where it costs least
        accept if the change <= temperature * the old cost * an exponential random number

This suits a loss of ranges and sets, which a single record changes only if it is at the border of its group: most
moves of single records change nothing or make a group worse until others follow. The greedy algorithm works on a bench,
a few groups apart from the partition, and only an accepted result is written back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices, Ints
from shoal.engine.kernels.compiling import bare, kernel
from shoal.engine.kernels.randomness import below, draw, uniform
from shoal.engine.partition.kernels.anneal import nearer, threshold
from shoal.engine.partition.kernels.groups import Groups
from shoal.engine.partition.kernels.losses import group_cost, is_allowed, joining, note_entering

MOST_POOLED = 4  # groups
TRIES = 4  # draws of a neighbouring group, per group that is wanted


class Bench(NamedTuple):
    """Room for groups apart from the partition. pool: records. chosen: the groups that are pooled. counts: for
    the rules of the loss."""

    summary: NDArray[Any]
    mass: Floats
    member: Indices
    size: Indices
    pool: Indices
    chosen: Indices
    counts: Ints


@bare
def pool_groups(g: Groups, bench: Bench, near: Indices, i: int, wanted: int, random_state: NDArray[np.uint64]) -> int:
    """Choose i's group and up to `wanted` - 1 groups near the chosen ones; return how many."""
    member, size, label, owner, chosen = g.member, g.size, g.label, g.owner, bench.chosen
    chosen[0] = label[i]
    count = 1
    for _ in range(TRIES * wanted):
        if count == wanted:
            break
        a = chosen[below(random_state, count)]
        m = member[a, below(random_state, size[a])]
        j = near[m, nearer(draw(random_state), near.shape[1])]
        if j < 0:
            continue
        b = label[j]
        if owner[b] != g.worker:
            continue
        is_new = True
        for c in range(count):
            if chosen[c] == b:
                is_new = False
        if is_new:
            chosen[count] = b
            count += 1
    return count


@bare
def add(loss: Any, g: Groups, bench: Bench, b: int, i: int) -> None:
    """Add record i to a group on the bench."""
    note_entering(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, b, i)
    bench.member[b, bench.size[b]] = i
    bench.size[b] += 1


@bare
def cheapest(loss: Any, g: Groups, bench: Bench, b: int, first: int, last: int) -> int:
    """Return the place in the pool, from first to last - 1, of the record that costs least in a group of the bench."""
    best, where = np.inf, first
    for p in range(first, last):
        cost = joining(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, b, bench.pool[p], best)
        if cost < best:
            best, where = cost, p
    return int(where)


@bare
def build(loss: Any, g: Groups, bench: Bench, left: int, count: int, random_state: NDArray[np.uint64]) -> None:
    """Build `count` groups on the bench from the first `left` records of the pool."""
    pool, size = bench.pool, bench.size
    for b in range(count):
        size[b] = 0
        bench.mass[b] = 0.0
        p = below(random_state, left)
        for _ in range(g.k):
            add(loss, g, bench, b, pool[p])
            left -= 1
            pool[p] = pool[left]
            if size[b] < g.k:
                p = cheapest(loss, g, bench, b, 0, left)
    for p in range(left):
        best, where = np.inf, -1
        for b in range(count):
            if size[b] < g.most:
                cost = joining(loss, g.x, g.w, bench.summary, bench.mass, bench.member, size, b, pool[p], best)
                if cost < best or where < 0:
                    best, where = cost, b
        add(loss, g, bench, where, pool[p])


@bare
def put_back(g: Groups, bench: Bench, before: int, after: int) -> None:
    """Replace the `before` groups that were pooled by the first `after` groups on the bench."""
    vacant, chosen = g.vacant, bench.chosen
    top = vacant.size - 1
    for c in range(max(before, after)):
        if c >= before:
            vacant[top] -= 1
            chosen[c] = vacant[vacant[top]]
        a = chosen[c]
        if c >= after:
            g.size[a] = 0
            vacant[vacant[top]] = a
            vacant[top] += 1
            continue
        g.size[a] = bench.size[c]
        g.mass[a] = bench.mass[c]
        for s in range(g.summary.shape[1]):
            g.summary[a, s] = bench.summary[c, s]
        for s in range(bench.size[c]):
            i = bench.member[c, s]
            g.member[a, s] = i
            g.place[i] = s
            g.label[i] = a


@bare
def rebuild(
    loss: Any, g: Groups, bench: Bench, before: int, fewer: bool, limit: float, random_state: NDArray[np.uint64]
) -> float:
    """Rebuild the groups that were chosen; put the result back if its change of the loss is at most limit * old cost.

    Returns the change, 0 if the result was not put back.
    """
    x, w, chosen, pool = g.x, g.w, bench.chosen, bench.pool
    total, old = 0, 0.0
    for c in range(before):
        a = chosen[c]
        old += group_cost(loss, x, w, g.summary, g.mass, g.member, g.size, a)
        for s in range(g.size[a]):
            pool[total] = g.member[a, s]
            total += 1
    if old <= 0.0:
        return 0.0
    after = total // g.k
    if fewer and after > 1 and total <= (after - 1) * g.most:
        after -= 1
    if after - before > g.vacant[g.vacant.size - 1] or total > after * g.most:
        return 0.0
    build(loss, g, bench, total, after, random_state)
    new = 0.0
    for b in range(after):
        if not is_allowed(loss, x, w, bench.summary, bench.mass, bench.member, bench.size, b, bench.counts):
            return 0.0
        new += group_cost(loss, x, w, bench.summary, bench.mass, bench.member, bench.size, b)
    if not new - old <= limit * old:
        return 0.0
    put_back(g, bench, before, after)
    return float(new - old)


@kernel(
    lambda loss, groups: (
        *("float64", loss, groups, "int32[:, ::1]", "uint64[::1]", "int64", "int64", "int64", "float64", "float64"),
        *("int64", "float64", "int64", "uint8[::1]"),
    )
)
def rebuild_groups(
    loss: Any,
    g: Groups,
    near: Indices,
    random_state: NDArray[np.uint64],
    first: int,
    last: int,
    moves: int,
    hot: float,
    cold: float,
    most_pooled: int,
    dissolved: float,
    rule_room: int,
    flag: Bytes,
) -> float:
    """Rebuild the groups around random records first .. last - 1 while the temperature falls; return the change.

    most_pooled: the largest number of groups that are rebuilt at once. dissolved: the share of moves that try to make
    one group fewer. rule_room: see `losses.is_allowed`. A temperature of 0 accepts no result that costs more.
    It ends early once the flag is set.
    """
    room = MOST_POOLED * g.member.shape[1]
    count = room // g.k + 1
    bench = Bench(
        np.zeros((count, g.summary.shape[1]), dtype=g.summary.dtype),
        np.zeros(count),
        np.zeros((count, g.member.shape[1]), dtype=np.int32),
        np.zeros(count, dtype=np.int32),
        np.zeros(room, dtype=np.int32),
        np.zeros(count, dtype=np.int32),
        np.zeros(rule_room, dtype=np.int64),
    )
    temperature, change = hot, 0.0
    for step in range(moves):
        if step & 255 == 0:
            if flag[0] != 0:
                break
            if hot > 0.0:
                temperature = hot * (cold / hot) ** (step / moves)
        i = first + below(random_state, last - first)
        if g.owner[g.label[i]] != g.worker:
            continue
        wanted = 2 + below(random_state, most_pooled - 1)
        before = pool_groups(g, bench, near, i, wanted, random_state)
        fewer = uniform(random_state) < dissolved
        limit = temperature * threshold(draw(random_state))
        change += rebuild(loss, g, bench, before, fewer, limit, random_state)
    return change
