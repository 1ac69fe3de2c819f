"""Whether the protected values stand beside the right records.

Where all protected columns are moved against the others, every class still has k records and no value is new, yet each
record has the values of somebody else. Protected values that stand in their place follow the original ones; the
comparison is with rows in random order (a permutation test, Pitman 1937). A single column that follows is enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import TEXT, codes, differing, is_number, numbers

if TYPE_CHECKING:
    from shoal.gate.context import CheckContext

LEAST_ROWS = 50  # fewer rows may follow nothing by chance
SAMPLE = 5_000
DRAWS = 60  # random orders, for columns whose spread has no formula
CERTAIN = 4.0  # standard deviations above random order


def follows_original(context: CheckContext) -> bool | None:
    """Whether the protected values go with the original ones, row by row; None where no column shows it."""
    rows = np.flatnonzero(context.kept)
    if not context.aligned or rows.size < LEAST_ROWS:
        return None
    if rows.size > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    strength: list[float] = []
    for name in (
        name for name in context.guarantees.quasi if name in context.after.columns and name in context.before.columns
    ):
        before, after = context.before[name].gather(rows), context.after[name].gather(rows)
        if before.n_unique() < 2 or after.n_unique() < 2:
            continue
        if not differing(before, after).any():
            return True
        found = _strength(before, after)
        if found is not None and found >= CERTAIN:
            return True
        strength += [] if found is None else [found]
    return False if strength else None


def _strength(before: pl.Series, after: pl.Series) -> float | None:
    """By how many standard deviations a released column follows the original more closely than rows at random."""
    old, new = _ranks(before), _ranks(after)
    if old is not None and new is not None:
        both = ~(np.isnan(old) | np.isnan(new))
        if both.sum() < LEAST_ROWS or old[both].std() == 0 or new[both].std() == 0:
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
    """The ranks of numbers and moments, NaN where missing; None for labels."""
    if column.dtype in TEXT or column.dtype == pl.Boolean or column.dtype.is_nested():
        return None
    if column.dtype.is_temporal():
        column = column.to_physical()
    if not is_number(column):
        return None
    known = column.fill_nan(None) if column.dtype.is_float() else column  # only floats have NaN
    return numbers(known.rank("average"))


def _orders(values: Floats | Ints, random: np.random.Generator) -> list[Floats | Ints]:
    """The values in their own order first, then in random ones."""
    return [values, *(random.permutation(values) for _ in range(DRAWS))]


def _between(values: Floats | Ints, labels: Ints) -> float:
    """The sum of squares between the groups of a label."""
    sums, sizes = np.bincount(labels, values), np.bincount(labels)
    present: Bools = sizes > 0
    return float((sums[present] ** 2 / sizes[present]).sum())


def _concentration(values: Floats | Ints, labels: Ints) -> float:
    """How much the records of a released label share original values: the sum of n_ij squared over n_i."""
    width = int(values.max()) + 1
    pairs, count = np.unique(labels * width + values.astype(np.int64), return_counts=True)
    sizes = np.bincount(labels)
    return float((count.astype(np.float64) ** 2 / sizes[pairs // width]).sum())


def _above_chance(found: list[float]) -> float | None:
    own, by_chance = found[0], np.array(found[1:])
    spread = float(by_chance.std(ddof=1))
    if spread <= 1e-12 * abs(own):
        return None  # where every value is another one, each order looks the same
    return (own - float(by_chance.mean())) / spread if own > by_chance.max() else 0.0
