"""Relative changes of values, means, covariances and variances, changes of correlations: IL1 to IL5 and their mean IL.

IL1 is the change of the cells, IL2 of the means, IL3 of the covariances, IL4 of the variances and IL5 of the
correlations. All except IL5 are relative to the original value. If the original value is zero, the entry is left out
and counted in `left_out`. The mean caps each part at 1, so that IL is a percentage.

After Domingo-Ferrer and Torra 2001 and the GOMM thesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shoal.arrays import Bools, Floats
from shoal.measures.columns import correlations_of, means_and_covariances
from shoal.measures.measure import Estimate, Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence


@dataclass(frozen=True)
class LossParts:
    """IL1 to IL5 as fractions (0 is unchanged, IL5 is at most 2), and how many entries were left out."""

    il1: float
    il2: float
    il3: float
    il4: float
    il5: float
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def il(self) -> float:
        """The mean of the five, each capped at 1, in percent."""
        return 100.0 * sum(min(1.0, part) for part in (self.il1, self.il2, self.il3, self.il4, self.il5)) / 5


@dataclass(frozen=True, eq=False)
class Spread:
    """The means and covariances of columns, and which of them are constant."""

    means: Floats
    covariances: Floats
    constant: Bools


def loss_parts(original: Floats, protected: Floats, weights: Floats | None = None) -> LossParts:
    """IL1 to IL5 of a protected n x d array."""
    cells = None if weights is None else np.broadcast_to(weights[:, None], original.shape)
    before, after = (
        Spread(*means_and_covariances(values, weights), np.ptp(values, axis=0) == 0) for values in (original, protected)
    )
    return parts_of(_relative(original, protected, cells), before, after)


def parts_of(il1: tuple[float, int], before: Spread, after: Spread) -> LossParts:
    """IL1 to IL5 from IL1 with its entries left out, and the spread of the columns."""
    upper = np.triu_indices(before.means.size)
    # If one column of a pair is constant, the covariance is zero, and only rounding errors would be compared.
    base = np.where(before.constant[:, None] | before.constant[None, :], 0.0, before.covariances)
    parts = {
        "il1": il1,
        "il2": _relative(before.means, after.means),
        "il3": _relative(base[upper], after.covariances[upper]),
        "il4": _relative(np.diag(base), np.diag(after.covariances)),
        "il5": _correlation_change(before, after),
    }
    return LossParts(
        **{name: value for name, (value, _) in parts.items()},
        left_out={name: missing for name, (_, missing) in parts.items() if missing},
    )


def _relative(before: Floats, after: Floats, weights: Floats | None = None) -> tuple[float, int]:
    """The mean of abs(before - after) / abs(before) over entries that are not zero before, and how many are zero."""
    usable = before != 0
    if not usable.any():
        return 0.0, int(before.size)
    change = np.abs(before[usable] - after[usable]) / np.abs(before[usable])
    mean = np.average(change, weights=None if weights is None else weights[usable])
    return float(mean), int(before.size - usable.sum())


def _correlation_change(one: Spread, other: Spread) -> tuple[float, int]:
    """The mean absolute difference of the correlations, without columns that are constant in the original.

    The correlation of a column that protection made constant counts as zero.
    """
    pairs = np.triu_indices(one.means.size, 1)
    before, after = (correlations_of(side.covariances, side.constant)[pairs] for side in (one, other))
    usable = ~np.isnan(before)
    if not usable.any():
        return 0.0, int(usable.size)
    difference = before[usable] - np.nan_to_num(after[usable])
    return float(np.abs(difference).mean()), int(usable.size - usable.sum())


def _parts(evidence: Evidence) -> LossParts:
    parts: LossParts = evidence.once("loss parts", lambda: loss_parts(*evidence.numbers(), evidence.weights))
    return parts


def _part(name: str) -> Callable[[Evidence], Estimate]:
    def compute(evidence: Evidence) -> Estimate:
        parts = _parts(evidence)
        left_out = parts.left_out.get(name)
        return Estimate(getattr(parts, name), f"{left_out} with the original value 0 left out" if left_out else "")

    return compute


def _declared(name: str, meaning: str, formula: str) -> Measure:
    return Measure(
        name=name,
        kind="loss",
        needs=("original", "release"),
        range="0 to 2" if name == "il5" else "0 and more",
        unit="",
        better="lower",
        meaning=meaning,
        formula=formula,
        compute=_part(name),
        weighted=True,
    )


MEASURES = (
    _declared("il1", "mean change of a value, relative to it", "mean over cells of |x − x'| / |x|"),
    _declared(
        "il2",
        "mean change of a column's mean, relative to it",
        "mean over columns of the relative difference of the means",
    ),
    _declared(
        "il3",
        "mean change of a covariance, relative to it",
        "mean over the d(d+1)/2 distinct covariances (variances included) of their relative difference",
    ),
    _declared(
        "il4",
        "mean change of a variance, relative to it",
        "mean over columns of the relative difference of the variances",
    ),
    _declared(
        "il5",
        "mean change of a correlation",
        "mean over the d(d−1)/2 distinct correlations of their absolute difference",
    ),
    Measure(
        name="il",
        kind="loss",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="mean of il1 to il5, each capped at 1",
        formula="100 · mean of `il1` to `il5`, each capped at 1",
        compute=lambda evidence: _parts(evidence).il,
        weighted=True,
        short="IL %",
    ),
)
