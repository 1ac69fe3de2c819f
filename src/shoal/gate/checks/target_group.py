"""Whether a release whose regions were swapped hides the target group: the signal, by an outlier test of its own.

Group anonymity (Chertov and Tavrov 2017): the number or the share of the group's records per region must not show where
the group is concentrated. The test is the modified Thompson tau technique, at every usual alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import t as student

from shoal.arrays import Bools, Floats
from shoal.gate.asked import TargetGroup
from shoal.gate.cells import is_number, numbers, text_of
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted

Signs = NDArray[np.int8]

NAME = "swapped-signal"
USUAL = 0.01  # the alpha at which the original outliers are found
SHOWN = 5  # regions named in a finding


def swapped_signal(context: CheckContext) -> tuple[Finding, ...]:
    """For each target group: are its outlier regions neither outliers nor the largest, and is no region a new one?"""
    if not context.asked.targets:
        todo = "name the target group with --vital COL=v1,v2"
        return (context.unmeasured(NAME, "the target group was not named", todo),)
    return tuple(_finding(context, target) for target in context.asked.targets)


def _finding(context: CheckContext, target: TargetGroup) -> Finding:
    region, column = target.region, target.column
    for frame, what in ((context.before, "original"), (context.after, "release")):
        for needed in (column, region):
            if needed not in frame.columns:
                return context.unmeasured(NAME, f"the {what} has no column {needed!r}", "release it, or check by hand")
    before, after = (_signals(frame, target) for frame in (context.before, context.after))
    if not before[0].keys() or sum(before[0].values()) == 0:
        return context.unmeasured(NAME, f"no record has one of these values of {column!r}", "correct --vital")
    if before[0].keys() != after[0].keys():
        return context.unmeasured(NAME, f"{region!r} has other values than before", "see swapped")
    problems, number = _problems(before, after, target)
    good = (
        f"the original outliers of {region!r} are neither outliers nor the largest at alpha {min(target.alphas):g} to "
        f"{max(target.alphas):g} in number and share; {'no' if not target.decoys else f'at most {target.decoys}'} "
        "new outliers"
    )
    return context.make_finding(
        NAME, bool(problems), "; ".join(problems) or good, number, 0,
        "mask the file again with shoal mask --settings hiding, or name the decoys you asked for with --decoys",
        promised=target.promised,
    )  # fmt: skip


def _signals(frame: pl.DataFrame, target: TargetGroup) -> tuple[dict[str, float], dict[str, float]]:
    """The number and the share of the group's records, by region."""
    member = _members(frame[target.column], [str(value) for value in target.values])
    table = pl.DataFrame({"region": _labels(frame[target.region]), "member": member}).group_by("region")
    found = table.agg(pl.col("member").sum().alias("count"), pl.len().alias("size")).drop_nulls().sort("region")
    count, size = found["count"].to_numpy(), found["size"].to_numpy()
    names = found["region"].to_list()
    return dict(zip(names, count.astype(float), strict=True)), dict(zip(names, count / size, strict=True))


def _labels(regions: pl.Series) -> pl.Series:
    return text_of(regions) if is_number(regions) else regions.cast(pl.String)  # the region 7.0 is the region 7


def _members(column: pl.Series, values: Sequence[str]) -> Bools:
    if is_number(column):
        wanted = []
        for value in values:
            try:
                wanted.append(float(value))
            except ValueError:
                continue
        return np.isin(numbers(column), wanted)
    wanted_text = text_of(pl.Series([str(value) for value in values], dtype=pl.String))
    return np.asarray(text_of(column).is_in(wanted_text.implode()).fill_null(False).to_numpy(), dtype=bool)


def _problems(
    before: tuple[dict[str, float], dict[str, float]],
    after: tuple[dict[str, float], dict[str, float]],
    target: TargetGroup,
) -> tuple[list[str], int]:
    """What is still seen, in words, and the number of regions it concerns."""
    names, decoys = np.array(list(before[0])), target.decoys
    if target.outliers:
        original = np.isin(names, _labels(pl.Series(list(target.outliers), strict=False)).to_list())
    else:
        original = outlier_signs(np.array(list(before[0].values())), USUAL, target.upper) != 0
    left, largest, new = (np.zeros(names.size, dtype=bool) for _ in range(3))
    for one, two in zip(before, after, strict=True):
        old, now = np.array([one[n] for n in names]), np.array([two[n] for n in names])
        for alpha in target.alphas:
            seen = outlier_signs(now, alpha, target.upper)
            left |= (seen != 0) & original
            new |= (seen != 0) & (seen != outlier_signs(old, alpha, target.upper)) & ~original
        if original.any() and not original.all():
            largest |= original & (now >= now[~original].max())
    problems = []
    for flags, what in ((left, "still outliers"), (largest & ~left, "still the largest"), (new, "new outliers")):
        if flags.any() and not (flags is new and int(new.sum()) <= decoys):
            shown = ", ".join(names[flags][:SHOWN]) + (" and more" if flags.sum() > SHOWN else "")
            problems.append(f"{counted(int(flags.sum()), 'region')} {what}: {shown}")
    made = 0 if int(new.sum()) <= decoys else int(new.sum())
    return problems, int((left | largest).sum()) + made


def outlier_signs(values: Floats, alpha: float, upper: bool = False) -> Signs:
    """The modified Thompson tau technique: the farthest value goes while it is farther from the median than tau s.

    1: an outlier from above, -1: from below (never with `upper`). s is the distance of Hazen's quartiles over 1.349.
    Equal values go together. Where s is 0 every value but the median counts as an outlier.
    """
    lowest = 0 if upper else -1
    left = np.ones(values.size, dtype=bool)
    while True:
        rest = values[left]
        m = rest.size
        middle = float(np.median(rest))
        low, high = np.quantile(rest, [0.25, 0.75], method="hazen")
        spread = float(high - low) / 1.349
        signs = np.sign(values - middle).clip(lowest).astype(np.int8)
        if m < 3 or not spread > 0.0:
            return signs
        critical = float(student.ppf(1.0 - alpha / 2.0, m - 2))
        tau = critical * (m - 1) / (np.sqrt(m) * np.sqrt(m - 2 + critical**2))
        distance = values - middle if upper else np.abs(values - middle)
        away = np.where(left, distance, -np.inf)
        farthest = np.flatnonzero(away == away.max())
        if away.max() <= tau * spread:
            return np.where(np.isin(values, values[~left]), signs, 0).astype(np.int8)
        left[farthest[np.argmax(values[farthest])]] = False  # of equally far ones the higher: no order matters
