"""The canonical genetic algorithm for microaggregation (Solanas et al. 2006, Solanas 2008), many generations a call.

A chromosome has one gene a record, its group, of an alphabet of floor(n/k) symbols. All of a run's state
is in arrays, so a run can be cut anywhere and goes on exactly where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.randomness import below, draw, uniform

Genes = NDArray[np.int32]
Word = NDArray[np.uint64]

ONE_POINT, TWO_POINT, UNIFORM = 0, 1, 2
ROULETTE, TOURNAMENT, RANK = 0, 1, 2

# The places in `counts`.
GENERATION, CONVERGED, EVALUATIONS, HALF = 0, 1, 2, 3

_PENALISED = 1e-6  # the fitness of a chromosome that has a group outside k..2k-1
_SAME = 1e-12  # a relative gain below this is rounding: the same groups under other names
_LOW32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)


@inner
def _initialise(genes: Genes, k: int, symbols: int, sizes: Ints, state: Word) -> None:
    """Each gene a random group that is not full; then records move from groups above k to groups below it."""
    n = genes.size
    sizes[:] = 0
    i = 0
    while i < n:
        g = below(state, symbols)
        if sizes[g] < 2 * k - 1:
            genes[i] = g
            sizes[g] += 1
            i += 1
    for g in range(symbols):
        while sizes[g] < k:
            i = below(state, n)
            if sizes[genes[i]] > k:
                sizes[genes[i]] -= 1
                genes[i] = g
                sizes[g] += 1


@inner
def _evaluate(genes: Genes, distances: Floats, k: int, sizes: Ints, place: Ints, members: Ints) -> float:
    """The SSE, or infinity where a group is outside k..2k-1 (an empty one is none).

    A group's share is the sum of its squared distances, pair by pair, over its size.
    """
    n = genes.size
    for g in range(sizes.size):
        sizes[g] = 0
    for i in range(n):
        sizes[genes[i]] += 1
    start, wrong = 0, False
    for g in range(sizes.size):
        wrong |= (sizes[g] != 0) & ((sizes[g] < k) | (sizes[g] >= 2 * k))
        place[g] = start
        start += sizes[g]
    if wrong:
        return np.inf
    for i in range(n):
        members[place[genes[i]]] = i
        place[genes[i]] += 1
    total, start = 0.0, 0
    for g in range(sizes.size):
        spread = 0.0
        for a in range(start + 1, start + sizes[g]):
            row = distances[members[a]]
            for b in range(start, a):
                spread += row[members[b]]
        if sizes[g] != 0:
            total += spread / sizes[g]
        start += sizes[g]
    return total


@inner
def _keep_best(population: Genes, cost: Floats, best: Genes, least: Floats) -> bool:
    """Note the generation's best chromosome if it is better than all before."""
    c = 0
    for i in range(1, cost.size):
        if cost[i] < cost[c]:
            c = i
    if np.isinf(least[0]) or cost[c] < least[0] - _SAME * least[0]:
        copy_first(best.size, population[c], best)
        least[0] = cost[c]
        return True
    return False


@inner
def _turn_wheel(cost: Floats, selection: int, wheel: Floats, guide: Ints) -> None:
    """The running sum of fitness (or of ranks, the worst 1), and where each slice of equal width begins in it."""
    chromosomes = cost.size
    if selection == RANK:
        order = np.argsort(-cost, kind="mergesort")
        for r in range(chromosomes):
            wheel[order[r]] = r + 1.0
    else:
        for c in range(chromosomes):
            wheel[c] = _PENALISED if np.isinf(cost[c]) else 1.0 / (cost[c] + 1.0)
    for c in range(1, chromosomes):
        wheel[c] += wheel[c - 1]
    c = 0
    for slot in range(chromosomes):
        while wheel[c] <= wheel[chromosomes - 1] * slot / chromosomes:
            c += 1
        guide[slot] = c


@inner
def _select(cost: Floats, selection: int, wheel: Floats, guide: Ints, state: Word) -> int:
    """A parent: by the wheel, or the better of two."""
    if selection == TOURNAMENT:
        a, b = below(state, cost.size), below(state, cost.size)
        return b if cost[b] < cost[a] else a
    turn = uniform(state)
    c = guide[int(turn * cost.size)]
    while c < cost.size - 1 and wheel[c] <= turn * wheel[cost.size - 1]:
        c += 1
    return int(c)


@inner
def _cross(one: Genes, other: Genes, crossover: int, state: Word) -> None:
    """Exchange genes: behind one cut, between two, or each at even odds."""
    n = one.size
    if crossover == UNIFORM:
        for i in range(n):
            if draw(state) >> np.uint64(63):
                one[i], other[i] = other[i], one[i]
        return
    start, end = 1 + below(state, n - 1), n
    if crossover == TWO_POINT:
        second = 1 + below(state, n - 1)
        start, end = min(start, second), max(start, second)
    for i in range(start, end):
        one[i], other[i] = other[i], one[i]


@inner
def _mutate(genes: Genes, threshold: np.uint64, symbols: int, state: Word) -> bool:
    """Each gene becomes, at the mutation rate, a random symbol; two genes share a draw. Tells if one changed."""
    n = genes.size
    changed = False
    if threshold == 0:
        return changed
    for i in range(0, n, 2):
        bits = draw(state)
        if (bits & _LOW32) < threshold:
            symbol = below(state, symbols)
            changed = changed or symbol != genes[i]
            genes[i] = symbol
        if i + 1 < n and (bits >> _S32) < threshold:
            symbol = below(state, symbols)
            changed = changed or symbol != genes[i + 1]
            genes[i + 1] = symbol
    return changed


@inner
def _invert(genes: Genes, state: Word) -> None:
    """Reverse a random stretch."""
    start, end = below(state, genes.size), below(state, genes.size)
    start, end = min(start, end), max(start, end)
    while start < end:
        genes[start], genes[end] = genes[end], genes[start]
        start += 1
        end -= 1


@kernel("void(f8[:,::1], i8, i4[:,:,::1], f8[:,::1], i4[::1], f8[::1], u8[::1], i8[::1], i8)")
def begin(
    distances: Floats,
    k: int,
    population: Genes,
    sse: Floats,
    best: Genes,
    least: Floats,
    state: Word,
    counts: Ints,
    kept: int,
) -> None:
    """The first generation: `kept` chromosomes that are there already, then random candidates for the optimum."""
    chromosomes, n = population.shape[1], population.shape[2]
    symbols = n // k
    sizes, place, members = np.empty(symbols, np.int64), np.empty(symbols, np.int64), np.empty(n, np.int64)
    least[0] = np.inf
    for c in range(chromosomes):
        genes = population[0, c]
        if c >= kept:
            _initialise(genes, k, symbols, sizes, state)
        sse[0, c] = _evaluate(genes, distances, k, sizes, place, members)
    counts[GENERATION], counts[CONVERGED], counts[EVALUATIONS], counts[HALF] = 0, 0, chromosomes, 0
    _keep_best(population[0], sse[0], best, least)


@kernel(
    "void(f8[:,::1], i8, i4[:,:,::1], f8[:,::1], i4[::1], f8[::1], u8[::1], i8[::1], f8, f8, f8, i8, i8, i8, u1[::1])"
)
def advance(
    distances: Floats,
    k: int,
    population: Genes,
    sse: Floats,
    best: Genes,
    least: Floats,
    state: Word,
    counts: Ints,
    mutation_rate: float,
    crossover_rate: float,
    inversion_rate: float,
    crossover: int,
    selection: int,
    generations: int,
    flag: Bytes,
) -> None:
    """So many generations more, fewer once the flag is up.

    distances: squared, between all pairs. population, sse: two halves, the present generation in counts[HALF].
    best, least: the best chromosome so far and its SSE.
    """
    chromosomes, n = population.shape[1], population.shape[2]
    symbols = n // k
    sizes, place, members = np.empty(symbols, np.int64), np.empty(symbols, np.int64), np.empty(n, np.int64)
    wheel, guide = np.empty(chromosomes), np.empty(chromosomes, np.int64)
    spare = np.empty(n, np.int32)
    threshold = np.uint64(round(mutation_rate * 4294967296.0))  # a gene mutates if 32 random bits are below
    for _ in range(generations):
        if flag[0] != 0:
            return
        half = counts[HALF]
        parents, cost = population[half], sse[half]
        children, child_cost = population[1 - half], sse[1 - half]
        if selection != TOURNAMENT:
            _turn_wheel(cost, selection, wheel, guide)
        copy_first(n, best, children[0])
        child_cost[0] = least[0]
        for c in range(1, chromosomes, 2):
            a = _select(cost, selection, wheel, guide, state)
            b = _select(cost, selection, wheel, guide, state)
            pair = c + 1 < chromosomes  # without room for the second child, it is not born
            one, other = children[c], children[c + 1] if pair else spare
            for i in range(n):
                one[i], other[i] = parents[a, i], parents[b, i]
            crossed = uniform(state) < crossover_rate and a != b
            if crossed:
                _cross(one, other, crossover, state)
            for twin in range(2 if pair else 1):
                genes, parent = (one, a) if twin == 0 else (other, b)
                changed = _mutate(genes, threshold, symbols, state) or crossed
                if inversion_rate > 0.0 and uniform(state) < inversion_rate:
                    _invert(genes, state)
                    changed = True
                if changed:
                    child_cost[c + twin] = _evaluate(genes, distances, k, sizes, place, members)
                    counts[EVALUATIONS] += 1
                else:
                    child_cost[c + twin] = cost[parent]
        counts[HALF] = 1 - half
        counts[GENERATION] += 1
        if _keep_best(children, child_cost, best, least):
            counts[CONVERGED] = counts[GENERATION]
