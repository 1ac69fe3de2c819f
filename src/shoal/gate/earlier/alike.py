"""Compare cells of two releases: in the same type, as common codes, and within the precision of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import (
    TEXT,
    codes,
    comparable,
    differing,
    is_number,
    numbers,
    text_of,
)
from shoal.gate.reading import typed

ORDER, SHARED = "order", "shared columns"
CHANCE = -np.log(1e-6)  # agreement with a probability below 1e-6 is not chance


@dataclass(frozen=True, eq=False)
class Match:
    """How the rows were joined. cells: for some columns, the earlier rows, if more of them are certain than `rows`."""

    rows: Ints
    how: str
    shared: tuple[str, ...]
    cells: Mapping[str, Ints] = field(default_factory=dict)

    def of(self, name: str) -> Ints:
        return self.cells.get(name, self.rows)


@dataclass(frozen=True, eq=False)
class Key:
    """The values of columns in both files as whole numbers. rows: the number of rows of the current release.

    values: first those of the current release, then those of the earlier one.
    """

    names: tuple[str, ...]
    values: Ints
    missing: Bools
    rows: int

    @property
    def current(self) -> Ints:
        return self.values[: self.rows]

    @property
    def past(self) -> Ints:
        return self.values[self.rows :]

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """How often each value occurs in the current and in the earlier release."""
        size = int(self.values.max()) + 1
        return np.bincount(self.current, minlength=size), np.bincount(self.past, minlength=size)

    @cached_property
    def overlap(self) -> float:
        """The share of the smaller file's values that the larger file has at least as often."""
        return int(np.minimum(*self.counts).sum()) / min(self.current.size, self.past.size)

    @property
    def is_constant(self) -> bool:
        return bool((self.values == self.values[0]).all())


def is_swapped(before: pl.Series, after: pl.Series) -> bool:
    """Whether a column has the values of the original, but not in the same rows."""
    if is_number(before) and is_number(after):
        one, two = (np.fmax.reduce(numbers(column)) for column in (before, after))
        if not np.isclose(one, two, equal_nan=True):
            return False  # decided without sorting
    return not bool(equal_cells(before, after).all()) and common_codes(before, after).overlap == 1


def holds_original(before: pl.DataFrame, column: pl.Series, known: Bools) -> bool:
    return column.name in before.columns and bool(equal_cells(before[column.name], column)[known].all())


def combined_key(keys: Sequence[Key]) -> Key:
    """Return several columns as one key, without constant columns."""
    varied = [key for key in keys if not key.is_constant] or list(keys)
    names = tuple(name for key in varied for name in key.names)
    missing = np.logical_or.reduce([key.missing for key in varied])
    return Key(names, merged_codes([key.values for key in varied]), missing, varied[0].rows)


def common_codes(current: pl.Series, past: pl.Series) -> Key:
    """Return the values of a column in two files as codes; equal values have equal codes."""
    left, right = as_same_type(current, past)
    if left.dtype.is_float():
        values = np.concatenate([numbers(left), numbers(right)])
        missing = np.isnan(values)
        coded = _number_codes(values, _tolerance(current, past))
    else:
        both = pl.concat([comparable(left), comparable(right)])
        missing, coded = both.is_null().to_numpy(), codes(both)
    return Key((current.name,), coded, missing, current.len())


def _number_codes(values: Floats, tolerance: float) -> Ints:
    """Return a code for each distinct number; numbers closer than a relative tolerance are equal."""
    order = np.argsort(values, kind="stable")  # NaN last
    ranked = values[order]
    with np.errstate(invalid="ignore", over="ignore"):
        new = ranked[1:] != ranked[:-1]
        if not (ranked[np.isfinite(ranked)] % 1 == 0).all():
            gaps = np.diff(ranked)
            new &= ~(np.isfinite(gaps) & (gaps <= tolerance * np.minimum(np.abs(ranked[1:]), np.abs(ranked[:-1]))))
    new &= ~np.isnan(ranked[:-1])
    coded = np.empty(values.size, dtype=np.int64)
    coded[order] = np.concatenate([[0], np.cumsum(new)])
    return coded


def merged_codes(columns: Sequence[Ints]) -> Ints:
    """Return one code for each combination of codes, from 0 without gaps."""
    merged, size = columns[0], int(columns[0].max()) + 1
    for column in columns[1:]:
        width = int(column.max()) + 1
        if size * width >= 2**62:
            merged = np.unique(merged, return_inverse=True)[1]
            size = int(merged.max()) + 1
        merged, size = merged * width + column, size * width
    return np.asarray(np.unique(merged, return_inverse=True)[1], dtype=np.int64)


def equal_cells(left: pl.Series, right: pl.Series) -> Bools:
    """Return which cells of two columns of the same length are equal, whatever their types."""
    one, two = as_same_type(left, right)
    return ~differing(one, two, tolerance=_tolerance(left, right) if one.dtype.is_float() else 0.0)


def _tolerance(left: pl.Series, right: pl.Series) -> float:
    """Return the relative tolerance of two numeric types, because formats store different numbers of digits."""
    return 1e-7 if pl.Float32 in (left.dtype, right.dtype) else 1e-12


def as_same_type(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return two versions of a column in one type: text is read as numbers or dates, and blanks are removed."""
    left, right = (column.cast(pl.String) if column.dtype in TEXT else column for column in (left, right))
    if left.dtype == pl.Null:
        left = left.cast(right.dtype)
    if right.dtype == pl.Null:
        right = right.cast(left.dtype)
    if left.dtype == pl.String and right.dtype != pl.String:
        left = _parsed(left, right.dtype)
    elif right.dtype == pl.String and left.dtype != pl.String:
        right = _parsed(right, left.dtype)
    kinds = (left.dtype, right.dtype)
    if kinds[0] == kinds[1]:
        return (_bare(left), _bare(right)) if left.dtype == pl.String else (left, right)
    if all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        return _same_numbers(left, right)
    if all(kind == pl.Date or isinstance(kind, pl.Datetime) for kind in kinds):
        return left.cast(pl.Datetime("us")), right.cast(pl.Datetime("us"))
    left, right = (column.to_physical() if column.dtype == pl.Duration else column for column in (left, right))
    left, right = (column.fill_nan(None) if column.dtype.is_float() else column for column in (left, right))
    return _bare(text_of(left)), _bare(text_of(right))


def _parsed(text: pl.Series, kind: pl.DataType) -> pl.Series:
    return typed(text, pl.Float64() if kind.is_numeric() else kind)


def _bare(text: pl.Series) -> pl.Series:
    """Return text without blanks around it; empty text becomes missing."""
    bare = text.str.strip_chars()
    return bare.set(bare == "", None)


def _same_numbers(left: pl.Series, right: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return whole numbers as Int64 if all fit, so that long codes stay distinct; others as Float64."""
    if not any(column.dtype.is_float() or column.dtype.is_decimal() for column in (left, right)):
        one, two = left.cast(pl.Int64, strict=False), right.cast(pl.Int64, strict=False)
        if one.null_count() == left.null_count() and two.null_count() == right.null_count():
            return one, two
    return left.cast(pl.Float64), right.cast(pl.Float64)
