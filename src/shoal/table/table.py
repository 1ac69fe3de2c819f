"""A table: a frame with its columns' roles, and the way from it to numbers and back (narwhals in the middle).

Searches see the float64 arrays that a table gives; the protected arrays come back as a frame of
the kind that came in. Rows in messages are counted as a person counts them: the first is row 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.errors import InputError, ShoalWarning, UsageError, check_choice, unknown
from shoal.table.cells import Cells, cells
from shoal.table.frames import kind, replaced, same, wrap
from shoal.table.roles import Roles, names
from shoal.table.source import FileSource

MISSING = ("error", "drop", "median")
EXACT = 2.0**53  # beyond it float64 skips whole numbers


class Column(NamedTuple):
    """What a column looks like, for messages."""

    name: str
    kind: str
    distinct: int
    missing: int
    example: str


class Table:
    """Microdata with roles: one row a record. The frame is never changed."""

    def __init__(
        self,
        frame: Any,
        roles: Roles | None = None,
        source: FileSource | None = None,
        *,
        numbering: NDArray[np.int64] | None = None,
    ) -> None:
        self._data = wrap(frame)
        self.roles = (roles or Roles()).resolve(self._data.columns)
        self.source = source
        self._numbering = numbering  # the rows' numbers in the original, once some have been dropped

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows, {len(self.columns)} columns: {', '.join(self.columns)}>"

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
    def numbering(self) -> NDArray[np.int64]:
        """Each row's number in the data that came in, counted from 1."""
        return np.arange(1, self.rows + 1) if self._numbering is None else self._numbering

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What each column holds: number, text, category, bool, date, time, empty or other."""
        found = {name: kind(self._data[name]) for name in self._data.columns}
        if self.source is not None and self.source.labels is not None:
            coded = (
                n for n, held in found.items() if held == "number" and self.source.coded(self._data[n].to_polars())
            )
            found |= dict.fromkeys(coded, "category")
        return found

    def describe(self) -> list[Column]:
        """A row for each column: its name, kind, distinct values, missing cells, and an example."""
        found = []
        for name in self.columns:
            series = self._data[name]
            present = series.drop_nulls()
            example = _cell(present, 0) if len(present) else ""
            plain = self.kinds[name] != "other" and series.dtype != nw.Object
            distinct = present.n_unique() if plain else len(set(map(str, present.to_list())))
            found.append(Column(name, self.kinds[name], int(distinct), self.rows - len(present), example))
        return found

    def with_roles(self, roles: Roles) -> Table:
        """The same data with other roles."""
        return Table(self.frame, roles, self.source, numbering=self._numbering)

    def raw(self, name: str) -> NDArray[Any]:
        """A column as it stands, for counting records that look alike: numbers, else text."""
        series = self._data[name]
        if self.kinds[name] in ("number", "bool") and series.dtype != nw.Object and not series.is_null().any():
            return np.asarray(series.to_numpy())
        return np.array([None if v is None else str(v) for v in series.to_list()], dtype=object)

    def same_column(self, other: Table, name: str) -> bool:
        """Whether the column is the same in both tables: type, order and every bit."""
        return same(self._data[name], other._data[name])

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
            reason = identifier_reason(self._data[name].to_polars())
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
            + (f", such as {_short(c.example)}" if c.example else "")
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
        found = self._cells(name)
        present = self.rows - int(found.missing.sum())
        if not found.bad or found.bad * 2 > present:
            return ""
        return self._text_message(name, found)

    # -- numbers ---------------------------------------------------------------------------------

    def numbers(
        self,
        columns: Iterable[str] | None = None,
        *,
        missing: str = "error",
        allow_constant: bool = False,
        allow_infinite: bool = False,
    ) -> Floats:
        """The columns (the quasi-identifiers if none are named) as an n x d array of float64.

        Missing cells are an error, or NaN with missing="keep". All columns constant is an error and
        some of them a warning, unless `allow_constant`; infinite cells are an error, unless `allow_infinite`.
        """
        check_choice("way with missing cells", missing, ("error", "keep"))
        chosen = self._chosen(columns)
        values = np.empty((self.rows, len(chosen)))
        for j, name in enumerate(chosen):
            found = self._numeric_cells(name, allow_infinite)
            if missing == "error" and found.missing.any():
                raise InputError(self._missing_message(name, found, chosen))
            values[:, j] = found.values
            if missing == "keep":
                values[found.missing, j] = np.nan
            if self._data[name].dtype.is_integer() and np.nanmax(np.abs(found.values), initial=0.0) > EXACT:
                _warn(f"the column {name!r} has whole numbers beyond 2^53: their last digits are lost in float64")
        if not allow_constant:
            _check_constant(values, chosen)
        return values

    def weights(self) -> Floats | None:
        """The records' weights, all positive; None if no column has that role."""
        name = self.roles.weight
        if name is None:
            return None
        found = self._numeric_cells(name)
        if found.missing.any():
            row = self._row(int(np.flatnonzero(found.missing)[0]))
            raise InputError(
                f"the weight column {name!r} has {_count(found.missing.sum(), 'missing value')}, "
                f"the first in row {row}: every record needs a weight"
            )
        low = np.flatnonzero(found.values <= 0)
        if low.size:
            raise InputError(
                f"weights must be above 0; the column {name!r} has {found.values[low[0]]:g} in row "
                f"{self._row(int(low[0]))} ({_count(low.size, 'such row')}): "
                "remove the records that stand for nobody, or leave the weight out"
            )
        return np.array(found.values)

    def whole(self, columns: Iterable[str] | None = None) -> tuple[str, ...]:
        """Those of the columns that hold whole numbers only, whatever their type."""
        chosen = self._chosen(columns)
        return tuple(name for name in chosen if _all_whole(self._numeric_cells(name).values))

    def _chosen(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        chosen = self.quasi_columns() if columns is None else names(columns, "columns")
        if not chosen:
            raise UsageError("no columns are named: at least one is needed")
        Roles(quasi=chosen).check(self.columns)
        return chosen

    def _numeric_cells(self, name: str, allow_infinite: bool = False) -> Cells:
        """The cells of a column that must hold numbers, finite ones by default, apart from missing cells."""
        found = self._cells(name)
        if found.bad:
            raise InputError(self._text_message(name, found))
        endless = np.flatnonzero(np.isinf(found.values))
        if endless.size and not allow_infinite:
            raise InputError(
                f"the column {name!r} has {_count(endless.size, 'infinite value')}, the first in row "
                f"{self._row(int(endless[0]))}: put numbers there, make them missing, or leave it out (--drop {name})"
            )
        return found

    def _cells(self, name: str) -> Cells:
        series = self._data[name]
        codes = () if self.source is None else self.source.user_missing(name)
        # The codes are the file's: in a column with new values a mean may fall on one, and is a number.
        if codes and self.source is not None and not self.source.untouched(series.to_polars()):
            codes = ()
        text = None if self.source is None else self.source.dialect
        return cells(series, codes, None if text is None else text.decimal)

    def _text_message(self, name: str, found: Cells) -> str:
        what = self.kinds[name]
        row = self._row(found.first_bad)
        cell = _short(_cell(self._data[name], found.first_bad))
        if what in ("text", "category"):
            return (
                f"the column {name!r} has text where a number is needed: {cell!r} in row {row}"
                f" ({_count(found.bad, 'such cell')}). {_ways_with_labels(name)}"
            )
        held = {"date": "dates", "time": "times"}.get(what, f"no numbers ({self._data[name].dtype})")
        return (
            f"the column {name!r} holds {held}, such as {cell!r} in row {row}, "
            f"and numbers are needed. Make it a number (a year, an age), or leave it out (--drop {name})."
        )

    def _missing_message(self, name: str, found: Cells, chosen: Sequence[str]) -> str:
        first = int(np.flatnonzero(found.missing)[0])
        here = int(found.missing.sum())
        if here == self.rows:
            return f"the column {name!r} has no values at all: leave it out (--drop {name})"
        every = np.zeros(self.rows, dtype=bool)
        others = []
        for column in chosen:
            gaps = self._numeric_cells(column).missing
            every |= gaps
            if gaps.any() and column != name:
                others.append(column)
        also = f"; {', '.join(map(repr, others[:5]))}{' and others' if others[5:] else ''} too" if others else ""
        return (
            f"the column {name!r} has {_count(here, 'missing value')}{self._why_missing(name, found)}, the first in "
            f"row {self._row(first)}{also}. Choose what to do: --missing drop leaves out the "
            f"{_count(every.sum(), 'row')} concerned, --missing median fills in the column's median; "
            f"or leave it out (--drop {name})"
        )

    def _why_missing(self, name: str, found: Cells) -> str:
        """The marks and codes that count as missing in a column, if there are any."""
        if self.source is None:
            return ""
        marks = [repr(mark) for mark in self.source.markers.get(name, ())]
        codes = [low if low == high else f"{low} to {high}" for low, high in self.source.user_missing(name)]
        told = [f"the file's missing codes {', '.join(map(_plain, codes))}"] if codes else []
        told += [f"written {', '.join(marks)}"] if marks else []
        return f" ({'; '.join(told)})" if told else ""

    def _row(self, place: int) -> int:
        return place + 1 if self._numbering is None else int(self._numbering[place])

    # -- missing values --------------------------------------------------------------------------

    def with_missing(self, policy: str, columns: Iterable[str] | None = None) -> Table:
        """The table without missing cells in the columns: an error, rows dropped, or medians filled in."""
        check_choice("way with missing cells", policy, MISSING)
        chosen = self._chosen(columns)
        found = {name: self._numeric_cells(name) for name in chosen}
        gaps = {name: f for name, f in found.items() if f.missing.any()}
        if not gaps:
            return self
        if policy == "error":
            name = next(iter(gaps))
            raise InputError(self._missing_message(name, gaps[name], chosen))
        return self._dropped(gaps) if policy == "drop" else self._filled(gaps)

    def _dropped(self, gaps: Mapping[str, Cells]) -> Table:
        kept = ~np.any([f.missing for f in gaps.values()], axis=0)
        if not kept.any():
            raise InputError(
                f"every row has a missing value in {', '.join(gaps)}: dropping them leaves nothing. Leave out the "
                "column that misses most, or fill in medians (--missing median)"
            )
        lost = self.rows - int(kept.sum())
        _warn(f"{_count(lost, 'row')} of {self.rows} left out for missing values in {', '.join(gaps)}")
        return Table(
            self._data.filter(kept.tolist()).to_native(),
            self.roles,
            None if self.source is None else self.source.take(kept),
            numbering=self.numbering[kept],
        )

    def _filled(self, gaps: Mapping[str, Cells]) -> Table:
        weights = self.weights()
        new, told = {}, []
        for name, found in gaps.items():
            present = ~found.missing
            if not present.any():
                raise InputError(f"the column {name!r} has no values, hence no median: leave it out")
            middle = _median(found.values[present], None if weights is None else weights[present])
            new[name] = np.where(found.missing, middle, found.values)
            told.append(f"{name} ({int(found.missing.sum())} cells: {middle:g})")
        _warn(f"missing values filled with the column's median: {', '.join(told)}")
        whole = [name for name, values in new.items() if _all_whole(values)]
        return Table(replaced(self._data, new, (), whole), self.roles, self.source, numbering=self._numbering)

    # -- the way back ----------------------------------------------------------------------------

    def protected(
        self,
        new: Mapping[str, NDArray[Any]],
        *,
        drop_identifiers: bool = True,
        round_columns: Iterable[str] = (),
    ) -> Any:
        """A frame of the kind that came in, with the columns of `new` replaced and the removed columns gone.

        New numbers are float64; those of `round_columns` are rounded and keep an integer type.
        """
        drop = self.roles.removed if drop_identifiers else ()
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


def _ways_with_labels(name: str) -> str:
    """What to do with a column of text where a method needs numbers."""
    return (
        f"If they are labels, shoal microaggregate protects them: --nominal {name}, or --order {name}=… (lowest first) "
        f"if they have an order. If it is a slip, write a number there. Or leave the column out: --drop {name}."
    )


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
        _warn(f"{what} constant: {', '.join(map(repr, constant))}; one value does not tell records apart")


def _median(values: Floats, weights: Floats | None) -> float:
    """The value with half of the weight on either side; between two such, their mean."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    place = int(np.searchsorted(reached, half))
    if reached[place] > half or place + 1 == order.size:
        return float(values[order[place]])
    return float((values[order[place]] + values[order[place + 1]]) / 2)


def _all_whole(values: Floats) -> bool:
    present: Bools = ~np.isnan(values)
    return bool(present.any() and np.all(values[present] == np.rint(values[present])))


def _warn(message: str) -> None:
    warnings.warn(message, ShoalWarning, stacklevel=4)


def _count(number: int | np.integer[Any], what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _cell(series: nw.Series[Any], place: int) -> str:
    return str(series[place : place + 1].to_list()[0])


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _plain(code: Any) -> str:
    return f"{code:g}" if isinstance(code, float) else str(code)
