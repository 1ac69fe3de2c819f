"""The column groups that `shoal compare` tries on a table, or the reason why it tries none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.protections.candidate import Candidate, LeftOut
from shoal.table.table import Table

MOST_RECORDS = 5_000
EVALUATIONS = {"quick": 200, "standard": 1_000, "thorough": 5_000}


def candidates(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    """Each column by itself, and the column groups of a search; both with a search inside the column groups."""
    d = len(columns)
    if not numeric:
        yield LeftOut("group", "a column holds labels, and column groups need numbers")
    elif d < 2:
        yield LeftOut("group", "there is one column only")
    elif table.roles.weight is not None:
        yield LeftOut("group", "it does not support weights")
    elif table.rows > MOST_RECORDS:
        yield LeftOut("group", f"slow beyond {MOST_RECORDS:,} records, and there are {table.rows:,}")
    else:
        options = {"effort": effort, "baselines": False}
        yield Candidate("group, each column", {"method": "univariate", **options})
        if d > 2:
            yield Candidate("group, memetic", {"method": "memetic", "evaluations": EVALUATIONS[effort], **options})
