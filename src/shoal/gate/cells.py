"""Compare columns cell by cell, and group records into equivalence classes.

A missing cell is null or NaN, and all missing cells are equal. Floats are compared bit for bit, so that -0.0 differs
from 0.0, and two numbers with the same decimal text may differ.
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
from shoal.table.dates import days_of_texts

TEXT = (pl.String, pl.Categorical, pl.Enum)
MANY = 100_000  # rows from which on tuples are grouped by their hashes first, and then compared


@dataclass(frozen=True, eq=False)
class Classes:
    """The equivalence classes over some columns.

    Attributes:
        columns: The columns.
        labels: The class of each record; -1 for suppressed records.
        sizes: The number of records in each class.
        order: The records class by class; class i begins at `starts[i]`.
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
        """One record of each class."""
        return self.order[self.starts]

    @property
    def smallest(self) -> int:
        return int(self.sizes.min()) if self.sizes.size else 0

    def reduced(self, ufunc: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums (np.add), minima (np.minimum) or maxima (np.maximum) of the classes."""
        return np.asarray(ufunc.reduceat(values[self.order], self.starts))

    def distinct(self, values: Ints) -> Ints:
        """Return the number of distinct values in each class."""
        inside, width = self.labels >= 0, int(values.max(initial=0)) + 1
        pairs = np.unique(self.labels[inside] * width + values[inside])
        return np.bincount(pairs // width, minlength=self.sizes.size).astype(np.int64)

    def ranked(self, values: Floats) -> Floats:
        """Return the values class by class, in ascending order within each class."""
        return values[self.order][np.lexsort((values[self.order], self.labels[self.order]))]


def classes(frame: pl.DataFrame, columns: tuple[str, ...], kept: Bools | None = None) -> Classes:
    """Return the equivalence classes of the rows that are kept (all rows by default)."""
    if len(columns) > 1 and frame.height >= MANY:
        by_hash = _by_hash(frame, columns, kept)
        if all(_same_in_classes(comparable(frame[name]), by_hash) for name in columns):
            return by_hash
    parts = [comparable(frame[name]).rename(f"{j}") for j, name in enumerate(columns)]
    if not columns:  # without columns, all records are in one class
        parts = [pl.Series("0", np.zeros(frame.height, dtype=np.int8))]
    return _grouped(parts, columns, kept)


def _grouped(parts: Sequence[pl.Series], columns: tuple[str, ...], kept: Bools | None) -> Classes:
    """Return the classes of rows with equal cells in all parts, in the order of their first rows."""
    n = parts[0].len()
    keys = pl.DataFrame([*parts, pl.Series("row", np.arange(n))])
    if kept is not None and not kept.all():
        keys = keys.filter(pl.Series(kept))
    rows = keys.group_by([part.name for part in parts], maintain_order=True).agg("row")["row"]
    sizes = rows.list.len().to_numpy().astype(np.int64)
    order = rows.explode().to_numpy().astype(np.int64) if sizes.size else np.empty(0, dtype=np.int64)
    labels = np.full(n, -1, dtype=np.int64)
    labels[order] = np.repeat(np.arange(sizes.size), sizes)
    return Classes(columns, labels, sizes, order)


def _by_hash(frame: pl.DataFrame, columns: tuple[str, ...], kept: Bools | None) -> Classes:
    """Return the classes of rows with equal sums of hashes, which take less memory than the tuples themselves."""
    total = np.zeros(frame.height, dtype=np.uint64)
    for j, name in enumerate(columns):
        total += mixed_hashes(frame[name], j)
    return _grouped([pl.Series("0", total)], columns, kept)


def _same_in_classes(column: pl.Series, groups: Classes) -> bool:
    """Whether all rows of each class have the same cell."""
    inside = column.gather(pl.Series(groups.order))
    first = column.gather(pl.Series(np.repeat(groups.first, groups.sizes)))
    return bool(inside.eq_missing(first).all())


def mixed_hashes(column: pl.Series, place: int) -> NDArray[np.uint64]:
    """Return 64-bit hashes of the cells, whose sums over several columns stand for tuples."""
    mixed = comparable(column).hash(seed=place + 1).to_numpy().astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the finalizer of SplitMix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def comparable(column: pl.Series) -> pl.Series:
    """Return a column whose cells are equal exactly if the values are: floats become the integers of their bits."""
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
    """Return which cells of two columns of the same length differ.

    Args:
        before: A column.
        after: Another column.
        blanks: Whether empty text equals missing text, and trailing blanks do not count (SPSS, Stata, SAS).
        tolerance: The relative tolerance of numbers, for formats that store fewer digits.
        signed_zero: Whether -0.0 differs from 0.0.
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
    """Return which cells are null or NaN."""
    gaps = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return np.asarray(gaps.fill_null(True).to_numpy(), dtype=bool)


def is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric()


def numbers(column: pl.Series) -> Floats:
    """Return a column of numbers as float64, with NaN for missing cells; it may be the memory of the column."""
    return np.asarray(column.cast(pl.Float64).to_numpy(), dtype=np.float64)


def days_of_text(column: pl.Series) -> Floats | None:
    """Return a text column of dates as days since 1970, with NaN for missing cells; None if not every text is a date.

    Dates have a usual form: 2001-03-31, 31.03.2001, 2001-03, 2001-Q1.
    """
    texts = [text for text in column.cast(pl.String).unique().to_list() if text]
    read = days_of_texts(texts)
    if read is None:
        return None
    day_of = dict(zip(texts, read.days, strict=True))
    return np.array([day_of.get(text, np.nan) for text in column.cast(pl.String).to_list()])


def codes(column: pl.Series) -> Ints:
    """Return a code for each distinct value; codes of numbers are in ascending order, and missing cells come last."""
    same = column.fill_nan(None) if column.dtype.is_float() else column if is_number(column) else comparable(column)
    same = same.cast(pl.Int8) if same.dtype == pl.Boolean else same
    ranks = same.rank("dense").cast(pl.Int64).fill_null(0).to_numpy().astype(np.int64)
    return np.where(ranks > 0, ranks, ranks.max(initial=0) + 1)


def signs_of_zero(column: pl.Series) -> bool:
    """Whether a column has both 0.0 and -0.0: equal values that a reader can still distinguish."""
    if not column.dtype.is_float():
        return False
    values = numbers(column)
    signs = np.signbit(values[values == 0])
    return bool(signs.any() and not signs.all())


def _plain(column: pl.Series, other: pl.Series) -> pl.Series:
    """Return a column in a type that can be compared with the other column, if this loses nothing."""
    kind, other_kind = column.dtype, other.dtype
    if kind == other_kind:
        return column
    if kind == pl.Null:
        return column.cast(other_kind)
    if kind == pl.Boolean and other_kind.is_numeric():
        column, kind = column.cast(pl.Int64), pl.Int64()
    if kind.is_numeric() and (other_kind.is_numeric() or other_kind == pl.Boolean):
        return _exact_number(column)
    if kind.is_temporal() and other_kind.is_temporal():
        return _moment(column)
    return column


def _exact_number(column: pl.Series) -> pl.Series:
    """Return numbers as floats, or as 128-bit integers if floats cannot hold them: 5 and 5.0 get the same type."""
    if column.dtype.is_integer() or column.dtype.is_decimal():
        wide = column.cast(pl.Float64)
        return wide if bool((wide.abs() <= 2**53).fill_null(True).all()) else column.cast(pl.Int128, strict=False)
    return column.cast(pl.Float64)


def _moment(column: pl.Series) -> pl.Series:
    """Return dates and times in microseconds; other temporal types are unchanged."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return column.cast(pl.Datetime("us"))
    return column


def text_of(column: pl.Series) -> pl.Series:
    """Return a column as plain text, so that equal values of different types match: ' Ann ' as 'ann', 7.0 as '7'."""
    if column.dtype.is_float():
        whole = column.round(0).cast(pl.Int64, strict=False)
        same = (whole.cast(pl.Float64) == column).fill_null(False)
        return pl.select(pl.when(same).then(whole.cast(pl.String)).otherwise(column.cast(pl.String))).to_series()
    return comparable(column).cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()


def agreeing(same: pl.Series) -> float:
    """Return the share of true cells."""
    return int(same.fill_null(False).sum()) / max(same.len(), 1)


def sorted_rows(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows of some columns, sorted: two frames with the same rows give the same result."""
    bare = pl.DataFrame([comparable(frame[name]) for name in columns])
    return bare.sort(bare.columns) if columns else bare
