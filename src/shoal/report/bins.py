"""Bins for a column's histogram before and after, and what an external report may show of a column.

An external page shows nothing that could tell a record. Bins end at round numbers, not at values of the data; bars of
fewer records than the threshold are not drawn, and never a single one that the total would give away; a quantile is the
mean of as many records as the threshold around it; a mean or deviation that few records make is left out (the p % rule
of the field: whoever knows the second largest part must not be able to tell the largest to within p %).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats, Ints

AT_LEAST = 10  # records behind anything that an external page shows, or k if that is more
PROTECTION = 0.10
BARS = 30


@dataclass(frozen=True)
class Bins:
    """Bars of equal width: their middles and the records of each before and after; hides: small bars are set to 0."""

    middles: list[float]
    width: float
    before: list[int]
    after: list[int]
    hides: bool = False


def threshold(k: int | None) -> int:
    """The fewest records that an external page may show."""
    return max(AT_LEAST, k or 0)


def is_small(count: int, total: int, least: int) -> bool:
    """Whether a count, or what is left of the total, is a number below `least` other than 0."""
    return 0 < count < least or 0 < total - count < least


def bins(before: Floats, after: Floats, least: int | None = None) -> Bins | None:
    """The histograms of a column; with `least`, none of what fewer records would show. None: nothing to draw."""
    before, after = in_order(before), in_order(after)
    if not before.size or not after.size:
        return None
    # A few very large values would squeeze all others into one bar: the end bars take what lies beyond.
    if least is None:
        low, high = (float(q) for q in np.quantile(before, [0.005, 0.995]))
        if not high > low:
            low, high = float(before[0]), float(before[-1])
    else:
        ends = [smoothed(before, share, least) for share in (0.02, 0.98)]
        if ends[0] is None or ends[1] is None or not ends[1] > ends[0]:
            return None
        low, high = ends[0], ends[1]
    edges = round_edges(low, high, whole=bool((before == np.rint(before)).all()))
    counts = [np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] for values in (before, after)]
    if least is not None:
        counts = [without_small(c, least) for c in counts]
    middles = (edges[:-1] + edges[1:]) / 2
    return Bins(middles.tolist(), float(edges[1] - edges[0]), counts[0].tolist(), counts[1].tolist(), least is not None)


def round_edges(low: float, high: float, whole: bool = False) -> Floats:
    """About thirty bins or fewer whose ends are multiples of 1, 2 or 5 times a power of ten."""
    if not high > low:
        return np.array([low - 0.5, low + 0.5])
    wanted = (high - low) / BARS
    if wanted < np.finfo(float).tiny:  # too narrow to be divided
        return np.array([low, high])
    power = 10.0 ** np.floor(np.log10(wanted))
    step = next(float(m * power) for m in (1, 2, 5, 10) if m * power >= wanted * (1 - 1e-9))
    if whole:
        step = max(step, 1.0)
    first, last = np.floor(low / step), np.ceil(high / step)
    if whole:
        last += 1.0  # whole numbers stand in the middle of their bars, or at the left end of wider ones
    edges = np.arange(first, max(last, first + 1) + 0.5) * step
    if whole:
        edges = edges - 0.5
    # With a huge offset and a tiny spread multiples of the step may coincide in float64.
    return edges if (np.diff(edges) > 0).all() else np.array([low, high])


def without_small(counts: Ints, least: int) -> Ints:
    """The counts with those below `least` set to 0, and enough others that the hidden total is not small either.

    >>> without_small(np.array([50, 3, 12, 0, 30]), 10).tolist()
    [50, 0, 0, 0, 30]
    """
    shown = np.where(counts >= least, counts, 0)
    hidden = int(counts.sum() - shown.sum())
    for place in np.argsort(counts, kind="stable"):
        if hidden == 0 or hidden >= least:
            break
        hidden += int(shown[place])
        shown[place] = 0
    return shown if hidden == 0 or hidden >= least else np.zeros_like(counts)


def in_order(values: Floats) -> Floats:
    """The values that are there, sorted."""
    return np.sort(values[~np.isnan(values)])


def smoothed(ordered: Floats, share: float, least: int) -> float | None:
    """A quantile as the mean of the `least` records around it; None for too few, or near an end that one makes."""
    if ordered.size < 2 * least:
        return None
    start = int(np.clip(round(share * (ordered.size - 1)) - least // 2, 0, ordered.size - least))
    around = ordered[start : start + least]
    near_an_end = start < least or start + 2 * least > ordered.size
    return None if near_an_end and dominated(around, 1) else float(around.mean())


def tells_few(ordered: Floats, least: int) -> bool:
    """Whether a column's mean or deviation would tell of a few records: too few of them, or too few that differ."""
    if ordered.size < least:
        return True
    differing = int((ordered != ordered[ordered.size // 2]).sum())
    return 0 < differing < least or dominated(ordered, 1) or dominated(ordered, 2)


def dominated(ordered: Floats, power: int) -> bool:
    """The p % rule on the distances from the median: the largest part, against all but the two largest."""
    parts = np.abs(ordered - ordered[ordered.size // 2])
    parts = (parts / max(parts[0], parts[-1], 5e-324)) ** power  # the largest is 1, whatever the unit
    second = np.sort(parts[[0, 1, -2, -1]])[-2] if parts.size > 3 else parts.sum() - 1.0
    return bool(parts.max() > 0 and parts.sum() - 1.0 - second < PROTECTION)
