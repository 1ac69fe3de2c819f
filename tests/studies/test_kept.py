"""The kept runs of the published grid: real runs of this code, whole repeats, and the pages made from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.errors import ShoalError
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.genetic import genetic, genetic_until_settled
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.studies import kept
from shoal.studies.sensitivity import CHECKPOINT, GRIDS, Grid, random_set, run_grid, study_identity, values_of

SMALL = Grid((0.0, 0.1), (0.0, 0.5), (4, 8), repeats=3, generations=20)


def available() -> list[str]:
    return [name for name in kept.SETS if kept.kept_runs(values_of(name)) is not None]


def test_some_runs_are_kept_and_every_repeat_is_whole() -> None:
    assert available()
    for name in available():
        runs = kept.kept_runs(values_of(name))
        assert runs is not None
        assert runs.height % 1_210 == 0 and runs["run"].n_unique() == runs.height
        each = runs.group_by("mutation_rate", "crossover_rate", "population").len()
        assert each.height == 1_210 and each["len"].n_unique() == 1


def test_the_file_holds_nothing_else_and_is_small() -> None:
    known = sum(kept.kept_runs(values_of(name)).height for name in available())  # type: ignore[union-attr]
    assert pl.read_parquet(kept.FILE).height == known
    assert kept.FILE.stat().st_size < 1_500_000


def test_kept_runs_are_those_that_the_algorithm_makes() -> None:
    """A few runs of each set of at most 20 records, made again."""
    for name in available():
        values = values_of(name)
        runs = kept.kept_runs(values)
        assert runs is not None
        if len(values) > 20:
            continue
        small = runs.filter(pl.col("population") == 10, pl.col("mutation_rate").is_between(0.05, 0.45))
        for row in small.sample(3, seed=1).iter_rows(named=True):
            seed = int(np.random.SeedSequence([0, row["run"]]).generate_state(1)[0])
            options = {column: row[column] for column in ("mutation_rate", "crossover_rate", "population")}
            again = genetic(values, 3, seed=seed, **options)
            assert sse_of(again, values) == row["sse"], (name, row)
            assert again.facts["convergence_generation"] == row["convergence_generation"]


def test_other_values_or_seeds_have_no_kept_runs() -> None:
    values = values_of("sme")
    assert kept.kept_runs(values, seed=1) is None
    assert kept.kept_runs(values + 1e-9) is None
    assert kept.kept_runs(values, file=Path("nowhere.parquet")) is None


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A grid and data sets that run in a moment."""
    monkeypatch.setattr(kept, "GRID", SMALL)
    monkeypatch.setattr(kept, "SETS", ("9x2", "10x2"))
    kept._settings.cache_clear()
    yield
    kept._settings.cache_clear()


@pytest.mark.usefixtures("small")
def test_only_whole_repeats_are_collected(tmp_path: Path) -> None:
    values = random_set(9, 2, 0)
    runs = run_grid(values, 3, SMALL, folder=tmp_path / "9x2")
    checkpoint = tmp_path / "9x2" / CHECKPOINT
    lines = checkpoint.read_text().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if i and json.loads(line)["repeat"] == 1)
    half = "".join(line for i, line in enumerate(lines) if i != last) + '{"run": 1, "mut'
    checkpoint.write_text(half)
    file = tmp_path / "kept.parquet"
    assert kept.collect_runs(tmp_path, file) == {"9x2": 16, "10x2": 0}
    assert checkpoint.read_text() == half  # another process may be writing it
    result = kept.kept_runs(values, file=file)
    assert result is not None
    assert result.equals(runs.filter(pl.col("repeat") != 1).select(result.columns).cast(dict(result.schema)))
    assert kept.kept_runs(random_set(10, 2, 0), file=file) is None
    checkpoint.write_text(study_identity(values, 4, SMALL, 0) + "\n")
    with pytest.raises(ShoalError, match="belongs to another study"):
        kept.collect_runs(tmp_path, file)


@pytest.mark.usefixtures("small")
def test_more_runs_are_added_to_the_kept_ones(tmp_path: Path) -> None:
    """The first repeat is kept, so only the others are made; together they are the runs of the whole study."""
    file = tmp_path / "kept.parquet"
    kept.make_runs(tmp_path / "first", ("9x2", "10x2"), 1, file=file)
    assert kept.collect_runs(tmp_path / "first", file) == {"9x2": 8, "10x2": 8}
    kept.make_runs(tmp_path / "more", ("9x2",), file=file)
    made = [json.loads(line)["repeat"] for line in (tmp_path / "more/9x2" / CHECKPOINT).read_text().splitlines()[1:]]
    assert made == 8 * [1] + 8 * [2]
    assert kept.collect_runs(tmp_path / "more", file) == {"9x2": 24, "10x2": 8}
    assert kept.collect_runs(tmp_path / "nowhere", file) == {"9x2": 24, "10x2": 8}
    values = random_set(9, 2, 0)
    result, whole = kept.kept_runs(values, file=file), run_grid(values, 3, SMALL, folder=tmp_path / "whole")
    assert result is not None
    assert result.equals(whole.select(result.columns).cast(dict(result.schema)))


@pytest.mark.usefixtures("small")
def test_a_run_with_another_result_than_the_kept_one_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "kept.parquet"
    kept.make_runs(tmp_path, ("9x2",), 1, file=file)
    kept.collect_runs(tmp_path, file)
    before = file.read_bytes()
    checkpoint = tmp_path / "9x2" / CHECKPOINT
    header, first, *rest = checkpoint.read_text().splitlines()
    other = json.dumps({**json.loads(first), "sse": 1.5})
    checkpoint.write_text("\n".join([header, other, *rest]) + "\n")
    with pytest.raises(ShoalError, match="differs from the one that is kept"):
        kept.collect_runs(tmp_path, file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("mutation_rate", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("n", [9, 12, 22])
def test_a_settled_run_has_the_result_of_the_whole_one(n: int, mutation_rate: float) -> None:
    values = random_set(n, 2, 0)
    optimum = exact(values, 3)
    assert optimum.facts["proved"]
    for seed in range(4):
        options: Any = {"mutation_rate": mutation_rate, "crossover_rate": 0.4, "population": 10, "seed": seed}
        whole = genetic(values, 3, generations=2_000, **options)
        settled = genetic_until_settled(values, 3, optimum, generations=2_000, **options)
        assert settled.labels.tolist() == whole.labels.tolist()
        assert settled.facts["convergence_generation"] == whole.facts["convergence_generation"]
        is_best = sse_of(whole, values) == pytest.approx(sse_of(optimum, values), rel=1e-12)
        if is_best and int(whole.facts["convergence_generation"]) < 1_800:
            assert settled.facts["generations"] < 2_000
        elif mutation_rate:
            assert settled.facts["generations"] == 2_000
    if mutation_rate == 0.0:
        assert genetic_until_settled(values, 3, None, generations=50_000, **options).facts["generations"] < 50_000


def test_the_grid_is_the_published_one() -> None:
    assert GRIDS["published"] == kept.GRID and (kept.K, kept.SEED) == (3, 0)
