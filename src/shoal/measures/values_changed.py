"""Changed labels: the share of cells of a column whose value changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.measures.measure import Measure

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence


def _shares(evidence: Evidence) -> dict[str, float | int | None]:
    return {name: 100.0 * float(cells.mean()) for name, cells in (evidence.changed or {}).items()}


MEASURES = (
    Measure(
        name="changed",
        kind="loss",
        needs=("changed",),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="share of cells of {column} that changed",
        formula="100 · changed cells / n, for each column that does not hold numbers",
        compute=_shares,
    ),
)
