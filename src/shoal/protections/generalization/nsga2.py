"""NSGA-II over the bits of all columns, with a tournament that prefers feasible solutions (Dewri et al. 2009).

There are two objectives: the achievement, and k minus the effective k. If records may be suppressed, or l or t is
required, the second is the number of suppressed records beyond those allowed.

    P = random bits, a density drawn for each individual (at one half nearly all start at k = 1)
    until the evaluations are used up:
        parents by tournament: feasible before infeasible; both feasible: rank, then crowding;
            neither: smaller second objective, then smaller first, then crowding
        one-point crossover over the whole chromosome, bits flipped with a small probability
        P = the best of parents and children by rank, then crowding; the second and later individuals with the same
            objectives come after all others

The last rule is Shoal's. Without it, copies of one good individual soon fill P: Dewri et al. 2009 report 52 to 55
unique solutions in populations of 100 to 500. `published` leaves the rule out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, current
from shoal.engine.nsga2 import Ranked, ranked, survivors
from shoal.errors import Stopped
from shoal.protections.generalization.bits import Bits
from shoal.protections.generalization.evaluate import Problem
from shoal.protections.generalization.front import Front, FrontPoint, front_of, points_of

CELLS_AT_ONCE = 20_000_000  # labels of tuples between two checks for a stop: a fraction of a second


@dataclass(frozen=True)
class Nsga2Settings:
    """The parameters of Dewri et al. 2009 by default; `published` also keeps duplicates, as their algorithm does."""

    population: int = 100
    evaluations: int = 50_000
    crossover: float = 0.8
    mutation: float = 0.001
    published: bool = False

    @property
    def rank(self) -> Callable[[Floats], Ranked]:
        """The function that ranks a population."""
        return ranked if self.published else _distinct_first


def nsga2(
    problem: Problem, *, seed: int = 0, settings: Nsga2Settings | None = None, control: Control | None = None
) -> Front:
    """Return the front that NSGA-II finds; categories are intervals in the order of the domain."""
    control = control or current()
    use = settings or Nsga2Settings()
    rng = np.random.default_rng(seed)
    seen = _Seen(problem, control)
    bits = _mixed_densities(rng, use.population, problem.bits)
    values = seen.objectives(bits)
    order = use.rank(values)
    used = use.population
    with suppress(Stopped):  # the last complete generation is the result
        while used + use.population <= use.evaluations and not control.stopped:
            parents = _tournament(rng, values, order, use.population)
            children = _offspring(rng, bits[parents], use)
            both = np.concatenate([bits, children]), np.concatenate([values, seen.objectives(children)])
            ranks = use.rank(both[1])
            kept = survivors(ranks, use.population)
            left = Ranked(ranks.rank[kept], ranks.distance[kept])
            bits, values, order, used = both[0][kept], both[1][kept], left, used + use.population
            if used % (20 * use.population) == 0:
                allowed = values[:, 1] <= 0
                best = float(values[allowed, 0].min()) if allowed.any() else None
                control.show(used, use.evaluations, best, "NSGA-II")
    unique = len(np.unique(values, axis=0))
    merged = np.zeros_like(bits[:1])  # one category per column: feasible if any solution is
    first = problem.labels_of(bits[order.rank == 0])
    points = points_of(problem, np.concatenate([first, problem.labels_of(merged)]))
    facts: dict[str, Any] = {"unique_solutions": unique, "population": use.population, **control.facts}
    front = front_of(_or_all(points, problem, bits), used, **facts)
    return replace(front, infeasible=tuple(points_of(problem, first, feasible=False)))


def _distinct_first(values: Floats) -> Ranked:
    """Return ranks and crowding, with duplicates of an individual ranked behind all others."""
    order = ranked(values)
    again = np.ones(len(values), dtype=bool)
    again[np.unique(values, axis=0, return_index=True)[1]] = False
    return Ranked(order.rank + len(values) * again, order.distance)


class _Seen:
    """The objectives of all chromosomes so far, so that each distinct one is computed once."""

    def __init__(self, problem: Problem, control: Control) -> None:
        self._problem, self._control = problem, control
        self._at_once = max(1, CELLS_AT_ONCE // problem.codes.size)
        self._known: dict[bytes, tuple[float, float]] = {}

    def objectives(self, bits: Bits) -> Floats:
        keys = [row.tobytes() for row in bits]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        if new:
            values = self._computed(bits[list(new.values())])
            self._known.update(zip(new, map(tuple, values.tolist()), strict=True))
        return np.array([self._known[key] for key in keys])

    def _computed(self, bits: Bits) -> Floats:
        problem = self._problem
        if len(bits) > self._at_once:
            parts = (bits[i : i + self._at_once] for i in range(0, len(bits), self._at_once))
            return np.concatenate([self._computed(part) for part in parts])
        self._control.check()
        costs = problem.evaluate(problem.labels_of(bits))
        beyond = costs.suppressed - problem.allowed
        if problem.allowed == 0 and problem.rules.width == 0:
            second = problem.k - costs.least
        else:
            second = np.where(beyond > 0, beyond, problem.k - costs.effective_k)
        return np.column_stack([costs.achievement, second.astype(np.float64)])


def _or_all(points: list[FrontPoint], problem: Problem, bits: Bits) -> list[FrontPoint]:
    """Return the feasible points of the first front, or those of the whole population if it has none."""
    return points if points else points_of(problem, problem.labels_of(bits))


def _mixed_densities(rng: np.random.Generator, population: int, width: int) -> Bits:
    # Squared: low densities, where the feasible region is, are more frequent, and all densities occur.
    density = rng.random((population, 1)) ** 2
    return (rng.random((population, width)) < density).astype(np.uint8)


def _tournament(rng: np.random.Generator, values: Floats, order: Ranked, size: int) -> Ints:
    """Return the winners of `size` tournaments between two individuals drawn at random."""
    x, y = rng.integers(len(values), size=(2, size))
    luck = rng.random(len(values))
    inside = values[:, 1] <= 0
    # Smaller is better in every key. The first key that differs decides; the last key is random.
    keys = np.column_stack(
        [
            ~inside,
            np.where(inside, order.rank, values[:, 1]),
            np.where(inside, -order.distance, values[:, 0]),
            -order.distance,
            luck,
        ]
    ).astype(np.float64)
    differs = keys[x] != keys[y]
    first = differs.argmax(axis=1)
    rows = np.arange(size)
    return np.asarray(np.where(keys[x][rows, first] <= keys[y][rows, first], x, y))


def _offspring(rng: np.random.Generator, parents: Bits, use: Nsga2Settings) -> Bits:
    children = parents.copy()
    width = parents.shape[1]
    if width == 0:
        return children
    pairs = len(parents) // 2
    crossed = np.flatnonzero(rng.random(pairs) < use.crossover)
    points = rng.integers(1, max(width, 2), size=pairs)
    for pair in crossed:
        cut = points[pair]
        children[2 * pair, cut:], children[2 * pair + 1, cut:] = (
            parents[2 * pair + 1, cut:],
            parents[2 * pair, cut:],
        )
    children ^= (rng.random(children.shape) < use.mutation).astype(np.uint8)
    return children
