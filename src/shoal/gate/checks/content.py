"""What the released values disclose: columns that give a protected value away, narrow classes, and the row order.

Within a class, a confidential number is judged by its spread. Averages of a column with few values keep its extremes.
If the row order follows a protected column, the position of a row discloses the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import polars as pl

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.cells import codes, is_number, numbers
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.findings import Finding, percent
from shoal.gate.inside import FewValued, few_valued_averaged, nearly_unique, spread
from shoal.gate.undone import given_away

RANK_CORRELATION = 0.3  # above it, the position of a row discloses a value
MIN_ROWS = 8  # fewer rows may be in order by chance
MIN_STANDARD_ERRORS = 4.0  # by which a rank correlation must differ from 0
MAX_NAMED = 3


def undone(context: CheckContext) -> Finding:
    """Whether released columns give a protected value away: copies, and columns that predict it."""
    copies = [
        f"{name!r} is a copy of the original values of {source!r}, which gives {source!r} away"
        for name, source in context.copies.items()
    ]
    if not context.aligned:
        text = "; ".join([*copies, f"not measured: {UNALIGNED}"])
        todo = _advice(*next(iter(context.copies.items()))) if copies else UNALIGNED_TODO
        return context.make_finding("undone", True, text, todo=todo, promised=context.policy.explicit or bool(copies))
    protected = [
        name for name in context.guarantees.quasi if name in context.after.columns and name in context.before.columns
    ]
    unchanged = [
        name for name in context.untouched if name not in context.guarantees.within and name not in context.copies
    ]
    before, after = context.before, context.after
    if context.units is not None:  # one row per unit: a value that all rows of a unit share gives nothing away
        rows = np.unique(context.units, return_index=True)[1]
        before, after = before[rows], after[rows]
    leaks, records = given_away(
        before, after, protected, unchanged,
        accepted=context.guarantees.roles.accept_derived, ordered=context.guarantees.roles.order,
    )  # fmt: skip
    texts = [
        f"the released {'column' if len(leak.by) == 1 else 'columns'} {', '.join(map(repr, leak.by))} "
        f"{'gives' if len(leak.by) == 1 else 'give'} {leak.column!r} away for {percent(leak.share)} of the records "
        f"(the released {leak.column!r} alone: {percent(leak.release_share)})"
        for leak in leaks[:MAX_NAMED]
    ]
    sampled = f" (measured on {records:,} records)" if records < before.height else ""
    first = next(iter(context.copies.items()), (leaks[0].by[0], leaks[0].column) if leaks else None)
    text = "; ".join([*copies, *texts]) or "no released column gives a protected value away"
    return context.make_finding(
        "undone", first is not None, text + sampled, len(copies) + len(leaks), 0,
        "" if first is None else _advice(*first), promised=True,
    )  # fmt: skip


def _advice(name: str, source: str) -> str:
    return (
        f"protect it together with its source (--derived {name}={source}), remove it (--drop {name}), or accept it "
        f"(--accept-derived {name})"
    )


def row_order(context: CheckContext) -> Finding:
    """Whether the row order of the original was kept and follows a protected column, an identifier or the unit."""
    if context.order != "kept" or not context.aligned:
        return context.make_finding("order", False, "the rows are not in the order of the original", 0, 0)
    names = dict.fromkeys((*context.guarantees.quasi, *context.guarantees.swapped, *context.guarantees.roles.removed))
    strength = {name: _follows_order(context, name) for name in names if name in context.before.columns}
    followed = {name: value for name, value in strength.items() if value}
    if not followed:
        return context.make_finding(
            "order", False, "the row order does not follow any protected column or identifier", 0, 0
        )
    worst = max(followed, key=lambda name: followed[name])
    text = f"the row order follows {worst!r} (correlation {followed[worst]:.2f})"
    if context.keep_order:
        return context.make_finding("order", False, f"{text}, and the publisher keeps it", round(followed[worst], 4))
    removed = worst in context.guarantees.roles.removed
    why = f"neighbouring rows have similar values of {worst!r}" if removed else "the position of a row discloses it"
    return context.make_finding(
        "order", True, f"{text}: {why}", round(followed[worst], 4),
        RANK_CORRELATION, "write the rows in random order (--shuffle), or accept the order (--keep-order)",
        promised=True,
    )  # fmt: skip


def _follows_order(context: CheckContext, name: str) -> float:
    """Return how closely the row order follows a column, or 0 if chance explains it.

    The result is the larger of two rank correlations: with the position, and between neighbouring rows. For labels, the
    second one is how much more often neighbours agree than two records drawn at random.
    """
    column = context.before[name]
    is_label = not is_number(column) or name in context.guarantees.roles.nominal or name == context.guarantees.unit
    values: Floats = codes(column).astype(np.float64) if is_label else numbers(column)
    present = np.flatnonzero(~np.isnan(values))
    n = present.size
    if n < MIN_ROWS or values[present].min() == values[present].max():
        return 0.0
    ranks = pl.Series(values[present]).rank("average").to_numpy()
    pairs = _neighbours(context, present)
    steps = np.diff(ranks)
    if np.unique(ranks).size >= MIN_ROWS and ((steps >= 0).all() or (steps <= 0).all()):
        return 1.0
    correlations = [_correlation(present.astype(np.float64), ranks)]
    if is_label:
        correlations.append(_agreement(codes(column)[present], pairs))
    else:
        correlations.append(max(0.0, _correlation(ranks[1:][pairs], ranks[:-1][pairs])))
    largest = max(map(abs, correlations))
    return largest if largest > RANK_CORRELATION and largest * np.sqrt(n - 1) > MIN_STANDARD_ERRORS else 0.0


def _neighbours(context: CheckContext, present: Ints) -> Bools:
    """Return which of the present rows are followed by their neighbour: all, but for rows drawn from a larger table."""
    if not context.is_drawn or context.row_numbers is None:
        return np.ones(present.size - 1, dtype=bool)
    return np.asarray(np.diff(context.row_numbers[present]) == 1)


def _correlation(one: Floats, two: Floats) -> float:
    if one.size < MIN_ROWS or one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])


def _agreement(labels: Ints, pairs: Bools) -> float:
    """Return how much more often neighbouring rows agree than two records drawn at random, from 0 to 1."""
    share = np.bincount(labels) / labels.size
    by_chance = float((share**2).sum())
    same = (labels[1:] == labels[:-1])[pairs]
    if not same.size:
        return 0.0
    return max(0.0, (float(same.mean()) - by_chance) / (1.0 - by_chance))


def narrow_classes(context: CheckContext) -> Finding:
    """Confidential numbers that vary so little within a class that the class discloses them."""
    names = [name for name in context.columns.confidential if is_number(context.after[name])]
    if not names or not context.class_sets:
        return context.make_finding("spread", False, "no confidential number is released")
    narrow = {
        name: [spread(c, numbers(context.after[name]), units=context.units) for c in context.class_sets]
        for name in names
    }
    return of_narrow_classes(context, narrow)


class Narrow(Protocol):
    """The narrow classes of one set, and the narrowest of them."""

    @property
    def narrow_records(self) -> int: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def size(self) -> int: ...


def of_narrow_classes(context: CheckContext, narrow: Mapping[str, Sequence[Narrow | None]]) -> Finding:
    """Return the finding on the narrow classes of each confidential number, in each set of classes."""
    records, parts = 0, []
    for name, of_sets in narrow.items():
        present = [one for one in of_sets if one is not None]
        worst = max(present, key=lambda one: one.narrow_records, default=None)
        if worst is not None and worst.narrow_records:
            records += worst.narrow_records
            parts.append(
                f"{worst.narrow_records:,} records are in classes in which {name!r} varies by less than 5 % of its "
                f"standard deviation (for example {worst.low:g} to {worst.high:g} in a class of {worst.size})"
            )
    text = "; ".join(parts) or "no class discloses a confidential number by a narrow range"
    return context.make_finding(
        "spread", records > 0, text, records, 0, "use a larger k, or request t with shoal generalize -t T"
    )


def confidential_keys(context: CheckContext) -> Finding:
    """Confidential numbers that are nearly unique, so that an intruder who knows one identifies the record."""
    keys = [
        name
        for name in context.columns.confidential
        if is_number(context.after[name]) and nearly_unique(numbers(context.after[name]), context.units).is_key
    ]
    return of_keys(context, keys)


def of_keys(context: CheckContext, keys: Sequence[str]) -> Finding:
    """Return the finding on the confidential numbers that are nearly unique."""
    if not keys:
        return context.make_finding("keys", False, "no confidential number is nearly unique")
    text = (
        f"nearly every record has a different value, so an intruder who knows it identifies the record: "
        f"{', '.join(map(repr, keys))}"
    )
    return context.make_finding("keys", True, text, len(keys), 0, "round the values, or protect them with --quasi")


def few_valued(context: CheckContext) -> Finding:
    """Averages of a column with two or three values: a mean that equals an extreme discloses all members' values."""
    if not context.aligned:
        return context.unmeasured("few-valued", UNALIGNED, UNALIGNED_TODO)
    extremes = {
        name: few_valued_averaged(context.before[name], context.after[name], context.units)
        for name in context.aggregated
    }
    return of_extremes(context, extremes)


def of_extremes(context: CheckContext, extremes: Mapping[str, FewValued | None]) -> Finding:
    """Return the finding on the rarer extreme of each column."""
    records, parts, columns = 0, [], []
    for name, extreme in extremes.items():
        if extreme is not None and extreme.given_away:
            records += extreme.given_away
            parts.append(
                f"{extreme.given_away:,} of {extreme.records:,} records with {name} = {extreme.value:g} are released "
                f"as exactly {extreme.value:g}, which discloses the value"
            )
            columns.append(name)
    text = "; ".join(parts) or "no average of a column with few values discloses a value"
    return context.make_finding(
        "few-valued",
        records > 0,
        text,
        records,
        0,
        f"protect it as labels (--nominal {','.join(columns)}), or give it the role confidential",
    )
