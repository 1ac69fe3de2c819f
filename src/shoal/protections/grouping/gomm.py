"""GOMM and D-GOMM: a grouping genetic algorithm over column groupings (GOMM thesis).

population: P random groupings, sorted by fitness
each generation: C crossovers (two children each) and M mutations of each of five kinds, with random parents;
    the best P of parents and children survive (a merge of two sorted lists: at equal fitness the parent stays)
D-GOMM: an operator whose children were all discarded in five generations in a row is not run again
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, at_random, together
from shoal.protections.grouping.monitor import Birth, Monitor
from shoal.protections.grouping.operators import CROSSOVER, MUTATIONS, OPERATORS, crossover

# The published settings.
POPULATION, GENERATIONS = 200, 100
CROSSOVERS, MUTATIONS_PER_KIND = 25, 10
PATIENCE = 5
AT_ONCE = 8  # groupings evaluated between two looks at a stop


def times_per_generation(crossovers: int = CROSSOVERS, mutations: int = MUTATIONS_PER_KIND) -> dict[str, int]:
    """How often each operator is run per generation: each of the five mutations as often as the others."""
    return {**dict.fromkeys(MUTATIONS, mutations), CROSSOVER: crossovers}


@dataclass(frozen=True)
class GommSettings:
    """The settings of a run; those of the publication are the defaults.

    population: P, the number of groupings. generations: G. times: how often each operator is run per generation; a
    crossover gives two children. dynamic: D-GOMM. patience: D-GOMM drops an operator after so many generations in a
    row in which all its children were discarded. stop_when_still: end once a generation leaves the mean fitness as it
    was.
    """

    population: int = POPULATION
    generations: int = GENERATIONS
    times: Mapping[str, int] = field(default_factory=times_per_generation)
    dynamic: bool = False
    patience: int = PATIENCE
    stop_when_still: bool = False

    def __post_init__(self) -> None:
        for name, minimum in (("population", 2), ("generations", 0), ("patience", 1)):
            if getattr(self, name) < minimum:
                raise UsageError(f"{name} must be {minimum} or more, not {getattr(self, name)}.")

    @classmethod
    def alone(cls, operator: str, **others: object) -> GommSettings:
        """One operator alone, with as many children (100) as all operators have together."""
        return cls(times={operator: 50 if operator == CROSSOVER else 100}, **others)  # type: ignore[arg-type]


@dataclass(frozen=True)
class GommResult:
    """The last population, sorted by fitness, and how the run went.

    births: the number of groupings that were made. dropped: for each operator that D-GOMM dropped, the generation after
    which it was not run. stopped: whether the time limit or the user ended the run.
    """

    population: Sequence[tuple[Grouping, Evaluation]]
    generations: int
    births: int
    dropped: Mapping[str, int]
    stopped: bool = False

    @property
    def best(self) -> Grouping:
        return self.population[0][0]


def gomm(
    cost: GroupingCost,
    settings: GommSettings | None = None,
    *,
    seed: int = 0,
    seconds: float | None = None,
    monitor: Monitor | None = None,
    control: Control | None = None,
) -> GommResult:
    """Run the algorithm. A run that is stopped returns the population of its last generation.

    A grouping that breaks the floor has infinite fitness. With a floor, the first population has one group of all
    columns in place of one random grouping, because random groupings rarely keep a joint k.
    """
    control = (control or current()).part(seconds=seconds)
    settings = settings or GommSettings()
    rng = random.Random(seed)
    running = {name: count for name, count in settings.times.items() if count}
    idle = dict.fromkeys(running, 0)
    dropped: dict[str, int] = {}
    population = [Birth(at_random(cost.d, rng), "first", 0) for _ in range(settings.population)]
    if cost.floor.is_set:
        population[0] = Birth(together(cost.d), "first", 0)
    _price(cost, population, control)
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
        _price(cost, children, control, math.inf if monitor is not None else population[-1].cost.fitness)
        before = _mean(population)
        population = _survivors(population, children, settings.population, generation)
        if monitor is not None:
            monitor.generation(generation, population, children)
        if settings.dynamic:
            _drop_idle(running, idle, dropped, children, generation, settings.patience)
        if settings.stop_when_still and _mean(population) == before:
            break
    show()
    return GommResult([(b.grouping, b.cost) for b in population], generation, births, dropped, control.stopped)


def _price(cost: GroupingCost, newborn: Sequence[Birth], control: Control, limit: float = math.inf) -> None:
    """Evaluate the new groupings. One that is not below `limit` cannot survive, and its cost stays infinite.

    So does the cost of those that a stop leaves out; the first ones are always evaluated.
    """
    for first in range(0, len(newborn), AT_ONCE):
        if first and control.stopped:
            return
        some = newborn[first : first + AT_ONCE]
        cost.prepare(birth.grouping for birth in some)
        for birth in some:
            evaluation = cost.below(birth.grouping, limit)
            if evaluation is not None:
                birth.cost = evaluation


def _offspring(
    population: Sequence[Birth], running: Mapping[str, int], generation: int, rng: random.Random
) -> list[Birth]:
    """Make the children of a generation, and mark their parents as used."""
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
    """The best of both lists; the others are discarded in this generation."""
    both = sorted([*population, *children], key=_fitness)  # a stable sort of two sorted lists merges them
    for birth in both[size:]:
        birth.died = generation
    return both[:size]


def _drop_idle(
    running: dict[str, int],
    idle: dict[str, int],
    dropped: dict[str, int],
    children: Sequence[Birth],
    generation: int,
    patience: int,
) -> None:
    """Drop the operators whose children were all discarded in the last `patience` generations (D-GOMM)."""
    alive = {birth.operator for birth in children if birth.died is None}
    for name in list(running):
        idle[name] = 0 if name in alive else idle[name] + 1
        if idle[name] >= patience:
            dropped[name] = generation
            del running[name]


def _fitness(birth: Birth) -> float:
    return birth.cost.fitness


def _mean(population: Sequence[Birth]) -> float:
    """The mean fitness of the groupings that keep the floor."""
    accepted = [birth.cost.fitness for birth in population if birth.cost.fitness < math.inf]
    return sum(accepted) / len(accepted) if accepted else math.nan
