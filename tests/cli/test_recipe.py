"""Recipes: what is saved, that a run is repeated to the bit, that steps compose, and what is said of a wrong one."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli import main
from shoal.errors import InputError, PromiseError, ShoalWarning
from shoal.evolve.trace import MOST_POINTS, Trace
from shoal.partition.methods import METHODS
from shoal.protect.run import FUNCTIONS, load_recipe, step_parameters
from shoal.recipe import Input, Output, Recipe, Step, line_of, parse_recipe


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result


def real_run(*arguments: object) -> None:
    """The command line as a process of its own."""
    subprocess.run([sys.executable, "-m", "shoal", *map(str, arguments)], check=True, capture_output=True)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 240
    district = rng.integers(0, 12, n)
    job = rng.choice(["cook", "clerk"], n)
    for d in range(12):
        rows = np.flatnonzero(district == d)
        job[rows[: {3: 14, 7: 12}.get(d, int(rng.integers(1, 4)))]] = "guard"
    frame = pl.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["ayr", "bute", "cork", "dover"], n),
            "sex": rng.choice(["f", "m"], n),
            "job": job,
            "district": [f"D{d:02d}" for d in district],
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_real_command_repeats_a_run_to_the_bit_on_one_and_two_threads(people: Path, ending: str) -> None:
    folder = people.parent
    out, recipe = folder / f"out.{ending}", folder / "run.toml"
    source = people
    if ending == "parquet":
        source = folder / "people.parquet"
        pl.read_csv(people).write_parquet(source)
    real_run(
        "microaggregate", source, "-k", 4, "--quasi", "age,income", "--identifiers", "name", "--effort", "quick",
        "--seed", 5, "-o", out, "--save-recipe", recipe,
    )  # fmt: skip
    first = sha256(out)
    for threads in (1, 2):
        again = folder / f"again-{threads}.{ending}"
        real_run("run", recipe, "-o", again, "--threads", threads)
        assert sha256(again) == first


COMMANDS = {
    "microaggregate": ["-k", "4", "--quasi", "age,income", "--method", "mdav", "--remainder", "distribute", "--round"],
    "group": ["-k", "4", "--quasi", "age,income", "--evaluations", "20"],
    "generalize": ["-k", "4", "--quasi", "age,town", "--effort", "quick", "--granularity", "age=5:0:100",
                   "--order", "town=dover,cork,bute,ayr", "--prefer", "0.3,1", "--confidential", "sex", "-l", "2"],
    "mask": ["--vital", "job=guard", "--parameter", "district", "--influential", "age,sex", "--ordinal", "age",
             "--budget", "40", "--steps", "50", "--weights", "age=2", "--compatibility", "0.1"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_saves_a_recipe_that_repeats_it(people: Path, command: str) -> None:
    out, recipe = people.parent / "out.csv", people.parent / "run.toml"
    common = ("--identifiers", "name", "-o", out, "--save-recipe", recipe, "--json")
    first = json.loads(run(command, people, *COMMANDS[command], *common).stdout)
    text, made = recipe.read_text(), sha256(out)
    assert 'file = "people.csv"' in text and 'file = "out.csv"' in text
    assert sha256(people) in text and made in text and str(people.parent) not in text
    out.unlink()
    again = json.loads(run("run", recipe, "--json").stdout)
    assert sha256(out) == made and again["identical"] is True
    different = {"seconds", "cpu_seconds", "stages", "output_sha256", "identical"}
    for name in set(first) | set(again):
        assert name in different or first[name] == again[name], name


def test_files_that_hold_the_time_of_their_writing_are_repeated_in_their_values(people: Path) -> None:
    out, recipe = people.parent / "out.sav", people.parent / "run.toml"
    asked = ("microaggregate", people, "-k", 4, "--quasi", "age,income", "--identifiers", "name", "--method", "mdav")
    run(*asked, "-o", out, "--save-recipe", recipe)
    first = shoal.read(out).frame
    again = json.loads(run("run", recipe, "--json").stdout)
    assert again["identical"] is None and shoal.read(out).frame.equals(first)


def test_compressed_text_is_repeated_to_the_bit(people: Path) -> None:
    out, recipe = people.parent / "out.csv.gz", people.parent / "run.toml"
    run("microaggregate", people, "-k", 4, "--quasi", "age", "--method", "mdav", "-o", out, "--save-recipe", recipe)
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
    rows = "".join(f"{i},5;{'abcd'[i % 4]}\n" for i in range(40))
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
    with pytest.raises(InputError, match="made for a frame in memory"):
        shoal.run(tmp_path / "frame.toml")


def test_a_table_changed_since_it_was_read_is_no_longer_its_file(people: Path) -> None:
    rows = pl.read_csv(people).with_columns(
        pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("age")).alias("age")
    )
    rows.write_csv(people)
    table = shoal.read(people, quasi=["age", "income"])
    with pytest.warns(ShoalWarning, match="left out"):
        dropped = table.with_missing("drop")
    recipe = shoal.microaggregate(dropped, 4, method="mdav").recipe
    assert recipe is not None and recipe.input.file is None


def test_an_argument_that_no_text_holds_leaves_the_release_without_a_recipe() -> None:
    frame = pl.DataFrame({"x": [float(i * i) for i in range(12)], "y": [float(i % 5) for i in range(12)]})
    start = shoal.microaggregate(frame, 3, method="mdav").solution
    assert shoal.microaggregate(frame, 3, method="genetic", generations=20, start=start).recipe is None


# -- steps one after the other ---------------------------------------------------------------------


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
"""


def test_steps_compose_and_every_promise_holds_in_the_written_file(people: Path, tmp_path: Path) -> None:
    recipe, page = tmp_path / "steps.toml", tmp_path / "page.html"
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
    assert f"the smallest class of records that look alike has {facts['joint_k']} record" in shown
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
    with pytest.raises(PromiseError, match=r"what step 1 \(microaggregate\) promised of age, income does not hold"):
        shoal.run(recipe)
    swap = (
        'do = "mask"\nvital = ["job", ["guard"]]\nparameter = "district"\ninfluential = ["sex"]\nbudget = 40\nsteps = 9'
    )
    jobs = 'do = "generalize"\nquasi = ["job"]\nk = 150\neffort = "quick"'
    broken = steps_file(tmp_path / "b.toml", f"{swap}\ncompatibility = 0.1", jobs)
    with pytest.raises(PromiseError, match=r"what step 1 \(mask\) promised of district does not hold in the final"):
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
    release.save(tmp_path / "out.csv")
    after = pl.read_csv(tmp_path / "out.csv")
    kept = frame.filter(pl.col("income").is_not_null())
    assert after["job"].equals(kept["job"]) and after.height == kept.height
    assert release.original.rows == kept.height and release.assessment["k"] == release.facts["joint_k"]
    assert after.null_count().sum_horizontal().item() == 0


def test_what_goes_wrong_in_a_step_names_the_step(people: Path, tmp_path: Path) -> None:
    steps = [
        'do = "generalize"\nquasi = ["age"]\nk = 4\neffort = "quick"',
        'do = "microaggregate"\nquasi = ["age"]\nk = 4',
    ]
    result = run("run", steps_file(tmp_path / "r.toml", *steps), code=2)
    assert (
        "r.toml, line 9: step 2 (microaggregate): the column 'age' has text where a number is needed" in result.stderr
    )


# -- what is said ----------------------------------------------------------------------------------


def test_a_changed_input_is_refused_unless_it_is_meant(people: Path, tmp_path: Path) -> None:
    recipe, out = tmp_path / "r.toml", tmp_path / "out.csv"
    run("microaggregate", people, "-k", 4, "--quasi", "age,income", "--method", "mdav", "--save-recipe", recipe)
    with people.open("a") as file:
        file.write("person 999,44,1000.5,ayr,f,cook,D01\n")
    result = run("run", recipe, "-o", out, code=2)
    assert "has changed since the recipe was written" in result.stderr and "--changed-input" in result.stderr
    assert not out.exists()
    result = run("run", recipe, "-o", out, "--changed-input")
    assert "Warning" in result.stderr and pl.read_csv(out).height == 241


def test_another_version_is_named(people: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    run("microaggregate", people, "-k", 4, "--quasi", "age,income", "--method", "mdav", "--save-recipe", recipe)
    recipe.write_text(recipe.read_text().replace(f'shoal = "{shoal.__version__}"', 'shoal = "0.0.7"'))
    result = run("run", recipe)
    assert f"written by shoal 0.0.7, and this is {shoal.__version__}" in result.stderr


def test_a_recipe_is_called_toml_and_checked_before_the_work(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    result = run("microaggregate", people, "-k", 4, "--quasi", "age,income", "-o", out, "--save-recipe", out, code=2)
    assert "call it out.toml" in result.stderr and not out.exists()
    result = run("run", tmp_path / "none.toml", code=2)
    assert "cannot be read" in result.stderr


WRONG = {
    'seed = 1\n\n[[steps]]\ndo = "microagregate"\nk = 3': (4, "did you mean 'microaggregate'?"),
    '[[steps]]\ndo = "microaggregate"\n': (1, "'k' is missing"),
    '[[steps]]\nk = 3\n': (1, "'do' is missing"),
    '[[steps]]\ndo = "microaggregate"\n# three\nk = "3"': (4, "k = '3' does not fit"),
    '[[steps]]\ndo = "microaggregate"\nk = true': (3, "k = True does not fit"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmetod = "mdav"': (4, "did you mean 'method'?"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdav"\neffort = "quick"': (5, "with method 'mdav' there is no"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nmethod = "mdv"': (4, "did you mean 'mdav'?"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\n[[steps]]\ndo = "mask"\nk = 3': (6, "in the step mask there is no"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nseed = 4': (4, "'seed' belongs in the top of the recipe"),
    '[[steps]]\ndo = "microaggregate"\nk = 3\nthreads = 4': (4, "the command line (--threads)"),
    'quasi = ["a"]\n[[steps]]\ndo = "microaggregate"\nk = 3': (1, "may belong in [input]"),
    '[input]\nfile = "a.csv"\nquasi = [\n  "a",\n  3,\n]\n[[steps]]\ndo = "group"\nk = 3': (3, "input.quasi.1 = 3"),
    '[input]\nsha256 = "abc"\n[[steps]]\ndo = "group"\nk = 3': (2, "input.sha256 = 'abc' does not fit"),
    'seed = 1\n[[steps]]\ndo = "group"\nk = ': (4, "is no TOML"),
    "[[steps]]\ndo = 'generalize'\nk = 3\ngranularity = {age = 5}\ncuts = {age = [1, 'x']}": (5, "cuts = {"),
    'seed = 1\nseed = 2': (2, "is no TOML"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_names_its_line(tmp_path: Path, text: str) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(text)
    line, words = WRONG[text]
    with pytest.raises(InputError) as caught:
        load_recipe(recipe)
    assert f"line {line}" in str(caught.value) and words in str(caught.value)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('[[steps]]\ndo = "microaggregate"\nk = 1.5\nround = 1\nquasi = "age"\n')
    result = run("run", recipe, code=2)
    assert [f"line {n}" in result.stderr for n in (3, 4, 5)] == [True] * 3


# -- properties ------------------------------------------------------------------------------------

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
NAMES = st.lists(WORDS, max_size=3).map(tuple)
SUMS = st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex)
ARGUMENTS = st.dictionaries(WORDS.filter(lambda name: name != "do"), VALUES, max_size=5)
FILES = st.sampled_from(["a.csv", "b/c.parquet", "ü ber.csv", "x\ty.csv"])


def anything(arguments: Any) -> dict[str, inspect.Parameter]:
    return {n: inspect.Parameter("x", inspect.Parameter.KEYWORD_ONLY, annotation=Any, default=None) for n in arguments}


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    folder = Path("/data/release")
    return Recipe(
        seed=draw(st.integers(0, 2**40)),
        input=Input(
            file=draw(st.none() | FILES.map(lambda name: str(folder.parent / name))),
            sha256=draw(SUMS),
            identifiers=draw(NAMES),
            quasi=draw(NAMES),
            confidential=draw(NAMES),
            weight=draw(st.none() | WORDS),
            delimiter=draw(st.sampled_from([None, ";", "\t"])),
            encoding=draw(st.sampled_from([None, "latin-1"])),
            decimal=draw(st.sampled_from([None, ".", ","])),
        ),
        steps=tuple(Step(do="x", **step) for step in draw(st.lists(ARGUMENTS, min_size=1, max_size=3))),
        output=draw(st.none() | st.builds(Output, file=FILES.map(lambda n: str(folder / n)), sha256=SUMS)),
        versions=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
    )


@settings(max_examples=150)
@given(recipes())
def test_a_recipe_written_and_read_is_the_same(recipe: Recipe) -> None:
    folder = Path("/data/release")
    text = recipe.text(folder)
    assert parse_recipe(text, {"x": anything}, folder / "r.toml") == recipe
    for i, step in enumerate(recipe.steps):
        assert text.split("\n")[(line_of(text, ("steps", i)) or 0) - 1] == "[[steps]]"
        for name in step.arguments:
            found = text.split("\n")[(line_of(text, ("steps", i, name)) or 0) - 1]
            assert found.startswith((name, '"'))


def test_every_method_tells_what_it_may_be_given() -> None:
    for name in METHODS:
        allowed = step_parameters("microaggregate", {"method": name})
        assert {"k", "quasi", "method", "round"} <= set(allowed)
        assert not {"data", "seed", "threads", "progress", "checkpoint", "resume", "weights"} & set(allowed)
    for name in ("flow", "memetic"):
        assert ("budget" in step_parameters("mask", {"method": name})) == (name == "flow")
    assert set(FUNCTIONS) == {"microaggregate", "group", "generalize", "mask"}


def test_relative_paths_are_those_of_the_recipes_folder(people: Path, tmp_path: Path) -> None:
    inner = tmp_path / "recipes"
    inner.mkdir()
    run(
        "microaggregate", people, "-k", 4, "--quasi", "age", "-o", tmp_path / "o.csv", "--save-recipe", inner / "r.toml"
    )
    assert 'file = "../people.csv"' in (inner / "r.toml").read_text()
    here = os.getcwd()
    try:
        os.chdir(inner)
        run("run", "r.toml")
    finally:
        os.chdir(here)
    assert not (inner / "o.csv").exists()
