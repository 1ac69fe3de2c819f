"""Which methods suit a table, by its records, columns, weights and k; for those left out, why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.protections.microaggregation.effort import EFFORTS
from shoal.protections.microaggregation.register import method
from shoal.table.table import Table

# The most records that a method takes in some seconds; each costs the square of the records or more.
MOST_RECORDS = {"md": 10_000, "vmdav": 20_000, "mst": 20_000, "path": 50_000, "genetic": 50, "hybrid": 1_000}
MOST_FOR_GROUPS = 5_000
MOST_FOR_LABELS = 50_000
EVALUATIONS = {"quick": 200, "standard": 1_000, "thorough": 5_000}
DISTINCT = 30  # a number with more values is cut at this many quantiles before it is generalized


@dataclass(frozen=True)
class Candidate:
    """A method by the name it has in the comparison, the command it belongs to, and its arguments."""

    name: str
    do: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def command(self, k: int) -> str:
        """How it is called on the command line, the file and its columns apart."""
        told = [f"--{name} {'…' if name == 'cuts' else value}" for name, value in self.arguments.items()]
        return " ".join(["shoal", self.do, "FILE", "-k", str(k), *told])


@dataclass(frozen=True)
class LeftOut:
    name: str
    why: str


def candidates(
    table: Table, columns: Sequence[str], k: int, effort: str, numeric: bool
) -> tuple[list[Candidate], list[LeftOut]]:
    """The methods to run, the quickest first, and those that do not suit the table."""
    found: list[Candidate | LeftOut] = []
    if numeric:
        found += [*_partitions(table, len(columns), effort), *_groups(table, len(columns), effort)]
    else:
        found.append(LeftOut("microaggregate", "its loss is not comparable with that of categories: run it by itself"))
        found.append(LeftOut("group", "a column holds labels, and it groups columns of numbers"))
    found += _labels(table, columns, effort, numeric)
    return [c for c in found if isinstance(c, Candidate)], [c for c in found if isinstance(c, LeftOut)]


def _partitions(table: Table, d: int, effort: str) -> Iterator[Candidate | LeftOut]:
    n, weighted = table.rows, table.roles.weight is not None
    for name in ("mdav", *MOST_RECORDS):
        most = MOST_RECORDS.get(name, n)
        if weighted and "weights" not in method(name).parameters:
            yield LeftOut(name, "it cannot honour weights")
        elif n > most:
            yield LeftOut(name, f"slow or poor beyond {most:,} records, and there are {n:,}")
        elif name == "hybrid" and n <= MOST_RECORDS["genetic"]:
            yield LeftOut(name, "for so few records it is the genetic algorithm")
        else:
            yield Candidate(name, "microaggregate", {"method": name})
    if d == 1 and not weighted:
        yield Candidate("univariate", "microaggregate", {"method": "univariate"})
        yield LeftOut("auto", "for one column it is univariate, the optimum")
        return
    for level in EFFORTS[: EFFORTS.index(effort) + 1]:
        yield Candidate(f"auto, {level}", "microaggregate", {"effort": level})


def _groups(table: Table, d: int, effort: str) -> Iterator[Candidate | LeftOut]:
    if d < 2:
        yield LeftOut("group", "there is one column only")
    elif table.roles.weight is not None:
        yield LeftOut("group", "it cannot honour weights")
    elif table.rows > MOST_FOR_GROUPS:
        yield LeftOut("group", f"slow beyond {MOST_FOR_GROUPS:,} records, and there are {table.rows:,}")
    else:
        yield Candidate("group, each column", "group", {"method": "univariate"})
        if d > 2:
            yield Candidate("group, memetic", "group", {"method": "memetic", "evaluations": EVALUATIONS[effort]})


def _labels(table: Table, columns: Sequence[str], effort: str, numeric: bool) -> Iterator[Candidate | LeftOut]:
    if table.rows > MOST_FOR_LABELS and numeric:
        yield LeftOut("generalize", f"slow beyond {MOST_FOR_LABELS:,} records, and there are {table.rows:,}")
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
        yield Candidate(f"generalize, {level}", "generalize", {"effort": level, **more})
