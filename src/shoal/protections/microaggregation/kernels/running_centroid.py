"""The centroid of the remaining records while groups are removed, as a compensated running sum (Neumaier 1974).

Both engines of MDAV remove the members of a group in the same order, the nearest first. Their centroids are therefore
identical bit for bit.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner


@inner
def centroid_sums(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted sums of the columns, and of the weights, and the rounding error of each."""
    n, d = values.shape
    sums, lost = np.zeros(d + 1), np.zeros(d + 1)
    for i in range(n):
        for j in range(d):
            add(sums, lost, j, weights[i] * values[i, j])
        add(sums, lost, d, weights[i])
    return sums, lost


@inner
def leave(values: Floats, weights: Floats, rows: Ints, sums: Floats, lost: Floats) -> None:
    """Remove a group from the sums."""
    d = values.shape[1]
    for row in rows:
        for j in range(d):
            add(sums, lost, j, -(weights[row] * values[row, j]))
        add(sums, lost, d, -weights[row])


@inner
def add(sums: Floats, lost: Floats, j: int, x: float) -> None:
    """Add to a sum and keep the rounding error."""
    old = sums[j]
    new = old + x
    if abs(old) >= abs(x):
        lost[j] += (old - new) + x
    else:
        lost[j] += (x - new) + old
    sums[j] = new


@inner
def keep_centre(rows: Ints, centre_row: int) -> None:
    """Make sure that a record is in the group around it: k lower rows may be at distance 0 if squares underflow."""
    for row in rows:
        if row == centre_row:
            return
    rows[rows.size - 1] = centre_row


@inner
def set_centroid(sums: Floats, lost: Floats, centroid: Floats) -> None:
    """Write the centroid that the sums give."""
    d = centroid.size
    weight = sums[d] + lost[d]
    for j in range(d):
        centroid[j] = (sums[j] + lost[j]) / weight
