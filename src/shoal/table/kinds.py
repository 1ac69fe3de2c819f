"""Kinds of columns (number, date, ordinal, nominal), and labels as codes.

The roles of a table decide the kind, otherwise the type of the column decides. Text, categories and booleans are
nominal; an Enum and an ordered category are ordinal (Stevens 1946 defines the scales). Numbers that a file labels are
codes; Shoal never guesses whether these have an order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shoal.arrays import Floats, Indices, Ints
from shoal.errors import InputError, UsageError
from shoal.table.cells import cells
from shoal.table.column import Column
from shoal.table.table import Table

CODES = "codes"  # the order of a column whose codes rise with its values


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of labels.

    Attributes:
        codes: The code of each record. The codes of an ordinal column are ranks.
        texts: The text of each code; None for missing values.
        rows: One row of the table per code; -1 for a rank that no record has.
    """

    name: str
    kind: str
    codes: Indices
    texts: tuple[str | None, ...]
    rows: Ints

    @property
    def dimensions(self) -> int:
        """How many columns of the matrix it needs: one for the rank, or one indicator per value."""
        return 1 if self.kind == "ordinal" else len(self.texts)

    def gini(self, weights: Floats | None = None) -> float:
        """The probability that two records drawn with replacement differ: the sum of p(1 - p)."""
        counts = np.bincount(self.codes, weights, minlength=len(self.texts))
        shares = counts / counts.sum()
        return float((shares * (1.0 - shares)).sum())


def kind_of(table: Table, name: str) -> str:
    """The kind of a column (number, date, ordinal or nominal), by its role, or else by its declaration or type."""
    roles = table.roles
    declared = {"--order": name in roles.order, "--nominal": name in roles.nominal, "--numeric": name in roles.numeric}
    named_in = [option for option, named in declared.items() if named]
    if len(named_in) > 1:
        raise UsageError(f"The column {name!r} is named in {' and '.join(named_in)}. Name it once.")
    if named_in:
        return {"--order": "ordinal", "--nominal": "nominal", "--numeric": "number"}[named_in[0]]
    column = table[name]
    if column.kind == "category" and column.ordered:
        return "ordinal"
    if column.kind == "category" and column.series.dtype.is_numeric():
        raise InputError(_codes_message(table, name))
    if column.kind == "date":
        return _date(column.series)
    if column.kind == "text":
        return _kind_of_text(column)
    # Times and empty columns raise an error when their numbers are needed.
    return "nominal" if column.kind in ("bool", "category") else "number"


def kinds_of(table: Table, names: Sequence[str]) -> dict[str, str]:
    """The kind of each column."""
    return {name: kind_of(table, name) for name in names}


def labels_of(table: Table, name: str, kind: str) -> Labels:
    """The codes of an ordinal or nominal column; a missing value of an ordinal column has the code -1."""
    labels = _distinct(table[name])
    return labels if kind == "nominal" else _ranked(table, labels)


def _codes_message(table: Table, name: str) -> str:
    labels = {} if table.source is None or table.source.labels is None else table.source.labels.values.get(name, {})
    example = "".join(f", such as {_text(code)} = {label!r}" for code, label in list(labels.items())[:1])
    what = f"codes with value labels{example}" if labels else "codes: the file declares it nominal"
    return (
        f"The column {name!r} holds {what}. Say what they are: --nominal {name} if they have no order, "
        f"--order {name}=… (lowest first) or --order {name}=codes if they have one, --numeric {name} if they are "
        "quantities."
    )


def _date(series: nw.Series[Any]) -> str:
    if isinstance(series.dtype, nw.Datetime) and series.dtype.time_zone is not None:
        raise InputError(
            f"The column {series.name!r} holds times of day with a time zone ({series.dtype.time_zone}), which have no "
            f"mean date. Convert it to a date or an age, remove it (--drop {series.name}), or use "
            f"--as-is {series.name}."
        )
    return "date"


def _kind_of_text(column: Column) -> str:
    """The kind of a text column: number if every value is a number without leading zeros, otherwise nominal."""
    name, texts = column.name, [text for text in column.stored.values if text is not None]
    dialect = None if column.source is None else column.source.dialect
    parsed = cells(
        nw.new_series(name, texts, nw.String, backend="polars"), (), None if dialect is None else dialect.decimal
    )
    numbers = int((~parsed.missing).sum()) - parsed.bad
    if not parsed.bad:
        coded_zero = any(text[:1] == "0" and text[1:2].isdigit() for text in texts)
        return "nominal" if coded_zero else "number"
    if parsed.bad <= numbers:
        row = column.row(int((column.stored.codes == parsed.first_bad).argmax()))
        raise InputError(
            f"The column {name!r} holds mostly numbers, but also text: {texts[parsed.first_bad]!r} in row {row} "
            f"({parsed.bad:,} such values). If they are labels, use --nominal {name}, or --order {name}=… (lowest "
            f"first) if they have an order. If they are mistakes, correct the file. Or remove the column: "
            f"--drop {name}."
        )
    return "nominal"


def _distinct(column: Column) -> Labels:
    """The distinct values of a column in ascending order, missing last, and the code of each record."""
    if column.series.dtype == nw.Object and column.series.implementation.is_polars():
        raise InputError(
            f"The column {column.name!r} holds Python objects, which polars cannot compare. Convert it to text."
        )
    stored = column.stored
    texts = tuple(None if value is None else _text(value) for value in stored.values)
    return Labels(column.name, "nominal", stored.codes, texts, stored.first_rows())


def _ranked(table: Table, labels: Labels) -> Labels:
    """An ordinal column: its codes are the ranks of the values, -1 for a missing value."""
    name, column = labels.name, table[labels.name]
    order = list(table.roles.order.get(name) or column.declared_order() or ())
    if (
        order in ([CODES], []) and column.series.dtype.is_numeric()
    ):  # the codes are the order; a code that stands for missing has no rank
        order = [text for text in labels.texts if text is not None]
    rank = {text: i for i, text in enumerate(order)}
    if len(rank) < len(order):
        twice = next(text for i, text in enumerate(order) if rank[text] != i)
        raise UsageError(f"The order of {name!r} has {twice!r} twice. Name each value once, the lowest first.")
    source = table.source
    named = {} if source is None or source.labels is None else source.labels.values.get(name, {})
    names = {_text(code): label for code, label in named.items()}
    lookup = np.full(len(labels.texts), -1, dtype=np.int32)
    for code, text in enumerate(labels.texts):
        if text is None or _declared_missing(text, column.missing_codes):
            continue
        position = rank.get(text, rank.get(names.get(text, text)))
        if position is None:
            rows = np.flatnonzero(labels.codes == code)
            raise InputError(
                f"The column {name!r} has the value {text!r} ({rows.size:,} records, the first in row "
                f"{column.row(int(rows[0]))}), which its order does not list: {', '.join(order)}. Add it to "
                f"--order {name}=… in its place, or correct the file."
            )
        lookup[code] = position
    codes = lookup[labels.codes]
    rows = np.full(len(order), -1, dtype=np.int64)
    present = lookup >= 0
    rows[lookup[present]] = labels.rows[present]
    return Labels(name, "ordinal", codes, tuple(order), rows)


def _declared_missing(text: str, codes: tuple[tuple[Any, Any], ...]) -> bool:
    for lowest, highest in codes:
        if isinstance(lowest, str):
            if lowest <= text <= highest:
                return True
        elif _number(text) is not None and lowest <= float(text) <= highest:
            return True
    return False


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    """A value as a person types it: 2.0 becomes 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
