"""MSTP's tree is a minimum spanning tree, and its groups equal those of its definition, on odd records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from odd_records import records, some_weights
from reference.mst import mst as slow
from shoal.engine.control import Control
from shoal.protections.microaggregation.kernels.nearest_next import visit
from shoal.protections.microaggregation.methods.mst import mst


@settings(max_examples=120, deadline=None)
@given(records(most_times=5), st.booleans(), st.none() | st.integers(0, 1000))
def test_same_groups_as_the_reference(case, split, seed):
    values, k = case
    weights = None if seed is None else some_weights(len(values), seed)
    partition = mst(values, k, split=split, weights=weights).check(k)
    assert partition.labels.tolist() == slow(values, k, split, weights)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (50, 2), (700, 3)])
def test_the_tree_weighs_as_much_as_scipys(n, d):
    values = np.random.default_rng(n).normal(size=(n, d))
    order, link, squares = visit(values, 0, True, Control().flag)
    assert np.sqrt(squares).sum() == pytest.approx(minimum_spanning_tree(squareform(pdist(values))).sum(), rel=1e-12)
    step = np.argsort(order)
    assert link[0] == -1
    assert all(step[link[row]] < step[row] for row in range(1, n))


def test_split_leaves_no_group_of_2k_or_more():
    values = np.random.default_rng(4).normal(size=(400, 2))
    assert mst(values, 3, split=False).sizes.max() >= 6
    assert mst(values, 3).sizes.max() <= 5


def test_far_clusters_become_groups():
    values = np.array([[0.0], [0.1], [0.2], [0.25], [9.0], [9.1], [9.2], [20.0], [20.1], [20.2], [20.3]])
    assert mst(values, 3, split=False).labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_a_long_thin_tree_is_cut_all_the_same():
    """The deepest tree there is: a chain, whose edges grow with the row."""
    values = np.cumsum(np.arange(1.0, 3001.0))[:, None]
    sizes = mst(values, 3, split=False).sizes
    assert sizes.min() >= 3
    assert sizes.max() <= 5
