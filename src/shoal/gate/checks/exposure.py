"""The re-identification risk of the classes, and missing and suppressed cells."""

from __future__ import annotations

import numpy as np

from shoal.errors import counted
from shoal.gate.cells import missing_cells
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, percent

CAUTION = "use a larger k, or fewer or coarser quasi-identifiers"
# Conventions of Shoal. Studies of suppression stay far below the first (El Emam et al. 2009: at most 5 % of the rows).
MANY = 0.2  # above this share of suppressed records, the others may not represent the file
NEARLY_ALL = 0.9  # above this share, almost nothing is released


def missing(context: CheckContext) -> Finding:
    """Missing cells make k ambiguous: they count as one value, or as different from every other cell."""
    gaps = np.zeros(context.rows, dtype=bool)
    for name in context.quasi:
        gaps |= missing_cells(context.after[name])
    gaps &= context.kept  # the check `suppressed` counts suppressed records
    count = int(gaps.sum())
    message = "no released quasi-identifier has a missing cell"
    if count:
        message = (
            f"{counted(count, 'record')} {'has' if count == 1 else 'have'} a missing quasi-identifier: k is "
            f"{context.joint.smallest:,} if missing counts as a value, and 1 if it differs from every other cell"
        )
    return context.make_finding(
        "missing", count > 0, message + _filled_note(context), count, 0,
        "protect the file again with --missing drop or --missing median",
    )  # fmt: skip


def _filled_note(context: CheckContext) -> str:
    """A note on values that are missing in the original and present in the release: other shares are then measured."""
    if not context.aligned:
        return ""
    names = [name for name in context.quasi if name in context.before.columns]
    gaps = (missing_cells(context.before[name]) & ~missing_cells(context.after[name]) for name in names)
    filled = sum(int((cells & context.kept).sum()) for cells in gaps)
    if not filled:
        return ""
    return (
        f". {counted(filled, 'cell')} of the protected columns {'has' if filled == 1 else 'have'} no value in the "
        "original and a value in the release. They are compared as missing, so the linkage and the dominance differ "
        "from those of a run that filled in medians. To compare as this run did, add --missing median"
    )


def few_suppressed(context: CheckContext) -> tuple[Finding, ...]:
    """Return a finding if there are too few suppressed records to form a class of k."""
    rows = ~context.kept
    count = int(rows.sum())
    return of_suppressed(context, count, count if context.units is None else int(np.unique(context.units[rows]).size))


def of_suppressed(context: CheckContext, count: int, hidden: int) -> tuple[Finding, ...]:
    """Return a finding if so many suppressed records, of so many units, are too few."""
    if not 0 < hidden < context.wanted_k:
        return ()
    who = f" of {counted(hidden, 'unit')}" if context.counts_units else ""
    finding = context.make_finding(
        "suppressed", True, f"{_suppressed(count)}{who}: fewer than {context.wanted_k}, so they form a small class",
        count, context.wanted_k, "remove the suppressed records, or suppress more records",
        promised=hidden < context.required_k,
    )  # fmt: skip
    return (finding,)


def _suppressed(count: int) -> str:
    return f"{counted(count, 'record')} {'is' if count == 1 else 'are'} suppressed"


def suppressed(context: CheckContext) -> Finding:
    """Suppressed records: too few to form a class of k, or so many that little is released."""
    for finding in few_suppressed(context):
        return finding
    return many_suppressed(context, int((~context.kept).sum()))


def many_suppressed(context: CheckContext, count: int) -> Finding:
    """Return the finding on so many suppressed records, which are not too few."""
    share = count / max(context.rows, 1)
    text = _suppressed(count)
    if share > MANY:
        text = f"{count:,} of {context.rows:,} records ({percent(share)}) are suppressed"
        what = "almost nothing is released" if share > NEARLY_ALL else "the others may not represent the file"
        return context.make_finding(
            "suppressed", True, f"{text}: {what}", count,
            int((NEARLY_ALL if share > NEARLY_ALL else MANY) * context.rows),
            "use a smaller k, or fewer or coarser quasi-identifiers, so that fewer records are suppressed",
            promised=share > NEARLY_ALL,
        )  # fmt: skip
    return context.make_finding("suppressed", False, text, count, int(MANY * context.rows))


def maximum_risk(context: CheckContext) -> Finding:
    """The maximum re-identification risk over the known columns."""
    smallest = context.figures.known.k
    risk = 1.0 / smallest if smallest else 0.0
    text = f"the maximum re-identification risk over the known columns is {risk:.4g}"
    return _risk_finding(context, "maximum-risk", risk, context.policy.thresholds.maximum_risk, text)


def average_risk(context: CheckContext) -> Finding:
    """The average re-identification risk over the known columns: the mean of 1 / class size, in units if there are."""
    sizes = context.known_sizes
    records = int(sizes.records.sum())
    risk = float((sizes.records / sizes.size).sum() / records) if records else 0.0
    text = f"the average re-identification risk over the known columns is {risk:.4g}"
    return _risk_finding(context, "average-risk", risk, context.policy.thresholds.average_risk, text)


def _risk_finding(context: CheckContext, check: str, risk: float, limit: float | None, text: str) -> Finding:
    return context.make_finding(check, limit is not None and risk > limit, text, round(risk, 6), limit, CAUTION)


def row_risk(context: CheckContext) -> Finding:
    """Records whose risk exceeds the policy's limit for a single record."""
    limit = context.policy.thresholds.row_risk
    if limit is None:
        return context.make_finding("row-risk", False, "the policy has no limit for a single record")
    sizes = context.known_sizes
    above = int(sizes.records[1.0 / sizes.size > limit].sum())
    return context.make_finding(
        "row-risk",
        above > 0,
        f"{counted(above, 'record')} {'has' if above == 1 else 'have'} a risk above {limit:g}",
        above,
        0,
        CAUTION,
    )


def small_counts(context: CheckContext) -> Finding:
    """Classes so small that a table of them would show counts that the policy does not allow."""
    limit = context.policy.thresholds.small_count
    if not limit:
        return context.make_finding("small-counts", False, "the policy has no limit for small counts")
    small = int(context.known_sizes.classes[context.known_sizes.size <= limit].sum())
    members = "units" if context.counts_units else "records"
    finding = f"{counted(small, 'class')} {'has' if small == 1 else 'have'} 1 to {limit} {members}"
    return context.make_finding("small-counts", small > 0, finding, small, 0, f"use a k above {limit}")
