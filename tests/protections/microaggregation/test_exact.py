"""`exact` finds the least SSE of all partitions, and says when there are too many records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference.exact import least_sse
from reference.rows import sse
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.md import md
from shoal.protections.microaggregation.methods.path import path
from shoal.protections.microaggregation.methods.vmdav import vmdav
from shoal.protections.microaggregation.sums_of_squares import sse_of


@settings(max_examples=80, deadline=None)
@given(records(most_k=4, most_n=9), st.none() | st.integers(0, 1000))
def test_no_partition_is_better(case, seed):
    values, k = case
    weights = None if seed is None else some_weights(len(values), seed)
    partition = exact(values, k, weights=weights).check(k)
    assert partition.sizes.max() <= 2 * k - 1
    ones = [1.0] * len(values) if weights is None else weights
    found = sse(values.tolist(), [m.tolist() for m in partition.members()], ones)
    assert found == pytest.approx(least_sse(values, k, weights), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("k", [2, 3, 5, 8, 16])
def test_never_above_the_heuristics(k):
    values = np.random.default_rng(k).normal(size=(16, 2))
    weights = some_weights(16, k)
    least = sse_of(exact(values, k, weights=weights), values, weights)
    assert all(least <= sse_of(m(values, k, weights=weights), values, weights) * (1 + 1e-12) for m in (md, vmdav, path))


def test_beyond_twenty_records_the_optimum_is_proved_and_weights_are_refused():
    values = np.random.default_rng(0).normal(size=(24, 2))
    found = exact(values, 3)
    assert found.facts["proved"] and found.facts["gap"] == 0
    assert sse_of(found, values) <= sse_of(path(values, 3), values)
    with pytest.raises(UsageError, match="weights for at most 20 records, not 24"):
        exact(values, 3, weights=np.ones(24))


def test_underflow_cannot_hide_the_only_partition():
    """Squares here round to a few units of the smallest number: two records seem to cost more than all six."""
    values = np.array([[1.48691049], [-0.3127017], [-2.04095298], [0.3092981], [-0.6684101], [-0.54898121]]) * 1e-162
    assert exact(values, 4).labels.tolist() == [0] * 6
