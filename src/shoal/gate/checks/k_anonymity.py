"""Whether every record shares its protected values with at least k - 1 others (Sweeney 2002)."""

from __future__ import annotations

from shoal.errors import counted
from shoal.gate.cells import signs_of_zero
from shoal.gate.checks.roles import NOTHING_LEFT
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
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
        group.columns: int(context.unit_counts(group).min(initial=context.rows)) for group in context.class_sets
    }
    size = min(smallest.values())
    worst = min(smallest, key=lambda names: smallest[names])
    bad = k is not None and size < k
    text = f"the smallest class within a column group has {_members(context, size)}"
    if bad:
        below = sum(int((context.unit_counts(c) < (k or 0)).sum()) for c in context.class_sets)
        classes = f"{counted(below, 'class')} {'is' if below == 1 else 'are'}"
        text += f", fewer than k = {k}, in the column group {', '.join(worst)}; {classes} smaller than k"
    return context.make_finding(
        "k-within-groups", bad, text, size, k, "protect the file again with shoal group or shoal generalize",
        promised=True,
    )  # fmt: skip


def joint_k(context: CheckContext) -> Finding:
    """k over all protected columns together. It is guaranteed, unless k is guaranteed within column groups only."""
    promised = context.guarantees.k if not context.guarantees.column_groups else None
    counts = context.unit_counts(context.joint)
    size = int(counts.min()) if counts.size else 0
    threshold = stricter(context.guarantees.k, context.policy.thresholds.k)
    broken = promised is not None and size < promised
    bad = threshold is not None and size < threshold
    text = f"the smallest class over all protected columns has {_members(context, size)}"
    if bad and not counts.size:
        todo = "use a smaller k, or fewer or coarser quasi-identifiers"
        return context.make_finding("joint-k", True, NOTHING_LEFT, 0, threshold, todo, promised=broken)
    if bad:
        below = int((counts < (threshold or 0)).sum())
        text += f"; {counted(below, 'class')} {'has' if below == 1 else 'have'} fewer than {threshold:g}"
        zeros = [name for name in context.quasi if signs_of_zero(context.after[name])]
        text += f". 0.0 and -0.0 count as two values in {', '.join(map(repr, zeros))}" if zeros else ""
    if bad and context.guarantees.column_groups and not broken:
        text += ". k holds within each column group, but not over all columns together"
    todo = "protect all columns together (shoal microaggregate), or use a larger k"
    return context.make_finding("joint-k", bad, text, size, promised if broken else threshold, todo, promised=broken)


def _members(context: CheckContext, number: int) -> str:
    return counted(number, "record" if context.units is None else "unit")
