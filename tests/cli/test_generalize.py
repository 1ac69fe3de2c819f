"""`shoal generalize` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from command_line import run

KEYS = {
    "nwp", "necd", "effective_k", "achievement", "preference_deviation", "suppressed", "front", "cuts", "evaluations",
    "cpu_seconds",
}  # fmt: skip


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 200
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["north", "south", "east", "west"], n),
            "illness": rng.choice(["none", "flu", "asthma"], n),
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


def test_generalizes_a_file_and_applies_its_mapping(people: Path, tmp_path: Path) -> None:
    target, mapping, page = (tmp_path / name for name in ("out.csv", "mapping.json", "page.html"))
    result = run(
        "generalize", people, "-k", 4, "--quasi", "age,town", "--confidential", "illness", "--granularity", "age=5",
        "-l", 2, "-t", 0.4, "--effort", "quick", "-o", target, "--mapping", mapping, "--report", page, "--json",
    )  # fmt: skip
    facts = json.loads(result.stdout)
    assert set(facts) >= KEYS
    assert all(set(p["cuts"]) == {"age", "town"} for p in facts["front"])
    after = pl.read_csv(target)
    assert after.group_by("age", "town").len()["len"].min() == facts["effective_k"] >= 4
    assert page.exists()
    again = tmp_path / "again.csv"
    common = ("generalize", people, "--apply", mapping, "--confidential", "illness", "--json")
    applied = json.loads(run(*common, "-o", again).stdout)
    assert again.read_bytes() == target.read_bytes()
    assert applied["effective_k"] == facts["effective_k"]


def test_a_mapping_of_other_records_keeps_its_k_or_is_accepted_below(people: Path, tmp_path: Path) -> None:
    mapping, fewer, target = tmp_path / "mapping.json", tmp_path / "fewer.csv", tmp_path / "out.csv"
    roles = ("--confidential", "illness")
    run("generalize", people, "-k", 4, "--quasi", "age,town", *roles, "--effort", "quick", "--mapping", mapping)
    pl.read_csv(people).head(60).write_csv(fewer)
    common = ("generalize", fewer, "--apply", mapping, *roles, "-o", target, "--json")
    refused = run(*common, code=1)
    facts = json.loads(refused.stdout)
    assert facts["written"] is False and facts["effective_k"] == facts["figures"]["known"]["k"] < 4
    assert "--accept-k" in refused.stderr and not target.exists()
    assert json.loads(run(*common, "--accept-k", facts["effective_k"]).stdout)["written"] is True
    assert pl.read_csv(target).group_by("age", "town").len()["len"].min() == facts["effective_k"]


@pytest.mark.parametrize("method", ["nsga2", "exact"])
def test_other_methods_and_tables_for_people(people: Path, method: str) -> None:
    extra = ["--evaluations", "1000"] if method == "nsga2" else []
    shown = run(
        "generalize", people, "-k", 4, "--quasi", "age,town", "--cuts", "age=30,50,70", "--order",
        "town=north,east,south,west", "--weights", "age=2,town=1", "--method", method, *extra,
    ).output  # fmt: skip
    assert "Pareto front" in shown and "Categories" in shown


def test_the_published_nsga2_has_a_name_and_rates(people: Path) -> None:
    common = ("generalize", people, "-k", 4, "--quasi", "age,town", "--cuts", "age=30,50,70", "--order", "alphabetical")
    few = ("--population", 40, "--evaluations", 2000, "--json")
    facts = json.loads(
        run(*common, "--method", "nsga2", "--published", "--mutation", 0.01, "--crossover", 0.6, *few).stdout
    )
    assert facts["unique_solutions"] < 40 and facts["effective_k"] >= 4
    assert "does not use published" in run(*common, "--method", "search", "--published", code=2).output
    assert "between 0 and 1" in run(*common, "--method", "nsga2", "--mutation", 2, code=2).output


def test_what_cannot_be_used_is_an_error(people: Path, tmp_path: Path) -> None:
    assert "'k' is missing" in run("generalize", people, "--quasi", "age", code=2).output
    assert "COLUMN=VALUE" in run("generalize", people, "-k", 2, "--quasi", "age", "--cuts", "3", code=2).output
    both = run("generalize", people, "--apply", "m.json", "--suppress", 0.1, code=2)
    assert "cannot be used with --apply" in both.output
    assert "cannot be read" in run("generalize", people, "--apply", tmp_path / "none.json", code=2).output
