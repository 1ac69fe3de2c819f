"""Whether values only changed places: each combination of values in the columns occurs as often as before."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import Ints
from shoal.gate.cells import codes, comparable, differing, is_number
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import SameValues

PROMISE = SameValues


def check(context: CheckContext) -> Finding:
    """Each value of the swapped columns, and each combination that moves together, is there as often as before."""
    promises = context.guarantees.of(SameValues, every_step=True)
    problems = [text for promise in promises for text in _problems(context, promise.columns)]
    names = dict.fromkeys(name for promise in promises for name in promise.columns)
    return context.make_finding(
        "swapped", bool(problems), "; ".join(problems) or f"each value of {', '.join(names)} occurs as often as before",
        len(problems), 0, "swap values, never change them", promised=True,
    )  # fmt: skip


def _problems(context: CheckContext, columns: tuple[str, ...]) -> list[str]:
    released = [name for name in columns if name in context.after.columns]
    if not released or context.before.height != context.rows:
        return []
    problems = [
        f"{name!r} has other values than before, or some more often" for name in released if _differs(context, name)
    ]
    if problems or len(released) == 1:
        return problems
    # Numbers of values over both tables: equal values get equal ones.
    both = [codes(pl.concat(_alike(context, name))) for name in released]
    half = context.rows
    if (_sorted_rows(both, slice(None, half)) != _sorted_rows(both, slice(half, None))).any():
        return [f"the values of {', '.join(released)} did not change places together"]
    return []


def _differs(context: CheckContext, name: str) -> bool:
    one, two = (
        column if is_number(column) else comparable(column) for column in (context.before[name], context.after[name])
    )
    written = context.written
    return bool(differing(one.sort(), two.sort(), blanks=written.blanks, tolerance=written.tolerance).any())


def _alike(context: CheckContext, name: str) -> list[pl.Series]:
    """The column before and after as the same type."""
    one, two = comparable(context.before[name]), comparable(context.after[name])
    if one.dtype == two.dtype:
        return [one, two]
    kind = pl.Float64 if is_number(one) and is_number(two) else pl.String
    return [one.cast(kind), two.cast(kind)]


def _sorted_rows(columns: list[Ints], rows: slice) -> Ints:
    chosen = np.column_stack([column[rows] for column in columns])
    return chosen[np.lexsort(chosen.T[::-1])]
