"""The modified Thompson tau technique (ASME PTC 19.1): which values of a signal betray the group.

Quartiles are Hazen's: with them all published outlier sets come out; with other definitions they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError, check_choice

SIDES = ("both", "upper")


def outliers(signal: ArrayLike, alpha: float = 0.01, side: str = "both") -> Ints:
    """Positions, counted from 0, of the signal's outliers.

        repeat over the m values that are left:
            M = their median, s = (upper quartile - lower quartile) / 1.349
            t = Student's critical value at alpha/2 with m - 2 degrees of freedom
            tau = t (m - 1) / (sqrt(m) sqrt(m - 2 + t^2))
            the value farthest from M, if farther than tau * s, is an outlier and is taken out
        until none is

    Of equally far values the first goes first. Where s is 0 no outliers can be found: `tau_test` says so.

    >>> outliers([2, 3, 2, 4, 3, 90, 3, 2])
    array([5])
    """
    return tau_test(signal, alpha, side).positions


@dataclass(frozen=True)
class TauTest:
    """What the tau technique found; `low` and `high` bound the values it takes for ordinary in the last stage."""

    positions: Ints
    median: float
    deviation: float
    low: float
    high: float
    blind: bool

    def hides(self, signal: ArrayLike, positions: Ints) -> NDArray[np.bool_]:
        """For each position: is its value no outlier's, and (where the test was blind) no other than the median?"""
        every = np.asarray(signal, dtype=np.float64)
        values = every[positions]
        plain = ~np.isin(values, every[self.positions])  # of equal values the test may throw out only some
        return plain & (values == self.median) if self.blind else plain


def tau_test(signal: ArrayLike, alpha: float = 0.01, side: str = "both") -> TauTest:
    """The test with all that its last stage knows; `blind` where the pseudo-deviation was 0 and the values differed."""
    from shoal.protections.regions.kernels import masking

    values = np.array(signal, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise UsageError("a signal must be a list of at least one finite number")
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
    """tau for every number of values 0..size; infinite below 3, where no outlier can be found."""
    from scipy.stats import t as student

    if not 0.0 < alpha < 1.0:
        raise UsageError(f"alpha must lie between 0 and 1, not {alpha!r}; 0.01 is usual")
    m = np.arange(size + 1, dtype=np.float64)
    taus = np.full(size + 1, np.inf)
    m = m[3:]
    t = student.ppf(1.0 - alpha / 2.0, m - 2.0)
    taus[3:] = t * (m - 1.0) / (np.sqrt(m) * np.sqrt(m - 2.0 + t * t))
    return taus
