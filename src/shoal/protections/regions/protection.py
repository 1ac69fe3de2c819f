"""What a masked signal still shows: outliers at every alpha in every signal, and the ranks of the original outliers.

Chertov and Tavrov 2017 test one signal at one alpha. An intruder may choose another alpha, or divide by the number of
records per region. So Shoal measures all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.protections.regions import ALPHAS as ALPHAS
from shoal.protections.regions.outliers import tau_test
from shoal.protections.regions.signal import Signal

Signs = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class View:
    """One signal at one alpha: the outlier regions before and after (1: from above, -1: from below, 0: no outlier)."""

    signal: str
    alpha: float
    before: Signs
    after: Signs


@dataclass(frozen=True, eq=False)
class MeasuredProtection:
    """The measured protection of a modified signal.

    views: every signal at every alpha. outlying: the original outliers. ranks: for each signal, the rank of each
    original outlier by size (1: the largest region; equal regions all have the last of their ranks). largest: the
    original outliers that no other region exceeds in some signal; for outliers from below, that no other region falls
    below. upper: which original outliers are outliers from above.
    """

    views: list[View]
    outlying: Ints
    ranks: dict[str, Ints]
    largest: Ints
    upper: Bools

    @property
    def left(self) -> Ints:
        """The original outliers that are still outliers at some alpha in some signal."""
        is_outlier = np.any([view.after != 0 for view in self.views], axis=0)
        return self.outlying[is_outlier[self.outlying]]

    @property
    def new(self) -> Ints:
        """The other regions that became outliers at some alpha in some signal, or changed their side."""
        is_new = np.any([(view.after != 0) & (view.after != view.before) for view in self.views], axis=0)
        return np.setdiff1d(np.flatnonzero(is_new), self.outlying)

    @property
    def hidden(self) -> bool:
        """Whether no original outlier is an outlier or the largest region, and there are no new outliers."""
        return not (self.left.size or self.new.size or self.largest.size)

    def hidden_but_for(self, decoys: Ints) -> bool:
        """Return the same, where some regions are to be outliers."""
        return not (self.left.size or self.largest.size or np.setdiff1d(self.new, decoys).size)

    @property
    def first_rank(self) -> int:
        """The first rank of an original outlier in any signal; only outliers from above count, if there are any."""
        counted = self.upper if self.upper.any() else ~self.upper
        return int(min(ranks[counted].min() for ranks in self.ranks.values()))


def measure_protection(
    signals: Sequence[Signal],
    counts: Ints,
    outlying: Ints,
    upper: Bools,
    alphas: Sequence[float] = ALPHAS,
    side: str = "both",
) -> MeasuredProtection:
    """Measure what `counts` show in each signal at each alpha; upper: which of `outlying` are outliers from above."""
    views, ranks, largest = [], {}, np.zeros(counts.size, dtype=bool)
    others = np.setdiff1d(np.arange(counts.size), outlying)
    for signal in signals:
        before, after = signal.values, signal.of(counts)
        for alpha in alphas:
            signs = outlier_signs(before, alpha, side, ties="all"), outlier_signs(after, alpha, side)
            views.append(View(signal.kind, alpha, *signs))
        ranks[signal.kind] = np.array([int((after >= after[d]).sum()) for d in outlying])
        highest, lowest = after[others].max(), after[others].min()
        largest[outlying] |= (after[outlying] >= highest) | (~upper & (after[outlying] <= lowest))
    return MeasuredProtection(views, outlying, ranks, np.flatnonzero(largest), upper)


def outlier_signs(values: Floats, alpha: float, side: str = "both", *, ties: str = "any") -> Signs:
    """Return the outliers of a signal: 1 from above, -1 from below. Equal values are outliers together.

    If two values are equally far above and below the median, the test removes one first, by the order of the regions,
    and the other may then stay. The order must not matter here. ties "any": a value is an outlier if it is one when
    the higher or when the lower values are removed first. "all": it must be one in both cases. If the test is blind
    (equal quartiles), every value but the median counts as an outlier.
    """
    first, second = (_signs(values, order, alpha, side) for order in (np.argsort(-values), np.argsort(values)))
    if ties == "any":
        return np.where(first != 0, first, second)
    return np.where(first == second, first, 0).astype(np.int8)


def _signs(values: Floats, order: Ints, alpha: float, side: str) -> Signs:
    test = tau_test(values[order], alpha, side)
    flags = np.isin(values, values[order][test.positions])
    if test.blind:
        flags |= values > test.median if side == "upper" else values != test.median
    return np.where(flags, np.sign(values - test.median), 0).astype(np.int8)
