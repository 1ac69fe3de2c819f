"""What a page says of how to repeat a release does repeat it: its command and its Python are run."""

from __future__ import annotations

import html
import json
import re
import shlex
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from command_line import run, sha256
from shoal.cli import main
from shoal.errors import ShoalWarning
from shoal.protections import register
from shoal.recipe import Input, Output
from shoal.report.repeat import NOT_TYPED, command
from shoal.running import load_recipe

NUMBERS = ["age", "income", "hours, weekly"]
# What is read with which roles, what is called, and how its release is saved.
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "microaggregate": ("microaggregate", {"k": 4, "method": "vmdav", "gamma": 0.3, "round": True}, {}),
    "mst": ("microaggregate", {"k": 3, "method": "mst", "split": False, "aggregate": "median"}, {}),
    "mixed": ("microaggregate", {"k": 4, "method": "mdav", "importance": {"age": 2.0, "town": 0.5}}, {}),
    "within": ("microaggregate", {"k": 3, "method": "mdav", "within": ["job", "grade"]}, {}),
    "group": ("group_attributes", {"k": 4, "method": "correlated", "size": 2, "effort": "quick"}, {"accept_k": 1}),
    "own groups": (
        "group_attributes", {"k": 4, "groups": [["age"], ["income", "hours, weekly"]], "effort": "quick"},
        {"accept_k": 1},
    ),
    "generalize": (
        "generalize",
        {
            "k": 4, "quasi": ["age", "town"], "granularity": {"age": [5, 0, 100]}, "order": {"town": "frequency"},
            "weights": {"age": 2.0}, "prefer": (0.3, 1.0), "suppress": 0.05, "l": ("entropy", 1.5), "effort": "quick",
        },
        {},
    ),
    "sets": (
        "generalize", {"k": 3, "quasi": ["age", "town"], "sets": [["age"], ["town"]], "effort": "quick"},
        {"accept_k": 1},
    ),
    "mask": (
        "mask_group",
        {
            "vital": ("job", ["guard"]), "parameter": "town", "influential": ["age", "illness"], "ordinal": ["age"],
            "outliers": ["b"], "thresholds": [8.0], "sensitivity": 1.0, "compatibility": 0.0, "distortion": 1.0,
            "weights": {"age": 2.0, "illness": 0.5}, "budget": 3, "steps": 0,
            "settings": "published",
        },
        {"accept_k": 1},
    ),
}  # fmt: skip
ORDER = {"grade": ["low, or none", "middle", "high"]}
ROLES: dict[str, dict[str, Any]] = {
    "mixed": {"order": ORDER, "nominal": ["wave"], "derived": {"tax": ["income"]}, "unit": False,
              "quasi": [*NUMBERS, "town", "job", "grade", "wave"]},
    "within": {"order": ORDER, "nominal": ["wave"], "quasi": [*NUMBERS, "town"], "as_is": ["wave"], "drop": ["tax"]},
    "generalize": {"quasi": [], "as_is": ["income", "hours, weekly", "job", "grade", "wave"], "drop": ["tax"]},
    "mask": {"quasi": [], "confidential": [], "drop": ["tax"]},
}  # fmt: skip
ROLES["sets"] = ROLES["generalize"]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    n = 120
    town = rng.choice(["a", "b", "c", "d e"], n)
    frame = pl.DataFrame(
        {
            "name": [f"p{i}" for i in rng.permutation(n)],
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(9, 1, n).round(2),
            "hours, weekly": rng.integers(0, 60, n),
            "town": town,
            "job": np.where((town == "b") & (rng.random(n) < 0.6), "guard", "clerk"),
            "illness": rng.choice(["x", "y"], n),
            "grade": rng.choice(["low, or none", "middle", "high"], n),
            "wave": rng.integers(1, 4, n),
        }
    ).with_columns((pl.col("income") * 0.19).round(2).alias("tax"))
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path


def blocks(page: Path) -> dict[str, str]:
    """The commands of a page, by their titles."""
    found = re.findall(r"<h3>([^<]*)</h3>\s*<pre><code>(.*?)</code></pre>", page.read_text(encoding="utf-8"), re.DOTALL)
    return {title: html.unescape(text) for title, text in found}


def read(people: Path, name: str) -> Any:
    """The file with the roles of a run; every column has one."""
    usual = {"identifiers": ["name"], "quasi": NUMBERS, "confidential": ["illness"]}
    if name not in ROLES:
        usual |= {"as_is": ["town", "job", "grade", "wave"], "drop": ["tax"]}
    return shoal.read(people, **(usual | ROLES.get(name, {})))


@pytest.mark.parametrize("typed", [7, None], ids=["seed", "secret"])
@pytest.mark.parametrize("name", list(RUNS))
def test_repeats(name: str, typed: int | None, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, given, saving = RUNS[name]
    release = getattr(shoal, function)(read(people, name), **given, **({} if typed is None else {"seed": typed}))
    proposed = blocks(release.report(tmp_path / "page.html"))  # not saved yet: the page proposes a name
    assert "release.csv" in proposed["Command"] and "release.csv" in proposed["Python"]
    target = tmp_path / "first.csv"
    warned = name == "mask" and typed is not None  # whoever knows the seed can undo the swaps
    with pytest.warns(ShoalWarning, match="seed") if warned else nullcontext():
        saved = release.save(target, **saving)
    first = target.read_bytes()
    told = blocks(saved.report(tmp_path / "page.html"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.toml").write_text(told["Recipe (recipe.toml)"], encoding="utf-8")
    words = shlex.split(told["Command"])
    hidden = name == "mask" and typed is None  # the swaps are drawn from the secret, which only the recipe holds
    assert (words[1] == "run") == (name == "own groups" or hidden)
    assert ("--seed" in words) == (typed is not None and words[1] != "run")
    target.unlink()
    result = CliRunner().invoke(main, words[1:])
    assert result.exit_code == 0, f"{told['Command']}\n{result.output}"
    assert target.read_bytes() == first
    target.unlink()
    with pytest.warns(ShoalWarning, match="seed") if warned else nullcontext():
        exec(told["Python"], {})
    assert target.read_bytes() == first
    if not saving:
        CliRunner().invoke(main, shlex.split(proposed["Command"])[1:])
        assert (tmp_path / "release.csv").read_bytes() == first


def test_a_blocked_release_says_that_its_lines_write_nothing(people: Path, tmp_path: Path) -> None:
    roles = {"identifiers": ["name"], "quasi": NUMBERS, "confidential": ["illness"], "drop": ["tax"]}
    release = shoal.microaggregate(shoal.read(people, **roles), k=4, method="mdav")
    text = html.unescape(release.report(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "The release check blocks this release (known-k" in text and "do not write a file" in text
    fine = shoal.microaggregate(read(people, "microaggregate"), k=4, method="mdav")
    assert "do not write a file" not in fine.report(tmp_path / "page.html").read_text(encoding="utf-8")
    saved = release.save(tmp_path / "out.csv", accept_k=1, keep_order=True)
    text = html.unescape(saved.report(tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "do not write a file" not in text and "accepted k over all columns that an intruder may know" in text
    assert "original row order kept although it discloses values" in text
    assert "--accept-k 1" in blocks(tmp_path / "page.html")["Command"]


def test_reasons_are_repeated_by_the_recipe_and_by_python(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reasons = {"town": "only the office knows it", "job": "changes within weeks", "grade": "secret", "wave": "ours"}
    data = shoal.read(
        "people.csv", identifiers="name", quasi=NUMBERS, confidential="illness", as_is=reasons, drop="tax", unit=False
    )
    release = shoal.microaggregate(data, k=4, method="mdav")
    saved = release.save("out.csv")
    first = Path("out.csv").read_bytes()
    page = saved.report(tmp_path / "page.html")
    assert all(
        f"<b>as-is</b><small>{reason}.</small>" in page.read_text(encoding="utf-8") for reason in reasons.values()
    )
    told = blocks(page)
    assert told["Command"] == "shoal run recipe.toml"
    Path("recipe.toml").write_text(told["Recipe (recipe.toml)"], encoding="utf-8")
    assert load_recipe("recipe.toml").input.reasons == reasons
    for again in (lambda: run("run", "recipe.toml"), lambda: exec(told["Python"], {})):
        Path("out.csv").unlink()
        again()
        assert Path("out.csv").read_bytes() == first
    assert "unit=False" in told["Python"]


def test_a_release_of_several_steps(people: Path, tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(
        'seed = 7\n[input]\nfile = "people.csv"\nidentifiers = ["name"]\nconfidential = ["illness"]\n'
        'as_is = ["hours, weekly", "grade", "wave"]\ndrop = ["tax"]\n'
        '[[steps]]\ndo = "generalize"\nk = 30\nquasi = ["town", "job"]\neffort = "quick"\n'
        '[[steps]]\ndo = "microaggregate"\nk = 3\nquasi = ["age", "income"]\nmethod = "mdav"\n',
        encoding="utf-8",
    )
    release = shoal.run(tmp_path / "recipe.toml")
    inside = release.report(tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("Step 1, generalize", "Step 2, microaggregate", "Categories", "k of a column group (2)"):
        assert words in inside
    assert "shoal run recipe.toml" in inside
    saved = release.save(tmp_path / "out.csv", accept_k=1)
    assert "accepted k over all columns that an intruder may know" in saved.report(tmp_path / "page.html").read_text(
        encoding="utf-8"
    )
    outside = saved.report(tmp_path / "page.html", external=True).read_text(encoding="utf-8")
    assert "people.csv" not in outside and "accepted" not in outside
    assert "<h3>Categories</h3>" in outside and "guard" not in outside  # how many, and none of them by name


READING = [
    "--identifiers", "name", "--delimiter", ";", "--encoding", "latin-1", "--decimal", ",", "--drop", "tax",
    "--shuffle", "--policy", "rules/own.toml",
]  # fmt: skip
MANY = {
    "microaggregate": [
        "--quasi", 'age,income,"hours, weekly",grade,town', "--confidential", "illness", "-k", "4", "--method", "vmdav",
        "--gamma", "0.3", "--round", "--scaling", "minmax", "--missing", "median", "--refine",
        "--previous", "earlier.csv", "--order", 'grade="low, or none",middle,high', "--importance", "age=2,town=0.5",
        "--as-is", "wave,job", "--nominal", "wave", "--numeric", "age", "--no-unit", "--accept-derived", "job",
        "--weight", "w", "--round-weight",
    ],
    "group": [
        "--quasi", 'age,income,"hours, weekly"', "-k", "4", "--evaluations", "30", "--convention", "thesis", "--front",
        "--round", "--missing", "median", "--accept-k", "1", "--as-is", "town,job,grade,wave,w,illness",
        "--no-confidential", "--first-release",
    ],
    "generalize": [
        "--quasi", "age,town,job", "--confidential", "illness", "-k", "4", "--granularity", "age=5:0:100",
        "--order", "town=d e,c,b,a", "--order", "job=frequency", "--prefer", "0.3,1", "--weights", "age=2,town=0.5",
        "--suppress", "0.05", "-l", "entropy:1.2", "-t", "0.9", "--distance", "ordered", "--effort", "quick",
        "--pick", "1", "--as-is", 'income,"hours, weekly",grade,wave,w',
    ],
    "mask": [
        "--vital", "job=guard", "--parameter", "town", "--influential", "age,illness", "--ordinal", "age",
        "--outliers", "b", "--thresholds", "8", "--sensitivity", "1", "--compatibility", "0", "--distortion", "1",
        "--weights", "age=2,illness=0.5", "--restriction", "linear", "--method", "memetic", "--runs", "2",
        "--generations", "20", "--population", "10", "--mutation", "0.01", "--tau", "--accept-k", "1",
        "--settings", "published",
    ],
}  # fmt: skip


@pytest.mark.parametrize("seed", [["--seed", "11"], []], ids=["seed", "secret"])
@pytest.mark.parametrize("name", list(MANY))
def test_a_command_of_many_options_its_recipe_and_its_python(
    name: str, seed: list[str], people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.read_csv(people)
    frame = frame.with_columns(pl.Series("w", np.random.default_rng(4).uniform(1, 5, frame.height)).round(3))
    if "--previous" in MANY[name]:
        coarse = frame.select(pl.col("age") // 30 * 30, "wave", "job")
        coarse.write_csv("earlier.csv", decimal_comma=True, separator=";")
    frame = frame.with_columns(pl.when(pl.col("income") < 3000).then(None).otherwise(pl.col("income")).alias("income"))
    people.write_bytes(frame.write_csv(separator=";", decimal_comma=True).encode("latin-1"))
    Path("rules").mkdir()
    Path("rules/own.toml").write_text('title = "ours"\njustification = "agreed by the board"\norder = "shuffled"\n')
    Path("out").mkdir()
    target, recipe = Path("out/release.parquet"), Path("recipe.toml")
    keep = ["-o", str(target), "--report", "page.html", "--save-recipe", "first.toml"]
    run(name, "people.csv", *MANY[name], *READING, *seed, *keep)
    made, asked = sha256(target), load_recipe("first.toml")
    assert (asked.secret is None) == bool(seed)
    kept = pl.read_parquet(target)
    assert not kept["illness"].equals(frame["illness"])  # the rows did change places
    told = blocks(Path("page.html"))
    target.unlink()
    recipe.write_text(told["Recipe (recipe.toml)"], encoding="utf-8")
    assert load_recipe(recipe) == asked
    words = shlex.split(told["Command"])
    if seed:
        assert words[:3] == ["shoal", name, "people.csv"]
        run(*words[1:], "--save-recipe", "again.toml")
        assert sha256(target) == made and load_recipe("again.toml") == asked
    else:
        assert told["Command"] == "shoal run recipe.toml"  # only the recipe holds the secret of the rows' order
        run(*words[1:])
        assert sha256(target) == made
    target.unlink()
    run("run", recipe, "--report", "page.html")
    assert sha256(target) == made and blocks(Path("page.html")) == told
    target.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        exec(told["Python"], {})
    assert sha256(target) == made


def options_of(command: str) -> set[str]:
    params = main.get_command(None, command).params  # type: ignore[arg-type]
    return {option for p in params for option in (*p.opts, *p.secondary_opts)}


@pytest.mark.parametrize("name", [p.name for p in register().values() if not p.part_of])
def test_every_argument_and_role_and_way_to_save_is_an_option(name: str) -> None:
    protection, options = register()[name], options_of(name)
    for parameter in protection.parameters.values():
        if parameter.option.in_recipe and parameter.option.on_command_line:
            assert parameter.flag in options, parameter.name
    for role in {*Input.known_keys(), *Output.known_keys()} - {
        "file",
        "files",
        "sha256",
        "checksums",
        "order",
        *NOT_TYPED,
    }:
        assert f"--{role.replace('_', '-')}" in options, role
    assert ("order" in protection.roles or "order" in protection.parameters) == ("--order" in options)


def test_what_no_option_can_hold_is_left_to_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"a=b": rng.integers(0, 50, 60), "town, part": rng.choice(["x,y", "z"], 60), " c": rng.normal(0, 1, 60)}
    )
    frame.write_parquet("in.parquet")
    data = shoal.read("in.parquet", quasi=["a=b", "town, part"])
    weighed = shoal.generalize(data, 3, weights={"a=b": 2.0}, effort="quick")
    ordered = shoal.generalize(data, 3, order={"town, part": ["x,y", "z"]}, effort="quick")
    spaced = shoal.microaggregate(shoal.read("in.parquet", quasi=["a=b", " c"]), 3, method="mdav")
    quoted = shoal.generalize(data, 3, effort="quick")
    by_role = {"quasi": ["town, part"], "order": {"town, part": ["x,y", "z"]}}
    ranked = shoal.microaggregate(shoal.read("in.parquet", **by_role), 3, method="mdav")
    ranked_elsewhere = shoal.generalize(shoal.read("in.parquet", **by_role), 3, effort="quick")
    follows = shoal.read("in.parquet", quasi=["town, part"], derived={"a=b": ["town, part"]})
    derived = shoal.microaggregate(follows, 3, method="mdav")
    for release, by_recipe in (
        (weighed, True), (ordered, False), (spaced, True), (quoted, False), (ranked, False), (ranked_elsewhere, True),
        (derived, True),
    ):  # fmt: skip
        told = command(release.recipe, release.protection)
        assert told.startswith("shoal run recipe.toml -o release.csv") is by_recipe, told


def test_a_mapping_that_is_applied_has_a_recipe(people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = ["generalize", "people.csv", "-k", "4", "--quasi", "age,town", "--effort", "quick", "--mapping", "m.json"]
    run(*first)
    asked = ["--identifiers", "name", "--seed", "5", "--shuffle", "-o", "out.csv", "--save-recipe", "r.toml"]
    asked += ["--drop", "tax", "--confidential", "illness", "--as-is", 'income,"hours, weekly",job,grade,wave']
    run("generalize", "people.csv", "--apply", "m.json", *asked, "--report", "page.html")
    made = sha256(Path("out.csv"))
    Path("m.json").unlink()  # the recipe holds it
    Path("out.csv").unlink()
    assert json.loads(run("run", "r.toml", "--json").stdout)["identical"] is True
    told = blocks(Path("page.html"))
    Path("out.csv").unlink()
    Path("recipe.toml").write_text(told["Recipe (recipe.toml)"], encoding="utf-8")
    run(*shlex.split(told["Command"])[1:])
    assert sha256(Path("out.csv")) == made
    Path("out.csv").unlink()
    with pytest.warns(ShoalWarning, match="seed"):
        exec(told["Python"], {})
    assert sha256(Path("out.csv")) == made
    refused = run("generalize", "people.csv", "--apply", "m.json", "-k", 3, code=2)
    assert "-k" in refused.stderr and "--apply" in refused.stderr
    text = Path("r.toml").read_text().splitlines()
    Path("r.toml").write_text("\n".join('mapping = "m.json"' if line.startswith("mapping") else line for line in text))
    missing = run("run", "r.toml", code=2)
    assert "step 1 (apply): The mapping" in missing.stderr and "cannot be read" in missing.stderr
    run(*first)
    assert json.loads(run("run", "r.toml", "--json").stdout)["identical"] is True
