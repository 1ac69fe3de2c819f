"""The loss of microaggregation for the search: weighted SSE, with O(d) changes (docs/reference/measures.md).

The row of a group is its centroid. Every change is computed from differences to centroids, never from
sums of squares, so that large offsets cost no digits. With W the mass of a group and c its centroid:

    x leaves        - w W / (W - w) |x - c|^2
    x enters        + w W / (W + w) |x - c|^2
    y replaces x, same w   w sum d (2 (x - c) + (1 - w / W) d), d = y - x

Sums run in four lanes, as in `squared`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices, Ints
from shoal.engine.kernels.compiling import inlined
from shoal.engine.kernels.distance import squared
from shoal.engine.partition.kernels.losses import (
    apart,
    entering,
    implement,
    is_allowed,
    leaving,
    note_entering,
    note_leaving,
    replacing,
    rule_room,
    summarize,
    swapping,
)
from shoal.engine.partition.kernels.rules import keeps_rules

Rows = NDArray[np.float64]
Vector = NDArray[np.float64]
Table = NDArray[np.int32]
Column = NDArray[np.int32]


_0, _1, _2, _3, _4 = (np.uint64(lane) for lane in range(5))


class Squares(NamedTuple):
    """Marks the weighted sum of squared distances to the centroid."""


class RuledSquares(NamedTuple):
    """Marks the same loss, of groups that must keep rules. The fields are those of `GroupRules`."""

    confidential: Indices
    integers: Ints
    floats: NDArray[np.float64]
    reference: Vector


@implement(rule_room, Squares)
def _no_rules(loss: Squares) -> int:
    return 0


@implement(is_allowed, Squares)
def _allowed(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, a: int, counts: Ints
) -> bool:
    return True


@implement(rule_room, RuledSquares)
def _rule_room(loss: RuledSquares) -> int:
    return int(loss.reference.size)


@implement(is_allowed, RuledSquares)
def _is_allowed(
    loss: RuledSquares,
    x: Rows,
    w: Vector,
    summary: Rows,
    mass: Vector,
    member: Table,
    size: Column,
    a: int,
    counts: Ints,
) -> bool:
    return keeps_rules(loss, member, size, a, counts)


@implement(apart, Squares, RuledSquares)
def _apart(loss: Squares, x: Rows, i: int, j: int) -> float:
    return squared(x, i, x, j)


@implement(leaving, Squares, RuledSquares)
def _leaving(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, a: int, i: int
) -> float:
    if size[a] == 1:
        return 0.0
    return float(-w[i] * mass[a] / (mass[a] - w[i]) * squared(x, i, summary, a))


@implement(entering, Squares, RuledSquares)
def _entering(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, b: int, i: int
) -> float:
    if size[b] == 0:
        return 0.0
    return float(w[i] * mass[b] / (mass[b] + w[i]) * squared(x, i, summary, b))


@implement(replacing, Squares, RuledSquares)
def _replacing(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, a: int, i: int, j: int
) -> float:
    if w[i] == w[j]:
        return w[i] * _exchange(x, i, j, x, i, summary, a, 1.0 - w[i] / mass[a])
    old, new, between = squared(x, i, summary, a), squared(x, j, summary, a), squared(x, i, x, j)
    rest = mass[a] - w[i]
    # |x_j - c'|^2 for the centroid c' of the others, by the rule of cosines.
    lean = w[i] / rest
    distance = new + lean * (new + old - between) + lean * lean * old
    return float(w[j] * rest / (rest + w[j]) * distance - w[i] * mass[a] / rest * old)


@implement(swapping, Squares, RuledSquares)
def _swapping(
    loss: Squares,
    x: Rows,
    w: Vector,
    summary: Rows,
    mass: Vector,
    member: Table,
    size: Column,
    a: int,
    i: int,
    b: int,
    j: int,
) -> float:
    if w[i] != w[j]:
        return replacing(loss, x, w, summary, mass, member, size, a, i, j) + replacing(
            loss, x, w, summary, mass, member, size, b, j, i
        )
    return w[i] * _exchange(x, i, j, summary, b, summary, a, -w[i] * (mass[a] + mass[b]) / (mass[a] * mass[b]))


@inlined
def _exchange(x: Rows, i: Any, j: Any, y: Rows, p: Any, z: Rows, q: Any, factor: float) -> float:
    """Return the sum of d (2 (y[p] - z[q]) + factor d) for d = x[j] - x[i]."""
    i, j, p, q = np.uint64(i), np.uint64(j), np.uint64(p), np.uint64(q)
    s0 = s1 = s2 = s3 = 0.0
    for c in range(_0, np.uint64(x.shape[1]), _4):
        d0 = x[j, c] - x[i, c]
        d1 = x[j, c + _1] - x[i, c + _1]
        d2 = x[j, c + _2] - x[i, c + _2]
        d3 = x[j, c + _3] - x[i, c + _3]
        s0 += d0 * (2.0 * (y[p, c] - z[q, c]) + factor * d0)
        s1 += d1 * (2.0 * (y[p, c + _1] - z[q, c + _1]) + factor * d1)
        s2 += d2 * (2.0 * (y[p, c + _2] - z[q, c + _2]) + factor * d2)
        s3 += d3 * (2.0 * (y[p, c + _3] - z[q, c + _3]) + factor * d3)
    return (s0 + s2) + (s1 + s3)


@implement(summarize, Squares, RuledSquares)
def _summarize(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, a: int
) -> float:
    # Means are computed around the first member, so that they are exact for a group of equal records.
    width = x.shape[1]
    first = member[a, 0]
    total = 0.0
    for s in range(size[a]):
        total += w[member[a, s]]
    mass[a] = total
    for c in range(width):
        moment = 0.0
        for s in range(size[a]):
            i = member[a, s]
            moment += w[i] * (x[i, c] - x[first, c])
        summary[a, c] = x[first, c] + moment / total
    cost = 0.0
    for s in range(size[a]):
        cost += w[member[a, s]] * squared(x, member[a, s], summary, a)
    return cost


@implement(note_leaving, Squares, RuledSquares)
def _note_leaving(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, a: int, i: int
) -> None:
    mass[a] -= w[i]
    if size[a] > 1:
        share = w[i] / mass[a]
        for c in range(x.shape[1]):
            summary[a, c] -= share * (x[i, c] - summary[a, c])


@implement(note_entering, Squares, RuledSquares)
def _note_entering(
    loss: Squares, x: Rows, w: Vector, summary: Rows, mass: Vector, member: Table, size: Column, b: int, i: int
) -> None:
    if size[b] == 0:
        mass[b] = w[i]
        for c in range(x.shape[1]):
            summary[b, c] = x[i, c]
        return
    mass[b] += w[i]
    share = w[i] / mass[b]
    for c in range(x.shape[1]):
        summary[b, c] += share * (x[i, c] - summary[b, c])
