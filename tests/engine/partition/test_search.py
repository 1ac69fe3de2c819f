"""The searches: never worse than their start, the same answer for a seed on any number of threads, resumable."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import KINDS, make, records, some_weights
from reference import search as naive
from shoal.engine.control import Control
from shoal.engine.partition import chains
from shoal.engine.partition import checkpoint as checkpoint_module
from shoal.engine.partition import neighbours as neighbours_module
from shoal.engine.partition import recombine as recombine_module
from shoal.engine.partition import windows as windows_module
from shoal.engine.partition.kernels.groups import padded
from shoal.engine.partition.neighbours import neighbour_lists
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.refine import refine
from shoal.engine.partition.search import blocks as blocks_module
from shoal.engine.partition.search import memetic as memetic_module
from shoal.engine.partition.search.memetic import inherit
from shoal.engine.partition.space import search_space, visits_of, without_oversized
from shoal.errors import InputError, UsageError
from shoal.protections.microaggregation import effort
from shoal.protections.microaggregation.methods.anneal import anneal
from shoal.protections.microaggregation.methods.auto import auto
from shoal.protections.microaggregation.methods.blocks import blocks
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.methods.memetic import memetic
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.microaggregation.sums_of_squares import sse_of


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    """Efforts and pieces small enough for tests."""
    monkeypatch.setattr(
        effort,
        "_WORK",
        {"quick": (200.0, 0.6, 20.0, 0.5), "standard": (500.0, 0.8, 50.0, 0.5), "thorough": (900.0, 0.8, 90.0, 0.5)},
    )
    monkeypatch.setattr(
        effort,
        "_LARGE",
        {"quick": (60.0, 1.0, 60.0), "standard": (350.0, 1.0, 350.0), "thorough": (3_000.0, 1.0, 3_000.0)},
    )
    monkeypatch.setattr(chains, "MAX_PROPOSALS_PER_BATCH", 3_000)


def some_values(n=150, d=3, seed=1):
    return np.random.default_rng(seed).exponential(size=(n, d))


@given(records(most_times=5))
@settings(max_examples=25)
def test_neighbours_equal_brute_force(case):
    values, _ = case
    near, far = neighbour_lists(padded(values), 6)
    np.testing.assert_allclose(far, naive.nearest_distances(values, min(6, len(values) - 1)), rtol=1e-12)
    rows = np.arange(len(values))[:, None]
    np.testing.assert_allclose(((values[rows] - values[near]) ** 2).sum(axis=2), far, rtol=1e-12)
    assert all(len(set(row)) == row.size for row in near) and (near != rows).all()


def test_neighbours_by_trees_are_nearly_exact(monkeypatch):
    values = np.random.default_rng(3).normal(size=(3000, 6))
    _, exact = neighbour_lists(padded(values), 15)
    monkeypatch.setattr(neighbours_module, "EXACT_UP_TO", 100)
    near, far = neighbour_lists(padded(values), 15)
    assert (near >= 0).all() and all(len(set(row)) == 15 for row in near)
    assert (far >= exact - 1e-12).all()
    assert (far == exact).mean() > 0.8
    again, _ = neighbour_lists(padded(values), 15, threads=1)
    np.testing.assert_array_equal(near, again)


@settings(max_examples=25)
@given(records(), st.integers(0, 1000))
def test_refine_is_never_worse_and_keeps_k(case, seed):
    values, k = case
    n = len(values)
    weights = some_weights(n, seed) if seed % 2 else None
    rough = KPartition(np.random.default_rng(seed).permutation(np.arange(n) % (n // k)))
    better = refine(SquaredError(values, k, weights), rough, seed=seed)
    assert better.sizes.min() >= k and (better.sizes.max() < 2 * k or n < 2 * k)
    assert sse_of(better, values, weights) <= sse_of(rough, values, weights)


def test_oversized_groups_are_split():
    values = some_values(90)
    halves = without_oversized(SquaredError(values, 4), KPartition(np.arange(90) % 2))
    assert halves.sizes.min() >= 4 and halves.sizes.max() < 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [anneal, memetic, auto])
def test_searches_on_odd_records(kind, method):
    values = make(kind, 61, 3, np.random.default_rng(8))
    start = mdav(values, 3)
    found = method(values, 3, seed=1, effort="standard")
    assert found.sizes.min() >= 3 and found.sizes.max() <= 5
    assert sse_of(found, values) <= sse_of(start, values) * (1 + 1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_searches_on_few_records(n):
    values = some_values(n)
    assert memetic(values, 2).sizes.min() >= 2
    assert anneal(values, n).groups == 1


@pytest.mark.parametrize(("method", "k"), [(anneal, 3), (memetic, 3), (memetic, 7), (blocks, 3)])
def test_same_seed_same_answer_on_any_number_of_threads(method, k, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK", 60)
    monkeypatch.setattr(windows_module, "WINDOW", 30)
    monkeypatch.setattr(windows_module, "APART", 2)
    values, weights = some_values(240), some_weights(240, 2)
    one, two, other = (
        method(values, k, weights=weights, seed=seed, effort="thorough", control=Control(threads=threads))
        for seed, threads in ((4, 1), (4, 3), (5, 1))
    )
    np.testing.assert_array_equal(one.labels, two.labels)
    if (method, k) != (memetic, 3):  # which finds the same best groups with any seed
        assert (one.labels != other.labels).any()
    stages = one.facts["stages"]
    assert stages[-1]["loss_after"] == pytest.approx(naive.sse(values, one.labels, weights))
    assert all(a["loss_after"] == pytest.approx(b["loss_before"]) for a, b in pairwise(stages))
    assert all(s["loss_after"] <= s["loss_before"] * (1 + 1e-12) for s in stages)


@pytest.mark.parametrize("window", [30, 8192])
@pytest.mark.parametrize("method", [anneal, memetic, blocks])
def test_resumed_equals_uninterrupted(method, window, tmp_path, monkeypatch):
    monkeypatch.setattr(windows_module, "WINDOW", window)
    values, path = some_values(), tmp_path / "run.npz"
    whole = method(values, 3, seed=9, effort="standard")
    part = method(values, 3, seed=9, effort="standard", checkpoint=path, seconds=0.0)
    assert part.facts["stopped"]
    assert sse_of(part, values) <= sse_of(mdav(values, 3), values)
    resumed = method(values, 3, seed=9, effort="standard", checkpoint=path, resume=True)
    np.testing.assert_array_equal(whole.labels, resumed.labels)
    assert "stopped" not in resumed.facts and "stopped" not in whole.facts


def test_a_large_file_resumes_at_its_last_temperature_or_sweep(tmp_path, monkeypatch):
    """Killed at any look at the clock: the same answer, and only what came after the last step is done again."""
    monkeypatch.setattr(blocks_module, "BLOCK", 60)
    monkeypatch.setattr(windows_module, "WINDOW", 30)
    monkeypatch.setattr(windows_module, "APART", 2)
    monkeypatch.setattr(checkpoint_module, "EVERY", 0.0)
    values, path = some_values(241), tmp_path / "run.npz"
    looks, last = 0, np.inf
    look = Control.advance

    def killed(control, work, *told):
        nonlocal looks
        looks += 1
        if looks > last:
            raise MemoryError
        return look(control, work, *told)

    monkeypatch.setattr(Control, "advance", killed)
    whole = blocks(values, 3, seed=9, effort="standard")
    number = looks
    for share in (0.2, 0.6, 0.97, 1.0):
        looks, last = 0, int(share * number) - 1
        path.unlink(missing_ok=True)
        with pytest.raises(MemoryError):
            blocks(values, 3, seed=9, effort="standard", checkpoint=path)
        looks, last = 0, np.inf
        resumed = blocks(values, 3, seed=9, effort="standard", checkpoint=path, resume=True)
        np.testing.assert_array_equal(whole.labels, resumed.labels)
        assert looks <= (1 - share) * number + number / 10


def test_a_recombination_that_was_killed_goes_on_after_its_last_step(tmp_path, monkeypatch):
    """Killed in any step of any recombination, by regions; the next search does that one and those after it."""
    monkeypatch.setattr(memetic_module, "REGION", 100)
    monkeypatch.setattr(checkpoint_module, "SPARED", 0)
    values, path = some_values(n=260), tmp_path / "state.npz"
    begun, last = 0, None  # steps, of which the last is the one that is killed

    def counted(step):
        def count(*told):
            nonlocal begun
            begun += 1
            if last is not None and begun >= last:  # a dead process does nothing more
                raise MemoryError
            return step(*told)

        return count

    for name in ("relax", "_programme"):
        monkeypatch.setattr(recombine_module, name, counted(getattr(recombine_module, name)))
    whole = memetic(values, 3, effort="standard")
    steps = begun
    assert steps > 30
    for last in range(1, steps + 1, 4):
        path.unlink(missing_ok=True)
        begun = 0
        with pytest.raises(MemoryError):
            memetic(values, 3, effort="standard", checkpoint=path)
        killed_at, last, begun = last, None, 0
        resumed = memetic(values, 3, effort="standard", checkpoint=path, resume=True)
        assert begun == steps - killed_at + 1
        np.testing.assert_array_equal(resumed.labels, whole.labels)


def test_a_checkpoint_of_another_search_is_refused(tmp_path):
    values, path = some_values(), tmp_path / "run.npz"
    anneal(values, 3, seed=9, effort="quick", checkpoint=path)
    with pytest.raises(InputError, match="another search"):
        anneal(values, 3, seed=10, effort="quick", checkpoint=path, resume=True)
    path.write_bytes(b"no checkpoint")
    with pytest.raises(UsageError, match="is not a checkpoint"):
        anneal(values, 3, seed=9, effort="quick", checkpoint=path, resume=True)
    with pytest.raises(InputError, match="no checkpoint"):
        anneal(values, 3, seed=9, effort="quick", checkpoint=tmp_path / "none.npz", resume=True)
    with pytest.raises(UsageError, match="effort"):
        anneal(values, 3, effort="fast")


def test_ctrl_c_returns_the_best_so_far():
    values = some_values()
    calls = []

    def press(done, total, best=None, what=""):
        calls.append(done)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.0)  # the search is done in less: the waiting thread must hear of it before

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        found = anneal(values, 3, effort="thorough", control=Control(progress=press))
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.facts["stopped"]
    assert sse_of(found, values) <= sse_of(mdav(values, 3), values)


def test_children_inherit_whole_groups():
    values = some_values(100)
    one, other = (anneal(values, 3, seed=s, effort="quick").labels.astype(np.int32) for s in (1, 2))
    child = KPartition(inherit(SquaredError(values, 3), one, other))
    parents = {tuple(rows) for p in (one, other) for rows in KPartition(p).members()}
    kept = sum(tuple(rows) in parents for rows in child.members())
    assert child.sizes.min() >= 3 and child.sizes.max() <= 5
    assert kept >= child.groups // 2


def test_records_of_sparse_regions_have_more_turns():
    values = np.concatenate([some_values(80), 50 * some_values(80, seed=2)])
    space = search_space(SquaredError(values, 3))
    turns = np.bincount(space.visits, minlength=160)
    assert turns.min() >= 1 and (np.diff(space.visits) >= 0).all()
    order = np.argsort(space.local_scale)
    assert (np.diff(turns[order]) >= 0).all() and turns[order[-1]] > turns[order[0]]
    np.testing.assert_array_equal(visits_of(space.visits, 20, 50), np.repeat(np.arange(20, 50), turns[20:50]))


def test_a_large_enough_file_is_recombined_by_regions(monkeypatch):
    values = some_values(240)
    whole = memetic(values, 3, seed=4, effort="standard")
    monkeypatch.setattr("shoal.engine.partition.search.memetic.REGION", 60)
    one, two = (memetic(values, 3, seed=4, effort="standard", control=Control(threads=threads)) for threads in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert one.sizes.min() >= 3 and sse_of(one, values) < sse_of(mdav(values, 3), values)
    assert sse_of(one, values) < 1.2 * sse_of(whole, values)
