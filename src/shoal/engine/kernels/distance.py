"""Distances from a point to records, always summed from the first column to the last.

The order of the sum is fixed and nothing is contracted, so a distance has the same bits wherever it is
computed: ties are the same in every engine. Euclidean distances are kept squared.
"""

from __future__ import annotations

import math

from shoal.arrays import Floats
from shoal.engine.kernels.compiling import fused, inner

EUCLIDEAN = 0
L1 = 1


@fused
def block_distances(cells: Floats, block: int, width: int, point: Floats, metric: int, out: Floats) -> None:
    """Distances from `point` to the first `width` records of a block of `cells[block, column, slot]`.

    The records are in the inner loop: that is what LLVM vectorises.
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
    """The distance of one record, with the same bits as in `block_distances`."""
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
def length(value: float, metric: int) -> float:
    """A distance on the scale of the records, where the triangle inequality holds."""
    return value if metric == L1 else math.sqrt(value)
