"""The memetic algorithm for swaps, generation by generation (Chertov and Tavrov 2017).

An individual is a list of swaps: rows_v[i, j] is a vital record, rows_u[i, j] its partner, rows_c[i, j] their
metric; the paper's first and third columns are their districts. No operator uses a record twice, swaps within
one district, or takes more records from a district than it has. Vital records and partners are numbered by
district: those of district d are bounds_v[d]..bounds_v[d+1] and bounds_u[d]..bounds_u[d+1].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.randomness import below, uniform
from shoal.protections.regions.kernels.masking import metric, tau_stages

Small = NDArray[Any]
State = NDArray[np.uint64]


@inner
def _cost(v: int, u: int, dense: Floats, ordinal: Floats, nominal: Small, prices: Floats) -> float:
    """The metric of a vital record and a partner: looked up where all pairs are known, else computed."""
    if dense.shape[0] > 0:
        return float(dense[u, v])
    vitals = int(prices[0, 0])
    b, a = nominal.shape[0], ordinal.shape[0]
    return metric(ordinal, nominal, v, vitals + u, prices[1, :a], prices[2, :b], prices[3, :b])


@inner
def _free(first: int, stop: int, used: Small, stamp: int, rng: State) -> int:
    """A random record among first..stop that is not in use, or -1."""
    size = stop - first
    if size <= 0:
        return -1
    for _ in range(8):
        r = first + below(rng, size)
        if used[r] != stamp:
            return int(r)
    start = below(rng, size)
    for i in range(size):
        r = first + (start + i) % size
        if used[r] != stamp:
            return int(r)
    return -1


@inner
def _random_rows(
    size: int,
    where_v: Small,
    where_u: Small,
    bounds_u: Ints,
    sizes: Floats,
    rows_v: Small,
    rows_u: Small,
    used_v: Small,
    used_u: Small,
    stamp: int,
    rng: State,
) -> int:
    """Draw `size` swaps: vital records at random (hence districts by their counts), districts by their sizes."""
    length = 0
    for _ in range(size):
        v = _free(0, used_v.size, used_v, stamp, rng)
        if v < 0:
            break
        for _try in range(20):
            d = np.searchsorted(sizes, uniform(rng) * sizes[-1], side="right")
            d = min(d, sizes.size - 1)
            if d == where_v[v]:
                continue
            u = _free(bounds_u[d], bounds_u[d + 1], used_u, stamp, rng)
            if u >= 0:
                rows_v[length], rows_u[length] = v, u
                used_v[v] = stamp
                used_u[u] = stamp
                length += 1
                break
    return length


@inner
def _cross(
    cut: int,
    from_row: int,
    stop_row: int,
    head_v: Small,
    head_u: Small,
    tail_v: Small,
    tail_u: Small,
    where_v: Small,
    where_u: Small,
    bounds_v: Ints,
    bounds_u: Ints,
    rows_v: Small,
    rows_u: Small,
    used_v: Small,
    used_u: Small,
    stamp: int,
    rng: State,
) -> int:
    """The first `cut` rows of one parent, then rows of the other; a record met twice gives way to a neighbour."""
    for i in range(cut):
        rows_v[i], rows_u[i] = head_v[i], head_u[i]
        used_v[head_v[i]] = stamp
        used_u[head_u[i]] = stamp
    length = cut
    for i in range(from_row, stop_row):
        v, u = int(tail_v[i]), int(tail_u[i])
        if used_v[v] == stamp:
            d = where_v[v]
            v = _free(bounds_v[d], bounds_v[d + 1], used_v, stamp, rng)
        if used_u[u] == stamp:
            d = where_u[u]
            u = _free(bounds_u[d], bounds_u[d + 1], used_u, stamp, rng)
        if v >= 0 and u >= 0:
            rows_v[length], rows_u[length] = v, u
            used_v[v] = stamp
            used_u[u] = stamp
            length += 1
    return length


@inner
def _exchange(
    i: int,
    j: int,
    own: Small,
    other: Small,
    own_where: Small,
    other_where: Small,
    bounds: Ints,
    used: Small,
    stamp: int,
    rng: State,
) -> None:
    """Swap mutation: rows i and j exchange the districts of a column; each gets a free record of its new district."""
    first, second = own[i], own[j]
    a, b = own_where[first], own_where[second]
    if a == b or other_where[other[i]] == b or other_where[other[j]] == a:
        return
    used[first] = 0
    used[second] = 0
    own[i] = _free(bounds[b], bounds[b + 1], used, stamp, rng)
    own[j] = _free(bounds[a], bounds[a + 1], used, stamp, rng)
    used[own[i]] = stamp
    used[own[j]] = stamp


@inner
def _mutate(
    length: int,
    rate: float,
    rows_v: Small,
    rows_u: Small,
    where_v: Small,
    where_u: Small,
    bounds_v: Ints,
    bounds_u: Ints,
    used_v: Small,
    used_u: Small,
    stamp: int,
    rng: State,
) -> None:
    """Swap mutation of the districts (columns 1 and 3), random resetting of the records (columns 2 and 4).

    Genes are mutated independently at `rate`: the gaps between mutated ones are drawn, not every gene.
    """
    if rate <= 0.0:
        return
    gene = -1
    while True:
        gap = np.log(1.0 - uniform(rng)) / np.log(1.0 - rate) if rate < 1.0 else 0.0
        if gap >= 4 * length - gene - 1:
            return
        gene += 1 + int(gap)
        i, column = gene // 4, gene % 4
        if column == 0:
            _exchange(i, below(rng, length), rows_v, rows_u, where_v, where_u, bounds_v, used_v, stamp, rng)
        elif column == 1:
            d = where_v[rows_v[i]]
            used_v[rows_v[i]] = 0
            rows_v[i] = _free(bounds_v[d], bounds_v[d + 1], used_v, stamp, rng)
            used_v[rows_v[i]] = stamp
        elif column == 2:
            _exchange(i, below(rng, length), rows_u, rows_v, where_u, where_v, bounds_u, used_u, stamp, rng)
        else:
            d = where_u[rows_u[i]]
            used_u[rows_u[i]] = 0
            rows_u[i] = _free(bounds_u[d], bounds_u[d + 1], used_u, stamp, rng)
            used_u[rows_u[i]] = stamp


@inner
def _local_search(
    length: int,
    share: float,
    rows_v: Small,
    rows_u: Small,
    rows_c: Floats,
    where_v: Small,
    where_u: Small,
    bounds_v: Ints,
    who: Small,
    near: Floats,
    dense: Floats,
    ordinal: Floats,
    nominal: Small,
    prices: Floats,
    used_v: Small,
    used_u: Small,
    stamp: int,
    rng: State,
) -> float:
    """For each row: the free partner nearest to its vital record, or the free vital record nearest to its partner."""
    total = 0.0
    for i in range(length):
        v, u = rows_v[i], rows_u[i]
        found = False
        if uniform(rng) <= share:
            d = where_u[u]
            for k in range(who.shape[2]):
                w = who[v, d, k]
                if w < 0:
                    break
                if w == u or used_u[w] != stamp:
                    used_u[u] = 0
                    used_u[w] = stamp
                    rows_u[i] = w
                    rows_c[i] = near[v, d, k]
                    found = True
                    break
        else:
            d = where_v[v]
            chosen = v
            if dense.shape[0] > 0:
                best = dense[u, v]
                for w in range(bounds_v[d], bounds_v[d + 1]):
                    if dense[u, w] < best and used_v[w] != stamp:
                        best, chosen = dense[u, w], w
            else:
                best = _cost(v, u, dense, ordinal, nominal, prices)
                for w in range(bounds_v[d], bounds_v[d + 1]):
                    if used_v[w] != stamp:
                        c = _cost(w, u, dense, ordinal, nominal, prices)
                        if c < best:
                            best, chosen = c, w
            used_v[v] = 0
            used_v[chosen] = stamp
            rows_v[i] = chosen
            rows_c[i] = best
            found = True
        if not found:
            rows_c[i] = _cost(v, u, dense, ordinal, nominal, prices)
        total += rows_c[i]
    return total


@inner
def _fitness(
    length: int,
    total: float,
    rows_v: Small,
    rows_u: Small,
    where_v: Small,
    where_u: Small,
    counts: Ints,
    offset: Floats,
    scale: Floats,
    outlying: Ints,
    restriction: Floats,
    critical: Floats,
    settings: Floats,
    now: Ints,
    values: Floats,
    flags: Small,
    last: Floats,
) -> float:
    """Distortion times compatibility times the penalty on rows; on request times how far the tau test is passed."""
    worst, centre, tau, upper_only = settings[0], settings[1], settings[7], settings[8]
    copy_first(now.size, counts, now)
    for i in range(length):
        now[where_v[rows_v[i]]] -= 1
        now[where_u[rows_u[i]]] += 1
    fitness = max(0.0, (worst - total) / worst) / (1.0 + np.exp((length - centre) / 2.0))
    for i in range(outlying.size):
        fitness *= restriction[i, now[outlying[i]]]
    if tau > 0.0 and fitness > 0.0:
        for d in range(now.size):
            values[d] = (now[d] - offset[d]) / scale[d]
        tau_stages(values, critical, upper_only > 0.0, flags, last)
        for i in range(outlying.size):
            away = abs(values[outlying[i]] - last[0])
            reach = last[1] * last[2]
            if flags[outlying[i]] > 0 or (last[1] <= 0.0 and away > 0.0):
                fitness *= 0.5 * min(1.0, reach / away if last[1] > 0.0 else 0.0) + 0.25
    return float(fitness)


@inner
def _winner(size: int, alive: Ints, fitness: Floats, rng: State) -> int:
    """The fittest of `size` random individuals."""
    best = alive[below(rng, alive.size)]
    for _ in range(size - 1):
        other = alive[below(rng, alive.size)]
        if fitness[other] > fitness[best]:
            best = other
    return int(best)


@kernel(
    "void(u8[::1], i8[::1], f8[::1], i4[::1], i4[::1], i8[::1], i8[::1], i4[:,:,::1], f8[:,:,::1], f8[:,::1],"
    "f8[:,::1], i4[:,::1], f8[:,::1], i8[::1], f8[:,::1], i8[::1], f8[:,::1], f8[::1], i4[:,::1], i4[:,::1],"
    "f8[:,::1], i8[::1], f8[::1], f8[::1], f8[:,::1], u1[::1])"
)
def evolve(
    rng: State,
    sizes: Ints,
    settings: Floats,
    where_v: Small,
    where_u: Small,
    bounds_v: Ints,
    bounds_u: Ints,
    who: Small,
    near: Floats,
    dense: Floats,
    ordinal: Floats,
    nominal: Small,
    prices: Floats,
    counts: Ints,
    shape: Floats,
    outlying: Ints,
    restriction: Floats,
    critical: Floats,
    rows_v: Small,
    rows_u: Small,
    rows_c: Floats,
    lengths: Ints,
    total: Floats,
    fitness: Floats,
    trace: Floats,
    flag: Bytes,
) -> None:
    """One run. The first `mu` individuals hold the result, the fittest first; `trace` gets best, mean and deviation.

    sizes: mu, pairs of parents, tournament, generations, individuals given (they stand first and are kept as they
    are). settings: worst, centre, p_mem, p_cross, p_mutation, deviation below which it rises, by how much, tau, side.

        draw mu individuals of 1 to `centre` rows; local search on each
        each generation:
            tournaments choose pairs; cut both at random rows and exchange the tails; mutate; local search
            the fittest mu of parents and offspring live on
    Once the flag is up, the generation before is the last; individuals that were not drawn yet have no rows.
    """
    mu, pairs, tournament, generations, given = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]
    m = counts.size
    used_v = np.zeros(where_v.size, dtype=np.int32)
    used_u = np.zeros(where_u.size, dtype=np.int32)
    reach = np.cumsum(shape[2])
    now, values = np.empty(m, dtype=np.int64), np.empty(m)
    flags, last = np.empty(m, dtype=np.uint8), np.empty(4)
    stamp = 0
    for i in range(mu):
        if flag[0] != 0:
            break
        stamp += 1
        if i >= given:
            rows = 1 + below(rng, max(1, int(settings[1])))
            lengths[i] = _random_rows(
                rows, where_v, where_u, bounds_u, reach, rows_v[i], rows_u[i], used_v, used_u, stamp, rng
            )
            total[i] = _local_search(
                lengths[i], settings[2], rows_v[i], rows_u[i], rows_c[i], where_v, where_u, bounds_v,
                who, near, dense, ordinal, nominal, prices, used_v, used_u, stamp, rng,
            )  # fmt: skip
        else:
            total[i] = 0.0
            for j in range(lengths[i]):
                rows_c[i, j] = _cost(rows_v[i, j], rows_u[i, j], dense, ordinal, nominal, prices)
                total[i] += rows_c[i, j]
        fitness[i] = _fitness(
            lengths[i], total[i], rows_v[i], rows_u[i], where_v, where_u, counts, shape[0], shape[1],
            outlying, restriction, critical, settings, now, values, flags, last,
        )  # fmt: skip
    order = np.arange(mu + 2 * pairs)
    for generation in range(generations):
        if flag[0] != 0:
            break
        alive, spare = order[:mu], order[mu:]
        mean = 0.0
        for i in alive:
            mean += fitness[i] / mu
        square = 0.0
        for i in alive:
            square += (fitness[i] - mean) ** 2 / mu
        trace[generation, 0], trace[generation, 1], trace[generation, 2] = fitness[alive].max(), mean, np.sqrt(square)
        rate = settings[4] * (settings[6] if np.sqrt(square) < settings[5] else 1.0)
        for pair in range(pairs):
            if flag[0] != 0:
                break
            one, two = _winner(tournament, alive, fitness, rng), _winner(tournament, alive, fitness, rng)
            cut_one, cut_two = below(rng, lengths[one] + 1), below(rng, lengths[two] + 1)
            if uniform(rng) >= settings[3]:
                cut_one, cut_two = lengths[one], lengths[two]
            for child in range(2):
                head, tail, cut, start = (one, two, cut_one, cut_two) if child == 0 else (two, one, cut_two, cut_one)
                i = spare[2 * pair + child]
                stamp += 1
                lengths[i] = _cross(
                    cut, start, lengths[tail], rows_v[head], rows_u[head], rows_v[tail], rows_u[tail],
                    where_v, where_u, bounds_v, bounds_u, rows_v[i], rows_u[i], used_v, used_u, stamp, rng,
                )  # fmt: skip
                _mutate(
                    lengths[i], rate, rows_v[i], rows_u[i], where_v, where_u, bounds_v, bounds_u,
                    used_v, used_u, stamp, rng,
                )  # fmt: skip
                total[i] = _local_search(
                    lengths[i], settings[2], rows_v[i], rows_u[i], rows_c[i], where_v, where_u, bounds_v,
                    who, near, dense, ordinal, nominal, prices, used_v, used_u, stamp, rng,
                )  # fmt: skip
                fitness[i] = _fitness(
                    lengths[i], total[i], rows_v[i], rows_u[i], where_v, where_u, counts, shape[0], shape[1],
                    outlying, restriction, critical, settings, now, values, flags, last,
                )  # fmt: skip
        order = np.argsort(-fitness, kind="mergesort")
    ordered_v, ordered_u, ordered_c = rows_v[order], rows_u[order], rows_c[order]
    for i in range(order.size):
        copy_first(rows_v.shape[1], ordered_v[i], rows_v[i])
        copy_first(rows_u.shape[1], ordered_u[i], rows_u[i])
        copy_first(rows_c.shape[1], ordered_c[i], rows_c[i])
    copy_first(order.size, lengths[order], lengths)
    copy_first(order.size, total[order], total)
    copy_first(order.size, fitness[order], fitness)
