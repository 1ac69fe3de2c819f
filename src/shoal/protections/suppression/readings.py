"""With how many records each record agrees, for both readings of a star.

As a value, a star only equals a star. As a wildcard, it equals every value: records are compatible if no column has
different values in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.arrays import Indices, Ints
from shoal.protections.suppression.kernels.wildcard import count_compatible
from shoal.protections.suppression.problem import distinct_rows

MOST_PAIRED = 30_000  # classes that are compared in pairs; more are counted by their patterns of stars


def smallest_counts(columns: Sequence[Ints]) -> tuple[int, int]:
    """Return the smallest number of records that a record agrees with, star as value and star as wildcard.

    Args:
        columns: The codes of the columns; a star is -1.
    """
    n = columns[0].size if columns else 0
    if not n:
        return 0, 0
    first, of_row = distinct_rows([column + 1 for column in columns], n)
    records = np.bincount(of_row).astype(np.int64)
    cells = np.column_stack([column[first] for column in columns]).astype(np.int32)
    stratum = np.zeros((cells.shape[0], 1), dtype=np.int32)
    if first.size <= MOST_PAIRED:
        compatible = count_compatible(np.hstack([cells, stratum]), records)
    else:
        compatible = by_pattern(cells, records)
    return int(records.min()), int(compatible.min())


def by_pattern(cells: Indices, records: Ints) -> Ints:
    """Return with how many records each class is compatible: each two patterns of stars are joined once."""
    patterns, of_class = np.unique(cells < 0, axis=0, return_inverse=True)
    members = [np.flatnonzero(of_class.reshape(-1) == p) for p in range(patterns.shape[0])]
    total = np.zeros(records.size, dtype=np.int64)
    for one, its in enumerate(members):
        for two, others in enumerate(members):
            common = np.flatnonzero(~patterns[one] & ~patterns[two])
            rows = np.concatenate((its, others))
            number = distinct_rows([cells[rows, j].astype(np.int64) for j in common], rows.size)[1]
            counted = np.bincount(number[its.size :], weights=records[others], minlength=int(number.max()) + 1)
            total[its] += counted[number[: its.size]].astype(np.int64)
    return total
