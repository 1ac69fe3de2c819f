"""The recodings that `shoal compare` tries on a table, or the reason why it tries none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.protections.candidate import Candidate, LeftOut
from shoal.protections.parameters import EFFORTS
from shoal.protections.recoding.release import RecodedRelease
from shoal.table.table import Table


def candidates(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    """Yield the search at each effort, if a column is not a number."""
    if numeric:
        return  # the means of its groups are a microaggregation with more loss
    for level in EFFORTS[: EFFORTS.index(effort) + 1]:
        yield Candidate(f"recode, {level}", {"effort": level})


def loss(release: RecodedRelease) -> float:
    """Return the loss of a release in percent."""
    return 100.0 * float(release.facts["loss"])
