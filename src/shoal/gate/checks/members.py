"""What the released value of a group discloses about its members.

Microaggregation releases means or medians. A mean that one member dominates, a median that is a member's value, an
exact mean of two or three, and the last bits of a sum each disclose more than the method intends.
"""

from __future__ import annotations

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


def misplaced(context: CheckContext) -> int:
    """Return the number of classes that do not hold their members' mean or median, if most classes of a column do."""
    wrong = 0
    for groups, _, before, after in _columns(context):
        if not np.isnan(before).any():
            fits = _aggregate_fits(context, groups, before, after)
            # Equal members fit every mean and median: only groups with different members are informative.
            varied = groups.reduced(np.minimum, before) < groups.reduced(np.maximum, before)
            informative = fits[varied] if varied.any() else fits
            if not fits.all() and 2 * int(informative.sum()) >= informative.size:
                wrong = max(wrong, int((~fits).sum()))
    return wrong


def holds_aggregates(context: CheckContext) -> bool:
    """Whether most classes of every averaged column hold their rows' mean or median, so that rows are in place."""
    shares = []
    for groups, _, before, after in _columns(context):
        varied = groups.reduced(np.minimum, before) < groups.reduced(np.maximum, before)
        if varied.any() and not np.isnan(before).any():
            shares.append(float(_aggregate_fits(context, groups, before, after)[varied].mean()))
    return bool(shares) and min(shares) >= 0.5


def _columns(context: CheckContext) -> list[tuple[Classes, str, Floats, Floats]]:
    """Return each aggregated column, before and after, with the classes in which all members share its value."""
    return [
        (groups, name, *context.aggregated[name])
        for groups in context.class_sets
        for name in groups.columns
        if name in context.aggregated and groups.sizes.size
    ]


def _aggregate_fits(context: CheckContext, groups: Classes, before: Floats, after: Floats) -> Bools:
    """Return which classes hold the mean, the weighted mean or the median: the one that most classes hold."""
    released = after[groups.first]
    slack = _slack(groups, before, after)
    with np.errstate(all="ignore"):
        fits = [np.abs(groups.reduced(np.add, before) / groups.sizes - released) <= slack]
        if context.guarantees.weight is not None and not fits[0].all():
            weight = numbers(context.before[context.guarantees.weight])
            mean = groups.reduced(np.add, before * weight) / groups.reduced(np.add, weight)
            fits.append(np.abs(mean - released) <= slack)
    if not fits[-1].all():
        fits.append(np.abs(_medians(groups, before) - released) <= slack)
    return max(fits, key=lambda flags: int(flags.sum()))


def _slack(groups: Classes, before: Floats, after: Floats) -> Floats:
    """Return how far a released value may lie from the exact one: 0.5 if whole numbers stayed whole."""
    rounded = 0.5 if _whole(before) and _whole(after) else 0.0
    return np.asarray(rounded + 1e-9 * groups.reduced(np.maximum, np.abs(before)) + 1e-300)


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())


def _medians(groups: Classes, values: Floats) -> Floats:
    ranked = groups.ranked(values)
    middle = groups.starts + (groups.sizes - 1) // 2
    return np.asarray((ranked[middle] + ranked[middle + (groups.sizes + 1) % 2]) / 2)


# -- disclosures -------------------------------------------------------------------------------


def dominance(context: CheckContext) -> Finding:
    """Groups with too few members, or with two members that make up most of the total of absolute values."""
    if not context.aligned:
        return context.unmeasured("dominance", UNALIGNED, UNALIGNED_TODO)
    limits = context.policy.thresholds
    columns = [part for part in _columns(context) if (part[2] != part[3]).any()]
    if not columns:
        return context.make_finding("dominance", False, "no column holds means, so no member can dominate one")
    small, dominated, one, two, worst = 0, 0, 0.0, 0.0, ""
    for groups in context.class_sets:
        small += int((context.unit_counts(groups) < limits.dominance_units).sum())
    for groups, name, before, _ in columns:
        top, pair = _shares(*_by_unit(context, groups, np.abs(np.nan_to_num(before))))
        dominated += int((pair > limits.dominance_share).sum())
        if pair.max() > two:
            one, two, worst = float(top[pair == pair.max()].max()), float(pair.max()), name
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
    limit = context.policy.thresholds.unchanged_rows
    if not context.kept_values:
        return context.make_finding("unchanged-rows", False, "no column is protected", 0, limit)
    same, varied = zip(*context.kept_values, strict=True)
    small = np.ones(context.rows, dtype=bool)  # a record in a class of k is protected, whatever its values
    inside = context.known.labels >= 0
    small[inside] = (context.unit_counts(context.known) < context.promised_k)[context.known.labels[inside]]
    rows = int((np.all(same, axis=0) & np.any(varied, axis=0) & context.kept & small).sum())
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
    numeric = [name in context.aggregated for group in context.class_sets for name in group.columns]
    pairs = zip(context.kept_values, numeric, strict=True)
    cells = sum(int((same & varied & context.kept).sum()) for (same, varied), is_numeric in pairs if is_numeric)
    numbers_in_all = sum(numeric) * int(context.kept.sum())
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
    solvable = 0
    for groups, _, before, after in _columns(context):
        if _whole(after) and _whole(before):
            continue
        units = context.unit_counts(groups)
        small = (units > 1) & (units <= FEW)
        if small.any():
            with np.errstate(all="ignore"):
                mean = groups.reduced(np.add, before) / groups.sizes
                exact = np.abs(mean - after[groups.first]) <= 1e-12 * groups.reduced(np.maximum, np.abs(before))
            varied = groups.reduced(np.maximum, before) > groups.reduced(np.minimum, before)
            solvable = max(solvable, int((small & exact & varied).sum()))
    message = (
        f"{counted(solvable, 'group')} of 2 or 3 members {'releases' if solvable == 1 else 'release'} an exact mean, "
        "from which all members but one could compute the last member's value"
    )
    return context.make_finding("exact-means", solvable > 0, message, solvable, 0, "use a k of 4 or more, or --round")


def float_residue(context: CheckContext) -> Finding:
    """Released values that differ only in their last bits, which discloses the order of a sum and thus the group."""
    problems, pairs = [], 0
    for name in context.quasi:
        if not context.after[name].dtype.is_float():
            continue
        before = numbers(context.before[name]) if context.before[name].dtype.is_numeric() else np.array([])
        near = _near(numbers(context.after[name]), before)
        if near:
            pairs += near
            problems.append(f"{name!r} ({near:,})")
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
    for gap, original_gap in ((_steps(values), _steps(source)), (np.diff(values) / scale, np.diff(source) / scale)):
        if not original_gap.size or original_gap.min() > 8 * LAST_BITS:
            near |= gap <= LAST_BITS
    return int(near.sum())


def _distinct(values: Floats) -> Floats:
    return np.unique(values[np.isfinite(values)])


def _steps(values: Floats) -> NDArray[np.float64]:
    """Return how many floats lie between neighbouring values."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    ordinal = np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)
    return np.diff(ordinal.view(np.uint64)).astype(np.float64)  # unsigned, so that no difference overflows
