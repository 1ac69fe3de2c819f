"""What a group's released values tell of its members: the original values beside the class they went into.

Microaggregation releases means or medians; a mean that one member dominates, a median that is somebody's value, an
exact mean of two or three, or the last bits of a sum each tell more than the method meant to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.gate.cells import Classes, numbers
from shoal.gate.context import UNALIGNED, UNALIGNED_TODO, CheckContext
from shoal.gate.findings import Finding, percent

UNCHANGED = 0.05  # share of numbers that may equal their group's mean by chance
FEW = 3  # members of whom all but one can solve an exact mean for the last
LAST_BITS = 8  # so many steps of the last bit are residue, not data


def misplaced(context: CheckContext) -> int:
    """How many classes of a column do not hold their members' mean or median, where most classes do."""
    wrong = 0
    for found, _, before, after in _columns(context):
        if not np.isnan(before).any():
            fits = _aggregate_fits(context, found, before, after)
            # Members that are all equal have every mean and median: only the other groups tell which it is.
            varied = found.reduced(np.minimum, before) < found.reduced(np.maximum, before)
            telling = fits[varied] if varied.any() else fits
            if not fits.all() and 2 * int(telling.sum()) >= telling.size:
                wrong = max(wrong, int((~fits).sum()))
    return wrong


def holds_aggregates(context: CheckContext) -> bool:
    """Whether most classes of every averaged column hold the mean or median of their rows: the rows are in place."""
    shares = []
    for found, _, before, after in _columns(context):
        varied = found.reduced(np.minimum, before) < found.reduced(np.maximum, before)
        if varied.any() and not np.isnan(before).any():
            shares.append(float(_aggregate_fits(context, found, before, after)[varied].mean()))
    return bool(shares) and min(shares) >= 0.5


def _columns(context: CheckContext) -> list[tuple[Classes, str, Floats, Floats]]:
    """Each aggregated column, before and after, with the classes in which it is the same for all members."""
    return [
        (found, name, *context.aggregated[name])
        for found in context.class_sets
        for name in found.columns
        if name in context.aggregated and found.sizes.size
    ]


def _aggregate_fits(context: CheckContext, found: Classes, before: Floats, after: Floats) -> Bools:
    """For each class, whether it holds its members' mean (weighted or not) or median: whichever most classes hold."""
    released = after[found.first]
    slack = _slack(found, before, after)
    with np.errstate(all="ignore"):
        fits = [np.abs(found.reduced(np.add, before) / found.sizes - released) <= slack]
        if context.guarantees.weight is not None and not fits[0].all():
            weight = numbers(context.before[context.guarantees.weight])
            mean = found.reduced(np.add, before * weight) / found.reduced(np.add, weight)
            fits.append(np.abs(mean - released) <= slack)
    if not fits[-1].all():
        fits.append(np.abs(_medians(found, before) - released) <= slack)
    return max(fits, key=lambda way: int(way.sum()))


def _slack(found: Classes, before: Floats, after: Floats) -> Floats:
    """How far a released value may lie from the exact one: half a unit where whole numbers were kept whole."""
    rounded = 0.5 if _whole(before) and _whole(after) else 0.0
    return np.asarray(rounded + 1e-9 * found.reduced(np.maximum, np.abs(before)) + 1e-300)


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all())


def _medians(found: Classes, values: Floats) -> Floats:
    ranked = found.ranked(values)
    middle = found.starts + (found.sizes - 1) // 2
    return np.asarray((ranked[middle] + ranked[middle + (found.sizes + 1) % 2]) / 2)


# -- what may leak -------------------------------------------------------------------------------


def dominance(context: CheckContext) -> Finding:
    """Groups too few, or of whose total (of absolute values) two members make up most."""
    if not context.aligned:
        return context.unmeasured("dominance", UNALIGNED, UNALIGNED_TODO)
    limits = context.policy.thresholds
    columns = [part for part in _columns(context) if (part[2] != part[3]).any()]
    if not columns:
        return context.make_finding("dominance", False, "no column holds means: there are no totals to dominate")
    small, broken, one, two, worst = 0, 0, 0.0, 0.0, ""
    for found in context.class_sets:
        small += int((context.unit_counts(found) < limits.dominance_units).sum())
    for found, name, before, _ in columns:
        top, pair = _shares(*_by_unit(context, found, np.abs(np.nan_to_num(before))))
        broken += int((pair > limits.dominance_share).sum())
        if pair.max() > two:
            one, two, worst = float(top[pair == pair.max()].max()), float(pair.max()), name
    message = (
        f"{small:,} groups have fewer than {limits.dominance_units} members; in {broken:,} totals of a column over a "
        f"group the two largest members make up more than {percent(limits.dominance_share)}"
    )
    if worst:
        message += f" (at most {percent(two)}, the largest alone {percent(one)}, in {worst!r})"
    return context.make_finding(
        "dominance", small + broken > 0, message, round(two, 4), limits.dominance_share,
        "take a larger k; cap or recode the largest values before grouping",
    )  # fmt: skip


def _by_unit(context: CheckContext, found: Classes, values: Floats) -> tuple[Classes, Floats]:
    """The classes with one member per person or household, whose rows are added up; as they are without units."""
    if context.units is None:
        return found, values
    inside, width = found.labels >= 0, int(context.units.max(initial=0)) + 1
    pairs, member = np.unique(found.labels[inside] * width + context.units[inside], return_inverse=True)
    labels = (pairs // width).astype(np.int64)
    totals: Floats = np.bincount(member.reshape(-1), weights=values[inside], minlength=pairs.size).astype(np.float64)
    sizes = np.bincount(labels, minlength=found.sizes.size).astype(np.int64)
    return Classes(found.columns, labels, sizes, np.arange(pairs.size)), totals


def _shares(found: Classes, values: Floats) -> tuple[Floats, Floats]:
    """The shares of the largest and of the two largest members in the total of each class; 0 where it is 0."""
    ranked = found.ranked(values)
    last = found.starts + found.sizes - 1
    top = ranked[last]
    second = np.where(found.sizes > 1, ranked[np.maximum(last - 1, 0)], 0.0)
    largest = np.where(top > 0, top, 1.0)  # relative to the largest: totals of denormals or near the limit stay numbers
    scaled = ranked / np.repeat(largest, found.sizes)
    total = np.add.reduceat(scaled, found.starts)
    safe = np.where(total > 0, total, 1.0)
    return np.asarray(top / largest / safe), np.asarray((top / largest + second / largest) / safe)


def unchanged_rows(context: CheckContext) -> Finding:
    """Rows whose quasi-identifiers all hold their original values, apart from groups whose members are all equal."""
    if not context.aligned:
        return context.unmeasured("unchanged-rows", UNALIGNED, UNALIGNED_TODO)
    limit = context.policy.thresholds.unchanged_rows
    if not context.kept_values:
        return context.make_finding("unchanged-rows", False, "no column is protected", 0, limit)
    same, varied = zip(*context.kept_values, strict=True)
    small = np.ones(context.rows, dtype=bool)  # a row in a class of k records is hidden, whatever its values are
    inside = context.known.labels >= 0
    small[inside] = (context.unit_counts(context.known) < context.promised_k)[context.known.labels[inside]]
    rows = int((np.all(same, axis=0) & np.any(varied, axis=0) & context.kept & small).sum())
    return context.make_finding(
        "unchanged-rows", rows > limit, f"{rows:,} rows hold their original values in every protected column and stand "
        "in a class below k", rows, limit, "protect these rows too, or drop them",
    )  # fmt: skip


def unchanged_cells(context: CheckContext) -> Finding:
    """Cells that hold their original value, apart from groups whose members are all equal."""
    if not context.aligned:
        return context.unmeasured("unchanged-cells", UNALIGNED, UNALIGNED_TODO)
    numeric = [name in context.aggregated for group in context.class_sets for name in group.columns]
    pairs = zip(context.kept_values, numeric, strict=True)  # a label is kept by its group's mode as a rule
    cells = sum(int((same & varied & context.kept).sum()) for (same, varied), is_numeric in pairs if is_numeric)
    numbers_in_all = sum(numeric) * int(context.kept.sum())
    share = cells / max(numbers_in_all, 1)
    return context.make_finding(
        "unchanged-cells", share > UNCHANGED,
        f"{cells:,} protected numbers ({percent(share, 1)}) hold their original value, all-equal groups apart",
        round(share, 6), UNCHANGED,
        "look where it is more than chance: medians of odd groups, values that were not replaced",
    )  # fmt: skip


def exact_means(context: CheckContext) -> Finding:
    """Groups of two or three that hold an exact mean: times k it is an exact total."""
    if not context.aligned:
        return context.unmeasured("exact-means", UNALIGNED, UNALIGNED_TODO)
    solvable = 0
    for found, _, before, after in _columns(context):
        if _whole(after) and _whole(before):
            continue
        persons = context.unit_counts(found)
        few = (persons > 1) & (persons <= FEW)
        if few.any():
            with np.errstate(all="ignore"):
                mean = found.reduced(np.add, before) / found.sizes
                exact = np.abs(mean - after[found.first]) <= 1e-12 * found.reduced(np.maximum, np.abs(before))
            spread = found.reduced(np.maximum, before) > found.reduced(np.minimum, before)
            solvable = max(solvable, int((few & exact & spread).sum()))
    message = f"{solvable:,} groups of 2 or 3 hold an exact mean: all members but one could compute the last value"
    return context.make_finding("exact-means", solvable > 0, message, solvable, 0, "take k of 4 or more, or --round")


def float_residue(context: CheckContext) -> Finding:
    """Values that differ in their last bits only: the order of a sum shows, and with it the group."""
    problems, pairs = [], 0
    for name in context.quasi:
        if not context.after[name].dtype.is_float():
            continue
        before = numbers(context.before[name]) if context.before[name].dtype.is_numeric() else np.array([])
        near = _near(numbers(context.after[name]), before)
        if near:
            pairs += near
            problems.append(f"{name!r} ({near:,})")
    finding = "no two released values differ in their last bits only"
    if problems:
        finding = f"pairs of released values differ in their last bits only: {', '.join(problems)}"
    return context.make_finding(
        "float-residue", pairs > 0, finding, pairs, 0,
        "give all members of a group, and groups with one mean, the same bits; round the values",
    )  # fmt: skip


def _near(released: Floats, original: Floats) -> int:
    """Pairs of neighbouring values a few last bits apart, where the original's values never are."""
    values, source = _distinct(released), _distinct(original)
    if values.size < 2:
        return 0
    scale = np.finfo(np.float64).eps * max(np.abs(values).max(), np.abs(source).max(initial=0.0))
    found = np.zeros(values.size - 1, dtype=bool)
    for gap, least in ((_steps(values), _steps(source)), (np.diff(values) / scale, np.diff(source) / scale)):
        if not least.size or least.min() > 8 * LAST_BITS:
            found |= gap <= LAST_BITS
    return int(found.sum())


def _distinct(values: Floats) -> Floats:
    return np.unique(values[np.isfinite(values)])


def _steps(values: Floats) -> NDArray[np.float64]:
    """How many floats lie between neighbours."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    place = np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)
    return np.diff(place.view(np.uint64)).astype(np.float64)  # unsigned: from the least to the greatest none overflows
