"""Bounds are never above the optimum, pricing equals enumeration, and `proved` is said only where it holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records
from reference import search as naive
from shoal.errors import UsageError
from shoal.kernels.groups import padded
from shoal.kernels.pricing import Found, price
from shoal.partition.bounds import prove
from shoal.partition.mdav import mdav
from shoal.partition.neighbours import neighbour_lists
from shoal.partition.partition import KPartition
from shoal.partition.refine import refine


def near_sums(x, k):
    _, far = neighbour_lists(x, 2 * k)
    sums = np.hstack([np.zeros((len(x), 1)), np.cumsum(far, axis=1)])
    return np.ascontiguousarray(np.pad(sums, ((0, 0), (0, 2 * k)), mode="edge")[:, : 2 * k])


@settings(max_examples=40)
@given(st.integers(2, 3), st.integers(6, 10), st.integers(0, 2**31), st.sampled_from([5, 40, 10**6]))
def test_pricing_equals_enumeration(k, n, seed, nodes):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, size=(n, 2)).astype(float)
    duals = rng.exponential(2.0, size=n)
    x = padded(values)
    lowest, found = np.zeros(n), Found(np.empty((400, 2 * k - 1), np.int32), np.zeros(1, np.int64))
    cut_short = price(x, duals, near_sums(x, k), k, 0.0, True, nodes, 0, n, lowest, found)
    expected = np.array([naive.least_reduced_cost(values, duals, k, i) for i in range(n)])
    assert (lowest <= expected + 1e-9).all()
    if not cut_short:
        np.testing.assert_allclose(lowest, expected, atol=1e-9)


@settings(max_examples=25)
@given(records(most_k=3, most_n=9))
def test_bound_is_below_the_optimum_and_proved_is_the_optimum(case):
    values, k = case
    values = values - values.mean(axis=0)
    best = naive.least_sse(values, k)
    for start in (mdav(values, k), KPartition(np.zeros(len(values), dtype=np.int64))):
        found = prove(values, k, start, seconds=None)
        scale = naive.sse(values, np.zeros(len(values)))
        assert found.sizes.min() >= k
        assert found.facts["lower_bound"] <= best + 1e-9 * scale
        if found.facts["proved"]:
            assert found.sse(values) == pytest.approx(best, rel=1e-8, abs=1e-11 * scale)


def test_a_small_file_is_proved_and_a_stopped_run_says_nothing():
    values = np.random.default_rng(4).normal(size=(40, 2))
    start = refine(values, 3, mdav(values, 3))
    done = prove(values, 3, start, seconds=None)
    assert done.facts["proved"] and done.facts["gap"] == 0.0
    assert done.sse(values) <= start.sse(values)
    early = prove(values, 3, start, seconds=0.0)
    assert early.facts["stopped"] and not early.facts["proved"]
    assert 0 < early.facts["lower_bound"] <= done.sse(values)


def test_too_many_records_are_refused():
    with pytest.raises(UsageError, match="at most"):
        prove(np.zeros((6003, 1)), 3, KPartition(np.arange(6003) // 3))
