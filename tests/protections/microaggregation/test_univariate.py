"""`univariate` is the optimum of one column; more columns and weights are refused."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings

from odd_records import records
from reference.path import cut
from reference.rows import sse
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.univariate import univariate


@settings(max_examples=120, deadline=None)
@given(records(columns=1, most_n=14))
def test_equals_the_exact_optimum(case):
    values, k = case
    partition = univariate(values, k).check(k)
    assert partition.sizes.max() <= 2 * k - 1
    found, least = (
        sse(values.tolist(), [m.tolist() for m in p.members()], [1.0] * len(values))
        for p in (partition, exact(values, k))
    )
    assert found == pytest.approx(least, rel=1e-9, abs=1e-300)


@settings(max_examples=100, deadline=None)
@given(records(columns=1, most_times=12))
def test_same_groups_as_the_reference(case):
    values, k = case
    order = np.argsort(values[:, 0], kind="stable")
    _, sizes = cut(values[order].tolist(), [1.0] * len(order), k)
    expected = np.empty(len(order), dtype=int)
    expected[order] = np.repeat(np.arange(len(sizes)), sizes)
    assert {frozenset(m.tolist()) for m in univariate(values, k).members()} == {
        frozenset(np.flatnonzero(expected == g).tolist()) for g in range(len(sizes))
    }


def test_an_offset_moves_no_record():
    whole = np.random.default_rng(0).integers(0, 2**20, size=(5000, 1)) / 2.0**12  # exact at any offset below 2^32
    assert univariate(whole, 4).labels.tolist() == univariate(whole + 2.0**30, 4).labels.tolist()


def test_several_columns_are_refused_with_the_ways_out():
    with pytest.raises(UsageError, match=r"exactly one column, not 3. Name one column.*auto.*shoal group"):
        univariate(np.zeros((9, 3)), 3)


def test_has_no_weights():
    assert "weights" not in inspect.signature(univariate).parameters
