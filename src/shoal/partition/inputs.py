"""The arrays that a partition method is given, in the form its kernel takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.errors import UsageError

Floats = NDArray[np.float64]


def as_rows(values: Floats) -> Floats:
    """The values as an n x d array of float64 in C order."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise UsageError(f"the values must be an array of records by columns, not of shape {values.shape}")
    return values


def as_weights(weights: Floats | None, n: int) -> Floats:
    """One positive weight a record; ones if none are given."""
    if weights is None:
        return np.ones(n)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise UsageError(f"there must be one weight a record, {n} in all, not an array of shape {weights.shape}")
    wrong = np.flatnonzero(~((weights > 0) & np.isfinite(weights)))
    if wrong.size:
        raise UsageError(
            f"weights must be positive and finite; that of record {wrong[0]} (counted from 0) is {weights[wrong[0]]}: "
            "leave the record out or mend its weight"
        )
    return weights
