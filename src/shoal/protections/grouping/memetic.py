"""The default search: annealing over column groupings, and crossovers that inherit whole column groups.

    population: a few annealed groupings; the starts are one group of all columns, and the starts that are passed
    until the search budget is spent:
        child = column groups of two parents in turn, without the columns that the child has already
        anneal the child from a lower temperature; it replaces the worst of the population if it is better
    anneal: a random step (move a column, swap two; sometimes split a group, merge two, or put a column alone) is
        taken if it is better, or if it is worse by no more than the temperature allows; the temperature falls

Temperatures are shares of the average price per column. The search draws how much a step may cost before it evaluates
the step, so that the evaluation can end as soon as the step costs more. It evaluates only steps that look promising by
the evaluations so far (kernels/likely_steps.py): one to three of ten random steps, which include most of the steps
that it would have taken.
"""

from __future__ import annotations

import math
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

EVALUATIONS = 270_000  # the budget for small data, where an evaluation takes little time
PARENTS = 4
PARENT_SHARE, CHILD_SHARE = 0.1, 0.06  # shares of the budget for annealing a parent and a child
MIN_PARENT_STEPS, MIN_CHILD_STEPS = 40, 25  # the smallest numbers of steps per column
HOT, WARM, COLD = 0.25, 0.08, 0.035
LEARNING_RATE, DOUBT_RATE = 0.2, 0.005
STEPS_AHEAD = 8  # steps whose column groups are evaluated on all threads at once, for large data
EVALUATIONS_PER_GROUPING = 20  # of all possible groupings: few columns need no long search


@dataclass(frozen=True)
class MemeticResult:
    """The best grouping that keeps the floor, the number of annealings, and whether the run was stopped.

    If no evaluated grouping keeps the floor, `best` is one group of all columns.
    """

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
    """Search until `evaluations` groupings were evaluated. It starts at one group of all columns and at `starts`."""
    control = (control or current()).part(seconds=seconds)
    search = _Search(cost, evaluations or affordable_evaluations(cost), random.Random(seed), control)
    with suppress(Stopped):  # one group of all columns was evaluated in any case
        for start in starts:
            search.price(start)
        search.run(list(starts))
    best = search.best or together(cost.d)
    return MemeticResult(best, cost.evaluate(best), search.rounds, control.stopped)


def affordable_evaluations(cost: GroupingCost) -> int:
    """A search budget of about a minute, or of minutes for large data. The work of MDAV is n^2 / k per column."""
    work = cost.n * cost.n / cost.k * cost.d
    return int(max(200, min(2_000, 4e11 / work), EVALUATIONS / (1 + work / 2e5)))


class _Search:
    """One run: its budget, its random numbers, and the best grouping so far."""

    estimate: _Estimate

    def __init__(self, cost: GroupingCost, evaluations: int, rng: random.Random, control: Control) -> None:
        self.cost = cost
        self.rng = rng
        self.best: Grouping = ()
        self.best_price = math.inf
        self.rounds = 0
        self._first = cost.requests
        self._budget = min(max(1, evaluations), EVALUATIONS_PER_GROUPING * bell(cost.d))
        self._control = control
        start = together(cost.d)
        evaluation = cost.evaluate(start)
        self._unit = cost.price(evaluation) / cost.d
        if cost.accepts(start, evaluation):
            self.note(start, cost.price(evaluation))

    def run(self, starts: list[Grouping]) -> None:
        """Fill the population, and make children until the budget is spent."""
        population: list[tuple[float, Grouping]] = []
        while not self.over():
            if self.rounds < PARENTS:  # each has an estimate of its own, or all would end at the same grouping
                self.estimate = _Estimate(self.cost.d, self._unit, self.rng.getrandbits(64))
                start = starts.pop() if starts and self.rounds else together(self.cost.d)
                hot, steps = HOT, max(int(PARENT_SHARE * self._budget), MIN_PARENT_STEPS * self.cost.d)
            else:
                start = self.child_of(population)
                hot, steps = WARM, max(int(CHILD_SHARE * self._budget), MIN_CHILD_STEPS * self.cost.d)
            annealed = self.anneal(start, hot * self._unit, COLD * self._unit, steps)
            if annealed not in population:
                population = sorted([*population, annealed])[:PARENTS]
            self.rounds += 1

    def child_of(self, population: list[tuple[float, Grouping]]) -> Grouping:
        """A child of two parents; the better parent itself if there is only one, or if the child equals the other."""
        one, other = sorted(self.rng.sample(population, 2)) if len(population) > 1 else population * 2
        child = inherited(one[1], other[1], self.rng)
        return one[1] if child == other[1] else child

    def anneal(self, here: Grouping, hot: float, cold: float, steps: int) -> tuple[float, Grouping]:
        """Take random steps at a falling temperature; return the best grouping on the way, and its price."""
        price, first = self.price(here), self.cost.requests
        best = (price, here)
        numbers, base = numbered(here), self.cost.price_without_links(here)
        ahead = STEPS_AHEAD if self.cost.sampled else 1
        while (done := self.cost.requests - first) < steps and not self.over():
            temperature = hot * (cold / hot) ** (done / steps)
            moves = [self.estimate.step(numbers, temperature) for _ in range(ahead)]
            self.cost.prepare(move.there for move in moves)
            for move in moves:
                new_base = self.cost.price_without_links(move.there)
                self.estimate.learn(move, new_base - base)
                evaluation = self.cost.below(move.there, price + move.allowed, new_base)
                if evaluation is not None:
                    here, numbers, price, base = move.there, move.end, self.cost.price(evaluation), new_base
                    best = min(best, (price, here))
                    self.note(here, price)
                    break
        return best

    def over(self) -> bool:
        """Show the progress, and return whether the budget or the time is spent."""
        done = self.cost.requests - self._first
        best = self.best_price if self.best else None
        go_on = self._control.show(min(done, self._budget), self._budget, best, "column groups")
        return done >= self._budget or not go_on

    def price(self, grouping: Grouping) -> float:
        """The price of a grouping, which is noted if it is the best so far; infinity if it breaks the floor."""
        evaluation = self.cost.below(grouping, math.inf)
        price = math.inf if evaluation is None else self.cost.price(evaluation)
        self.note(grouping, price)
        return price

    def note(self, grouping: Grouping, price: float) -> None:
        if price < self.best_price:
            self.best, self.best_price = grouping, price


class ProposedMove(NamedTuple):
    """A step from `start` to `end` (`there` as a grouping), its largest allowed cost and its estimated cost."""

    start: Ints
    end: Ints
    there: Grouping
    allowed: float
    expected: float


class _Estimate:
    """Estimates the cost of steps, without linkage, from the steps that were evaluated."""

    def __init__(self, d: int, doubt: float, seed: int) -> None:
        self._pairs, self._sizes = np.zeros((d, d)), np.zeros(d + 1)
        self._doubt = doubt
        self._state = np.array([seed], np.uint64)

    def step(self, start: Ints, temperature: float) -> ProposedMove:
        """A random step that is promising by the estimate."""
        end = np.empty_like(start)
        estimate = (self._pairs, self._sizes, temperature, self._doubt)
        allowed, expected = likely_step(start, end, *estimate, self._state)
        return ProposedMove(start, end, of_numbers(end), allowed, expected)

    def learn(self, move: ProposedMove, change: float) -> None:
        """Correct the estimate by a share of its error for this step."""
        error = change - move.expected
        self._doubt += DOUBT_RATE * (abs(error) - self._doubt)
        learn_step(move.start, move.end, self._pairs, self._sizes, LEARNING_RATE * error)


def inherited(one: Grouping, other: Grouping, rng: random.Random) -> Grouping:
    """A child takes a column group from each parent in turn, without the columns that it has already.

    A group whose columns are mostly free comes first. The child has at most as many groups as the parent with more
    groups; columns that are left over join random groups.
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
