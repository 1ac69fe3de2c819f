"""Recipes of several steps: they compose, and what each promised holds in the final table."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from command_line import run, sha256
from shoal.errors import PromiseError, ShoalWarning
from shoal.running import load_recipe

COMPOSED = """
seed = 2

[input]
file = "people.csv"
identifiers = ["name"]

[[steps]]
do = "generalize"
quasi = ["town", "sex"]
k = 30
effort = "quick"

[[steps]]
do = "microaggregate"
quasi = ["age", "income"]
k = 5
method = "mdav"

[[steps]]
do = "mask"
vital = ["job", ["guard"]]
parameter = "district"
influential = ["sex"]
budget = 40
steps = 50
compatibility = 0.1

[output]
file = "out.csv"
accept_k = 1
"""


def test_steps_compose_and_every_promise_holds_in_the_written_file(people: Path, tmp_path: Path) -> None:
    recipe, page = tmp_path / "steps.toml", tmp_path / "page.html"
    recipe.write_text(COMPOSED.replace("accept_k = 1\n", ""))
    refused = run("run", recipe, "--json", code=1)
    assert json.loads(refused.stdout)["written"] is False and not (tmp_path / "out.csv").exists()
    recipe.write_text(COMPOSED)
    facts = json.loads(run("run", recipe, "--json", "--report", page).stdout)
    before, after = pl.read_csv(people), pl.read_csv(tmp_path / "out.csv")
    assert after.columns == [c for c in before.columns if c != "name"]
    assert after["job"].equals(before["job"])
    assert after.group_by("town", "sex").len()["len"].min() >= 30
    assert after.group_by("age", "income").len()["len"].min() >= 5
    assert not after["district"].equals(before["district"])
    assert sorted(after["district"]) == sorted(before["district"])
    assert [step["do"] for step in facts["steps"]] == ["generalize", "microaggregate", "mask"]
    assert facts["joint_k"] == after.group_by("town", "sex", "age", "income").len()["len"].min()
    assert "Step 1, generalize: town, sex" in page.read_text()
    shown = run("run", recipe).stdout
    assert f"over all protected columns, the smallest class has {facts['joint_k']} record" in shown
    release = shoal.run(recipe)
    assert release.recipe == load_recipe(recipe) and release.checksum == sha256(people)
    assert {point.what for point in release.trace}


def steps_file(path: Path, *steps: str) -> Path:
    path.write_text(
        '[input]\nfile = "people.csv"\nidentifiers = ["name"]\n' + "".join(f"[[steps]]\n{s}\n" for s in steps)
    )
    return path


def test_a_later_step_that_breaks_an_earlier_promise_is_refused(people: Path, tmp_path: Path) -> None:
    first = 'do = "microaggregate"\nquasi = ["age", "income"]\nk = 8\nmethod = "mdav"'
    second = 'do = "microaggregate"\nquasi = ["income", "age"]\nk = 3\nmethod = "mdav"'
    recipe = steps_file(tmp_path / "r.toml", first, second)
    with pytest.raises(PromiseError, match=r"guarantee of step 1 \(microaggregate\) for age, income does not hold"):
        shoal.run(recipe)
    swap = (
        'do = "mask"\nvital = ["job", ["guard"]]\nparameter = "district"\ninfluential = ["sex"]\nbudget = 40\nsteps = 9'
    )
    jobs = 'do = "generalize"\nquasi = ["job"]\nk = 150\neffort = "quick"'
    broken = steps_file(tmp_path / "b.toml", f"{swap}\ncompatibility = 0.1", jobs)
    with pytest.raises(PromiseError, match=r"guarantee of step 1 \(mask\) for district does not hold in the final"):
        shoal.run(broken)
    result = run("run", broken, "-o", tmp_path / "out.csv", code=1)
    assert "nothing is written" in result.stderr and not (tmp_path / "out.csv").exists()


def test_missing_values_are_filled_or_dropped_step_by_step(people: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(people)
    gap = pl.int_range(pl.len())
    frame = frame.with_columns(
        age=pl.when(gap % 50 == 1).then(None).otherwise(pl.col("age")),
        income=pl.when(gap % 60 == 2).then(None).otherwise(pl.col("income")),
    )
    frame.write_csv(people)
    steps = [
        'do = "microaggregate"\nquasi = ["age"]\nk = 4\nmissing = "median"\nmethod = "univariate"',
        'do = "microaggregate"\nquasi = ["income"]\nk = 4\nmissing = "drop"\nmethod = "univariate"',
    ]
    recipe = steps_file(tmp_path / "r.toml", *steps)
    with pytest.warns(ShoalWarning):
        release = shoal.run(recipe)
    release.save(tmp_path / "out.csv", accept_k=1)
    after = pl.read_csv(tmp_path / "out.csv")
    kept = frame.filter(pl.col("income").is_not_null())
    assert after["job"].equals(kept["job"]) and after.height == kept.height
    assert release.original.rows == kept.height and release.assessment["k"] == release.facts["joint_k"]
    assert after.null_count().sum_horizontal().item() == 0


def test_what_goes_wrong_in_a_step_names_the_step(people: Path, tmp_path: Path) -> None:
    steps = [
        'do = "generalize"\nquasi = ["age"]\nk = 4\neffort = "quick"',
        'do = "group"\nquasi = ["age"]\nk = 4',
    ]
    result = run("run", steps_file(tmp_path / "r.toml", *steps), code=2)
    assert "r.toml, line 9: step 2 (group): The column 'age' " in result.stderr
