"""The loss of a group as intervals and value sets: what its members cover in each column.

The columns come in three kinds. `ordered` ones hold positions (numbers, dates, ranks): a group covers the interval
from its smallest to its largest one, and -1 is a missing value. `narrow` ones hold names as bits of a 64-bit word. The
others hold codes of names, with as many words of a group's row as they need. All costs are whole numbers
(`losses.py`), so sums do not depend on their order.

A row of a group: the cost per record; the smallest positions; the largest ones; the bits of the other columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.kernels.compiling import inlined
from shoal.engine.partition.kernels import losses
from shoal.engine.partition.kernels.losses import implement
from shoal.engine.partition.kernels.rules import keeps_rules

FAR = 1 << 62  # above all costs
NOTHING = 1 << 40  # the smallest position of a group without positions; its largest one is -1


class ValueSets(NamedTuple):
    """Marks the loss of intervals and value sets.

    unit: the cost of one more name, by column. first: the place of each column of names in a group's row. narrow: the
    first column that is neither ordered nor narrow. The last four fields are those of `GroupRules`.
    """

    unit: Ints
    first: Ints
    ordered: int
    narrow: int
    confidential: Indices
    integers: Ints
    floats: NDArray[np.float64]
    reference: Floats


@inlined
def rise(loss: Any, x: Any, summary: Any, b: Any, i: Any, grown: Any, limit: Any) -> int:
    """Return the rise of the cost per record if record i joins a group that is not empty.

    It may stop as soon as `grown` times the rise reaches the limit: for a few columns this is faster than vectors.
    """
    i, b = np.uint64(i), np.uint64(b)
    ordered, narrow = loss.ordered, loss.narrow
    total = 0
    for c in range(ordered):
        v, high = x[i, c], summary[b, 1 + ordered + c]
        wider = max(summary[b, 1 + c] - v, 0) + max(v - high, 0)
        total += wider if (v >= 0) & (high >= 0) else 0
        if total * grown >= limit:
            return int(total)
    for c in range(ordered, narrow):
        total += loss.unit[c] if summary[b, 1 + ordered + c] & x[i, c] == 0 else 0
        if total * grown >= limit:
            return int(total)
    for c in range(narrow, x.shape[1]):
        v = x[i, c]
        total += loss.unit[c] * (1 - ((summary[b, loss.first[c] + (v >> 6)] >> (v & 63)) & 1))
        if total * grown >= limit:
            return int(total)
    return int(total)


@inlined
def start(loss: Any, x: Any, summary: Any, a: int, i: int) -> None:
    """Make the row of a group of one record."""
    for s in range(summary.shape[1]):
        summary[a, s] = 0
    for c in range(loss.ordered):
        summary[a, 1 + c] = NOTHING if x[i, c] < 0 else x[i, c]
        summary[a, 1 + loss.ordered + c] = x[i, c]
    for c in range(loss.ordered, loss.narrow):
        summary[a, 1 + loss.ordered + c] = x[i, c]
    for c in range(loss.narrow, x.shape[1]):
        summary[a, loss.first[c] + (x[i, c] >> 6)] = np.int64(1) << (x[i, c] & 63)


@inlined
def extend(loss: Any, x: Any, summary: Any, a: int, i: int) -> None:
    """Add a record to the row of a group that is not empty."""
    summary[a, 0] += rise(loss, x, summary, a, i, 1, FAR)
    for c in range(loss.ordered):
        v = x[i, c]
        if v >= 0:
            summary[a, 1 + c] = min(summary[a, 1 + c], v)
            summary[a, 1 + loss.ordered + c] = max(summary[a, 1 + loss.ordered + c], v)
    for c in range(loss.ordered, loss.narrow):
        summary[a, 1 + loss.ordered + c] |= x[i, c]
    for c in range(loss.narrow, x.shape[1]):
        summary[a, loss.first[c] + (x[i, c] >> 6)] |= np.int64(1) << (x[i, c] & 63)


@implement(losses.apart, ValueSets)
def _apart(loss: Any, x: Any, i: Any, j: Any) -> float:
    i, j = np.uint64(i), np.uint64(j)
    total = 0
    for c in range(loss.ordered):
        v, u = x[i, c], x[j, c]
        total += abs(v - u) if (v >= 0) & (u >= 0) else 0
    for c in range(loss.ordered, x.shape[1]):
        total += loss.unit[c] if x[i, c] != x[j, c] else 0
    return float(total)


@implement(losses.joining, ValueSets)
def _joining(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, b: int, i: int, limit: float
) -> float:
    if size[b] == 0:
        return 0.0
    before = np.int64(summary[b, 0])
    grown = np.int64(size[b] + 1)
    more = rise(loss, x, summary, b, i, grown, np.int64(min(limit, float(FAR))) - before)
    return float(grown * more + before)


@implement(losses.group_cost, ValueSets)
def _group_cost(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    return float(size[a] * summary[a, 0])


@implement(losses.only_rises, ValueSets)
def _only_rises(loss: Any) -> bool:
    return True


@implement(losses.is_allowed, ValueSets)
def _is_allowed(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, counts: Any
) -> bool:
    return keeps_rules(loss, member, size, a, counts)


@implement(losses.note_entering, ValueSets)
def _note_entering(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, i: int) -> None:
    if size[a] == 0:
        start(loss, x, summary, a, i)
    else:
        extend(loss, x, summary, a, i)


@implement(losses.summarize, ValueSets)
def _summarize(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    for s in range(size[a]):
        if s == 0:
            start(loss, x, summary, a, member[a, 0])
        else:
            extend(loss, x, summary, a, member[a, s])
    return float(size[a] * summary[a, 0])
