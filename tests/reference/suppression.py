"""Cell suppression, slowly: supports, bounds and optima by trying everything, and both readings of a star."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, product

Record = tuple[int, ...]
STAR = -1


def subsets(keys: int) -> Iterator[tuple[int, ...]]:
    """All sets of keys."""
    return chain.from_iterable(combinations(range(keys), size) for size in range(keys + 1))


def supports(records: Sequence[Record], kept: Sequence[int], strata: Sequence[int]) -> list[int]:
    """For each record, how many records have its values in the kept keys and its stratum."""
    seen = [(stratum, *(record[key] for key in kept)) for record, stratum in zip(records, strata, strict=True)]
    counts = Counter(seen)
    return [counts[cells] for cells in seen]


def lower_bound(records: Sequence[Record], strata: Sequence[int], cost: Sequence[float], k: int) -> float:
    """The sum of each record's cheapest stars with which k records of the original agree."""
    keys, best = len(cost), [float("inf")] * len(records)
    for kept in subsets(keys):
        price = sum(cost[key] for key in range(keys) if key not in kept)
        for i, count in enumerate(supports(records, kept, strata)):
            if count >= k:
                best[i] = min(best[i], price)
    return sum(best)


def starred(records: Sequence[Record], stars: Sequence[Sequence[bool]]) -> list[Record]:
    """The records with their stars."""
    return [
        tuple(STAR if is_star else value for value, is_star in zip(record, row, strict=True))
        for record, row in zip(records, stars, strict=True)
    ]


def as_value(cells: Sequence[Record]) -> list[int]:
    """How many records each record equals, if a star only equals a star."""
    counts = Counter(cells)
    return [counts[record] for record in cells]


def as_wildcard(cells: Sequence[Record]) -> list[int]:
    """How many records each record is compatible with, if a star equals every value."""
    return [sum(all(a == b or STAR in (a, b) for a, b in zip(one, two, strict=True)) for two in cells) for one in cells]


def fewest_stars(records: Sequence[Record], k: int, wildcard: bool) -> int:
    """The fewest stars, by trying all sets of cells, the small ones first."""
    keys = len(records[0])
    places = list(product(range(len(records)), range(keys)))
    for number in range(len(places) + 1):
        for chosen in combinations(places, number):
            inside = set(chosen)
            cells = starred(records, [[(i, key) in inside for key in range(keys)] for i in range(len(records))])
            if min((as_wildcard if wildcard else as_value)(cells)) >= k:
                return number
    raise AssertionError("all cells are starred, and k does not hold")


def rare(cells: Sequence[Sequence[int | None]], k: int, m: int) -> int:
    """How many combinations of up to m keys occur less than k times; None is a cell without a value."""
    number = 0
    for size in range(1, m + 1):
        for chosen in combinations(range(len(cells[0])), size):
            present = [tuple(row[key] for key in chosen) for row in cells]
            counts = Counter(values for values in present if None not in values)
            number += sum(count < k for count in counts.values())
    return number


def cheapest_hits(sets: Sequence[Sequence[int]], cost: Sequence[float]) -> float:
    """The lowest cost of keys of which every set has one."""
    keys = range(len(cost))
    return min(
        sum(cost[key] for key in chosen)
        for chosen in subsets(len(cost))
        if all(any(key in chosen for key in one) for one in sets) and set(chosen) <= set(keys)
    )
