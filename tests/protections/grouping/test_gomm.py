"""GOMM, D-GOMM and the monitor against a run that records every chromosome (tests/reference/gomm.py)."""

from __future__ import annotations

import numpy as np
import pytest

from reference import gomm as slow
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.gomm import PATIENCE, GommSettings, gomm
from shoal.protections.grouping.grouping import at_random
from shoal.protections.grouping.monitor import COLUMNS, Monitor, efficiency
from shoal.protections.grouping.operators import CROSSOVER, MUTATIONS, OPERATORS, crossover
from shoal.table.scaling import scale

TIMES = {**dict.fromkeys(MUTATIONS, 2), CROSSOVER: 3}
RUNS = {
    "all operators": GommSettings(population=10, generations=8, times=TIMES),
    "fewer children than parents, long": GommSettings(population=24, generations=30, times=TIMES),
    "D-GOMM": GommSettings(population=10, generations=60, times=TIMES, dynamic=True),
    "D-GOMM with two operators": GommSettings(
        population=6, generations=60, times={"element move": 3, CROSSOVER: 2}, dynamic=True
    ),
    "until the population stands still": GommSettings(population=8, generations=60, times=TIMES, stop_when_still=True),
    "crossover alone": GommSettings(population=6, generations=20, times={CROSSOVER: 4}),
    "an operator that is not run": GommSettings(population=6, generations=5, times={**TIMES, "group split": 0}),
    "no generation": GommSettings(population=4, generations=0, times=TIMES),
}


def cost_of(seed: int, n: int = 30, d: int = 5) -> GroupingCost:
    return GroupingCost(scale(np.random.default_rng(seed).normal(size=(n, d))), 3)


def recorded_run(cost: GroupingCost, settings: GommSettings, seed: int):
    return slow.lives(
        lambda rng: at_random(cost.d, rng),
        lambda grouping: cost.below(grouping, np.inf).fitness,
        MUTATIONS,
        crossover,
        settings.times,
        size=settings.population,
        generations=settings.generations,
        patience=5 if settings.dynamic else None,
        seed=seed,
        still=settings.stop_when_still,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", RUNS)
def test_gomm_and_its_monitor_agree_with_a_recorded_run(name: str, seed: int) -> None:
    settings, cost = RUNS[name], cost_of(seed)
    everyone, alive, last, dropped, snapshots = recorded_run(cost, settings, seed)
    monitor = Monitor()
    for watched in (monitor, None):
        result = gomm(cost, settings, seed=seed, monitor=watched)
        assert [grouping for grouping, _ in result.population] == [one["grouping"] for one in alive]
        assert [price.fitness for _, price in result.population] == [one["cost"] for one in alive]
        assert (result.generations, result.births, result.dropped) == (last, len(everyone), dropped)
        assert result.best == alive[0]["grouping"]
    expected = slow.table(everyone, last, snapshots)
    rows = {(row["operator"], row["generation"]): row for row in monitor.table()}
    assert set(rows) == set(expected)
    for key, row in rows.items():
        assert tuple(row) == COLUMNS
        for column, value in row.items():
            reference = expected[key][column]
            assert value == (pytest.approx(reference, rel=1e-12) if isinstance(value, float) else reference), column


def test_the_runs_contain_every_event() -> None:
    """Each of these events happens in some run, so that the comparison tests it."""
    rows, ends = [], []
    for name, settings in RUNS.items():
        for seed in (1, 2, 3):
            everyone, _, last, dropped, snapshots = recorded_run(cost_of(seed), settings, seed)
            rows += slow.table(everyone, last, snapshots).values()
            ends.append((name, last, dropped))
    assert any(name.startswith("D-GOMM") and 0 < len(dropped) < 6 for name, _, dropped in ends)
    assert any(name == "D-GOMM with two operators" and len(dropped) == 2 and last < 60 for name, last, dropped in ends)
    assert any(name.startswith("until") and last < 60 for name, last, _ in ends)
    for column in ("better", "worse", "clones", "discarded_unused"):
        assert any(0 < row[column] < row["children"] for row in rows), column
    assert any(row["improvement_min"] != row["improvement_max"] for row in rows)
    assert any(row["worsening_min"] != row["worsening_max"] for row in rows)


def test_a_child_that_equals_one_of_two_unequal_parents_is_a_clone() -> None:
    """Its cost differs from the mean of its parents' costs, so the costs alone would call it better or worse."""
    settings, cost = RUNS["crossover alone"], cost_of(1)
    everyone, *_ = recorded_run(cost, settings, 1)
    copies = [
        one for one in everyone if one["operator"] == CROSSOVER and one["clone"] and one["cost"] != one["parents' cost"]
    ]
    assert copies
    monitor = Monitor()
    gomm(cost, settings, seed=1, monitor=monitor)
    counted = sum(int(str(row["clones"])) for row in monitor.table() if row["operator"] == CROSSOVER)
    assert counted >= len(copies)


def test_the_published_settings() -> None:
    settings = GommSettings()
    assert (settings.population, settings.generations, PATIENCE) == (200, 100, 5)
    assert settings.times == {**dict.fromkeys(MUTATIONS, 10), CROSSOVER: 25}
    assert not settings.dynamic and not settings.stop_when_still
    for operator in OPERATORS:
        alone = GommSettings.alone(operator, generations=7)
        assert alone.times == {operator: 50 if operator == CROSSOVER else 100} and alone.generations == 7


@pytest.mark.parametrize(
    ("child", "reference", "percent"), [(5.0, 10.0, 50.0), (10.0, 5.0, -50.0), (10.0, 10.0, 0.0), (2.0, 10.0, 80.0)]
)
def test_efficiency_is_the_published_formula(child: float, reference: float, percent: float) -> None:
    assert efficiency(child, reference) == pytest.approx(percent)
