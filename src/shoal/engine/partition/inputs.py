"""The input arrays of a method, checked and in the form that its kernel takes."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats
from shoal.errors import InputError

LARGEST = 1e150  # squares of larger values overflow


def as_rows(values: Floats) -> Floats:
    """Return the values as an n x d array of float64 in C order; a single column may have one axis."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"The values must be an array of records by columns, not of shape {values.shape}.")
    if not (values.max() <= LARGEST and values.min() >= -LARGEST):  # also false for NaN
        row, column = np.argwhere(~(np.abs(values) <= LARGEST))[0]
        raise InputError(
            f"The values must be numbers of at most {LARGEST:g}, but record {row}, column {column} (counted from 0) is "
            f"{values[row, column]}. Fill or drop such records, or scale the columns first."
        )
    return values


def as_weights(weights: Floats | None, n: int) -> Floats:
    """Return one positive weight per record; ones if there are no weights."""
    if weights is None:
        return np.ones(n)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(f"There must be {n} weights, one per record, not an array of shape {weights.shape}.")
    wrong = np.flatnonzero(~((weights > 0) & (weights <= LARGEST)))
    if wrong.size:
        raise InputError(
            f"Weights must be positive numbers, but that of record {wrong[0]} (counted from 0) is {weights[wrong[0]]}. "
            "Leave out the record or correct its weight."
        )
    return weights
