"""A table: a frame with its columns' roles, and the way from it to numbers and back (narwhals in the middle).

Searches see the float64 arrays that a table gives; the protected arrays come back as a frame of the kind that came in.
Columns (`table["age"]`) are made when they are first asked for, and tables of the same data share them.
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
    """What a column looks like, for messages and reports."""

    name: str
    kind: str
    distinct: int
    missing: int
    example: str


class Table:
    """Microdata with roles: one row per record. The frame is never changed.

    numbering: the rows' numbers in the data that came in, once some have been dropped. like: a table of the same rows;
    a column that is the same in both is shared with what was already made of it.
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
        self.notices = tuple(notices)  # of reading it
        self._numbering = numbering
        self._like = like if like is not None and like.source is source else None
        self._columns: dict[str, Column] = {}

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows, {len(self.columns)} columns: {', '.join(self.columns)}>"

    def __getitem__(self, name: str) -> Column:
        """A column, made when it is first asked for."""
        if name not in self._columns:
            series, like = self._data[name], self._like
            shared = like is not None and name in like.columns and identical(like._data[name], series)
            self._columns[name] = like[name] if like and shared else Column(series, self.source, self._numbering)
        return self._columns[name]

    @property
    def frame(self) -> Any:
        """The frame as it came in."""
        return self._data.to_native()

    @property
    def columns(self) -> list[str]:
        return list(self._data.columns)

    @property
    def rows(self) -> int:
        return len(self._data)

    @property
    def numbering(self) -> Ints:
        """Each row's number in the data that came in, counted from 1."""
        return np.arange(1, self.rows + 1) if self._numbering is None else self._numbering

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each column holds: number, text, category, bool, date, time, empty or other."""
        return {name: self[name].kind for name in self.columns}

    def describe(self) -> list[ColumnSummary]:
        """A row for each column: its name, kind, distinct values, missing cells, and an example."""
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
        """The same columns with other roles."""
        other = Table(self.frame, roles, self.source, numbering=self._numbering)
        other._columns, other._like = self._columns, self._like
        return other

    def take(self, rows: Bools) -> Table:
        """The rows where `rows` is true; what was made of the columns is taken with them."""
        source = None if self.source is None else self.source.take(rows)
        taken = Table(self._data.filter(rows.tolist()).to_native(), self.roles, source, numbering=self.numbering[rows])
        places = np.flatnonzero(rows)
        for name, column in self._columns.items():
            column.taken_as(places, taken[name])
        return taken

    def with_frame(self, frame: Any) -> Table:
        """The same table with some new values: the columns that stayed the same are shared."""
        return Table(frame, self.roles, self.source, numbering=self._numbering, like=self)

    # -- which columns ---------------------------------------------------------------------------

    def quasi_columns(self, *, to_protect: bool = False, numbers_only: bool = False) -> tuple[str, ...]:
        """The quasi-identifiers: those named, or else every column without a role.

        to_protect: a column without a role that looks like an identifier is an error, since no protection hides it.
        numbers_only: for a method that needs numbers, text among the columns without a role is an error.
        """
        if self.roles.quasi:
            return self.roles.quasi
        free = self.without_role()
        if not free:
            raise UsageError("every column has another role: name the quasi-identifiers, the columns to protect")
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
            "not all columns are numbers, so the quasi-identifiers (the columns to protect) must be named, "
            f"for example --quasi {example}, or quasi={example.split(',')!r} in Python. The columns are:\n"
            + "\n".join(rows)
            + "".join(almost)
        )

    def _almost_numbers(self, name: str) -> str:
        """A line on a text column that is mostly numbers: likely a slip in the file."""
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
        """The columns (the quasi-identifiers if none are named) as a new n x d array of float64.

        Missing cells are an error, or NaN with missing="keep". All columns constant is an error and
        some of them a warning, unless `allow_constant`; infinite cells are an error, unless `allow_infinite`.
        """
        check_choice("missing", missing, ("error", "keep"))
        chosen = self.chosen(columns)
        values = np.empty((self.rows, len(chosen)))
        for j, name in enumerate(chosen):
            values[:, j] = self._checked_numbers(name, allow_infinite)
            if missing == "error" and np.isnan(values[:, j]).any():
                self.with_missing("error", chosen)
            if not self[name].is_exact:
                notice(f"the column {name!r} has whole numbers beyond 2^53: their last digits are lost in float64")
        if not allow_constant:
            _check_constant(values, chosen)
        return values

    def weights(self) -> Floats | None:
        """The records' weights, all positive; None if no column has that role."""
        name = self.roles.weight
        if name is None:
            return None
        values = self._checked_numbers(name)
        missing = np.flatnonzero(np.isnan(values))
        if missing.size:
            raise InputError(
                f"the weight column {name!r} has {counted(missing.size, 'missing value')}, "
                f"the first in row {self[name].row(int(missing[0]))}: every record needs a weight"
            )
        low = np.flatnonzero(values <= 0)
        if low.size:
            raise InputError(
                f"weights must be above 0; the column {name!r} has {values[low[0]]:g} in row "
                f"{self[name].row(int(low[0]))} ({counted(low.size, 'such row')}): "
                "remove the records that stand for nobody, or leave the weight out"
            )
        return np.array(values)

    def whole(self, columns: Iterable[str] | None = None) -> tuple[str, ...]:
        """Those of the columns that hold whole numbers only, whatever their type."""
        return tuple(name for name in self.chosen(columns) if all_whole(self._checked_numbers(name)))

    def chosen(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        """The columns by name, each of which must exist; the quasi-identifiers if none are named."""
        chosen = self.quasi_columns() if columns is None else names(columns, "columns")
        if not chosen:
            raise UsageError("no columns are named: at least one is needed")
        Roles(quasi=chosen).check(self.columns)
        return chosen

    def _checked_numbers(self, name: str, allow_infinite: bool = False) -> Floats:
        """The numbers of a column, finite ones by default, apart from missing cells."""
        numbers = self[name].numbers
        if not allow_infinite:
            self[name].check_finite()
        return numbers

    def with_missing(
        self, how: str, columns: Iterable[str] | None = None, kinds: Mapping[str, str] | None = None
    ) -> Table:
        """The table without missing cells in the columns: an error, rows dropped, or medians filled in.

        kinds: how each column is meant (number, date, ordinal, nominal or value); numbers by default.
        """
        from shoal.table.missing import without_missing

        chosen = self.chosen(columns)
        return without_missing(self, how, kinds or dict.fromkeys(chosen, "number"))

    # -- the way back ----------------------------------------------------------------------------

    def protected(
        self,
        new: Mapping[str, NDArray[Any]],
        *,
        round_columns: Iterable[str] = (),
    ) -> Any:
        """A frame of the kind that came in, with the columns of `new` replaced and the removed columns gone.

        New numbers are float64; those of `round_columns` are rounded and keep an integer type.
        """
        drop = self.roles.removed
        whole = names(round_columns, "round_columns")
        for name in new:
            if name not in self.columns:
                raise unknown("column", name, self.columns)
            if name in drop:
                raise UsageError(f"the column {name!r} is removed from the release: it takes no new values")
        for name in whole:
            if name not in new:
                raise UsageError(f"the column {name!r} is to be rounded, but it has no new values")
        return replaced(self._data, new, drop, whole)


def _check_constant(values: Floats, columns: Sequence[str]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        lowest, highest = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        wide = ~np.isfinite(highest - lowest) & np.isfinite(highest) & np.isfinite(lowest)
    if wide.any():
        name = columns[int(np.flatnonzero(wide)[0])]
        raise InputError(f"the numbers of the column {name!r} lie too far apart to be subtracted: rescale it")
    constant = [name for name, low, high in zip(columns, lowest, highest, strict=True) if not high > low]
    if len(constant) == len(columns):
        what = f"the column {columns[0]!r} is" if len(columns) == 1 else f"all {len(columns)} columns are"
        raise InputError(f"{what} constant ({', '.join(columns)}): there is nothing to protect; name other columns")
    if constant:
        what = "the column is" if len(constant) == 1 else "the columns are"
        notice(f"{what} constant: {', '.join(map(repr, constant))}; one value does not tell records apart")


def all_whole(values: Floats) -> bool:
    """Whether the numbers that are there are whole."""
    present: Bools = ~np.isnan(values)
    return bool(present.any() and np.all(values[present] == np.rint(values[present])))
