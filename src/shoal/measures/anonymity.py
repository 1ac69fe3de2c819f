"""How well a record hides: the sizes of the classes of records that look alike.

Two records are alike when they agree in every given column, bit for bit; a missing value is a
value like any other, never a wildcard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints


def classes(columns: Sequence[NDArray[Any]]) -> Ints:
    """The class of each record, numbered from 0 without gaps; `columns` are arrays of equal length.

    One sort of a 64-bit hash of the rows, then neighbours are compared in full, so that a collision
    cannot pass for a match: a file of a million rows takes a second.
    """
    if not columns:
        raise ValueError("classes need at least one column")
    bits = [_bits(column) for column in columns]
    rows = bits[0].size
    key = np.zeros(rows, dtype=np.uint64)
    for column in bits:
        key = _mix(key ^ column)
    order = np.argsort(key, kind="stable")
    key = key[order]
    new_key = key[1:] != key[:-1]
    new_row = np.zeros(rows - 1, dtype=bool)
    for column in bits:
        inside = column[order]
        new_row |= inside[1:] != inside[:-1]
    if not np.array_equal(new_key, new_row):  # two different rows share a hash
        return _classes_by_columns(bits)
    label = np.empty(rows, dtype=np.int64)
    label[order] = np.concatenate([[0], np.cumsum(new_key)])
    return label


def class_sizes(columns: Sequence[NDArray[Any]]) -> Ints:
    """The size of each class."""
    return np.bincount(classes(columns)).astype(np.int64)


def k_anonymity(columns: Sequence[NDArray[Any]]) -> int:
    """The smallest class: every record shares its values with at least k - 1 others."""
    return int(class_sizes(columns).min())


def uniques(columns: Sequence[NDArray[Any]]) -> int:
    """How many records look like no other."""
    return int((class_sizes(columns) == 1).sum())


def _bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    """64 bits a value: equal for equal values, all NaN being one value."""
    if column.dtype.kind in "iub":
        return column.astype(np.int64).view(np.uint64)
    if column.dtype.kind == "f":
        wide = column.astype(np.float64)
        wide[np.isnan(wide)] = np.nan
        return wide.view(np.uint64)
    seen: dict[Any, int] = {}
    codes = [seen.setdefault(value if value == value else None, len(seen)) for value in column.tolist()]
    return np.array(codes, dtype=np.uint64)


def _mix(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all others (the finaliser of splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def _classes_by_columns(bits: Sequence[NDArray[np.uint64]]) -> Ints:
    """The same by sorting column after column: slower, and blind to hashes."""
    label = np.zeros(bits[0].size, dtype=np.int64)
    for column in bits:
        code = np.unique(column, return_inverse=True)[1].reshape(-1)
        label = np.unique(label * (int(code.max()) + 1) + code, return_inverse=True)[1].reshape(-1)
    return label.astype(np.int64)
