"""MDAV: both engines equal the slow twin on inputs made to tie, and every group keeps its k."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference.mdav import mdav as twin
from shoal.errors import InputError, UsageError
from shoal.protections.microaggregation.choices import ENGINES, REMAINDERS
from shoal.protections.microaggregation.methods.mdav import mdav


@st.composite
def problems(draw):
    """Values, k, weights: odd records, some with an outlier, in steps around 1e9, or in steps near underflow."""
    values, k = draw(records(most_k=6, most_times=20))
    seed = draw(st.integers(0, 2**32 - 1))
    twist = draw(st.sampled_from(["none", "outlier", "steps around 1e9", "steps near underflow"]))
    if twist == "outlier":
        values[seed % len(values)] *= 1e12
    elif twist == "steps around 1e9":
        values = 1e9 + np.round(values * 2) / 4
    elif twist == "steps near underflow":
        values = np.round(values % 4) * 5e-324 * 10.0 ** (seed % 170)
    return values, k, draw(st.sampled_from([None, some_weights(len(values), seed)]))


@settings(max_examples=400, deadline=None)
@given(problems(), st.sampled_from(REMAINDERS), st.sampled_from(["euclidean", "l1"]))
def test_engines_equal_the_twin(problem, remainder, metric):
    values, k, weights = problem
    expected = twin(values, k, weights=weights, remainder=remainder, metric=metric)
    before = values.copy()
    for engine in ENGINES:
        found = mdav(values, k, weights=weights, remainder=remainder, metric=metric, engine=engine)
        np.testing.assert_array_equal(found.labels, expected)
        if remainder != "thesis":
            found.check(k)
    np.testing.assert_array_equal(values, before)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["normal", "grid", "duplicates", "clusters", "skewed"]),
    st.sampled_from(["euclidean", "l1"]),
    st.booleans(),
)
def test_engines_agree_on_many_blocks(seed, kind, metric, weighted):
    """Large enough for several families of the tree, its regrowth, and the list around the centroid."""
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(1100, 6000)), int(rng.integers(1, 9)), int(rng.integers(2, 40))
    values = rng.normal(size=(n, d))
    if kind == "grid":
        values = rng.integers(0, 6, size=(n, d)).astype(float)
    elif kind == "duplicates":
        values = values[rng.integers(0, n // 10, size=n)]
    elif kind == "clusters":
        values = values * 0.01 + rng.integers(0, 3, size=(n, d))
    elif kind == "skewed":
        values = np.exp(3 * values)
    weights = rng.uniform(0.5, 20.0, size=n) if weighted else None
    brute = mdav(values, k, weights=weights, metric=metric, engine="brute")
    tree = mdav(values, k, weights=weights, metric=metric, engine="tree")
    np.testing.assert_array_equal(brute.labels, tree.labels)
    assert brute.facts["engine"] == "brute"
    assert tree.facts["engine"] == "tree"


def test_thesis_leaves_a_small_group_and_no_other_rule_does():
    values = np.random.default_rng(0).normal(size=(22, 3))
    assert mdav(values, 5, remainder="thesis").sizes.min() == 2
    for remainder in ("standard", "solanas", "distribute"):
        assert mdav(values, 5, remainder=remainder).sizes.min() >= 5


def test_weights_move_the_centroid():
    values = np.random.default_rng(0).normal(size=(60, 2))
    weights = np.where(values[:, 0] > 0, 50.0, 1.0)
    assert (mdav(values, 3).labels != mdav(values, 3, weights=weights).labels).any()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"k": 1}, UsageError, "k must be between 2 and 9"),
        ({"k": 10}, UsageError, "k must be between 2 and 9"),
        ({"remainder": "thesiss"}, UsageError, "Did you mean 'thesis'"),
        ({"metric": "l2"}, UsageError, "metric must be euclidean or l1"),
        ({"engine": "ball"}, UsageError, "engine must be auto, brute or tree"),
        ({"weights": np.ones(8)}, InputError, "9 weights"),
        ({"weights": np.array([1.0] * 8 + [0.0])}, InputError, "record 8"),
        ({"values": np.array([[1.0, 2.0], [3.0, np.nan]] * 2)}, InputError, "record 1, column 1"),
        ({"values": np.full((4, 1), np.inf)}, InputError, "record 0, column 0"),
        ({"values": np.zeros((2, 2, 2))}, InputError, "shape"),
    ],
)
def test_errors_say_what_is_wrong(change, error, words):
    arguments = {"values": np.arange(18.0).reshape(9, 2), "k": 3} | change
    with pytest.raises(error, match=words):
        mdav(arguments.pop("values"), arguments.pop("k"), **arguments)
