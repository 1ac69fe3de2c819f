"""The canonical genetic algorithm in plain Python, draw by draw the same as the compiled one.

Slow and readable: a whole short run can be compared gene by gene.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass, field

WORD = 2**64 - 1


class SplitMix:
    """splitmix64."""

    def __init__(self, state: int) -> None:
        self.state = state

    def draw(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
        return z ^ (z >> 31)

    def uniform(self) -> float:
        return (self.draw() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        return ((self.draw() >> 32) * bound) >> 32


@dataclass
class Run:
    """A run's outcome; `generations_seen` holds every generation, for comparisons."""

    best: list[int]
    sse: float
    converged: int
    evaluations: int
    last: list[list[int]]
    costs: list[float]
    state: int
    trace: list[float] = field(default_factory=list)


def run(
    distances: list[list[float]],
    k: int,
    state: int,
    *,
    population: int,
    generations: int,
    mutation_rate: float,
    crossover_rate: float,
    inversion: float = 0.0,
    crossover: str = "one-point",
    selection: str = "roulette",
    kept: tuple[list[int], ...] = (),
) -> Run:
    n = len(distances)
    random = SplitMix(state)
    people = [list(c) for c in kept]
    while len(people) < population:
        people.append(candidate(n, k, random))
    costs = [sse(c, distances, k) for c in people]
    winner = min(range(population), key=lambda c: costs[c])
    best, least = people[winner], costs[winner]
    evaluations, converged, trace = population, 0, [least]
    for generation in range(1, generations + 1):
        children, child_costs = [list(best)], [least]
        while len(children) < population:
            a, b = select(costs, selection, random), select(costs, selection, random)
            pair = [list(people[a]), list(people[b])]
            crossed = random.uniform() < crossover_rate and a != b
            if crossed:
                cross(pair[0], pair[1], crossover, random)
            for child, parent in zip(pair, (a, b), strict=True):
                if len(children) == population:
                    break
                changed = mutate(child, mutation_rate, n // k, random) or crossed
                if inversion > 0 and random.uniform() < inversion:
                    ends = sorted((random.below(n), random.below(n)))
                    child[ends[0] : ends[1] + 1] = child[ends[0] : ends[1] + 1][::-1]
                    changed = True
                evaluations += changed
                children.append(child)
                child_costs.append(sse(child, distances, k) if changed else costs[parent])
        people, costs = children, child_costs
        winner = min(range(population), key=lambda c: costs[c])
        if costs[winner] < least - 1e-12 * least:
            best, least, converged = people[winner], costs[winner], generation
        trace.append(least)
    return Run(best, least, converged, evaluations, people, costs, random.state, trace)


def candidate(n: int, k: int, random: SplitMix) -> list[int]:
    """A random chromosome whose groups all have k..2k-1 records."""
    symbols = n // k
    genes: list[int] = []
    while len(genes) < n:
        g = random.below(symbols)
        if genes.count(g) < 2 * k - 1:
            genes.append(g)
    for g in range(symbols):
        while genes.count(g) < k:
            i = random.below(n)
            if genes.count(genes[i]) > k:
                genes[i] = g
    return genes


def sse(genes: list[int], distances: list[list[float]], k: int) -> float:
    """The SSE from all pairs' distances, or infinity for a penalised chromosome."""
    groups: dict[int, list[int]] = {}
    for i, g in enumerate(genes):
        groups.setdefault(g, []).append(i)
    if not all(k <= len(rows) <= 2 * k - 1 for rows in groups.values()):
        return math.inf
    total = 0.0
    for g in sorted(groups):
        spread = 0.0
        for a, i in enumerate(groups[g]):
            for j in groups[g][:a]:
                spread += distances[i][j]
        total += spread / len(groups[g])
    return total


def select(costs: list[float], selection: str, random: SplitMix) -> int:
    population = len(costs)
    if selection == "tournament":
        a, b = random.below(population), random.below(population)
        return b if costs[b] < costs[a] else a
    if selection == "rank":
        weight = [0.0] * population
        for r, c in enumerate(sorted(range(population), key=lambda c: -costs[c])):
            weight[c] = r + 1.0
    else:
        weight = [1e-6 if math.isinf(c) else 1.0 / (c + 1.0) for c in costs]
    wheel = list(itertools.accumulate(weight))
    return min(bisect_right(wheel, random.uniform() * wheel[-1]), population - 1)


def cross(one: list[int], other: list[int], crossover: str, random: SplitMix) -> None:
    n = len(one)
    if crossover == "uniform":
        exchanged = [i for i in range(n) if random.draw() >> 63]
    elif crossover == "one-point":
        exchanged = list(range(1 + random.below(n - 1), n))
    else:
        first, second = 1 + random.below(n - 1), 1 + random.below(n - 1)
        exchanged = list(range(min(first, second), max(first, second)))
    for i in exchanged:
        one[i], other[i] = other[i], one[i]


def mutate(genes: list[int], rate: float, symbols: int, random: SplitMix) -> bool:
    threshold = round(rate * 2**32)
    before = list(genes)
    if threshold == 0:
        return False
    changed = False
    for i in range(0, len(genes), 2):
        bits = random.draw()
        for j, part in ((i, bits & 0xFFFFFFFF), (i + 1, bits >> 32)):
            if j < len(genes) and part < threshold:
                genes[j] = random.below(symbols)
                changed = changed or genes[j] != before[j]
    return changed
