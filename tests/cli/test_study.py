"""`shoal study` and `shoal reproduce`: tables, JSON, pages that work offline."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from shoal.cli import main
from shoal.errors import ShoalWarning


def call(*arguments: str) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_sensitivity_writes_runs_page_and_json(tmp_path: Path) -> None:
    arguments = ["study", "sensitivity", "9x2", "--grid", "quick", "--generations", "40", "-o", str(tmp_path), "--json"]
    shown = json.loads(call(*arguments))
    assert shown["runs"] == 36 == pl.read_parquet(tmp_path / "runs.parquet").height
    assert set(shown["best_ranges"]) == {"mutation_rate", "crossover_rate", "population"}
    assert json.loads((tmp_path / "sensitivity.json").read_text(encoding="utf-8")) == shown
    page = (tmp_path / "sensitivity.html").read_text(encoding="utf-8")
    assert "Best ranges" in page and "mean convergence generation" in page
    assert 'src="http' not in page
    assert json.loads(call(*arguments)) == shown  # all runs are there already


def test_sensitivity_takes_ranges_of_values(tmp_path: Path) -> None:
    own = [
        "--mutation",
        "0:0.2:0.1",
        "--crossover",
        "0.3",
        "--population",
        "4,6",
        "--repeats",
        "1",
        "--generations",
        "20",
    ]
    out = call("study", "sensitivity", "sme", *own, "-o", str(tmp_path))
    runs = pl.read_parquet(tmp_path / "runs.parquet")
    assert sorted(runs["mutation_rate"].unique()) == [0.0, 0.1, 0.2] and runs.height == 6
    assert "Best ranges" in out
    wrong = CliRunner().invoke(main, ["study", "sensitivity", "sme", "--mutation", "a"])
    assert wrong.exit_code == 2 and "from:to:step" in wrong.stderr


def test_reproduce_refuses_an_unknown_name() -> None:
    result = CliRunner().invoke(main, ["reproduce", "ga-smal"])
    assert result.exit_code == 2 and "Did you mean 'ga-small'" in result.stderr


def test_representatives_are_those_printed(tmp_path: Path) -> None:
    shown = json.loads(call("reproduce", "representatives", "--json", "-o", str(tmp_path)))
    for row in shown["representatives"]["tables"][0]["rows"]:
        assert all(row[f"k={k} printed"] == row[f"k={k}"] for k in (3, 4, 5))
    assert (tmp_path / "representatives.html").exists() and (tmp_path / "representatives.json").exists()


def test_the_eleven_companies_as_printed() -> None:
    shown = json.loads(call("reproduce", "sme", "--quick", "--json"))
    rows = {row["method"]: row for row in shown["sme"]["tables"][1]["rows"]}
    for row in rows.values():
        assert int(100 * row["SSE"]) == round(100 * row["SSE printed"])  # printed figures are truncated
    assert rows["genetic"]["SSE"] == pytest.approx(14.8273, abs=5e-5)
    assert rows["mdav"]["SSE"] == pytest.approx(18.2921, abs=5e-5)


@pytest.mark.parametrize("method", ["genetic", "hybrid"])
def test_microaggregate_by_the_genetic_methods(method: str, tmp_path: Path) -> None:
    source, target = tmp_path / "made.csv", tmp_path / "out.csv"
    call("data", "make", "clustered", "--rows", "40", "-o", str(source))
    arguments = ["microaggregate", str(source), "-k", "3", "--method", method, "--generations", "50", "--json"]
    shown = json.loads(call(*arguments, "--population", "20", "-o", str(target), "--shuffle"))
    assert shown["smallest_group"] >= 3 and shown["largest_group"] <= 5 and shown["evaluations"] > 0
    assert pl.read_csv(target).unique().height == shown["groups"]
    refused = CliRunner().invoke(main, [*arguments, "--gamma", "1"])
    assert refused.exit_code == 2 and "does not use gamma" in refused.stderr


def test_genetic_refuses_weights(tmp_path: Path) -> None:
    source = tmp_path / "weighted.csv"
    pl.DataFrame({"x": range(12), "w": [1.0] * 12}).write_csv(source)
    result = CliRunner().invoke(
        main, ["microaggregate", str(source), "-k", "3", "--method", "genetic", "--quasi", "x", "--weight", "w"]
    )
    assert result.exit_code == 2 and "does not support weights" in result.stderr


QUICK_GRID = ["--mutation", "0.1", "--crossover", "0.3", "--population", "4", "--repeats", "1", "--generations", "5"]


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(main, [str(part) for part in arguments])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture
def gaps(tmp_path: Path) -> Path:
    """Nine records; one value of y is missing."""
    path = tmp_path / "gaps.csv"
    y = [5.0, 1.0, None, 8.0, 2.0, 9.0, 4.0, 7.0, 3.0]
    pl.DataFrame({"x": [float(i * i) for i in range(9)], "y": y, "z": [1.0, 7.0, 2.0] * 3}).write_csv(path)
    return path


@pytest.mark.parametrize("seed", ["-1", str(2**63), "1.5", "a"])
@pytest.mark.parametrize(
    "command",
    [
        ["study", "sensitivity", "9x2", "--grid", "quick"],
        ["study", "operators", "9x2"],
        ["study", "alpha", "--quick"],
        ["reproduce", "ga-small", "--quick"],
        ["data", "make", "clustered", "-o", "made.csv"],
        ["compare", "none.csv", "-k", "3"],
        ["assess", "none.csv", "none.csv"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_seed_out_of_range_is_refused_at_once(command: list[str], seed: str) -> None:
    assert "The seed must be a whole number from 0 to 9223372036854775807" in refused(*command, "--seed", seed)


def test_the_python_functions_check_their_numbers() -> None:
    from shoal.errors import UsageError
    from shoal.studies.alpha import alpha_study
    from shoal.studies.operators import study_operators
    from shoal.studies.reproduce import reproduce
    from shoal.studies.sensitivity import chosen_grid, random_set

    values = random_set(9, 2, 0)
    for call, message in [
        (
            lambda: chosen_grid("quick", population=(10.5,)),
            "--population must be whole numbers from 2 to 100,000, not 10.5",
        ),
        (lambda: chosen_grid("quick", repeats=1.5), "--repeats must be a whole number, 1 or more, not 1.5"),
        (lambda: chosen_grid("quick", generations=0), "--generations must be a whole number, 1 or more, not 0"),
        (lambda: study_operators(values, 3, seeds=1.5), "seeds must be a whole number, 1 or more, not 1.5"),
        (lambda: study_operators(values, 3, population=1), "population must be a whole number, 2 or more, not 1"),
        (lambda: study_operators(values, 10), "k must be between 2 and 9"),
        (lambda: study_operators(values, 3, first_seed=2**63), "The seed must be"),
        (lambda: alpha_study(seed=-1), "The seed must be"),
        (lambda: reproduce("ga-small", seed=2**63), "The seed must be"),
    ]:
        with pytest.raises(UsageError, match=message):
            call()


@pytest.mark.parametrize("study", ["sensitivity", "operators"])
def test_studies_refuse_columns_they_do_not_know(study: str, gaps: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for data in (gaps, "sme"):
        message = refused("study", study, data, "--quasi", "nothing", "-o", folder)
        assert "Unknown column 'nothing'" in message and "Available columns" in message
    assert "random values have neither column names" in refused("study", study, "9x2", "--quasi", "x", "-o", folder)
    assert "Remove --missing" in refused("study", study, "9x2", "--missing", "drop", "-o", folder)
    assert "--missing must be error, drop or median" in refused("study", study, gaps, "--missing", "mean", "-o", folder)
    assert not folder.exists()


def test_studies_refuse_fractions_and_values_out_of_range(gaps: Path, tmp_path: Path) -> None:
    assert "not 10.5" in refused("study", "sensitivity", "9x2", "--population", "4,10.5", "-o", tmp_path / "a")
    assert "whole number" in refused("study", "operators", "9x2", "-k", "3,3.5", "-o", tmp_path / "a")
    assert "k must be between 2 and 9" in refused("study", "operators", "9x2", "-k", "10", "-o", tmp_path / "a")
    for option in ("--repeats", "--generations"):
        message = refused("study", "sensitivity", "9x2", option, "1.5", "-o", tmp_path / "a")
        assert f"'{option}': '1.5' is not a valid whole number" in message
    assert "--alphas must be numbers between 0 and 1" in refused("study", "alpha", "--quick", "--alphas", "0.01,2")


@pytest.mark.parametrize("missing", ["drop", "median"])
def test_studies_treat_missing_values(missing: str, gaps: Path, tmp_path: Path) -> None:
    from shoal.studies.sensitivity import values_of

    message = refused("study", "sensitivity", gaps, "-k", "3", *QUICK_GRID, "-o", tmp_path / "a")
    assert "--missing drop removes" in message and "--quasi without y removes the column" in message
    assert "--drop" not in message  # a study has no such option
    words = ["study", "sensitivity", gaps, "-k", "3", *QUICK_GRID, "--missing", missing, "-o", tmp_path / "b", "--json"]
    assert json.loads(call(*map(str, words)))["runs"] == 1
    frame = pl.read_csv(gaps)
    by_hand = frame.drop_nulls() if missing == "drop" else frame.with_columns(pl.col("y").fill_null(4.5))
    expected = tmp_path / "by_hand.csv"
    by_hand.write_csv(expected)
    with pytest.warns(ShoalWarning, match="(?i)missing values"):
        values = values_of(str(gaps), missing=missing)
    assert values.tolist() == values_of(str(expected)).tolist()


def test_a_known_set_takes_some_of_its_columns() -> None:
    from shoal.studies.datasets import load, numbers
    from shoal.studies.sensitivity import values_of
    from shoal.table.scaling import scale

    table = load("sme")
    one, two = table.quasi_columns()[:2]
    assert values_of("sme").tolist() == scale(numbers("sme")).tolist()
    assert values_of("sme", (two, one)).tolist() == scale(table.numbers([two, one])).tolist()


def test_the_seed_of_operators_is_that_of_its_first_run(tmp_path: Path) -> None:
    few = ["-k", "3", "--generations", "2", "--population", "6", "--seeds", "2", "--seed", "5"]
    call("study", "operators", "sme", *few, "-o", str(tmp_path))
    assert set(pl.read_parquet(tmp_path / "operators.parquet")["seed"]) == {5, 6}
