"""Recipes: their content, and runs that are repeated bit for bit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run, sha256
from shoal.engine.trace import MOST_POINTS, Trace
from shoal.errors import InputError, ShoalWarning
from shoal.recipe import Step
from shoal.running import load_recipe

ROLES = ("--identifiers", "name", "--quasi", "age,income", "--as-is", "town,sex,job,district")


def real_run(*arguments: object) -> None:
    """The command line as a process of its own."""
    subprocess.run([sys.executable, "-m", "shoal", *map(str, arguments)], check=True, capture_output=True)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_real_command_repeats_a_run_to_the_bit_on_one_and_two_threads(people: Path, ending: str) -> None:
    folder = people.parent
    out, recipe = folder / f"out.{ending}", folder / "run.toml"
    source = people
    if ending == "parquet":
        source = folder / "people.parquet"
        pl.read_csv(people).write_parquet(source)
    real_run(
        "microaggregate", source, "-k", 4, *ROLES, "--effort", "quick", "--seed", 5, "-o", out,
        "--save-recipe", recipe,
    )  # fmt: skip
    first = sha256(out)
    for threads in (1, 2):
        again = folder / f"again-{threads}.{ending}"
        real_run("run", recipe, "-o", again, "--threads", threads)
        assert sha256(again) == first


COMMANDS = {
    "microaggregate": [*ROLES, "-k", "4", "--method", "mdav", "--remainder", "distribute", "--round"],
    "group": [*ROLES, "-k", "4", "--evaluations", "20", "--accept-k", "1"],
    "generalize": ["-k", "4", "--quasi", "age,town", "--effort", "quick", "--granularity", "age=5:0:100",
                   "--order", "town=dover,cork,bute,ayr", "--prefer", "0.3,1", "--confidential", "sex", "-l", "2",
                   "--identifiers", "name", "--as-is", "income", "--drop", "job,district"],
    "mask": ["--identifiers", "name", "--accept-k", "1",
             "--vital", "job=guard", "--parameter", "district", "--influential", "age,sex", "--ordinal", "age",
             "--budget", "40", "--steps", "50", "--weights", "age=2", "--compatibility", "0.1"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_saves_a_recipe_that_repeats_it(people: Path, command: str) -> None:
    out, recipe = people.parent / "out.csv", people.parent / "run.toml"
    common = ("--shuffle", "-o", out, "--save-recipe", recipe, "--json")
    first = json.loads(run(command, people, *COMMANDS[command], *common).stdout)
    text, made = recipe.read_text(), sha256(out)
    assert text.startswith("# INTERNAL") and re.search(r'^secret = "[0-9a-f]{32}"$', text, re.MULTILINE)
    assert ("accept_k = 1" in text) == ("--accept-k" in COMMANDS[command])
    assert 'file = "people.csv"' in text and 'file = "out.csv"' in text
    assert sha256(people) in text and made in text and str(people.parent) not in text
    out.unlink()
    again = json.loads(run("run", recipe, "--json").stdout)
    assert sha256(out) == made and again["identical"] is True
    different = {"seconds", "cpu_seconds", "check_cpu_seconds", "stages", "output_sha256", "identical"}
    for name in set(first) | set(again):
        assert name in different or first[name] == again[name], name


def test_files_that_hold_the_time_of_their_writing_are_repeated_in_their_values(people: Path) -> None:
    out, recipe = people.parent / "out.sav", people.parent / "run.toml"
    run("microaggregate", people, "-k", 4, *ROLES, "--method", "mdav", "-o", out, "--save-recipe", recipe)
    first = shoal.read(out).frame
    again = json.loads(run("run", recipe, "--json").stdout)
    assert again["identical"] is None and shoal.read(out).frame.equals(first)


def test_compressed_text_is_repeated_to_the_bit(people: Path) -> None:
    out, recipe = people.parent / "out.csv.gz", people.parent / "run.toml"
    run("microaggregate", people, "-k", 4, *ROLES, "--method", "mdav", "-o", out, "--save-recipe", recipe)
    assert json.loads(run("run", recipe, "--json").stdout)["identical"] is True


def test_a_recipe_holds_what_was_asked_and_no_defaults(people: Path) -> None:
    table = shoal.read(people, identifiers="name", quasi=["age", "income"])
    recipe = shoal.microaggregate(table, k=np.int64(4), method="mdav", round=False, threads=2, seed=7).recipe
    assert recipe is not None
    assert recipe.seed == 7 and recipe.steps == (Step(do="microaggregate", k=4, method="mdav"),)
    assert recipe.input.quasi == ("age", "income") and recipe.input.identifiers == ("name",)
    assert recipe.output is None and set(recipe.versions) == {"shoal", "numpy", "python"}


def test_a_recipe_keeps_how_the_text_was_read_and_holds_its_taxonomy(tmp_path: Path) -> None:
    source, regions = tmp_path / "in.txt", tmp_path / "regions.csv"
    rows = "".join(f"{i * 37 % 101},5;{'abcd'[i % 4]}\n" for i in range(40))
    source.write_bytes(("größe;land\n" + rows).encode("latin-1"))
    regions.write_text("a;west\nb;west\nc;east\nd;east\n")
    target, recipe = tmp_path / "out.csv", tmp_path / "run.toml"
    run(
        "generalize", source, "-k", 3, "--quasi", "größe,land", "--delimiter", ";", "--encoding", "latin-1",
        "--decimal", ",", "--taxonomy", f"land={regions}", "--effort", "quick", "-o", target, "--save-recipe", recipe,
    )  # fmt: skip
    made = sha256(target)
    regions.unlink()
    run("run", recipe)
    assert sha256(target) == made
    known = load_recipe(recipe)
    assert (known.input.delimiter, known.input.encoding, known.input.decimal) == (";", "latin-1", ",")
    assert known.steps[0].arguments["taxonomy"] == {"land": {"west": {"a": {}, "b": {}}, "east": {"c": {}, "d": {}}}}


def test_a_release_knows_its_run(people: Path) -> None:
    release = shoal.microaggregate(shoal.read(people, quasi=["age", "income"]), 4, effort="quick", seed=3)
    assert release.seed == 3 and release.checksum == sha256(people)
    assert release.versions["shoal"] == shoal.__version__
    bests = [point.best for point in release.trace if point.best is not None]
    assert bests and bests == sorted(bests, reverse=True)
    assert release.trace[-1].done == release.trace[-1].total


def test_a_trace_is_bounded_and_keeps_its_ends() -> None:
    told: list[float] = []
    trace = Trace(lambda done, total, best=None, what="": told.append(done))
    for i in range(50_001):
        trace(i, 50_001, 1 / (i + 1), "moves")
    assert len(told) == 50_001
    assert len(trace.points) <= MOST_POINTS + 1
    assert trace.points[0].done == 0 and trace.points[-1].done == 50_000
    done = [point.done for point in trace.points]
    assert done == sorted(set(done)) and max(np.diff(done)) <= 64


def test_the_recipe_of_a_frame_says_that_it_has_no_file(people: Path, tmp_path: Path) -> None:
    release = shoal.microaggregate(pl.read_csv(people), 4, quasi=["age", "income"], method="mdav")
    assert release.recipe is not None and release.recipe.input.file is None and release.checksum is None
    assert release.recipe.steps[0].arguments["quasi"] == ["age", "income"]
    release.recipe.save(tmp_path / "frame.toml")
    with pytest.raises(InputError, match="made for a data frame in memory"):
        shoal.run(tmp_path / "frame.toml")


def test_a_table_changed_since_it_was_read_is_no_longer_its_file(people: Path) -> None:
    rows = pl.read_csv(people).with_columns(
        pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("age")).alias("age")
    )
    rows.write_csv(people)
    table = shoal.read(people, quasi=["age", "income"])
    with pytest.warns(ShoalWarning, match="rows were dropped"):
        dropped = table.with_missing("drop")
    recipe = shoal.microaggregate(dropped, 4, method="mdav").recipe
    assert recipe is not None and recipe.input.file is None


def test_an_argument_that_no_text_holds_leaves_the_release_without_a_recipe() -> None:
    frame = pl.DataFrame({"x": [float(i * i) for i in range(12)], "y": [float(i % 5) for i in range(12)]})
    start = shoal.microaggregate(frame, 3, method="mdav").solution
    assert shoal.microaggregate(frame, 3, method="genetic", generations=20, start=start).recipe is None


def test_relative_paths_are_those_of_the_recipes_folder(people: Path, tmp_path: Path) -> None:
    inner = tmp_path / "recipes"
    inner.mkdir()
    out, recipe = tmp_path / "o.csv", inner / "r.toml"
    run("microaggregate", people, "-k", 4, *ROLES, "--effort", "quick", "-o", out, "--save-recipe", recipe)
    assert 'file = "../people.csv"' in (inner / "r.toml").read_text()
    here = os.getcwd()
    try:
        os.chdir(inner)
        run("run", "r.toml")
    finally:
        os.chdir(here)
    assert not (inner / "o.csv").exists()
