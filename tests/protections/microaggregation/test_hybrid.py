"""The two-step hybrid: Lemma 1, group sizes, the same answer on any number of threads."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.engine.control import Control
from shoal.errors import ShoalError
from shoal.protections.microaggregation.choices import HEURISTICS
from shoal.protections.microaggregation.methods import group_records
from shoal.protections.microaggregation.methods.hybrid import hybrid
from shoal.protections.microaggregation.sums_of_squares import sse_of

QUICK: dict[str, Any] = {"population": 6, "generations": 12, "runs": 2}


@st.composite
def records(draw: st.DrawFn) -> tuple[NDArray[np.float64], int]:
    k = draw(st.integers(2, 4))
    n = draw(st.one_of(st.integers(k, 3 * k), st.integers(3 * k, 60)))
    d = draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = random.integers(-4, 5, (n, d)) if draw(st.booleans()) else random.normal(size=(n, d))
    return np.ascontiguousarray(values * draw(st.sampled_from([1.0, 1e-6])) + draw(st.sampled_from([0.0, 1e3]))), k


@settings(max_examples=40)
@given(records(), st.integers(2, 6), st.sampled_from(HEURISTICS), st.integers(0, 99))
def test_lemma_1_never_worse_than_the_heuristic(
    data: tuple[NDArray[np.float64], int], times: int, heuristic: str, seed: int
) -> None:
    values, k = data
    before = values.copy()
    alone = group_records(heuristic, values, k)
    found = hybrid(values, k, seed=seed, macro_size=times * k, heuristic=heuristic, **QUICK)
    assert sse_of(found, values) <= sse_of(alone, values) * (1 + 1e-12)
    assert k <= found.sizes.min() and found.sizes.max() <= 2 * k - 1
    assert np.array_equal(values, before)


@settings(max_examples=15)
@given(records(), st.sampled_from(["two-step", "direct"]), st.integers(0, 99))
def test_the_number_of_threads_does_not_matter(
    data: tuple[NDArray[np.float64], int], macro_split: str, seed: int
) -> None:
    values, k = data
    one, three = (
        hybrid(values, k, seed=seed, macro_split=macro_split, control=Control(threads=threads), **QUICK)
        for threads in (1, 3)
    )
    assert np.array_equal(one.labels, three.labels)
    assert dict(one.facts) == dict(three.facts)
    assert k <= one.sizes.min() and one.sizes.max() <= 2 * k - 1


def test_macro_groups_are_never_mixed() -> None:
    """In two steps, a group of the result lies within the macro-group of the heuristic's centroids."""
    values = np.random.default_rng(2).normal(size=(96, 2))
    groups = group_records("mdav", values, 3)
    macro = group_records("mdav", groups.centroids(values), 4).labels[groups.labels]
    found = hybrid(values, 3, macro_size=12, **QUICK)
    assert found.facts["macro_groups"] == macro.max() + 1 == 8
    assert all(np.unique(macro[rows]).size == 1 for rows in found.members())


def test_it_improves_clearly_and_more_runs_escape_the_first_groups() -> None:
    values = np.random.default_rng(5).normal(size=(48, 2))
    found = hybrid(values, 3, generations=2_000)
    assert sse_of(found, values) < found.facts["heuristic_sse"]
    single = hybrid(values, 3, generations=2_000, runs=1)
    assert sse_of(found, values) <= sse_of(single, values) * (1 + 1e-9)


def test_a_direct_split_has_macro_groups_of_at_least_k_records() -> None:
    values = np.random.default_rng(6).normal(size=(60, 2))
    found = hybrid(values, 3, macro_split="direct", macro_size=15, **QUICK)
    assert found.facts["macro_groups"] == 4
    # The first groups are the heuristic's within each macro-group, not those of the whole file.
    assert sse_of(found, values) <= found.facts["heuristic_sse"] * (1 + 1e-12)


def test_ctrl_c_ends_with_the_best_so_far() -> None:
    values = np.random.default_rng(7).normal(size=(240, 2))
    done: list[float] = []

    def stop(now: float, total: float, best: float | None = None, what: str = "") -> None:
        done.append(now)
        if now >= 2:
            raise KeyboardInterrupt

    found = hybrid(values, 3, generations=200, control=Control(threads=2, progress=stop))
    assert found.facts["stopped"] and done == [1, 2]
    found.check(3)
    assert sse_of(found, values) <= found.facts["heuristic_sse"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"macro_size": 13}, "multiple of k = 3 and at least 6, not 13. Use 12"),
        ({"macro_size": 3}, "at least 6, not 3. Use 6"),
        ({"heuristic": "mst"}, "heuristic must be mdav or md, not 'mst'"),
        ({"macro_split": "twostep"}, "Did you mean 'two-step'"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"mutation_rate": 2.0}, "mutation_rate must be between 0 and 1"),
    ],
)
def test_a_wrong_option_is_reported(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ShoalError, match=words):
        hybrid(np.random.default_rng(0).normal(size=(30, 2)), 3, **{"generations": 5, **options})


@pytest.mark.parametrize("macro_size", [12, 27])
def test_the_heuristics_own_groups_are_among_the_first_chromosomes(macro_size: int) -> None:
    """Without a generation the best chromosome is the heuristic's: random ones of twelve and more records are worse."""
    values = np.random.default_rng(8).normal(size=(81, 3))
    result = hybrid(values, 3, macro_size=macro_size, generations=0, population=2, runs=1, seed=1)
    assert sse_of(result, values) == pytest.approx(sse_of(group_records("mdav", values, 3), values), rel=1e-12)
    assert result.facts["heuristic_sse"] == pytest.approx(sse_of(result, values), rel=1e-12)


@pytest.mark.parametrize(("runs", "shares"), [(1, [12]), (5, [3, 3, 2, 2, 2]), (None, [3, 3, 2, 2, 2])])
def test_the_first_population_starts_with_the_heuristics_groups_and_all_share_the_generations(
    runs: int | None, shares: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lemma 1: the groups of the heuristic are a chromosome of the first population of each macro-group."""
    module = importlib.import_module(hybrid.__module__)
    calls: list[dict[str, Any]] = []
    original = module.genetic
    monkeypatch.setattr(
        module, "genetic", lambda rows, k, **options: calls.append(options) or original(rows, k, **options)
    )
    values = np.random.default_rng(3).normal(size=(12, 2))
    hybrid(values, 3, generations=12, population=4, runs=runs)
    assert [call["generations"] for call in calls] == shares
    assert calls[0]["start"].labels.tolist() == group_records("mdav", values, 3).labels.tolist()
    assert all(call["start"] is None for call in calls[1:])
