"""The default search: a short GOMM and crossovers of what was found, improved by local search (spec/2).

    until the budget of evaluations is spent:
        start: the best of a short GOMM; later, in turn, the crossover of two of the best, or a fresh GOMM
        iterated local search: descend; then kick the grouping (a few random steps), descend again, and
            stay with the result if it is not much worse; give up after a number of kicks in vain, or at once
            where the first descent ends far above the best: many small groups are a valley of their own
    descend: try all neighbours in random order and take the first that is better, until none is

Neighbours: one column moved to another group or to one of its own, two columns swapped, two groups merged, a group
split in two halves. A neighbour is costed only as far as it takes to see that it is no better.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shoal.evolve.progress import Progress, silent
from shoal.grouping.cost import Evaluation, GroupingCost
from shoal.grouping.gomm import GommSettings, gomm
from shoal.grouping.grouping import Grouping, canonical, columns_of
from shoal.grouping.operators import CROSSOVER, MUTATIONS, crossover, group_split

KICKS = 10  # in vain, before a start is given up
SLACK = 1.002  # a result this much worse is still a place to go on from
HOPE = 1.05  # a start that descends to more than this times the best is left
ELITE = 6
SHORT = {**dict.fromkeys(MUTATIONS, 2), CROSSOVER: 5}


@dataclass(frozen=True)
class MemeticResult:
    """The best grouping, and how many starts were tried."""

    best: Grouping
    evaluation: Evaluation
    rounds: int


def memetic(
    cost: GroupingCost,
    *,
    evaluations: int = 50_000,
    seconds: float | None = None,
    seed: int = 0,
    starts: Sequence[Grouping] = (),
    progress: Progress = silent,
) -> MemeticResult:
    """Search until `evaluations` groupings were asked for; `starts` are put into the first GOMM's population."""
    search = _Search(cost, evaluations, seconds, random.Random(seed), progress)
    starts = (((1 << cost.d) - 1,), *starts)  # one group of all columns: hard to reach from many, easy to split
    elite: list[Grouping] = []
    rounds = 0
    while not search.over():
        if len(elite) >= 2 and rounds % 2:
            one, other = search.rng.sample(elite, 2)
            start = crossover(one, other, search.rng)[0]
        else:
            settings = GommSettings(population=40, generations=20, times=SHORT, starts=() if rounds else starts)
            start = gomm(cost, settings, seed=search.rng.randrange(2**32), progress=lambda *_: not search.over()).best
        found = search.iterate(start)
        elite = sorted({*elite, found}, key=lambda grouping: (search.price(grouping), grouping))[:ELITE]
        rounds += 1
    return MemeticResult(search.best, cost.evaluate(search.best), rounds)


class _Search:
    """One run: its budget, its random numbers, and the best so far."""

    def __init__(
        self, cost: GroupingCost, evaluations: int, seconds: float | None, rng: random.Random, progress: Progress
    ) -> None:
        self.cost = cost
        self.rng = rng
        self.best: Grouping = ()
        self.least = float("inf")
        self._first = cost.requests
        self._budget = max(1, evaluations)
        self._stop = None if seconds is None else time.monotonic() + seconds
        self._progress = progress

    def over(self) -> bool:
        """Whether the budget is spent, with a word on how far the run is."""
        done = min(self.cost.requests - self._first, self._budget)
        self._progress(done, self._budget, self.least if self.best else None, "column groups")
        return self.spent()

    def spent(self) -> bool:
        """Whether the budget is spent; at least one grouping has been found by then."""
        late = self._stop is not None and time.monotonic() > self._stop
        return bool(self.best) and (late or self.cost.requests - self._first >= self._budget)

    def price(self, grouping: Grouping) -> float:
        """The price of a grouping, and a note of it if it is the best so far."""
        found = self.cost.price(self.cost.evaluate(grouping))
        self.note(grouping, found)
        return found

    def note(self, grouping: Grouping, price: float) -> None:
        if price < self.least:
            self.best, self.least = grouping, price

    def iterate(self, start: Grouping) -> Grouping:
        """Iterated local search from a start; gives the best that it met."""
        here, price = self.descend(start)
        best, least, vain = here, price, 0
        while vain < KICKS and least <= self.least * HOPE and not self.over():
            kicked = here
            for _ in range(self.rng.randint(2, 4)):
                kicked = _step(kicked, self.cost.d, self.rng)
            there, there_price = self.descend(kicked)
            vain += 1
            if there_price < least:
                best, least, vain = there, there_price, 0
            if there_price <= price * SLACK:
                here, price = there, there_price
        return best

    def _prepared(self, neighbours: Iterator[Grouping]) -> Iterator[Grouping]:
        """The neighbours; where a group of columns takes long, some ahead are worked on by all threads at once."""
        if self.cost.threads == 1 or not self.cost.sampled:
            yield from neighbours
        while batch := list(itertools.islice(neighbours, self.cost.threads)):
            self.cost.prepare(batch)
            yield from batch

    def descend(self, grouping: Grouping) -> tuple[Grouping, float]:
        """Take the first better neighbour, until there is none or the budget is spent."""
        price = self.price(grouping)
        better = True
        while better and not self.over():
            better = False
            for neighbour in self._prepared(_neighbours(grouping, self.cost.d, self.rng)):
                if self.spent():
                    break
                found = self.cost.below(neighbour, price)
                if found is not None:
                    grouping, price, better = neighbour, self.cost.price(found), True
                    self.note(grouping, price)
                    break
        return grouping, price


def _neighbours(grouping: Grouping, d: int, rng: random.Random) -> Iterator[Grouping]:
    """All neighbours, in random order; of the halves of each group, as many random ones as it has columns."""
    home = [0] * d
    for i, group in enumerate(grouping):
        for column in columns_of(group):
            home[column] = i
    count = len(grouping)
    moves: list[tuple[Callable[..., Grouping], int, int]] = []
    for a in range(d):
        alone = grouping[home[a]].bit_count() == 1
        moves += [(_moved, a, target) for target in range(count + (not alone)) if target != home[a]]
        moves += [(_swapped, a, b) for b in range(a + 1, d) if home[b] != home[a]]
    moves += [(_merged, i, j) for i in range(count) for j in range(i + 1, count)]
    moves += [
        (_halved, i, 0) for i in range(count) if grouping[i].bit_count() > 3 for _ in range(grouping[i].bit_count())
    ]
    rng.shuffle(moves)
    for move, a, b in moves:
        yield move(grouping, a, b, home, rng)


def _moved(grouping: Grouping, column: int, target: int, home: list[int], rng: random.Random) -> Grouping:
    """A column to another group, or (one past the last) to a group of its own."""
    bit = 1 << column
    groups = [group & ~bit for group in grouping]
    if target == len(groups):
        return canonical([*groups, bit])
    groups[target] |= bit
    return canonical(groups)


def _swapped(grouping: Grouping, a: int, b: int, home: list[int], rng: random.Random) -> Grouping:
    pair = 1 << a | 1 << b
    groups = list(grouping)
    groups[home[a]] ^= pair
    groups[home[b]] ^= pair
    return canonical(groups)


def _merged(grouping: Grouping, i: int, j: int, home: list[int], rng: random.Random) -> Grouping:
    return canonical([*(g for t, g in enumerate(grouping) if t not in (i, j)), grouping[i] | grouping[j]])


def _halved(grouping: Grouping, i: int, _: int, home: list[int], rng: random.Random) -> Grouping:
    rest = [group for t, group in enumerate(grouping) if t != i]
    return canonical([*rest, *group_split((grouping[i],), rng)])


def _step(grouping: Grouping, d: int, rng: random.Random) -> Grouping:
    """One random step of a kick: half the time a move, else mostly a swap, now and then a merge or a split."""
    home = [next(i for i, group in enumerate(grouping) if group >> column & 1) for column in range(d)]
    chance, count, a = rng.random(), len(grouping), rng.randrange(d)
    others = [b for b in range(d) if home[b] != home[a]]
    if chance < 0.5:
        targets = [t for t in range(count + (rng.random() < 0.2)) if t != home[a]]
        return _moved(grouping, a, rng.choice(targets), home, rng) if targets else group_split(grouping, rng)
    if chance < 0.9 and others:
        return _swapped(grouping, a, rng.choice(others), home, rng)
    if chance < 0.95 and others:
        return _merged(grouping, home[a], home[rng.choice(others)], home, rng)
    return group_split(grouping, rng)
