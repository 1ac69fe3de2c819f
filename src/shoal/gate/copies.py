"""Released columns that copy the original values of a protected column, under any name and role.

A copy undoes the protection. Columns are compared cell by cell. Their agreement must exceed chance (Cohen 1960), so
that two columns with rare values are not taken for copies of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.gate.cells import TEXT, agreeing, is_number, text_of

if TYPE_CHECKING:
    from shoal.gate.context import CheckContext

SAMPLE = 2_000  # rows that are compared before whole columns are compared
COPIED = 0.9  # agreement beyond chance of a copy
GAIN = 0.25  # share of the values hidden in the release that a copy must reveal
DISTINCT = 20  # distinct values that a copy must have if the row order is not known


def copied_columns(context: CheckContext) -> dict[str, str]:
    """Return the released columns that copy a protected column, with the name of that column."""
    protected = [name for name in context.guarantees.quasi if name in context.before.columns]
    left_out = {*protected, *context.guarantees.within, *context.guarantees.roles.accept_derived}
    others = [name for name in context.after.columns if name not in left_out]
    copies: dict[str, str] = {}
    for source in protected:
        original = context.before[source]
        if original.n_unique() < 2:
            continue
        for name in others:
            if name not in copies and _is_copy(context, original, name):
                copies[name] = source
    return copies


def _is_copy(context: CheckContext, original: pl.Series, name: str) -> bool:
    column = context.after[name]
    if not context.aligned:
        one, two = _same_form(original, column)
        distinct = one.n_unique()
        comparable = distinct >= DISTINCT and two.len() == one.len() and two.n_unique() == distinct
        return comparable and bool(one.sort().equals(two.sort(), null_equal=True))
    sample = (
        np.unique(np.linspace(0, context.rows - 1, SAMPLE).astype(np.int64)) if context.rows else np.empty(0, np.int64)
    )
    if _agreement(original.gather(sample), column.gather(sample)) < COPIED:
        return False
    share = _agreement(original, column)
    if share < COPIED:
        return False
    if original.name not in context.after.columns:
        return True
    released_share = _agreement(original, context.after[original.name])
    return share - released_share > GAIN * (1 - released_share)


def _agreement(original: pl.Series, column: pl.Series) -> float:
    """Return Cohen's kappa of two columns, over the rows in which the original has a value."""
    one, two = _same_form(original, column)
    present = one.is_not_null()
    one, two = one.filter(present), two.filter(present)
    if not one.len():
        return 0.0
    agree = agreeing(one == two)
    counts = [side.alias("value").to_frame().group_by("value").len() for side in (one, two.drop_nulls())]
    both = counts[0].join(counts[1], on="value")
    chance = float((both["len"].cast(pl.Float64) * both["len_right"].cast(pl.Float64)).sum()) / one.len() ** 2
    return 1.0 if agree == 1 else (agree - chance) / (1 - chance) if chance < 1 else 0.0


def _same_form(original: pl.Series, column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return both columns as numbers if the original has numbers and the other can be read as such, else as text."""
    if is_number(original) and (is_number(column) or column.dtype in TEXT):
        values = column if is_number(column) else column.cast(pl.String).str.strip_chars()
        return original.cast(pl.Float64).fill_nan(None), values.cast(pl.Float64, strict=False).fill_nan(None)
    return text_of(original), text_of(column)
