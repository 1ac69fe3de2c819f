"""What the released values disclose: columns that give a protected value away, and what classes share.

A confidential number is judged by its spread within the class, a label by its largest share. A few-valued column among
averaged numbers keeps its extremes. A file whose order follows a protected column places its records.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import Floats, Ints
from shoal.gate.cells import codes, is_number, numbers
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.findings import Finding, percent
from shoal.gate.inside import few_valued_averaged, nearly_unique, spread
from shoal.gate.undone import given_away

RANK_CORRELATION = 0.3  # from which on the order of the rows places a record
LEAST_SORTED = 8  # fewer rows may be in order by chance
CERTAIN = 4.0  # standard errors by which a rank correlation must differ from none
MOST_NAMED = 3


def undone(context: CheckContext) -> Finding:
    """Whether released columns give a protected value away: copies of it, and columns that predict it."""
    copies = [
        f"{name!r} is a copy of the original values of {source!r}, and gives {source!r} away"
        for name, source in context.copies.items()
    ]
    if not context.aligned:
        text = "; ".join([*copies, f"not measured: {UNALIGNED}"])
        todo = _ways_out(*next(iter(context.copies.items()))) if copies else UNALIGNED_TODO
        return context.make_finding("undone", True, text, todo=todo, promised=context.policy.explicit or bool(copies))
    protected = [
        name for name in context.guarantees.quasi if name in context.after.columns and name in context.before.columns
    ]
    unchanged = [
        name for name in context.untouched if name not in context.guarantees.within and name not in context.copies
    ]
    before, after = context.before, context.after
    if context.units is not None:  # one row per person: what is constant for a person gives nothing away
        rows = np.unique(context.units, return_index=True)[1]
        before, after = before[rows], after[rows]
    found, records = given_away(
        before, after, protected, unchanged,
        accepted=context.guarantees.roles.accept_derived, ordered=context.guarantees.roles.order,
    )  # fmt: skip
    leaks = [
        f"the released {'column' if len(leak.by) == 1 else 'columns'} {', '.join(map(repr, leak.by))} "
        f"{'gives' if len(leak.by) == 1 else 'give'} {leak.column!r} away for {percent(leak.share)} of the records "
        f"({percent(leak.release_share)} by the release itself)"
        for leak in found[:MOST_NAMED]
    ]
    sampled = f" (measured on {records:,} records)" if records < before.height else ""
    first = next(iter(context.copies.items()), (found[0].by[0], found[0].column) if found else None)
    text = "; ".join([*copies, *leaks]) or "no released column gives a protected value away"
    return context.make_finding(
        "undone", first is not None, text + sampled, len(copies) + len(found), 0,
        "" if first is None else _ways_out(*first), promised=True,
    )  # fmt: skip


def _ways_out(name: str, source: str) -> str:
    return f"protect it with its source: --derived {name}={source}; drop it: --drop {name}; or --accept-derived {name}"


def row_order(context: CheckContext) -> Finding:
    """Whether the kept order of the rows follows a protected column, an identifier or the unit."""
    if context.order != "kept" or not context.aligned:
        return context.make_finding("order", False, "the rows are not in the order of the original", 0, 0)
    names = dict.fromkeys((*context.guarantees.quasi, *context.guarantees.swapped, *context.guarantees.roles.removed))
    found = {name: _follows_order(context, name) for name in names if name in context.before.columns}
    caught = {name: figure for name, figure in found.items() if figure}
    if not caught:
        return context.make_finding(
            "order", False, "the order of the rows follows no protected column or identifier", 0, 0
        )
    worst = max(caught, key=lambda name: caught[name])
    text = f"the order of the rows follows {worst!r} (correlation {caught[worst]:.2f})"
    if context.keep_order:
        return context.make_finding("order", False, f"{text}, kept on the publisher's word", round(caught[worst], 4))
    removed = worst in context.guarantees.roles.removed
    why = "neighbouring rows belong together" if removed else "a position in the file discloses the value"
    return context.make_finding(
        "order", True, f"{text}: {why}", round(caught[worst], 4),
        RANK_CORRELATION, "write the rows in a random order (--shuffle), or insist on it (--keep-order)", promised=True,
    )  # fmt: skip


def _follows_order(context: CheckContext, name: str) -> float:
    """How closely the rows' order follows a column, where it is more than chance; 0 otherwise.

    The larger of the rank correlation with the position and that of neighbouring rows; for labels, how much more often
    neighbours agree than two records drawn at random.
    """
    column = context.before[name]
    is_label = not is_number(column) or name in context.guarantees.roles.nominal or name == context.guarantees.unit
    values: Floats = codes(column).astype(np.float64) if is_label else numbers(column)
    present = np.flatnonzero(~np.isnan(values))
    n = present.size
    if n < LEAST_SORTED or values[present].min() == values[present].max():
        return 0.0
    ranks = pl.Series(values[present]).rank("average").to_numpy()
    steps = np.diff(ranks)
    if np.unique(ranks).size >= LEAST_SORTED and ((steps >= 0).all() or (steps <= 0).all()):
        return 1.0
    figures = [_correlation(present.astype(np.float64), ranks)]
    if is_label:
        figures.append(_agreement(codes(column)[present]))
    else:
        figures.append(max(0.0, _correlation(ranks[1:], ranks[:-1])))
    largest = max(map(abs, figures))
    return largest if largest > RANK_CORRELATION and largest * np.sqrt(n - 1) > CERTAIN else 0.0


def _correlation(one: Floats, two: Floats) -> float:
    if one.size < LEAST_SORTED or one.std() == 0 or two.std() == 0:
        return 0.0
    return float(np.corrcoef(one, two)[0, 1])


def _agreement(labels: Ints) -> float:
    """How much more often neighbouring rows agree than two records drawn at random, from 0 to 1."""
    share = np.bincount(labels) / labels.size
    by_chance = float((share**2).sum())
    return max(0.0, (float((labels[1:] == labels[:-1]).mean()) - by_chance) / (1.0 - by_chance))


def narrow_classes(context: CheckContext) -> Finding:
    """Confidential numbers that lie so close together within a class that the class discloses them."""
    names = [name for name in context.columns.confidential if is_number(context.after[name])]
    if not names or not context.class_sets:
        return context.make_finding("spread", False, "no confidential number is released")
    records, parts = 0, []
    for name in names:
        values = numbers(context.after[name])
        worst = max(
            (s for s in (spread(c, values, units=context.units) for c in context.class_sets) if s is not None),
            key=lambda s: s.narrow_records, default=None,
        )  # fmt: skip
        if worst is not None and worst.narrow_records:
            records += worst.narrow_records
            parts.append(
                f"{worst.narrow_records:,} records stand in classes where {name!r} varies by less than 5 % of its "
                f"usual spread (for example {worst.low:g} to {worst.high:g} in a class of {worst.size})"
            )
    text = "; ".join(parts) or "no class discloses a confidential number by its narrow range"
    return context.make_finding(
        "spread", records > 0, text, records, 0, "take a larger k, or ask for t (shoal generalize -t)"
    )


def confidential_keys(context: CheckContext) -> Finding:
    """Confidential numbers that are nearly unique: a key for anybody who knows them."""
    keys = [
        name
        for name in context.columns.confidential
        if is_number(context.after[name]) and nearly_unique(numbers(context.after[name]), context.units).is_key
    ]
    if not keys:
        return context.make_finding("keys", False, "no confidential number is nearly unique")
    text = f"nearly unique, and so a key for whoever knows them: {', '.join(map(repr, keys))}"
    return context.make_finding("keys", True, text, len(keys), 0, "round the values, or state who could know them")


def few_valued(context: CheckContext) -> Finding:
    """A 0/1 or few-valued column among averaged numbers: a group's average can be somebody's value."""
    if not context.aligned:
        return context.unmeasured("few-valued", UNALIGNED, UNALIGNED_TODO)
    records, parts = 0, []
    for name in context.aggregated:
        leak = few_valued_averaged(context.before[name], context.after[name], context.units)
        if leak is not None and leak.given_away:
            records += leak.given_away
            parts.append(
                f"{leak.given_away:,} of {leak.records:,} records with {name} = {leak.value:g} are released as exactly "
                f"{leak.value:g}"
            )
    text = "; ".join(parts) or "no few-valued column was averaged"
    return context.make_finding(
        "few-valued", records > 0, text, records, 0, "treat it as labels (--nominal), or call it confidential"
    )
