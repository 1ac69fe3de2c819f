"""The sensitivity study: resumed after a kill it gives the same runs; its four steps find what was put in."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.errors import ShoalError
from shoal.studies import analysis
from shoal.studies.analysis import analyse, histogram, ranges, surface, variance
from shoal.studies.sensitivity import CHECKPOINT, GRIDS, RUNS, Grid, chosen_grid, random_set, run_grid, values_of

SMALL = Grid((0.0, 0.1), (0.0, 0.5), (4, 8), repeats=2, generations=30)


def test_the_published_grid_is_that_of_the_papers() -> None:
    grid = GRIDS["published"]
    assert len(grid) == 12_100 == sum(1 for _ in grid.settings())
    assert grid.mutation_rate == grid.crossover_rate == (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
    assert grid.population == (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    assert grid.generations is None


def test_threads_do_not_matter_and_every_run_is_there(tmp_path: Path) -> None:
    values = random_set(9, 2, 0)
    told: list[float] = []
    one = run_grid(values, 3, SMALL, folder=tmp_path / "one", threads=1, progress=lambda done, *_: told.append(done))
    two = run_grid(values, 3, SMALL, folder=tmp_path / "two", threads=2)
    assert one.equals(two) and one.equals(pl.read_parquet(tmp_path / "one" / RUNS))
    assert one["run"].to_list() == list(range(16)) and told == list(range(1, 17))


@pytest.mark.parametrize("cut", [0.3, 0.55, 0.999])
def test_a_killed_study_goes_on_where_it_was(tmp_path: Path, cut: float) -> None:
    values = random_set(9, 2, 0)
    whole = run_grid(values, 3, SMALL, folder=tmp_path, threads=1)
    checkpoint = tmp_path / CHECKPOINT
    written = checkpoint.read_bytes()
    checkpoint.write_bytes(written[: int(cut * len(written))])  # mostly in the middle of a line
    kept = checkpoint.read_bytes().count(b"\n") - 1
    told: list[float] = []
    again = run_grid(values, 3, SMALL, folder=tmp_path, threads=1, progress=lambda done, *_: told.append(done))
    assert again.equals(whole)
    assert told == list(range(kept + 1, 17))
    assert [json.loads(line) for line in checkpoint.read_text().splitlines()]


def test_a_stopped_study_keeps_its_finished_runs(tmp_path: Path) -> None:
    values = random_set(9, 2, 0)

    def stop(done: float, *rest: object) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid(values, 3, SMALL, folder=tmp_path, threads=1, progress=stop)
    assert len((tmp_path / CHECKPOINT).read_text().splitlines()) == 6
    assert not (tmp_path / RUNS).exists()
    assert run_grid(values, 3, SMALL, folder=tmp_path, threads=1).height == 16


def test_another_study_in_the_folder_is_refused(tmp_path: Path) -> None:
    run_grid(random_set(9, 2, 0), 3, SMALL, folder=tmp_path, threads=1)
    with pytest.raises(ShoalError, match="belongs to another study"):
        run_grid(random_set(9, 2, 0), 3, SMALL, folder=tmp_path, threads=1, seed=1)


def made_runs(effect: float) -> pl.DataFrame:
    """Runs whose SSE falls with mutation above 0 and with the population, and that converge faster at low rates."""
    random = np.random.default_rng(0)
    rows = []
    for m, c, p, repeat in itertools.product((0.0, 0.1, 0.5, 1.0), (0.0, 0.5, 1.0), (10, 50, 100), range(10)):
        sse = 10 + effect * (m == 0) + effect * (p == 10) + random.normal(0, 0.1)
        rows.append((m, c, p, repeat, sse, 100 + 1000 * m + random.normal(0, 5)))
    names = ["mutation_rate", "crossover_rate", "population", "repeat", "sse", "convergence_generation"]
    return pl.DataFrame(rows, schema=names, orient="row")


def test_the_four_steps_find_the_values_that_matter() -> None:
    found = analyse(made_runs(effect=2.0))
    assert [step["step"] for step in found.steps] == [1, 2, 3, 4]
    matters = {row["factor"]: row["significant"] for row in found.steps[0]["factors"]}
    assert matters == {"mutation_rate": True, "crossover_rate": False, "population": True}
    assert found.sse == {
        "mutation_rate": [0.1, 0.5, 1.0],
        "crossover_rate": [0.0, 0.5, 1.0],
        "population": [50, 100],
    }
    assert found.best["mutation_rate"] == [0.1]
    assert ranges(found.best)["population"] == (50, 100)


def test_constant_responses_decide_nothing() -> None:
    runs = made_runs(0.0).with_columns(sse=pl.lit(7.0), convergence_generation=pl.lit(3))
    found = analyse(runs)
    assert found.best["mutation_rate"] == [0.0, 0.1, 0.5, 1.0]
    assert not any(row["significant"] for step in found.steps if step["test"] == "ANOVA" for row in step["factors"])


def test_variance_equals_the_sums_of_squares_by_hand() -> None:
    runs = made_runs(effect=0.05)
    y = runs["sse"].to_numpy()
    factors = ["mutation_rate", "crossover_rate", "population"]
    between, freedom = {}, {}
    for name in factors:
        means = runs.group_by(name).agg(pl.col("sse").mean().alias("mean"), pl.len())
        between[name] = float((means["len"] * (means["mean"] - y.mean()) ** 2).sum())
        freedom[name] = means.height - 1
    within = ((y - y.mean()) ** 2).sum() - sum(between.values())
    rest = len(y) - 1 - sum(freedom.values())
    for row in variance(runs, "sse", factors):
        by_hand = between[row["factor"]] / freedom[row["factor"]] / (within / rest)
        assert row["f"] == pytest.approx(by_hand, rel=1e-6)


def test_surfaces_and_histogram_are_means_and_counts() -> None:
    runs = made_runs(effect=2.0)
    found = surface(runs, "sse")
    some = runs.filter((pl.col("mutation_rate") == 0.5) & (pl.col("crossover_rate") == 1.0))["sse"].mean()
    assert found["mean"][2][2] == pytest.approx(some)
    assert sum(histogram(runs)["runs"]) == runs.height


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(analysis.importlib, "import_module", absent)
    with pytest.raises(ShoalError, match=r"pip install statsmodels"):
        analyse(made_runs(1.0))


def test_grids_and_data_by_name() -> None:
    grid = chosen_grid("quick", mutation=(0.2,), population=(5.0, 6.0), repeats=4)
    assert (grid.mutation_rate, grid.population, grid.repeats, grid.generations) == ((0.2,), (5, 6), 4, 500)
    assert values_of("20x2").shape == (20, 2) and values_of("sme").shape == (11, 4)
    assert np.allclose(values_of("20x2").std(axis=0), 1)
    with pytest.raises(ShoalError, match="Did you mean 'published'"):
        chosen_grid("publishd")
    with pytest.raises(ShoalError, match="each of them once"):
        Grid((0.1, 0.1), (0.0,), (10,), 1)
