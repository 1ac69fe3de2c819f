"""The centroid of what is left while groups are taken out, as a compensated running sum (Neumaier 1974).

Both engines of MDAV take the members of a group out nearest first, so their centroids are the same bit for bit.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner


@inner
def centroid_sums(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted sums of the columns, and of the weights, with what rounding lost of each."""
    n, d = values.shape
    sums, lost = np.zeros(d + 1), np.zeros(d + 1)
    for i in range(n):
        for j in range(d):
            add(sums, lost, j, weights[i] * values[i, j])
        add(sums, lost, d, weights[i])
    return sums, lost


@inner
def leave(values: Floats, weights: Floats, rows: Ints, sums: Floats, lost: Floats) -> None:
    """Take a group out of the sums."""
    d = values.shape[1]
    for row in rows:
        for j in range(d):
            add(sums, lost, j, -(weights[row] * values[row, j]))
        add(sums, lost, d, -weights[row])


@inner
def add(sums: Floats, lost: Floats, j: int, x: float) -> None:
    """Add to a sum and keep what rounding loses."""
    old = sums[j]
    new = old + x
    if abs(old) >= abs(x):
        lost[j] += (old - new) + x
    else:
        lost[j] += (x - new) + old
    sums[j] = new


@inner
def keep_own(rows: Ints, own: int) -> None:
    """See to it that a record is in the group around it: k lower rows may be at distance 0 where squares underflow."""
    for row in rows:
        if row == own:
            return
    rows[rows.size - 1] = own


@inner
def set_centroid(sums: Floats, lost: Floats, centroid: Floats) -> None:
    d = centroid.size
    weight = sums[d] + lost[d]
    for j in range(d):
        centroid[j] = (sums[j] + lost[j]) / weight
