"""GOMM and D-GOMM: a grouping genetic algorithm over groupings of columns (GOMM thesis).

population: P groupings at random, sorted by cost
each generation: C crossovers (two children each), M mutations of each of five kinds, parents drawn at random;
    the best P of parents and children survive (a merge of two sorted lists: at equal cost the parent stays)
D-GOMM: an operator all of whose children were discarded in five generations running is not run again
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, at_random
from shoal.protections.grouping.monitor import Birth, Monitor
from shoal.protections.grouping.operators import CROSSOVER, MUTATIONS, OPERATORS, crossover

PATIENCE = 5  # generations in vain after which D-GOMM drops an operator


@dataclass(frozen=True)
class GommSettings:
    """P, G, and how often each operator is run in a generation (a crossover gives two children)."""

    population: int = 200
    generations: int = 100
    times: Mapping[str, int] = field(default_factory=lambda: {**dict.fromkeys(MUTATIONS, 10), CROSSOVER: 25})
    dynamic: bool = False
    stop_when_still: bool = False  # stop when the mean cost of the population has not changed

    def __post_init__(self) -> None:
        if self.population < 2:
            raise UsageError(f"the population must have at least 2 groupings, not {self.population}")
        if self.generations < 0:
            raise UsageError(f"the number of generations must not be negative: {self.generations}")

    @classmethod
    def alone(cls, operator: str, **others: object) -> GommSettings:
        """One operator alone, with as many children (100) as all of them together."""
        return cls(times={operator: 50 if operator == CROSSOVER else 100}, **others)  # type: ignore[arg-type]


@dataclass(frozen=True)
class GommResult:
    """The last population, sorted by cost, and how it came about."""

    population: Sequence[tuple[Grouping, Evaluation]]
    generations: int
    births: int
    dropped: Mapping[str, int]  # operator -> the generation after which it was not run

    @property
    def best(self) -> Grouping:
        return self.population[0][0]


def gomm(
    cost: GroupingCost,
    settings: GommSettings | None = None,
    *,
    seed: int = 0,
    monitor: Monitor | None = None,
    control: Control | None = None,
) -> GommResult:
    """Run the algorithm; a run that is stopped gives the population of its last generation."""
    control = control or current()
    settings = settings or GommSettings()
    rng = random.Random(seed)
    running = {name: count for name, count in settings.times.items() if count}
    vain = dict.fromkeys(running, 0)
    dropped: dict[str, int] = {}
    population = [Birth(at_random(cost.d, rng), "first", 0) for _ in range(settings.population)]
    _price(cost, population)
    population.sort(key=_fitness)
    births, generation = len(population), 0
    if monitor is not None:
        monitor.generation(0, population, population)

    def show() -> bool:
        return control.show(generation, settings.generations, population[0].cost.fitness, "generations")

    while generation < settings.generations and running and show():
        generation += 1
        children = _offspring(population, running, generation, rng)
        births += len(children)
        _price(cost, children, math.inf if monitor is not None else population[-1].cost.fitness)
        before = _mean(population)
        population = _survivors(population, children, settings.population, generation)
        if monitor is not None:
            monitor.generation(generation, population, children)
        if settings.dynamic:
            _drop_idle(running, vain, dropped, children, generation)
        if settings.stop_when_still and _mean(population) == before:
            break
    show()
    return GommResult([(b.grouping, b.cost) for b in population], generation, births, dropped)


def _price(cost: GroupingCost, newborn: Sequence[Birth], limit: float = math.inf) -> None:
    """Cost every newborn; one that is not below `limit` cannot survive, and is left at infinity."""
    cost.prepare(birth.grouping for birth in newborn)
    for birth in newborn:
        evaluation = cost.below(birth.grouping, limit)
        if evaluation is not None:
            birth.cost = evaluation


def _offspring(
    population: Sequence[Birth], running: Mapping[str, int], generation: int, rng: random.Random
) -> list[Birth]:
    """The children of a generation; every parent is marked as used."""
    children = []
    for name in OPERATORS:
        for _ in range(running.get(name, 0)):
            parents = [population[rng.randrange(len(population))]]
            if name == CROSSOVER:
                parents.append(population[rng.randrange(len(population))])
                made: tuple[Grouping, ...] = crossover(parents[0].grouping, parents[1].grouping, rng)
            else:
                made = (MUTATIONS[name](parents[0].grouping, rng),)
            for parent in parents:
                parent.used = True
            reference = sum(parent.cost.fitness for parent in parents) / len(parents)
            copied = {parent.grouping for parent in parents}
            children += [Birth(child, name, generation, reference, clone=child in copied) for child in made]
    return children


def _survivors(population: list[Birth], children: list[Birth], size: int, generation: int) -> list[Birth]:
    """The best of both lists; the others die in this generation."""
    both = sorted([*population, *children], key=_fitness)  # a stable sort of sorted lists is the merge
    for birth in both[size:]:
        birth.died = generation
    return both[:size]


def _drop_idle(
    running: dict[str, int], vain: dict[str, int], dropped: dict[str, int], children: Sequence[Birth], generation: int
) -> None:
    """D-GOMM's control: no operator that has worked in vain for five generations running."""
    alive = {birth.operator for birth in children if birth.died is None}
    for name in list(running):
        vain[name] = 0 if name in alive else vain[name] + 1
        if vain[name] >= PATIENCE:
            dropped[name] = generation
            del running[name]


def _fitness(birth: Birth) -> float:
    return birth.cost.fitness


def _mean(population: Sequence[Birth]) -> float:
    return sum(birth.cost.fitness for birth in population) / len(population)
