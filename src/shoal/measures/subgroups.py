"""How analyses change: means, medians, totals and slopes of protected numbers by label, and signs of differences.

These are values that users of a release compute, so they are compared directly (analysis-specific utility: Karr,
Kohnen, Oganian, Reiter and Sanil 2006). Labels are codes from 0; a negative code is a missing label. A record counts if
its number is not missing before or after and its weight is positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Codes, Floats, Ints
from shoal.measures.columns import moments

NumericColumns = Mapping[str, tuple[Floats, Floats]]  # before, after
LabelColumns = Mapping[str, tuple[Codes, Codes, Sequence[str]]]  # codes before, codes after, the name of each code

MAX_LABELS = 200  # most values of a label column; more subgroups are not useful
MAX_PAIRS = 200  # most pairs of numeric columns whose signs are compared; pairs that overlap most come first
MIN_OVERLAP = 0.5  # smallest overlap of the ranges of two numeric columns of similar scale
FAR = 10.0 * (1 + 1e-9)  # a released value changed a lot if it is more than ten times larger or smaller, up to rounding
FLOOR_SHARE = (
    0.1  # share of a typical value; factors and relative changes are never computed relative to a smaller number
)


class SubgroupFigures(NamedTuple):
    """One number by one label column; the arrays have one entry per code, NaN if a label has no records."""

    records_before: Ints
    records_after: Ints
    mean_before: Floats
    mean_after: Floats
    median_before: Floats
    median_after: Floats
    mean_change: Floats  # relative to the mean before
    median_change: Floats  # relative to the median before


class Subgroup(NamedTuple):
    """A number in the records of one label; `change` is the relative change of the mean."""

    column: str
    by: str
    label: str
    records: int
    mean_before: float
    mean_after: float
    median_before: float
    median_after: float
    change: float


class WorstSubgroups(NamedTuple):
    """The subgroups whose means changed most.

    Attributes:
        left_out: The number of label columns with too many values.
        vanished: The number of labels with enough original records that no released record has.
    """

    worst: tuple[Subgroup, ...]
    left_out: int
    vanished: int


class Slope(NamedTuple):
    """The mean of the records with a label minus the mean of all others, in standard deviations of the original."""

    column: str
    by: str
    label: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


class SignChange(NamedTuple):
    """The share of records in which the sign of a - b changed."""

    a: str
    b: str
    share: float


class SignChanges(NamedTuple):
    """The pairs of columns with the largest shares, and how many pairs of similar scale were measured or left out."""

    worst: tuple[SignChange, ...]
    pairs: int
    left_out: int


class FarOff(NamedTuple):
    """Records whose value changed by more than a factor of ten, their share, and the largest factor."""

    records: int
    share: float
    largest_factor: float


class TotalFactor(NamedTuple):
    """The total of a number over one label, and the factor by which it changed."""

    column: str
    by: str
    label: str
    before: float
    after: float
    factor: float


class _Side(NamedTuple):
    """The values of a numeric column before or after protection, and the origin of sums."""

    values: Floats
    weights: Floats | None
    origin: float


class _Number(NamedTuple):
    """The records of a numeric column that count."""

    present: Bools
    before: _Side
    after: _Side
    floor: float


class _Labels(NamedTuple):
    """The label codes of the records that count, and how many codes there are."""

    before: Codes
    after: Codes
    width: int


def subgroup_figures(
    before: Floats, after: Floats, labels_before: Codes, labels_after: Codes, weights: Floats | None = None
) -> SubgroupFigures:
    """The mean and median of a number by label, in the original by original labels, in the release by released ones.

    >>> figures = subgroup_figures(*np.array([[1.0, 3.0, 8.0], [2.0, 2.0, 8.0]]), *np.array([[0, 0, 1], [0, 0, 1]]))
    >>> figures.mean_after.tolist(), figures.median_change.tolist()
    ([2.0, 8.0], [0.0, 0.0])
    """
    number = _number(before, after, weights)
    labels = _labels(number, labels_before, labels_after)
    left = _means(number.before, labels.before, labels.width)
    right = _means(number.after, labels.after, labels.width)
    medians = (
        _medians(number.before, labels.before, labels.width),
        _medians(number.after, labels.after, labels.width),
    )
    return SubgroupFigures(
        left.records, right.records, left.mean, right.mean, *medians,
        _relative_change(left.mean, right.mean, number.floor), _relative_change(*medians, number.floor),
    )  # fmt: skip


def worst_subgroups(
    numeric: NumericColumns,
    labels: LabelColumns,
    weights: Floats | None = None,
    min_records: int = 10,
    most: int = 5,
) -> WorstSubgroups:
    """The labels with at least `min_records` original records in which the mean of a number changed most.

    If a label column was generalized, the codes before must be those of the categories; otherwise every label vanishes.
    """
    tabulated = _tabulated(labels)
    vanished: set[tuple[str, int]] = set()  # a label counts once, whatever the number of numeric columns
    ranked: list[tuple[float, str, str, int]] = []
    for column, by, number, codes in _crossed(numeric, tabulated, weights):
        before = _means(number.before, codes.before, codes.width)
        after = _means(number.after, codes.after, codes.width)
        enough = before.records >= max(min_records, 1)
        vanished.update((by, int(c)) for c in np.flatnonzero(enough & (after.records == 0)))
        change = _relative_change(before.mean, after.mean, number.floor)
        ranked += [(float(change[c]), column, by, c) for c in _largest(change, enough, most)]
    ranked.sort(key=lambda one: -abs(one[0]))
    worst = tuple(_subgroup(numeric, tabulated, weights, *one) for one in ranked[:most])
    return WorstSubgroups(worst, len(labels) - len(tabulated), len(vanished))


def slopes(
    numeric: NumericColumns,
    labels: LabelColumns,
    weights: Floats | None = None,
    min_records: int = 10,
    most: int = 5,
) -> tuple[Slope, ...]:
    """The labels whose difference from all other records changed most.

    With two labels, this is the slope of a regression of the number on the second label, in standard deviations. The
    label and the others both need `min_records` original records.
    """
    changed_slopes: list[Slope] = []
    tabulated = _tabulated(labels)
    for column, by, number, codes in _crossed(numeric, tabulated, weights):
        unit = moments(number.before.values, number.before.weights).deviation
        if not unit > 0:
            continue
        records = np.bincount(codes.before[codes.before >= 0], minlength=codes.width)
        enough = (records >= min_records) & (records.sum() - records >= min_records)
        if (records > 0).sum() == 2:
            enough[np.argmax(records > 0)] = False  # two labels have one slope
        before = _against_the_rest(number.before, codes.before, codes.width) / unit
        after = _against_the_rest(number.after, codes.after, codes.width) / unit
        names = tabulated[by][2]
        for c in _largest(after - before, enough, most):
            changed_slopes.append(Slope(column, by, names[c], float(before[c]), float(after[c])))
    return tuple(sorted(changed_slopes, key=lambda slope: -abs(slope.change))[:most])


def worst_total_factor(
    numeric: NumericColumns, labels: LabelColumns, weights: Floats | None = None, min_records: int = 10
) -> TotalFactor | None:
    """The total by label that changed by the largest factor; None if no label has `min_records` original records."""
    worst: TotalFactor | None = None
    tabulated = _tabulated(labels)
    for column, by, number, codes in _crossed(numeric, tabulated, weights):
        before = _sums(number.before, codes.before, codes.width)
        after = _sums(number.after, codes.after, codes.width)
        factor = _factors(before.total, after.total, np.maximum(number.floor * before.weight, np.finfo(float).tiny))
        for c in _largest(factor, before.records >= min_records, 1):
            if worst is None or factor[c] > worst.factor:
                totals = float(before.total[c]), float(after.total[c])
                worst = TotalFactor(column, by, tabulated[by][2][c], *totals, float(factor[c]))
    return worst


def far_off(before: Floats, after: Floats) -> FarOff:
    """The released values that are more than ten times too large or too small.

    A typical value is the median of the absolute original values other than 0. Numbers below a tenth of it count as
    this tenth, so that a 0 released as a small number is not far off. A value whose sign changed is compared with it.

    >>> far_off(np.array([100.0, 200.0, 0.0, 300.0]), np.array([100.0, 3000.0, 15.0, -300.0]))
    FarOff(records=2, share=0.5, largest_factor=15.0)
    """
    number = _number(before, after, None)
    if not number.before.values.size:
        return FarOff(0, 0.0, 1.0)
    factors = _factors(number.before.values, number.after.values, number.floor)
    records = int((factors > FAR).sum())
    return FarOff(records, records / factors.size, float(factors.max()))


def sign_changes(before_a: Floats, after_a: Floats, before_b: Floats, after_b: Floats) -> float:
    """The share of records in which a > b or a < b no longer holds; records with a = b before do not count.

    >>> sign_changes(*np.array([[3.0, 1.0, 2.0], [3.0, 4.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.0, 1.0]]))
    0.3333333333333333
    """
    complete = np.isfinite(before_a) & np.isfinite(after_a) & np.isfinite(before_b) & np.isfinite(after_b)
    if not complete.any():
        return 0.0
    order = _signs(before_a, before_b)
    changed = complete & (order != 0) & (order != _signs(after_a, after_b))
    return int(changed.sum()) / int(complete.sum())


def sign_change_pairs(numeric: NumericColumns, most: int = 5) -> SignChanges:
    """The pairs of columns of similar scale in which the sign of the difference changed most often.

    The scale is similar if the ranges from the 5 % to the 95 % quantile have at least half of their union in common.
    """
    names = list(numeric)
    pairs = _like_scale([numeric[name][0] for name in names])
    measured = [
        SignChange(names[i], names[j], sign_changes(*numeric[names[i]], *numeric[names[j]]))
        for i, j in pairs[:MAX_PAIRS]
    ]
    worst = sorted(measured, key=lambda pair: -pair.share)[:most]
    return SignChanges(tuple(worst), len(measured), len(pairs) - len(measured))


class _Sums(NamedTuple):
    records: Ints
    weight: Floats
    total: Floats


class _Means(NamedTuple):
    records: Ints
    mean: Floats


def _number(before: Floats, after: Floats, weights: Floats | None) -> _Number:
    present = np.isfinite(before) & np.isfinite(after)
    if weights is not None:
        present &= weights > 0
    left, right = before[present], after[present]
    weigh = None if weights is None else weights[present]
    sides = _Side(left, weigh, _origin(left)), _Side(right, weigh, _origin(right))
    return _Number(present, *sides, _floor(left, right))


def _floor(before: Floats, after: Floats) -> float:
    """A tenth of a typical absolute value; it uses the median, because one large value would hide other changes."""
    for values in (before, after):
        sizes = np.abs(values[values != 0])
        if sizes.size:
            return max(FLOOR_SHARE * float(np.median(sizes)), float(np.finfo(float).tiny))
    return 1.0


def _origin(values: Floats) -> float:
    """An origin for sums, because sums of numbers such as 1e9 + 1 would lose a small variance by rounding."""
    middle = float(np.median(values)) if values.size else 0.0
    return middle if values.size and np.ptp(values) < abs(middle) else 0.0


def _labels(number: _Number, before: Codes, after: Codes) -> _Labels:
    count = int(max(before.max(initial=-1), after.max(initial=-1))) + 1
    if number.present.all():
        return _Labels(before, after, count)
    return _Labels(before[number.present], after[number.present], count)


def _tabulated(labels: LabelColumns) -> LabelColumns:
    """The label columns that do not have too many values."""
    return {by: one for by, one in labels.items() if max(_distinct(one[0]), _distinct(one[1])) <= MAX_LABELS}


def _distinct(codes: Codes) -> int:
    return int(np.count_nonzero(np.bincount(codes[codes >= 0])))


def _crossed(
    numeric: NumericColumns, labels: LabelColumns, weights: Floats | None
) -> Iterator[tuple[str, str, _Number, _Labels]]:
    """Every numeric column with every label column; a number is prepared once for all label columns."""
    for column, (before, after) in numeric.items():
        number = _number(before, after, weights)
        for by, (codes_before, codes_after, _) in labels.items():
            yield column, by, number, _labels(number, codes_before, codes_after)


def _sums(side: _Side, codes: Codes, width: int, origin: float = 0.0) -> _Sums:
    """The records, the weight and the total of the values minus the origin, by code."""
    labelled = codes >= 0
    values, codes = (side.values - origin)[labelled], codes[labelled]
    records = np.bincount(codes, minlength=width).astype(np.int64)
    weight: Floats = records.astype(np.float64)
    if side.weights is not None:
        weights = side.weights[labelled]
        weight = np.bincount(codes, weights=weights, minlength=width).astype(np.float64)
        values = weights * values
    return _Sums(records, weight, np.bincount(codes, weights=values, minlength=width).astype(np.float64))


def _means(side: _Side, codes: Codes, width: int) -> _Means:
    sums = _sums(side, codes, width, side.origin)
    with np.errstate(invalid="ignore"):
        return _Means(sums.records, sums.total / sums.weight + side.origin)


def _against_the_rest(side: _Side, codes: Codes, width: int) -> Floats:
    """The mean of each label minus the mean of the other labelled records."""
    sums = _sums(side, codes, width, side.origin)
    rest = sums.records.sum() - sums.records
    with np.errstate(invalid="ignore", divide="ignore"):
        others = np.where(rest > 0, (sums.total.sum() - sums.total) / (sums.weight.sum() - sums.weight), np.nan)
        return np.asarray(sums.total / sums.weight - others)


def _medians(side: _Side, codes: Codes, width: int) -> Floats:
    """The weighted median by code; the mean of two values if exactly half of the weight lies below."""
    order = np.lexsort((side.values, codes))
    order = order[int((codes < 0).sum()) :]
    values, codes = side.values[order], codes[order]
    weight = np.ones(order.size) if side.weights is None else side.weights[order]
    medians = np.full(width, np.nan)
    if not order.size:
        return medians
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    ends = np.append(starts[1:], order.size)
    reached = np.cumsum(weight)
    base = reached[starts] - weight[starts]
    half = base + (reached[ends - 1] - base) / 2
    slack = 1e-12 * reached[-1]  # of the running sum: half the weight is met up to rounding
    lower = np.clip(np.searchsorted(reached, half - slack), starts, ends - 1)
    upper = np.clip(np.searchsorted(reached, half + slack, side="right"), starts, ends - 1)
    medians[codes[starts]] = values[lower] + (values[upper] - values[lower]) / 2
    return medians


def _relative_change(before: Floats, after: Floats, floor: float) -> Floats:
    return np.asarray((after - before) / np.maximum(np.abs(before), floor))


def _factors(before: Floats, after: Floats, floor: float | Floats) -> Floats:
    """By which factor each number is off, at least 1; across 0, the larger size over the floor."""
    one, two = np.maximum(np.abs(before), floor), np.maximum(np.abs(after), floor)
    crossed = np.sign(before) * np.sign(after) < 0
    with np.errstate(over="ignore"):
        return np.asarray(np.maximum(one, two) / np.where(crossed, floor, np.minimum(one, two)))


def _largest(values: Floats, allowed: Bools, most: int) -> list[int]:
    """The positions of the largest absolute values, in descending order, without NaN."""
    places = np.flatnonzero(allowed & ~np.isnan(values))
    return [int(c) for c in places[np.argsort(-np.abs(values[places]), kind="stable")[:most]]]


def _subgroup(
    numeric: NumericColumns, labels: LabelColumns, weights: Floats | None, change: float, column: str, by: str, c: int
) -> Subgroup:
    """All values of one subgroup; medians are taken here alone, because they need a sort."""
    number = _number(*numeric[column], weights)
    codes = _labels(number, *labels[by][:2])
    mean_before, median_before = _centre(number.before, codes.before == c)
    mean_after, median_after = _centre(number.after, codes.after == c)
    records = int((codes.before == c).sum())
    return Subgroup(column, by, labels[by][2][c], records, mean_before, mean_after, median_before, median_after, change)


def _centre(side: _Side, inside: Bools) -> tuple[float, float]:
    """Mean and median of some records."""
    weights = None if side.weights is None else side.weights[inside]
    chosen = _Side(side.values[inside], weights, side.origin)
    code = np.zeros(chosen.values.size, dtype=np.int64)
    return float(_means(chosen, code, 1).mean[0]), float(_medians(chosen, code, 1)[0])


def _signs(a: Floats, b: Floats) -> NDArray[np.int8]:
    """Compared, not subtracted: the difference of two tiny or huge numbers may be no number."""
    return (a > b).astype(np.int8) - (a < b).astype(np.int8)


def _like_scale(columns: Sequence[Floats]) -> list[tuple[int, int]]:
    """The pairs of columns whose ranges overlap enough, in descending order of overlap."""
    ranges = np.array([_range(values) for values in columns]).reshape(-1, 2)
    low, high = ranges[:, 0], ranges[:, 1]
    common = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    union = np.maximum(high[:, None], high) - np.minimum(low[:, None], low)
    with np.errstate(invalid="ignore", divide="ignore"):
        overlap = np.triu(np.where(common > 0, common / union, 0.0), 1)
    i, j = np.nonzero(overlap >= MIN_OVERLAP)
    order = np.argsort(-overlap[i, j], kind="stable")
    return [(int(a), int(b)) for a, b in zip(i[order], j[order], strict=True)]


def _range(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, (0.05, 0.95))
    return float(low), float(high)
