"""The cell suppressions that `shoal compare` tries on a table, or the reason why it tries none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.protections.candidate import Candidate, LeftOut
from shoal.protections.parameters import EFFORTS
from shoal.table.table import Table


def candidates(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    """Yield the search at each effort, if a column is not a number."""
    if numeric:
        return  # a column with stars has no means to compare
    for level in EFFORTS[: EFFORTS.index(effort) + 1]:
        yield Candidate(f"suppress, {level}", {"effort": level})


def loss(release: Any) -> float:
    """Return the share of cells that are starred, in percent."""
    return 100.0 * float(release.facts["suppressed_share"])
