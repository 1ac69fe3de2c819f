"""The loss of a group as nodes of taxonomies: the lowest node that covers its members in each column.

A record has one number for each level of each taxonomy below the root: the node above its value there, and `rises`, how
much the cost grows when a group leaves that node for its parent. A group keeps the nodes of its first record, and a
rise of 0 where it has left the node already. Two records that differ at a level differ at all levels below it. So the
rise when a record joins is the sum over the levels at which the nodes differ: a loop without branches.

A row of a group: the cost per record; the nodes of its first record; the rises that are left.
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

LANES = 8  # levels that are compared at once: their number is a multiple of it


class TreeNodes(NamedTuple):
    """Marks the loss of taxonomy nodes. rises: by record and level. The other fields are those of `GroupRules`."""

    rises: Indices
    confidential: Indices
    integers: Ints
    floats: NDArray[np.float64]
    reference: Floats


@inlined
def rise(x: Any, summary: Any, b: Any, i: Any) -> int:
    """Return the rise of the cost per record if record i joins a group that is not empty."""
    # Unsigned places need no test for negative ones, and a load that is not conditional costs none: only then does the
    # compiler compare several levels at once, which takes a tenth of the time.
    i, b = np.uint64(i), np.uint64(b)
    node, left = np.uint64(1), np.uint64(1 + x.shape[1])
    total = np.int32(0)
    for c in range(x.shape[1]):
        level = np.uint64(c)
        more = summary[b, left + level]
        total = np.int32(total + (more if summary[b, node + level] != x[i, level] else np.int32(0)))
    return int(total)


@inlined
def start(loss: Any, x: Any, summary: Any, a: Any, i: Any) -> None:
    """Make the row of a group of one record."""
    i, a = np.uint64(i), np.uint64(a)
    node, left = np.uint64(1), np.uint64(1 + x.shape[1])
    summary[a, 0] = 0
    for c in range(x.shape[1]):
        level = np.uint64(c)
        summary[a, node + level] = x[i, level]
        summary[a, left + level] = loss.rises[i, level]


@inlined
def extend(x: Any, summary: Any, a: Any, i: Any) -> None:
    """Add a record to the row of a group that is not empty."""
    i, a = np.uint64(i), np.uint64(a)
    node, left = np.uint64(1), np.uint64(1 + x.shape[1])
    total = np.int32(0)
    for c in range(x.shape[1]):
        level = np.uint64(c)
        more = summary[a, left + level]
        kept = more if summary[a, node + level] == x[i, level] else np.int32(0)
        total = np.int32(total + (more - kept))
        summary[a, left + level] = kept
    summary[a, 0] += total


@implement(losses.apart, TreeNodes)
def _apart(loss: Any, x: Any, i: Any, j: Any) -> float:
    i, j = np.uint64(i), np.uint64(j)
    total = np.int32(0)
    for c in range(x.shape[1]):
        total = np.int32(total + (loss.rises[i, c] if x[i, c] != x[j, c] else np.int32(0)))
    return float(total)


@implement(losses.joining, TreeNodes)
def _joining(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, b: int, i: int, limit: float
) -> float:
    if size[b] == 0:
        return 0.0
    return float(np.int64(size[b] + 1) * rise(x, summary, b, i) + summary[b, 0])


@implement(losses.group_cost, TreeNodes)
def _group_cost(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    return float(np.int64(size[a]) * summary[a, 0])


@implement(losses.only_rises, TreeNodes)
def _only_rises(loss: Any) -> bool:
    return True


@implement(losses.is_allowed, TreeNodes)
def _is_allowed(
    loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, counts: Any
) -> bool:
    return keeps_rules(loss, member, size, a, counts)


@implement(losses.note_entering, TreeNodes)
def _note_entering(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int, i: int) -> None:
    if size[a] == 0:
        start(loss, x, summary, a, i)
    else:
        extend(x, summary, a, i)


@implement(losses.summarize, TreeNodes)
def _summarize(loss: Any, x: Any, w: Any, summary: Any, mass: Any, member: Any, size: Any, a: int) -> float:
    for s in range(size[a]):
        if s == 0:
            start(loss, x, summary, a, member[a, 0])
        else:
            extend(x, summary, a, member[a, s])
    return float(np.int64(size[a]) * summary[a, 0])
