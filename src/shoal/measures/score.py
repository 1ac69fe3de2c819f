"""The full score of a protection: IL1 to IL5, their mean IL, and the score that weighs loss and risk.

IL1 is the change of the cells, IL2 that of the means, IL3 of the covariances, IL4 of the variances, IL5 of the
correlations; all but IL5 are relative to the original figure. Where that is zero, no relative change exists: the entry
is left out and counted in `left_out`. The score's parts are capped at 1, so that IL is a percentage.

After Domingo-Ferrer and Torra 2001 and the GOMM thesis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats


@dataclass(frozen=True)
class LossParts:
    """IL1 to IL5 as fractions (0 is no change, no upper end but for IL5's 2), and how many entries had no base."""

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


def loss_parts(original: Floats, protected: Floats, weights: Floats | None = None) -> LossParts:
    """IL1 to IL5 of a protected n x d array."""
    mean_b, covariance_b = _moments(original, weights)
    mean_a, covariance_a = _moments(protected, weights)
    upper = np.triu_indices(original.shape[1])
    off = np.triu_indices(original.shape[1], 1)
    # Where one column of a pair is constant, the covariance is zero by its nature and only rounding would be compared.
    constant = np.ptp(original, axis=0) == 0
    base = np.where(constant[:, None] | constant[None, :], 0.0, covariance_b)
    cells = None if weights is None else np.broadcast_to(weights[:, None], original.shape)
    parts = {
        "il1": _relative(original, protected, cells),
        "il2": _relative(mean_b, mean_a),
        "il3": _relative(base[upper], covariance_a[upper]),
        "il4": _relative(np.diag(base), np.diag(covariance_a)),
        "il5": _correlation_change(covariance_b, covariance_a, constant, np.ptp(protected, axis=0) == 0, off),
    }
    return LossParts(
        **{name: value for name, (value, _) in parts.items()},
        left_out={name: missing for name, (_, missing) in parts.items() if missing},
    )


def disclosure_risk(interval: float, distance: float, probabilistic: float) -> float:
    """DR = 0.5 ID + 0.25 DLD + 0.25 PLD, in percent."""
    return 0.5 * interval + 0.25 * distance + 0.25 * probabilistic


def score(loss: float, risk: float) -> float:
    """The mean of loss and risk, both in percent: the lower, the better the balance."""
    return (loss + risk) / 2


def _moments(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Mean and (population) covariance; sums around the first record, so that an offset does not eat the digits."""
    shifted = values - values[0]
    mean = np.average(shifted, axis=0, weights=weights)
    centred = shifted - mean
    weighed = centred if weights is None else centred * weights[:, None]
    total = len(values) if weights is None else weights.sum()
    return values[0] + mean, centred.T @ weighed / total


def _relative(before: Floats, after: Floats, weights: Floats | None = None) -> tuple[float, int]:
    """The mean of abs(before - after) / abs(before) where the base is not zero, and how often it is."""
    usable = before != 0
    if not usable.any():
        return 0.0, int(before.size)
    change = np.abs(before[usable] - after[usable]) / np.abs(before[usable])
    mean = np.average(change, weights=None if weights is None else weights[usable])
    return float(mean), int(before.size - usable.sum())


def _correlation_change(
    before: Floats, after: Floats, constant: NDArray[np.bool_], gone: NDArray[np.bool_], pairs: tuple[NDArray[Any], ...]
) -> tuple[float, int]:
    """The mean absolute difference of the correlations; columns constant in the original are left out.

    A column that the protection made constant has no correlation left: it counts as zero.
    """
    usable = ~(constant[pairs[0]] | constant[pairs[1]])
    if not usable.any():
        return 0.0, int(usable.size)
    rows, columns = pairs[0][usable], pairs[1][usable]
    difference = _correlations(before, constant) - _correlations(after, gone)
    return float(np.abs(difference[rows, columns]).mean()), int(usable.size - usable.sum())


def _correlations(covariance: Floats, constant: NDArray[np.bool_]) -> Floats:
    deviations = np.sqrt(np.diag(covariance))
    safe = np.where(constant | (deviations == 0), np.inf, deviations)
    return np.clip(covariance / safe[:, None] / safe[None, :], -1.0, 1.0)
