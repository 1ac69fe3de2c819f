"""The genetic algorithm against its slow twin, gene by gene, and the promises it makes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reference import genetic as twin
from reference.optimum import optimum
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import ShoalError
from shoal.protections.microaggregation.kernels import genetic as kernel
from shoal.protections.microaggregation.methods.genetic import (
    CROSSOVERS,
    MOST_RECORDS,
    SELECTIONS,
    _squared_distances,
    genetic,
)
from shoal.protections.microaggregation.sums_of_squares import sse_of


@st.composite
def nasty(draw: st.DrawFn) -> tuple[NDArray[np.float64], int]:
    """Few records with ties, duplicates, constant columns, offsets, tiny and huge units; n = k .. 5k."""
    k = draw(st.integers(2, 4))
    n = draw(st.integers(k, 5 * k))
    d = draw(st.integers(1, 3))
    cells = draw(st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d))
    values = np.array(cells, dtype=np.float64).reshape(n, d)
    unit, offset = draw(
        st.sampled_from([(1.0, 0.0), (1e-3, 1e9), (1e140, 0.0), (5e-324, 0.0), (1e-160, 0.0), (0.1, 0.3)])
    )
    return values * unit + offset, k


@settings(max_examples=60, deadline=None)
@given(
    nasty(),
    st.integers(2, 9),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.0, 0.4, 1.0]),
    st.sampled_from(sorted(CROSSOVERS)),
    st.sampled_from(sorted(SELECTIONS)),
    st.integers(0, 2**64 - 1),
    st.integers(0, 1),
)
def test_whole_runs_equal_the_twin(
    data: tuple[NDArray[np.float64], int],
    population: int,
    generations: int,
    mutation: float,
    crossover_rate: float,
    inversion: float,
    crossover: str,
    selection: str,
    seed: int,
    kept: int,
) -> None:
    values, k = data
    n = len(values)
    with np.errstate(over="ignore"):
        distances = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    if not np.isfinite(distances).all():
        distances = ((values[:, None] / 1e160 - values[None] / 1e160) ** 2).sum(axis=2)
    first = [i * (n // k) // n for i in range(n)]
    chromosomes = np.zeros((2, population, n), dtype=np.int32)
    chromosomes[0, 0] = first
    sse = np.full((2, population), np.inf)
    best, least = np.zeros(n, dtype=np.int32), np.zeros(1)
    state, counts = np.array([seed], dtype=np.uint64), np.zeros(4, dtype=np.int64)
    flag = np.zeros(1, dtype=np.uint8)
    run = (distances, k, chromosomes, sse, best, least, state, counts)
    kernel.begin(*run, kept)
    for _ in range(generations):  # one by one: a run may be cut anywhere
        kernel.advance(*run, mutation, crossover_rate, inversion, CROSSOVERS[crossover], SELECTIONS[selection], 1, flag)
    slow = twin.run(
        distances.tolist(),
        k,
        seed,
        population=population,
        generations=generations,
        mutation_rate=mutation,
        crossover_rate=crossover_rate,
        inversion=inversion,
        crossover=crossover,
        selection=selection,
        kept=(first,)[:kept],
    )
    half = int(counts[kernel.HALF])
    assert chromosomes[half].tolist() == slow.last
    assert sse[half].tolist() == slow.costs
    assert (best.tolist(), float(least[0])) == (slow.best, slow.sse)
    assert (int(counts[kernel.CONVERGED]), int(counts[kernel.EVALUATIONS])) == (slow.converged, slow.evaluations)
    assert int(state[0]) == slow.state


@pytest.mark.parametrize(("n", "k"), [(11, 3), (14, 4), (15, 3), (41, 3)])
@pytest.mark.parametrize("mutation", [0.1, 1.0])
def test_a_long_call_equals_the_twin(n: int, k: int, mutation: float) -> None:
    """A call computes thousands of draws at once, several times in these runs."""
    values = np.random.default_rng(n).normal(size=(n, 2))
    distances = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    chromosomes, sse = np.zeros((2, 12, n), dtype=np.int32), np.full((2, 12), np.inf)
    best, least = np.zeros(n, dtype=np.int32), np.zeros(1)
    state, counts = np.array([n], dtype=np.uint64), np.zeros(4, dtype=np.int64)
    run = (distances, k, chromosomes, sse, best, least, state, counts)
    generations = 60_000 // (12 * n)
    kernel.begin(*run, 0)
    kernel.advance(
        *run, mutation, 0.3, 0.2, kernel.ONE_POINT, kernel.ROULETTE, generations, np.zeros(1, dtype=np.uint8)
    )
    slow = twin.run(
        distances.tolist(),
        k,
        n,
        population=12,
        generations=generations,
        mutation_rate=mutation,
        crossover_rate=0.3,
        inversion=0.2,
    )
    assert chromosomes[counts[kernel.HALF]].tolist() == slow.last
    assert (best.tolist(), float(least[0]), int(counts[kernel.CONVERGED])) == (slow.best, slow.sse, slow.converged)
    assert (int(counts[kernel.EVALUATIONS]), int(state[0])) == (slow.evaluations, slow.state)


@settings(max_examples=60, deadline=None)
@given(nasty(), st.integers(0, 1000), st.sampled_from(sorted(CROSSOVERS)), st.sampled_from(sorted(SELECTIONS)))
def test_groups_have_k_to_2k_minus_1_records_and_the_input_is_unchanged(
    data: tuple[NDArray[np.float64], int], seed: int, crossover: str, selection: str
) -> None:
    values, k = data
    before = values.copy()
    options = {"seed": seed, "population": 8, "generations": 15, "crossover": crossover, "selection": selection}
    found = genetic(values, k, **options)
    assert k <= found.sizes.min() and found.sizes.max() <= 2 * k - 1
    assert np.array_equal(values, before)
    assert np.array_equal(genetic(values, k, **options).labels, found.labels)


@settings(max_examples=30, deadline=None)
@given(nasty(), st.integers(0, 1000))
def test_never_worse_than_its_start_and_the_unit_does_not_matter(
    data: tuple[NDArray[np.float64], int], seed: int
) -> None:
    values, k = data
    start = genetic(values, k, seed=seed, population=2, generations=0)
    found = genetic(values, k, seed=seed + 1, population=6, generations=20, start=start)
    assert (
        sse_of(found, values)
        <= sse_of(start, values) * (1 + 1e-9) + 1e-9 * np.abs(values - values.mean(axis=0)).max() ** 2
    )
    other = genetic(values * 2.0**20, k, seed=seed + 1, population=6, generations=20, start=start)
    assert np.array_equal(found.labels, other.labels) or np.abs(values).max() < 1e-300


def test_elite_is_never_lost() -> None:
    values = np.random.default_rng(3).normal(size=(14, 2))
    losses = [sse_of(genetic(values, 3, seed=5, population=6, generations=g), values) for g in range(0, 60, 3)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_convergence_generation_is_the_one_that_found_the_best() -> None:
    values = np.random.default_rng(4).normal(size=(14, 2))
    found = genetic(values, 3, seed=1, population=10, generations=200)
    converged = found.facts["convergence_generation"]
    assert 0 < converged <= 200
    at, short = (genetic(values, 3, seed=1, population=10, generations=g) for g in (converged, converged - 1))
    assert sse_of(at, values) == pytest.approx(sse_of(found, values), rel=1e-12)
    assert sse_of(short, values) > sse_of(found, values) * (1 + 1e-12)


@pytest.mark.parametrize("d", [2, 3, 5, 7, 10])
def test_eleven_records_reach_the_exact_optimum_in_about_nine_runs_of_ten(d: int) -> None:
    """A cheap form of the published claim (001 Table 6): 2,000 generations instead of 10,000."""
    values = np.random.default_rng(d).uniform(-10_000, 10_000, (11, d))
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    best = optimum(values, 3)
    runs = [sse_of(genetic(values, 3, seed=seed, generations=2_000), values) for seed in range(10)]
    assert min(runs) >= best * (1 - 1e-9)
    assert sum(run <= best * (1 + 1e-9) for run in runs) >= 9


def test_progress_ends_at_the_total_and_ctrl_c_gives_the_best_so_far() -> None:
    values = np.random.default_rng(0).normal(size=(60, 2))
    told: list[tuple[float, float]] = []
    genetic(values, 3, generations=4_000, control=Control(progress=lambda done, total, *_: told.append((done, total))))
    assert told[-1] == (4_000, 4_000) and len(told) > 1

    def stop(done: float, total: float, best: float | None = None, what: str = "") -> None:
        raise KeyboardInterrupt

    found = genetic(values, 3, generations=4_000, control=Control(progress=stop))
    assert found.facts["stopped"] and 0 < found.facts["generations"] < 4_000
    found.check(3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mutation_rate": 1.5}, "mutation_rate must be between 0 and 1, not 1.5"),
        ({"crossover_rate": -0.1}, "crossover_rate must be between 0 and 1"),
        ({"inversion": float("nan")}, "inversion must be between 0 and 1"),
        ({"population": 1}, "population must be at least 2"),
        ({"generations": -1}, "generations must be"),
        ({"seed": -1}, "seed must be"),
        ({"crossover": "three-point"}, "Did you mean"),
        ({"selection": "rang"}, "Did you mean 'rank'"),
        ({"start": KPartition(np.zeros(12, dtype=np.int64))}, "k to 2k-1 = 5 records, not a group of 12"),
        ({"start": KPartition(np.zeros(5, dtype=np.int64))}, "of the 12 records, not of 5"),
    ],
)
def test_a_wrong_option_is_reported(options: dict[str, object], words: str) -> None:
    with pytest.raises(ShoalError, match=words):
        genetic(np.arange(24.0).reshape(12, 2), 3, **options)  # type: ignore[arg-type]


def test_a_file_too_large_is_sent_to_the_hybrid() -> None:
    with pytest.raises(ShoalError, match="hybrid"):
        genetic(np.zeros((MOST_RECORDS + 1, 1)), 3)


def test_the_defaults_are_the_published_ones() -> None:
    parameters = inspect.signature(genetic).parameters
    published = {"population": 100, "crossover_rate": 0.3, "mutation_rate": 0.1, "crossover": "one-point"}
    published |= {"selection": "roulette", "inversion": 0.0}
    assert {name: parameters[name].default for name in published} == published


@pytest.mark.parametrize(("n", "generations"), [(35, 10_000), (36, 100_000)])
def test_the_default_number_of_generations_is_the_published_one(n: int, generations: int) -> None:
    """Two chromosomes, one of which is the best so far: one child is evaluated per generation."""
    result = genetic(np.random.default_rng(0).normal(size=(n, 2)), 3, population=2)
    assert result.facts["generations"] == generations


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_the_cost_is_in_the_unit_of_standardized_values(unit: float) -> None:
    """The fitness 1 / (SSE + 1) depends on the unit: SST = n d, as for standardized values."""
    values = np.random.default_rng(2).normal(size=(20, 3))
    standardized = (values - values.mean(axis=0)) / values.std(axis=0)
    plain = ((standardized[:, None] - standardized[None]) ** 2).sum(axis=2)
    assert _squared_distances(unit * standardized) == pytest.approx(plain)
    squares = _squared_distances(unit * values)
    assert squares.sum() / (2 * 20) == pytest.approx(20 * 3)
