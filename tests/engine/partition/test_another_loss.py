"""Every search works with a loss that is not a sum of squares, and never returns what this loss forbids."""

from __future__ import annotations

import numpy as np
import pytest

from deviation_loss import AbsoluteDeviation
from odd_records import some_weights
from reference import search as naive
from shoal.engine.control import Control
from shoal.engine.partition import windows
from shoal.engine.partition.recombine import Recombination, SolverLimits, recombine
from shoal.engine.partition.refine import refine
from shoal.engine.partition.search import blocks as blocks_module
from shoal.engine.partition.search import memetic as memetic_module
from shoal.engine.partition.search.anneal import anneal
from shoal.engine.partition.search.blocks import blocks
from shoal.engine.partition.search.memetic import inherit, memetic
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.engine.partition.set_partition import Pool
from shoal.engine.partition.space import search_space


def some_loss(n=180, k=3, most=None, seed=2):
    rng = np.random.default_rng(seed)
    apart = np.zeros(n, dtype=np.int8)
    apart[rng.permutation(n)[: n // 8]] = 1
    return AbsoluteDeviation(rng.exponential(size=(n, 3)), k, most, some_weights(n, seed), apart)


def check(loss, partition):
    """Every group has k to `most` records and is allowed; the loss is that of the slow sum."""
    assert partition.sizes.min() >= loss.k and partition.sizes.max() <= loss.most
    assert np.bincount(partition.labels, loss.apart).max() <= 1
    expected = naive.deviations(loss.records, partition.labels, loss.weights)
    if "stages" in partition.facts:
        assert partition.facts["stages"][-1]["loss_after"] == pytest.approx(expected, rel=1e-6)
    return expected


@pytest.mark.parametrize("most", [None, 8])
@pytest.mark.parametrize("search", [anneal, memetic, blocks])
def test_every_search_takes_another_loss(search, most, monkeypatch):
    monkeypatch.setattr(blocks_module, "BLOCK", 90)
    monkeypatch.setattr(windows, "WINDOW", 40)
    monkeypatch.setattr(windows, "APART", 2)
    monkeypatch.setattr(memetic_module, "REGION", 90)
    loss = some_loss(most=most)
    one, two = (search(loss, Control(threads=threads), SearchSettings(seed=3)) for threads in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert check(loss, one) < 0.8 * check(loss, loss.first())
    if search is memetic:
        assert any("groups like them" in stage["name"] for stage in one.facts["stages"])


def test_a_search_with_another_loss_resumes(tmp_path):
    loss, path = some_loss(), tmp_path / "run.npz"
    whole = memetic(loss, Control(), SearchSettings(1, "quick"))
    memetic(loss, Control(seconds=0.0), SearchSettings(1, "quick", path))
    again = memetic(loss, Control(), SearchSettings(1, "quick", path, resume=True))
    np.testing.assert_array_equal(whole.labels, again.labels)


def test_refinement_and_recombination_take_another_loss():
    loss = some_loss()
    first = loss.first()
    better = refine(loss, first, seed=4)
    assert check(loss, better) < check(loss, first)
    pool = Pool(loss)
    pool.add_labels(better.labels)
    near = search_space(loss).near
    state = recombine(pool, Recombination(first.labels), SolverLimits(2_000, 50), near)
    check(loss, type(first)(np.asarray(state.best)))
    assert np.isfinite(pool.costs).all()
    assert loss.costs(np.asarray(state.best)).sum() <= check(loss, better) * (1 + 1e-6)


def test_a_child_that_the_loss_forbids_is_its_first_parent():
    """The cheapest groups of both parents leave two records over that must stay apart."""
    values = np.array([2.0, 7.0, 0.0, 0.0, 10.0, 10.0, 5.0, 5.0])[:, None]
    loss = AbsoluteDeviation(values, 2, apart=np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=np.int8))
    one = np.array([0, 1, 0, 2, 1, 2, 3, 3], dtype=np.int32)
    other = np.array([2, 3, 0, 0, 1, 1, 2, 3], dtype=np.int32)
    assert np.isfinite([loss.costs(one), loss.costs(other)]).all()
    np.testing.assert_array_equal(inherit(loss, one, other), one)
