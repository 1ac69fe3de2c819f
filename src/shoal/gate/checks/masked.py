"""Whether a release with swapped regions hides the target group, by an independent outlier test.

Group anonymity (Chertov and Tavrov 2017): the signal (the number or the share of target records per region) must not
show where the group is concentrated. The test is the modified Thompson tau technique at every usual alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.errors import counted
from shoal.gate.cells import is_number, numbers, text_of
from shoal.gate.context import CheckContext
from shoal.gate.findings import Finding
from shoal.gate.promises import Masked

Signs = NDArray[np.int8]

PROMISE = Masked
NAME = "swapped-signal"
USUAL_ALPHA = 0.01  # finds the original outliers
MAX_NAMED = 5  # regions that a finding lists


def check(context: CheckContext) -> tuple[Finding, ...]:
    """For each target group: its outlier regions are neither outliers nor the largest, and there is no new outlier."""
    promises = context.guarantees.of(Masked, every_step=True)
    if not promises:
        todo = "name the target group with --vital COLUMN=V1,V2"
        return (context.unmeasured(NAME, "the target group is not named, so its signal was not checked", todo),)
    return tuple(_finding(context, promise) for promise in promises)


def _finding(context: CheckContext, promise: Masked) -> Finding:
    region = promise.region
    for frame, what in ((context.before, "original"), (context.after, "release")):
        for needed in (promise.target, region):
            if needed not in frame.columns:
                return _unmeasured(
                    context, promise, f"the {what} has no column {needed!r}", "keep this column in the release"
                )
    before, after = (_signals(frame, promise) for frame in (context.before, context.after))
    members, released_members = (sum(signals["quantity"].values()) for signals in (before, after))
    if not members:
        return _unmeasured(
            context, promise, f"no record of the original has one of these values of {promise.target!r}",
            "correct the values of --vital",
        )  # fmt: skip
    if before["quantity"].keys() != after["quantity"].keys():
        return _unmeasured(
            context, promise, f"{region!r} has other values than the original", "correct what the check swapped reports"
        )
    if not released_members:
        why = f"no released record has one of these values of {promise.target!r}"
        return _unmeasured(context, promise, why, "do not change this column, or protect it before shoal mask")
    problems, number = _problems(before, after, promise)
    return context.make_finding(
        NAME, bool(problems), "; ".join(problems) or _good(promise), number, 0,
        "mask the file again with shoal mask --settings hiding; if you requested decoys, add --decoys N",
        promised=promise.promised,
    )  # fmt: skip


def _unmeasured(context: CheckContext, promise: Masked, why: str, todo: str) -> Finding:
    """Return the finding of a check that cannot be made. A guarantee that cannot be checked does not pass."""
    return context.make_finding(NAME, True, f"not measured: {why}", todo=todo, promised=promise.promised)


def _good(promise: Masked) -> str:
    region = promise.region
    if promise.outliers_only:
        most = f"at most {promise.allowed}" if promise.allowed else "none"
        return (
            f"{most} of the original outliers of {region!r} {'is' if promise.allowed == 1 else 'are'} still outliers "
            f"at alpha {min(promise.alphas):g} in the signal {', '.join(promise.signals)}"
        )
    new = f"there are at most {promise.decoys}" if promise.decoys else "there are no"
    return (
        f"the original outliers of {region!r} are neither outliers nor the largest regions at alpha "
        f"{min(promise.alphas):g} to {max(promise.alphas):g}, in number or share, and {new} new outliers"
    )


def _signals(frame: pl.DataFrame, promise: Masked) -> dict[str, dict[str, float]]:
    """Return the number and the share of target records per region, and the difference to a second group's share."""
    marked = {"member": _members(frame[promise.target], [str(value) for value in promise.values])}
    if promise.second is not None:
        column, values = promise.second
        marked["second"] = _members(frame[column], [str(value) for value in values])
    table = pl.DataFrame({"region": _labels(frame[promise.region]), **marked}).group_by("region")
    counts = table.agg(*(pl.col(name).sum() for name in marked), pl.len().alias("size")).drop_nulls().sort("region")
    count, size = counts["member"].cast(pl.Int64).to_numpy(), counts["size"].to_numpy()
    signals = {"quantity": count.astype(float), "concentration": count / size}
    if promise.second is not None:
        signals["difference"] = (count - counts["second"].cast(pl.Int64).to_numpy()) / size
    names = counts["region"].to_list()
    return {kind: dict(zip(names, values, strict=True)) for kind, values in signals.items()}


def _labels(regions: pl.Series) -> pl.Series:
    return text_of(regions) if is_number(regions) else regions.cast(pl.String)  # region 7.0 is region 7


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
    """Return what the signal still shows, in words, and the number of regions concerned."""
    names, decoys = np.array(list(before["quantity"])), promise.decoys
    if promise.outliers:
        original = np.isin(names, _labels(pl.Series(list(promise.outliers), strict=False)).to_list())
    else:
        original = outlier_signs(np.array(list(before["quantity"].values())), USUAL_ALPHA, promise.upper) != 0
    left, largest, new = (np.zeros(names.size, dtype=bool) for _ in range(3))
    for kind in promise.signals:
        old, now = (np.array([signals[kind][n] for n in names]) for signals in (before, after))
        for alpha in promise.alphas:
            seen = outlier_signs(now, alpha, promise.upper)
            if promise.outliers_only:  # the published test removes either of two equally distant values first
                seen = np.where(outlier_signs(now, alpha, promise.upper, lower_first=True) != 0, seen, 0)
            left |= (seen != 0) & original
            new |= (seen != 0) & (seen != outlier_signs(old, alpha, promise.upper)) & ~original
        if original.any() and not original.all():
            largest |= original & (now >= now[~original].max())
    if promise.outliers_only:
        new[:] = largest[:] = False
        left &= int(left.sum()) > promise.allowed
    problems = []
    kinds = (
        (left, "is still an outlier", "are still outliers"),
        (largest & ~left, "is still the largest", "are still the largest"),
        (new, "is a new outlier", "are new outliers"),
    )
    for flags, singular, plural in kinds:
        count = int(flags.sum())
        if count and not (flags is new and count <= decoys):
            shown = ", ".join(names[flags][:MAX_NAMED]) + (" and more" if count > MAX_NAMED else "")
            problems.append(f"{counted(count, 'region')} {singular if count == 1 else plural}: {shown}")
    made = 0 if int(new.sum()) <= decoys else int(new.sum())
    return problems, int((left | largest).sum()) + made


def outlier_signs(values: Floats, alpha: float, upper: bool = False, *, lower_first: bool = False) -> Signs:
    """Find outliers by the modified Thompson tau technique.

    The test removes the value that is farthest from the median, as long as its distance exceeds tau s. s is the
    interquartile range by Hazen's quartiles over 1.349. If s is 0, every value but the median counts as an outlier.

    Args:
        values: The signal of each region.
        alpha: The significance level.
        upper: Whether only values above the median can be outliers.
        lower_first: Whether the lower of two equally distant values is removed first. Equal values go together.

    Returns:
        1 for an outlier above the median, -1 for one below it, else 0.
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
        left[farthest[first]] = False  # chosen by value, so that the order of the regions does not matter
