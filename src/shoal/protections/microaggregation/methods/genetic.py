"""The canonical genetic algorithm for microaggregation, as published (Solanas et al. 2006, Solanas 2008).

It nearly always finds the optimum of a dozen records, loses less than MDAV up to about fifty records, and more beyond a
hundred. `hybrid` splits larger files into parts of that size. Options add what the papers leave open: two-point and
uniform crossover, inversion, tournament and rank selection. They are off by default.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.inputs import as_rows
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError, check_choice, check_k
from shoal.protections.microaggregation.kernels import genetic as kernel

CROSSOVERS = {"one-point": kernel.ONE_POINT, "two-point": kernel.TWO_POINT, "uniform": kernel.UNIFORM}
SELECTIONS = {"roulette": kernel.ROULETTE, "tournament": kernel.TOURNAMENT, "rank": kernel.RANK}
MOST_RECORDS = 10_000  # the distances of all pairs are held in memory

_GENES_PER_CALL = 10_000_000  # about a fifth of a second: the time between two checks for a stop
_GENERATIONS_UNTIL_A_LOOK = 200  # between two checks whether a run is settled
_ROUNDING = 1e-13  # relative; the kernel ignores gains below ten times as much


def genetic(
    values: Floats,
    k: int,
    *,
    seed: int = 0,
    population: int = 100,
    crossover_rate: float = 0.3,
    mutation_rate: float = 0.1,
    generations: int | None = None,
    crossover: str = "one-point",
    selection: str = "roulette",
    inversion: float = 0.0,
    start: KPartition | None = None,
    control: Control | None = None,
) -> KPartition:
    """Return the best partition that the genetic algorithm finds.

    population random chromosomes (gene i: the group of record i), groups of k..2k-1 records; `start` is one of them
    for each generation:
        the best chromosome so far survives unchanged
        until the population is full:
            two parents by roulette wheel; fitness 1 / (SSE + 1), or 1e-6 if a group is outside k..2k-1
            with probability crossover_rate they exchange all genes behind a random cut
            each gene of each child becomes a random group with probability mutation_rate
            with probability inversion a random segment of a child is reversed

    By default there are 10,000 generations up to 35 records and 100,000 above. A stopped run returns the best partition
    so far. The facts have the generation that found the best (convergence_generation) and the number of evaluated
    chromosomes.
    """
    control = control or current()
    rates = (mutation_rate, crossover_rate, inversion)
    operators = (
        CROSSOVERS[check_choice("crossover", crossover, CROSSOVERS)],
        SELECTIONS[check_choice("selection", selection, SELECTIONS)],
    )
    return _search(values, k, seed, population, rates, operators, generations, start, None, control)


def genetic_until_settled(
    values: Floats,
    k: int,
    optimum: KPartition | None,
    *,
    seed: int,
    population: int,
    crossover_rate: float,
    mutation_rate: float,
    generations: int | None = None,
    control: Control | None = None,
) -> KPartition:
    """Return the partition of `genetic` and its convergence generation, without the generations that change neither.

    A run is settled once it has the SSE of a proved optimum, or once all chromosomes are equal and none mutates.
    """
    rates = (mutation_rate, crossover_rate, 0.0)
    operators = (CROSSOVERS["one-point"], SELECTIONS["roulette"])
    known = -np.inf if optimum is None else _cost(_squared_distances(as_rows(values)), optimum)
    control = control or current()
    return _search(values, k, seed, population, rates, operators, generations, None, known, control)


def _search(
    values: Floats,
    k: int,
    seed: int,
    population: int,
    rates: tuple[float, float, float],
    operators: tuple[int, int],
    generations: int | None,
    start: KPartition | None,
    known: float | None,
    control: Control,
) -> KPartition:
    """Run the algorithm; rates are those of mutation, crossover and inversion.

    known: the cost of an optimum, with which the run may end early, or -inf. None runs all generations.
    """
    mutation_rate, crossover_rate, inversion = rates
    values = as_rows(values)
    n = len(values)
    k = check_k(k, n)
    generations = _check(n, population, generations, seed, mutation_rate, crossover_rate, inversion)
    chromosomes = np.zeros((2, population, n), dtype=np.int32)
    if start is not None:
        chromosomes[0, 0] = _as_chromosome(start, k, n)
    sse = np.full((2, population), np.inf)
    best, least = np.zeros(n, dtype=np.int32), np.zeros(1)
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64).astype(np.uint64)
    counts = np.zeros(4, dtype=np.int64)
    run = (_squared_distances(values), k, chromosomes, sse, best, least, state, counts)
    kernel.begin(*run, int(start is not None))
    a_call = max(1, _GENES_PER_CALL // (population * n)) if known is None else _GENERATIONS_UNTIL_A_LOOK
    while counts[kernel.GENERATION] < generations and not control.stopped:
        more = min(a_call, generations - counts[kernel.GENERATION])
        kernel.advance(*run, mutation_rate, crossover_rate, inversion, *operators, more, control.flag)
        control.show(int(counts[kernel.GENERATION]), generations, 100 * float(least[0]) / values.size, "genetic search")
        if known is not None and (
            least[0] <= known * (1 + _ROUNDING)
            or (mutation_rate == 0 and (chromosomes[counts[kernel.HALF]] == chromosomes[counts[kernel.HALF], 0]).all())
        ):
            break
    facts: dict[str, int | bool] = {
        **control.facts,
        "generations": int(counts[kernel.GENERATION]),
        "convergence_generation": int(counts[kernel.CONVERGED]),
        "evaluations": int(counts[kernel.EVALUATIONS]),
    }
    return KPartition(best.astype(np.int64), facts)


def _cost(distances: Floats, partition: KPartition) -> float:
    """Return the cost of a partition as the kernel computes it, up to rounding."""
    groups = (np.flatnonzero(partition.labels == label) for label in np.unique(partition.labels))
    return float(sum(distances[np.ix_(group, group)].sum() / (2 * group.size) for group in groups))


def usual_generations(n: int) -> int:
    """Return the published number of generations for n records."""
    return 10_000 if n <= 35 else 100_000


def _check(
    n: int,
    population: int,
    generations: int | None,
    seed: int,
    mutation_rate: float,
    crossover_rate: float,
    inversion: float,
) -> int:
    """Check the ranges of the options and return the number of generations."""
    rates = {"mutation_rate": mutation_rate, "crossover_rate": crossover_rate, "inversion": inversion}
    for name, rate in rates.items():
        if not 0 <= rate <= 1:
            raise UsageError(f"{name} must be between 0 and 1, not {rate}.")
    if population < 2:
        raise UsageError(f"population must be at least 2 (chromosomes), not {population}.")
    if seed < 0:
        raise UsageError(f"seed must be a whole number of at least 0, not {seed}.")
    if n > MOST_RECORDS:
        raise UsageError(
            f"Method 'genetic' supports at most {MOST_RECORDS:,} records, not {n:,}, and is useful up to about 100. "
            "Use hybrid, which splits the file first."
        )
    if generations is None:
        return usual_generations(n)
    if generations < 0:
        raise UsageError(f"generations must be a whole number of at least 0, not {generations}.")
    return generations


def _as_chromosome(start: KPartition, k: int, n: int) -> NDArray[np.int32]:
    """Return the labels of a partition with groups of k to 2k-1 records."""
    if start.n != n:
        raise UsageError(f"start must be a partition of the {n} records, not of {start.n}.")
    start.check(k)
    if start.sizes.max() >= 2 * k:
        raise UsageError(
            f"start must have groups of k to 2k-1 = {2 * k - 1} records, not a group of {start.sizes.max()}. Split it."
        )
    return start.labels.astype(np.int32)


def _squared_distances(values: Floats) -> Floats:
    """Return the squared distances of all pairs, in the unit in which SST = n d.

    That is the unit of standardized values, for which the fitness 1 / (SSE + 1) was designed. In another unit the
    fitness would hardly differ between partitions, or differ far too much.
    """
    n, d = values.shape
    centred = values - values.mean(axis=0)
    widest = np.abs(centred).max()
    if widest > 0:
        centred /= widest
    squares = np.zeros((n, n))
    for column in centred.T:
        squares += np.subtract.outer(column, column) ** 2
    total = squares.sum() / (2 * n)
    return squares * (n * d / total) if total > 0 else squares
