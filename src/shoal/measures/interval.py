"""Interval disclosure: how often a protected value lies within a few percent of the original value (GOMM thesis).

Three named forms, each averaged over p = 1, 2, ..., 10:
    deviation  abs(x - x') <= p % of the column's standard deviation (the default)
    rank       the ranks of x and x' among the original values differ by at most p % of n
    thesis     abs(x - x') <= p % of x', an interval around the protected value, on values scaled to [0, 1]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Floats
from shoal.errors import check_choice
from shoal.measures.measure import Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence

PERCENTS = tuple(range(1, 11))


def interval_disclosure(original: Floats, protected: Floats, form: str = "deviation") -> float:
    """The percentage of cells whose original value lies within the interval, 0 to 100.

    Constant columns are left out, because they disclose nothing; if all columns are constant, the result is 0.
    """
    check_choice("form of interval disclosure", form, FORMS)
    varied = np.flatnonzero(np.ptp(original, axis=0) > 0)
    if not varied.size:
        return 0.0
    return float(np.mean([FORMS[form](original[:, j], protected[:, j]) for j in varied]))


def _deviation(before: Floats, after: Floats) -> float:
    spread = float(np.std(before - before[0]))
    return _share(np.abs(before - after), np.full(len(before), spread))


def _rank(before: Floats, after: Floats) -> float:
    ordered = np.sort(before)
    # The mean of the ranks that a value has, or would have, among the original values.
    ranks = [
        (np.searchsorted(ordered, v, "left") + np.searchsorted(ordered, v, "right")) / 2.0 for v in (before, after)
    ]
    return _share(np.abs(ranks[0] - ranks[1]), np.full(len(before), float(len(before))))


def _thesis(before: Floats, after: Floats) -> float:
    low, width = before.min(), np.ptp(before)
    unit_before, unit_after = (before - low) / width, (after - low) / width
    return _share(np.abs(unit_before - unit_after), np.abs(unit_after))


def _share(miss: Floats, width: Floats) -> float:
    """The percentage of differences within p % of a width, averaged over the values of p."""
    return 100.0 * float(np.mean([np.mean(miss <= 0.01 * p * width) for p in PERCENTS]))


FORMS: dict[str, Callable[[Floats, Floats], float]] = {"deviation": _deviation, "rank": _rank, "thesis": _thesis}


def _of_release(evidence: Evidence) -> float:
    return interval_disclosure(*evidence.numbers(), "thesis" if evidence.convention.relative else "deviation")


MEASURES = (
    Measure(
        name="interval_disclosure",
        kind="risk",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="protected values close to the original",
        formula="percentage of cells whose original value lies within p % of a standard deviation, mean of p = 1 to 10",
        compute=_of_release,
        short="interval %",
    ),
)
