"""The columns of a protection: types that can be compared, dates and times as text, and one zero.

A column of lists, durations or Python objects has no values to group; the message says what to do. The floats 0.0 and
-0.0 are one value, but the file would show which of them a record had. So a protected column has 0.0 only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np

from shoal.errors import InputError
from shoal.notices import notice
from shoal.table.column import ColumnCodes
from shoal.table.frames import wrap
from shoal.table.kinds import kind_of
from shoal.table.labels import SUPPRESSED
from shoal.table.likeness import identifier_reason
from shoal.table.mixed import doubtful_codes
from shoal.table.table import Table

NESTED = (list, dict, set, tuple, np.ndarray)
LEAST_KEYS = 30  # in a smaller file, all whole numbers may differ by chance


def check_types(
    table: Table, names: Sequence[str], command: str, *, needs: Literal["values", "means", "numbers"] = "values"
) -> None:
    """Raise an error for a column whose type the command cannot protect; the message says what to do.

    needs: values that can be compared, means of columns that are not labels, or numbers in every column.
    """
    for name in names:
        series = table[name].series
        held = _ungroupable(series)
        labels = name in table.roles.nominal or name in table.roles.order
        if held is None and needs == "means" and series.dtype == nw.Time and not labels:
            held = "times of day, which have no mean", f"Say that they are labels (--nominal {name}), make it a number"
        if held is None and needs == "numbers":
            held = _unaveraged(table, name)
        if held is not None:
            what, first = held
            raise InputError(
                f"The column {name!r} holds {what}, so shoal {command} cannot protect it. {first}, leave it out "
                f"(--drop {name}), or, where nobody outside knows it, use --confidential {name}."
            )


def is_countable(table: Table, name: str) -> bool:
    """Return whether the values of a column can be counted, for l and t."""
    return _ungroupable(table[name].series) is None


def check_countable(table: Table, names: Sequence[str]) -> None:
    """Raise an error for a confidential column whose values cannot be counted."""
    for name in names:
        held = _ungroupable(table[name].series)
        if held is not None:
            raise InputError(f"l and t cannot be measured on the column {name!r}: it holds {held[0]}. {held[1]}.")


def _ungroupable(series: nw.Series[Any]) -> tuple[str, str] | None:
    """Return what a column holds that no protection can group, and what to do; None if it can be grouped."""
    dtype = series.dtype
    if dtype.is_nested():
        return "lists or records, not single values", "Put each part into a column of its own"
    if dtype == nw.Duration:
        return "durations", "Make it a number (hours, days)"
    if dtype == nw.Object and series.implementation.is_polars():
        return "Python objects", "Make it numbers or text"
    if dtype == nw.Object and any(isinstance(value, NESTED) for value in series.to_list()):
        return "lists or records, not single values", "Put each part into a column of its own"
    return None


def _unaveraged(table: Table, name: str) -> tuple[str, str] | None:
    """Return what a column holds that has no mean, for a method that needs means, and what to do."""
    if name in table.roles.numeric:
        return None
    held, series = table[name].kind, table[name].series
    numeric = f"Say that it is a quantity (--numeric {name}), use shoal microaggregate, which also takes labels"
    if held == "bool":
        return "booleans (true or false), which have no mean", numeric
    if held == "category" and series.dtype.is_numeric():
        return "codes with value labels, which have no mean", numeric
    if held in ("date", "time"):
        other = "use shoal microaggregate, which also takes dates" if held == "date" else "make it a number (hours)"
        return f"{held}s, and numbers are needed", other[0].upper() + other[1:]
    return None


def warn_of_identifiers(table: Table, names: Sequence[str]) -> None:
    """Warn once about quasi-identifiers whose values look like keys, such as 1 to n: their means are useless."""
    reasons = {}
    for name in names if table.rows >= LEAST_KEYS else ():
        if name not in table.roles.numeric and _holds_numbers(table, name):
            reasons[name] = identifier_reason(table[name].series.to_polars())
    suspects = {name: reason for name, reason in reasons.items() if reason}
    if suspects:
        named = ",".join(suspects)
        in_words = "; ".join(f"{name} ({reason})" for name, reason in suspects.items())
        notice(
            f"Some quasi-identifiers look like identifiers: {in_words}. A number that only names a record has no mean. "
            f"Use --identifiers {named} to remove it, --numeric {named} if it is a quantity."
        )


def _holds_numbers(table: Table, name: str) -> bool:
    """Return whether a column holds whole numbers, even if stored as floats (SPSS, Stata) or as text."""
    if table[name].kind != "text":
        return table[name].series.dtype.is_numeric()
    try:
        return kind_of(table, name) == "number"
    except InputError:  # numbers and words
        return False


def warn_of_codes(table: Table, names: Sequence[str]) -> None:
    """Warn about numbers that may be codes, for a method that averages every column."""
    for why, columns in doubtful_codes(table, names).items():
        named = ",".join(columns)
        notice(
            f"{why} may be codes, but Shoal averages them as numbers: {', '.join(columns)}. Use --numeric {named} if "
            f"they are quantities; shoal microaggregate --nominal {named} protects codes."
        )


def one_zero(table: Table, names: Sequence[str]) -> Table:
    """Return the table with 0.0 instead of -0.0 in these columns, and null instead of NaN if a column has both."""
    data = wrap(table.frame)
    new = []
    for name in names:
        signed, gaps, one = has_negative_zero(data[name]), _has_two_gaps(data[name]), nw.col(name)
        if signed:
            one = nw.when(nw.col(name) == 0).then(nw.lit(0.0)).otherwise(nw.col(name))
        if gaps:
            one = nw.when(~nw.col(name).is_nan()).then(one)
        if signed or gaps:
            new.append(one.cast(data[name].dtype).alias(name))
    if not new:
        return table
    return table.with_frame(data.with_columns(*new).to_native())


def has_negative_zero(series: nw.Series[Any]) -> bool:
    """Return whether a column of floats holds -0.0."""
    if not series.dtype.is_float():
        return False
    values = np.asarray(series.to_numpy(), dtype=np.float64)
    return bool(((values == 0.0) & np.signbit(values)).any())


def _has_two_gaps(series: nw.Series[Any]) -> bool:
    """Return whether a column of floats has both NaN and null, which are both missing. In pandas they are one value."""
    if not series.dtype.is_float() or series.implementation.is_pandas() or not series.is_null().any():
        return False
    return bool(series.is_nan().any())


def is_finer(table: Table, name: str, column_codes: ColumnCodes) -> bool:
    """Return whether values that the search cannot distinguish differ in the file: -0.0 and 0.0, or beyond 2^53."""
    series = table[name].series
    if not column_codes.numeric or series.dtype == nw.Object or not series.dtype.is_numeric():
        return False
    return has_negative_zero(series) or (not series.dtype.is_float() and series.n_unique() > len(column_codes.values))


def suppressed_beside(frame: Any, columns: Sequence[str], starred: Any) -> Any:
    """Return the frame with the columns without a role suppressed in the suppressed records too.

    An intruder may know these columns. Text becomes a star, every other type a missing value.
    """
    if not columns:
        return frame
    data = wrap(frame)
    kept = nw.new_series("kept", (~starred).tolist(), nw.Boolean, backend=data.implementation)
    new = []
    for name in columns:
        is_text = data[name].dtype == nw.String
        column = data[name].cast(nw.String) if data[name].dtype in (nw.Categorical, nw.Enum) else data[name]
        rest = nw.lit(SUPPRESSED) if is_text or column.dtype == nw.String else nw.lit(None)
        part = data.with_columns(column.alias(name), kept.alias("\x00kept"))
        new.append(part.select(nw.when(nw.col("\x00kept")).then(nw.col(name)).otherwise(rest).alias(name))[name])
    return data.with_columns(*new).to_native()
