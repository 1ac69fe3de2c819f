"""Disclosure risk and score: interval disclosure and linkages in one value, and its balance with the loss.

After Domingo-Ferrer and Torra 2001 and the GOMM thesis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.measures.measure import Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence


def disclosure_risk(interval: float, distance: float, probabilistic: float) -> float:
    """DR = 0.5 ID + 0.25 DLD + 0.25 PLD, in percent."""
    return 0.5 * interval + 0.25 * distance + 0.25 * probabilistic


def score(loss: float, risk: float) -> float:
    """The mean of loss and risk, both in percent; lower is better."""
    return (loss + risk) / 2


def _risk(evidence: Evidence) -> float:
    parts = ("interval_disclosure", "distance_linkage", "probabilistic_linkage")
    return disclosure_risk(*(evidence.number(name) for name in parts))


MEASURES = (
    Measure(
        name="disclosure_risk",
        kind="risk",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="0.5 · interval disclosure + 0.25 · each linkage",
        formula="0.5 · `interval_disclosure` + 0.25 · `distance_linkage` + 0.25 · `probabilistic_linkage`",
        compute=_risk,
        costly=True,
        short="risk %",
    ),
    Measure(
        name="score",
        kind="balance",
        needs=("original", "release"),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="mean of il and disclosure_risk: lower is better",
        formula="(`il` + `disclosure_risk`) / 2",
        compute=lambda evidence: score(evidence.number("il"), evidence.number("disclosure_risk")),
        weighted=True,
        costly=True,
        short="score",
    ),
)
