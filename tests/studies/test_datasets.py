"""The known sets: found in their folders, made by seed, and listed by the command."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from shoal.cli import main
from shoal.errors import InputError, UsageError
from shoal.studies import datasets

ROOT = Path(__file__).parents[2]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["data", *[str(a) for a in arguments]])


@pytest.mark.parametrize("name", ["census", "eia", "water", "adult"])
def test_files_are_what_the_list_says(shared_data: Path, name: str) -> None:
    about = datasets.KNOWN[name]
    table = datasets.load(name)
    assert (table.rows, len(table.columns)) == (about.rows, about.columns)
    used = pl.DataFrame([table.frame.get_column(c) for c in table.quasi_columns()])
    assert used.drop_nulls().height == about.complete
    assert datasets.find(name) == shared_data / f"{name}.csv"


@pytest.mark.parametrize(("name", "shape"), [("census", (1080, 13)), ("eia", (4092, 11)), ("water", (380, 38))])
def test_numbers_of_complete_rows(shared_data: Path, name: str, shape: tuple[int, int]) -> None:
    values = datasets.numbers(name)
    assert values.shape == shape
    assert np.isfinite(values).all()
    assert values.flags.c_contiguous


def test_the_eleven_companies() -> None:
    values = datasets.numbers("sme")
    assert values.shape == (11, 4)
    assert values.sum(axis=0).tolist() == [6550.0, 340.0, 22167874.0, 3701862.0]
    assert datasets.load("sme").columns[0] == "company"


@pytest.mark.parametrize("name", ["normal", "mixture", "random"])
def test_the_same_seed_makes_the_same_rows(name: str, tmp_path: Path) -> None:
    one, two, other = (datasets.numbers(name, seed, rows=200, columns=12) for seed in (1, 1, 2))
    assert one.shape == (200, 12)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert datasets.generate(name, columns=12).columns[:2] == ["x01", "x02"]
    for ending in ("csv", "parquet"):
        datasets.make(name, tmp_path / f"x.{ending}", 1, rows=200, columns=12)
        assert np.array_equal(datasets.read(tmp_path / f"x.{ending}").numbers(), one)


def test_made_sets_are_what_they_say() -> None:
    normal = datasets.numbers("normal", rows=20000, columns=3)
    assert np.abs(normal.mean(axis=0)).max() < 0.05
    assert np.abs(normal.std(axis=0) - 1).max() < 0.05
    uniform = datasets.numbers("random", rows=20000, columns=2)
    assert uniform.min() >= 0 and uniform.max() < 1
    assert np.abs(uniform.mean(axis=0) - 0.5).max() < 0.02
    # Clusters: the nearest neighbour is far nearer than in one normal cloud of the same spread.
    mixture = datasets.numbers("mixture", rows=2000, columns=5)
    assert 8 < mixture.std() < 12
    squares = ((mixture[:200, None] - mixture[None]) ** 2).sum(axis=2)
    squares[np.arange(200), np.arange(200)] = np.inf
    assert np.median(np.sqrt(squares.min(axis=1))) < 2.5


def test_what_is_not_available_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"'census' is not on this machine. Put it at .*census.csv \(or set SHOAL_"):
        datasets.load("census")
    with pytest.raises(UsageError, match="Unknown data set 'cencus'. Did you mean 'census'"):
        datasets.load("cencus")
    with pytest.raises(UsageError, match=r"'census' cannot be generated; download.* generated: sme, normal"):
        datasets.generate("census")
    with pytest.raises(UsageError, match="'sme' does not have the option --rows"):
        datasets.generate("sme", rows=5)
    with pytest.raises(UsageError, match="rows must be a whole number of at least 1, not 0"):
        datasets.generate("normal", rows=0)
    with pytest.raises(UsageError, match="seed must be a whole number of at least 0, not -1"):
        datasets.generate("normal", seed=-1)
    (tmp_path / "shoal").mkdir()
    (tmp_path / "shoal" / "census.csv").write_text("a,b\n1,2\n3,5\n")
    assert datasets.numbers("census").tolist() == [[1.0, 2.0], [3.0, 5.0]]
    with pytest.raises(UsageError, match="'census' is read from a file. Remove --rows"):
        datasets.load("census", rows=5)
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path / "none"))
    assert datasets.find("census") == tmp_path / "shoal" / "census.csv"


def test_the_command_lists_sets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    (tmp_path / "census.csv").write_text("a\n1\n")
    result = run("list", "--json")
    assert result.exit_code == 0, result.stderr
    sets = {row["name"]: row for row in json.loads(result.stdout)["sets"]}
    assert set(sets) == set(datasets.KNOWN)
    assert sets["census"]["found"] == str(tmp_path / "census.csv")
    assert sets["water"]["found"] is None
    assert (sets["water"]["rows"], sets["water"]["complete_rows"], len(sets["water"]["columns_used"])) == (527, 380, 38)
    plain = run("list").stdout
    assert f"location: {tmp_path / 'census.csv'}" in plain
    assert "32,561 rows, 30,162 complete, 15 columns, 9 used" in plain


def test_the_command_makes_sets(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    result = run("make", "normal", "-o", target, "--rows", 50, "--columns", 3, "--seed", 7, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == {"name": "normal", "seed": 7, "rows": 50, "columns": 3, "output": str(target)}
    assert pl.read_parquet(target).equals(datasets.generate("normal", 7, rows=50, columns=3))
    for arguments in (["census"], ["sme", "--rows", 3], ["normal", "--rows", 0]):
        refused = run("make", *arguments, "-o", tmp_path / "y.csv")
        assert refused.exit_code == 2
        assert refused.stdout == ""
        assert refused.stderr
    assert run("make", "normal", "-o", tmp_path / "none" / "y.csv").exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["x.parquet"]


def test_the_survey_is_what_its_script_makes(tmp_path: Path) -> None:
    script = ROOT / "examples" / "make_survey.py"
    spec = importlib.util.spec_from_file_location("make_survey", script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(tmp_path / "survey.csv")
    assert (tmp_path / "survey.csv").read_bytes() == (ROOT / "examples" / "survey.csv").read_bytes()


def test_the_survey_hangs_together() -> None:
    survey = datasets.read(ROOT / "examples" / "survey.csv").frame
    assert survey.shape == (3000, 10)
    by_schooling = survey.group_by("education").agg(pl.median("income")).sort("income")["education"].to_list()
    assert by_schooling == ["primary", "secondary", "vocational", "bachelor", "master", "doctorate"]
    correlation = np.corrcoef(survey.select("income", "expenses", "wealth", "age").to_numpy().T)
    assert correlation[0, 1] > 0.8
    assert correlation[0, 2] > 0.2
    ages = dict(survey.group_by("diagnosis").agg(pl.mean("age")).iter_rows())
    assert ages["arthritis"] > ages["none"] + 8
    assert survey["wealth"].mean() > 2 * survey["wealth"].median(), "a heavy tail"  # type: ignore[operator]


def test_a_survey_of_any_size_is_like_a_survey(tmp_path: Path) -> None:
    """The same seed gives the same file, columns depend on each other, and some combinations are rare."""
    assert run("make", "survey", "-o", tmp_path / "s.csv", "--rows", 4000, "--seed", 3).exit_code == 0
    frame = pl.read_csv(tmp_path / "s.csv")
    assert frame.equals(datasets.generate("survey", 3, rows=4000)) and frame.shape == (4000, 11)
    assert not frame.equals(datasets.generate("survey", 4, rows=4000))
    assert datasets.load("survey").roles.quasi == ("district", "age", "sex", "marital_status", "education",
                                                  "occupation", "country", "household")  # fmt: skip
    children = frame.filter(pl.col("age") < 16)
    assert set(children["marital_status"]) == {"single"} and children["hours"].sum() == 0
    by_education = frame.filter(pl.col("hours") > 0).group_by("education").agg(pl.col("income").mean())
    means = dict(by_education.iter_rows())
    assert means["master"] > 1.3 * means["secondary"]
    counts = frame.group_by("country").len().sort("len")["len"]
    assert counts[-1] > 3000 and counts[0] < 10
    assert frame.select("district", "age", "sex", "occupation").is_unique().mean() > 0.3  # type: ignore[operator]
