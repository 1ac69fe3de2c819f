"""Information loss: how much protection changed the values.

It is 100 * SSE / SST on standardized columns: 0 if nothing changed, about 100 if all records have the same values. SSE
is the sum of squared changes, SST the sum of squared distances to the mean. Ranks of ordinal columns count as numbers.
The squared distance of two nominal labels is 2 / G, where G is the column's Gini impurity
(docs/reference/measures.md). Every command uses this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats
from shoal.measures.measure import Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import ColumnPair, Evidence


@dataclass(frozen=True)
class Loss:
    sse: float
    sst: float

    @property
    def information_loss(self) -> float:
        return 100.0 * self.sse / self.sst if self.sst > 0 else 0.0


def information_loss(
    original: Floats, protected: Floats, weights: Floats | None = None, scaling: str = "standard"
) -> Loss:
    """SSE and SST of a protected n x d array, in units of the original columns' standard deviations (minmax: ranges).

    Columns are processed one by one, so that a large file is not copied. A constant column that did not change has no
    loss; the changes of one that did are measured relative to its value.
    """
    sse = sst = 0.0
    for j in range(original.shape[1]):
        before, after = original[:, j], protected[:, j]
        centred = before - before[0]
        centred = centred - np.average(centred, weights=weights)
        width = float(before.max() - before.min())
        # Squares of very small or large numbers are not finite: measure such a column in units of its range.
        unit = 1.0 if width == 0 or 1e-120 < width < 1e120 else width
        variance = float(np.average((centred / unit) ** 2, weights=weights))
        change = ((before - after) / unit) ** 2
        changed = float(change.sum() if weights is None else (weights * change).sum())
        total = float(len(before) if weights is None else weights.sum())
        if width == 0:
            sse += changed / (float(before[0]) ** 2 or 1.0)
        elif scaling == "minmax":
            sse += changed / (width / unit) ** 2
            sst += total * variance / (width / unit) ** 2
        else:
            sse += changed / variance
            sst += total
    return Loss(sse, sst)


def nominal_loss(codes: NDArray[Any], changed: Bools, weights: Floats | None = None) -> Loss:
    """The loss of a nominal column, whose total variance is 1; a changed label costs 2 / G."""
    counts = np.bincount(codes, weights)
    shares = counts / counts.sum()
    gini = float((shares * (1.0 - shares)).sum())
    if gini == 0.0:
        return Loss(0.0, 0.0)
    mass = float(changed.sum() if weights is None else weights[changed].sum())
    return Loss(2.0 * mass / gini, float(changed.size if weights is None else weights.sum()))


def column_loss(pair: ColumnPair) -> Loss:
    """The loss of one column of any kind."""
    if pair.kind == "nominal":
        return nominal_loss(pair.before, pair.before != pair.after, pair.weights)
    old, new = (values.astype(np.float64)[:, None] for values in (pair.before, pair.after))
    return information_loss(old, new, pair.weights)


def total_loss(parts: Iterable[Loss]) -> Loss:
    """The loss of several columns together."""
    losses = list(parts)
    return Loss(sum((loss.sse for loss in losses), 0.0), sum((loss.sst for loss in losses), 0.0))


def _of_release(evidence: Evidence) -> float | None:
    if evidence.convention.scaling == "minmax":
        if evidence.original is None:
            return None
        return information_loss(*evidence.numbers(), evidence.weights, "minmax").information_loss
    return total_loss(column_loss(pair) for pair in evidence.columns or ()).information_loss


MEASURES = (
    Measure(
        name="information_loss",
        kind="loss",
        needs=("columns",),
        range="0 to about 100",
        unit="%",
        better="lower",
        meaning="share of the columns' variance that was lost",
        formula="100 · SSE / SST: squared changes over squared distances to the mean, columns standardized",
        compute=_of_release,
        weighted=True,
        short="loss %",
    ),
)
