"""Distances between points and records, summed from the first column to the last, or in four lanes.

The order of the sum is fixed and no operations are fused. Therefore a distance has the same bits wherever it is
computed, and ties are the same in every engine. Euclidean distances are kept squared.

`squared` sums in four lanes, so that the compiler can use vector registers without changing a result. At the end the
lanes are added in the order in which the halves of a register are added. Its bits differ from those of the other
functions. It indexes rows and columns by unsigned numbers. A signed index could be negative: the check takes a third of
the time of these short loops and hides from the compiler that the lanes are adjacent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.kernels.compiling import fused, inlined, inner

EUCLIDEAN = 0
L1 = 1

_0, _1, _2, _3, _4 = (np.uint64(lane) for lane in range(5))


@fused
def block_distances(cells: Floats, block: int, width: int, point: Floats, metric: int, out: Floats) -> None:
    """Write the distances from `point` to the first `width` records of a block of `cells[block, column, slot]`.

    The records are in the inner loop, because LLVM vectorizes that one.
    """
    for i in range(width):
        out[i] = 0.0
    for j in range(point.size):
        p = point[j]
        if metric == L1:
            for i in range(width):
                out[i] += abs(cells[block, j, i] - p)
        else:
            for i in range(width):
                gap = cells[block, j, i] - p
                out[i] += gap * gap


@inner
def distance(record: Floats, point: Floats, metric: int) -> float:
    """Return the distance of one record, with the same bits as in `block_distances`."""
    total = 0.0
    if metric == L1:
        for j in range(point.size):
            total += abs(record[j] - point[j])
    else:
        for j in range(point.size):
            gap = record[j] - point[j]
            total += gap * gap
    return total


@inner
def squared_in_order(x: Floats, i: int, y: Floats, j: int) -> float:
    """Return |x[i] - y[j]|^2 with the same bits as in `distance` and `block_distances`."""
    total = 0.0
    for c in range(x.shape[1]):
        gap = x[i, c] - y[j, c]
        total += gap * gap
    return total


@inner
def length(value: float, metric: int) -> float:
    """Return a distance on the scale of the records, on which the triangle inequality holds."""
    return value if metric == L1 else math.sqrt(value)


@inlined
def squared(x: Floats, i: Any, y: Floats, j: Any) -> float:
    """Return |x[i] - y[j]|^2 for rows that are padded to a multiple of four."""
    i, j = np.uint64(i), np.uint64(j)
    s0 = s1 = s2 = s3 = 0.0
    for c in range(_0, np.uint64(x.shape[1]), _4):
        d0 = x[i, c] - y[j, c]
        d1 = x[i, c + _1] - y[j, c + _1]
        d2 = x[i, c + _2] - y[j, c + _2]
        d3 = x[i, c + _3] - y[j, c + _3]
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
    return (s0 + s2) + (s1 + s3)
