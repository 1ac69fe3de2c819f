"""The fewest stars so that every combination of up to m keys is absent or occurs at least k times (all-m).

A combination of a record is present if it has neither a star nor a missing cell. Each record gets the cheapest stars
that hit all its rare combinations, by branch and bound. A star lowers other counts, so this goes on until nothing is
rare. Stars that nobody needs are taken back. Then a search takes all stars from a few records and stars anew. The
stars that each record would need alone are a lower bound: the counts of the original only fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np

from shoal.arrays import Bools, Ints
from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.suppression.class_search import Stars
from shoal.protections.suppression.kernels.combinations import (
    Combinations,
    Starring,
    cheapest_bound,
    first_stars,
    improve_stars,
)
from shoal.protections.suppression.problem import StarProblem, distinct_rows

MOST_CELLS = 400_000_000  # records times sets of keys
MOVES = {"quick": 3, "standard": 20, "thorough": 120}  # per record with a star
LEAST_MOVES = {"quick": 3_000, "standard": 20_000, "thorough": 120_000}  # of a small file
STEPS = 50
HOT, COLD = 0.5, 0.1


def search(
    problem: StarProblem,
    m: int,
    missing: Bools,
    *,
    seed: int = 0,
    effort: str = "standard",
    control: Control | None = None,
) -> Stars:
    """Return stars with which no present combination of up to m keys occurs less than k times.

    Args:
        problem: The problem.
        m: The largest number of keys in a combination, besides the stratum.
        missing: [record, key], the missing cells.
        seed: The seed.
        effort: The search budget.
        control: Stops the search and shows its progress.
    """
    control = control or current()
    sets = sets_of(problem.keys, m)
    if problem.rows * len(sets) > MOST_CELLS:
        raise UsageError(
            f"{problem.keys} columns have {len(sets):,} combinations of up to {m}, too many for {problem.rows:,} "
            "records. Use a smaller --subsets, or fewer quasi-identifiers."
        )
    listed, state = count_combinations(problem, sets, missing, control)
    random = np.random.SeedSequence([seed, 35]).generate_state(1, np.uint64).astype(np.uint64)
    bound = cheapest_bound(listed, state, problem.k, problem.cost)
    cost = first_stars(listed, state, problem.k, problem.cost, random, control.flag)
    if cost == np.inf:
        control.check()
    first_cost, best_cost, best = cost, cost, state.stars.copy()
    moves = max(MOVES[effort] * int((best != 0).sum()), LEAST_MOVES[effort])
    control.stage("cell suppression", float(moves))
    step = float(problem.cost.min(initial=1.0))
    for number in range(STEPS):
        part = moves // STEPS
        if best_cost <= bound + 1e-9 * step or not control.advance(float(part), best_cost / max(problem.rows, 1)):
            break
        temperature = step * HOT * (COLD / HOT) ** (number / STEPS)
        cost += improve_stars(listed, state, problem.k, problem.cost, part, temperature, random, control.flag)
        if cost < best_cost - 1e-9 * step:
            best_cost, best = cost, state.stars.copy()
    starred = (best[:, None] >> np.arange(problem.keys)) & 1 == 1
    return Stars(starred, bound, {"first_cost": first_cost})


def sets_of(keys: int, m: int) -> list[tuple[int, ...]]:
    """Return all sets of one to m keys."""
    return [chosen for size in range(1, min(m, keys) + 1) for chosen in combinations(range(keys), size)]


def count_combinations(
    problem: StarProblem, sets: Sequence[tuple[int, ...]], missing: Bools, control: Control
) -> tuple[Combinations, Starring]:
    """Return the combinations of the file without any star."""
    n, d = problem.rows, problem.keys
    bits = np.array([sum(1 << key for key in chosen) for chosen in sets], dtype=np.int64)
    absent = (missing * (1 << np.arange(d, dtype=np.int64))).sum(axis=1).astype(np.int64)
    number, members = np.empty((n, len(sets)), dtype=np.int32), np.empty((len(sets), n), dtype=np.int32)
    total = 0
    of_tuple: dict[tuple[int, ...], Ints] = {(): problem.stratum.astype(np.int64)}
    for i, chosen in enumerate(sets):
        control.check()
        before = of_tuple[chosen[:-1]]
        classes = distinct_rows([before, problem.values[chosen[-1]].astype(np.int64)], before.size)[1]
        of_tuple[chosen] = classes
        number[:, i] = total + classes[problem.tuple_of]
        members[i] = np.argsort(number[:, i], kind="stable")
        total += int(classes.max(initial=-1)) + 1
    present = bits[None, :] & absent[:, None] == 0
    counts = np.bincount(number[present], minlength=total).astype(np.int64)
    start = np.concatenate(([0], np.cumsum(np.bincount(number.reshape(-1), minlength=total)))).astype(np.int64)
    most = sum(comb(d - 1, size - 1) for size in {len(chosen) for chosen in sets})
    of_key = np.full((d, most), -1, dtype=np.int32)
    for key in range(d):
        inside = [i for i, chosen in enumerate(sets) if key in chosen]
        of_key[key, : len(inside)] = inside
    listed = Combinations(bits, of_key, number, absent, start, members.reshape(-1))
    log = 4 * n * d + 64
    state = Starring(
        np.zeros(n, np.int64), counts, np.zeros(log, np.int32), np.zeros(log, np.int32), np.zeros(total, np.int32),
        np.zeros(total, np.uint8), np.zeros(2, np.int64),
    )  # fmt: skip
    return listed, state


def rare_combinations(columns: Sequence[Ints], absent: Bools, k: int, m: int, strata: Sequence[Ints] = ()) -> int:
    """Return how many combinations of up to m columns, within a stratum, are present less than k times."""
    n, rare = absent.shape[0], 0
    for chosen in sets_of(len(columns), m):
        rows = ~absent[:, list(chosen)].any(axis=1)
        number = distinct_rows([c[rows] for c in (*(columns[j] for j in chosen), *strata)], int(rows.sum()))[1]
        sizes = np.bincount(number) if n else np.empty(0, np.int64)
        rare += int((sizes < k).sum())
    return rare
