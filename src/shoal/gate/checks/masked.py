"""Whether a release whose regions were swapped hides the target group: the signal, by an outlier test of its own.

Group anonymity (Chertov and Tavrov 2017): the number or the share of the group's records per region must not show where
the group is concentrated. The test is the modified Thompson tau technique, at every usual alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.gate.cells import is_number, numbers, text_of
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding, counted
from shoal.gate.promises import Masked

Signs = NDArray[np.int8]

PROMISE = Masked
NAME = "swapped-signal"
USUAL = 0.01  # the alpha at which the original outliers are found
SHOWN = 5  # regions named in a finding


def check(context: CheckContext) -> tuple[Finding, ...]:
    """For each target group: are its outlier regions neither outliers nor the largest, and is no region a new one?"""
    promises = context.guarantees.of(Masked, every_step=True)
    if not promises:
        todo = "name the target group with --vital COL=v1,v2"
        return (context.unmeasured(NAME, "the target group was not named", todo),)
    return tuple(_finding(context, promise) for promise in promises)


def _finding(context: CheckContext, promise: Masked) -> Finding:
    region = promise.region
    for frame, what in ((context.before, "original"), (context.after, "release")):
        for needed in (promise.target, region):
            if needed not in frame.columns:
                return _unmeasured(
                    context, promise, f"the {what} has no column {needed!r}", "release it, or check by hand"
                )
    before, after = (_signals(frame, promise) for frame in (context.before, context.after))
    members, left = (sum(signals["quantity"].values()) for signals in (before, after))
    if not members:
        return _unmeasured(
            context, promise, f"no record has one of these values of {promise.target!r}", "correct --vital"
        )
    if before["quantity"].keys() != after["quantity"].keys():
        return _unmeasured(context, promise, f"{region!r} has other values than before", "see swapped")
    if not left:
        why = f"no released record has one of these values of {promise.target!r}"
        return _unmeasured(context, promise, why, "leave this column as it is, or protect it before the regions")
    problems, number = _problems(before, after, promise)
    return context.make_finding(
        NAME, bool(problems), "; ".join(problems) or _good(promise), number, 0,
        "mask the file again with shoal mask --settings hiding, or name the decoys you asked for with --decoys",
        promised=promise.promised,
    )  # fmt: skip


def _unmeasured(context: CheckContext, promise: Masked, why: str, todo: str) -> Finding:
    """A guarantee that cannot be checked is not kept."""
    return context.make_finding(NAME, True, f"not measured: {why}", todo=todo, promised=promise.promised)


def _good(promise: Masked) -> str:
    region = promise.region
    if promise.outliers_only:
        most = f"at most {promise.allowed}" if promise.allowed else "none"
        return (
            f"of the original outliers of {region!r} {most} are outliers at alpha {min(promise.alphas):g} in the "
            f"signal {', '.join(promise.signals)}"
        )
    return (
        f"the original outliers of {region!r} are neither outliers nor the largest at alpha {min(promise.alphas):g} to "
        f"{max(promise.alphas):g} in number and share; {'no' if not promise.decoys else f'at most {promise.decoys}'} "
        "new outliers"
    )


def _signals(frame: pl.DataFrame, promise: Masked) -> dict[str, dict[str, float]]:
    """The number and the share of the group's records by region, and how far the share exceeds a second group's."""
    marked = {"member": _members(frame[promise.target], [str(value) for value in promise.values])}
    if promise.second is not None:
        column, values = promise.second
        marked["second"] = _members(frame[column], [str(value) for value in values])
    table = pl.DataFrame({"region": _labels(frame[promise.region]), **marked}).group_by("region")
    found = table.agg(*(pl.col(name).sum() for name in marked), pl.len().alias("size")).drop_nulls().sort("region")
    count, size = found["member"].cast(pl.Int64).to_numpy(), found["size"].to_numpy()
    signals = {"quantity": count.astype(float), "concentration": count / size}
    if promise.second is not None:
        signals["difference"] = (count - found["second"].cast(pl.Int64).to_numpy()) / size
    names = found["region"].to_list()
    return {kind: dict(zip(names, values, strict=True)) for kind, values in signals.items()}


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
    before: dict[str, dict[str, float]], after: dict[str, dict[str, float]], promise: Masked
) -> tuple[list[str], int]:
    """What is still seen, in words, and the number of regions it concerns."""
    names, decoys = np.array(list(before["quantity"])), promise.decoys
    if promise.outliers:
        original = np.isin(names, _labels(pl.Series(list(promise.outliers), strict=False)).to_list())
    else:
        original = outlier_signs(np.array(list(before["quantity"].values())), USUAL, promise.upper) != 0
    left, largest, new = (np.zeros(names.size, dtype=bool) for _ in range(3))
    for kind in promise.signals:
        old, now = (np.array([signals[kind][n] for n in names]) for signals in (before, after))
        for alpha in promise.alphas:
            seen = outlier_signs(now, alpha, promise.upper)
            if promise.outliers_only:  # the published test: of equally far values either may go first
                seen = np.where(outlier_signs(now, alpha, promise.upper, lower_first=True) != 0, seen, 0)
            left |= (seen != 0) & original
            new |= (seen != 0) & (seen != outlier_signs(old, alpha, promise.upper)) & ~original
        if original.any() and not original.all():
            largest |= original & (now >= now[~original].max())
    if promise.outliers_only:
        new[:] = largest[:] = False
        left &= int(left.sum()) > promise.allowed
    problems = []
    for flags, what in ((left, "still outliers"), (largest & ~left, "still the largest"), (new, "new outliers")):
        if flags.any() and not (flags is new and int(new.sum()) <= decoys):
            shown = ", ".join(names[flags][:SHOWN]) + (" and more" if flags.sum() > SHOWN else "")
            problems.append(f"{counted(int(flags.sum()), 'region')} {what}: {shown}")
    made = 0 if int(new.sum()) <= decoys else int(new.sum())
    return problems, int((left | largest).sum()) + made


def outlier_signs(values: Floats, alpha: float, upper: bool = False, *, lower_first: bool = False) -> Signs:
    """The modified Thompson tau technique: the farthest value goes while it is farther from the median than tau s.

    1: an outlier from above, -1: from below (never with `upper`). s is the distance of Hazen's quartiles over 1.349.
    Equal values go together, and of equally far ones the higher go first, unless `lower_first`. Where s is 0 every
    value but the median counts as an outlier.
    """
    from scipy.stats import t as student

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
        first = np.argmin(values[farthest]) if lower_first else np.argmax(values[farthest])
        left[farthest[first]] = False  # by the values, so that the order of the regions does not matter
