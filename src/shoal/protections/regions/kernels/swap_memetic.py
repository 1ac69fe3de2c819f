"""The memetic algorithm for swaps, generation by generation (Chertov and Tavrov 2017).

An individual is a list of swaps: targets[i, j] is a record of the target group, partners[i, j] its partner and
costs[i, j] their metric. The paper's first and third columns are their regions. No operator uses a record twice, swaps
within one region, or takes more records from a region than it has. Target records and partners are numbered by region.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.randomness import below, uniform
from shoal.protections.regions.kernels.masking import metric, tau_stages

Small = NDArray[Any]
RandomState = NDArray[np.uint64]


class Records(NamedTuple):
    """The region of each target record and partner, and where the records of each region start, with the end."""

    region_of_target: Small
    region_of_partner: Small
    first_target: Ints
    first_partner: Ints


class Metrics(NamedTuple):
    """The metric of target records and partners: of the nearest ones, of all pairs, or what it is computed from."""

    nearest: Small  # [target, region]: the nearest partners, the nearest first, -1 where there are no more
    nearest_cost: Floats
    dense: Floats  # [partner, target], empty where there are too many pairs
    ordinal: Floats  # columns of the target records, then of the partners
    nominal: Small
    weights: Floats
    same: Floats
    other: Floats


class Goal(NamedTuple):
    """What makes an individual fit: little distortion, few rows, and target records per region as restricted."""

    counts: Ints  # target records per region
    offset: Floats  # the signal of a region is (count - offset) / scale
    scale: Floats
    outlying: Ints  # the outlier regions
    restriction: Floats  # the compatibility of each of them, by its count
    critical: Floats  # critical values of the tau test, by the number of regions
    worst: float  # the distortion at which nothing is left
    centre: float  # the number of rows whose penalty is one half
    tau: bool  # whether the tau test is a factor of the fitness
    upper_only: bool


class Plan(NamedTuple):
    """The sizes and rates of a run."""

    population: int
    pairs: int  # of parents per generation
    tournament: int
    generations: int
    seeds: int  # individuals that stand first and are kept as they are
    nearest_partner: float  # how often the local search changes the partner, not the target record
    crossover: float
    mutation: float
    uniform: float  # the standard deviation of the fitness below which the mutation rate rises
    boost: float  # by how much it rises
    region_sizes: Floats


class Individuals(NamedTuple):
    """The rows of every individual, their number, the sum of their costs, and the fitness."""

    targets: Small
    partners: Small
    costs: Floats
    lengths: Ints
    total: Floats
    fitness: Floats


class Used(NamedTuple):
    """The stamp of the individual that used each record last."""

    targets: Small
    partners: Small


class Room(NamedTuple):
    """Room for the fitness: the counts and signals after the swaps, and the results of the tau test."""

    counts: Ints
    values: Floats
    flags: Small
    last: Floats


_NUMBERS, _REALS, _SMALL = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int32)
_TABLE, _SMALL_TABLE = np.zeros((1, 1)), np.zeros((1, 1), np.int32)
RECORDS = Records(_SMALL, _SMALL, _NUMBERS, _NUMBERS)
METRICS = Metrics(
    np.zeros((1, 1, 1), np.int32), np.zeros((1, 1, 1)), _TABLE, _TABLE, _SMALL_TABLE, _REALS, _REALS, _REALS
)
GOAL = Goal(_NUMBERS, _REALS, _REALS, _NUMBERS, _TABLE, _REALS, 1.0, 1.0, False, False)
PLAN = Plan(1, 1, 1, 1, 0, 1.0, 1.0, 0.0, 0.0, 1.0, _REALS)
INDIVIDUALS = Individuals(_SMALL_TABLE, _SMALL_TABLE, _TABLE, _NUMBERS, _REALS, _REALS)


@inner
def _cost(target: int, partner: int, records: Records, m: Metrics) -> float:
    """Return the metric of a target record and a partner: looked up where all pairs are known, else computed."""
    if m.dense.shape[0] > 0:
        return float(m.dense[partner, target])
    return metric(m.ordinal, m.nominal, target, records.region_of_target.size + partner, m.weights, m.same, m.other)


@inner
def _free(first: int, stop: int, used: Small, stamp: int, rng: RandomState) -> int:
    """Return a random record among first..stop that is not in use, or -1."""
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
    count: int, records: Records, reach: Floats, targets: Small, partners: Small, used: Used, stamp: int,
    rng: RandomState,
) -> int:  # fmt: skip
    """Draw `count` swaps: target records at random, and regions of partners by their sizes; return their number."""
    length = 0
    for _ in range(count):
        v = _free(0, used.targets.size, used.targets, stamp, rng)
        if v < 0:
            break
        for _try in range(20):
            d = np.searchsorted(reach, uniform(rng) * reach[-1], side="right")
            d = min(d, reach.size - 1)
            if d == records.region_of_target[v]:
                continue
            u = _free(records.first_partner[d], records.first_partner[d + 1], used.partners, stamp, rng)
            if u >= 0:
                targets[length], partners[length] = v, u
                used.targets[v] = stamp
                used.partners[u] = stamp
                length += 1
                break
    return length


@inner
def _cross(
    child: int, head: int, cut: int, tail: int, start: int, g: Individuals, records: Records, used: Used, stamp: int,
    rng: RandomState,
) -> int:  # fmt: skip
    """Write the first `cut` rows of one parent, then the rows from `start` on of the other; return their number.

    A record that is met twice gives way to a free record of its region.
    """
    for i in range(cut):
        g.targets[child, i], g.partners[child, i] = g.targets[head, i], g.partners[head, i]
        used.targets[g.targets[head, i]] = stamp
        used.partners[g.partners[head, i]] = stamp
    length = cut
    for i in range(start, g.lengths[tail]):
        v, u = int(g.targets[tail, i]), int(g.partners[tail, i])
        if used.targets[v] == stamp:
            d = records.region_of_target[v]
            v = _free(records.first_target[d], records.first_target[d + 1], used.targets, stamp, rng)
        if used.partners[u] == stamp:
            d = records.region_of_partner[u]
            u = _free(records.first_partner[d], records.first_partner[d + 1], used.partners, stamp, rng)
        if v >= 0 and u >= 0:
            g.targets[child, length], g.partners[child, length] = v, u
            used.targets[v] = stamp
            used.partners[u] = stamp
            length += 1
    return length


@inner
def _exchange(
    i: int,
    j: int,
    rows: Small,
    other_rows: Small,
    region: Small,
    other_region: Small,
    first: Ints,
    used: Small,
    stamp: int,
    rng: RandomState,
) -> None:
    """Swap mutation: rows i and j exchange the regions of a column; each gets a free record of its new region."""
    one, two = rows[i], rows[j]
    a, b = region[one], region[two]
    if a == b or other_region[other_rows[i]] == b or other_region[other_rows[j]] == a:
        return
    used[one] = 0
    used[two] = 0
    rows[i] = _free(first[b], first[b + 1], used, stamp, rng)
    rows[j] = _free(first[a], first[a + 1], used, stamp, rng)
    used[rows[i]] = stamp
    used[rows[j]] = stamp


@inner
def _reset(i: int, rows: Small, region: Small, first: Ints, used: Small, stamp: int, rng: RandomState) -> None:
    """Resetting mutation: row i gets a free record of the same region."""
    d = region[rows[i]]
    used[rows[i]] = 0
    rows[i] = _free(first[d], first[d + 1], used, stamp, rng)
    used[rows[i]] = stamp


@inner
def _mutate(
    length: int, rate: float, targets: Small, partners: Small, records: Records, used: Used, stamp: int,
    rng: RandomState,
) -> None:  # fmt: skip
    """Swap mutation of the regions (columns 1 and 3), random resetting of the records (columns 2 and 4).

    Genes are mutated independently at `rate`: the gaps between mutated ones are drawn, not every gene.
    """
    if rate <= 0.0:
        return
    r = records
    gene = -1
    while True:
        gap = np.log(1.0 - uniform(rng)) / np.log(1.0 - rate) if rate < 1.0 else 0.0
        if gap >= 4 * length - gene - 1:
            return
        gene += 1 + int(gap)
        i, column = gene // 4, gene % 4
        if column == 0:
            j = below(rng, length)
            region, other_region = r.region_of_target, r.region_of_partner
            _exchange(i, j, targets, partners, region, other_region, r.first_target, used.targets, stamp, rng)
        elif column == 1:
            _reset(i, targets, r.region_of_target, r.first_target, used.targets, stamp, rng)
        elif column == 2:
            j = below(rng, length)
            region, other_region = r.region_of_partner, r.region_of_target
            _exchange(i, j, partners, targets, region, other_region, r.first_partner, used.partners, stamp, rng)
        else:
            _reset(i, partners, r.region_of_partner, r.first_partner, used.partners, stamp, rng)


@inner
def _take_nearest_partner(
    i: int, targets: Small, partners: Small, costs: Floats, records: Records, m: Metrics, used: Small, stamp: int
) -> None:
    """Give row i the free partner of its region that is nearest to its target record."""
    v, u = targets[i], partners[i]
    d = records.region_of_partner[u]
    for k in range(m.nearest.shape[2]):
        w = m.nearest[v, d, k]
        if w < 0:
            break
        if w == u or used[w] != stamp:
            used[u] = 0
            used[w] = stamp
            partners[i] = w
            costs[i] = m.nearest_cost[v, d, k]
            return
    costs[i] = _cost(v, u, records, m)


@inner
def _take_nearest_target(
    i: int, targets: Small, partners: Small, costs: Floats, records: Records, m: Metrics, used: Small, stamp: int
) -> None:
    """Give row i the free target record of its region that is nearest to its partner."""
    v, u = targets[i], partners[i]
    d = records.region_of_target[v]
    chosen = v
    if m.dense.shape[0] > 0:
        best = m.dense[u, v]
        for w in range(records.first_target[d], records.first_target[d + 1]):
            if m.dense[u, w] < best and used[w] != stamp:
                best, chosen = m.dense[u, w], w
    else:
        best = _cost(v, u, records, m)
        for w in range(records.first_target[d], records.first_target[d + 1]):
            if used[w] != stamp:
                c = _cost(w, u, records, m)
                if c < best:
                    best, chosen = c, w
    used[v] = 0
    used[chosen] = stamp
    targets[i] = chosen
    costs[i] = best


@inner
def _local_search(
    child: int, share: float, g: Individuals, records: Records, m: Metrics, used: Used, stamp: int, rng: RandomState
) -> float:
    """Give each row the nearest free partner or the nearest free target record; return the sum of the costs."""
    targets, partners, costs = g.targets[child], g.partners[child], g.costs[child]
    total = 0.0
    for i in range(g.lengths[child]):
        if uniform(rng) <= share:
            _take_nearest_partner(i, targets, partners, costs, records, m, used.partners, stamp)
        else:
            _take_nearest_target(i, targets, partners, costs, records, m, used.targets, stamp)
        total += costs[i]
    return total


@inner
def _fitness(i: int, g: Individuals, records: Records, goal: Goal, room: Room) -> float:
    """Distortion times compatibility times the penalty on rows; on request times how far the tau test is passed."""
    counts, values, last = room.counts, room.values, room.last
    length = g.lengths[i]
    copy_first(counts.size, goal.counts, counts)
    for j in range(length):
        counts[records.region_of_target[g.targets[i, j]]] -= 1
        counts[records.region_of_partner[g.partners[i, j]]] += 1
    left = max(0.0, (goal.worst - g.total[i]) / goal.worst)
    fitness = left / (1.0 + np.exp((length - goal.centre) / 2.0))
    for j in range(goal.outlying.size):
        fitness *= goal.restriction[j, counts[goal.outlying[j]]]
    if goal.tau and fitness > 0.0:
        for d in range(counts.size):
            values[d] = (counts[d] - goal.offset[d]) / goal.scale[d]
        tau_stages(values, goal.critical, goal.upper_only, room.flags, last)
        for j in range(goal.outlying.size):
            away = abs(values[goal.outlying[j]] - last[0])
            reach = last[1] * last[2]
            if room.flags[goal.outlying[j]] > 0 or (last[1] <= 0.0 and away > 0.0):
                fitness *= 0.5 * min(1.0, reach / away if last[1] > 0.0 else 0.0) + 0.25
    return float(fitness)


@inner
def _winner(size: int, alive: Ints, fitness: Floats, rng: RandomState) -> int:
    """Return the fittest of `size` random individuals."""
    best = alive[below(rng, alive.size)]
    for _ in range(size - 1):
        other = alive[below(rng, alive.size)]
        if fitness[other] > fitness[best]:
            best = other
    return int(best)


@inner
def _begin(
    records: Records, m: Metrics, goal: Goal, plan: Plan, g: Individuals, used: Used, room: Room, rng: RandomState,
    flag: Bytes,
) -> int:  # fmt: skip
    """Draw the first individuals, with a local search on each; return the last stamp. Seeds are kept as they are."""
    reach = np.cumsum(plan.region_sizes)
    stamp = 0
    for i in range(plan.population):
        if flag[0] != 0:
            break
        stamp += 1
        if i >= plan.seeds:
            rows = 1 + below(rng, max(1, int(goal.centre)))
            g.lengths[i] = _random_rows(rows, records, reach, g.targets[i], g.partners[i], used, stamp, rng)
            g.total[i] = _local_search(i, plan.nearest_partner, g, records, m, used, stamp, rng)
        else:
            g.total[i] = 0.0
            for j in range(g.lengths[i]):
                g.costs[i, j] = _cost(g.targets[i, j], g.partners[i, j], records, m)
                g.total[i] += g.costs[i, j]
        g.fitness[i] = _fitness(i, g, records, goal, room)
    return stamp


@inner
def _note_generation(alive: Ints, fitness: Floats, line: Floats) -> float:
    """Write the best fitness, the mean and the standard deviation of a generation; return the last."""
    mean = 0.0
    for i in alive:
        mean += fitness[i] / alive.size
    square = 0.0
    for i in alive:
        square += (fitness[i] - mean) ** 2 / alive.size
    line[0], line[1], line[2] = fitness[alive].max(), mean, np.sqrt(square)
    return float(line[2])


@inner
def _sort(order: Ints, g: Individuals) -> None:
    """Put the individuals into an order."""
    targets, partners, costs = g.targets[order], g.partners[order], g.costs[order]
    for i in range(order.size):
        copy_first(targets.shape[1], targets[i], g.targets[i])
        copy_first(partners.shape[1], partners[i], g.partners[i])
        copy_first(costs.shape[1], costs[i], g.costs[i])
    copy_first(order.size, g.lengths[order], g.lengths)
    copy_first(order.size, g.total[order], g.total)
    copy_first(order.size, g.fitness[order], g.fitness)


@kernel(lambda: ("void", "uint64[::1]", RECORDS, METRICS, GOAL, PLAN, INDIVIDUALS, "float64[:, ::1]", "uint8[::1]"))
def evolve(
    rng: RandomState, records: Records, m: Metrics, goal: Goal, plan: Plan, g: Individuals, trace: Floats, flag: Bytes
) -> None:
    """Do one run. The first individuals hold the result, the fittest first.

        draw `population` individuals of 1 to `centre` rows; local search on each
        each generation:
            tournaments choose pairs; cut both at random rows and exchange the tails; mutate; local search
            the fittest `population` of parents and offspring survive

    Args:
        trace: Gets the best fitness, the mean and the standard deviation of each generation.
        flag: Once it is set, the generation before is the last. Individuals that were not drawn yet have no rows.
    """
    regions = goal.counts.size
    used = Used(
        np.zeros(records.region_of_target.size, dtype=np.int32),
        np.zeros(records.region_of_partner.size, dtype=np.int32),
    )
    room = Room(np.empty(regions, np.int64), np.empty(regions), np.empty(regions, np.uint8), np.empty(4))
    stamp = _begin(records, m, goal, plan, g, used, room, rng, flag)
    order = np.arange(plan.population + 2 * plan.pairs)
    for generation in range(plan.generations):
        if flag[0] != 0:
            break
        alive, spare = order[: plan.population], order[plan.population :]
        spread = _note_generation(alive, g.fitness, trace[generation])
        rate = plan.mutation * (plan.boost if spread < plan.uniform else 1.0)
        for pair in range(plan.pairs):
            if flag[0] != 0:
                break
            one = _winner(plan.tournament, alive, g.fitness, rng)
            two = _winner(plan.tournament, alive, g.fitness, rng)
            cut_one, cut_two = below(rng, g.lengths[one] + 1), below(rng, g.lengths[two] + 1)
            if uniform(rng) >= plan.crossover:
                cut_one, cut_two = g.lengths[one], g.lengths[two]
            for twin in range(2):
                head, tail, cut, start = (one, two, cut_one, cut_two) if twin == 0 else (two, one, cut_two, cut_one)
                i = spare[2 * pair + twin]
                stamp += 1
                g.lengths[i] = _cross(i, head, cut, tail, start, g, records, used, stamp, rng)
                _mutate(g.lengths[i], rate, g.targets[i], g.partners[i], records, used, stamp, rng)
                g.total[i] = _local_search(i, plan.nearest_partner, g, records, m, used, stamp, rng)
                g.fitness[i] = _fitness(i, g, records, goal, room)
        order = np.argsort(-g.fitness, kind="mergesort")
    _sort(order, g)
