"""Patterns of the columns in which two records agree, as bits, for all pairs at once without storing them."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel


@inner
def _patterns(record: Floats, columns: Floats, tolerance: Floats, out: Ints) -> None:
    """Write the pattern of one record with every point (one row of `columns` per column): bit j if column j agrees."""
    out[:] = 0
    for j in range(record.size):
        column, value, most = columns[j], record[j], tolerance[j]
        for q in range(out.size):
            out[q] |= np.int64(abs(column[q] - value) <= most) << j


@kernel("int64[::1](float64[:,::1], float64[:,::1], int64[::1], float64[::1])")
def count_patterns(records: Floats, columns: Floats, counts: Ints, tolerance: Floats) -> Ints:
    """Return how many pairs of a record and a point have each of the 2^d patterns; a point counts `counts` times."""
    total = np.zeros(1 << records.shape[1], np.int64)
    patterns = np.empty(columns.shape[1], np.int64)
    for i in range(len(records)):
        _patterns(records[i], columns, tolerance, patterns)
        for q in range(patterns.size):
            total[patterns[q]] += counts[q]
    return total


@kernel("int64[::1](float64[:,::1], int64[::1], float64[:,::1], int64[::1], float64[::1], float64[::1])")
def heaviest_ties(
    records: Floats, own_point: Ints, columns: Floats, counts: Ints, tolerance: Floats, weights: Floats
) -> Ints:
    """Return for each record 0 if some point weighs more than its own point, else the number of points as heavy."""
    tie_counts = np.empty(len(records), np.int64)
    patterns = np.empty(columns.shape[1], np.int64)
    for i in range(len(records)):
        _patterns(records[i], columns, tolerance, patterns)
        own_weight = weights[patterns[own_point[i]]]
        ties = np.int64(0)
        for q in range(patterns.size):
            weight = weights[patterns[q]]
            if weight > own_weight:
                ties = np.int64(0)
                break
            if weight == own_weight:
                ties += counts[q]
        tie_counts[i] = ties
    return tie_counts
