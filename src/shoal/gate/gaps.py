"""The original's missing values in the protected columns, handled as the run handled them.

A run with `--missing median` protects medians where values are missing, and `--missing drop` leaves records out. A
later check must compare the release with the same table, or it measures other shares. The code is independent of the
code that filled the table for the run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import Floats
from shoal.errors import check_choice
from shoal.gate.cells import TEXT, comparable, is_number, missing_cells, numbers
from shoal.table.roles import Roles

HANDLING = ("keep", "drop", "median")


def handle_gaps(frame: pl.DataFrame, columns: Sequence[str], how: str, roles: Roles) -> pl.DataFrame:
    """Return the original as the run saw it.

    Args:
        frame: The original.
        columns: The protected columns.
        how: keep (no change), drop (leave out records with a missing value) or median (fill in the median).
        roles: The columns' roles: the weight, ordinal columns and nominal columns.

    Raises:
        UsageError: `how` has another value.
    """
    check_choice("missing", how, HANDLING)
    if how == "keep" or not columns:
        return frame
    if how == "drop":
        complete = pl.all_horizontal(comparable(frame[name]).is_not_null() for name in columns)
        return frame.filter(pl.select(complete).to_series())
    weights = np.ones(frame.height) if roles.weight is None else numbers(frame[roles.weight])
    return frame.with_columns(_filled(frame[name], weights, roles) for name in columns)


def _filled(column: pl.Series, weights: Floats, roles: Roles) -> pl.Series:
    """The column with its median in place of missing values; a nominal column has no median and stays as it is."""
    gaps = missing_cells(column)
    ranks = _ranks(column, roles)
    if ranks is None or not gaps.any() or gaps.all():
        return column
    lower, upper = _middle_rows(np.where(gaps, np.nan, ranks), weights)
    if not is_number(column) or column.name in roles.order:  # dates and ranks: the lower median, which a record has
        return column.gather(np.where(gaps, lower, np.arange(column.len()))).rename(column.name)
    median = (ranks[lower] + ranks[upper]) / 2
    kept = column.dtype if column.dtype.is_integer() and median == np.rint(median) else pl.Float64()
    return pl.Series(column.name, np.where(gaps, median, numbers(column))).cast(kept)


def _ranks(column: pl.Series, roles: Roles) -> Floats | None:
    """Numbers whose order is that of the column's values; None for nominal columns."""
    order = roles.order.get(column.name)
    if order is None and isinstance(column.dtype, pl.Enum):
        order = tuple(column.dtype.categories)
    if order is not None and not (is_number(column) and list(order) == ["codes"]):
        text = column.cast(pl.String)
        places = [float(place) for place in range(len(order))]
        return numbers(text.replace_strict(list(order), places, default=None, return_dtype=pl.Float64))
    if column.name in roles.nominal or column.dtype in TEXT or column.dtype == pl.Boolean:
        return None
    if column.dtype.is_temporal():
        return numbers(column.to_physical())
    return numbers(column) if is_number(column) else None


def _middle_rows(values: Floats, weights: Floats) -> tuple[int, int]:
    """The rows of the lower and the upper weighted median of the values that are not missing."""
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    place = int(np.searchsorted(reached, half))
    next_place = place + 1 if reached[place] == half and place + 1 < order.size else place
    return int(order[place]), int(order[next_place])
