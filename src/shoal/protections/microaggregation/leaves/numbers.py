"""Sums, scaling and means whose bits do not depend on how the rows are split.

Sums are sums of whole numbers. The mean of a group is that of its exact sum, so that equal means of two groups have
equal bits: a difference in the last bits would disclose the order of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.hashing import GOLDEN

BITS = 60  # of a number from 0 to 1, as a whole number
HALF = 30
MOST_DIGITS = 6  # decimals of a column whose sums are computed in whole numbers
EXACT = 2**53


@dataclass(frozen=True)
class Scale:
    """The scaling of one column: (x - lowest) / width, minus the mean, times a factor."""

    lowest: float
    width: float
    mean: float
    factor: float

    def of(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scaled values."""
        return np.asarray((self.to_unit(values) - self.mean) * self.factor)

    def to_unit(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values in the range 0 to 1."""
        return np.asarray((values - self.lowest) / self.width)


def scaled(values: Sequence[NDArray[Any]], scales: Sequence[Scale]) -> Floats:
    """Return scaled columns as an array of records by columns."""
    out = np.empty((len(values[0]), len(scales)))
    for j, (column, scale) in enumerate(zip(values, scales, strict=True)):
        out[:, j] = scale.of(column)
    return out


def whole_sum(values: NDArray[np.float64]) -> int:
    """Return the sum of numbers from 0 to 1, each rounded to a multiple of 2^-60, in units of 2^-60.

    >>> whole_sum(np.array([0.5, 0.25])) == 3 * 2**58
    True
    """
    parts = np.rint(values * 2.0**BITS).astype(np.int64)
    return (int((parts >> HALF).sum()) << HALF) + int((parts & ((1 << HALF) - 1)).sum())


def mean_and_deviation(total: int, squares: int, n: int) -> tuple[float, float]:
    """Return the mean and the standard deviation, from two whole sums."""
    mean = Fraction(total, n << BITS)
    variance = Fraction(squares, n << BITS) - mean * mean
    return float(mean), float(max(variance, Fraction(0))) ** 0.5


def hashed(rows: Ints, seed: int) -> NDArray[np.uint64]:
    """Return a random 64-bit number for each row number (the finalizer of SplitMix64)."""
    x = rows.astype(np.uint64) + np.uint64(seed % 2**64)
    x = (x + np.uint64(1)) * np.uint64(GOLDEN)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(x ^ (x >> np.uint64(31)))


def decimals(values: NDArray[np.float64], k: int) -> int | None:
    """Return the number of decimals of a column, if sums of 2k of its values are exact in units of the last one.

    >>> decimals(np.array([1.25, 3.0]), 5), decimals(np.array([0.1 + 0.2]), 5)
    (2, None)
    """
    if not values.size:
        return 0
    largest = float(np.abs(values).max())
    for digits in range(MOST_DIGITS + 1):
        unit = 10.0**digits
        if largest * unit * 4 * k >= EXACT:
            return None
        if bool((np.rint(values * unit) / unit == values).all()):
            return digits
    return None


def group_means(values: NDArray[np.float64], order: Ints, starts: Ints, sizes: Ints, digits: int | None) -> Floats:
    """Return the mean of each group. `order` lists the records group by group; group g begins at `starts[g]`."""
    inside = values[order]
    if digits is not None:
        unit = 10.0**digits
        sums = np.add.reduceat(np.rint(inside * unit).astype(np.int64), starts)
        return np.asarray(sums.astype(np.float64) / (sizes * 10**digits).astype(np.float64)) + 0.0
    high, low = np.zeros(sizes.size), np.zeros(sizes.size)
    for place in range(int(sizes.max())):
        open_ = np.flatnonzero(sizes > place)
        x, y = high[open_], inside[starts[open_] + place]
        total = x + y
        part = total - x
        low[open_] += (x - (total - part)) + (y - part)  # the rounding error of the sum (Knuth's two-sum)
        high[open_] = total
    means = (high + low) / sizes
    lowest, highest = np.minimum.reduceat(inside, starts), np.maximum.reduceat(inside, starts)
    return np.clip(means, lowest, highest) + 0.0
