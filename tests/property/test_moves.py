"""Moves keep every group between k and 2k - 1 and the state whole; their costs are what recomputation gives."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import records, some_weights
from reference import search as naive
from shoal.kernels import losses
from shoal.kernels.anneal import anneal
from shoal.kernels.groups import empty_groups, load, padded, renew, start
from shoal.kernels.local_search import sweep
from shoal.kernels.losses import entering, implement, leaving, replacing, swapping
from shoal.kernels.squares import Squares
from shoal.partition.mdav import mdav
from shoal.partition.space import survey


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
    g = empty_groups(padded(values), weights, k)
    g.label[:] = labels
    start(Squares(), g)
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
    space = survey(values, k)
    g, _ = space.state(mdav(values, k).labels)
    word = np.array([seed], dtype=np.uint64)
    for _ in range(150):
        anneal(space.loss, g, space.near, space.heat, space.turns, word, 7, temperature, temperature)
        sizes = np.bincount(g.label, minlength=g.size.size)
        np.testing.assert_array_equal(sizes, g.size)
        assert ((sizes == 0) | ((sizes >= k) & (sizes < 2 * k))).all()
        np.testing.assert_array_equal(g.member[g.label, g.place], np.arange(len(values)))
        vacant = g.vacant[: g.vacant[-1]]
        assert sorted(vacant) == list(np.flatnonzero(sizes == 0))
    loss = renew(space.loss, g)
    centred = values - values.mean(axis=0)
    assert abs(loss - naive.sse(centred, g.label)) <= 1e-9 * naive.sse(centred, np.zeros(len(values))) + 1e-300


class Ranges(NamedTuple):
    """A second loss, to show that the engine takes one: size times the sum of the columns' ranges."""

    columns: int


@numba.njit
def range_cost(loss, x, member, size, a, out, into):
    total = 0.0
    count = size[a] - (out >= 0) + (into >= 0)
    for c in range(loss.columns):
        low, high = np.inf, -np.inf
        for s in range(size[a] + (into >= 0)):
            i = member[a, s] if s < size[a] else into
            if i != out:
                low, high = min(low, x[i, c]), max(high, x[i, c])
        total += high - low if count > 0 else 0.0
    return count * total


@implement(losses.apart, Ranges)
def _apart(loss, x, i, j):
    return np.abs(x[i] - x[j]).sum()


@implement(losses.leaving, Ranges)
def _leaving(loss, x, w, summary, mass, member, size, a, i):
    return range_cost(loss, x, member, size, a, i, -1) - summary[a, 0]


@implement(losses.entering, Ranges)
def _entering(loss, x, w, summary, mass, member, size, b, i):
    return range_cost(loss, x, member, size, b, -1, i) - summary[b, 0]


@implement(losses.replacing, Ranges)
def _replacing(loss, x, w, summary, mass, member, size, a, i, j):
    return range_cost(loss, x, member, size, a, i, j) - summary[a, 0]


@implement(losses.swapping, Ranges)
def _swapping(loss, x, w, summary, mass, member, size, a, i, b, j):
    return replacing(loss, x, w, summary, mass, member, size, a, i, j) + replacing(
        loss, x, w, summary, mass, member, size, b, j, i
    )


@implement(losses.summarize, Ranges)
def _summarize(loss, x, w, summary, mass, member, size, a):
    summary[a, 0] = range_cost(loss, x, member, size, a, -1, -1)
    return summary[a, 0]


@implement(losses.note_leaving, Ranges)
def _note_leaving(loss, x, w, summary, mass, member, size, a, i):
    summary[a, 0] = range_cost(loss, x, member, size, a, i, -1)


@implement(losses.note_entering, Ranges)
def _note_entering(loss, x, w, summary, mass, member, size, b, i):
    summary[b, 0] = range_cost(loss, x, member, size, b, -1, i)


def test_the_engine_takes_another_loss():
    rng = np.random.default_rng(5)
    values = rng.exponential(size=(120, 3))
    labels = np.asarray(mdav(values, 3).labels)
    loss = Ranges(3)
    g = empty_groups(padded(values), np.ones(120), 3)
    g.label[:] = labels
    begin, again = numba.njit(load.py_func), numba.njit(sweep.py_func)  # compiled for this loss, kept nowhere
    before = begin(loss, g)
    np.testing.assert_allclose(before, naive.ranges(values, labels))
    assert again(loss, g, survey(values, 3).near, 1e-9, 0, 120) > 0
    np.testing.assert_allclose(g.summary[g.size > 0, 0].sum(), naive.ranges(values, g.label))
    assert naive.ranges(values, g.label) < before
    assert np.bincount(g.label)[np.unique(g.label)].min() >= 3
