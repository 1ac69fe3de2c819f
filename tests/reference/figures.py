"""The three figures, slow and readable: k, unique records and people found over a set of columns.

Columns are lists; kinds: "exact" (unchanged), "number", "label" (mode-replaced), "category" (generalized).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def k_and_uniques(columns: Sequence[Sequence[Any]], units: Sequence[Any] | None = None) -> tuple[int, int]:
    """The smallest class in persons, and the records in classes of one person."""
    rows = list(zip(*columns, strict=True))
    persons: dict[Any, set[Any]] = {}
    for i, row in enumerate(rows):
        persons.setdefault(row, set()).add(i if units is None else units[i])
    sizes = [len(persons[row]) for row in rows]
    return min(sizes), sum(size == 1 for size in sizes)


def people_found(
    before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]], kinds: Mapping[str, str],
    units: Sequence[Any] | None = None,
) -> float:  # fmt: skip
    """The mean chance that the best fitting record is the person's own, ties sharing it."""
    n = len(next(iter(after.values())))
    found = 0.0
    for person in range(n):
        distances = [_distance(before, after, kinds, person, record) for record in range(n)]
        best = min(distances)
        fits = [record for record in range(n) if distances[record] <= best * (1 + 1e-9) + 1e-12]
        if person in fits:
            own = [r for r in fits if r == person or (units is not None and units[r] == units[person])]
            found += len(own) / len(fits) if units is not None else 1 / len(fits)
    return found / n


def _distance(
    before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]], kinds: Mapping[str, str], person: int,
    record: int,
) -> float:  # fmt: skip
    total = 0.0
    for name, kind in kinds.items():
        old, new = before[name], after[name]
        if kind == "exact" or kind == "category":
            total += 0.0 if new[person] == new[record] else float("inf")
        elif kind == "number":
            mean = sum(old) / len(old)
            variance = sum((x - mean) ** 2 for x in old) / len(old)
            total += (old[person] - new[record]) ** 2 / (variance or 1.0)
        else:
            counts = Counter(old)
            gini = sum(c / len(old) * (1 - c / len(old)) for c in counts.values())
            total += 0.0 if old[person] == new[record] else 2 / gini
    return total**0.5
