"""Every classical method refuses arrays that it cannot use, and says why."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.errors import InputError, UsageError
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.md import md
from shoal.protections.microaggregation.methods.mst import mst
from shoal.protections.microaggregation.methods.path import path
from shoal.protections.microaggregation.methods.univariate import univariate
from shoal.protections.microaggregation.methods.vmdav import vmdav

WEIGHTED = [md, vmdav, mst, path, exact]
ALL = [*WEIGHTED, univariate]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 1e151])
def test_values_that_are_not_numbers_are_named(method, wrong):
    values = np.zeros((9, 1))
    values[4, 0] = wrong
    with pytest.raises(InputError, match=r"record 4, column 0 \(counted from 0\)"):
        method(values, 3)


@pytest.mark.parametrize("method", ALL)
def test_k_is_checked(method):
    with pytest.raises(UsageError, match="k must be between 2 and 9"):
        method(np.zeros((9, 1)), 1)
    with pytest.raises(UsageError, match="k must be between 2 and 9"):
        method(np.zeros((9, 1)), 10)


@pytest.mark.parametrize("method", WEIGHTED)
def test_weights_are_checked(method):
    values = np.zeros((9, 1))
    with pytest.raises(InputError, match="There must be 9 weights"):
        method(values, 3, weights=np.ones(8))
    for wrong in (0.0, -1.0, np.nan, np.inf):
        weights = np.ones(9)
        weights[2] = wrong
        with pytest.raises(InputError, match="Weights must be positive numbers, but that of record 2"):
            method(values, 3, weights=weights)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_than_2k_records_are_one_group(method, n):
    values = np.arange(n, dtype=float)[:, None]
    assert method(values, 3).labels.tolist() == [0] * n


@pytest.mark.parametrize("method", WEIGHTED)
def test_values_and_weights_at_the_limit_still_give_groups_of_k(method):
    """Sums that overflow must not let a kernel run on for ever."""
    rng = np.random.default_rng(3)
    values = rng.choice([-1e150, 0.0, 1e150], size=(14, 3))
    with np.errstate(over="ignore"):
        method(values, 3, weights=rng.choice([1e-150, 1.0, 1e150], size=14)).check(3)
