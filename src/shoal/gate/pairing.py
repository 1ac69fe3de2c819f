"""Whether the protected values belong to the records in their rows.

If all protected columns are shifted against the other columns, every class still has k records, but each record has the
values of another one. Protected values in the right rows follow the original values more closely than in random order
(a permutation test, Pitman 1937). One column that does so is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import TEXT, codes, days_of_text, differing, is_number, numbers

if TYPE_CHECKING:
    from shoal.gate.context import CheckContext

MIN_ROWS = 50  # with fewer rows, a column may seem unrelated by chance
SAMPLE = 5_000
RANDOM_ORDERS = 60  # for columns without a formula for the standard deviation
MIN_STRENGTH = 4.0  # standard deviations above random order


def follows_original(context: CheckContext) -> bool | None:
    """Whether the protected values follow the original ones row by row; None if no column can show it."""
    rows = np.flatnonzero(context.kept)
    if not context.aligned or rows.size < MIN_ROWS:
        return None
    if rows.size > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    is_judged = False
    for name in (
        name for name in context.guarantees.quasi if name in context.after.columns and name in context.before.columns
    ):
        before, after = context.before[name].gather(rows), context.after[name].gather(rows)
        if before.n_unique() < 2 or after.n_unique() < 2:
            continue
        if not differing(before, after).any():
            return True
        strength = _strength(before, after)
        if strength is not None and strength >= MIN_STRENGTH:
            return True
        is_judged |= strength is not None
    return False if is_judged else None


def _strength(before: pl.Series, after: pl.Series) -> float | None:
    """Return by how many standard deviations a released column follows the original more closely than at random."""
    old, new = _ranks(before), _ranks(after)
    if old is not None and new is not None:
        both = ~(np.isnan(old) | np.isnan(new))
        if both.sum() < MIN_ROWS or old[both].std() == 0 or new[both].std() == 0:
            return None
        return float(np.corrcoef(old[both], new[both])[0, 1]) * float(np.sqrt(both.sum() - 1))
    random = np.random.default_rng(0)
    labels = codes(after) - 1
    if old is not None:
        known = ~np.isnan(old)
        values, labels = old[known], labels[known]
        return _above_chance([_between(order, labels) for order in _orders(values, random)])
    values_of = codes(before) - 1
    return _above_chance([_concentration(order, labels) for order in _orders(values_of, random)])


def _ranks(column: pl.Series) -> Floats | None:
    """Return the ranks of numbers, dates and times, with NaN for missing values; None for labels."""
    if column.dtype in TEXT:
        days = days_of_text(column)
        column = column if days is None else pl.Series(days)
    if column.dtype in TEXT or column.dtype == pl.Boolean or column.dtype.is_nested():
        return None
    if column.dtype.is_temporal():
        column = column.to_physical()
    if not is_number(column):
        return None
    known = column.fill_nan(None) if column.dtype.is_float() else column  # only floats have NaN
    return numbers(known.rank("average"))


def _orders(values: Floats | Ints, random: np.random.Generator) -> list[Floats | Ints]:
    """Return the values in their order, then in random orders."""
    return [values, *(random.permutation(values) for _ in range(RANDOM_ORDERS))]


def _between(values: Floats | Ints, labels: Ints) -> float:
    """Return the sum of squares between the groups of a label, up to a constant."""
    sums, sizes = np.bincount(labels, values), np.bincount(labels)
    present: Bools = sizes > 0
    return float((sums[present] ** 2 / sizes[present]).sum())


def _concentration(values: Floats | Ints, labels: Ints) -> float:
    """Return how much the records of a released label share original values: the sum of n_ij squared over n_i."""
    width = int(values.max()) + 1
    pairs, count = np.unique(labels * width + values.astype(np.int64), return_counts=True)
    sizes = np.bincount(labels)
    return float((count.astype(np.float64) ** 2 / sizes[pairs // width]).sum())


def _above_chance(statistics: list[float]) -> float | None:
    """Return by how many standard deviations the first statistic exceeds those of random orders."""
    actual, by_chance = statistics[0], np.array(statistics[1:])
    deviation = float(by_chance.std(ddof=1))
    if deviation <= 1e-12 * abs(actual):
        return None  # if all values are distinct, every order gives the same statistic
    return (actual - float(by_chance.mean())) / deviation if actual > by_chance.max() else 0.0
