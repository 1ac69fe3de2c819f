"""The fewest stars so that every record shares its keys, stars included, with at least k - 1 others.

The records that keep the same keys with the same values form a class of at least k. A peel gives the first solution:
it freezes the classes of at least k records, the subsets with few stars first. Annealing then opens and breaks
classes (kernels/class_search.py). The work is counted in moves, so the same seed gives the same stars.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools
from shoal.engine.control import Control, current, shielded
from shoal.protections.suppression.kernels.class_search import State, Tables, anneal, peel
from shoal.protections.suppression.problem import StarProblem
from shoal.protections.suppression.tables import class_tables

MOVES = {"quick": 20, "standard": 120, "thorough": 700}  # per record
MOST_MOVES = {"quick": 8_000_000, "standard": 40_000_000, "thorough": 250_000_000}
LEAST_MOVES = {"quick": 50_000, "standard": 300_000, "thorough": 1_500_000}  # of a small file
HOT, COLD = 1.2, 0.12  # temperatures, in costs of the cheapest key
STEPS = 200  # temperatures between them
QUENCH = 0.04  # share of the moves at the end that accept no higher cost


@dataclass(frozen=True, eq=False)
class Stars:
    """A solution: which cells are starred.

    Attributes:
        starred: [record, key].
        lower_bound: No solution has stars of a lower cost; None if no bound is known.
        facts: What the search says about itself.
    """

    starred: Bools
    lower_bound: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def search(
    problem: StarProblem,
    *,
    seed: int = 0,
    effort: str = "standard",
    control: Control | None = None,
    first_only: bool = False,
) -> Stars:
    """Return stars with which every record shares its keys with at least k - 1 others.

    first_only: return the first solution, although the work was stopped.
    """
    control = control or current()
    prepared = shielded(lambda: class_tables(problem)) if first_only else class_tables(problem)
    tables, n = prepared.tables, problem.rows
    state = first_state(tables, n)
    step = float(problem.cost.min(initial=np.inf)) if problem.keys else 1.0
    cost = peel(tables, state, problem.k, step, np.zeros(1, np.uint8) if first_only else control.flag)
    if cost == np.inf:
        control.check()
    first_cost, best_cost, best = cost, cost, state.of_row.copy()
    moves = int(min(max(MOVES[effort] * n, LEAST_MOVES[effort]), MOST_MOVES[effort]))
    random = np.random.SeedSequence([seed, 33]).generate_state(1, np.uint64).astype(np.uint64)
    control.stage("cell suppression", float(moves))
    cells = n * max(problem.keys, 1)
    for number in range(STEPS):
        part = moves // STEPS
        if best_cost <= prepared.lower_bound or not control.advance(float(part), best_cost / cells):
            break
        share = number / (STEPS * (1 - QUENCH))
        temperature = step * HOT * (COLD / HOT) ** share if share < 1 else 1e-9 * step
        cost += anneal(tables, state, problem.k, part, temperature, step, random, control.flag)
        if cost < best_cost - 1e-9 * step:
            best_cost, best = cost, state.of_row.copy()
    order = np.argsort(problem.tuple_of, kind="stable")  # the records of the tables, as those of the problem
    starred = np.empty((n, problem.keys), dtype=bool)
    starred[order] = ~prepared.kept[tables.place[best]]
    facts = {"peel_cost": first_cost, "all_subsets": prepared.complete}
    return Stars(starred, prepared.lower_bound, facts)


def first_state(tables: Tables, n: int) -> State:
    """Return the state of records without classes."""
    classes = tables.place.size

    def none(size: int) -> NDArray[np.int32]:
        return np.full(size, -1, dtype=np.int32)

    return State(
        none(n), np.zeros(classes, np.int32), none(classes), none(n), none(n), none(n + 1), none(n + 1),
        np.zeros(classes, np.int64), none(n + 1), np.zeros(4, np.int64),
    )  # fmt: skip
