"""Information loss: how far the protected values are from the original ones.

100 * SSE / SST on standardised columns, 0 (nothing changed) to about 100 (every record replaced
by the overall mean). SSE sums the squared changes, SST the squared distances to the mean (docs/measures.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats


@dataclass(frozen=True)
class Loss:
    sse: float
    sst: float

    @property
    def information_loss(self) -> float:
        return 100.0 * self.sse / self.sst if self.sst > 0 else 0.0


def information_loss(original: Floats, protected: Floats, weights: Floats | None = None) -> Loss:
    """SSE and SST of a protected n x d array, in units of the original columns' standard deviations.

    Column by column, so that a large file needs no second scaled copy. A constant column cannot
    lose anything where it stays what it was; where it changed, it is counted by its own size.
    """
    sse = sst = 0.0
    for j in range(original.shape[1]):
        before, after = original[:, j], protected[:, j]
        centred = before - before[0]
        centred = centred - np.average(centred, weights=weights)
        width = float(before.max() - before.min())
        # Squares of tiny or huge numbers are no numbers any more: such a column is measured in units of its width.
        unit = 1.0 if width == 0 or 1e-120 < width < 1e120 else width
        variance = float(np.average((centred / unit) ** 2, weights=weights))
        change = ((before - after) / unit) ** 2
        changed = float(change.sum() if weights is None else (weights * change).sum())
        total = float(len(before) if weights is None else weights.sum())
        if width == 0:
            sse += changed / (float(before[0]) ** 2 or 1.0)
        else:
            sse += changed / variance
            sst += total
    return Loss(sse, sst)
