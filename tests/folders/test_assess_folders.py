"""`shoal assess` on folders: the values of one file with all records, from sums over the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import attempt, run
from folders import test_mixed_folders as mixed
from folders.here import Here
from folders.test_folders import ROLES, records, release_of, write
from folders.test_folders import cells as released_cells
from shoal.errors import InputError, UsageError
from shoal.folders import assessing
from shoal.measures import linkage, probabilistic

QUASI = ["age", "income", "x"]
SAMPLED = 600  # of 900 records


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine hundred records count as many, and 600 of them are drawn, in one file too."""
    monkeypatch.setattr(assessing, "SMALL", 100)
    monkeypatch.setattr(assessing, "BUCKET_ROWS", 130)
    draw = probabilistic.sampled_records
    for module in (assessing, linkage):
        monkeypatch.setattr(
            module, "sampled_records", lambda n, seed, above=100, sample=SAMPLED: draw(n, seed, above, sample)
        )


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("numbers")
    data = write(records(), folder / "claims")
    release_of(data, Here()).save(folder / "out")
    return data, folder / "out"


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Numbers, dates, ordered and unordered labels with missing values, a boolean, and weights."""
    folder = tmp_path_factory.mktemp("labels")
    data = mixed.write(mixed.records(), folder / "in")
    mixed.release_of(data, scan={"drop": [], "weight": "weight"}).save(folder / "out")
    return data, folder / "out"


def agrees(many: Any, one: Any) -> None:
    """Whether all values are those of one file, but for the measures that are left out."""
    expected = {f.name: (f.value, f.range, f.meaning) for f in one.figures if f.name not in assessing.LEFT_OUT}
    assert [f.name for f in many.figures] == list(expected)
    for figure in many.figures:
        value, span, meaning = expected[figure.name]
        assert figure.value == pytest.approx(value, rel=1e-9, abs=1e-12), figure.name
        assert (figure.range, figure.meaning) == (span, meaning)


def assessed(data: Path, release: Path, **roles: Any) -> Any:
    with pytest.warns(shoal.errors.ShoalWarning, match="are left out: probabilistic linkage, disclosure risk, score"):
        return shoal.assess_files(shoal.scan(data, on=Here(), **roles), release)


@pytest.mark.usefixtures("many")
def test_numbers_have_the_values_of_one_file(numbers: tuple[Path, Path]) -> None:
    roles = {"quasi": QUASI, **ROLES}
    one = shoal.assess(shoal.read(records(), **roles), released_cells(numbers[1]))
    assert one["distance_linkage"] not in (0, 100) and one["t"] is not None
    agrees(assessed(*numbers, **roles), one)


@pytest.mark.usefixtures("many")
def test_labels_and_weights_have_the_values_of_one_file(labels: tuple[Path, Path]) -> None:
    roles = {**mixed.SCAN, "weight": "weight"}
    one = shoal.assess(shoal.read(mixed.records(), **roles), mixed.cells(labels[1]))
    assert one["changed_town"] and one["information_loss"]
    agrees(assessed(*labels, **roles), one)


@pytest.mark.usefixtures("many")
def test_units_constant_columns_and_a_confidential_number(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = records().with_columns(
        pl.Series("house", rng.integers(0, 300, size=900)), constant=pl.lit(4.0), fee=pl.col("age").cast(pl.Float64)
    )
    release = frame.drop("house").with_columns(
        pl.col("age") // 7 * 7.3 + 1.1, pl.col("income").floor() * 1.03 + 0.117, constant=pl.lit(4.5)
    )  # no original value is as near to two released ones, which rounding would decide
    data, out = write(frame, tmp_path / "in"), write(release, tmp_path / "out")
    roles = {"quasi": ["age", "income", "constant"], "confidential": ["fee"], "unit": "house"}
    agrees(assessed(data, out, **roles), shoal.assess(shoal.read(frame, **roles), release))


def test_a_small_table_has_every_measure(numbers: tuple[Path, Path]) -> None:
    roles = {"quasi": QUASI, **ROLES}
    one = shoal.assess(shoal.read(records(), **roles), released_cells(numbers[1]))
    assert dict(shoal.assess_files(shoal.scan(numbers[0], on=Here(), **roles), numbers[1])) == dict(one)


def test_many_values_have_no_t(numbers: tuple[Path, Path], many: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assessing, "MOST_VALUES", 3)
    with pytest.warns(shoal.errors.ShoalWarning, match="are left out: .*, t\\. They exist for one file"):
        values = shoal.assess_files(shoal.scan(numbers[0], on=Here(), quasi=QUASI, **ROLES), numbers[1])
    assert "t" not in values and values["l"] is not None


def test_files_that_do_not_fit(numbers: tuple[Path, Path], tmp_path: Path, many: None) -> None:
    data, release = numbers
    files = shoal.scan(data, on=Here(), quasi=QUASI, **ROLES)
    new = [pl.read_parquet(path) for path in sorted(release.glob("*.parquet"))]
    for name, change, message in (
        ("short", lambda f: f[:-1], "part-1.parquet has 200 rows in the original and 199 rows in the release"),
        ("turned", lambda f: f[::-1], "part-1.parquet: The rows of the release are in a different order"),
        ("fewer", lambda f: f.drop("x"), "'x'"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        for i, frame in enumerate(new):
            (change(frame) if i == 1 else frame).write_parquet(folder / f"part-{i}.parquet")
        with pytest.raises(InputError, match=message):
            shoal.assess_files(files, folder)
    (folder / "part-2.parquet").unlink()
    with pytest.raises(InputError, match="no file part-2.parquet"):
        shoal.assess_files(files, folder)
    with pytest.raises(UsageError, match="do not support --convention"):
        shoal.assess_files(files, release, convention="thesis")


def test_the_command(numbers: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.folders.checking.place_named", lambda name, workers: Here())
    data, release = numbers
    facts = json.loads(run("assess", f"{data}/*.parquet", release, "--confidential", "diagnosis", "--json").stdout)
    assert facts["k"] == 5 and facts["score"] is not None
    assert "is not a folder" in attempt("assess", data, release / "part-0.parquet", "--workers", 1).output
