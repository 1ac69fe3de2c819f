"""What the released value of a group discloses about its members.

Microaggregation releases means or medians. A mean that one member dominates, a median that is a member's value, an
exact mean of two or three, and the last bits of a sum each disclose more than the method intends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.errors import counted
from shoal.gate.cells import Classes, numbers
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.findings import Finding, percent

MAX_UNCHANGED = 0.05  # share of numbers that may equal their group's mean by chance
FEW = 3  # in a group of at most so many, the others can compute the last member's value from an exact mean
LAST_BITS = 8  # a difference of at most so many steps of the last bit is rounding
FAR = 8 * LAST_BITS  # original values that are all further apart have no rounding


def misplaced(context: CheckContext) -> int:
    """Return the number of classes that do not hold their members' mean or median, if most classes of a column do."""
    return misplaced_classes(fitting_classes(context))


class Fitting(NamedTuple):
    """How many classes hold their members' mean, weighted mean and median in one column.

    Equal members fit every mean and median, so only classes with different members are informative.

    Attributes:
        fits: The classes that fit, for each of the three.
        informative: Those of them with different members.
        classes: All classes.
        varied: The classes with different members.
        gaps: Whether a value is missing, so that the column is not judged.
    """

    fits: tuple[int, ...]
    informative: tuple[int, ...]
    classes: int
    varied: int
    gaps: bool

    def plus(self, other: Fitting) -> Fitting:
        """Return the sums of other classes and these."""
        fits, informative = (
            tuple(a + b for a, b in zip(one, two, strict=True))
            for one, two in ((self.fits, other.fits), (self.informative, other.informative))
        )
        return Fitting(
            fits, informative, self.classes + other.classes, self.varied + other.varied, self.gaps or other.gaps
        )


def fitting_classes(context: CheckContext) -> list[Fitting]:
    """Return for each aggregated column of each class set how many classes hold their members' mean or median."""
    made = []
    for groups, name, before, after in _columns(context):
        if np.isnan(before).any():
            made.append(Fitting((0, 0, 0), (0, 0, 0), 0, 0, True))
            continue
        varied = groups.reduced(np.minimum, before) < groups.reduced(np.maximum, before)
        flags = _fits(context, groups, name, before, after)
        made.append(
            Fitting(
                tuple(int(fits.sum()) for fits in flags), tuple(int(fits[varied].sum()) for fits in flags),
                int(varied.size), int(varied.sum()), False,
            )
        )  # fmt: skip
    return made


def misplaced_classes(columns: Sequence[Fitting]) -> int:
    """Return the number of classes that do not fit, if most classes of a column do."""
    wrong = 0
    for column in columns:
        best = int(np.argmax(column.fits))
        fits = column.fits[best]
        good, judged = (column.informative[best], column.varied) if column.varied else (fits, column.classes)
        if not column.gaps and fits < column.classes and 2 * good >= judged:
            wrong = max(wrong, column.classes - fits)
    return wrong


def holds_aggregates(context: CheckContext) -> bool:
    """Whether most classes of every averaged column hold their rows' mean or median, so that rows are in place."""
    shares = []
    for column in fitting_classes(context):
        if column.varied:
            shares.append(column.informative[int(np.argmax(column.fits))] / column.varied)
    return bool(shares) and min(shares) >= 0.5


def _columns(context: CheckContext) -> list[tuple[Classes, str, Floats, Floats]]:
    """Return each aggregated column, before and after, with the classes in which all members share its value."""
    return [
        (groups, name, *context.aggregated[name])
        for groups in context.class_sets
        for name in groups.columns
        if name in context.aggregated and groups.sizes.size
    ]


def _fits(context: CheckContext, groups: Classes, name: str, before: Floats, after: Floats) -> list[Bools]:
    """Return which classes hold the mean, the weighted mean and the median of a column."""
    released = after[groups.first]
    # A released value may lie 0.5 from the exact one if whole numbers stayed whole.
    rounded = 0.5 if context.is_whole(name) else 0.0
    slack = rounded + 1e-9 * groups.reduced(np.maximum, np.abs(before)) + 1e-300
    none = np.zeros(groups.sizes.size, dtype=bool)
    with np.errstate(all="ignore"):
        fits = [np.abs(groups.reduced(np.add, before) / groups.sizes - released) <= slack, none]
        if context.guarantees.weight is not None:
            weight = numbers(context.before[context.guarantees.weight])
            mean = groups.reduced(np.add, before * weight) / groups.reduced(np.add, weight)
            fits[1] = np.abs(mean - released) <= slack
    is_needed = context.is_part or not any(flags.all() for flags in fits)
    return [*fits, np.abs(_medians(groups, before) - released) <= slack if is_needed else none]


def _medians(groups: Classes, values: Floats) -> Floats:
    ranked = groups.ranked(values)
    middle = groups.starts + (groups.sizes - 1) // 2
    return np.asarray((ranked[middle] + ranked[middle + (groups.sizes + 1) % 2]) / 2)


# -- disclosures -------------------------------------------------------------------------------


def dominance(context: CheckContext) -> Finding:
    """Groups with too few members, or with two members that make up most of the total of absolute values."""
    if not context.aligned:
        return context.unmeasured("dominance", UNALIGNED, UNALIGNED_TODO)
    return of_dominated(context, small_groups(context), dominated_totals(context))


class Dominated(NamedTuple):
    """The group totals of a column that two members make up, and the greatest shares of two members and of one.

    changed: whether any released value differs from the original, so that the column holds means.
    """

    name: str
    changed: bool
    groups: int
    pair: float
    top: float

    def plus(self, other: Dominated) -> Dominated:
        """Return the same of other groups and these."""
        pair, top = max((self.pair, self.top), (other.pair, other.top))
        return Dominated(self.name, self.changed or other.changed, self.groups + other.groups, pair, top)


def small_groups(context: CheckContext) -> int:
    """Return the number of groups with fewer members than the policy demands."""
    least = context.policy.thresholds.dominance_units
    return sum(int((context.unit_counts(groups) < least).sum()) for groups in context.class_sets)


def dominated_totals(context: CheckContext) -> list[Dominated]:
    """Return for each aggregated column of each class set which group totals one or two members dominate."""
    made = []
    for groups, name, before, after in _columns(context):
        changed = bool((before != after).any())
        if not changed and not context.is_part:
            continue
        top, pair = _shares(*_by_unit(context, groups, np.abs(np.nan_to_num(before))))
        largest = float(pair.max())
        above = int((pair > context.policy.thresholds.dominance_share).sum())
        made.append(Dominated(name, changed, above, largest, float(top[pair == largest].max())))
    return made


def of_dominated(context: CheckContext, small: int, columns: Sequence[Dominated]) -> Finding:
    """Return the finding on the groups with few members, and on the totals that two members dominate."""
    limits = context.policy.thresholds
    columns = [column for column in columns if column.changed]
    if not columns:
        return context.make_finding("dominance", False, "no column holds means, so no member can dominate one")
    dominated, one, two, worst = sum(column.groups for column in columns), 0.0, 0.0, ""
    for column in columns:
        if column.pair > two:
            one, two, worst = column.top, column.pair, column.name
    message = (
        f"{counted(small, 'group')} {'has' if small == 1 else 'have'} fewer than {limits.dominance_units} members; the "
        f"two largest members make up more than {percent(limits.dominance_share)} of "
        f"{counted(dominated, 'group total')}"
    )
    if worst:
        message += f" (at most {percent(two)} in {worst!r}, the largest member alone {percent(one)})"
    return context.make_finding(
        "dominance", small + dominated > 0, message, round(two, 4), limits.dominance_share,
        "use a larger k, or cap or recode the largest values before grouping",
    )  # fmt: skip


def _by_unit(context: CheckContext, groups: Classes, values: Floats) -> tuple[Classes, Floats]:
    """Return the classes with one member per unit, and the sum of each unit's values; unchanged without units."""
    if context.units is None:
        return groups, values
    inside, width = groups.labels >= 0, int(context.units.max(initial=0)) + 1
    pairs, member = np.unique(groups.labels[inside] * width + context.units[inside], return_inverse=True)
    labels = (pairs // width).astype(np.int64)
    totals: Floats = np.bincount(member.reshape(-1), weights=values[inside], minlength=pairs.size).astype(np.float64)
    sizes = np.bincount(labels, minlength=groups.sizes.size).astype(np.int64)
    return Classes(groups.columns, labels, sizes, np.arange(pairs.size)), totals


def _shares(groups: Classes, values: Floats) -> tuple[Floats, Floats]:
    """Return the shares of the largest and of the two largest members in each class total; 0 if the total is 0."""
    ranked = groups.ranked(values)
    last = groups.starts + groups.sizes - 1
    top = ranked[last]
    second = np.where(groups.sizes > 1, ranked[np.maximum(last - 1, 0)], 0.0)
    largest = np.where(top > 0, top, 1.0)  # relative to the largest member, so that no total overflows or underflows
    scaled = ranked / np.repeat(largest, groups.sizes)
    total = np.add.reduceat(scaled, groups.starts)
    safe = np.where(total > 0, total, 1.0)
    return np.asarray(top / largest / safe), np.asarray((top / largest + second / largest) / safe)


def unchanged_rows(context: CheckContext) -> Finding:
    """Records that keep their original values in every quasi-identifier, in a class smaller than k.

    Groups whose members are all equal do not count.
    """
    if not context.aligned:
        return context.unmeasured("unchanged-rows", UNALIGNED, UNALIGNED_TODO)
    return of_unchanged_rows(context, rows_kept(context))


def rows_kept(context: CheckContext) -> int | None:
    """Return the number of records with the original values, in a class smaller than k; None without any column."""
    if not context.kept_values:
        return None
    same, varied = zip(*context.kept_values, strict=True)
    small = np.ones(context.rows, dtype=bool)  # a record in a class of k is protected, whatever its values
    inside = context.known.labels >= 0
    small[inside] = (context.unit_counts(context.known) < context.promised_k)[context.known.labels[inside]]
    return int((np.all(same, axis=0) & np.any(varied, axis=0) & context.kept & small).sum())


def of_unchanged_rows(context: CheckContext, rows: int | None) -> Finding:
    """Return the finding on so many records."""
    limit = context.policy.thresholds.unchanged_rows
    if rows is None:
        return context.make_finding("unchanged-rows", False, "no column is protected", 0, limit)
    return context.make_finding(
        "unchanged-rows", rows > limit, f"{counted(rows, 'record')} {'keeps' if rows == 1 else 'keep'} the original "
        "values in every protected column, in a class smaller than k", rows, limit,
        "protect these records too, or remove them",
    )  # fmt: skip


def unchanged_cells(context: CheckContext) -> Finding:
    """Protected numbers that keep their original value.

    Groups of equal records do not count. Labels do not count either, because most labels equal the mode of their group.
    """
    if not context.aligned:
        return context.unmeasured("unchanged-cells", UNALIGNED, UNALIGNED_TODO)
    return of_unchanged_cells(context, *cells_kept(context))


def cells_kept(context: CheckContext) -> tuple[int, int]:
    """Return the protected numbers that keep their original value, and all protected numbers."""
    numeric = [name in context.aggregated for group in context.class_sets for name in group.columns]
    pairs = zip(context.kept_values, numeric, strict=True)
    cells = sum(int((same & varied & context.kept).sum()) for (same, varied), is_numeric in pairs if is_numeric)
    return cells, sum(numeric) * int(context.kept.sum())


def of_unchanged_cells(context: CheckContext, cells: int, numbers_in_all: int) -> Finding:
    """Return the finding on so many numbers."""
    share = cells / max(numbers_in_all, 1)
    return context.make_finding(
        "unchanged-cells", share > MAX_UNCHANGED,
        f"{counted(cells, 'protected number')} ({percent(share, 1)}) {'keeps' if cells == 1 else 'keep'} the original "
        "value, not counting groups of equal records",
        round(share, 6), MAX_UNCHANGED,
        "find out why: the median of an odd number of members is a member's value, or values were not replaced",
    )  # fmt: skip


def exact_means(context: CheckContext) -> Finding:
    """Groups of two or three that release an exact mean, and with it an exact total."""
    if not context.aligned:
        return context.unmeasured("exact-means", UNALIGNED, UNALIGNED_TODO)
    return of_solvable(context, max(solvable_groups(context), default=0))


def solvable_groups(context: CheckContext) -> list[int]:
    """Return for each aggregated column of each class set the groups whose members can compute the last one's value."""
    made = []
    for groups, name, before, after in _columns(context):
        made.append(0)
        if context.is_whole(name):
            continue
        units = context.unit_counts(groups)
        small = (units > 1) & (units <= FEW)
        if small.any():
            with np.errstate(all="ignore"):
                mean = groups.reduced(np.add, before) / groups.sizes
                exact = np.abs(mean - after[groups.first]) <= 1e-12 * groups.reduced(np.maximum, np.abs(before))
            varied = groups.reduced(np.maximum, before) > groups.reduced(np.minimum, before)
            made[-1] = int((small & exact & varied).sum())
    return made


def of_solvable(context: CheckContext, solvable: int) -> Finding:
    """Return the finding on so many groups."""
    message = (
        f"{counted(solvable, 'group')} of 2 or 3 members {'releases' if solvable == 1 else 'release'} an exact mean, "
        "from which all members but one could compute the last member's value"
    )
    return context.make_finding("exact-means", solvable > 0, message, solvable, 0, "use a k of 4 or more, or --round")


def float_residue(context: CheckContext) -> Finding:
    """Released values that differ only in their last bits, which discloses the order of a sum and thus the group."""
    near: dict[str, int] = {}
    for name in context.quasi:
        if not context.after[name].dtype.is_float():
            continue
        before = numbers(context.before[name]) if context.before[name].dtype.is_numeric() else np.array([])
        near[name] = _near(numbers(context.after[name]), before)
    return of_near_values(context, near)


def of_near_values(context: CheckContext, near: Mapping[str, int]) -> Finding:
    """Return the finding on so many pairs of neighbouring released values of each column."""
    pairs = sum(near.values())
    problems = [f"{name!r} ({number:,})" for name, number in near.items() if number]
    finding = "no two released values differ only in their last bits"
    if problems:
        finding = f"released values differ only in their last bits, which discloses groups: {', '.join(problems)}"
    return context.make_finding(
        "float-residue", pairs > 0, finding, pairs, 0,
        "round the released values, so that equal means have the same bits",
    )  # fmt: skip


def _near(released: Floats, original: Floats) -> int:
    """Return the number of neighbouring values that differ in their last bits, if original values never do."""
    values, source = _distinct(released), _distinct(original)
    if values.size < 2:
        return 0
    scale = np.finfo(np.float64).eps * max(np.abs(values).max(), np.abs(source).max(initial=0.0))
    near = np.zeros(values.size - 1, dtype=bool)
    for gap, original_gap in zip(gaps(values, scale), gaps(source, scale), strict=True):
        if not original_gap.size or original_gap.min() > FAR:
            near |= gap <= LAST_BITS
    return int(near.sum())


def gaps(values: Floats, scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gaps between ascending values: in steps of the last bit, and in units of the scale."""
    return _steps(values), np.diff(values) / scale


def _distinct(values: Floats) -> Floats:
    return np.unique(values[np.isfinite(values)])


def _steps(values: Floats) -> NDArray[np.float64]:
    """Return how many floats lie between neighbouring values."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    ordinal = np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)
    return np.diff(ordinal.view(np.uint64)).astype(np.float64)  # unsigned, so that no difference overflows
