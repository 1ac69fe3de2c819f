"""Columns cell by cell: which differ, to the bit, and which records look alike.

A missing cell is null or NaN; one equals another. Floats are compared by their bits, so that -0.0 is not 0.0 and two
numbers that print alike may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints

TEXT = (pl.String, pl.Categorical, pl.Enum)


@dataclass(frozen=True, eq=False)
class Classes:
    """Records that look alike in some columns.

    labels: each record's class (-1: suppressed). sizes: of the classes. order: the records class by class, each class
    from its place in `starts` on.
    """

    columns: tuple[str, ...]
    labels: Ints
    sizes: Ints
    order: Ints

    @cached_property
    def starts(self) -> Ints:
        return np.cumsum(self.sizes) - self.sizes

    @property
    def first(self) -> Ints:
        """A record of each class."""
        return self.order[self.starts]

    @property
    def smallest(self) -> int:
        return int(self.sizes.min()) if self.sizes.size else 0

    def reduced(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Sums (np.add), least or greatest values of the classes."""
        return np.asarray(ufunc.reduceat(values[self.order], self.starts))

    def distinct(self, values: Ints) -> Ints:
        """How many different values each class has."""
        inside, width = self.labels >= 0, int(values.max(initial=0)) + 1
        pairs = np.unique(self.labels[inside] * width + values[inside])
        return np.bincount(pairs // width, minlength=self.sizes.size).astype(np.int64)

    def ranked(self, values: Floats) -> Floats:
        """The values class by class, rising within each."""
        return values[self.order][np.lexsort((values[self.order], self.labels[self.order]))]


def classes(frame: pl.DataFrame, columns: tuple[str, ...], kept: Bools | None = None) -> Classes:
    """The classes of the rows that are kept (all by default)."""
    parts = [comparable(frame[name]).rename(f"{j}") for j, name in enumerate(columns)]
    if not columns:  # nothing distinguishes the records: one class
        parts = [pl.Series("0", np.zeros(frame.height, dtype=np.int8))]
    keys = pl.DataFrame([*parts, pl.Series("row", np.arange(frame.height))])
    if kept is not None and not kept.all():
        keys = keys.filter(pl.Series(kept))
    rows = keys.group_by([f"{j}" for j in range(len(parts))], maintain_order=True).agg("row")["row"]
    sizes = rows.list.len().to_numpy().astype(np.int64)
    order = rows.explode().to_numpy().astype(np.int64) if sizes.size else np.empty(0, dtype=np.int64)
    labels = np.full(frame.height, -1, dtype=np.int64)
    labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return Classes(columns, labels, sizes, order)


def comparable(column: pl.Series) -> pl.Series:
    """A column whose equal values are equal cells, to the bit: floats as the integers of their bits."""
    dtype = column.dtype
    if dtype.is_float():
        values = column.cast(pl.Float64).to_numpy()
        gaps = np.isnan(values)
        bits = pl.Series(column.name, np.ascontiguousarray(values).view(np.int64))
        return bits.set(pl.Series(gaps), None) if gaps.any() else bits
    if dtype in TEXT:
        return column.cast(pl.String)
    if isinstance(dtype, pl.Duration):
        return column.dt.total_nanoseconds()
    if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
        return pl.Series(column.name, [None if v is None else repr(v) for v in column.to_list()], dtype=pl.String)
    return column


def differing(
    before: pl.Series, after: pl.Series, *, blanks: bool = False, tolerance: float = 0.0, signed_zero: bool = True
) -> Bools:
    """Which cells of two columns of one length differ.

    blanks: an empty text and a missing one are the same, and blanks at a text's end do not count (SPSS, Stata, SAS).
    tolerance: of numbers, relative, for formats that keep fewer digits. signed_zero: whether -0.0 differs from 0.0.
    """
    left, right = comparable(_plain(before, after)), comparable(_plain(after, before))
    if left.dtype == pl.String and right.dtype == pl.String and blanks:
        left, right = (c.str.strip_chars_end().fill_null("") for c in (left, right))
    if left.dtype != right.dtype:
        return ~(left.is_null() & right.is_null()).to_numpy()
    different = ~left.eq_missing(right).to_numpy()
    if not signed_zero and different.any() and is_number(before) and is_number(after):
        different &= ~((numbers(before) == 0) & (numbers(after) == 0))
    if tolerance and different.any() and is_number(before) and is_number(after):
        one, two = numbers(before), numbers(after)
        with np.errstate(invalid="ignore"):
            different &= ~(np.abs(one - two) <= tolerance * np.maximum(np.abs(one), np.abs(two)))
    return np.asarray(different, dtype=bool)


def missing_cells(column: pl.Series) -> Bools:
    """Which cells are null or NaN."""
    gaps = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return np.asarray(gaps.fill_null(True).to_numpy(), dtype=bool)


def is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric()


def numbers(column: pl.Series) -> Floats:
    """A column of numbers as float64, NaN where a cell is missing."""
    return np.array(column.cast(pl.Float64).to_numpy(), dtype=np.float64)


def codes(column: pl.Series) -> Ints:
    """A whole number for each distinct value, numbers in rising order; missing cells are the last."""
    same = column.fill_nan(None) if column.dtype.is_float() else column if is_number(column) else comparable(column)
    same = same.cast(pl.Int8) if same.dtype == pl.Boolean else same
    ranks = same.rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64)
    return np.where(ranks > 0, ranks, ranks.max(initial=0) + 1)


def signs_of_zero(column: pl.Series) -> bool:
    """Whether a column has both 0.0 and -0.0: one value, which a reader can still tell apart."""
    if not column.dtype.is_float():
        return False
    values = numbers(column)
    signs = np.signbit(values[values == 0])
    return bool(signs.any() and not signs.all())


def _plain(column: pl.Series, other: pl.Series) -> pl.Series:
    """A column in a type in which it can be compared with the other; exact, or it stays as it is."""
    kind, beside = column.dtype, other.dtype
    if kind == beside:
        return column
    if kind == pl.Null:
        return column.cast(beside)
    if kind == pl.Boolean and beside.is_numeric():
        column, kind = column.cast(pl.Int64), pl.Int64()
    if kind.is_numeric() and (beside.is_numeric() or beside == pl.Boolean):
        return _exact_number(column)
    if kind.is_temporal() and beside.is_temporal():
        return _moment(column)
    return column


def _exact_number(column: pl.Series) -> pl.Series:
    """Whole numbers as Int64 where all fit, others as floats: one type for 5, 5.0 and 5 in eight bits."""
    if column.dtype.is_integer() or column.dtype.is_decimal():
        wide = column.cast(pl.Float64)
        return wide if bool((wide.abs() <= 2**53).fill_null(True).all()) else column.cast(pl.Int128, strict=False)
    return column.cast(pl.Float64)


def _moment(column: pl.Series) -> pl.Series:
    """Dates and times at the microsecond; other spans of time as they are."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return column.cast(pl.Datetime("us"))
    return column


def text_of(column: pl.Series) -> pl.Series:
    """A column as bare text, so that a value is found again in another type: '  Ann ' as 'ann', 7.0 as '7'."""
    if column.dtype.is_float():
        whole = column.round(0).cast(pl.Int64, strict=False)
        same = (whole.cast(pl.Float64) == column).fill_null(False)
        return pl.select(pl.when(same).then(whole.cast(pl.String)).otherwise(column.cast(pl.String))).to_series()
    return comparable(column).cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()


def agreeing(same: pl.Series) -> float:
    """The share of true cells."""
    return int(same.fill_null(False).sum()) / max(same.len(), 1)


def sorted_rows(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of some columns in an order of their own: equal for two frames with the same rows."""
    bare = pl.DataFrame([comparable(frame[name]) for name in columns])
    return bare.sort(bare.columns) if columns else bare
