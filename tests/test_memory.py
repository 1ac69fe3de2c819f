"""What saves memory in large files changes no bit of any result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal.arrays
from shoal.engine.partition.partition import KPartition
from shoal.gate import cells, reading
from shoal.protections.microaggregation.methods import group_records
from shoal.protections.microaggregation.replacement import aggregates, replaced
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares
from shoal.table.scaling import scale


def bits(values: Any) -> list[int]:
    return np.asarray(values, dtype=np.float64).reshape(-1).view(np.int64).tolist()


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shoal.arrays, "ROWS", 100)


def skewed(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.exp(2.0 * np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8, 20])
@pytest.mark.parametrize("n", [1, 99, 100, 101, 1234])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_over_pieces_have_the_bits_of_sums_over_all_records(n: int, d: int, weighted: bool) -> None:
    x = skewed(n, d)
    weights = np.random.default_rng(1).uniform(1, 5, n) if weighted else None
    unit = (x - x.min(axis=0)) / np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    unit -= np.average(unit, axis=0, weights=weights)
    deviation = np.sqrt(np.average(unit**2, axis=0, weights=weights))
    wanted = unit / np.where(deviation > 0, deviation, 1.0)
    assert bits(scale(x, weights=weights)) == bits(wanted)
    squares = ((x - np.average(x, axis=0, weights=weights)) ** 2).sum(axis=1)
    assert total_squares(x, weights) == float(squares.sum() if weights is None else (weights * squares).sum())
    partition = KPartition(np.arange(n) // 7)
    squares = ((x - partition.centroids(x, weights)[partition.labels]) ** 2).sum(axis=1)
    assert sse_of(partition, x, weights) == float(squares.sum() if weights is None else (weights * squares).sum())


def test_scaling_in_place_gives_the_same_array_back() -> None:
    x = skewed(500, 4)
    kept = x.copy()
    wanted = scale(x)
    assert bits(x) == bits(kept)
    made = scale(x, in_place=True)
    assert made is x and bits(made) == bits(wanted)


def test_a_mean_stays_in_the_range_of_its_group_column_by_column() -> None:
    x = np.repeat([[0.1, 1e9 + 0.1], [0.7, -3.3]], 7, axis=0)
    partition = KPartition(np.repeat([0, 1], 7))
    assert bits(partition.centroids(x)) == bits(x[[0, 7]])
    assert bits(replaced(x, partition, "mean", None)) == bits(aggregates(x, partition, "mean", None)[partition.labels])


@pytest.mark.parametrize("d", [4, 5])
def test_a_search_that_may_overwrite_the_values_finds_the_same_groups(d: int) -> None:
    x = skewed(9_000, d)
    options: dict[str, Any] = {"effort": "quick", "seed": 3}
    wanted = group_records("blocks", x, 50, **options).labels
    kept = x.copy()
    assert bits(x) == bits(kept)
    found = group_records("blocks", x, 50, loss=SquaredError(x, 50, may_overwrite=True), **options).labels
    assert found.tolist() == wanted.tolist()
    assert bits(x) != bits(kept)  # the array itself was used


def tuples(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "number": rng.choice([0.0, -0.0, 1.5, np.nan], n),
            "text": pl.Series(rng.choice(["a", "b", None], n), dtype=pl.String),
            "whole": pl.Series(rng.integers(0, 4, n)).replace(3, None),
        }
    )


@pytest.mark.parametrize("collide", [False, True])
def test_classes_by_hashes_are_those_of_the_tuples(monkeypatch: pytest.MonkeyPatch, collide: bool) -> None:
    frame = tuples(600)
    kept = np.random.default_rng(3).random(600) < 0.8
    names = tuple(frame.columns)
    wanted = [cells.classes(frame, names, rows) for rows in (None, kept)]
    monkeypatch.setattr(cells, "MANY", 1)
    if collide:  # tuples that differ in the text alone have equal hashes
        hashes = cells.mixed_hashes
        monkeypatch.setattr(cells, "mixed_hashes", lambda column, j: hashes(column, j) * np.uint64(j != 1))
    for rows, expected in zip((None, kept), wanted, strict=True):
        found = cells.classes(frame, names, rows)
        for name in ("labels", "sizes", "order"):
            assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def test_a_large_parquet_file_shares_only_columns_that_it_really_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MANY", 1)
    expected = pl.DataFrame(
        {"x": [1.0, 2.0, 0.0], "gap": [1.0, None, 3.0], "text": ["a", None, "c"], "zero": [0.0, 0.0, 0.0]}
    )
    file = expected.with_columns(x=pl.Series([1.0, 2.5, 0.0]), zero=pl.Series([0.0, -0.0, 0.0]))
    file.write_parquet(tmp_path / "release.parquet")
    frame = reading.read_written(tmp_path / "release.parquet", expected).frame
    assert frame.equals(file) and frame.columns == file.columns
    assert frame["x"].to_list() == [1.0, 2.5, 0.0]
    assert bits(frame["zero"].to_numpy()) == bits([0.0, -0.0, 0.0])
    expected.write_parquet(tmp_path / "release.parquet")
    frame = reading.read_written(tmp_path / "release.parquet", expected).frame
    assert frame.equals(expected)
    assert np.shares_memory(frame["x"].to_numpy(), expected["x"].to_numpy())
