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
    i, b = np.uint64(i), np.uint64(b)
    width = x.shape[1]
    total = np.int32(0)
    for c in range(width):
        total = np.int32(total + (summary[b, 1 + width + c] if summary[b, 1 + c] != x[i, c] else np.int32(0)))
    return int(total)


@inlined
def start(loss: Any, x: Any, summary: Any, a: int, i: int) -> None:
    """Make the row of a group of one record."""
    width = x.shape[1]
    summary[a, 0] = 0
    for c in range(width):
        summary[a, 1 + c] = x[i, c]
        summary[a, 1 + width + c] = loss.rises[i, c]


@inlined
def extend(x: Any, summary: Any, a: int, i: int) -> None:
    """Add a record to the row of a group that is not empty."""
    width = x.shape[1]
    summary[a, 0] += rise(x, summary, a, i)
    for c in range(width):
        if summary[a, 1 + c] != x[i, c]:
            summary[a, 1 + width + c] = 0


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
