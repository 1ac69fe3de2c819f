"""Moves keep every group between k and 2k - 1 and the state whole; their costs are what recomputation gives."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deviation_loss import AbsoluteDeviation
from odd_records import records, some_weights
from reference import search as naive
from shoal.engine.control import Control
from shoal.engine.kernels.compiling import load_numba
from shoal.engine.kernels.prefetch import LARGE, LINE, filled
from shoal.engine.partition import windows
from shoal.engine.partition.kernels.anneal import anneal
from shoal.engine.partition.kernels.groups import build_state, empty_groups, padded, refresh_state
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.kernels.losses import entering, leaving, replacing, swapping
from shoal.engine.partition.refine import anneal_windows, sweep_windows
from shoal.engine.partition.space import search_space
from shoal.protections.microaggregation.kernels.squares import Squares
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.squared_error import SquaredError

load_numba()  # the functions below are compiled here, also where the library has all kernels


@numba.njit
def costs_of(loss, g, a, i, b, j):
    """The four costs that moves are made of: i of a, j of b."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    return (
        leaving(loss, x, w, summary, mass, member, size, a, i),
        entering(loss, x, w, summary, mass, member, size, b, i),
        replacing(loss, x, w, summary, mass, member, size, a, i, j),
        swapping(loss, x, w, summary, mass, member, size, a, i, b, j),
    )


def changes(loss_of, labels, i, j):
    """The same four, from the loss of the labels before and after (as a group's cost and as a whole's)."""
    a, b = labels[i], labels[j]
    lone = labels.copy()
    lone[i] = labels.max() + 1  # a record alone costs nothing: i has left a
    moved, swapped, replaced = labels.copy(), labels.copy(), labels.copy()
    moved[i] = b
    swapped[i], swapped[j] = b, a
    replaced[i], replaced[j] = labels.max() + 1, a
    without_j = labels.copy()
    without_j[j] = labels.max() + 1
    whole = loss_of(labels)
    leave = loss_of(lone) - whole
    return leave, loss_of(moved) - whole - leave, loss_of(replaced) - loss_of(without_j), loss_of(swapped) - whole


@settings(max_examples=60)
@given(records(least_k=2, most_k=4), st.integers(0, 2**31))
def test_costs_equal_recomputation(case, seed):
    values, k = case
    if len(values) < 2 * k:
        return
    values = values - values.mean(axis=0)
    weights = some_weights(len(values), seed) if seed % 2 else np.ones(len(values))
    labels = np.asarray(mdav(values, k).labels)
    g = empty_groups(padded(values), weights, k, 2 * k - 1, padded(values).shape[1])
    g.label[:] = labels
    build_state(Squares(), g)
    rng = np.random.default_rng(seed)
    i = int(rng.integers(len(values)))
    j = int(rng.choice(np.flatnonzero(labels != labels[i])))
    expected = changes(lambda at: naive.sse(values, at, weights), labels, i, j)
    scale = naive.sse(values, np.zeros(len(values)), weights)
    np.testing.assert_allclose(
        costs_of(Squares(), g, labels[i], i, labels[j], j), expected, atol=1e-11 * scale + 1e-300
    )


@settings(max_examples=30)
@given(records(least_k=2, most_k=5, most_times=8), st.integers(0, 2**31), st.floats(0.001, 10))
def test_every_proposal_keeps_k_and_the_state(case, seed, temperature):
    values, k = case
    if len(values) < 2 * k:
        return
    space = search_space(SquaredError(values, k))
    g, _ = space.state(mdav(values, k).labels)
    word = np.array([seed], dtype=np.uint64)
    for _ in range(150):
        anneal(space.marker, g, space.near, space.local_scale, space.visits, word, 7, temperature, temperature)
        assert_whole(g)
    loss = refresh_state(space.marker, g)
    centred = values - values.mean(axis=0)
    assert abs(loss - naive.sse(centred, g.label)) <= 1e-9 * naive.sse(centred, np.zeros(len(values))) + 1e-300


def test_asking_for_memory_ahead_changes_nothing():
    """Columns of zeros change no distance, but make a table large."""
    values = np.random.default_rng(3).normal(size=(2000, 4))
    space = search_space(SquaredError(values, 3))
    found = []
    for x in (space.loss.records, np.hstack([space.loss.records, np.zeros((2000, -(-LARGE // 8000) * 4))])):
        g = empty_groups(x, space.loss.weights, 3, 5, x.shape[1])
        g.label[:] = mdav(values, 3).labels
        build_state(space.marker, g)
        assert (x.size > LARGE) == (x is not space.loss.records)
        word = np.array([1], dtype=np.uint64)
        anneal(space.marker, g, space.near, space.local_scale, space.visits, word, 100_000, 0.2, 0.05)
        before = g.label.copy()
        assert sweep(space.marker, g, space.near, space.smallest_gain, 0, 2000) > 0
        found.append((before, g.label, word[0]))
    np.testing.assert_equal(found[0], found[1])


class Backwards(Control):
    """Does the last piece first."""

    def run(self, pieces):
        return [piece() for piece in reversed(pieces)][::-1]


def assert_whole(g):
    """Every record is where the state says, groups have k to `most`, and the unused numbers are known."""
    sizes = np.bincount(g.label, minlength=g.size.size)
    np.testing.assert_array_equal(sizes, g.size)
    assert ((sizes == 0) | ((sizes >= g.k) & (sizes <= g.most))).all()
    np.testing.assert_array_equal(g.member[g.label, g.place], np.arange(g.label.size))
    assert sorted(g.vacant[: g.vacant[-1]]) == list(np.flatnonzero(sizes == 0))


@pytest.mark.parametrize("seed", range(5))
def test_windows_at_work_together_do_not_see_each_other(seed, monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 40)
    monkeypatch.setattr(windows, "APART", 2)
    values = np.sort(np.random.default_rng(seed).normal(size=(611, 2)), axis=0)
    space = search_space(SquaredError(values, 3))
    start_labels = mdav(values, 3).labels
    assert windows.at_once(611) == 8
    ends = []
    for control in (Control(threads=1), Control(threads=3), Backwards()):
        g, _ = space.state(start_labels)
        word = np.array([seed], dtype=np.uint64)
        for heat in (0.3, 0.1):
            loss = anneal_windows(space, g, word, 40, heat, heat, control)
            assert_whole(g)
        sweep_windows(space, g, control, 0)
        assert_whole(g)
        assert refresh_state(space.marker, g) <= loss
        ends.append(g.label)
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])


@pytest.mark.parametrize("shape", [(0, 4), 1, 7, (3, 12), (1001, 12)])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float64])
def test_tables_start_where_a_line_of_memory_does(shape, dtype):
    tables = [filled(shape, -1, dtype) for _ in range(20)]
    for table in tables:
        np.testing.assert_array_equal(table, np.full(shape, -1, dtype), strict=True)
        assert table.flags.c_contiguous
        assert table.size == 0 or table.ctypes.data % LINE == 0


def test_a_window_changes_its_own_groups_alone(monkeypatch):
    monkeypatch.setattr(windows, "WINDOW", 50)
    values = np.random.default_rng(3).normal(size=(400, 2))
    space = search_space(SquaredError(values, 3))
    g, _ = space.state(mdav(values, 3).labels)
    batch = [(0, 50), (200, 250)]
    for p, state in enumerate(windows._shared(space, g, np.full(g.size.size, 1, dtype=np.int8), batch)):
        before = g.label.copy()
        own = set(np.flatnonzero(state.owner == p))
        word = np.array([p], dtype=np.uint64)
        anneal(space.marker, state, space.near, space.local_scale, space.visits, word, 20_000, 0.5, 0.5)
        moved = np.flatnonzero(g.label != before)
        assert moved.size > 20
        assert set(before[moved]) | set(g.label[moved]) <= own
    assert len(own) < g.size.size


def test_a_group_between_two_windows_is_the_nearer_ones():
    values = np.random.default_rng(4).normal(size=(400, 2))
    space = search_space(SquaredError(values, 3))
    g, _ = space.state(mdav(values, 3).labels)
    batch = [(150, 200), (210, 260)]
    owner = windows._shared(space, g, np.full(g.size.size, -1, dtype=np.int8), batch)[0].owner
    nearest = np.full((2, g.size.size), 99)  # the place in a list at which each window first meets each group
    for p, (first, last) in enumerate(batch):
        for i in range(first, last):
            for place, j in enumerate([i, *space.near[i]]):
                nearest[p, g.label[j]] = min(nearest[p, g.label[j]], place)
    between = (nearest < 99).all(axis=0)
    assert between.sum() > 5
    for one, other in ((0, 1), (1, 0)):
        assert set(owner[nearest[one] * 2 < nearest[other]]) == {one}
    unseen = (nearest == 99).all(axis=0) & (g.size > 0)
    assert set(owner[unseen]) == {-1}


def test_the_moves_take_another_loss():
    values = np.random.default_rng(5).exponential(size=(120, 3))
    loss = AbsoluteDeviation(values, 3, weights=some_weights(120, 1))
    space = search_space(loss)
    g, before = space.state(loss.first().labels)
    np.testing.assert_allclose(before, naive.deviations(loss.records, g.label, loss.weights))
    assert sweep(space.marker, g, space.near, 1e-9, 0, 120) > 0
    np.testing.assert_allclose(
        g.summary[g.size > 0, 0].sum(), naive.deviations(loss.records, g.label, loss.weights), rtol=1e-6
    )
    assert refresh_state(space.marker, g) < before
    assert_whole(g)


@pytest.mark.parametrize("seed", range(3))
def test_no_move_leaves_what_the_loss_forbids(seed):
    """An infinite change is forbidden, however hot it is and whichever move it comes from."""
    rng = np.random.default_rng(seed)
    apart = np.zeros(240, dtype=np.int8)
    apart[rng.permutation(240)[:40]] = 1
    loss = AbsoluteDeviation(rng.normal(size=(240, 2)), 3, most=7, apart=apart)
    space = search_space(loss)
    g, _ = space.state(loss.first().labels)
    before, word = g.label.copy(), np.array([seed], dtype=np.uint64)
    for _ in range(40):
        anneal(space.marker, g, space.near, np.full(240, 50.0), space.visits, word, 2_000, 1.0, 1.0)
        assert_whole(g)
        assert np.bincount(g.label, apart).max() <= 1
    assert np.isfinite(g.summary[g.size > 0]).all()
    assert g.size.max() > 5 and not np.array_equal(g.label, before)
