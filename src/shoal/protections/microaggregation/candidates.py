"""The methods of microaggregation that suit a table, by its records, columns and weights; why others are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.protections.candidate import Candidate, LeftOut
from shoal.protections.microaggregation import METHODS
from shoal.protections.parameters import EFFORTS
from shoal.table.table import Table

# The largest number of records for which a method takes seconds; its time grows at least with their square.
MOST_RECORDS = {method.name: method.quick_up_to for method in METHODS if method.quick_up_to is not None}
WEIGHTS = {method.name: method.weights for method in METHODS}


def candidates(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    """Yield the methods that suit the number of records, and the search at each effort."""
    if not numeric:
        yield LeftOut("microaggregate", "its loss is not comparable with that of categories: run it by itself")
        return
    n, weighted = table.rows, table.roles.weight is not None
    for name in ("mdav", *MOST_RECORDS):
        most = MOST_RECORDS.get(name, n)
        if weighted and not WEIGHTS[name]:
            yield LeftOut(name, "it does not support weights")
        elif n > most:
            yield LeftOut(name, f"too slow or inaccurate above {most:,} records (this file has {n:,})")
        elif name == "hybrid" and n <= MOST_RECORDS["genetic"]:
            yield LeftOut(name, "the same as the genetic algorithm for so few records")
        else:
            yield Candidate(name, {"method": name})
    if len(columns) == 1 and not weighted:
        yield Candidate("univariate", {"method": "univariate"})
        yield LeftOut("auto", "the same as univariate, the optimum, for one column")
        return
    for level in EFFORTS[: EFFORTS.index(effort) + 1]:
        yield Candidate(f"auto, {level}", {"effort": level})
