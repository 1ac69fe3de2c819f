"""A first partition for a search that rebuilds groups: neighbours by sorting, cuts from the top, then greedy groups.

`neighbours_in_order` compares each record with the next ones in an order; several random orders find near records.
`cut_from_top` cuts the records in two again and again. A cut is a value of one column, and the best of some random cuts
for a sample of the records is taken. `greedy_groups` starts at the record with the nearest neighbours, adds the record
that costs least until there are k, and takes in what the group covers already.

Each of the three ends early, with an unfinished result, once the flag is set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices
from shoal.engine.kernels.compiling import bare, inner, kernel
from shoal.engine.kernels.randomness import below
from shoal.engine.partition.kernels.groups import Groups
from shoal.engine.partition.kernels.losses import apart, group_cost, is_allowed, joining, note_entering, only_rises
from shoal.engine.partition.kernels.neighbours import insert
from shoal.engine.partition.kernels.rebuild import Bench, add

SMALL_SAMPLE = 24


@kernel(
    lambda loss, groups: (
        *("void", loss, groups, "int64[::1]", "int64", "int32[:, ::1]", "float64[:, ::1]"),
        "uint8[::1]",
    )
)
def neighbours_in_order(
    loss: Any, g: Groups, order: NDArray[np.int64], reach: int, near: Indices, far: Floats, flag: Bytes
) -> None:
    """Improve the lists of neighbours by the `reach` records after each one in an order."""
    worst = far.shape[1] - 1
    for p in range(order.size):
        if flag[0] != 0:
            break
        i = order[p]
        for q in range(p + 1, min(order.size, p + 1 + reach)):
            j = order[q]
            gap = apart(loss, g.x, i, j)
            if gap <= far[i, worst]:
                insert(near, far, i, j, gap)
            if gap <= far[j, worst]:
                insert(near, far, j, i, gap)


@bare
def goes_left(x: Any, i: int, column: int, value: int, ordered: int) -> bool:
    """Return whether a cut puts a record on its left side: at most the value, or exactly the value."""
    return bool(x[i, column] <= value if column < ordered else x[i, column] == value)


@inner
def cost_of_side(
    loss: Any, g: Groups, bench: Bench, sample: Indices, count: int, column: int, value: Any, ordered: int, left: bool
) -> float:
    """Return the cost of the records of the sample on one side of a cut; infinite if there are none."""
    bench.size[0] = 0
    bench.mass[0] = 0.0
    for s in range(count):
        i = sample[s]
        if goes_left(g.x, i, column, value, ordered) == left:
            note_entering(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0, i)
            bench.size[0] += 1
    if bench.size[0] == 0:
        return np.inf
    return float(group_cost(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0))


@inner
def divide(x: Any, order: Indices, first: int, last: int, column: int, value: int, ordered: int, spare: Indices) -> int:
    """Move the records of the left side of a cut before the others, both in their order; return where these begin."""
    left, right = first, 0
    for p in range(first, last):
        i = order[p]
        if goes_left(x, i, column, value, ordered):
            order[left] = i
            left += 1
        else:
            spare[right] = i
            right += 1
    for s in range(right):
        order[left + s] = spare[s]
    return left


@inner
def side_is_allowed(loss: Any, g: Groups, order: Indices, first: int, last: int, bag: Indices, counts: Any) -> bool:
    """Return whether the rules of the loss allow the records first .. last - 1 of the order as a group."""
    if counts.size == 0:
        return True
    for p in range(first, last):
        bag[0, p - first] = order[p]
    size = np.array([last - first], dtype=np.int32)
    return bool(is_allowed(loss, g.x, g.w, g.summary, g.mass, bag, size, 0, counts))


@kernel(
    lambda loss, groups: (
        *("int32[::1]", loss, groups, "int32[::1]", "int64", "int64", "int64", "int64", "int64", "int64", "int64"),
        *("uint64[::1]", "uint8[::1]"),
    )
)
def cut_from_top(
    loss: Any,
    g: Groups,
    order: Indices,
    ordered: int,
    fewest: int,
    most: int,
    sample_size: int,
    cuts: int,
    coarse: int,
    rule_room: int,
    random_state: NDArray[np.uint64],
    flag: Bytes,
) -> Indices:
    """Reorder the records into leaves; return the first position of each leaf, and the end.

    ordered: so many columns have an order; the others hold names. fewest: records on each side of a cut, at least.
    most: a node of at most so many records is not cut; a larger one is a leaf if no cut is possible. cuts: random cuts
    that are tried per column. coarse: a node of at most so many records is cut by a small sample, with one cut
    per column.
    """
    n, width = order.size, g.x.shape[1]
    bench = Bench(
        np.zeros((1, g.summary.shape[1]), dtype=g.summary.dtype),
        np.zeros(1),
        np.zeros((1, 1), dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        np.zeros(rule_room, dtype=np.int64),
    )
    sample = np.empty(max(SMALL_SAMPLE, sample_size), dtype=np.int32)
    costs = np.empty(width * cuts)
    values = np.empty(width * cuts, dtype=np.int64)
    spare = np.empty(n, dtype=np.int32)
    bag = np.empty((1, n), dtype=np.int32)
    starts = np.empty(n + 1, dtype=np.int32)
    stack = np.empty((n + 1, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    height, leaves = 1, 0
    while height > 0 and flag[0] == 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        middle = -1
        if last - first > most:
            is_coarse = last - first <= coarse
            count = min(max(SMALL_SAMPLE, sample_size // 16) if is_coarse else sample_size, last - first)
            tried = width if is_coarse else width * cuts
            for s in range(count):
                sample[s] = order[first + s if count == last - first else first + below(random_state, last - first)]
            for t in range(tried):
                column = t % width
                value = np.int64(g.x[order[first + below(random_state, last - first)], column])
                values[t] = value
                costs[t] = cost_of_side(loss, g, bench, sample, count, column, value, ordered, True)
                if costs[t] < np.inf:
                    costs[t] += cost_of_side(loss, g, bench, sample, count, column, value, ordered, False)
            while middle < 0:
                best = 0
                for t in range(1, tried):
                    if costs[t] < costs[best]:
                        best = t
                if costs[best] == np.inf:
                    break
                costs[best] = np.inf
                middle = divide(g.x, order, first, last, best % width, values[best], ordered, spare)
                if (
                    middle - first < fewest
                    or last - middle < fewest
                    or not (
                        side_is_allowed(loss, g, order, first, middle, bag, bench.counts)
                        and side_is_allowed(loss, g, order, middle, last, bag, bench.counts)
                    )
                ):
                    middle = -1
        if middle < 0:
            starts[leaves] = first
            leaves += 1
            continue
        stack[height, 0], stack[height, 1] = middle, last
        stack[height + 1, 0], stack[height + 1, 1] = first, middle
        height += 2
    starts[leaves] = n
    return starts[: leaves + 1].copy()


@bare
def cheapest(loss: Any, g: Groups, bench: Bench, left: int, least: Floats) -> int:
    """Return the place, among the first `left` of the pool, of the record that costs least in the group of the bench.

    least: by place, what the group would cost per record with that record, at least. If a group never costs less per
    record when it grows, what it would have cost when it was smaller often rules a record out.
    """
    cost = group_cost(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0)
    is_unknown, grown = bench.size[0] == 1 or not only_rises(loss), bench.size[0] + 1
    best, per_record, where = np.inf, np.inf, 0
    for p in range(left):
        if is_unknown or least[p] < per_record:
            i = bench.pool[p]
            more = joining(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0, i, best)
            least[p] = (more + cost) / grown
            if more < best:
                best, per_record, where = more, least[p], p
    return int(where)


@kernel(lambda loss, groups: ("int32[::1]", loss, groups, "int32[::1]", "uint8[::1]"))
def greedy_groups(loss: Any, g: Groups, seeds: Indices, flag: Bytes) -> Indices:
    """Return labels of greedy groups of k to `most` records; a group begins at the first record left in `seeds`.

    With a loss that only rises, a group takes all records that cost nothing, and is split afterwards.
    """
    n = seeds.size
    bench = Bench(
        np.zeros((1, g.summary.shape[1]), dtype=g.summary.dtype),
        np.zeros(1),
        np.zeros((1, g.member.shape[1]), dtype=np.int32),
        np.zeros(1, dtype=np.int32),
        seeds.copy(),
        np.zeros(1, dtype=np.int32),
        np.zeros(0, dtype=np.int64),
    )
    pool = bench.pool
    label = np.full(n, -1, dtype=np.int32)
    groups, left, at = 0, n, 0
    place, least = np.empty(n, dtype=np.int32), np.empty(n)
    for p in range(n):
        place[pool[p]] = p
    while left >= g.k:
        if flag[0] != 0:
            return label
        while label[seeds[at]] >= 0:
            at += 1
        bench.size[0] = 0
        bench.mass[0] = 0.0
        p = place[seeds[at]]
        while left > 0 and (bench.size[0] < g.most or only_rises(loss)):
            if bench.size[0] > 0:
                p = cheapest(loss, g, bench, left, least)
            i = pool[p]
            if bench.size[0] >= g.k:  # only records that cost nothing but their own share
                size, cost = (
                    bench.size[0],
                    group_cost(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0),
                )
                more = joining(loss, g.x, g.w, bench.summary, bench.mass, bench.member, bench.size, 0, i, np.inf)
                if more > cost / size or left <= g.k:
                    break
            if bench.size[0] < g.most:
                add(loss, g, bench, 0, i)
            label[i] = groups
            left -= 1
            pool[p], least[p] = pool[left], least[left]
            place[pool[p]] = p
        groups += 1
    groups = split_large(label, groups, g.k, g.most)
    join_nearest(loss, g, bench, label, groups, left)
    return label


@inner
def split_large(label: Indices, groups: int, k: int, most: int) -> int:
    """Split every group of more than `most` records into parts of k or a few more; return the number of groups."""
    size, seen = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    for i in range(label.size):
        if label[i] >= 0:
            size[label[i]] += 1
    first = np.zeros(groups, dtype=np.int64)
    count = groups
    for a in range(groups):
        first[a] = count - 1
        if size[a] > most:
            count += size[a] // k - 1
    for i in range(label.size):
        a = label[i]
        if a >= 0 and size[a] > most:
            part = seen[a] * (size[a] // k) // size[a]
            seen[a] += 1
            if part > 0:
                label[i] = first[a] + part
    return int(count)


@inner
def join_nearest(loss: Any, g: Groups, bench: Bench, label: Indices, groups: int, left: int) -> None:
    """Give each of the first `left` records of the pool to the group of least cost that has room."""
    size = np.zeros(groups, dtype=np.int32)
    member = np.zeros((groups, g.member.shape[1]), dtype=np.int32)
    summary = np.zeros((groups, g.summary.shape[1]), dtype=g.summary.dtype)
    mass = np.zeros(groups)
    for i in range(label.size):
        a = label[i]
        if a >= 0:
            note_entering(loss, g.x, g.w, summary, mass, member, size, a, i)
            member[a, size[a]] = i
            size[a] += 1
    for p in range(left):
        i = bench.pool[p]
        best, where = np.inf, -1
        for a in range(groups):
            if size[a] < g.most:
                cost = joining(loss, g.x, g.w, summary, mass, member, size, a, i, best)
                if cost < best or where < 0:
                    best, where = cost, a
        note_entering(loss, g.x, g.w, summary, mass, member, size, where, i)
        member[where, size[where]] = i
        size[where] += 1
        label[i] = where
