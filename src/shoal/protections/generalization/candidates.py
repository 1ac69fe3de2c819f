"""The generalizations that `shoal compare` tries on a table, or the reason why it tries none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shoal.protections.candidate import Candidate, LeftOut
from shoal.protections.parameters import EFFORTS
from shoal.table.table import Table

MOST_RECORDS = 50_000
DISTINCT = 30  # a number with more values is cut at this many quantiles before it is generalized


def candidates(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    """Yield the search at each effort. Numbers with many values are cut at quantiles."""
    if table.rows > MOST_RECORDS and numeric:
        yield LeftOut("generalize", f"slow beyond {MOST_RECORDS:,} records, and there are {table.rows:,}")
        return
    cuts = {}
    for name in (c for c in columns if table.kinds[c] == "number"):
        values = table.numbers([name], missing="keep", allow_constant=True)[:, 0]
        values = values[~np.isnan(values)]
        if np.unique(values).size > DISTINCT:
            inner = np.unique(np.quantile(values, np.linspace(0, 1, DISTINCT + 1)[1:-1], method="closest_observation"))
            cuts[name] = [float(p) for p in inner]
    more = {"cuts": cuts} if cuts else {}
    for level in EFFORTS[: 1 if numeric else EFFORTS.index(effort) + 1]:
        yield Candidate(f"generalize, {level}", {"effort": level, **more})


def loss(release: Any) -> float:
    """Return the NWP of a release in percent."""
    return 100.0 * float(release.facts["nwp"])
