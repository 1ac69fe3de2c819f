"""V-MDAV's groups equal those of its definition, on odd records; gamma is checked and chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference.vmdav import vmdav as slow
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.vmdav import GAMMAS, vmdav
from shoal.protections.microaggregation.sums_of_squares import sse_of


@settings(max_examples=150, deadline=None)
@given(records(), st.sampled_from([0.0, 0.2, 0.5, 1.0, 1.1, 3.0]), st.none() | st.integers(0, 1000))
def test_same_groups_as_the_reference(case, gamma, seed):
    values, k = case
    weights = None if seed is None else some_weights(len(values), seed)
    partition = vmdav(values, k, gamma=gamma, weights=weights).check(k)
    assert partition.labels.tolist() == slow(values, k, gamma, weights)


def test_gamma_zero_keeps_groups_at_k_where_k_divides_n():
    values = np.random.default_rng(1).normal(size=(60, 3))
    assert set(vmdav(values, 5, gamma=0).sizes.tolist()) == {5}


def test_a_cluster_of_k_plus_one_is_kept_together():
    values = np.array([[0.0], [0.1], [0.2], [0.3], [50.0], [50.1], [50.2], [100.0], [100.1], [100.2]])
    assert vmdav(values, 3, gamma=1.1).labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_auto_takes_the_gamma_with_the_least_sse():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 2))[rng.integers(0, 40, size=200)] + 0.01 * rng.normal(size=(200, 2))
    best = vmdav(values, 3)
    losses = {gamma: sse_of(vmdav(values, 3, gamma=gamma), values) for gamma in GAMMAS}
    assert sse_of(best, values) == min(losses.values()) < losses[0.0]
    assert losses[best.facts["gamma"]] == min(losses.values())


@pytest.mark.parametrize("gamma", [-0.1, "much", float("nan"), float("inf"), None])
def test_a_gamma_that_means_nothing_is_refused(gamma):
    with pytest.raises(UsageError, match="gamma must be 'auto' or a number from 0"):
        vmdav(np.zeros((6, 1)), 3, gamma=gamma)


def test_gamma_may_come_as_text():
    values = np.random.default_rng(3).normal(size=(20, 2))
    assert vmdav(values, 3, gamma="0.5").facts == {"gamma": 0.5}
