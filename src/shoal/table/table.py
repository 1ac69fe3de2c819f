"""A table: a data frame with the roles of its columns, which converts columns to arrays and back.

Searches work on the float64 arrays of a table. `protected` puts new values into a data frame of the same library.
Columns (`table["age"]`) are made on first use, and tables of the same data share them. Narwhals hides which library
the data frame is from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, UsageError, check_choice, counted, unknown
from shoal.notices import notice
from shoal.table.column import Column, shortened
from shoal.table.frames import identical, replaced, wrap
from shoal.table.roles import Roles, names
from shoal.table.source import FileSource


class ColumnSummary(NamedTuple):
    """The kind, distinct values, missing cells and an example of a column, for messages and reports."""

    name: str
    kind: str
    distinct: int
    missing: int
    example: str


class Table:
    """Microdata with column roles, one row per record. The wrapped data frame is never modified.

    Args:
        frame: A data frame of pandas, polars or pyarrow.
        roles: The roles of the columns.
        source: The file that the frame was read from.
        numbering: The number of each row in the original data, if rows have been dropped.
        like: A table of the same rows. Columns that are the same in both are shared.
        notices: The notices of reading the data.
    """

    def __init__(
        self,
        frame: Any,
        roles: Roles | None = None,
        source: FileSource | None = None,
        *,
        numbering: Ints | None = None,
        like: Table | None = None,
        notices: Iterable[str] = (),
    ) -> None:
        self._data = wrap(frame)
        self.roles = (roles or Roles()).resolve(self._data.columns)
        self.source = source
        self.notices = tuple(notices)
        self._numbering = numbering
        self._like = like if like is not None and like.source is source else None
        self._columns: dict[str, Column] = {}

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows, {len(self.columns)} columns: {', '.join(self.columns)}>"

    def __getitem__(self, name: str) -> Column:
        """The column with this name; it is made on first use."""
        if name not in self._columns:
            series, like = self._data[name], self._like
            shared = like is not None and name in like.columns and identical(like._data[name], series)
            self._columns[name] = like[name] if like and shared else Column(series, self.source, self._numbering)
        return self._columns[name]

    @property
    def frame(self) -> Any:
        """The original data frame."""
        return self._data.to_native()

    @property
    def columns(self) -> list[str]:
        return list(self._data.columns)

    @property
    def rows(self) -> int:
        return len(self._data)

    @property
    def numbering(self) -> Ints:
        """The number of each row in the original data, counted from 1."""
        return np.arange(1, self.rows + 1) if self._numbering is None else self._numbering

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each column: number, text, category, bool, date, time, empty or other."""
        return {name: self[name].kind for name in self.columns}

    def describe(self) -> list[ColumnSummary]:
        """Return one summary per column: its name, kind, distinct values, missing cells, and an example."""
        summaries = []
        for name in self.columns:
            series = self._data[name]
            present = series.drop_nulls()
            example = str(present[:1].to_list()[0]) if len(present) else ""
            plain = self.kinds[name] != "other" and series.dtype != nw.Object
            distinct = present.n_unique() if plain else len(set(map(str, present.to_list())))
            summaries.append(ColumnSummary(name, self.kinds[name], int(distinct), self.rows - len(present), example))
        return summaries

    def with_roles(self, roles: Roles) -> Table:
        """Return a table with the same columns and other roles."""
        other = Table(self.frame, roles, self.source, numbering=self._numbering)
        other._columns, other._like = self._columns, self._like
        return other

    def take(self, rows: Bools) -> Table:
        """Return a table of the rows where `rows` is true; arrays that were already made of the columns are kept."""
        source = None if self.source is None else self.source.take(rows)
        taken = Table(self._data.filter(rows.tolist()).to_native(), self.roles, source, numbering=self.numbering[rows])
        places = np.flatnonzero(rows)
        for name, column in self._columns.items():
            column.taken_as(places, taken[name])
        return taken

    def with_frame(self, frame: Any) -> Table:
        """Return the table with some new values; columns that did not change are shared."""
        return Table(frame, self.roles, self.source, numbering=self._numbering, like=self)

    # -- which columns ---------------------------------------------------------------------------

    def quasi_columns(self, *, to_protect: bool = False, numbers_only: bool = False) -> tuple[str, ...]:
        """The columns with the role quasi-identifier; if there are none, every column without a role.

        Args:
            to_protect: Raise an error if a column without a role looks like an identifier, which no method protects.
            numbers_only: Raise an error if a column without a role holds text.
        """
        if self.roles.quasi:
            return self.roles.quasi
        free = self.without_role()
        if not free:
            raise UsageError("Every column has another role. Name the columns to protect with --quasi A,B,...")
        if to_protect:
            self._refuse_identifiers(free)
        if numbers_only and not all(self.kinds[name] == "number" for name in free):
            raise UsageError(self._choose_columns(free))
        return free

    def _refuse_identifiers(self, names: Iterable[str]) -> None:
        from shoal.table.likeness import identifier_reason

        for name in names:
            reason = identifier_reason(self[name].series.to_polars())
            if reason is not None:
                raise UsageError(
                    f"The column {name!r} has no role and looks like an identifier: {reason}. Remove it with "
                    f"--identifiers {name}, or name the columns to protect with --quasi."
                )

    def without_role(self) -> tuple[str, ...]:
        """The columns that have no role."""
        assigned = self.roles.assigned
        return tuple(name for name in self.columns if name not in assigned)

    def _choose_columns(self, free: Sequence[str]) -> str:
        almost = [f"\n{line}" for line in map(self._almost_numbers, free) if line]
        number = [name for name in free if self.kinds[name] == "number"][:2]
        example = ",".join(number or free[:2])
        width = max(len(name) for name in self.columns)
        rows = [
            f"  {c.name:<{width}}  {c.kind:<8}  {c.distinct} distinct"
            + (f", {c.missing} missing" if c.missing else "")
            + (f", such as {shortened(c.example)}" if c.example else "")
            for c in self.describe()
        ]
        return (
            "Some columns do not hold numbers, so the quasi-identifiers (the columns to protect) must be named. "
            f"For example: --quasi {example}, or quasi={example.split(',')!r} in Python. The columns are:\n"
            + "\n".join(rows)
            + "".join(almost)
        )

    def _almost_numbers(self, name: str) -> str:
        """The message for a text column that holds mostly numbers, which is probably a mistake in the file."""
        if self.kinds[name] != "text":
            return ""
        cells = self[name].cells
        present = self.rows - int(cells.missing.sum())
        if not cells.bad or cells.bad * 2 > present:
            return ""
        return self[name].text_message()

    # -- numbers ---------------------------------------------------------------------------------

    def numbers(
        self,
        columns: Iterable[str] | None = None,
        *,
        missing: str = "error",
        allow_constant: bool = False,
        allow_infinite: bool = False,
    ) -> Floats:
        """Return the columns as a new n x d array of float64.

        Args:
            columns: Names of columns; the quasi-identifiers by default.
            missing: "error", or "keep" to return NaN for missing cells.
            allow_constant: Do not raise an error if all columns are constant, and do not warn if some are.
            allow_infinite: Do not raise an error for infinite numbers.
        """
        check_choice("missing", missing, ("error", "keep"))
        chosen = self.chosen(columns)
        values = np.empty((self.rows, len(chosen)))
        for j, name in enumerate(chosen):
            values[:, j] = self._checked_numbers(name, allow_infinite)
            if missing == "error" and np.isnan(values[:, j]).any():
                self.with_missing("error", chosen)
            if not self[name].is_exact:
                notice(f"The column {name!r} has whole numbers beyond 2^53. Their last digits are lost in float64.")
        if not allow_constant:
            _check_constant(values, chosen)
        return values

    def weights(self) -> Floats | None:
        """The weights of the records, all positive; None if no column has the role weight."""
        name = self.roles.weight
        if name is None:
            return None
        values = self._checked_numbers(name)
        missing = np.flatnonzero(np.isnan(values))
        if missing.size:
            raise InputError(
                f"The weight column {name!r} has {counted(missing.size, 'missing value')}, "
                f"the first in row {self[name].row(int(missing[0]))}. Every record needs a weight: correct the "
                "file, or remove --weight."
            )
        low = np.flatnonzero(values <= 0)
        if low.size:
            raise InputError(
                f"Weights must be above 0, but the column {name!r} has {values[low[0]]:g} in row "
                f"{self[name].row(int(low[0]))} ({counted(low.size, 'such row')}). Remove the records that represent "
                "nobody, or remove --weight."
            )
        return np.array(values)

    def whole(self, columns: Iterable[str] | None = None) -> tuple[str, ...]:
        """The columns that hold only whole numbers, whatever their type."""
        return tuple(name for name in self.chosen(columns) if all_whole(self._checked_numbers(name)))

    def chosen(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        """Return the named columns, or the quasi-identifiers if `columns` is None; an unknown name is an error."""
        chosen = self.quasi_columns() if columns is None else names(columns, "columns")
        if not chosen:
            raise UsageError("No columns are named. Name at least one.")
        Roles(quasi=chosen).check(self.columns)
        return chosen

    def _checked_numbers(self, name: str, allow_infinite: bool = False) -> Floats:
        """The numbers of a column; an infinite number is an error, unless `allow_infinite`."""
        numbers = self[name].numbers
        if not allow_infinite:
            self[name].check_finite()
        return numbers

    def with_missing(
        self,
        how: str,
        columns: Iterable[str] | None = None,
        kinds: Mapping[str, str] | None = None,
        leave_out: str = "--drop {name}",
    ) -> Table:
        """Return a table without missing cells in the columns.

        Args:
            how: "error" raises an error, "drop" drops the rows, "median" fills in the median of the column.
            columns: Names of columns; the quasi-identifiers by default.
            kinds: The kind of each column (number, date, ordinal, nominal or value); number by default.
            leave_out: The option that removes a column, for the message.
        """
        from shoal.table.missing import without_missing

        chosen = self.chosen(columns)
        return without_missing(self, how, kinds or dict.fromkeys(chosen, "number"), leave_out)

    # -- new values ------------------------------------------------------------------------------

    def protected(
        self,
        new: Mapping[str, NDArray[Any]],
        *,
        round_columns: Iterable[str] = (),
    ) -> Any:
        """Return a data frame of the original library with the values of `new` and without the removed columns.

        New numbers are float64. The numbers of `round_columns` are rounded and keep an integer type.
        """
        drop = self.roles.removed
        whole = names(round_columns, "round_columns")
        for name in new:
            if name not in self.columns:
                raise unknown("column", name, self.columns)
            if name in drop:
                raise UsageError(f"The column {name!r} is removed from the release and cannot get new values.")
        for name in whole:
            if name not in new:
                raise UsageError(f"The column {name!r} cannot be rounded, because it has no new values.")
        return replaced(self._data, new, drop, whole)


def _check_constant(values: Floats, columns: Sequence[str]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, highest = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        wide = ~np.isfinite(highest - lowest) & np.isfinite(highest) & np.isfinite(lowest)
    if wide.any():
        name = columns[int(np.flatnonzero(wide)[0])]
        raise InputError(too_wide(name))
    constant = [name for name, low, high in zip(columns, lowest, highest, strict=True) if not high > low]
    if len(constant) == len(columns):
        raise InputError(all_constant(columns))
    if constant:
        notice(some_constant(constant))


def too_wide(name: str) -> str:
    """The message if the difference of two numbers of a column is infinite."""
    return f"The numbers of the column {name!r} are too far apart to be subtracted. Divide them by a constant."


def all_constant(columns: Sequence[str]) -> str:
    """The message if there is nothing to protect."""
    what = f"The column {columns[0]!r} is" if len(columns) == 1 else f"All {len(columns)} columns to protect are"
    return f"{what} constant ({', '.join(columns)}): there is nothing to protect. Name other columns with --quasi."


def some_constant(columns: Sequence[str]) -> str:
    """The notice if some of the columns to protect are constant."""
    what = "The column is" if len(columns) == 1 else "The columns are"
    return f"{what} constant: {', '.join(map(repr, columns))}. A constant column does not distinguish records."


def all_whole(values: Floats) -> bool:
    """Whether all numbers that are not missing are whole."""
    present: Bools = ~np.isnan(values)
    return bool(present.any() and np.all(values[present] == np.rint(values[present])))
