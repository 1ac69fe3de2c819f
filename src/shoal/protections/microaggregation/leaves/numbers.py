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


@dataclass(frozen=True)
class Indicators:
    """The scaling of a nominal column of so many values: one column per value, `factor` for the record's own."""

    count: int
    factor: float


Scaling = Scale | Indicators


def width_of(scales: Sequence[Scaling]) -> int:
    """Return the number of dimensions."""
    return sum(scale.count if isinstance(scale, Indicators) else 1 for scale in scales)


def scaled(values: Sequence[NDArray[Any]], scales: Sequence[Scaling]) -> Floats:
    """Return scaled columns as an array of records by dimensions: numbers, and indicators of codes."""
    out = np.empty((len(values[0]), width_of(scales)))
    place = 0
    for column, scale in zip(values, scales, strict=True):
        if isinstance(scale, Indicators):
            part = out[:, place : place + scale.count]
            part[:] = 0.0
            part[np.arange(len(column)), column] = scale.factor
            place += scale.count
        else:
            out[:, place] = scale.of(column)
            place += 1
    return out


def whole_sum(values: NDArray[np.float64]) -> int:
    """Return the sum of numbers from 0 to 1, each rounded to a multiple of 2^-60, in units of 2^-60.

    >>> whole_sum(np.array([0.5, 0.25])) == 3 * 2**58
    True
    """
    high, low = _halves(values)
    return (int(high.sum()) << HALF) + int(low.sum())


def whole_sums(codes: NDArray[Any], values: NDArray[np.float64], count: int) -> list[int]:
    """Return the whole sum of the numbers of each code.

    >>> whole_sums(np.array([0, 1, 1]), np.array([0.5, 0.25, 0.25]), 2) == [2**59, 2**59]
    True
    """
    sums = np.zeros((2, count), dtype=np.int64)
    for total, part in zip(sums, _halves(values), strict=True):
        np.add.at(total, codes, part)
    return [(int(a) << HALF) + int(b) for a, b in sums.T]


def _halves(values: NDArray[np.float64]) -> tuple[Ints, Ints]:
    """Return numbers from 0 to 1 in units of 2^-60, the upper and the lower half of the bits."""
    parts = np.rint(values * 2.0**BITS).astype(np.int64)
    return parts >> HALF, parts & ((1 << HALF) - 1)


def mean_and_deviation(total: int, squares: int, mass: int) -> tuple[float, float]:
    """Return the mean and the standard deviation, from whole sums: of the values, of their squares, of the weights."""
    mean = Fraction(total, mass)
    variance = Fraction(squares, mass) - mean * mean
    return float(mean), float(max(variance, Fraction(0))) ** 0.5


def gini(masses: Sequence[int]) -> float:
    """Return the probability that two records differ: the sum of p(1 - p), from whole sums."""
    total = sum(masses)
    return float(sum(Fraction(mass, total) * (1 - Fraction(mass, total)) for mass in masses))


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


def weighted_means(values: NDArray[np.float64], weights: Floats, labels: Ints, starts: Ints, sizes: Ints) -> Floats:
    """Return the weighted mean of each group, whose records are added in the order of their values and weights.

    Groups with the same values and weights so have the same mean, bit for bit.
    """
    order = np.lexsort((weights, values, labels))
    inside, mass = values[order], weights[order]
    sums, masses = np.zeros(sizes.size), np.zeros(sizes.size)
    middle = inside[starts]
    for place in range(int(sizes.max())):
        open_ = np.flatnonzero(sizes > place)
        rows = starts[open_] + place
        sums[open_] += mass[rows] * (inside[rows] - middle[open_])
        masses[open_] += mass[rows]
    lowest, highest = np.minimum.reduceat(inside, starts), np.maximum.reduceat(inside, starts)
    return np.clip(sums / masses + middle, lowest, highest) + 0.0


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
