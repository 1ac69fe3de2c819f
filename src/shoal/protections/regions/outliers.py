"""The modified Thompson tau technique (ASME PTC 19.1): the outliers of a signal.

The quartiles are Hazen's. They give all published outlier sets; other definitions do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError, check_choice
from shoal.protections.regions.choices import SIDES


def outliers(signal: ArrayLike, alpha: float = 0.01, side: str = "both") -> Ints:
    """Return the positions of the signal's outliers, counted from 0.

        repeat over the m values that are left:
            M = their median, s = (upper quartile - lower quartile) / 1.349
            t = Student's critical value at alpha/2 with m - 2 degrees of freedom
            tau = t (m - 1) / (sqrt(m) sqrt(m - 2 + t^2))
            if the value farthest from M is farther than tau * s, it is an outlier: remove it
        until no value was removed

    Of equally far values the first is removed first. If s is 0, the test finds no outliers (see `TauTest.blind`).

    >>> outliers([2, 3, 2, 4, 3, 90, 3, 2])
    array([5])
    """
    return tau_test(signal, alpha, side).positions


@dataclass(frozen=True)
class TauTest:
    """The result of the tau technique.

    positions: the outliers. median, deviation: of the last stage. low, high: bounds of its ordinary values. blind:
    whether the deviation was 0 although the values differ, so that the test could find no outliers.
    """

    positions: Ints
    median: float
    deviation: float
    low: float
    high: float
    blind: bool

    def hides(self, signal: ArrayLike, positions: Ints) -> NDArray[np.bool_]:
        """Return for each position whether its value is ordinary; if the test is blind, only the median is."""
        signal = np.asarray(signal, dtype=np.float64)
        values = signal[positions]
        ordinary = ~np.isin(values, signal[self.positions])  # of equal values the test may remove only some
        return ordinary & (values == self.median) if self.blind else ordinary


def tau_test(signal: ArrayLike, alpha: float = 0.01, side: str = "both") -> TauTest:
    """Run the test and return its outliers and the values of its last stage."""
    from shoal.protections.regions.kernels import masking

    values = np.array(signal, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise UsageError("A signal must be a list of at least one finite number.")
    check_choice("side", side, SIDES)
    flags = np.zeros(values.size, dtype=np.uint8)
    last = np.zeros(4)
    blind = masking.tau_test(values, critical_taus(values.size, alpha), side == "upper", flags, last)
    reach = last[1] * last[2] if last[1] > 0 else 0.0
    return TauTest(
        positions=np.flatnonzero(flags).astype(np.int64),
        median=float(last[0]),
        deviation=float(last[1]),
        low=-np.inf if side == "upper" else float(last[0] - reach),
        high=float(last[0] + reach),
        blind=bool(blind),
    )


@lru_cache(maxsize=64)
def critical_taus(size: int, alpha: float) -> Floats:
    """Return tau for every number of values from 0 to size; it is infinite below 3 values, which have no outlier."""
    from scipy.stats import t as student

    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha must be between 0 and 1, not {alpha!r}. A usual value is 0.01.")
    m = np.arange(size + 1, dtype=np.float64)
    taus = np.full(size + 1, np.inf)
    m = m[3:]
    t = student.ppf(1.0 - alpha / 2.0, m - 2.0)
    taus[3:] = t * (m - 1.0) / (np.sqrt(m) * np.sqrt(m - 2.0 + t * t))
    return taus
