"""Whether every record shares its protected values with at least k - 1 others (Sweeney 2002)."""

from __future__ import annotations

from shoal.gate.cells import signs_of_zero
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted
from shoal.gate.policy import stricter
from shoal.gate.promises import KAnonymity

PROMISE = KAnonymity


def check(context: CheckContext) -> tuple[Finding, ...]:
    """k within each column group, where there are any, and k over all protected columns together."""
    groups = context.guarantees.column_groups and context.class_sets
    return (*((within_groups(context),) if groups else ()), joint_k(context))


def within_groups(context: CheckContext) -> Finding:
    """k within each column group."""
    k = context.guarantees.k
    smallest = {
        found.columns: int(context.unit_counts(found).min(initial=context.rows)) for found in context.class_sets
    }
    least = min(smallest.values())
    worst = min(smallest, key=lambda names: smallest[names])
    bad = k is not None and least < k
    text = f"the smallest class within a column group has {counted(least, 'record')}"
    if bad:
        below = sum(int((context.unit_counts(c) < (k or 0)).sum()) for c in context.class_sets)
        text += f", fewer than k = {k}: {', '.join(worst)}; {below:,} classes in all are below k"
    return context.make_finding(
        "k-within-groups", bad, text, least, k, "protect the file again: a class below k is not a group", promised=True
    )


def joint_k(context: CheckContext) -> Finding:
    """k over all protected columns together: promised, unless it is so within column groups only."""
    promised = context.guarantees.k if not context.guarantees.column_groups else None
    counts = context.unit_counts(context.joint)
    least = int(counts.min()) if counts.size else 0
    threshold = stricter(context.guarantees.k, context.policy.thresholds.k)
    broken = promised is not None and least < promised
    bad = threshold is not None and least < threshold
    text = f"the smallest class over all protected columns has {counted(least, 'record')}"
    if bad:
        text += f"; {int((counts < (threshold or 0)).sum()):,} classes are smaller than {threshold:g}"
        zeros = [name for name in context.quasi if signs_of_zero(context.after[name])]
        text += f". 0.0 and -0.0 count as two values in {', '.join(map(repr, zeros))}" if zeros else ""
    if bad and context.guarantees.column_groups and not broken:
        text += ". Within each column group every record shares its values with others, over all columns it does not"
    todo = "protect all columns together (shoal microaggregate), or with a larger k"
    return context.make_finding("joint-k", bad, text, least, promised if broken else threshold, todo, promised=broken)
