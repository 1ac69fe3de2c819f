"""Whether pairs of columns bound the original values: each record's value lies between its two bounds.

A record whose value is missing has two missing bounds. Other records may have them, too: such a pair says nothing.
Dates that are text are compared as days.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats
from shoal.errors import counted
from shoal.gate.cells import TEXT, days_of_text, is_number, missing_cells, numbers
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import Bounds

PROMISE = Bounds


def check(context: CheckContext) -> Finding:
    """No value lies outside its bounds, and no bound stands alone."""
    promises = context.guarantees.of(Bounds, every_step=True)
    released = [promise for promise in promises if set(promise.columns) <= set(context.after.columns)]
    problems, count = [], 0
    for promise in released:
        lower, upper = promise.columns
        wrong = wrong_pairs(context, lower, upper)
        if wrong.any():
            count += int(wrong.sum())
            where = f", the first in row {int(wrong.argmax()) + 1}" if context.aligned else ""
            problems.append(
                f"{lower!r} and {upper!r} do not bound {promise.of!r} in {counted(int(wrong.sum()), 'record')}{where}"
            )
    names = ", ".join(repr(promise.of) for promise in released)
    good = f"every value of {names} lies between its bounds" if released else "no column has bounds"
    text = "; ".join(problems) or (good if context.aligned or not released else f"the bounds of {names} are in order")
    return context.make_finding(
        "bounds", bool(problems), text, count, 0, "write the release again: protect the original with shoal recode",
        promised=any(promise.promised for promise in promises),
    )  # fmt: skip


def wrong_pairs(context: CheckContext, lower: str, upper: str) -> Bools:
    """Return the records whose value is not between its bounds; if the rows are shuffled, only bounds that cross."""
    before, low, high = context.before[lower], context.after[lower], context.after[upper]
    empty, half = missing_cells(low) & missing_cells(high), missing_cells(low) ^ missing_cells(high)
    bounds = [_values(low), _values(high)]
    value = _values(before)
    if value is None or bounds[0] is None or bounds[1] is None:  # neither numbers nor dates, so no bounds at all
        return ~empty
    with np.errstate(invalid="ignore"):
        if not context.aligned:
            return np.asarray(half | (~empty & ~(bounds[0] <= bounds[1])))
        slack = context.written.tolerance * np.abs(value)
        within = (bounds[0] - slack <= value) & (value <= bounds[1] + slack)  # False for a missing value
    return np.asarray(half | (~empty & ~within))


def _values(column: pl.Series) -> Floats | None:
    """Return numbers, or dates (of moments, too) as days since 1970, NaN for missing cells; None for anything else."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return column.dt.date().to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    if column.null_count() == column.len():
        return np.full(column.len(), np.nan)
    if is_number(column):
        return numbers(column)
    return days_of_text(column) if column.dtype in TEXT else None
