"""How well records hide: the re-identification risk of the classes, missing and suppressed cells."""

from __future__ import annotations

import numpy as np

from shoal.gate.case import Case
from shoal.gate.cells import missing_cells
from shoal.gate.findings import Finding, counted, percent

CAUTION = "take a larger k, or fewer or coarser quasi-identifiers"
# Conventions of Shoal. Studies of suppression stay far below the first (El Emam et al. 2009: at most 5 % of the rows).
MANY = 0.2  # from this share of suppressed rows on, the rest may no longer stand for the file
NEARLY_ALL = 0.9  # and from this one on the file is no release of these records


def missing(case: Case) -> Finding:
    """Missing cells make k ambiguous: as a value of their own, or as unlike every other cell."""
    gaps = np.zeros(case.rows, dtype=bool)
    for name in case.quasi:
        gaps |= missing_cells(case.after[name])
    gaps &= case.kept  # a suppressed row is counted as such
    count = int(gaps.sum())
    told = "no released quasi-identifier has a missing cell"
    if count:
        told = (
            f"{count:,} rows miss a quasi-identifier: k is {case.joint.smallest:,} if missing counts as a value of its "
            "own, and 1 if a missing cell is like no other"
        )
    return case.judged(
        "missing", count > 0, told, count, 0, "drop these rows (--missing drop), or fill the cells before"
    )


def suppressed(case: Case) -> Finding:
    """Suppressed rows: too few to hide each other, or so many that little is released."""
    rows = ~case.kept
    count = int(rows.sum())
    hidden = count if case.units is None else int(np.unique(case.units[rows]).size)
    share = count / max(case.rows, 1)
    text = f"{count:,} rows are suppressed in every protected column"
    if 0 < hidden < case.wanted_k:
        who = "" if case.units is None else f" of {counted(hidden, 'person')} or households"
        return case.judged(
            "suppressed", True, f"{text}{who}: fewer than {case.wanted_k}, a small class of their own", count,
            case.wanted_k, "drop the suppressed rows, or suppress more of them", promised=hidden < case.required_k,
        )  # fmt: skip
    if share > MANY:
        text = f"{count:,} of {case.rows:,} rows ({percent(share)}) are suppressed in every protected column"
        what = "nearly nothing is released" if share > NEARLY_ALL else "the rest may no longer stand for the file"
        return case.judged(
            "suppressed", True, f"{text}: {what}", count, int((NEARLY_ALL if share > NEARLY_ALL else MANY) * case.rows),
            "take a smaller k, or fewer or coarser quasi-identifiers, so that fewer rows are suppressed",
            promised=share > NEARLY_ALL,
        )  # fmt: skip
    return case.judged("suppressed", False, text, count, int(MANY * case.rows))


def maximum_risk(case: Case) -> Finding:
    """The maximum re-identification risk over the known columns."""
    smallest = case.figures.known.k
    risk = 1.0 / smallest if smallest else 0.0
    limit = case.policy.thresholds.maximum_risk
    finding = f"an intruder who knows all known columns of a record finds it with a chance of at most {risk:.4g}"
    return case.judged("maximum-risk", limit is not None and risk > limit, finding, round(risk, 6), limit, CAUTION)


def average_risk(case: Case) -> Finding:
    """The average re-identification risk over the known columns: one over the persons in a class."""
    risk = _average(case)
    limit = case.policy.thresholds.average_risk
    finding = f"over all records that chance is {risk:.4g} on average"
    return case.judged("average-risk", limit is not None and risk > limit, finding, round(risk, 6), limit, CAUTION)


def _average(case: Case) -> float:
    records = int(case.known.sizes.sum())
    return float((case.known.sizes / case.unit_counts(case.known)).sum() / records) if records else 0.0


def row_risk(case: Case) -> Finding:
    """Records above the greatest risk that a single record may have."""
    limit = case.policy.thresholds.row_risk
    if limit is None:
        return case.judged("row-risk", False, "the policy has no limit for a single record")
    above = int(case.known.sizes[1.0 / case.unit_counts(case.known) > limit].sum())
    return case.judged("row-risk", above > 0, f"{above:,} records have a risk above {limit:g}", above, 0, CAUTION)


def small_counts(case: Case) -> Finding:
    """Classes so small that a table of them would show counts nobody may publish."""
    limit = case.policy.thresholds.small_count
    if not limit:
        return case.judged("small-counts", False, "the policy has no rule on small counts")
    small = int((case.unit_counts(case.known) <= limit).sum())
    finding = f"{small:,} classes have 1 to {limit} {'persons' if case.units is not None else 'records'}"
    return case.judged("small-counts", small > 0, finding, small, 0, f"take k above {limit}")
