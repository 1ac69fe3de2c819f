"""A column of a table: its kind, its numbers and its codes, each made once on first use.

Every table that has the column shares the same object, so nothing is converted twice. The arrays are read-only, because
the array of a float64 column without missing values is the memory of the data frame. Messages count rows from 1, as in
the original data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Indices, Ints
from shoal.errors import InputError, counted
from shoal.table.cells import Cells, cells
from shoal.table.frames import kind
from shoal.table.moments import is_beyond_python, moment_texts
from shoal.table.source import FileSource

DAY = 86_400 * 10**6  # microseconds
EXACT = 2**53  # above it, float64 cannot hold every whole number
Array = TypeVar("Array", bound=NDArray[Any])


@dataclass(frozen=True, eq=False)
class ColumnCodes:
    """The distinct values of a column, the code of each record, and the number of records per value.

    Numbers and texts are in ascending order, so codes of numbers are ranks. If values are missing, None is the last.
    """

    values: list[Any]
    codes: Indices
    counts: Ints
    numeric: bool
    dated: bool = False

    @property
    def missing(self) -> Bools:
        """The records without a value."""
        absent = bool(self.values) and self.values[-1] is None
        return self.codes == (len(self.values) - 1 if absent else -1)

    def first_rows(self) -> Ints:
        """The first row that has each code."""
        rows = np.full(len(self.values), -1, dtype=np.int64)
        rows[self.codes[::-1]] = np.arange(
            self.codes.size - 1, -1, -1
        )  # the last assignment wins, which is the first row
        return rows

    def take(self, rows: Ints) -> ColumnCodes:
        """The codes of these rows, without the values that none of them has."""
        codes = self.codes[rows]
        counts = np.bincount(codes, minlength=len(self.values))
        used = np.flatnonzero(counts)
        number = np.zeros(len(self.values), dtype=np.int32)
        number[used] = np.arange(used.size)
        return replace(self, values=[self.values[i] for i in used], codes=_fixed(number[codes]), counts=counts[used])


class Column:
    """One column: `series` from the data frame, and the arrays that are made of it."""

    def __init__(self, series: nw.Series[Any], source: FileSource | None = None, numbering: Ints | None = None) -> None:
        self.name: str = series.name
        self.series = series
        self.source = source
        self._numbering = numbering

    def __len__(self) -> int:
        return len(self.series)

    def __repr__(self) -> str:
        return f"<Column {self.name!r} of {len(self)} rows: {self.kind}>"

    @cached_property
    def kind(self) -> str:
        """The kind of the column: number, text, category, bool, date, time, empty or other."""
        held = kind(self.series)
        is_coded = held == "number" and self.source is not None and self.source.labels is not None
        return "category" if is_coded and self.source and self.source.coded(self.series.to_polars()) else held

    @cached_property
    def ordered(self) -> bool:
        """Whether the data declare an order of the values: numbers, dates, an Enum, ordinal codes of SPSS."""
        if self.kind == "category" and self.series.dtype.is_numeric():
            labels = None if self.source is None else self.source.labels
            return labels is not None and labels.measures.get(self.name) == "ordinal"
        return self.kind in ("number", "date", "time") or self.declared_order() is not None

    def declared_order(self) -> list[str] | None:
        """The order of an Enum (polars) or an ordered category (pandas, pyarrow); None if there is none."""
        if self.kind != "category" or self.series.dtype.is_numeric():
            return None
        native = self.series.to_native()
        if self.series.implementation.is_pyarrow():
            if not native.type.ordered:
                return None
            return [str(value) for value in native.unify_dictionaries().chunk(0).dictionary.to_pylist()]
        if isinstance(self.series.dtype, nw.Enum):
            return [str(value) for value in self.series.dtype.categories]
        return None

    # -- numbers -----------------------------------------------------------------------------------

    @cached_property
    def cells(self) -> Cells:
        """The cells as float64; text becomes NaN, and a code that the file declares missing stays a number."""
        dialect = None if self.source is None else self.source.dialect
        made = cells(self.series, self.missing_codes, None if dialect is None else dialect.decimal)
        missing = made.missing if made.missing.any() else np.broadcast_to(np.False_, made.missing.shape)  # one byte
        return replace(made, values=_fixed(made.values), missing=_fixed(missing))

    @cached_property
    def numbers(self) -> Floats:
        """The numbers as float64, NaN for missing ones; text raises an error that names its row."""
        if self.cells.bad:
            raise InputError(self.text_message())
        if not self.missing_codes:
            return self.cells.values
        return _fixed(np.where(self.cells.missing, np.nan, self.cells.values))

    @cached_property
    def days(self) -> Floats:
        """The dates in days since 1970, NaN for missing ones."""
        stamps = self.series.to_polars().cast(pl.Datetime("us")).to_physical()
        return _fixed(np.asarray(stamps.cast(pl.Float64).fill_null(np.nan).to_numpy() / DAY, dtype=np.float64))

    @cached_property
    def missing(self) -> Bools:
        """The cells that are null or, in a column of numbers, NaN or a code that the file declares missing."""
        if self.kind == "number":
            return self.cells.missing
        return _fixed(np.asarray(self.series.is_null().to_numpy(), dtype=bool))

    @cached_property
    def missing_codes(self) -> tuple[tuple[Any, Any], ...]:
        """The ranges of codes that the file declares missing; none for a column with new values.

        A new value, such as a mean, may be equal to such a code and is still a number.
        """
        declared = () if self.source is None else self.source.user_missing(self.name)
        return declared if declared and self.source and self.source.untouched(self.series.to_polars()) else ()

    @property
    def absent(self) -> Bools:
        """The cells without a value: null, NaN, or a code that the file declares missing, labelled codes included."""
        stored = self.stored
        if not self.missing_codes:
            return stored.missing
        gone = [value is None or self.is_declared_missing(value) for value in stored.values]
        return np.array([*gone, True])[stored.codes]

    @property
    def is_exact(self) -> bool:
        """Whether float64 can hold each whole number of the column."""
        if not self.series.dtype.is_integer():
            return True
        ends = [end for end in (self.series.min(), self.series.max()) if end is not None]
        return all(abs(int(end)) <= EXACT for end in ends)

    def check_finite(self) -> None:
        """Raise an error if a number is infinite."""
        infinite = np.flatnonzero(np.isinf(self.cells.values)) if not self.series.dtype.is_integer() else np.zeros(0)
        if infinite.size:
            raise InputError(
                f"The column {self.name!r} has {counted(infinite.size, 'infinite value')}, the first in row "
                f"{self.row(int(infinite[0]))}. Replace them by numbers, make them missing, or remove the column "
                f"(--drop {self.name})."
            )

    # -- codes -------------------------------------------------------------------------------------

    @cached_property
    def stored(self) -> ColumnCodes:
        """The distinct values as they are stored; codes that the file declares missing are numbers."""
        if self.kind == "number" or self.series.dtype.is_numeric():
            return self._coded_numbers()
        return self._coded_texts()

    @cached_property
    def codes(self) -> ColumnCodes:
        """The distinct values by their meaning: numbers without codes that the file declares missing, or texts."""
        stored = self.stored
        if not stored.numeric:
            return stored
        present = [value for value in stored.values if value is not None]
        if self.kind != "number":  # labelled codes are nominal
            texts = [str(value) for value in present]
            return _recoded(stored, sorted(set(texts)), texts, numeric=False)
        floats = [float(value) for value in present]
        meant = [None if self.is_declared_missing(value) else value for value in floats]
        distinct = sorted({value for value in meant if value is not None})
        if len(distinct) == len(present):
            return replace(stored, values=[*distinct, *stored.values[len(present) :]])
        return _recoded(stored, distinct, meant, numeric=True)

    @cached_property
    def exact_codes(self) -> Indices:
        """Codes that are different for any two different cells, even for -0.0 and 0.0 or for NaN and null."""
        dtype = self.series.dtype
        if not self.stored.numeric or dtype.is_integer():
            return self.stored.codes
        if not dtype.is_float():  # decimals and Python numbers may differ in digits that a float does not have
            return _coded(_shown(self.series)).codes
        values = self.cells.values
        negative_zero = (values == 0.0) & np.signbit(values)
        not_null = np.isnan(values) & ~np.asarray(self.series.is_null().to_numpy(), dtype=bool)
        if not negative_zero.any() and not not_null.any():
            return self.stored.codes
        pairs = self.stored.codes.astype(np.int64) * 2 + (negative_zero | not_null)
        return _fixed(np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int32))

    def _coded_numbers(self) -> ColumnCodes:
        if self.series.dtype.is_integer():  # float64 cannot hold every whole number above 2^53
            absent = np.asarray(self.series.is_null().to_numpy(), dtype=bool)
            numbers: NDArray[Any] = (self.series.fill_null(0) if absent.any() else self.series).to_numpy()
        else:
            numbers = self.cells.values
            absent = np.isnan(numbers)
        distinct, inverse = np.unique(numbers[~absent], return_inverse=True)
        codes = np.full(numbers.size, distinct.size, dtype=np.int32)
        codes[~absent] = inverse.reshape(-1)
        values = [*distinct.tolist(), *([None] if absent.any() else [])]
        return ColumnCodes(values, _fixed(codes), _counts(codes, values), numeric=True)

    def _coded_texts(self) -> ColumnCodes:
        series, dated = self.series, self.kind in ("date", "time")
        if is_beyond_python(series):
            series = nw.from_native(moment_texts(series), series_only=True)
        elif self.kind == "other" or series.dtype in (nw.Duration, nw.Object):
            series = _shown(series)
        return replace(_coded(series), dated=dated)

    def is_declared_missing(self, value: float | str) -> bool:
        """Whether the file declares a stored value missing."""
        return any(
            isinstance(value, str) == isinstance(lowest, str) and lowest <= value <= highest
            for lowest, highest in self.missing_codes
        )

    # -- rows --------------------------------------------------------------------------------------

    def take(self, rows: Ints) -> Column:
        """The column with only these rows; arrays that were already made are reused."""
        source = None if self.source is None else self.source.take(rows)
        numbering = rows + 1 if self._numbering is None else self._numbering[rows]
        return self.taken_as(rows, Column(self.series[rows.tolist()], source, numbering))

    def taken_as(self, rows: Ints, taken: Column) -> Column:
        """Give `taken`, which has these rows of the column, the arrays that were already made, and return it."""
        made = self.__dict__
        if "cells" in made and not self.cells.bad:
            taken.__dict__["cells"] = Cells(_fixed(self.cells.values[rows]), _fixed(self.cells.missing[rows]))
            taken.__dict__["missing_codes"] = self.missing_codes
        if "stored" in made:
            taken.__dict__["stored"] = self.stored.take(rows)
        return taken

    def row(self, place: int) -> int:
        """The number of a row in the original data, counted from 1."""
        return place + 1 if self._numbering is None else int(self._numbering[place])

    def cell(self, place: int) -> str:
        """A cell as text."""
        return str(self.series[place : place + 1].to_list()[0])

    def text_message(self) -> str:
        """The message if numbers are needed and the column holds something else."""
        row, example = self.row(self.cells.first_bad), shortened(self.cell(self.cells.first_bad))
        if self.kind in ("text", "category"):
            return (
                f"The column {self.name!r} has text where a number is needed: {example!r} in row {row}"
                f" ({counted(self.cells.bad, 'such cell')}). If the texts are labels, use shoal microaggregate with "
                f"--nominal {self.name}, or with --order {self.name}=… (lowest first) if they have an order. If they "
                f"are mistakes, correct the file. Or remove the column: --drop {self.name}."
            )
        held = {"date": "dates", "time": "times"}.get(self.kind, f"values of the type {self.series.dtype}")
        return (
            f"The column {self.name!r} holds {held}, such as {example!r} in row {row}, but numbers are needed. "
            f"Convert it to a number (a year, an age), or remove it (--drop {self.name})."
        )


def shortened(text: str) -> str:
    """The text of a cell for a message; a long text is cut."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def _coded(series: nw.Series[Any]) -> ColumnCodes:
    """The codes of hashable values, in the ascending order of their texts."""
    absent = np.asarray(series.is_null().to_numpy(), dtype=bool)
    present = series.drop_nulls().unique().to_list()
    texts = sorted({str(value) for value in present})
    codes = np.zeros(absent.size, dtype=np.int32)
    if present:
        place = {text: i for i, text in enumerate(texts)}
        number = {value: place[str(value)] for value in present}
        filled = series.fill_null(present[0]) if absent.any() else series
        codes = np.array(
            filled.replace_strict(list(number), list(number.values()), return_dtype=nw.Int32).to_numpy(), dtype=np.int32
        )
    codes[absent] = len(texts)
    values = [*texts, *([None] if absent.any() else [])]
    return ColumnCodes(values, _fixed(codes), _counts(codes, values), numeric=False)


def _shown(series: nw.Series[Any]) -> nw.Series[Any]:
    """Values that are not hashable, such as lists, as the texts that Python prints."""
    absent = series.is_null().to_list()
    shown = [None if gap else str(value) for value, gap in zip(series.to_list(), absent, strict=True)]
    return nw.from_native(pl.Series(series.name, shown, dtype=pl.String), series_only=True)


def _recoded(stored: ColumnCodes, values: list[Any], meant: list[Any], numeric: bool) -> ColumnCodes:
    """The same records with new values: `meant` maps each present value of `stored` to one of `values`, or to None."""
    place = {value: i for i, value in enumerate(values)}
    number = [place.get(value, len(values)) for value in meant]
    number += [len(values)] * (len(stored.values) - len(meant))
    lookup = np.array(number, dtype=np.int32)
    codes = lookup[stored.codes] if lookup.size else stored.codes
    values = [*values, None] if (lookup == len(values)).any() else values
    return ColumnCodes(values, _fixed(codes), _counts(codes, values), numeric)


def _counts(codes: Indices, values: list[Any]) -> Ints:
    return np.bincount(codes, minlength=len(values)).astype(np.int64)


def _fixed(array: Array) -> Array:
    """A read-only view of the array, which is shared and may be the memory of the data frame."""
    view: Array = array.view()
    view.flags.writeable = False
    return view
