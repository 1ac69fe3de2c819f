"""Histograms of a column before and after, and what a public report may show of a column.

A public report does not show anything that could disclose a record. Bins end at round numbers and not at values of the
data. A bar with fewer records than the threshold is not drawn, and never a single one, which would follow from the
total. A quantile is the mean of as many records around it as the threshold says. A mean or standard deviation is left
out if a few records dominate it. This is the p % rule: an intruder who knows the second largest contribution must not
be able to estimate the largest to within p % (Hundepool et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats, Ints

MIN_RECORDS_SHOWN = 10  # fewest records behind any value of a public report, unless k is larger
P_PERCENT = 0.10
BARS = 30


@dataclass(frozen=True)
class Bins:
    """Bars of equal width, with the number of records before and after; `hides` if small bars are set to 0."""

    middles: list[float]
    width: float
    before: list[int]
    after: list[int]
    hides: bool = False


def threshold(k: int | None) -> int:
    """The fewest records that a value of a public report may stand for."""
    return max(MIN_RECORDS_SHOWN, k or 0)


def is_small(count: int, total: int, min_records: int) -> bool:
    """Whether a count, or the rest of the total, is above 0 and below `min_records`."""
    return 0 < count < min_records or 0 < total - count < min_records


def bins(before: Floats, after: Floats, min_records: int | None = None) -> Bins | None:
    """The histograms of a column, or None if nothing can be drawn; a public report sets `min_records`."""
    before, after = sorted_present(before), sorted_present(after)
    if not before.size or not after.size:
        return None
    # The end bars include all values beyond: otherwise a few large values would push all others into one bar.
    if min_records is None:
        low, high = (float(q) for q in np.quantile(before, [0.005, 0.995]))
        if not high > low:
            low, high = float(before[0]), float(before[-1])
    else:
        ends = [smoothed(before, share, min_records) for share in (0.02, 0.98)]
        if ends[0] is None or ends[1] is None or not ends[1] > ends[0]:
            return None
        low, high = ends[0], ends[1]
    edges = round_edges(low, high, whole=bool((before == np.rint(before)).all()))
    counts = [np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] for values in (before, after)]
    if min_records is not None:
        counts = [without_small(c, min_records) for c in counts]
    middles = (edges[:-1] + edges[1:]) / 2
    return Bins(
        middles.tolist(), float(edges[1] - edges[0]), counts[0].tolist(), counts[1].tolist(), min_records is not None
    )


def round_edges(low: float, high: float, whole: bool = False) -> Floats:
    """The edges of at most about thirty bins, as multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    wanted = (high - low) / BARS
    if wanted < np.finfo(float).tiny:  # the range is too narrow to be divided
        return np.array([low, high])
    power = 10.0 ** np.floor(np.log10(wanted))
    step = next(float(m * power) for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9))
    if whole:
        step = max(step, 1.0)
    first, last = np.floor(low / step), np.ceil(high / step)
    if whole:
        last += 1.0  # a whole number is in the middle of its bar, or at the left end of a wider bar
    edges = np.arange(first, max(last, first + 1) + 0.5) * step
    if whole:
        edges = edges - 0.5
    # With a large offset and a small range, multiples of the step may be equal in float64.
    return edges if (np.diff(edges) > 0).all() else np.array([low, high])


def without_small(counts: Ints, min_records: int) -> Ints:
    """Set counts below `min_records` to 0, and enough others that the hidden total is not small either.

    >>> without_small(np.array([50, 3, 12, 0, 30]), 10).tolist()
    [50, 0, 0, 0, 30]
    """
    shown = np.where(counts >= min_records, counts, 0)
    hidden = int(counts.sum() - shown.sum())
    for place in np.argsort(counts, kind="stable"):
        if hidden == 0 or hidden >= min_records:
            break
        hidden += int(shown[place])
        shown[place] = 0
    return shown if hidden == 0 or hidden >= min_records else np.zeros_like(counts)


def sorted_present(values: Floats) -> Floats:
    """The values that are not missing, in ascending order."""
    return np.sort(values[~np.isnan(values)])


def smoothed(ordered: Floats, share: float, min_records: int) -> float | None:
    """A quantile as the mean of the `min_records` records around it.

    None if there are too few records, or if one record dominates the tail.
    """
    if ordered.size < 2 * min_records:
        return None
    start = int(np.clip(round(share * (ordered.size - 1)) - min_records // 2, 0, ordered.size - min_records))
    around = ordered[start : start + min_records]
    near_an_end = start < min_records or start + 2 * min_records > ordered.size
    return None if near_an_end and is_dominated(around, 1) else float(around.mean())


def is_dominated_by_few(ordered: Floats, min_records: int) -> bool:
    """Whether a few records dominate the mean or standard deviation: too few records, or too few that differ."""
    if ordered.size < min_records:
        return True
    differing = int((ordered != ordered[ordered.size // 2]).sum())
    return 0 < differing < min_records or is_dominated(ordered, 1) or is_dominated(ordered, 2)


def is_dominated(ordered: Floats, power: int) -> bool:
    """Whether the p % rule applies to the distances from the median: the largest against all but the two largest."""
    parts = np.abs(ordered - np.median(ordered))
    parts = (parts / max(parts[0], parts[-1], 5e-324)) ** power  # the largest becomes 1, whatever the unit
    second = np.sort(parts[[0, 1, -2, -1]])[-2] if parts.size > 3 else parts.sum() - 1.0
    return bool(parts.max() > 0 and parts.sum() - 1.0 - second < P_PERCENT)
