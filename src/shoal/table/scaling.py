"""Scaling of columns, so that their distances are comparable (docs/explain/conventions.md).

`standard` subtracts the mean and divides by the standard deviation of the population, as the published benchmarks do.
`minmax` maps a column to the range 0 to 1. A constant column becomes zeros.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, in_slices
from shoal.errors import check_choice
from shoal.table.choices import SCALINGS


def scale(
    values: Floats, scaling: str = "standard", weights: Floats | None = None, *, in_place: bool = False
) -> Floats:
    """A scaled copy of an n x d array, in C order; in place, the array itself is scaled if it is in C order."""
    check_choice("scaling", scaling, SCALINGS)
    values = np.asarray(values, dtype=np.float64)
    if scaling == "none":
        return np.ascontiguousarray(values) if in_place else np.array(values, order="C")
    # Subtract the minimum first: with an offset of 1e9, rounding would destroy the standard deviation.
    lowest, highest = values.min(axis=0), values.max(axis=0)
    with np.errstate(over="ignore"):
        scaled = np.subtract(values, lowest, out=values if in_place else None)
        width = highest - lowest
    scaled /= np.where(width > 0, width, 1.0)  # in place, because a large file should not be copied again
    if scaling == "minmax":
        return np.ascontiguousarray(scaled)
    scaled -= np.average(scaled, axis=0, weights=weights)
    standard_deviation = np.sqrt(_mean_square(scaled, weights))
    constant = highest == lowest
    scaled /= np.where(constant | (standard_deviation == 0), 1.0, standard_deviation)
    scaled[:, constant] = 0.0
    return np.ascontiguousarray(scaled)


def _mean_square(values: Floats, weights: Floats | None) -> Floats:
    """The mean squares of the columns, with the bits of `np.average(values**2, axis=0)` but without its copy."""
    n, width = values.shape
    if weights is not None or width == 1 or not values.flags.c_contiguous:  # NumPy adds these in another order
        return np.asarray(np.average(values**2, axis=0, weights=weights))
    total = np.zeros((1, width))
    for rows in in_slices(n):  # NumPy adds row after row, so a sum can continue with the next rows
        total = np.concatenate([total, values[rows] ** 2]).sum(axis=0, keepdims=True)
    return np.asarray(total[0] / n)
