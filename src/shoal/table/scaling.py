"""Scales that make columns comparable before distances are taken (docs/explain/conventions.md).

`standard` is the literature's benchmark: subtract the mean, divide by the population's
standard deviation. `minmax` is the thesis's. A constant column becomes zeros.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats
from shoal.errors import check_choice

SCALINGS = ("standard", "minmax", "none")


def scale(values: Floats, scaling: str = "standard", weights: Floats | None = None) -> Floats:
    """A scaled copy of an n x d array, in C order."""
    check_choice("scaling", scaling, SCALINGS)
    values = np.asarray(values, dtype=np.float64)
    if scaling == "none":
        return np.array(values, order="C")
    # The origin is moved first: with offsets of 1e9 the deviation would be lost in rounding.
    lowest, highest = values.min(axis=0), values.max(axis=0)
    with np.errstate(over="ignore"):
        scaled = values - lowest
        width = highest - lowest
    scaled /= np.where(width > 0, width, 1.0)  # in place: a large file needs no further copies
    if scaling == "minmax":
        return np.ascontiguousarray(scaled)
    scaled -= np.average(scaled, axis=0, weights=weights)
    deviation = np.sqrt(np.average(scaled**2, axis=0, weights=weights))
    constant = highest == lowest
    scaled /= np.where(constant | (deviation == 0), 1.0, deviation)
    scaled[:, constant] = 0.0
    return np.ascontiguousarray(scaled)
