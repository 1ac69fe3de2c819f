"""The subsets of keys that a search uses, and the classes of the tuples in them.

With up to a dozen keys these are all subsets. With more, the table of classes would not fit into memory. Then Shoal
takes all subsets with few stars, and a beam search finds the others: for each number of stars, subsets that keep many
records in classes of at least k that no earlier subset keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from shoal.arrays import Bools, Indices, Ints
from shoal.engine.control import current
from shoal.protections.suppression.kernels.class_search import Tables
from shoal.protections.suppression.kernels.tables import count_classes, list_members
from shoal.protections.suppression.problem import StarProblem

CELLS = 64_000_000  # of the table: subsets times tuples
MOST_SUBSETS = 4_096  # all subsets of twelve keys
FULL_SHARE = 0.5  # share of the subsets that are all subsets with few stars, if not all fit
BEAM = 24  # subsets that the beam search refines, for each number of stars
BEAM_TUPLES = 10_000  # tuples that judge the subsets
PIECES = 8  # of the subsets, counted in parallel

Subset = tuple[int, ...]  # the keys that are kept, in ascending order


@dataclass(frozen=True, eq=False)
class ClassTables:
    """The tables of a problem.

    Attributes:
        tables: The arrays that the search reads. Its records are those of the problem, tuple by tuple.
        kept: [place of a subset, key], whether the subset keeps the key.
        lower_bound: No solution has stars of a lower cost.
        complete: Whether these are all subsets of the keys.
    """

    tables: Tables
    kept: Bools
    lower_bound: float
    complete: bool


def class_tables(problem: StarProblem) -> ClassTables:
    """Return the classes of all tuples in the subsets that the search may use.

    Raises:
        Stopped: The work was stopped.
    """
    subsets, whole_levels = chosen_subsets(problem)
    cost = np.array([star_cost(problem, subset) for subset in subsets])
    order = np.argsort(cost, kind="stable")
    subsets, cost = [subsets[i] for i in order], cost[order]
    table = classes_of(problem, subsets)
    counts = table.max(axis=0, initial=-1).astype(np.int64) + 1
    start, members = list_members(table, np.concatenate(([0], np.cumsum(counts))))
    cheapest = cost[(table >= 0).argmax(axis=1)]
    # No subset that is left out costs less than the cheapest keys that are more than the whole levels star.
    left_out = np.sort(problem.cost)[: whole_levels + 1].sum() if whole_levels < problem.keys else np.inf
    tables = Tables(
        table,
        cost,
        np.repeat(np.arange(len(subsets)), counts).astype(np.int32),
        start,
        members,
        np.repeat(np.arange(problem.counts.size), problem.counts).astype(np.int32),
        np.concatenate(([0], np.cumsum(problem.counts))).astype(np.int64),
        cheapest,
    )
    kept = np.zeros((len(subsets), problem.keys), dtype=bool)
    for place, subset in enumerate(subsets):
        kept[place, list(subset)] = True
    bound = float(np.minimum(cheapest, left_out) @ problem.counts)
    return ClassTables(tables, kept, bound, whole_levels >= problem.keys)


def star_cost(problem: StarProblem, kept: Subset) -> float:
    """Return the cost of one record that keeps these keys only."""
    starred = [key for key in range(problem.keys) if key not in kept]
    return float(problem.cost[starred].sum())


def classes_of(problem: StarProblem, subsets: Sequence[Subset]) -> Indices:
    """Return the class of each tuple in each subset, numbered from 0 in each; -1 for a class below k."""
    lexicographic = sorted(range(len(subsets)), key=lambda place: subsets[place])
    padded = np.full((len(subsets), max(problem.keys, 1)), -1, dtype=np.int32)
    for i, place in enumerate(lexicographic):
        padded[i, : len(subsets[place])] = subsets[place]
    table = np.empty((problem.counts.size, len(subsets)), dtype=np.int32)
    places = np.array(lexicographic, dtype=np.int64)
    values = problem.values if problem.keys else np.zeros((1, problem.counts.size), dtype=np.int32)
    widths = problem.widths if problem.keys else np.ones(1, dtype=np.int64)

    def count(rows: Ints) -> None:
        current().check()
        count_classes(
            values,
            problem.stratum,
            widths,
            problem.counts,
            np.ascontiguousarray(padded[rows]),
            places[rows],
            problem.k,
            table,
        )

    current().map(count, [piece for piece in np.array_split(np.arange(len(subsets)), PIECES) if piece.size])
    return table


def chosen_subsets(problem: StarProblem) -> tuple[list[Subset], int]:
    """Return the subsets of the keys, and the number of stars up to which they are all subsets."""
    d = problem.keys
    most = max(min(MOST_SUBSETS, CELLS // max(problem.counts.size, 1)), 2 * d + 2)
    if 2**d <= most:
        return [tuple(kept) for stars in range(d + 1) for kept in combinations(range(d), d - stars)], d
    subsets: list[Subset] = []
    stars = 0
    while True:
        level = [tuple(kept) for kept in combinations(range(d), d - stars)]
        if subsets and len(subsets) + len(level) > FULL_SHARE * most:
            break
        subsets += level
        stars += 1
    return subsets + _by_beam(problem, level_before(d, stars - 1), stars, (most - len(subsets))), stars - 1


def level_before(d: int, stars: int) -> list[Subset]:
    """Return all subsets of d keys without this number of them."""
    return [tuple(kept) for kept in combinations(range(d), d - stars)]


def _by_beam(problem: StarProblem, beam: Sequence[Subset], stars: int, most: int) -> list[Subset]:
    """Return subsets with this number of stars and more, found by a beam search, and the subset without any key."""
    d = problem.keys
    small = _sample(problem)
    covered = np.zeros(small.counts.size, dtype=bool)
    each = max(most // max(d - stars, 1), 1)
    chosen: list[Subset] = []
    for _ in range(stars, d):
        beam = _useful(small, sorted(beam), covered, min(each, BEAM))[0] if len(beam) > BEAM else list(beam)
        refined = sorted({tuple(key for key in kept if key != gone) for kept in beam for gone in kept})
        beam, covered = _useful(small, refined, covered, each)
        chosen += beam
    if () not in chosen:
        chosen.append(())
    return chosen


def _useful(problem: StarProblem, subsets: Sequence[Subset], covered: Bools, most: int) -> tuple[list[Subset], Bools]:
    """Return the subsets that keep the most records in classes, those first that no other subset has kept.

    Also return which tuples are kept then.
    """
    inside = classes_of(problem, subsets) >= 0
    chosen: list[int] = []
    left, free = ~covered, np.ones(len(subsets), dtype=bool)
    every = problem.counts @ inside
    gain = (problem.counts * left) @ inside
    while len(chosen) < most and free.any():
        current().check()
        best = int(np.lexsort((np.arange(len(subsets)), -every, -gain, ~free))[0])
        chosen.append(best)
        free[best] = False
        new = np.flatnonzero(left & inside[:, best])
        gain -= problem.counts[new] @ inside[new]
        left[new] = False
    return [subsets[i] for i in chosen], ~left


def _sample(problem: StarProblem) -> StarProblem:
    """Return the problem of evenly drawn tuples, with a k as much smaller."""
    if problem.counts.size <= BEAM_TUPLES:
        return problem
    rows = np.linspace(0, problem.counts.size - 1, BEAM_TUPLES).astype(np.int64)
    share = float(problem.counts[rows].sum() / problem.counts.sum())
    return replace(
        problem,
        values=np.ascontiguousarray(problem.values[:, rows]),
        stratum=problem.stratum[rows],
        counts=problem.counts[rows],
        k=max(2, round(problem.k * share)),
    )
