"""All measures of loss and risk of a protected array, under a named convention (docs/conventions.md).

sound: standardised columns; intervals are parts of the deviation; ties share a link; linkage is averaged over the sets
of columns that an intruder may hold. thesis: columns scaled to [0, 1]; intervals around the protected value; a tie is
no link; the intruder holds all columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats
from shoal.errors import check_choice
from shoal.measures.convention import CONVENTIONS
from shoal.measures.interval import interval_disclosure
from shoal.measures.linkage import Linkage, distance_linkage, first_columns
from shoal.measures.probabilistic import MOST_COLUMNS, probabilistic_linkage
from shoal.measures.score import LossParts, disclosure_risk, loss_parts, score


@dataclass(frozen=True)
class Measures:
    """The parts of the full score; `information_loss` is 100 SSE / SST on the convention's scale."""

    information_loss: float
    parts: LossParts
    interval: float
    distance: Linkage
    probabilistic: Linkage
    columns: int
    columns_linked: int  # of the columns, how many probabilistic linkage could take

    @property
    def risk(self) -> float:
        return disclosure_risk(self.interval, self.distance.percent, self.probabilistic.percent)

    @property
    def score(self) -> float:
        return score(self.parts.il, self.risk)


def measure_all(
    original: Floats,
    protected: Floats,
    convention: str = "sound",
    *,
    weights: Floats | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Measures:
    """Every measure of a protected n x d array against its original."""
    rules = CONVENTIONS[check_choice("convention", convention, CONVENTIONS)]
    before, after = same_scale(original, protected, rules.scaling == "standard")
    centred = before - before.mean(axis=0)
    change = ((before - after) ** 2).sum(axis=1)
    spread = (centred**2).sum(axis=1)
    weigh = np.ones(len(before)) if weights is None else weights
    total = float(weigh @ spread)
    order = first_columns(before.shape[1], seed)
    held = order[min(len(order), MOST_COLUMNS) - 1]
    return Measures(
        information_loss=100.0 * float(weigh @ change) / total if total > 0 else 0.0,
        parts=loss_parts(original, protected, weights),
        interval=interval_disclosure(original, protected, "thesis" if rules.relative else "deviation"),
        distance=distance_linkage(
            before, after, strict=rules.strict, sets=None if rules.strict else order, threads=threads, seed=seed
        ),
        probabilistic=probabilistic_linkage(before[:, held], after[:, held], threads=threads, seed=seed),
        columns=len(order),
        columns_linked=len(held),
    )


def same_scale(original: Floats, protected: Floats, standard: bool) -> tuple[Floats, Floats]:
    """Both arrays in units of the original columns' deviations, or of their ranges; a constant column as it is."""
    origin = original.min(axis=0)
    width = np.std(original - origin, axis=0) if standard else np.ptp(original, axis=0)
    width = np.where((np.ptp(original, axis=0) > 0) & (width > 0), width, 1.0)
    return (original - origin) / width, (protected - origin) / width
