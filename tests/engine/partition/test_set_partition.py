"""Recombination of groups: the best partition of a pool, against all of them; pools by region."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from shoal.engine.partition import recombine as recombine_module
from shoal.engine.partition.recombine import Recombination, SolverLimits, recombine, relax
from shoal.engine.partition.search.memetic import cross, regions
from shoal.engine.partition.set_partition import Pool, SetPartitioning, reduced_costs
from shoal.engine.partition.space import search_space
from shoal.protections.microaggregation.squared_error import SquaredError


def cost(values, rows, weights):
    w = np.ones(len(rows)) if weights is None else weights[rows]
    centre = (w[:, None] * values[rows]).sum(axis=0) / w.sum()
    return float((w * ((values[rows] - centre) ** 2).sum(axis=1)).sum())


def least_cover(groups, costs, left):
    """The least cost of disjoint groups that hold all of `left`, by trying every one with its first record."""
    if not left:
        return 0.0
    first = min(left)
    rests = [(c, left - g) for g, c in zip(groups, costs, strict=True) if first in g and g <= left]
    return min((c + least_cover(groups, costs, rest) for c, rest in rests), default=np.inf)


def random_partitions(n, k, count, rng):
    return [rng.permutation(np.arange(n) % (n // k)) for _ in range(count)]


@settings(max_examples=40)
@given(records(least_k=2, most_k=3, most_times=5), st.integers(0, 2**31))
def test_the_best_partition_of_a_small_pool_is_found(case, seed):
    values, k = case
    n, rng = len(values), np.random.default_rng(seed)
    weights = some_weights(n, seed) if seed % 2 else None
    pool = Pool(SquaredError(values, k, weights))
    partitions = random_partitions(n, k, 6, rng)
    for labels in partitions:
        pool.add_labels(labels)
        pool.add([np.flatnonzero(labels == 0)])  # known already
    for _ in range(n // k - 1):
        pool.add([rng.permutation(n)[:k]])
    known = partitions[0]
    found = recombine(pool, Recombination(known), SolverLimits(10**9, 10**9)).best
    groups = [set(map(int, rows)) for rows in pool.groups]
    costs = [cost(values, rows, weights) for rows in pool.groups]
    assert len({frozenset(g) for g in groups}) == len(groups)
    own = [set(map(int, np.flatnonzero(found == g))) for g in np.unique(found)]
    assert all(g in groups for g in own)
    slack = 1e-7 * sum(costs) + 1e-12 * float((values**2).sum()) + 1e-300  # the solver's, and rounding of the centroids
    loss = sum(cost(values, np.array(sorted(g)), weights) for g in own)
    assert loss <= least_cover(groups, costs, frozenset(range(n))) + slack


def test_a_programme_with_much_work_is_the_last_and_never_worse():
    values = np.random.default_rng(1).normal(size=(60, 3))
    pool = Pool(SquaredError(values, 3))
    partitions = random_partitions(60, 3, 30, np.random.default_rng(2))
    for labels in partitions:
        pool.add_labels(labels)
    before = sum(pool.costs[c] for c in pool.columns(partitions[0]))
    short, cut, long = (
        recombine(pool, Recombination(partitions[0]), SolverLimits(*limits)).best
        for limits in ((-1, 10**9), (10**9, 0), (10**9, 10**9))
    )
    losses = [sum(pool.costs[c] for c in pool.columns(labels)) for labels in (short, cut, long)]
    assert losses[2] <= min(losses) and max(losses) <= before
    again = recombine(pool, Recombination(partitions[0]), SolverLimits(10**9, 0))  # work is counted, not time
    np.testing.assert_array_equal(cut, again.best)


def all_variants(group, near, k):
    """A group with one record less, one more, or one for another, as sets: the slow twin of the kernel's."""
    others = {int(j) for i in group for j in near[i] if j >= 0} - set(group)
    found = [set(group) - {i} for i in group] + [set(group) | {j} for j in others]
    found += [(set(group) - {i}) | {j} for i in group for j in others]
    return {frozenset(g) for g in found if k <= len(g) < 2 * k}


@settings(max_examples=40)
@given(records(least_k=2, most_k=4, most_times=6), st.integers(0, 2**31))
def test_variants_are_those_of_a_slow_twin(case, seed):
    values, k = case
    n, rng = len(values), np.random.default_rng(seed)
    weights = some_weights(n, seed) if seed % 2 else np.ones(n)
    space = search_space(SquaredError(values, k, weights))
    near = np.where(rng.random(space.near.shape) < 0.2, -1, space.near).astype(np.int32)
    labels = rng.permutation(np.arange(n) % (n // k))
    pool = Pool(SquaredError(values, k, weights))
    pool.add_labels(labels)
    duals = rng.normal(size=n) * np.mean(pool.costs)
    limit, slack = (
        float(rng.normal()) * np.mean(pool.costs),
        1e-9 * float((space.loss.weights[:, None] * space.loss.records**2).sum())
        + 1e-12 * float((values**2).sum())
        + 1e-300,
    )
    found = pool.loss.variants(pool.groups, near, duals, limit, 1000)
    twin = {}
    for rows in pool.groups:
        for group in all_variants(rows.tolist(), near, k):
            members = np.array(sorted(group))
            twin[group] = cost(values, members, weights) - duals[members].sum()
    kept = {frozenset(rows.tolist()) for rows in found}
    assert all(twin[group] < limit + slack for group in kept)
    assert all(group in kept for group, reduced in twin.items() if reduced < limit - slack)
    best = pool.loss.variants(pool.groups[:1], near, duals, np.inf, 1)
    first = [twin[group] for group in all_variants(pool.groups[0].tolist(), near, k)]
    if first:
        assert twin[frozenset(best[0].tolist())] <= min(first) + slack


def test_looking_around_leaves_no_cheap_group_and_never_worsens(monkeypatch):
    values = np.random.default_rng(8).normal(size=(90, 2))
    space = search_space(SquaredError(values, 3))
    near = space.near
    known = np.arange(90) % 30
    pool = Pool(SquaredError(values, 3))
    pool.add_labels(known)
    before = sum(pool.costs)
    monkeypatch.setattr(recombine_module, "WORK", 10**6)
    monkeypatch.setattr(recombine_module, "VARIANTS_PER_GROUP", 10**4)
    relaxed = SetPartitioning(pool, 90).duals()
    masters = []
    monkeypatch.setattr(
        recombine_module, "SetPartitioning", lambda *told: masters.append(SetPartitioning(*told)) or masters[-1]
    )
    state = Recombination(known)
    while state.width is None:
        state = relax(pool, state, near)
    assert state.bound < relaxed[0] == before
    assert state.cuts
    assert all(3 <= rows.size <= 5 for rows in pool.groups)
    in_use = np.flatnonzero(masters[-1].shares > 1e-9)
    like = Pool(SquaredError(values, 3))
    like.add(pool.loss.variants([pool.groups[c] for c in in_use], near, state.duals[:90], np.inf, 10_000))
    assert reduced_costs(like, state.duals, state.cuts).min() >= -1e-6 * state.bound
    found = recombine(pool, Recombination(known), SolverLimits(2_000, 50), near).best
    loss = sum(cost(values, np.flatnonzero(found == g), None) for g in np.unique(found))
    assert state.bound <= loss * (1 + 1e-9)
    assert loss < 0.2 * before
    stopped = Pool(SquaredError(values, 3))
    at_once = recombine(stopped, Recombination(known), SolverLimits(2_000, 50), near, lambda state: False)
    assert not at_once.finished and len(stopped.groups) < len(pool.groups)
    assert sum(stopped.costs[c] for c in stopped.columns(at_once.best)) <= before * (1 + 1e-12)


def test_a_recombination_goes_on_from_any_step_to_the_same_result(monkeypatch):
    monkeypatch.setattr(recombine_module, "WORK", 100)
    values = np.random.default_rng(5).normal(size=(120, 3))
    space = search_space(SquaredError(values, 3))
    near = space.near
    known, limits = np.arange(120) % 40, SolverLimits(2_000, 50, wider=1.3)
    steps = []
    whole = recombine(
        Pool(SquaredError(values, 3)), Recombination(known), limits, near, lambda state: steps.append(state) or True
    )
    assert whole.finished and sum(state.rounds for state in steps) > 3 and steps[-2].width > steps[-3].width
    for state in steps:
        kept = json.loads(json.dumps(state._asdict(), default=np.ndarray.tolist))  # as a checkpoint does
        again = recombine(Pool(SquaredError(values, 3)), Recombination(**kept), limits, near)
        np.testing.assert_array_equal(again.best, whole.best)
        assert [list(rows) for rows in again.groups] == [list(rows) for rows in whole.groups]
        assert (again.bound, again.width) == (whole.bound, whole.width)


@settings(max_examples=40)
@given(records(least_k=2, most_k=3, most_times=12), st.integers(0, 2**31))
def test_a_cross_takes_the_cheaper_groups_of_every_island(case, seed):
    values, k = case
    n, rng = len(values), np.random.default_rng(seed)
    weights = some_weights(n, seed) if seed % 2 else None
    space = search_space(SquaredError(values, k, weights))
    one = (np.arange(n) % (n // k)).astype(np.int32)
    other = one.copy()
    for _ in range(3):  # records of a few groups change places
        i, j = rng.integers(n, size=2)
        other[[i, j]] = other[[j, i]]
    child = cross(space, one, other)
    # The slow twin: islands grown record by record, each with the cheaper side's groups.
    expected, left = 0.0, set(range(n))
    while left:
        island, grown = {min(left)}, set()
        while island != grown:
            grown = set(island)
            island |= {i for i in range(n) for j in grown if one[i] == one[j] or other[i] == other[j]}
        left -= island
        rows = np.array(sorted(island))
        sides = [sum(cost(values, rows[p[rows] == g], weights) for g in set(p[rows])) for p in (one, other)]
        expected += min(sides)
        assert any(same_groups(child[rows], p[rows]) for p in (one, other))
    loss = sum(cost(values, np.flatnonzero(child == g), weights) for g in set(child))
    slack = 1e-9 * expected + n * space.smallest_gain + 1e-12 * float((values**2).sum()) + 1e-300
    assert abs(loss - expected) <= slack


def same_groups(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_pools_by_region_hold_the_groups_inside():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 2))
    pool = Pool(SquaredError(values, 3))
    for labels in random_partitions(40, 4, 5, rng):
        pool.add_labels(labels)
    region = np.arange(40) % 2
    pool.add([np.arange(0, 10, 2), np.arange(1, 13, 2), np.array([0, 1, 2])])
    inside = pool.within(region)
    for r, part in enumerate(inside):
        rows = np.flatnonzero(region == r)
        kept = {tuple(rows[g]) for g in part.groups}
        assert kept == {tuple(g) for g in pool.groups if (region[g] == r).all()} and kept
        np.testing.assert_allclose(part.costs, [cost(values[rows], g, None) for g in part.groups], rtol=1e-12)


def test_regions_keep_groups_whole_and_are_about_equal(monkeypatch):
    monkeypatch.setattr("shoal.engine.partition.search.memetic.REGION", 100)
    values = np.random.default_rng(4).normal(size=(600, 3))
    space = search_space(SquaredError(values, 4))
    labels = (np.arange(600) % 150).astype(np.int32)
    region = regions(space, labels, 7)
    assert set(region) == set(range(6))
    assert all(np.unique(region[labels == g]).size == 1 for g in range(150))
    assert np.bincount(region).min() >= 90
    np.testing.assert_array_equal(region, regions(space, labels, 7))
