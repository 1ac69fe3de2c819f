"""Linkage: an intruder who knows original values looks for the person's record in the release.

One intruder uses the distance over the known columns. Another knows the column groups: this intruder takes the nearest
centroid in each group, then the records in all these classes (Winkler 2004; Nin, Herranz and Torra 2008).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.figures import ALL, SAMPLE, Figure, own_among_nearest
from shoal.gate.findings import Finding, percent


def linkages(context: CheckContext) -> tuple[Finding, ...]:
    """The share of people that three intruders find.

    They know the known columns, all columns but the confidential ones, and the column groups.
    """
    if not context.aligned:
        checks = ("distance-linkage", "released-linkage")
        return tuple(context.unmeasured(check, UNALIGNED, UNALIGNED_TODO) for check in checks)
    findings = list(of_linkage(context))
    if context.guarantees.column_groups and context.class_sets:
        findings.append(of_group_linkage(context, _by_groups(context)))
    return tuple(findings)


def of_linkage(context: CheckContext) -> tuple[Finding, ...]:
    """Return the findings on the two intruders who know columns."""
    limits, figures = context.policy.thresholds, context.figures
    return (
        _finding(
            context, "distance-linkage", figures.known, "knows the known columns and picks the closest record",
            limits.linkage,
        ),
        _finding(
            context, "released-linkage", figures.not_confidential,
            "knows every released column but the confidential ones", limits.released_linkage,
        ),
    )  # fmt: skip


def of_group_linkage(context: CheckContext, figure: Figure) -> Finding:
    """Return the finding on the intruder who knows the column groups."""
    intruder = "knows the column groups and their centroids"
    return _finding(context, "group-linkage", figure, intruder, context.policy.thresholds.linkage)


def _finding(context: CheckContext, check: str, figure: Figure, intruder: str, limit: float | None) -> Finding:
    share = figure.linked or 0.0
    text = f"an intruder who {intruder} finds {percent(share, 2)} of the people"
    if figure.linked_se is not None:
        text += f" (standard error {percent(figure.linked_se, 2)}, on {SAMPLE:,} records)"
    todo = "use a larger k, protect more columns (--quasi), or remove some (--drop)"
    return context.make_finding(check, limit is not None and share > limit, text, round(share, 6), limit, todo)


def _by_groups(context: CheckContext) -> Figure:
    """Measure the people found by the intersection of the nearest classes of each column group."""
    rows = np.flatnonzero(context.kept)
    drawn: Ints = rows
    if rows.size > ALL:
        drawn = np.sort(np.random.default_rng(0).choice(rows, SAMPLE, replace=False))
    right = np.ones(drawn.size, dtype=bool)
    for group in context.class_sets:
        right &= own_among_nearest(context, group, drawn)
    chance: Floats = np.where(right, 1.0 / context.joint.sizes[context.joint.labels[drawn]], 0.0)
    share = float(chance.mean()) if chance.size else 0.0
    error = None
    if drawn.size < rows.size:
        error = float(chance.std()) / np.sqrt(drawn.size) * np.sqrt(1 - drawn.size / rows.size)
    return Figure((), 0, 0, share, error)
