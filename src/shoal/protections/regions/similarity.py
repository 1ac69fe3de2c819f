"""The influential metric: how much a swap distorts (Chertov and Tavrov 2017), and each mover's nearest partners.

    InfM(a, b) = sum over ordinal attributes of w ((a - b) / (a + b))^2
               + sum over categorical attributes of g chi^2,  chi = chi1 if equal, else chi2

0/0 is 0. Missing and missing are equal; missing and present differ as much as an attribute can:
1 for an ordinal attribute, chi2 for a categorical one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import current
from shoal.errors import InputError, UsageError
from shoal.protections.regions.kernels import masking as kernels


@dataclass(frozen=True)
class Influential:
    """The influential values, an attribute a row: ordinal numbers (NaN: missing), categorical codes (-1: missing)."""

    ordinal: Floats
    nominal: Indices
    weights: Floats
    same: Floats
    other: Floats

    @property
    def attributes(self) -> int:
        return int(self.ordinal.shape[0] + self.nominal.shape[0])

    @property
    def worst(self) -> float:
        """The metric of two records that differ in everything."""
        return float(self.weights.sum() + np.maximum(self.same, self.other).sum())

    @property
    def whole(self) -> bool:
        """Is every metric a whole number? Then so is every sum, and a lower bound may be rounded up."""
        steps = np.concatenate([self.same, self.other])
        return self.ordinal.shape[0] == 0 and bool(np.all(steps == np.round(steps)))

    def between(self, left: Ints, right: Ints) -> Floats:
        """The metric of record left[i] and record right[i], for every i."""
        out = np.empty(len(left))
        pair = (np.ascontiguousarray(left, dtype=np.int64), np.ascontiguousarray(right, dtype=np.int64))
        kernels.pair_metrics(self.ordinal, self.nominal, *pair, self.weights, self.same, self.other, out)
        return out


def influential(
    ordinal: Floats,
    nominal: NDArray[np.integer[Any]],
    ordinal_weights: Floats | None = None,
    nominal_weights: Floats | None = None,
    chi: tuple[float, float] = (0.0, 1.0),
) -> Influential:
    """Check the values (one row per record) and weights, and lay them out for the kernels."""
    ordinal = np.ascontiguousarray(np.asarray(ordinal, dtype=np.float64).T)
    codes: Indices = np.ascontiguousarray(np.asarray(nominal, dtype=np.int32).T)
    if ordinal.shape[0] + codes.shape[0] == 0:
        raise UsageError("name at least one influential attribute: swaps are made between similar records")
    for j in range(ordinal.shape[0]):
        bad = np.flatnonzero((ordinal[j] < 0) | np.isinf(ordinal[j]))
        if bad.size:
            raise InputError(
                f"ordinal influential attribute {j + 1} has {bad.size} negative or infinite values, first in record "
                f"{bad[0]} (counted from 0); its metric ((a-b)/(a+b))^2 is for numbers from 0: "
                "make the attribute categorical or shift it"
            )
    w = _weights(ordinal_weights, ordinal.shape[0])
    g = _weights(nominal_weights, codes.shape[0])
    return Influential(ordinal, codes, w, g * chi[0] ** 2, g * chi[1] ** 2)


def _weights(weights: Floats | None, size: int) -> Floats:
    if weights is None:
        return np.ones(size)
    array = np.array(weights, dtype=np.float64)
    if array.shape != (size,) or not np.isfinite(array).all() or (array < 0).any():
        raise UsageError(f"weights must be {size} numbers from 0, one an attribute, not {list(array)}")
    return array


@dataclass(frozen=True)
class NearestPartners:
    """For each mover (a vital record) and district its nearest partners, as positions in `partners`."""

    movers: Ints
    partners: Ints
    bounds: Ints
    who: Indices
    cost: Floats

    @property
    def depth(self) -> int:
        return int(self.who.shape[2])


def nearest_partners(values: Influential, movers: Ints, partners: Ints, bounds: Ints, depth: int) -> NearestPartners:
    """The table of nearest partners; partners[bounds[d]:bounds[d+1]] are those of district d."""
    depth = max(1, min(depth, int(np.diff(bounds).max(initial=1))))
    who = np.empty((movers.size, bounds.size - 1, depth), dtype=np.int32)
    cost = np.empty(who.shape)
    columns = np.concatenate([movers, partners])
    control = current()
    kernels.nearest_partners(
        values.ordinal.take(columns, axis=1), values.nominal.take(columns, axis=1), movers.size, bounds,
        values.weights, values.same, values.other, who, cost, control.flag,
    )  # fmt: skip
    control.check()
    return NearestPartners(movers, partners, bounds, who, cost)
