"""The default search: annealing over groupings, and crossovers that inherit whole groups of columns.

    population: a few annealings, from one group of all columns and from the groupings given
    until the budget of evaluations is spent:
        child = groups of two of the population in turn, kept whole where they do not overlap what the child has
        anneal the child from a lower temperature; it takes the place of the worst if it is better
    anneal: a random step (a column moved, two swapped; now and then a group split, two merged, a column alone) is
        taken if it is better, or if it is worse by no more than the temperature allows; the temperature falls

Temperatures are parts of what a column costs on average. How much a step may cost is drawn before the step is costed,
so that costing ends as soon as it is more. And steps are costed only if they look worth it by what was costed before
(kernels/likely_steps.py): one to three of ten random steps, and most of those that would have been taken.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.arrays import Ints
from shoal.engine.control import Control, current
from shoal.errors import Stopped
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, bell, canonical, columns_of, numbered, of_numbers, together
from shoal.protections.grouping.kernels.likely_steps import learn_step, likely_step

EVALUATIONS = 270_000  # where costing a grouping takes next to nothing
PARENTS = 4
FIRST, LATER = 0.1, 0.06  # what an annealing of a parent and of a child takes of the budget,
LEAST_FIRST, LEAST_LATER = 40, 25  # and so many steps a column at least
HOT, WARM, COLD = 0.25, 0.08, 0.035
LEARNING_RATE, DOUBT_RATE = 0.2, 0.005
AHEAD = 8  # steps whose groups are costed on all threads at once, where costing a group takes long
ENOUGH = 20  # evaluations for each grouping that there is: few columns need no long search


@dataclass(frozen=True)
class MemeticResult:
    """The best grouping, how many annealings there were, and whether the cap of seconds ended them."""

    best: Grouping
    evaluation: Evaluation
    rounds: int
    stopped: bool


def memetic(
    cost: GroupingCost,
    *,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    starts: Sequence[Grouping] = (),
    control: Control | None = None,
) -> MemeticResult:
    """Search until `evaluations` groupings were asked for; `starts` are annealed besides one group of all columns."""
    control = (control or current()).part(seconds=seconds)
    search = _Search(cost, evaluations or affordable_evaluations(cost), random.Random(seed), control)
    with suppress(Stopped):  # one group of all columns is there at least
        for start in starts:
            search.price(start)
        search.run(list(starts))
    return MemeticResult(search.best, cost.evaluate(search.best), search.rounds, control.stopped)


def affordable_evaluations(cost: GroupingCost) -> int:
    """A budget of about a minute, and of minutes where that would be few; MDAV's work is n^2 / k for each column."""
    work = cost.n * cost.n / cost.k * cost.d
    return int(max(200, min(2_000, 4e11 / work), EVALUATIONS / (1 + work / 2e5)))


class _Search:
    """One run: its budget, its random numbers, and the best so far."""

    estimate: _Estimate

    def __init__(self, cost: GroupingCost, evaluations: int, rng: random.Random, control: Control) -> None:
        self.cost = cost
        self.rng = rng
        self.best: Grouping = ()
        self.least = float("inf")
        self.rounds = 0
        self._first = cost.requests
        self._budget = min(max(1, evaluations), ENOUGH * bell(cost.d))
        self._control = control
        self._unit = self.price(together(cost.d)) / cost.d

    def run(self, starts: list[Grouping]) -> None:
        """Fill the population, and breed until the budget is spent."""
        population: list[tuple[float, Grouping]] = []
        while not self.over():
            if self.rounds < PARENTS:  # each learns for itself, or all would end at the same place
                self.estimate = _Estimate(self.cost.d, self._unit, self.rng.getrandbits(64))
                start = starts.pop() if starts and self.rounds else together(self.cost.d)
                hot, steps = HOT, max(int(FIRST * self._budget), LEAST_FIRST * self.cost.d)
            else:
                start = self.heir(population)
                hot, steps = WARM, max(int(LATER * self._budget), LEAST_LATER * self.cost.d)
            annealed = self.anneal(start, hot * self._unit, COLD * self._unit, steps)
            if annealed not in population:
                population = sorted([*population, annealed])[:PARENTS]
            self.rounds += 1

    def heir(self, population: list[tuple[float, Grouping]]) -> Grouping:
        """A child of two of the population; of the better one alone if there is no other, or the child is a copy."""
        one, other = sorted(self.rng.sample(population, 2)) if len(population) > 1 else population * 2
        child = inherited(one[1], other[1], self.rng)
        return one[1] if child == other[1] else child

    def anneal(self, here: Grouping, hot: float, cold: float, steps: int) -> tuple[float, Grouping]:
        """Random steps at a falling temperature; gives the best grouping that was met, and its price."""
        price, first = self.price(here), self.cost.requests
        best = (price, here)
        numbers, base = numbered(here), self.cost.price_without_links(here)
        ahead = AHEAD if self.cost.sampled else 1
        while (done := self.cost.requests - first) < steps and not self.over():
            temperature = hot * (cold / hot) ** (done / steps)
            ways = [self.estimate.step(numbers, temperature) for _ in range(ahead)]
            self.cost.prepare(way.there for way in ways)
            for way in ways:
                whole = self.cost.price_without_links(way.there)
                self.estimate.learn(way, whole - base)
                evaluation = self.cost.below(way.there, price + way.allowed, whole)
                if evaluation is not None:
                    here, numbers, price, base = way.there, way.end, self.cost.price(evaluation), whole
                    best = min(best, (price, here))
                    self.note(here, price)
                    break
        return best

    def over(self) -> bool:
        """Whether the budget or the time is spent, with a word on how far the run is."""
        done = self.cost.requests - self._first
        go_on = self._control.show(min(done, self._budget), self._budget, self.least, "column groups")
        return done >= self._budget or not go_on

    def price(self, grouping: Grouping) -> float:
        """The price of a grouping, and a note of it if it is the best so far."""
        price = self.cost.price(self.cost.evaluate(grouping))
        self.note(grouping, price)
        return price

    def note(self, grouping: Grouping, price: float) -> None:
        if price < self.least:
            self.best, self.least = grouping, price


class ProposedMove(NamedTuple):
    """A step: where from and where to (as numbers too), what it may cost, and what it would by the estimate."""

    start: Ints
    end: Ints
    there: Grouping
    allowed: float
    expected: float


class _Estimate:
    """What steps cost, linkage aside, learnt from those that were costed."""

    def __init__(self, d: int, doubt: float, seed: int) -> None:
        self._pairs, self._sizes = np.zeros((d, d)), np.zeros(d + 1)
        self._doubt = doubt
        self._state = np.array([seed], np.uint64)

    def step(self, start: Ints, temperature: float) -> ProposedMove:
        """A random step that looks worth costing."""
        end = np.empty_like(start)
        about = (self._pairs, self._sizes, temperature, self._doubt)
        allowed, expected = likely_step(start, end, *about, self._state)
        return ProposedMove(start, end, of_numbers(end), allowed, expected)

    def learn(self, way: ProposedMove, change: float) -> None:
        """The estimate goes some of the way to what the step really changes."""
        miss = change - way.expected
        self._doubt += DOUBT_RATE * (abs(miss) - self._doubt)
        learn_step(way.start, way.end, self._pairs, self._sizes, LEARNING_RATE * miss)


def inherited(one: Grouping, other: Grouping, rng: random.Random) -> Grouping:
    """The parents give a group each in turn: one that is mostly free, without the columns that the child has.

    It has as many groups as the parent with more; what is left over joins groups at random.
    """
    free = sum(one)
    pools = [list(one), list(other)]
    rng.shuffle(pools)
    child: list[int] = []
    for turn in range(max(len(one), len(other))):
        pool = pools[turn % 2]
        if not pool or not free:
            break
        group = max(pool, key=lambda g: (g & free).bit_count() / g.bit_count() + 0.3 * rng.random())
        pool.remove(group)
        child.append(group & free)
        free &= ~group
    for column in columns_of(free):
        child[rng.randrange(len(child))] |= 1 << column
    return canonical(child)
