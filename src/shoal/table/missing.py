"""Missing values in the columns to protect: raise an error, drop rows, fill in medians, or make them a category.

Missing numbers become the median of the column. Dates and ranks become the lower median, a value that some record has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.arrays import Bools, Floats
from shoal.errors import InputError, check_choice, counted
from shoal.notices import notice
from shoal.table.frames import replaced, with_series, wrap

if TYPE_CHECKING:
    from shoal.table.table import Table

HOWS = {
    "error": "",
    "drop": "--missing drop removes {rows}",
    "median": "--missing median fills in the median of the column",
    "category": "--missing category makes them a category of their own",
}


def without_missing(table: Table, how: str, kinds: Mapping[str, str], leave_out: str = "--drop {name}") -> Table:
    """The table without missing values in the columns of `kinds`.

    A missing value of a nominal column is a category of its own, unless rows are dropped. A column of the kind "value"
    has no median, but its missing values can be a category; then the table is returned unchanged.

    Args:
        table: The table.
        how: "error", "drop", "median" or "category".
        kinds: The kind of each column: number, date, ordinal, nominal or value.
        leave_out: The option that removes a column, for the message.
    """
    coded = "value" in kinds.values()
    allowed = ("category", "drop", "error") if coded else ("error", "drop", "median")
    check_choice("missing", how, allowed)
    if how == "category":
        return table
    ordered = {name: _ordered(table, name, kind) for name, kind in kinds.items() if kind not in ("nominal", "value")}
    gaps = {name: np.isnan(values) for name, values in ordered.items()}
    gaps |= {name: table[name].absent for name, kind in kinds.items() if kind == "value"}
    if how == "drop":
        gaps |= {name: table[name].absent for name, kind in kinds.items() if kind == "nominal"}
    gaps = {name: gaps[name] for name in kinds if name in gaps and gaps[name].any()}
    if not gaps:
        return table
    if how == "error":
        raise InputError(_message(table, gaps, allowed, leave_out))
    if how == "drop":
        return _dropped(table, gaps, allowed)
    return _filled(table, {name: ordered[name] for name in gaps}, kinds)


def _ordered(table: Table, name: str, kind: str) -> Floats:
    """The numbers, days or ranks of a column, NaN for missing ones."""
    from shoal.table.kinds import labels_of

    if kind == "number":
        numbers = table[name].numbers
        table[name].check_finite()
        return numbers
    if kind == "date":
        return table[name].days
    codes = labels_of(table, name, kind).codes
    return np.where(codes < 0, np.nan, codes)


def _message(table: Table, gaps: Mapping[str, Bools], allowed: tuple[str, ...], leave_out: str) -> str:
    name, here = next(iter(gaps.items()))
    option = leave_out.format(name=name)
    if here.all():
        return f"The column {name!r} has no values. Remove it ({option})."
    others = list(gaps)[1:]
    also = ""
    if others:
        listed = f"{', '.join(map(repr, others[:5]))}{' and others' if others[5:] else ''}"
        also = f" Other columns with missing values: {listed}."
    rows = counted(int(np.any(list(gaps.values()), axis=0).sum()), "row")
    ways = ", ".join(HOWS[how].format(rows=rows) for how in allowed if HOWS[how])
    return (
        f"The column {name!r} has {counted(int(here.sum()), 'missing value')}{_marks(table, name)}, the first in row "
        f"{table[name].row(int(here.argmax()))}.{also} Choose what to do: {ways}, {option} removes the column."
    )


def _marks(table: Table, name: str) -> str:
    """The texts and codes that count as missing in a column, in parentheses, if there are any."""
    source = table.source
    if source is None:
        return ""
    ranges = [low if low == high else f"{low} to {high}" for low, high in source.user_missing(name)]
    codes = ", ".join(f"{code:g}" if isinstance(code, float) else str(code) for code in ranges)
    marks = ", ".join(repr(mark) for mark in source.markers.get(name, ()))
    parts = [f"the file's missing codes {codes}"] * bool(codes) + [f"written {marks}"] * bool(marks)
    return f" ({'; '.join(parts)})" if parts else ""


def _dropped(table: Table, gaps: Mapping[str, Bools], allowed: tuple[str, ...]) -> Table:
    kept: Bools = ~np.any(list(gaps.values()), axis=0)
    if not kept.any():
        other = "fill in medians (--missing median)"
        if "category" in allowed:
            other = "make missing values a category (--missing category)"
        raise InputError(
            f"Every row has a missing value in {', '.join(gaps)}, so no row remains without them. Remove the column "
            f"with the most missing values (--drop), or {other}."
        )
    dropped = table.rows - int(kept.sum())
    notice(
        f"{dropped:,} of {counted(table.rows, 'row')} {'was' if dropped == 1 else 'were'} dropped because of missing "
        f"values in {', '.join(gaps)}."
    )
    return table.take(kept)


def _filled(table: Table, gaps: Mapping[str, Floats], kinds: Mapping[str, str]) -> Table:
    from shoal.table.table import all_whole

    weights, data = table.weights(), wrap(table.frame)
    numbers: dict[str, Any] = {}
    series: dict[str, Any] = {}
    filled = []
    for name, values in gaps.items():
        absent = np.isnan(values)
        if absent.all():
            raise InputError(f"The column {name!r} has no values and therefore no median. Remove it (--drop {name}).")
        if kinds[name] == "number":
            middle = median(values[~absent], None if weights is None else weights[~absent])
            numbers[name] = np.where(absent, middle, values)
            shown = f"{middle:g}"
        else:
            row = _lower_median_row(values, weights)
            series[name] = data[name][np.where(absent, row, np.arange(table.rows))]
            shown = str(data[name][row])
        filled.append(f"{name} ({counted(int(absent.sum()), 'cell')}: {shown})")
    notice(f"Missing values were replaced by the median of the column: {', '.join(filled)}.")
    whole = [name for name, values in numbers.items() if all_whole(values)]
    frame = replaced(data, numbers, (), whole) if numbers else table.frame
    return table.with_frame(with_series(frame, series))


def median(values: Floats, weights: Floats | None) -> float:
    """The weighted median: half of the weight lies on either side; the mean of two such values."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    middle = int(np.searchsorted(reached, half))
    if reached[middle] > half or middle + 1 == order.size:
        return float(values[order[middle]])
    return float((values[order[middle]] + values[order[middle + 1]]) / 2)


def _lower_median_row(values: Floats, weights: Floats | None) -> int:
    """A row with the lower median of the values that are not missing."""
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    reached = np.cumsum(np.ones(order.size) if weights is None else weights[order])
    return int(order[np.searchsorted(reached, reached[-1] / 2)])
