"""`shoal study` and `shoal reproduce`: tables, JSON, pages that work offline."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from shoal.cli import main


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
    assert result.exit_code == 2 and "cannot honour weights" in result.stderr
