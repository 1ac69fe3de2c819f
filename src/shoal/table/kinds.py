"""What a column holds: numbers, dates, ordinal or nominal labels, and the labels as codes.

The roles of a table say so, else the type of the column: text, categories and booleans are nominal, an Enum and an
ordered category ordinal (Stevens 1946 for the scales). Numbers that a file labels are codes, and nobody guesses which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.arrays import Floats, Indices, Ints
from shoal.errors import InputError, UsageError
from shoal.table.cells import cells
from shoal.table.columns import coded
from shoal.table.frames import wrap
from shoal.table.table import Table

CODES = "codes"  # an order that says: as the codes rise
DAY = 86_400 * 10**6  # microseconds


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
    held, series = table.kinds[name], wrap(table.frame)[name]
    if _is_declared_ordinal(table, name):
        return "ordinal"
    if held == "category" and series.dtype.is_numeric():
        raise InputError(_codes_message(table, name))
    if held == "category":
        return "nominal" if _enum_order(series) is None else "ordinal"
    if held == "date":
        return _date(series)
    if held == "text":
        return _kind_of_text(table, name, series)
    # Times, empty columns and the like are refused where their numbers are asked for.
    return "nominal" if held == "bool" else "number"


def _is_declared_ordinal(table: Table, name: str) -> bool:
    """Whether an SPSS file calls labelled codes ordinal: the order of the codes is then the order of the values."""
    labels = None if table.source is None else table.source.labels
    if labels is None or table.kinds[name] != "category" or not wrap(table.frame)[name].dtype.is_numeric():
        return False
    return labels.measures.get(name) == "ordinal"


def labels_of(table: Table, name: str, kind: str) -> Labels:
    """The codes of an ordinal or nominal column; a missing value of an ordinal column has the code -1."""
    found = _distinct(table, name)
    return found if kind == "nominal" else _ranked(table, found)


def days(table: Table, name: str) -> Floats:
    """The dates of a column in days since 1970; NaN where one is missing."""
    stamps = wrap(table.frame)[name].to_polars().cast(pl.Datetime("us")).to_physical()
    return np.asarray(stamps.cast(pl.Float64).fill_null(np.nan).to_numpy() / DAY, dtype=np.float64)


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


def _kind_of_text(table: Table, name: str, series: nw.Series[Any]) -> str:
    """nominal; but a text column in which every value is a number holds numbers, unless one has a leading zero."""
    present = series.drop_nulls()
    texts = sorted(set(map(str, present.unique().to_list() if series.dtype != nw.Object else present.to_list())))
    dialect = None if table.source is None else table.source.dialect
    found = cells(
        nw.new_series(name, texts, nw.String, backend="polars"), (), None if dialect is None else dialect.decimal
    )
    numbers = int((~found.missing).sum()) - found.bad
    if not found.bad:
        coded_zero = any(text[:1] == "0" and text[1:2].isdigit() for text in texts)
        return "nominal" if coded_zero else "number"
    if found.bad <= numbers:
        wrong = texts[found.first_bad]
        row = int(table.numbering[list(map(str, series.to_list())).index(wrong)])
        raise InputError(
            f"The column {name!r} holds mostly numbers, but also text: {wrong!r} in row {row} ({found.bad:,} such "
            f"values). If they are labels, use --nominal {name}, or --order {name}=… (lowest first) if they have an "
            f"order. Correct the file if it is a slip. Or leave the column out: --drop {name}."
        )
    return "nominal"


def _enum_order(series: nw.Series[Any]) -> list[str] | None:
    """The order of an Enum (polars) or an ordered category (pandas, pyarrow); None if there is none."""
    native = series.to_native()
    if series.implementation.is_pyarrow():
        if not native.type.ordered:
            return None
        return [str(value) for value in native.unify_dictionaries().chunk(0).dictionary.to_pylist()]
    if isinstance(series.dtype, nw.Enum):
        return [str(value) for value in series.dtype.categories]
    return None


def _distinct(table: Table, name: str) -> Labels:
    """The distinct values of a column in rising order, missing last; each record's code."""
    series = wrap(table.frame)[name]
    if series.dtype == nw.Object and series.implementation.is_polars():
        raise InputError(f"The column {name!r} holds Python objects, which polars cannot compare: make it text.")
    if series.dtype.is_numeric():
        codes, texts = _distinct_numbers(series)
    else:
        found = coded(table, name)
        codes, texts = found.codes, [None if v is None else _text(v) for v in found.values]
    return Labels(name, "nominal", codes, tuple(texts), _rows_of(codes, len(texts)))


def _distinct_numbers(series: nw.Series[Any]) -> tuple[Indices, list[str | None]]:
    absent = series.is_null().to_numpy().astype(bool)
    numbers = (series.fill_null(0) if absent.any() else series).to_numpy()
    if numbers.dtype.kind not in "iu":
        numbers = numbers.astype(np.float64)
        absent = absent | np.isnan(numbers)
    distinct, inside = np.unique(numbers[~absent], return_inverse=True)
    codes = np.full(numbers.size, distinct.size, dtype=np.int32)
    codes[~absent] = inside.reshape(-1)
    return codes, [*map(_text, distinct.tolist()), *([None] if absent.any() else [])]


def _rows_of(codes: Indices, count: int) -> Ints:
    """The first row that has each code, -1 where none has it."""
    rows = np.full(count, -1, dtype=np.int64)
    rows[codes[::-1]] = np.arange(codes.size - 1, -1, -1)  # the last assignment, hence the first row, stays
    return rows


def _ranked(table: Table, found: Labels) -> Labels:
    """An ordinal column: its codes are the ranks in the given order, -1 where the value is missing."""
    name, series = found.name, wrap(table.frame)[found.name]
    order = list(table.roles.order.get(name) or _enum_order(series) or ())
    if order in ([CODES], []) and series.dtype.is_numeric():  # rising codes; a code that means missing has no rank
        order = [text for text in found.texts if text is not None]
    rank = {text: i for i, text in enumerate(order)}
    if len(rank) < len(order):
        twice = next(text for i, text in enumerate(order) if rank[text] != i)
        raise UsageError(f"The order of {name!r} has {twice!r} twice: each value stands once, the lowest first.")
    source = table.source
    named = {} if source is None or source.labels is None else source.labels.values.get(name, {})
    names = {_text(code): label for code, label in named.items()}
    absent = () if source is None or not source.untouched(series.to_polars()) else source.user_missing(name)
    lookup = np.full(len(found.texts), -1, dtype=np.int32)
    for code, text in enumerate(found.texts):
        if text is None or _declared_missing(text, absent):
            continue
        place = rank.get(text, rank.get(names.get(text, text)))
        if place is None:
            rows = np.flatnonzero(found.codes == code)
            raise InputError(
                f"The column {name!r} has the value {text!r} ({rows.size:,} records, the first in row "
                f"{int(table.numbering[rows[0]])}), which its order does not list: {', '.join(order)}. Add it to "
                f"--order {name}=… in its place, or correct the file."
            )
        lookup[code] = place
    codes = lookup[found.codes]
    rows = np.full(len(order), -1, dtype=np.int64)
    present = lookup >= 0
    rows[lookup[present]] = found.rows[present]
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
