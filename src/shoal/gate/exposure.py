"""How well records hide: risks of the classes, missing and suppressed cells, columns that nobody protected."""

from __future__ import annotations

import numpy as np

from shoal.gate.case import Case
from shoal.gate.cells import classes
from shoal.gate.findings import Finding

CAUTION = "take a larger k, or fewer or coarser quasi-identifiers"


def missing(case: Case) -> Finding:
    """Missing cells make k ambiguous: as a value of their own, or as unlike every other cell."""
    gaps = np.zeros(case.rows, dtype=bool)
    for name in case.quasi:
        column = case.after[name]
        gaps |= (
            (column.is_null() | column.is_nan()).to_numpy() if column.dtype.is_float() else column.is_null().to_numpy()
        )
    count = int(gaps.sum())
    told = "no released quasi-identifier has a missing cell"
    if count:
        told = (
            f"{count:,} rows miss a quasi-identifier: k is {case.joint.smallest:,} if missing counts as a value of its "
            "own, and 1 if a missing cell is like no other"
        )
    return case.judged(
        "missing", count > 0, told, count, 0, "fill the cells, drop the rows, or name them as a category (missing)"
    )


def suppressed(case: Case) -> Finding:
    """Rows with a star in every quasi-identifier, too few to hide each other."""
    count = int((~case.kept).sum())
    k = case.asked.k or case.policy.thresholds.k or 2
    told = f"{count:,} rows are suppressed (a * in every quasi-identifier)"
    bad = 0 < count < k
    return case.judged(
        "suppressed", bad, told + (f": fewer than {k}, a small class of its own" if bad else ""), count, k,
        "drop the suppressed rows, or suppress more of them",
    )  # fmt: skip


def maximum_risk(case: Case) -> Finding:
    """The chance to find the record at the greatest risk."""
    risk = 1.0 / case.joint.smallest if case.joint.smallest else 0.0
    limit = case.policy.thresholds.maximum_risk
    told = f"whoever knows a record's quasi-identifiers finds it with a chance of at most {risk:.4g}"
    return case.judged("maximum-risk", limit is not None and risk > limit, told, round(risk, 6), limit, CAUTION)


def average_risk(case: Case) -> Finding:
    """The mean chance over all records."""
    records = int(case.joint.sizes.sum())
    risk = case.joint.sizes.size / records if records else 0.0
    limit = case.policy.thresholds.average_risk
    told = f"over all records that chance is {risk:.4g} on average"
    return case.judged("average-risk", limit is not None and risk > limit, told, round(risk, 6), limit, CAUTION)


def row_risk(case: Case) -> Finding:
    """Records above the greatest risk that a single record may have."""
    limit = case.policy.thresholds.row_risk
    above = int(case.joint.sizes[1.0 / case.joint.sizes > limit].sum()) if limit is not None else 0
    told = f"{above:,} records have a risk above {limit:g}" if limit is not None else "no limit for a single record"
    return case.judged("row-risk", above > 0, told, above, 0, CAUTION)


def small_counts(case: Case) -> Finding:
    """Classes so small that a table of them would show counts nobody may publish."""
    limit = case.policy.thresholds.small_count
    small = int((case.joint.sizes <= limit).sum())
    told = f"{small:,} classes have 1 to {limit} records" if limit else "the policy has no rule on small counts"
    return case.judged("small-counts", small > 0, told, small, 0, f"take k above {limit}")


def uniques_other(case: Case) -> Finding:
    """Records that are unique in the columns left as they were, the confidential ones apart."""
    columns = tuple(name for name in case.untouched if name not in case.asked.confidential)
    if not columns:
        return case.judged("uniques-other", False, "every released column is protected or confidential", 0, 0)
    alone = {name: int((classes(case.after, (name,)).sizes == 1).sum()) for name in columns}
    together = int((classes(case.after, columns).sizes == 1).sum())
    worst = max(alone, key=lambda name: alone[name])
    told = f"{together:,} records are unique in the columns left as they were ({', '.join(columns)})"
    if alone[worst]:
        told += f"; {worst!r} alone makes {alone[worst]:,} unique"
    return case.judged(
        "uniques-other", together > 0, told, together, 0,
        "name what an intruder may know as quasi-identifiers, what nobody should learn as confidential",
    )  # fmt: skip
