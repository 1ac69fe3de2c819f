"""The canonical genetic algorithm for microaggregation (Solanas et al. 2006, Solanas 2008), many generations per call.

A chromosome has one gene per record: its group, one of floor(n/k) symbols. All of a run's state is in arrays, so a
run can be interrupted anywhere and continues exactly where it was.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import bare, inlined, inner, kernel
from shoal.engine.kernels.randomness import below, bits_of, draw, draws_between, next_state, skip, uniform

Genes = NDArray[np.int32]
Word = NDArray[np.uint64]

ONE_POINT, TWO_POINT, UNIFORM = 0, 1, 2
ROULETTE, TOURNAMENT, RANK = 0, 1, 2

# The places in `counts`.
GENERATION, CONVERGED, EVALUATIONS, HALF = 0, 1, 2, 3

_PENALISED = 1e-6  # the fitness of a chromosome that has a group outside k..2k-1
_SAME = 1e-12  # a relative gain below this is rounding: the same groups under other names
_SETS, _BITS, _ONE_SET = 4, np.uint64(16), np.uint64(0xFFFF)  # sets of records in a word, and the bits of each
_FEW_RECORDS = 14  # `shares` then takes at most 128 kB
_AHEAD = 4_096  # minimum number of draws computed at once
_LOW32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
# Unsigned indices: Numba checks signed ones for negative values.
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_FIRST = np.uint8(1)


@inner
def _initialise(genes: Genes, k: int, symbols: int, sizes: Genes, state: Word) -> None:
    """Each gene a random group that is not full; then records move from groups above k to groups below it."""
    n = genes.size
    for g in range(symbols):
        sizes[g] = 0
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


@bare
def _share_of_each_set(distances: Floats, k: int, shares: Floats, members: Ints) -> None:
    """Compute what each set of a few records adds to the SSE, indexed by the set's bits.

    It is infinite for sets outside k..2k-1 records, and 0 for the empty set.
    """
    for chosen in range(shares.size):
        size, spread = 0, 0.0
        for i in range(distances.shape[0]):
            if (chosen >> i) & 1:
                for b in range(size):
                    spread += distances[i, members[b]]
                members[size] = i
                size += 1
        shares[chosen] = np.inf
        if size == 0:
            shares[chosen] = 0.0
        elif k <= size < 2 * k:
            shares[chosen] = spread / size


@inlined
def _look_up(population: Genes, half: int, c: int, shares: Floats) -> float:
    """The SSE of a chromosome of few records, as `_evaluate` gives it."""
    sets, bit = np.uint64(0), _1
    child, generation, i = np.uint64(c), np.uint64(half), np.uint64(0)
    for _ in range(population.shape[2]):
        sets |= bit << (np.uint64(population[generation, child, i]) * _BITS)
        bit <<= _1
        i += _1
    total = 0.0
    for _ in range(_SETS):
        total += shares[sets & _ONE_SET]
        sets >>= _BITS
    return total


@bare
def _count_sizes(population: Genes, half: int, c: int, sizes: Genes) -> None:
    """Count the records of each group of a chromosome."""
    for g in range(sizes.size):
        sizes[g] = 0
    for i in range(population.shape[2]):
        sizes[population[half, c, i]] += 1


@inlined
def _evaluate(
    population: Genes, half: int, c: int, distances: Floats, k: int, sizes: Genes, place: Ints, members: Ints
) -> float:
    """The SSE of a chromosome, or infinity where a group is outside k..2k-1 (an empty one does not count).

    The sizes are those of `_count_sizes` or `_mutate`, in two halves. A group's share is the sum of its squared
    distances, pair by pair, over its size.
    """
    symbols = sizes.size // 2
    wrong = False
    for g in range(symbols):
        size = sizes[g] + sizes[g + symbols]
        sizes[g] = size
        wrong |= (size != 0) & ((size < k) | (size >= 2 * k))
    if wrong:
        return np.inf
    start = 0
    for g in range(symbols):
        place[g] = start
        start += sizes[g]
    for i in range(population.shape[2]):
        gene = np.uint32(population[half, c, i])
        members[np.uint64(place[gene])] = i
        place[gene] += 1
    total = 0.0
    begin = _0
    for g in range(symbols):
        spread = 0.0
        end = begin + np.uint64(sizes[g])
        for a in range(begin + _1, end):
            one = np.uint64(members[a])
            for b in range(begin, a):
                spread += distances[one, np.uint64(members[b])]
        if sizes[g] != 0:
            total += spread / sizes[g]
        begin = end
    return total


@bare
def _keep_best(population: Genes, half: int, sse: Floats, best: Genes, least: Floats) -> bool:
    """Note the generation's best chromosome if it is better than all before."""
    c = 0
    for i in range(1, sse.shape[1]):
        if sse[half, i] < sse[half, c]:
            c = i
    if np.isinf(least[0]) or sse[half, c] < least[0] - _SAME * least[0]:
        for i in range(best.size):
            best[i] = population[half, c, i]
        least[0] = sse[half, c]
        return True
    return False


@inner
def _rank(cost: Floats, wheel: Floats) -> None:
    """The rank of each chromosome, 1 for the worst."""
    order = np.argsort(-cost, kind="mergesort")
    for r in range(cost.size):
        wheel[order[r]] = r + 1.0


@bare
def _weigh(sse: Floats, half: int, wheel: Floats) -> None:
    """The fitness of each chromosome."""
    for c in range(wheel.size):
        cost = sse[half, c]
        wheel[c] = _PENALISED if np.isinf(cost) else 1.0 / (cost + 1.0)


@bare
def _turn_wheel(wheel: Floats, guide: Ints) -> None:
    """Sum the weights one after the other, and note where each slice of equal width begins."""
    chromosomes = wheel.size
    for c in range(1, chromosomes):
        wheel[c] += wheel[c - 1]
    c = 0
    for slot in range(chromosomes):
        while wheel[c] <= wheel[chromosomes - 1] * slot / chromosomes:
            c += 1
        guide[slot] = c


@inlined
def _select(sse: Floats, half: int, selection: int, wheel: Floats, guide: Ints, state: Word) -> int:
    """Select a parent by the wheel, or the better of two."""
    chromosomes = wheel.size
    if selection == TOURNAMENT:
        a, b = below(state, chromosomes), below(state, chromosomes)
        return b if sse[half, b] < sse[half, a] else a
    turn = uniform(state)
    c = guide[int(turn * chromosomes)]
    while c < chromosomes - 1 and wheel[c] <= turn * wheel[chromosomes - 1]:
        c += 1
    return int(c)


@inlined
def _inherit(
    population: Genes, half: int, a: int, b: int, c: int, pair: bool, crossed: bool, crossover: int, state: Word
) -> None:
    """Write a child of parents a and b to c and, where there is room, its twin to c + 1.

    Crossed children exchange genes: behind one cut, between two, or each at even odds.
    """
    n = population.shape[2]
    start, end = n, n
    if crossed and crossover != UNIFORM:
        start = 1 + below(state, n - 1)
        if crossover == TWO_POINT:
            second = 1 + below(state, n - 1)
            start, end = min(start, second), max(start, second)
    _copy(population, half, a, c, 0, n)
    if crossed:
        _copy(population, half, b, c, start, end)
    if pair:
        _copy(population, half, b, c + 1, 0, n)
        if crossed:
            _copy(population, half, a, c + 1, start, end)
    if crossed and crossover == UNIFORM:
        for i in range(n):
            if draw(state) >> np.uint64(63):
                population[1 - half, c, i] = population[half, b, i]
                if pair:
                    population[1 - half, c + 1, i] = population[half, a, i]


@inlined
def _copy(population: Genes, half: int, parent: int, child: int, start: int, end: int) -> None:
    """Copy a stretch of a parent's genes to the child of the other half."""
    for i in range(start, end):
        population[1 - half, child, i] = population[half, parent, i]


@bare
def _draw_ahead(state: np.uint64, threshold: np.uint64, symbols: int, steps: Bytes, hits: Bytes, drawn: Genes) -> None:
    """Compute what each coming draw means, as a decision on two genes and as a symbol.

    steps: the number of draws that the two genes take, 1 and one per gene that mutates. hits: bit 0 if the first gene
    mutates, bit 1 if the second does. drawn: the symbol. Vector instructions compute many draws at once.
    """
    limit, bound = np.int64(threshold), np.uint64(symbols)
    for j in range(steps.size):
        state = next_state(state)
        bits = bits_of(state)
        high = bits >> _S32
        first, second = np.int64(np.int64(bits & _LOW32) < limit), np.int64(np.int64(high) < limit)
        steps[j] = np.uint8(1 + first + second)
        hits[j] = np.uint8(first | (second << 1))
        drawn[j] = (high * bound) >> _S32


@inlined
def _mutate(
    population: Genes,
    half: int,
    c: int,
    draws_used: int,
    steps: Bytes,
    hits: Bytes,
    drawn: Genes,
    sizes: Genes,
) -> tuple[int, bool]:
    """Replace each gene by a random symbol, at the mutation rate; two genes share a draw.

    The draws are those of `_draw_ahead` that follow the used ones. No branch depends on a draw, because the processor
    could not predict it. The loop also counts the sizes of the groups, odd genes in the second half of `sizes`, so
    that two additions in a row do not wait for each other. Returns the number of draws used, and whether a gene
    changed.
    """
    n = population.shape[2]
    child, generation, at, i = np.uint64(c), np.uint64(half), np.uint64(draws_used), np.uint64(0)
    odd = np.uint32(sizes.size // 2)
    for g in range(sizes.size):
        sizes[g] = 0
    changed = np.int32(0)
    for _ in range(n // 2):
        hit = hits[at]
        first, second = np.int32(hit & _FIRST), np.int32(hit >> _FIRST)
        old, old_odd = population[generation, child, i], population[generation, child, i + _1]
        change = np.int32((old ^ drawn[at + _1]) & -first)
        change_odd = np.int32((old_odd ^ drawn[at + _1 + np.uint64(first)]) & -second)
        gene, gene_odd = np.uint32(old ^ change), np.uint32(old_odd ^ change_odd)
        population[generation, child, i] = gene
        population[generation, child, i + _1] = gene_odd
        sizes[gene] += 1
        sizes[gene_odd + odd] += 1
        changed |= change | change_odd
        at += np.uint64(steps[at])
        i += _2
    if n % 2:
        first = np.int32(hits[at] & _FIRST)
        old = population[generation, child, i]
        change = np.int32((old ^ drawn[at + _1]) & -first)
        gene = np.uint32(old ^ change)
        population[generation, child, i] = gene
        sizes[gene] += 1
        changed |= change
        at += _1 + np.uint64(first)
    return int(at), changed != 0


@bare
def _invert(population: Genes, half: int, c: int, state: Word) -> None:
    """Reverse a random stretch."""
    n = population.shape[2]
    start, end = below(state, n), below(state, n)
    start, end = min(start, end), max(start, end)
    while start < end:
        gene = population[half, c, start]
        population[half, c, start] = population[half, c, end]
        population[half, c, end] = gene
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
    """Make the first generation: `kept` chromosomes that exist already, then random candidates for the optimum."""
    chromosomes, n = population.shape[1], population.shape[2]
    symbols = n // k
    sizes = np.empty(2 * symbols, np.int32)
    place, members = np.empty(symbols, np.int64), np.empty(n, np.int64)
    least[0] = np.inf
    for c in range(chromosomes):
        if c >= kept:
            _initialise(population[0, c], k, symbols, sizes, state)
        _count_sizes(population, 0, c, sizes)
        sse[0, c] = _evaluate(population, 0, c, distances, k, sizes, place, members)
    counts[GENERATION], counts[CONVERGED], counts[EVALUATIONS], counts[HALF] = 0, 0, chromosomes, 0
    _keep_best(population, 0, sse, best, least)


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
    """Run more generations; stop early once the flag is up.

    distances: squared, between all pairs. population, sse: two halves, the present generation in counts[HALF].
    best, least: the best chromosome so far and its SSE.
    """
    chromosomes, n = population.shape[1], population.shape[2]
    symbols = n // k
    sizes = np.empty(2 * symbols, np.int32)
    place, members = np.empty(symbols, np.int64), np.empty(n, np.int64)
    wheel, guide = np.empty(chromosomes), np.empty(chromosomes, np.int64)
    threshold = np.uint64(round(mutation_rate * 4294967296.0))  # a gene mutates if 32 random bits are below
    needed = 2 * n + 2  # more draws than the mutation of a chromosome takes
    ahead = max(_AHEAD, 4 * needed)
    steps, hits, drawn = np.empty(ahead, np.uint8), np.empty(ahead, np.uint8), np.empty(ahead, np.int32)
    shares = np.empty(2**n if n <= _FEW_RECORDS and symbols <= _SETS else 0)
    _share_of_each_set(distances, k, shares, members)
    origin = state[0]
    filled = False
    for _ in range(generations):
        if flag[0] != 0:
            return
        half = counts[HALF]
        if selection == RANK:
            _rank(sse[half], wheel)
        elif selection == ROULETTE:
            _weigh(sse, half, wheel)
        if selection != TOURNAMENT:
            _turn_wheel(wheel, guide)
        for i in range(n):
            population[1 - half, 0, i] = best[i]
        sse[1 - half, 0] = least[0]
        for c in range(1, chromosomes, 2):
            a = _select(sse, half, selection, wheel, guide, state)
            b = _select(sse, half, selection, wheel, guide, state)
            pair = c + 1 < chromosomes  # without room for the second child, it is not born
            crossed = uniform(state) < crossover_rate and a != b
            _inherit(population, half, a, b, c, pair, crossed, crossover, state)
            for twin in range(2 if pair else 1):
                changed = False
                if threshold != 0:
                    at = draws_between(origin, state[0])
                    if not filled or at < 0 or at > ahead - needed:
                        origin, filled, at = state[0], True, 0
                        _draw_ahead(origin, threshold, symbols, steps, hits, drawn)
                    end, changed = _mutate(population, 1 - half, c + twin, at, steps, hits, drawn, sizes)
                    skip(state, end - at)
                elif crossed:
                    _count_sizes(population, 1 - half, c + twin, sizes)
                changed = changed or crossed
                if inversion_rate > 0.0 and uniform(state) < inversion_rate:
                    _invert(population, 1 - half, c + twin, state)
                    if not changed and threshold == 0:
                        _count_sizes(population, 1 - half, c + twin, sizes)
                    changed = True
                if changed:
                    if shares.size:
                        cost = _look_up(population, 1 - half, c + twin, shares)
                    else:
                        cost = _evaluate(population, 1 - half, c + twin, distances, k, sizes, place, members)
                    sse[1 - half, c + twin] = cost
                    counts[EVALUATIONS] += 1
                else:
                    sse[1 - half, c + twin] = sse[half, a if twin == 0 else b]
        counts[HALF] = 1 - half
        counts[GENERATION] += 1
        if _keep_best(population, 1 - half, sse, best, least):
            counts[CONVERGED] = counts[GENERATION]
