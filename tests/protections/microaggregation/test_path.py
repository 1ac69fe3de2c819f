"""The path method: orders as defined, cuts as good as the best of all cuts, tours that no move shortens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference.path import (
    all_cuts,
    cut,
    labels_by_sizes,
    nearest_order,
    neighbours,
    spread,
    tour_length,
    tours_one_move_away,
    walk_through,
)
from reference.rows import squared, sse
from shoal.engine.control import Control
from shoal.errors import UsageError
from shoal.protections.microaggregation import microaggregate
from shoal.protections.microaggregation.kernels.cut import optimal_cut
from shoal.protections.microaggregation.kernels.nearest_next import visit
from shoal.protections.microaggregation.kernels.path import walk_through as walk_through_kernel
from shoal.protections.microaggregation.kernels.tour import neighbours as neighbours_kernel
from shoal.protections.microaggregation.kernels.tour import shorten
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.methods.path import path
from shoal.protections.microaggregation.sums_of_squares import sse_of

weight_seeds = st.none() | st.integers(0, 1000)


def weights_for(values, seed):
    return np.ones(len(values)) if seed is None else some_weights(len(values), seed)


@settings(max_examples=100, deadline=None)
@given(records(), weight_seeds)
def test_cut_has_the_same_groups_as_the_reference(case, seed):
    values, k = case
    weights = weights_for(values, seed)
    _, sizes = cut(values.tolist(), weights.tolist(), k)
    assert np.bincount(optimal_cut(values, weights, k)).tolist() == sizes


@settings(max_examples=60, deadline=None)
@given(records(most_k=3, most_n=12), weight_seeds)
def test_no_cut_of_the_order_is_better(case, seed):
    values, k = case
    points, weights = values.tolist(), weights_for(values, seed)
    labels = optimal_cut(values, weights, k)

    def cost(sizes):
        bounds = np.cumsum([0, *sizes])
        return sse(points, [list(range(a, b)) for a, b in pairwise(bounds)], weights)

    least = min(cost(sizes) for sizes in all_cuts(len(values), k))
    assert cost(np.bincount(labels).tolist()) == pytest.approx(least, rel=1e-9, abs=1e-300)


@settings(max_examples=80, deadline=None)
@given(records(), weight_seeds)
def test_nearest_order_is_cut_as_the_reference_does(case, seed):
    values, k = case
    weights = weights_for(values, seed)
    order = nearest_order(values.tolist(), weights.tolist())
    _, sizes = cut(values[order].tolist(), weights[order].tolist(), k)
    assert path(values, k, weights=weights, path_order="nearest").labels.tolist() == labels_by_sizes(order, sizes)


@settings(max_examples=60, deadline=None)
@given(records(), st.integers(0, 1000))
def test_walk_through_groups_as_the_reference_does(case, seed):
    values, k = case
    rows = np.random.default_rng(seed).permutation(len(values))
    sizes = np.bincount(np.arange(len(rows)) // k)
    groups = [g.tolist() for g in np.split(rows, np.cumsum(sizes)[:-1])]
    first = groups[0][-1]
    expected = walk_through(values.tolist(), groups, first)
    walk_through_kernel(values, rows, sizes, first)
    assert rows.tolist() == expected


@settings(max_examples=60, deadline=None)
@given(records(), st.integers(1, 10))
def test_neighbours_are_those_of_the_reference(case, count):
    values, _ = case
    count = min(count, len(values) - 1)
    assert neighbours_kernel(values, count, Control().flag).tolist() == neighbours(values.tolist(), count)


@settings(max_examples=60, deadline=None)
@given(records(least_k=8, most_k=10, most_times=3), st.integers(0, 1000))
def test_no_move_shortens_the_tour(case, seed):
    values, _ = case
    points = values.tolist()
    start = np.random.default_rng(seed).permutation(len(points))
    near = neighbours_kernel(values, min(5, len(points) - 1), Control().flag)
    tour = shorten(values, near, start, Control().flag)
    assert sorted(tour.tolist()) == list(range(len(points)))
    length = tour_length(points, tour.tolist())
    assert length <= tour_length(points, start.tolist()) * (1 + 1e-12)
    others = tours_one_move_away(points, tour.tolist(), near.tolist())
    assert min((tour_length(points, t) for t in others), default=length) >= length * (1 - 1e-8)


def test_the_tour_of_a_circle_is_the_circle():
    angles = np.random.default_rng(1).permutation(200) * (2 * np.pi / 200)
    values = np.column_stack([np.cos(angles), np.sin(angles)])
    order = visit(values, 0, False, Control().flag)[0]
    near = neighbours_kernel(values, 8, Control().flag)
    tour = shorten(values, near, np.roll(order, 3)[::-1].copy(), Control().flag)
    assert tour_length(values.tolist(), tour.tolist()) == pytest.approx(400 * np.sin(np.pi / 200))


@settings(max_examples=60, deadline=None)
@given(records(), weight_seeds)
def test_tour_keeps_k_and_is_the_same_every_time(case, seed):
    values, k = case
    weights = None if seed is None else some_weights(len(values), seed)
    before = values.copy()
    partition = path(values, k, weights=weights).check(k)
    assert partition.sizes.max() <= 2 * k - 1
    assert partition.labels.tolist() == path(values, k, weights=weights).labels.tolist()
    assert np.array_equal(values, before)


def test_the_tour_beats_the_nearest_order():
    values = np.random.default_rng(6).normal(size=(600, 2))
    assert sse_of(path(values, 4), values) < sse_of(path(values, 4, path_order="nearest"), values)


def test_a_far_pair_at_the_seam_of_a_tour_is_kept_together():
    """The tour starts in the middle of a cluster: a cut that begins there would split it."""
    angles = np.repeat(np.arange(6) * np.pi / 3, 4)
    values = 10 * np.column_stack([np.cos(angles), np.sin(angles)])
    values += np.tile([[0.3, 0.0], [0.0, 0.3], [-0.3, 0.0], [0.0, -0.3]], (6, 1))
    assert path(values, 4).labels.tolist() == np.repeat(np.arange(6), 4).tolist()


def test_the_spread_of_the_reference_is_the_sum_of_squares():
    values = np.random.default_rng(7).normal(size=(9, 3))
    weights = some_weights(9, 7)
    around = values - np.average(values, axis=0, weights=weights)
    assert spread(values.tolist(), weights.tolist()) == pytest.approx((weights[:, None] * around**2).sum())


def test_an_unknown_order_is_refused():
    with pytest.raises(UsageError, match="'nearst'.*Did you mean 'nearest'"):
        path(np.zeros((6, 1)), 3, path_order="nearst")


def test_the_earlier_name_of_the_option_still_works():
    values = np.random.default_rng(6).normal(size=(60, 2))
    frame = pl.DataFrame(values, schema=["a", "b"])
    for order in ("tour", "nearest", "mdav"):
        new = path(values, 4, path_order=order).labels.tolist()
        assert microaggregate(frame, 4, method="path", order=order, scaling="none").solution.labels.tolist() == new


@settings(max_examples=60, deadline=None)
@given(records(), weight_seeds)
def test_mdav_order_walks_from_group_to_group(case, seed):
    values, k = case
    points, weights = values.tolist(), weights_for(values, seed)
    start = mdav(values, k, weights=weights)
    first = nearest_order(points, weights.tolist())[0]
    centroids = start.centroids(values, weights).tolist()
    todo, groups = set(range(start.groups)), [int(start.labels[first])]
    todo.remove(groups[0])
    while todo:
        groups.append(min((squared(centroids[g], centroids[groups[-1]]), g) for g in todo)[1])
        todo.remove(groups[-1])
    members = [m.tolist() for m in start.members()]
    order = walk_through(points, [members[g] for g in groups], first)
    _, sizes = cut(values[order].tolist(), weights[order].tolist(), k)
    assert path(values, k, weights=weights, path_order="mdav").labels.tolist() == labels_by_sizes(order, sizes)
