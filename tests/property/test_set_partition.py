"""Recombination of groups: the best partition of a pool, against all of them; pools by region."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from shoal.partition.memetic import cross, regions
from shoal.partition.set_partition import Pool, recombine
from shoal.partition.space import survey


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
    pool = Pool(values, weights)
    partitions = random_partitions(n, k, 6, rng)
    for labels in partitions:
        pool.add_labels(labels)
        pool.add([np.flatnonzero(labels == 0)])  # known already
    for _ in range(n // k - 1):
        pool.add([rng.permutation(n)[:k]])
    known = partitions[0]
    found = recombine(pool, known, iterations=10**9, looks=10**9)
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
    pool = Pool(values)
    partitions = random_partitions(60, 3, 30, np.random.default_rng(2))
    for labels in partitions:
        pool.add_labels(labels)
    before = sum(pool.costs[c] for c in pool.columns(partitions[0]))
    short, cut, long = (recombine(pool, partitions[0], *limits) for limits in ((-1, 10**9), (10**9, 0), (10**9, 10**9)))
    losses = [sum(pool.costs[c] for c in pool.columns(labels)) for labels in (short, cut, long)]
    assert losses[2] <= min(losses) and max(losses) <= before
    np.testing.assert_array_equal(cut, recombine(pool, partitions[0], 10**9, 0))  # work is counted, not time


@settings(max_examples=40)
@given(records(least_k=2, most_k=3, most_times=12), st.integers(0, 2**31))
def test_a_cross_takes_the_cheaper_groups_of_every_island(case, seed):
    values, k = case
    n, rng = len(values), np.random.default_rng(seed)
    weights = some_weights(n, seed) if seed % 2 else None
    space = survey(values, k, weights)
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
    slack = 1e-9 * expected + n * space.least + 1e-12 * float((values**2).sum()) + 1e-300
    assert abs(loss - expected) <= slack


def same_groups(one, other):
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def test_pools_by_region_hold_the_groups_inside():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 2))
    pool = Pool(values)
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
    monkeypatch.setattr("shoal.partition.memetic.REGION", 100)
    values = np.random.default_rng(4).normal(size=(600, 3))
    space = survey(values, 4)
    labels = (np.arange(600) % 150).astype(np.int32)
    region = regions(space, labels, 7)
    assert set(region) == set(range(6))
    assert all(np.unique(region[labels == g]).size == 1 for g in range(150))
    assert np.bincount(region).min() >= 90
    np.testing.assert_array_equal(region, regions(space, labels, 7))
