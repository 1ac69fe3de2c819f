"""Statistics of columns: mean, standard deviation, quantiles and correlations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats


@dataclass(frozen=True)
class Moments:
    """The mean and the standard deviation of the population."""

    mean: float
    deviation: float


def moments(values: Floats, weights: Floats | None = None) -> Moments:
    """The mean and standard deviation of the values that are not missing, weighted if there are weights."""
    present = ~np.isnan(values)
    if not present.any():
        return Moments(float("nan"), float("nan"))
    known = values[present]
    weigh = None if weights is None else weights[present]
    mean = float(np.average(known, weights=weigh))
    return Moments(mean, float(np.sqrt(np.average((known - mean) ** 2, weights=weigh))))


def quantiles(values: Floats, shares: Sequence[float]) -> list[float]:
    """The quantiles of the values that are not missing; weights are not used."""
    known = values[~np.isnan(values)]
    return np.quantile(known, list(shares)).tolist() if known.size else [float("nan")] * len(shares)


def correlations(values: Floats, weights: Floats | None = None) -> Floats:
    """Pearson correlations of the complete rows; NaN for a constant column."""
    complete = ~np.isnan(values).any(axis=1)
    present = values[complete]
    if len(present) < 2:
        return np.full((values.shape[1], values.shape[1]), np.nan)
    covariance = means_and_covariances(present, None if weights is None else weights[complete])[1]
    return correlations_of(covariance, np.ptp(present, axis=0) == 0)


def correlations_of(covariance: Floats, constant: Bools) -> Floats:
    """Pearson correlations from covariances; NaN for a constant column."""
    spread = np.sqrt(np.diag(covariance))
    spread = np.where(~constant & (spread > 0), spread, np.nan)
    return np.asarray(np.clip(covariance / spread[:, None] / spread[None, :], -1.0, 1.0))


def means_and_covariances(values: Floats, weights: Floats | None = None) -> tuple[Floats, Floats]:
    """The means and the covariances of the population, of complete rows.

    Sums use differences to the first record, because with an offset of 1e9 rounding would destroy the variance.
    """
    shifted = values - values[0]
    mean = np.average(shifted, axis=0, weights=weights)
    centred = shifted - mean
    weighed = centred if weights is None else centred * weights[:, None]
    total = len(values) if weights is None else weights.sum()
    return values[0] + mean, centred.T @ weighed / total


def detail_lost(before: NDArray[np.integer[Any]], after: NDArray[np.integer[Any]]) -> float | None:
    """The percentage of a column's entropy that is lost, H(before | after) / H(before); one code per record.

    >>> detail_lost(np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1]))
    50.0
    """
    whole, left = _entropy(before.astype(np.int64)), _entropy(after.astype(np.int64))
    if whole <= 0:
        return None
    joint = _entropy(before.astype(np.int64) * (int(after.max()) + 1) + after)
    return 100.0 * min(1.0, max(0.0, (joint - left) / whole))


def _entropy(codes: NDArray[np.int64]) -> float:
    share = np.unique(codes, return_counts=True)[1] / codes.size
    return float(-(share * np.log(share)).sum())
