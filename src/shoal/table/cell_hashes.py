"""Hashes of cells: one 64-bit number per cell, equal for equal values, to compare columns and count classes."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 divided by the golden ratio


def cell_hashes(column: pl.Series) -> Hashes:
    """A 64-bit number per cell, equal for equal values; all missing cells (null or NaN) have the same number."""
    missing = column.is_null()
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_float():
        missing = missing | column.is_nan().fill_null(True)
        bits = (column.cast(pl.Float64).fill_null(0.0).to_numpy() + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    elif column.dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32):
        bits = column.fill_null(0).to_numpy().astype(np.int64).view(np.uint64)
    else:
        bits = _hash_of_others(column)
    mixed = mix(bits)
    if missing.any():
        mixed[missing.to_numpy()] = GOLDEN
    return mixed


def class_sizes(hashes: Hashes) -> NDArray[np.int64]:
    """The number of rows of each distinct value."""
    ordered = np.sort(hashes)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return np.diff(np.append(starts, ordered.size))


def _hash_of_others(column: pl.Series) -> Hashes:
    try:
        return column.hash(1).to_numpy().astype(np.uint64)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return as_text(column).hash(1).to_numpy().astype(np.uint64)


def as_text(column: pl.Series) -> pl.Series:
    """The values as the texts that Python prints."""
    texts = [None if value is None else str(value) for value in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String)


def mix(bits: Hashes) -> Hashes:
    """Mix the bits one to one, so that sums of hashes rarely collide (finalizer of SplitMix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        return finalized(bits + GOLDEN)


def finalized(bits: Hashes) -> Hashes:
    """Mix the bits of each number, zero apart, without the first step of `mix`."""
    mixed = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
