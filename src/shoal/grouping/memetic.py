"""The default search: annealing over groupings, and crossovers that inherit whole groups of columns.

    population: a few annealings, from one group of all columns and from the groupings given
    until the budget of evaluations is spent:
        child = groups of two of the population in turn, kept whole where they do not overlap what the child has
        anneal the child from a lower temperature; it takes the place of the worst if it is better
    anneal: a random step (a column moved, two swapped; now and then a group split, two merged, a column alone) is
        taken if it is better, or if it is worse by no more than the temperature allows; the temperature falls

Temperatures are parts of what a column costs on average. How much a step may cost is drawn before the step is costed,
so that costing ends as soon as it is more.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.evolve.progress import Progress, silent
from shoal.grouping.cost import Evaluation, GroupingCost
from shoal.grouping.grouping import Grouping, bell, canonical, columns_of, together
from shoal.grouping.operators import group_split

EVALUATIONS = 280_000
PARENTS = 2
FIRST, LATER = 0.2, 0.1  # what an annealing of a parent and of a child takes of the budget,
LEAST_FIRST, LEAST_LATER = 40, 25  # and so many steps a column at least
HOT, WARM, COLD = 0.115, 0.08, 0.035
SWAP, SPLIT, MERGE, ALONE = 0.4, 0.03, 0.03, 0.06  # shares of the steps; the others move a column
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
    evaluations: int = EVALUATIONS,
    seconds: float | None = None,
    seed: int = 0,
    starts: Sequence[Grouping] = (),
    progress: Progress = silent,
) -> MemeticResult:
    """Search until `evaluations` groupings were asked for; `starts` are annealed besides one group of all columns."""
    search = _Search(cost, evaluations, seconds, random.Random(seed), progress)
    for start in (together(cost.d), *starts):
        search.price(start)
    search.run(list(starts))
    return MemeticResult(search.best, cost.evaluate(search.best), search.rounds, search.stopped)


class _Search:
    """One run: its budget, its random numbers, and the best so far."""

    def __init__(
        self, cost: GroupingCost, evaluations: int, seconds: float | None, rng: random.Random, progress: Progress
    ) -> None:
        self.cost = cost
        self.rng = rng
        self.best: Grouping = ()
        self.least = float("inf")
        self.rounds = 0
        self.stopped = False
        self._first = cost.requests
        self._budget = min(max(1, evaluations), ENOUGH * bell(cost.d))
        self._stop = None if seconds is None else time.monotonic() + seconds
        self._progress = progress

    def run(self, starts: list[Grouping]) -> None:
        """Fill the population, and breed until the budget is spent."""
        unit = self.price(together(self.cost.d)) / self.cost.d
        population: list[tuple[float, Grouping]] = []
        while not self.over():
            if self.rounds < PARENTS:
                start = starts.pop() if starts and self.rounds else together(self.cost.d)
                hot, steps = HOT, max(int(FIRST * self._budget), LEAST_FIRST * self.cost.d)
            else:
                start = self.heir(population)
                hot, steps = WARM, max(int(LATER * self._budget), LEAST_LATER * self.cost.d)
            found = self.anneal(start, hot * unit, COLD * unit, steps)
            if found not in population:
                population = sorted([*population, found])[:PARENTS]
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
        ahead = AHEAD if self.cost.sampled else 1
        while (done := self.cost.requests - first) < steps and not self.over():
            temperature = hot * (cold / hot) ** (done / steps)
            ways = [step(here, self.cost.d, self.rng) for _ in range(ahead)]
            self.cost.prepare(ways)
            for there in ways:
                found = self.cost.below(there, price + temperature * self.rng.expovariate(1.0))
                if found is not None:
                    here, price = there, self.cost.price(found)
                    best = min(best, (price, here))
                    self.note(here, price)
                    break
        return best

    def over(self) -> bool:
        """Whether the budget or the time is spent, with a word on how far the run is."""
        done = self.cost.requests - self._first
        self._progress(min(done, self._budget), self._budget, self.least, "column groups")
        if self._stop is not None and time.monotonic() > self._stop:
            self.stopped = True
        return done >= self._budget or self.stopped

    def price(self, grouping: Grouping) -> float:
        """The price of a grouping, and a note of it if it is the best so far."""
        found = self.cost.price(self.cost.evaluate(grouping))
        self.note(grouping, found)
        return found

    def note(self, grouping: Grouping, price: float) -> None:
        if price < self.least:
            self.best, self.least = grouping, price


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


def step(grouping: Grouping, d: int, rng: random.Random) -> Grouping:
    """One random step to a neighbour."""
    column = 1 << rng.randrange(d)
    home = next(group for group in grouping if group & column)
    rest = [group for group in grouping if group != home]
    chance = rng.random()
    if not rest or chance < SPLIT:
        return group_split(grouping, rng)
    i = rng.randrange(len(rest))
    if chance < SPLIT + MERGE:
        rest[i] |= home
        return canonical(rest)
    if chance < SPLIT + MERGE + ALONE:
        return canonical([*rest, home ^ column, column])
    if chance < SPLIT + MERGE + ALONE + SWAP:
        columns = columns_of(sum(rest))
        back = 1 << columns[rng.randrange(len(columns))]
        return canonical([home ^ column | back, *(group ^ back | column if group & back else group for group in rest)])
    rest[i] |= column
    return canonical([*rest, home ^ column])
