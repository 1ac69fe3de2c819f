"""One name, one value: every command gives the same value for a measure of the same release."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command_line import attempt, run
from shoal import assess, microaggregate, read
from shoal.measures.measure import declared_measures

ROLES = ["--confidential", "ill"]
NUMBERS = [*ROLES, "--quasi", "x,y,z", "--weight", "w", "--drop", "sex,education"]
UNWEIGHTED = [*ROLES, "--quasi", "x,y,z", "--drop", "sex,education,w"]
MIXED = [*ROLES, "--quasi", "x,y,z,sex,education", "--order", "education=none,low,mid,high"]
CASES = {
    "numbers": (["microaggregate"], UNWEIGHTED, False),
    "weights": (["microaggregate"], NUMBERS, False),
    "labels": (["microaggregate"], [*MIXED, "--drop", "w"], False),
    "labels and weights": (["microaggregate"], [*MIXED, "--weight", "w"], False),
    "rounded": (["microaggregate", "--round"], NUMBERS, False),
    "missing values": (["microaggregate", "--missing", "median"], NUMBERS, True),
    "missing labels": (["microaggregate", "--missing", "median"], [*MIXED, "--weight", "w"], True),
    "column groups": (["group", "--accept-k", "1"], UNWEIGHTED, False),
    "categories": (
        ["generalize", "--suppress", "0.05"], [*ROLES, "--quasi", "x,sex", "--drop", "y,z,education,w"], False
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of numbers, labels and weights, once complete and once with missing values."""
    made, rng, n = tmp_path_factory.mktemp("one_value"), np.random.default_rng(1), 120
    x = rng.normal(50, 10, n).round(2)
    frame = pl.DataFrame(
        {
            "x": x,
            "y": (2 * x + rng.normal(0, 5, n)).round(2),
            "z": rng.integers(1, 400, n),
            "sex": rng.choice(["f", "m"], n),
            "education": rng.choice(["none", "mid", "high"], n),  # no record has the level low
            "w": rng.uniform(0.5, 3.0, n).round(2),
            "ill": rng.choice(["a", "b", "c"], n),
        }
    )
    frame.write_csv(made / "complete.csv")
    gaps = {"x": 17, "education": 23}
    with_gaps = [pl.when(pl.int_range(n) % step != 3).then(pl.col(name)).alias(name) for name, step in gaps.items()]
    frame.with_columns(with_gaps).write_csv(made / "gaps.csv")
    return made


@pytest.mark.parametrize("name", CASES)
def test_every_command_gives_one_value_for_one_name(name: str, folder: Path) -> None:
    [command, *options], roles, has_gaps = CASES[name]
    original, release = folder / ("gaps.csv" if has_gaps else "complete.csv"), folder / f"{name}.csv"
    page = folder / f"{name}.html"
    method = ["--method", "mdav"] if command == "microaggregate" else []
    method = ["--method", "correlated", "--size", "2"] if command == "group" else method
    made = json.loads(
        shoal(
            command, original, "-k", "3", *method, *options, *roles, "-o", release, "--keep-order", "--json",
            "--report", page,
        )
    )  # fmt: skip
    filled = ["--missing", "median"] if has_gaps else []
    assessed = json.loads(shoal("assess", original, release, *roles, *filled, "--json"))
    checked = json.loads(attempt("check", original, release, *roles, "--json").stdout)
    measured_k = made.get("joint_k", made["k"])  # k of a grouping is that within its column groups
    _compare({**made, "k": measured_k, **_changed(made)}, assessed, f"{command} and assess")
    if not has_gaps:  # a check of the file that came in cannot know how its missing values were filled
        assert checked["figures"] == made["figures"]
    figures = made["figures"]["protected"]
    _compare({"k": figures["k"], "uniques": figures["uniques"]}, assessed, "check and assess")
    if "labels" not in name and name != "categories":
        linked = {"distance_linkage_all_columns": 100 * figures["linked"]}
        _compare(linked, assessed, "check and assess", 1e-4)  # the check rounds shares to six digits
        average = next(f for f in made["findings"] if f["check"] == "average-risk")["figure"]
        _compare({"average_risk": 100 * average}, assessed, "check and assess", 1e-4)
    shown = _shown(page)
    titles = {f"{m.shown}{', %' if m.unit == '%' else ''}": m.name for m in declared_measures()}
    _compare({titles[title]: value for title, value in shown.items() if title in titles}, assessed, "report", 5e-4)
    present = {title for title, key in titles.items() if assessed.get(key) is not None}
    assert present and present <= set(shown)


def test_compare_gives_the_values_of_assess(folder: Path) -> None:
    original, release = folder / "complete.csv", folder / "compared.csv"
    roles = NUMBERS
    runs = {run["name"]: run for run in json.loads(shoal("compare", original, "-k", "3", *roles, "--json"))["runs"]}
    shoal("microaggregate", original, "-k", "3", "--method", "mdav", *roles, "-o", release, "--keep-order")
    assessed = json.loads(shoal("assess", original, release, *roles, "--json"))
    _compare(runs["mdav"], assessed, "compare and assess")


def shoal(*arguments: object) -> str:
    return run(*arguments).stdout


def _changed(made: dict[str, Any]) -> dict[str, float]:
    """The shares of changed cells, as assess calls them."""
    columns = made.get("per_column", {}).items()
    return {f"changed_{name}": 100 * about["changed"] for name, about in columns if "changed" in about}


def _compare(one: dict[str, Any], other: dict[str, Any], where: str, tolerance: float = 1e-9) -> None:
    """Every value with the same name is the same."""
    shared = {name for name in one if name in other and isinstance(one[name], int | float)}
    assert shared, where
    for name in sorted(shared):
        assert math.isclose(one[name], other[name], rel_tol=tolerance, abs_tol=tolerance), (where, name)


def _shown(page: Path) -> dict[str, float]:
    """The values of the report's tables by the name in their row: the last number of each row."""
    values = {}
    for row in re.findall(r"<tr>(.*?)</tr>", page.read_text(encoding="utf-8"), re.S):
        cells = [re.sub(r"\s+", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
        title = re.match(r"<b>(.*?)</b>", cells[0]) if cells else None  # a name with its meaning
        number = cells[-1].replace(",", "") if cells else ""
        if title and re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", number):
            values[title[1]] = float(number)
    return values


def test_rows_with_missing_values_are_left_out_as_the_protection_did(folder: Path) -> None:
    original, release = folder / "gaps.csv", folder / "dropped.csv"
    options = ["-k", "3", "--method", "mdav", "--missing", "drop", *NUMBERS, "-o", release, "--keep-order", "--json"]
    made = json.loads(shoal("microaggregate", original, *options))
    _compare(made, json.loads(shoal("assess", original, release, *NUMBERS, "--missing", "drop", "--json")), "assess")
    refused = attempt("assess", original, release, *NUMBERS, "--json")
    assert refused.exit_code != 0 and "rows and the release" in refused.output


def test_linkage_by_numbers_alone_says_so() -> None:
    """Where labels are protected too, an intruder who knows them finds more people: the line must not hide it."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 90, 60), "income": rng.normal(size=60), "sex": rng.choice(["f", "m"], 60)}
    )
    notes = {}
    for quasi in (["age", "income"], ["age", "income", "sex"]):
        release = microaggregate(read(frame.select(quasi), quasi=quasi), 3, effort="quick")
        measured = assess(frame.select(quasi), release.table, quasi=quasi)
        notes[len(quasi)] = [figure.meaning for figure in measured.figures if "linkage" in figure.name]
    assert len(notes[2]) == len(notes[3]) == 3
    assert not any("columns of numbers" in note for note in notes[2])
    assert all("only the 2 columns of numbers" in note for note in notes[3])
