"""Restrictions on the outlier regions, and the compatibility of a modified signal (Chertov and Tavrov 2017).

A restriction is 1 at a threshold and beyond it on the ordinary side, and 0 at the original value. Between them it
falls: Z-shaped (ZMF, as published), linearly or in one step. Thresholds come from the ordinary regions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError, check_choice
from shoal.protections.regions.choices import RESTRICTION_SHAPES, THRESHOLD_RULES


def zmf(x: ArrayLike, a: float, b: float) -> Floats:
    """Return the Z-shaped function: 1 up to a, 0 from b, two parabolas between; for a > b its mirror image.

    >>> zmf([10, 53.5, 97], 10, 97)
    array([1. , 0.5, 0. ])
    """
    return falling(x, a, b, "zmf")


def falling(x: ArrayLike, a: float, b: float, shape: str = "zmf") -> Floats:
    """Return the value of a restriction: 1 at a and beyond, 0 at b and beyond, `shape` between; a > b mirrors it."""
    check_choice("restriction", shape, RESTRICTION_SHAPES)
    x = np.asarray(x, dtype=np.float64)
    if a == b:
        raise UsageError(f"The threshold of a restriction must differ from the original value. Both are {a:g}.")
    position = np.clip((x - a) / (b - a), 0.0, 1.0)
    if shape == "linear":
        return np.asarray(1.0 - position)
    if shape == "step":
        return np.asarray(position <= 0.0, dtype=np.float64)
    return np.where(position <= 0.5, 1.0 - 2.0 * position**2, 2.0 * (1.0 - position) ** 2)


@dataclass(frozen=True)
class AutomaticThreshold:
    """The threshold of an outlier region: the nth largest ordinary value, or (below) that minus a fifth of the gap.

    For a region that is an outlier from below it is the nth smallest value, plus a fifth of the gap.
    """

    nth: int = 1
    rule: str = "largest"

    def of(self, values: Floats, outlying: Ints) -> Floats:
        """Return one threshold per outlier region."""
        check_choice("rule", self.rule, THRESHOLD_RULES)
        ordinary = np.sort(np.delete(values, outlying))
        if not 1 <= self.nth <= ordinary.size:
            raise UsageError(
                f"nth must be between 1 and {ordinary.size} (the number of ordinary regions), not {self.nth}."
            )
        middle = np.median(ordinary)
        original = values[outlying]
        level = np.where(original >= middle, ordinary[-self.nth], ordinary[self.nth - 1])
        return np.asarray(level - 0.2 * (original - level) if self.rule == "below" else level, dtype=np.float64)


@dataclass(frozen=True)
class Restrictions:
    """One restriction per outlier region, all of one shape."""

    outlying: Ints
    threshold: Floats
    original: Floats
    shape: str = "zmf"
    root: bool = False

    def alone(self, region: int, values: ArrayLike) -> Floats:
        """Return the restriction of one outlier region at these values; with `root` its square root."""
        i = int(np.flatnonzero(self.outlying == region)[0])
        value = falling(values, self.threshold[i], self.original[i], self.shape)
        return np.sqrt(value) if self.root else value

    def compatibility(self, values: Floats) -> float:
        """Return the product of the restrictions; with `root` its square root, as in the published table."""
        return float(np.prod([float(self.alone(int(d), values[d])) for d in self.outlying]))
