"""The distortion of a swap (Chertov and Tavrov 2017), and the nearest partners of each target record.

    distortion(a, b) = sum over ordinal columns of w ((a - b) / (a + b))^2
                     + sum over the other columns of g chi^2,  chi = chi1 if equal, else chi2

0/0 is 0. Two missing values are equal. A missing and a present value differ as much as a column can: by 1 in an
ordinal column, by chi2 in another one. The publication calls this the influential metric, InfM.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import current
from shoal.errors import InputError, UsageError, counted
from shoal.protections.regions.kernels import masking as kernels


@dataclass(frozen=True)
class MatchingValues:
    """The values of the matching columns, one row per column: numbers (NaN: missing) and codes (-1: missing)."""

    ordinal: Floats
    nominal: Indices
    weights: Floats
    same: Floats
    other: Floats

    @property
    def column_count(self) -> int:
        return int(self.ordinal.shape[0] + self.nominal.shape[0])

    @property
    def worst(self) -> float:
        """The distortion of two records that differ in every column."""
        return float(self.weights.sum() + np.maximum(self.same, self.other).sum())

    @property
    def is_whole(self) -> bool:
        """Whether every distortion is a whole number. Then so is every sum, and a lower bound may be rounded up."""
        steps = np.concatenate([self.same, self.other])
        return self.ordinal.shape[0] == 0 and bool(np.all(steps == np.round(steps)))

    def between(self, left: Ints, right: Ints) -> Floats:
        """Return the distortion of a swap of record left[i] and record right[i], for every i."""
        out = np.empty(len(left))
        pair = (np.ascontiguousarray(left, dtype=np.int64), np.ascontiguousarray(right, dtype=np.int64))
        kernels.pair_metrics(self.ordinal, self.nominal, *pair, self.weights, self.same, self.other, out)
        return out


def matching_values(
    ordinal: Floats,
    nominal: NDArray[np.integer[Any]],
    ordinal_weights: Floats | None = None,
    nominal_weights: Floats | None = None,
    chi: tuple[float, float] = (0.0, 1.0),
    names: Sequence[str] = (),
    row_numbers: Ints | None = None,
) -> MatchingValues:
    """Check the values (one row per record) and weights, and arrange them for the kernels.

    names: of the ordinal and then of the other columns; row_numbers: of the records in the file. Both are for messages.
    """
    ordinal = np.ascontiguousarray(np.asarray(ordinal, dtype=np.float64).T)
    codes: Indices = np.ascontiguousarray(np.asarray(nominal, dtype=np.int32).T)
    if ordinal.shape[0] + codes.shape[0] == 0:
        raise UsageError("No matching column is named, and swaps need similar records. Add --influential A,B,…")
    for j in range(ordinal.shape[0]):
        bad = np.flatnonzero((ordinal[j] < 0) | np.isinf(ordinal[j]))
        if bad.size:
            first = int(bad[0]) + 1 if row_numbers is None else int(row_numbers[bad[0]])
            raise InputError(
                f"The ordinal matching column {names[j] if names else j + 1!r} has "
                f"{counted(bad.size, 'negative or infinite value')}, the first in row {first}. Its distortion "
                "((a-b)/(a+b))^2 needs finite numbers from 0. Leave the column out of --ordinal, or shift its values."
            )
    if not np.isfinite(chi).all():
        raise UsageError(f"--chi must be two finite numbers, such as 0,1, not {chi[0]:g},{chi[1]:g}.")
    w = _weights(ordinal_weights, ordinal.shape[0], names)
    g = _weights(nominal_weights, codes.shape[0], names[ordinal.shape[0] :])
    return MatchingValues(ordinal, codes, w, g * chi[0] ** 2, g * chi[1] ** 2)


def _weights(weights: Floats | None, size: int, names: Sequence[str]) -> Floats:
    if weights is None:
        return np.ones(size)
    array = np.array(weights, dtype=np.float64)
    if array.shape != (size,):
        raise UsageError(f"There must be one weight per matching column: {size}, not {array.size}.")
    for j in np.flatnonzero(~np.isfinite(array) | (array < 0)):
        column = repr(names[j]) if names else f"number {j + 1}"
        raise UsageError(
            f"The weight of the matching column {column} must be a finite number from 0, not {array[j]:g}."
        )
    return array


@dataclass(frozen=True)
class NearestPartners:
    """The nearest partners of each target record in each region, as positions in `partners`."""

    targets: Ints
    partners: Ints
    bounds: Ints
    who: Indices
    cost: Floats

    @property
    def depth(self) -> int:
        return int(self.who.shape[2])


def nearest_partners(
    values: MatchingValues, targets: Ints, partners: Ints, bounds: Ints, depth: int
) -> NearestPartners:
    """Return the table of nearest partners; partners[bounds[d]:bounds[d+1]] are those of region d."""
    depth = max(1, min(depth, int(np.diff(bounds).max(initial=1))))
    who = np.empty((targets.size, bounds.size - 1, depth), dtype=np.int32)
    cost = np.empty(who.shape)
    columns = np.concatenate([targets, partners])
    control = current()
    kernels.nearest_partners(
        values.ordinal.take(columns, axis=1), values.nominal.take(columns, axis=1), targets.size, bounds,
        values.weights, values.same, values.other, who, cost, control.flag,
    )  # fmt: skip
    control.check()
    return NearestPartners(targets, partners, bounds, who, cost)
