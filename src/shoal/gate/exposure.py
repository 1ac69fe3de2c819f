"""How well records hide: the re-identification risk of the classes, missing and suppressed cells."""

from __future__ import annotations

import numpy as np

from shoal.gate.case import Case
from shoal.gate.cells import missing_cells
from shoal.gate.findings import Finding

CAUTION = "take a larger k, or fewer or coarser quasi-identifiers"


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
    """Suppressed rows, too few to hide each other."""
    count = int((~case.kept).sum())
    k = case.wanted_k
    finding = f"{count:,} rows are suppressed in every protected column"
    bad = 0 < count < k
    return case.judged(
        "suppressed", bad, finding + (f": fewer than {k}, a small class of their own" if bad else ""), count, k,
        "drop the suppressed rows, or suppress more of them",
    )  # fmt: skip


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
