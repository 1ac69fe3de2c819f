"""The fewest stars if a star matches every value: every record is compatible with at least k records.

The record with the fewest compatible ones gets the cheapest stars that give it k, until all have k. Stars that nobody
needs are taken back. Then a search takes all stars from a few records and stars records anew, as long as its budget
lasts. Each step compares a record with all others, so a large file only gets the first part, from the table of
classes: a record that keeps the keys of a class of k records is compatible with all of them.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Bools
from shoal.engine.control import Control, current
from shoal.notices import notice
from shoal.protections.suppression.class_search import Stars
from shoal.protections.suppression.kernels.wildcard import Cover, first_cover, improve_cover
from shoal.protections.suppression.problem import StarProblem
from shoal.protections.suppression.tables import class_tables

COMPARISONS = {"quick": 1e8, "standard": 6e8, "thorough": 4e9}
MOST_MOVES = {"quick": 100, "standard": 600, "thorough": 4_000}  # per entity
PER_MOVE = 40  # comparisons of a move, for each entity
STEPS = 50
MOST_FIRST = 6e9  # comparisons of the first part; files that need more get the cheapest class of each record
HOT, COLD = 0.5, 0.1


def search(problem: StarProblem, *, seed: int = 0, effort: str = "standard", control: Control | None = None) -> Stars:
    """Return stars with which every record is compatible with at least k records."""
    control = control or current()
    below_k = int(problem.counts[problem.counts < problem.k].sum())
    if 4.0 * below_k * problem.counts.size > MOST_FIRST:
        notice(
            f"With --star wildcard, {below_k:,} records would have to be compared with all others. Shoal takes the "
            "cheapest class of each record instead, which needs more stars."
        )
        return _cheapest_classes(problem)
    cover = first_entities(problem)
    tuples = problem.counts.size
    random = np.random.SeedSequence([seed, 34]).generate_state(1, np.uint64).astype(np.uint64)
    cost = first_cover(cover, tuples, problem.k, problem.cost, random, control.flag)
    if cost == np.inf:
        control.check()
    first_cost, best_cost, best = cost, cost, _copy(cover)
    entities = int(cover.numbers[0])
    moves = int(min(COMPARISONS[effort] / (PER_MOVE * max(entities, 1)), MOST_MOVES[effort] * entities))
    control.stage("cell suppression", float(moves))
    step = float(problem.cost.min(initial=1.0))
    for number in range(STEPS):
        part = moves // STEPS
        if best_cost <= 0 or part == 0 or not control.advance(float(part), best_cost / max(problem.rows, 1)):
            break
        temperature = step * HOT * (COLD / HOT) ** (number / STEPS)
        cost += improve_cover(cover, tuples, problem.k, problem.cost, part, temperature, random, control.flag)
        if cost < best_cost - 1e-9 * step:
            best_cost, best = cost, _copy(cover)
    return Stars(_starred(problem, best), None, {"first_cost": first_cost})


def first_entities(problem: StarProblem) -> Cover:
    """Return the tuples as entities, with room for every record below k as one with stars."""
    tuples, n = problem.counts.size, problem.rows
    size = tuples + n
    cells = np.zeros((size, problem.keys + 1), dtype=np.int32)
    cells[:tuples, :-1], cells[:tuples, -1] = problem.values.T, problem.stratum
    records, compatible = np.zeros(size, np.int64), np.zeros(size, np.int64)
    records[:tuples] = compatible[:tuples] = problem.counts
    tuple_of = np.zeros(size, np.int32)
    tuple_of[:tuples] = np.arange(tuples)
    return Cover(cells, records, compatible, tuple_of, np.array([tuples], dtype=np.int64))


def _copy(cover: Cover) -> Cover:
    count = int(cover.numbers[0])
    return Cover(
        cover.cells[:count].copy(),
        cover.records[:count].copy(),
        cover.compatible[:count].copy(),
        cover.tuple_of[:count].copy(),
        cover.numbers.copy(),
    )


def _starred(problem: StarProblem, cover: Cover) -> Bools:
    """Return the stars of each record: those of a tuple's records with stars go to its first records."""
    starred = np.zeros((problem.rows, problem.keys), dtype=bool)
    rows = np.argsort(problem.tuple_of, kind="stable")
    first = np.concatenate(([0], np.cumsum(problem.counts)))[:-1].copy()
    for e in range(problem.counts.size, int(cover.numbers[0])):
        u = int(cover.tuple_of[e])
        starred[rows[first[u]]] = cover.cells[e, :-1] < 0
        first[u] += 1
    return starred


def _cheapest_classes(problem: StarProblem) -> Stars:
    """Return the stars of the cheapest class of each record: its class in the file has at least k originals."""
    prepared = class_tables(problem)
    place = (prepared.tables.table >= 0).argmax(axis=1)
    return Stars(~prepared.kept[place][problem.tuple_of], None)
