"""Distances from a point to records, always summed from the first column to the last.

The order of the sum is fixed and nothing is contracted, so a distance has the same bits wherever it is
computed: ties are the same in every engine. Euclidean distances are kept squared.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import inner

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EUCLIDEAN = 0
L1 = 1


@inner
def block_distances(columns: Floats, count: int, point: Floats, metric: int, out: Floats) -> None:
    """Distances from `point` to the first `count` records of a block (one row of `columns` a column).

    Up to four columns are taken in one pass, with the records in the inner loop: that is what LLVM vectorises.
    """
    d = point.size
    lead = (d - 1) % 4 + 1
    if metric == L1:
        first, p = columns[0], point[0]
        for i in range(count):
            out[i] = abs(first[i] - p)
        for j in range(1, d):
            column, p = columns[j], point[j]
            for i in range(count):
                out[i] += abs(column[i] - p)
        return
    a, p = columns[0], point[0]
    if lead == 1:
        for i in range(count):
            out[i] = (a[i] - p) ** 2
    elif lead == 2:
        b, q = columns[1], point[1]
        for i in range(count):
            out[i] = (a[i] - p) ** 2 + (b[i] - q) ** 2
    elif lead == 3:
        b, q, c, r = columns[1], point[1], columns[2], point[2]
        for i in range(count):
            out[i] = (a[i] - p) ** 2 + (b[i] - q) ** 2 + (c[i] - r) ** 2
    else:
        b, q, c, r, e, s = columns[1], point[1], columns[2], point[2], columns[3], point[3]
        for i in range(count):
            out[i] = (a[i] - p) ** 2 + (b[i] - q) ** 2 + (c[i] - r) ** 2 + (e[i] - s) ** 2
    for j in range(lead, d, 4):
        a, b, c, e = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        p, q, r, s = point[j], point[j + 1], point[j + 2], point[j + 3]
        for i in range(count):
            out[i] = out[i] + (a[i] - p) ** 2 + (b[i] - q) ** 2 + (c[i] - r) ** 2 + (e[i] - s) ** 2


@inner
def distance(record: Floats, point: Floats, metric: int) -> float:
    """The distance of one record, with the same bits as in `block_distances`."""
    total = 0.0
    if metric == L1:
        for j in range(point.size):
            total += abs(record[j] - point[j])
    else:
        for j in range(point.size):
            total += (record[j] - point[j]) ** 2
    return total


@inner
def length(value: float, metric: int) -> float:
    """A distance on the scale of the records, where the triangle inequality holds."""
    return value if metric == L1 else math.sqrt(value)
