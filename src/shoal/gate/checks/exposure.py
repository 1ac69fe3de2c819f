"""How well records hide: the re-identification risk of the classes, missing and suppressed cells."""

from __future__ import annotations

import numpy as np

from shoal.gate.cells import missing_cells
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted, percent

CAUTION = "take a larger k, or fewer or coarser quasi-identifiers"
# Conventions of Shoal. Studies of suppression stay far below the first (El Emam et al. 2009: at most 5 % of the rows).
MANY = 0.2  # from this share of suppressed rows on, the rest may no longer stand for the file
NEARLY_ALL = 0.9  # and from this one on the file is no release of these records


def missing(context: CheckContext) -> Finding:
    """Missing cells make k ambiguous: as a value of their own, or as unlike every other cell."""
    gaps = np.zeros(context.rows, dtype=bool)
    for name in context.quasi:
        gaps |= missing_cells(context.after[name])
    gaps &= context.kept  # a suppressed row is counted as such
    count = int(gaps.sum())
    message = "no released quasi-identifier has a missing cell"
    if count:
        message = (
            f"{count:,} rows miss a quasi-identifier: k is {context.joint.smallest:,} if missing counts as a value of "
            "its own, and 1 if a missing cell is like no other"
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
    """Suppressed rows that are too few to hide each other; nothing where they are enough."""
    rows = ~context.kept
    count = int(rows.sum())
    hidden = count if context.units is None else int(np.unique(context.units[rows]).size)
    if not 0 < hidden < context.wanted_k:
        return ()
    who = "" if context.units is None else f" of {counted(hidden, 'person')} or households"
    finding = context.make_finding(
        "suppressed", True, f"{count:,} rows are suppressed in every protected column{who}: fewer than "
        f"{context.wanted_k}, a small class of their own", count, context.wanted_k,
        "drop the suppressed rows, or suppress more of them", promised=hidden < context.required_k,
    )  # fmt: skip
    return (finding,)


def suppressed(context: CheckContext) -> Finding:
    """Suppressed rows: too few to hide each other, or so many that little is released."""
    for finding in few_suppressed(context):
        return finding
    count = int((~context.kept).sum())
    share = count / max(context.rows, 1)
    text = f"{count:,} rows are suppressed in every protected column"
    if share > MANY:
        text = f"{count:,} of {context.rows:,} rows ({percent(share)}) are suppressed in every protected column"
        what = "nearly nothing is released" if share > NEARLY_ALL else "the rest may no longer stand for the file"
        return context.make_finding(
            "suppressed", True, f"{text}: {what}", count,
            int((NEARLY_ALL if share > NEARLY_ALL else MANY) * context.rows),
            "take a smaller k, or fewer or coarser quasi-identifiers, so that fewer rows are suppressed",
            promised=share > NEARLY_ALL,
        )  # fmt: skip
    return context.make_finding("suppressed", False, text, count, int(MANY * context.rows))


def maximum_risk(context: CheckContext) -> Finding:
    """The maximum re-identification risk over the known columns."""
    smallest = context.figures.known.k
    risk = 1.0 / smallest if smallest else 0.0
    text = f"an intruder who knows all known columns of a record finds it with a chance of at most {risk:.4g}"
    return _risk_finding(context, "maximum-risk", risk, context.policy.thresholds.maximum_risk, text)


def average_risk(context: CheckContext) -> Finding:
    """The average re-identification risk over the known columns: one over the persons in a class."""
    records, counts = int(context.known.sizes.sum()), context.unit_counts(context.known)
    risk = float((context.known.sizes / counts).sum() / records) if records else 0.0
    text = f"over all records that chance is {risk:.4g} on average"
    return _risk_finding(context, "average-risk", risk, context.policy.thresholds.average_risk, text)


def _risk_finding(context: CheckContext, check: str, risk: float, limit: float | None, text: str) -> Finding:
    return context.make_finding(check, limit is not None and risk > limit, text, round(risk, 6), limit, CAUTION)


def row_risk(context: CheckContext) -> Finding:
    """Records above the greatest risk that a single record may have."""
    limit = context.policy.thresholds.row_risk
    if limit is None:
        return context.make_finding("row-risk", False, "the policy has no limit for a single record")
    above = int(context.known.sizes[1.0 / context.unit_counts(context.known) > limit].sum())
    return context.make_finding(
        "row-risk", above > 0, f"{above:,} records have a risk above {limit:g}", above, 0, CAUTION
    )


def small_counts(context: CheckContext) -> Finding:
    """Classes so small that a table of them would show counts nobody may publish."""
    limit = context.policy.thresholds.small_count
    if not limit:
        return context.make_finding("small-counts", False, "the policy has no rule on small counts")
    small = int((context.unit_counts(context.known) <= limit).sum())
    finding = f"{small:,} classes have 1 to {limit} {'persons' if context.units is not None else 'records'}"
    return context.make_finding("small-counts", small > 0, finding, small, 0, f"take k above {limit}")
