"""l-diversity: the confidential values of every class are diverse (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import polars as pl

from shoal.errors import counted
from shoal.gate.cells import Classes, is_number
from shoal.gate.context import CheckContext
from shoal.gate.diversity import diversity
from shoal.gate.findings import Finding, percent
from shoal.gate.inside import largest_share
from shoal.gate.promises import LDiversity, TCloseness

P = TypeVar("P", LDiversity, TCloseness)
PROMISE = LDiversity


def check(context: CheckContext) -> Finding:
    """The least diverse class: a single confidential value is disclosed without identifying anyone."""
    threshold = context.policy.thresholds.l
    measured = measure_confidential(
        context, LDiversity, 1.0, lambda classes, column, promise: diversity(classes, column, promise.kind, promise.c)
    )
    if not measured:
        return without_confidential(context, "l")
    value, worst, promise = min(measured, key=lambda result: result[0] - result[2].l)
    broken = promise.promised and value < promise.l - 1e-9
    bad = broken or (threshold is not None and value < threshold - 1e-9)
    text = f"the least diverse class has l = {value:g} ({promise.kind}) in {worst!r}"
    text += _largest_share(context, worst)
    return context.make_finding(
        "l", bad, text, value, promise.l if broken else threshold,
        "use a larger k, or request l with -l L", promised=broken,
    )  # fmt: skip


def measure_confidential(
    context: CheckContext,
    kind: type[P],
    limit: float,
    measure: Callable[[Classes, pl.Series, P], float],
) -> list[tuple[float, str, P]]:
    """Measure each confidential column in the classes of each guarantee, or in all classes if there is none.

    Args:
        context: The input of the check.
        kind: The type of the guarantee.
        limit: The l or t that every table has.
        measure: Measures a column in some classes.

    Returns:
        The value, the column and the guarantee of each measurement.
    """
    names = tuple(name for name in context.guarantees.confidential if name in context.after.columns)
    if not names or not context.class_sets:
        return []
    promises = context.guarantees.of(kind) or tuple(
        kind(group.columns, names, limit, promised=False) for group in context.class_sets
    )
    return [
        (measure(context.over_released(promise.columns), context.after[name], promise), name, promise)
        for promise in promises
        for name in promise.confidential
        if name in context.after.columns
    ]


def _largest_share(context: CheckContext, name: str) -> str:
    """Describe which value the homogeneous classes disclose, or else the largest share of one value."""
    if is_number(context.after[name]):
        return ""  # the check `spread` judges numbers
    measured = [largest_share(group, context.after[name], context.units) for group in context.class_sets]
    shares = [share for share in measured if share is not None]
    if not shares:
        return ""
    worst = max(shares, key=lambda share: (share.homogeneous_records, share.share))
    if not worst.homogeneous_classes:
        return f"; the largest share of one value in a class is {percent(worst.share)} ({worst.value!r})"
    value = "missing" if worst.frequent_value is None else worst.frequent_value
    return (
        f": {worst.homogeneous_records:,} records are in {counted(worst.homogeneous_classes, 'class')} with a single "
        f"value, {worst.frequent_records:,} of them with {value!r}, so an intruder learns it without identifying anyone"
    )


def without_confidential(context: CheckContext, check: str) -> Finding:
    """Return the finding without a confidential column. It passes only if the publisher states that there is none."""
    if context.guarantees.roles.no_confidential:
        return context.make_finding(check, False, "the publisher states that no column is confidential")
    if check not in context.policy.blocks:
        return context.make_finding(check, False, "not measured: no confidential column is named")
    return context.unmeasured(
        check, "no confidential column is named",
        "name the confidential columns (--confidential COLUMN,…), or state that there is none (--no-confidential)",
    )  # fmt: skip
