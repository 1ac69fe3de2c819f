"""Tukey's and Scheffe's tests of the sensitivity study against SciPy and against the formula by hand."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shoal.studies.analysis import SIGNIFICANT, _scheffe, _tukey, best_values

LEVELS = (0.0, 0.1, 0.2, 0.5, 1.0)
FACTORS = ["mutation_rate", "crossover_rate"]


def runs(shift: dict[float, float], seed: int = 0, repeats: int = 12) -> pl.DataFrame:
    """Runs whose response depends on the mutation rate by `shift`, and on the crossover rate by its value."""
    rng = np.random.default_rng(seed)
    rows = [
        (m, c, 5 + shift.get(m, 0.0) + c + rng.normal(0, 0.2))
        for m, c, _ in itertools.product(LEVELS, (0.0, 0.5), range(repeats))
    ]
    return pl.DataFrame(rows, schema=[*FACTORS, "sse"], orient="row")


def by_level(table: pl.DataFrame) -> list[np.ndarray]:
    return [table.filter(pl.col("mutation_rate") == level)["sse"].to_numpy() for level in LEVELS]


@pytest.mark.parametrize("seed", range(3))
def test_tukey_is_scipys_for_every_pair(seed: int) -> None:
    table = runs({0.0: 0.4, 0.2: 0.1, 1.0: 0.2}, seed)
    expected = stats.tukey_hsd(*by_level(table)).pvalue
    shown = _tukey(table["sse"].to_numpy(), table["mutation_rate"])
    assert np.array_equal(shown, shown.T)
    assert shown == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("seed", range(3))
def test_scheffe_is_the_formula(seed: int) -> None:
    """p = P(F > (mean_i - mean_j)^2 / (s^2 (1/n_i + 1/n_j) (g - 1))) with g - 1 and n - g degrees of freedom."""
    table = runs({0.0: 0.4, 0.2: 0.1, 1.0: 0.2}, seed)
    groups = by_level(table)
    g, n = len(groups), table.height
    within = sum(((one - one.mean()) ** 2).sum() for one in groups) / (n - g)
    expected = np.ones((g, g))
    for i, j in itertools.permutations(range(g), 2):
        squared = (groups[i].mean() - groups[j].mean()) ** 2
        f = squared / (within * (1 / len(groups[i]) + 1 / len(groups[j])) * (g - 1))
        expected[i, j] = stats.f.sf(f, g - 1, n - g)
    assert _scheffe(table["sse"].to_numpy(), table["mutation_rate"]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("best", LEVELS)
def test_each_test_alone_finds_the_values_like_the_best_wherever_the_best_stands(best: float) -> None:
    """Only the best value is like the best: a matrix of which one half is empty would keep the others."""
    shift = {level: 0.0 if level == best else 2.0 for level in LEVELS}
    outcome = best_values(runs(shift), "sse", "mutation_rate", FACTORS)
    assert outcome["tukey"] == outcome["scheffe"] == outcome["best"] == [best]


def test_a_value_that_one_test_alone_keeps_is_not_among_the_best() -> None:
    """Scheffe's test is the more careful one for pairs: a difference that Tukey's sees may escape it."""
    for gap in np.linspace(0.05, 0.6, 40):
        outcome = best_values(runs({0.0: gap, 0.1: 2, 0.2: 2, 0.5: 2}), "sse", "mutation_rate", FACTORS)
        if outcome["tukey"] != outcome["scheffe"]:
            assert set(outcome["tukey"]) < set(outcome["scheffe"])
            assert outcome["best"] == outcome["tukey"]
            return
    pytest.fail("no gap was found that one test alone sees")


def test_the_effects_of_the_other_factors_are_taken_off_first() -> None:
    """The crossover rate moves the response far more than the noise does: left in, it would hide the difference."""
    shift = {level: 0.0 if level == 0.1 else 0.28 for level in LEVELS}
    table = runs(shift)
    assert best_values(table, "sse", "mutation_rate", FACTORS)["best"] == [0.1]
    raw = stats.tukey_hsd(*by_level(table)).pvalue
    assert (raw[1] >= SIGNIFICANT).sum() > 1
