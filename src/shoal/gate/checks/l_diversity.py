"""Whether the confidential values of every class are diverse (Machanavajjhala et al. 2007)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import polars as pl

from shoal.gate.cells import Classes, is_number
from shoal.gate.context import CheckContext
from shoal.gate.diversity import diversity
from shoal.gate.findings import Finding, percent
from shoal.gate.inside import largest_share
from shoal.gate.promises import LDiversity, TCloseness

P = TypeVar("P", LDiversity, TCloseness)
PROMISE = LDiversity


def check(context: CheckContext) -> Finding:
    """The fewest confidential values in a class: a single value is disclosed without any link."""
    threshold = context.policy.thresholds.l
    measured = measure_confidential(
        context, LDiversity, 1.0, lambda classes, column, promise: diversity(classes, column, promise.kind, promise.c)
    )
    if not measured:
        return without_confidential(context, "l")
    value, worst, promise = min(measured, key=lambda found: found[0] - found[2].l)
    broken = promise.promised and value < promise.l - 1e-9
    bad = broken or (threshold is not None and value < threshold - 1e-9)
    text = f"the least diverse class has l = {value:g} ({promise.kind}) in {worst!r}"
    text += _largest_share(context, worst)
    return context.make_finding(
        "l", bad, text, value, promise.l if broken else threshold,
        "ask the method for l (shoal generalize -l), or take a larger k", promised=broken,
    )  # fmt: skip


def measure_confidential(
    context: CheckContext,
    kind: type[P],
    limit: float,
    measure: Callable[[Classes, pl.Series, P], float],
) -> list[tuple[float, str, P]]:
    """The measure of each confidential column in the classes of each promise; of all classes where none is promised.

    kind, limit: the type of promise, and the l or t that every table keeps.
    """
    names = tuple(name for name in context.guarantees.confidential if name in context.after.columns)
    if not names or not context.class_sets:
        return []
    promises = context.guarantees.of(kind) or tuple(
        kind(found.columns, names, limit, promised=False) for found in context.class_sets
    )
    return [
        (measure(context.over_released(promise.columns), context.after[name], promise), name, promise)
        for promise in promises
        for name in promise.confidential
        if name in context.after.columns
    ]


def _largest_share(context: CheckContext, name: str) -> str:
    """Which value the homogeneous classes disclose, and of how many records; else the largest share of one value."""
    if is_number(context.after[name]):
        return ""  # numbers are judged by their spread
    shares = [largest_share(found, context.after[name], context.units) for found in context.class_sets]
    found = [share for share in shares if share is not None]
    if not found:
        return ""
    worst = max(found, key=lambda share: (share.homogeneous_records, share.share))
    if not worst.homogeneous_classes:
        return f": at most {percent(worst.share)} of a class have one value ({worst.value!r})"
    one = worst.homogeneous_classes == 1
    value = "missing" if worst.frequent_value is None else worst.frequent_value
    return (
        f": {worst.homogeneous_records:,} records stand in {worst.homogeneous_classes:,} "
        f"{'class' if one else 'classes'} with a single value, {worst.frequent_records:,} of them with {value!r}"
    )


def without_confidential(context: CheckContext, check: str) -> Finding:
    """Not measured: fine only where the publisher states that no column is confidential."""
    if context.guarantees.roles.no_confidential:
        return context.make_finding(check, False, "the publisher states that no column is confidential")
    if check not in context.policy.blocks:
        return context.make_finding(check, False, "not measured: no confidential column is named")
    return context.unmeasured(
        check, "no confidential column is named",
        "name the confidential columns (--confidential), or state that there is none (--no-confidential)",
    )  # fmt: skip
