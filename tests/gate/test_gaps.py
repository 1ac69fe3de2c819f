"""A release of a file with missing values: a later check measures what the run measured, or says why it differs."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run
from shoal.errors import UsageError
from shoal.gate.findings import Finding, Findings
from shoal.gate.gaps import handle_gaps
from shoal.table.roles import Roles

LEVELS = ("low", "middle", "high")


def people(rows: int = 120, *, whole: bool = False) -> pl.DataFrame:
    """Ages, incomes, dates and levels, of each of which every seventh or so is missing."""
    draw = np.random.default_rng(4)
    income = draw.normal(3000, 800, rows).round(0 if whole else 1)
    frame = pl.DataFrame(
        {
            "age": draw.integers(20, 80, rows),
            "income": income.astype(np.int64) if whole else income,
            "since": [date(2000, 1, 1) + timedelta(days=int(days)) for days in draw.integers(0, 5000, rows)],
            "level": draw.choice(LEVELS, rows),
            "weight": draw.integers(1, 5, rows).astype(float),
        }
    )
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()) % (7 + place) != 3).then(pl.col(name)).alias(name)
        for place, name in enumerate(("age", "income", "since", "level"))
    )


def differences(one: Findings, two: Findings) -> dict[str, tuple[Finding | None, Finding | None]]:
    """The findings that differ; only a saved file is compared with the table that was to be written."""
    left, right = ({finding.check: finding for finding in findings} for findings in (one, two))
    names = (left.keys() | right.keys()) - {"written"}
    return {name: (left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name)}


@pytest.mark.filterwarnings("ignore:Missing values were replaced", "ignore:The random choices")
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    "roles, saving",
    [
        ({"quasi": ["age", "income"], "drop": ["since", "level", "weight"]}, {"keep_order": True}),
        ({"quasi": ["age", "income"], "drop": ["since", "level"], "weight": "weight"}, {"keep_order": True}),
        ({"quasi": ["age", "income"], "drop": ["since", "level", "weight"]}, {"shuffle": True}),
        (
            {"quasi": ["income", "since", "level"], "drop": ["age", "weight"], "order": {"level": LEVELS}},
            {"keep_order": True},
        ),
    ],
    ids=["numbers", "weighted", "shuffled", "dates and ranks"],
)
def test_a_check_with_filled_medians_finds_what_the_run_found(
    tmp_path: Path, roles: dict[str, Any], saving: dict[str, Any], whole: bool
) -> None:
    table = shoal.read(people(whole=whole), unit=False, **roles)
    release = shoal.microaggregate(table, 4, missing="median", method="mdav", seed=5)
    saved = release.save(tmp_path / "out.parquet", **saving)
    seed = {"seed": release.secret or 5, "missing": "median"} if saving.get("shuffle") else {"missing": "median"}
    keep = {name: value for name, value in saving.items() if name == "keep_order"}
    found = shoal.check(people(whole=whole), saved, k=4, unit=False, **roles, **seed, **keep)
    assert not differences(saved.findings, found)
    assert found.figures == saved.findings.figures


def test_a_check_of_the_gaps_says_why_it_differs(tmp_path: Path) -> None:
    """The original with its gaps gives another linkage and another dominance; the finding says so, and what to add."""
    path, out, recipe = tmp_path / "people.csv", tmp_path / "out.csv", tmp_path / "run.toml"
    people().select("age", "income").write_csv(path)
    run("microaggregate", path, "-k", 4, "--method", "mdav", "--missing", "median", "--no-unit", "--keep-order",
        "-o", out, "--save-recipe", recipe)  # fmt: skip
    common = ("check", path, out, "--json")
    bare = json.loads(run(*common, "-k", 4, "--no-unit", "--keep-order").stdout)
    filled = json.loads(run(*common, "-k", 4, "--no-unit", "--keep-order", "--missing", "median").stdout)
    by_recipe = json.loads(run(*common, "--recipe", recipe).stdout)
    gaps, linked = ({f["check"]: f for f in facts["findings"]} for facts in (bare, filled))
    missing = sum(people().select("age", "income").null_count().row(0))
    assert f"{missing} cells of the protected columns have no value in the original" in gaps["missing"]["finding"]
    assert "--missing median" in gaps["missing"]["finding"] and "--missing" not in linked["missing"]["finding"]
    assert gaps["distance-linkage"]["figure"] != linked["distance-linkage"]["figure"]
    assert by_recipe["findings"] == filled["findings"]


def test_rows_that_a_run_left_out_are_taken_from_its_recipe(tmp_path: Path) -> None:
    path, out, recipe = tmp_path / "people.csv", tmp_path / "out.csv", tmp_path / "run.toml"
    people().select("age", "income").write_csv(path)
    run("microaggregate", path, "-k", 4, "--method", "mdav", "--missing", "drop", "--no-unit", "--keep-order",
        "-o", out, "--save-recipe", recipe)  # fmt: skip
    assert json.loads(run("check", path, out, "--recipe", recipe, "--json").stdout)["passed"]


@pytest.mark.parametrize(
    "values, weights, median",
    [
        ([1, 2, 9, None], None, 2),
        ([1, 2, 4, 9, None], None, 3),
        ([1, 2, None], None, 1.5),
        ([1.0, 2.0, 9.0, None], [5.0, 1.0, 1.0, 1.0], 1.0),
        ([1.0, 2.0, 9.0, None], [2.0, 1.0, 1.0, 9.0], 1.5),
    ],
)
def test_the_median_is_the_one_counted_by_hand(
    values: list[float | None], weights: list[float] | None, median: float
) -> None:
    frame = pl.DataFrame({"x": values, "w": weights or [1.0] * len(values)})
    filled = handle_gaps(frame, ["x"], "median", Roles(weight="w" if weights else None))
    assert filled["x"].to_list() == [*values[:-1], median]
    assert handle_gaps(frame, ["x"], "keep", Roles()).equals(frame)
    assert handle_gaps(frame, ["x"], "drop", Roles()).height == len(values) - 1


def test_labels_have_no_median_and_an_unknown_word_is_refused() -> None:
    frame = pl.DataFrame({"x": ["a", None, "b"]})
    assert handle_gaps(frame, ["x"], "median", Roles()).equals(frame)
    with pytest.raises(UsageError, match="missing"):
        handle_gaps(frame, ["x"], "fill", Roles())
