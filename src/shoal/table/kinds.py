"""What a column holds: numbers, dates, ordinal or nominal labels, and the labels as codes.

The roles of a table say so, else the type of the column: text, categories and booleans are nominal, an Enum and an
ordered category ordinal (Stevens 1946 for the scales). Numbers that a file labels are codes, and nobody guesses which.
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

CODES = "codes"  # an order that says: as the codes rise


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of labels: each record's code, each code's text (None: missing) and one row of the table that has it.

    Indices of ordinal columns are ranks; a rank that no record has is in row -1.
    """

    name: str
    kind: str
    codes: Indices
    texts: tuple[str | None, ...]
    rows: Ints

    @property
    def dimensions(self) -> int:
        """Its columns in the matrix: the rank, or one indicator per value."""
        return 1 if self.kind == "ordinal" else len(self.texts)

    def gini(self, weights: Floats | None = None) -> float:
        """The chance that two records drawn with replacement differ: the sum of p(1 - p)."""
        counts = np.bincount(self.codes, weights, minlength=len(self.texts))
        shares = counts / counts.sum()
        return float((shares * (1.0 - shares)).sum())


def kind_of(table: Table, name: str) -> str:
    """number, date, ordinal or nominal: as the roles say, else the file's own declaration or type."""
    roles = table.roles
    declared = {"--order": name in roles.order, "--nominal": name in roles.nominal, "--numeric": name in roles.numeric}
    said = [option for option, named in declared.items() if named]
    if len(said) > 1:
        raise UsageError(f"The column {name!r} is named in {' and '.join(said)}: name it once.")
    if said:
        return {"--order": "ordinal", "--nominal": "nominal", "--numeric": "number"}[said[0]]
    column = table[name]
    if column.kind == "category" and column.ordered:
        return "ordinal"
    if column.kind == "category" and column.series.dtype.is_numeric():
        raise InputError(_codes_message(table, name))
    if column.kind == "date":
        return _date(column.series)
    if column.kind == "text":
        return _kind_of_text(column)
    # Times, empty columns and the like are refused where their numbers are asked for.
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
            f"mean date: make it a date or an age, leave it out (--drop {series.name}), or use --as-is {series.name}."
        )
    return "date"


def _kind_of_text(column: Column) -> str:
    """nominal; but a text column in which every value is a number holds numbers, unless one has a leading zero."""
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
            f"first) if they have an order. Correct the file if it is a slip. Or leave the column out: --drop {name}."
        )
    return "nominal"


def _distinct(column: Column) -> Labels:
    """The distinct values of a column in rising order, missing last; each record's code."""
    if column.series.dtype == nw.Object and column.series.implementation.is_polars():
        raise InputError(f"The column {column.name!r} holds Python objects, which polars cannot compare: make it text.")
    stored = column.stored
    texts = tuple(None if value is None else _text(value) for value in stored.values)
    return Labels(column.name, "nominal", stored.codes, texts, stored.first_rows())


def _ranked(table: Table, labels: Labels) -> Labels:
    """An ordinal column: its codes are the ranks in the given order, -1 where the value is missing."""
    name, column = labels.name, table[labels.name]
    order = list(table.roles.order.get(name) or column.declared_order() or ())
    if (
        order in ([CODES], []) and column.series.dtype.is_numeric()
    ):  # rising codes; a code that means missing has no rank
        order = [text for text in labels.texts if text is not None]
    rank = {text: i for i, text in enumerate(order)}
    if len(rank) < len(order):
        twice = next(text for i, text in enumerate(order) if rank[text] != i)
        raise UsageError(f"The order of {name!r} has {twice!r} twice: each value stands once, the lowest first.")
    source = table.source
    named = {} if source is None or source.labels is None else source.labels.values.get(name, {})
    names = {_text(code): label for code, label in named.items()}
    lookup = np.full(len(labels.texts), -1, dtype=np.int32)
    for code, text in enumerate(labels.texts):
        if text is None or _declared_missing(text, column.missing_codes):
            continue
        place = rank.get(text, rank.get(names.get(text, text)))
        if place is None:
            rows = np.flatnonzero(labels.codes == code)
            raise InputError(
                f"The column {name!r} has the value {text!r} ({rows.size:,} records, the first in row "
                f"{column.row(int(rows[0]))}), which its order does not list: {', '.join(order)}. Add it to "
                f"--order {name}=… in its place, or correct the file."
            )
        lookup[code] = place
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
    """A value as a person types it: the code 2.0 is 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
