"""Pairs of columns that bound a number or a date from below and from above, such as age_lower and age_upper.

To compare a release that has such a pair with its original, the column of the original is doubled: both names hold its
values. Every measure and check then works on columns of the same names.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError
from shoal.table.dates import date_text
from shoal.table.frames import with_values, wrap
from shoal.table.roles import Roles
from shoal.table.source import FileSource, Labels
from shoal.table.table import Table

WORDS = ("lower bound", "upper bound")
V = TypeVar("V")

Pair = tuple[str, str]
Pairs = Mapping[str, Pair]


def bound_names(name: str) -> Pair:
    """Return the names of the two columns that bound a column.

    >>> bound_names("age")
    ('age_lower', 'age_upper')
    """
    return f"{name}_lower", f"{name}_upper"


def pairs_of(names: Iterable[str], columns: Sequence[str]) -> dict[str, Pair]:
    """Return the pairs that bound these columns of a table; raise an error if it has a column of such a name."""
    pairs = {name: bound_names(name) for name in names}
    for name, pair in pairs.items():
        for bound in pair:
            if bound in columns:
                raise UsageError(
                    f"The bounds of {name!r} need the column name {bound!r}, but the data already have such a column. "
                    "Rename that column, or use --style text."
                )
    return pairs


def doubled(table: Table, pairs: Pairs) -> Table:
    """Return a table in which each of these columns is replaced by two copies of it, under the names of its pair."""
    if not any(name in table.columns for name in pairs):
        return table
    data = wrap(table.frame)
    new = [nw.col(name).alias(twin) for name in table.columns for twin in pairs.get(name, (name,))]
    source = None if table.source is None else _doubled_source(table.source, pairs)
    return Table(
        data.select(*new).to_native(), _doubled_roles(table.roles, pairs), source, numbering=table.numbering,
        notices=table.notices,
    )  # fmt: skip


def bounded_in(table: Table, released: Sequence[str]) -> dict[str, Pair]:
    """Return the quasi-identifiers that a release of these columns lacks and has bounds of, with the names of these."""
    chosen = table.roles.quasi or table.without_role()
    pairs = {name: bound_names(name) for name in chosen if name not in released}
    return {name: pair for name, pair in pairs.items() if {*pair} <= {*released} - {*table.columns}}


def bound_column(
    old: nw.Series[Any], ends: Floats, group: Ints, *, is_date: bool, unit: str, exact: bool
) -> nw.Series[Any]:
    """Return the bounds of one side as a column of the same library, and of the same type where it can hold them.

    Args:
        old: The copy of the original column.
        ends: The bound of each group; NaN for none.
        group: The group of each record.
        is_date: Whether the bounds are days since 1970. Dates that are text, or have times of day, become text of the
            form 2001-03-31.
        unit: The unit of dates that are text.
        exact: Whether every number of the original is a float64.
    """
    has_gaps = bool(np.isnan(ends).any())
    values = np.where(np.isnan(ends), 0.0, ends) + 0.0  # one zero
    if is_date:
        days = values.astype(np.int64)
        as_days: list[Any] = days.astype("datetime64[D]").tolist()
        dtype: Any = old.dtype
        if dtype == nw.Date:
            of_groups = as_days
        elif _is_at_midnight(old):
            of_groups = [dt.datetime.combine(day, dt.time()) for day in as_days]
        else:
            of_groups, dtype = [date_text(day, unit) for day in days], nw.String
    else:
        whole = old.dtype.is_integer() and exact and bool((values == np.rint(values)).all())
        dtype = nw.Int64 if whole else nw.Float64
        numbers = values.astype(np.int64) if whole else values
        if not has_gaps:
            return with_values(old, numbers[group], dtype)
        of_groups = numbers.tolist()
    cells = [None if np.isnan(end) else value for end, value in zip(ends, of_groups, strict=True)]
    return with_values(old, [cells[g] for g in group.tolist()], dtype)


def _is_at_midnight(old: nw.Series[Any]) -> bool:
    """Return whether a column holds moments without a time zone that are all at midnight, as pandas keeps dates."""
    if old.dtype != nw.Datetime or getattr(old.dtype, "time_zone", None) is not None:
        return False
    present = old.drop_nulls().dt
    return all(not getattr(present, part)().max() for part in ("hour", "minute", "second", "nanosecond"))


def _doubled_roles(roles: Roles, pairs: Pairs) -> Roles:
    def each(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(twin for name in names for twin in pairs.get(name, (name,)))

    return replace(
        roles,
        quasi=each(roles.quasi),
        numeric=each(roles.numeric),
        nominal=each(roles.nominal),
        order=_twice(roles.order, pairs),
        accept_derived=each(roles.accept_derived),
        derived={name: each(sources) for name, sources in _twice(roles.derived, pairs).items()},
    )


def _doubled_source(source: FileSource, pairs: Pairs) -> FileSource:
    """Return what the file contains under the new names; labels of columns say which bound it is."""
    columns = source.frame.columns
    new = [source.frame[name].alias(twin) for name in columns for twin in pairs.get(name, (name,))]
    cells = {name: cells.alias(name) for name, cells in _twice(source.cells, pairs).items()}
    return replace(
        source,
        frame=type(source.frame)(new),
        cells=cells,
        markers=_twice(source.markers, pairs),
        labels=None if source.labels is None else _doubled_labels(source.labels, pairs),
    )


def _doubled_labels(labels: Labels, pairs: Pairs) -> Labels:
    columns = _twice(labels.columns, pairs)
    for name, pair in pairs.items():
        if name in labels.columns:
            columns |= {twin: f"{labels.columns[name]} ({word})" for twin, word in zip(pair, WORDS, strict=True)}
    return replace(
        labels,
        columns=columns,
        values=_twice(labels.values, pairs),
        missing=_twice(labels.missing, pairs),
        formats=_twice(labels.formats, pairs),
        measures=_twice(labels.measures, pairs),
        widths=_twice(labels.widths, pairs),
        storage=_twice(labels.storage, pairs),
    )


def _twice(of_column: Mapping[str, V], pairs: Pairs) -> dict[str, V]:
    return {twin: value for name, value in of_column.items() for twin in pairs.get(name, (name,))}
