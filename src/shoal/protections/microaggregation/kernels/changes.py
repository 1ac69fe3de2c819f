"""The loss of mixed columns for the search: squares of numbers, rank distances of ordinal columns, changed labels.

A record has its numbers first, then its ranks, then the codes of its labels. In a group a number costs its squared
distance to the mean, a rank its distance to the median, and a label one if it differs from the mode; each times the
weight of the record and the unit of the column. Numbers are scaled beforehand, so that their unit is 1.

The row of a group holds its cost, the means, and a block for each column of ranks or codes: the cost of the column,
the number of distinct values, and each value with its mass, in rising order. A group has few distinct values, so every
change takes one pass over them, whatever the size of the domain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.kernels.compiling import bare, inlined
from shoal.engine.partition.kernels import losses
from shoal.engine.partition.kernels.losses import implement
from shoal.engine.partition.kernels.rules import keeps_rules

COST, DISTINCT, FIRST = 0, 1, 2  # places in a block: its cost, its number of values, the first value and its mass


class Changes(NamedTuple):
    """Marks the loss of mixed columns.

    unit: the cost of one rank or of one changed label, by column. numbers: so many columns are numbers. ordered: so
    many are numbers or ranks. The last four fields are those of `GroupRules`.
    """

    unit: Floats
    numbers: int
    ordered: int
    confidential: Indices
    integers: Ints
    floats: NDArray[np.float64]
    reference: Floats


@inlined
def block_width(most: int) -> int:
    """Return the length of a block of a group that may grow to `most` + 1 records for a moment."""
    return FIRST + 2 * (most + 1)


@inlined
def block_of(loss: Any, member: Any, c: int) -> int:
    """Return where the block of a column of ranks or codes starts in a group's row."""
    return int(1 + loss.numbers + (c - loss.numbers) * (FIRST + 2 * member.shape[1]))


@inlined
def cost_of_ranks(
    summary: Any, a: int, block: int, mass: float, out: float, leaves: float, into: float, enters: float
) -> float:
    """Return the distance of the ranks to their median, if mass leaves one rank and enters another.

    Between two neighbouring ranks, every record on the lighter side has the median on the other side of the gap.
    """
    count = np.int64(summary[a, block + DISTINCT])
    total = mass - leaves + enters
    cost, below, last = 0.0, 0.0, 0.0
    e, pending = 0, enters > 0.0
    while e < count or pending:
        place = block + FIRST + 2 * e
        if pending and (e == count or into <= summary[a, place]):
            value, more = into, enters
            pending = False
        else:
            value, more = summary[a, place], summary[a, place + 1]
            if value == out:
                more -= leaves
            e += 1
        cost += (value - last) * max(0.0, min(below, total - below))
        below += more
        last = value
    return float(cost)


@inlined
def mass_outside_mode(
    summary: Any, a: int, block: int, mass: float, out: float, leaves: float, into: float, enters: float
) -> float:
    """Return the mass of the labels that are not the mode, if mass leaves one label and enters another."""
    largest, is_new = 0.0, True
    for e in range(np.int64(summary[a, block + DISTINCT])):
        place = block + FIRST + 2 * e
        value, held = summary[a, place], summary[a, place + 1]
        if value == out:
            held -= leaves
        if value == into:
            held += enters
            is_new = False
        largest = max(largest, held)
    if is_new:
        largest = max(largest, enters)
    return float(max(0.0, mass - leaves + enters - largest))


@bare
def change(
    loss: Any,
    x: Any,
    w: Any,
    summary: Any,
    mass: Any,
    member: Any,
    size: Any,
    a: Any,
    out: Any,
    into: Any,
    limit: float = np.inf,
) -> float:
    """Return the change of a group's cost if one record leaves and one enters; -1 stands for none.

    If none leaves, no column can gain: then it may stop as soon as the change reaches the limit.
    """
    w_out = w[out] if out >= 0 else 0.0
    w_in = w[into] if into >= 0 else 0.0
    whole, rest = mass[a], mass[a] - w_out
    left = size[a] - (1 if out >= 0 else 0)
    delta = 0.0
    for c in range(loss.numbers):
        centre = summary[a, 1 + c]
        if out >= 0:
            gap = x[out, c] - centre
            if left > 0:
                delta -= w_out * whole / rest * gap * gap
                centre -= w_out / rest * gap
        if into >= 0 and left > 0:
            gap = x[into, c] - centre
            delta += w_in * rest / (rest + w_in) * gap * gap
    for c in range(loss.numbers, x.shape[1]):
        old = x[out, c] if out >= 0 else -1.0
        new = x[into, c] if into >= 0 else -1.0
        if old == new and w_out == w_in:
            continue
        if out < 0 and delta >= limit:
            break
        block = block_of(loss, member, c)
        if c < loss.ordered:
            cost = cost_of_ranks(summary, a, block, whole, old, w_out, new, w_in)
        else:
            cost = mass_outside_mode(summary, a, block, whole, old, w_out, new, w_in)
        delta += loss.unit[c] * cost - summary[a, block + COST]
    return float(delta)


@bare
def insert(x: Any, w: Any, summary: Any, a: int, block: int, c: int, i: int) -> None:
    """Add the value of a record to a block, whose values stay in rising order."""
    count = np.int64(summary[a, block + DISTINCT])
    value, e = x[i, c], 0
    while e < count and summary[a, block + FIRST + 2 * e] < value:
        e += 1
    place = block + FIRST + 2 * e
    if e < count and summary[a, place] == value:
        summary[a, place + 1] += w[i]
        return
    for s in range(block + FIRST + 2 * count - 1, place - 1, -1):
        summary[a, s + 2] = summary[a, s]
    summary[a, place], summary[a, place + 1] = value, w[i]
    summary[a, block + DISTINCT] = count + 1


@bare
def settle(loss: Any, summary: Any, mass: Any, a: int, block: int, c: int) -> float:
    """Write the cost of a block from its values, and return it."""
    if c < loss.ordered:
        cost = cost_of_ranks(summary, a, block, mass[a], -1.0, 0.0, -1.0, 0.0)
    else:
        cost = mass_outside_mode(summary, a, block, mass[a], -1.0, 0.0, -1.0, 0.0)
    summary[a, block + COST] = loss.unit[c] * cost
    return float(summary[a, block + COST])


@implement(losses.apart, Changes)
def _apart(loss: Any, x: Any, i: int, j: int) -> float:
    """Return the cost of the two records as a group."""
    total = 0.0
    for c in range(loss.numbers):
        total += 0.5 * (x[i, c] - x[j, c]) ** 2
    for c in range(loss.numbers, loss.ordered):
        total += loss.unit[c] * abs(x[i, c] - x[j, c])
    for c in range(loss.ordered, x.shape[1]):
        total += loss.unit[c] if x[i, c] != x[j, c] else 0.0
    return float(total)


@implement(losses.leaving, Changes)
def _leaving(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, i: int) -> float:
    return change(loss, x, w, summary, mass, member, size, np.int64(a), np.int64(i), -1)


@implement(losses.entering, Changes)
def _entering(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, b: int, i: int) -> float:
    return change(loss, x, w, summary, mass, member, size, np.int64(b), -1, np.int64(i))


@implement(losses.replacing, Changes)
def _replacing(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, i: int, j: int
) -> float:
    return change(loss, x, w, summary, mass, member, size, np.int64(a), np.int64(i), np.int64(j))


@implement(losses.swapping, Changes)
def _swapping(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, i: int, b: int, j: int
) -> float:
    one = change(loss, x, w, summary, mass, member, size, np.int64(a), np.int64(i), np.int64(j))
    return one + change(loss, x, w, summary, mass, member, size, np.int64(b), np.int64(j), np.int64(i))


@implement(losses.joining, Changes)
def _joining(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, b: int, i: int, limit: float
) -> float:
    return change(loss, x, w, summary, mass, member, size, np.int64(b), -1, np.int64(i), limit)


@implement(losses.group_cost, Changes)
def _group_cost(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    return float(summary[a, 0])


@implement(losses.rule_room, Changes)
def _rule_room(loss: Any) -> int:
    return int(loss.reference.size)


@implement(losses.only_rises, Changes)
def _only_rises(loss: Any) -> bool:
    return False


@implement(losses.is_allowed, Changes)
def _is_allowed(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, counts: Any
) -> bool:
    return keeps_rules(loss, member, size, a, counts)


@implement(losses.summarize, Changes)
def _summarize(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    first, total, cost = member[a, 0], 0.0, 0.0
    for s in range(size[a]):
        total += w[member[a, s]]
    mass[a] = total
    for c in range(loss.numbers):  # around the first member, so that the mean of equal values is exact
        moment, squares = 0.0, 0.0
        for s in range(size[a]):
            moment += w[member[a, s]] * (x[member[a, s], c] - x[first, c])
        centre = x[first, c] + moment / total
        for s in range(size[a]):
            squares += w[member[a, s]] * (x[member[a, s], c] - centre) ** 2
        summary[a, 1 + c] = centre
        cost += squares
    for c in range(loss.numbers, x.shape[1]):
        block = block_of(loss, member, c)
        summary[a, block + DISTINCT] = 0.0
        for s in range(size[a]):
            insert(x, w, summary, a, block, c, member[a, s])
        cost += settle(loss, summary, mass, a, block, c)
    summary[a, 0] = cost
    return float(cost)


@implement(losses.note_leaving, Changes)
def _note_leaving(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: Any, i: Any) -> None:
    a, i = np.int64(a), np.int64(i)
    summary[a, 0] += change(loss, x, w, summary, mass, member, size, a, i, -1)
    mass[a] -= w[i]
    for c in range(loss.numbers if size[a] > 1 else 0):
        summary[a, 1 + c] -= w[i] / mass[a] * (x[i, c] - summary[a, 1 + c])
    for c in range(loss.numbers, x.shape[1]):  # from the members that stay: subtracting would leave residues
        block = block_of(loss, member, c)
        summary[a, block + DISTINCT] = 0.0
        for s in range(size[a]):
            if member[a, s] != i:
                insert(x, w, summary, a, block, c, member[a, s])
        settle(loss, summary, mass, a, block, c)


@implement(losses.note_entering, Changes)
def _note_entering(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, b: Any, i: Any) -> None:
    b, i = np.int64(b), np.int64(i)
    if size[b] == 0:
        mass[b] = 0.0
        summary[b, 0] = 0.0
        for c in range(loss.numbers):
            summary[b, 1 + c] = x[i, c]
        for c in range(loss.numbers, x.shape[1]):
            summary[b, block_of(loss, member, c) + DISTINCT] = 0.0
    else:
        summary[b, 0] += change(loss, x, w, summary, mass, member, size, b, -1, i)
    mass[b] += w[i]
    for c in range(loss.numbers):
        summary[b, 1 + c] += w[i] / mass[b] * (x[i, c] - summary[b, 1 + c])
    for c in range(loss.numbers, x.shape[1]):
        block = block_of(loss, member, c)
        insert(x, w, summary, b, block, c, i)
        settle(loss, summary, mass, b, block, c)
