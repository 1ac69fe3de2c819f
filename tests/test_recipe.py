"""Any recipe that is written is read again as it was; every step knows what it may be given."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.gate.saving import Saving
from shoal.protections.microaggregation import MICROAGGREGATE, microaggregate
from shoal.protections.recorded import input_of
from shoal.protections.regions import MASK
from shoal.recipe import Input, Output, Recipe, Step, line_of, parse_recipe
from shoal.release import Release
from shoal.running import run
from shoal.sources.reading import read
from shoal.table.roles import LISTS

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
NAMES = st.lists(WORDS, max_size=3).map(tuple)
BY_COLUMN = st.dictionaries(WORDS, NAMES, max_size=2)
SUMS = st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex)
ARGUMENTS = st.dictionaries(WORDS.filter(lambda name: name != "do"), VALUES, max_size=5)
FILES = st.sampled_from(["a.csv", "b/c.parquet", "ü ber.csv", "x\ty.csv"])


def anything(arguments: Any) -> list[tuple[str, str]]:
    """A step that takes any argument."""
    return []


def outputs(folder: Path) -> st.SearchStrategy[Output]:
    places = FILES.map(lambda name: str(folder / name))
    return st.builds(
        Output, file=places, sha256=SUMS, shuffle=st.booleans(), keep_order=st.booleans(),
        policy=st.sampled_from([None, "public", str(folder / "own.toml")]), previous=st.none() | places,
        first_release=st.booleans(), accept_k=st.none() | st.integers(1, 99), round_weight=st.booleans(),
    )  # fmt: skip


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    folder = Path("/data/release")
    return Recipe(
        seed=draw(st.integers(0, 2**40)),
        secret=draw(st.none() | st.binary(min_size=16, max_size=16).map(bytes.hex)),
        input=Input(
            file=draw(st.none() | FILES.map(lambda name: str(folder.parent / name))),
            sha256=draw(SUMS),
            identifiers=draw(NAMES),
            quasi=draw(NAMES),
            confidential=draw(NAMES),
            weight=draw(st.none() | WORDS),
            roles=draw(st.none() | FILES.map(lambda name: str(folder / name))),
            unit=draw(st.none() | st.just(False) | WORDS),
            drop=draw(NAMES),
            as_is=draw(NAMES),
            derived=draw(BY_COLUMN),
            no_confidential=draw(st.booleans()),
            reasons=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
            order=draw(BY_COLUMN),
            nominal=draw(NAMES),
            numeric=draw(NAMES),
            accept_derived=draw(NAMES),
            delimiter=draw(st.sampled_from([None, ";", "\t"])),
            encoding=draw(st.sampled_from([None, "latin-1"])),
            decimal=draw(st.sampled_from([None, ".", ","])),
        ),
        steps=tuple(Step(do="x", **step) for step in draw(st.lists(ARGUMENTS, min_size=1, max_size=3))),
        output=draw(st.none() | outputs(folder)),
        versions=draw(st.dictionaries(WORDS, WORDS, max_size=2)),
    )


@settings(max_examples=150)
@given(recipes())
def test_a_recipe_written_and_read_is_the_same(recipe: Recipe) -> None:
    folder = Path("/data/release")
    text = recipe.text(folder)
    assert text.startswith("# INTERNAL")
    assert parse_recipe(text, {"x": anything}, folder / "r.toml") == recipe
    for i, step in enumerate(recipe.steps):
        assert text.split("\n")[(line_of(text, ("steps", i)) or 0) - 1] == "[[steps]]"
        for name in step.arguments:
            found = text.split("\n")[(line_of(text, ("steps", i, name)) or 0) - 1]
            assert found.startswith((name, '"'))


def test_every_method_lists_its_arguments() -> None:
    for name in MICROAGGREGATE.method_names:
        allowed = {n for n, p in MICROAGGREGATE.of(name).items() if p.option.in_recipe}
        assert {"k", "quasi", "method", "round"} <= allowed
        assert not {"data", "seed", "secret", "threads", "progress", "checkpoint", "resume", "weights"} & allowed
    for name in ("flow", "memetic"):
        assert ("budget" in MASK.of(name)) == (name == "flow")
        assert "secret" not in MASK.of(name)  # it stands at the top, once


def test_the_roles_of_a_recipe_are_those_of_a_table() -> None:
    """Whatever a table may be given stands in a recipe, and reading it again gives the same roles."""
    fields = set(inspect.signature(read).parameters) - {"data"}
    assert fields == set(Input.known_keys()) - {"file", "sha256", "files", "checksums"}
    assert {f.name for f in dataclasses.fields(Saving)} == set(Output.known_keys()) - {"file", "sha256"}
    assert set(inspect.signature(Release.save).parameters) - {"self", "path"} == {
        f.name for f in dataclasses.fields(Saving)
    }


@settings(max_examples=60)
@given(st.data())
def test_roles_written_in_a_recipe_come_back(data: st.DataObject) -> None:
    columns = [f"c{i}" for i in range(10)]
    frame = pl.DataFrame({name: ["1", "2"] for name in columns})
    part = {name: data.draw(st.sampled_from(["none", *LISTS, "derived", "weight", "unit"])) for name in columns}
    given_roles: dict[str, Any] = {role: [c for c, r in part.items() if r == role] for role in LISTS}
    for role in ("weight", "unit"):
        named = [c for c, r in part.items() if r == role]
        given_roles[role] = named[0] if named else data.draw(st.sampled_from([None, False])) if role == "unit" else None
    given_roles["derived"] = {c: [columns[0]] for c, r in part.items() if r == "derived"}
    given_roles["no_confidential"] = not given_roles["confidential"] and data.draw(st.booleans())
    given_roles["reasons"] = {c: "why" for c in given_roles["as_is"] if data.draw(st.booleans())}
    given_roles["nominal"] = data.draw(st.lists(st.sampled_from(columns), unique=True, max_size=2))
    table = read(frame, **given_roles)
    recipe = Recipe(input=input_of(table), steps=(Step(do="x"),))
    back = parse_recipe(recipe.text(), {"x": anything}, Path("/data/r.toml")).input
    assert read(frame, **back.stated("file", "sha256")).roles == table.roles


def test_a_recipe_without_a_loss_means_sums_of_squares(tmp_path: Path) -> None:
    """Recipes from before the default changed; methods that have no such choice keep none."""
    frame = pl.DataFrame({"age": [20, 25, 30, 40, 60, 61, 62, 80], "sex": list("fmfmfmfm")})
    frame.write_csv(tmp_path / "people.csv")
    table = read(tmp_path / "people.csv", quasi=("age", "sex"))
    for method, recorded, absent in (("anneal", "changes", "gini"), ("mdav", None, None)):
        release = microaggregate(table, 3, method=method)
        [step] = release.recipe.steps
        assert step.arguments.get("loss") == recorded
        old = dataclasses.replace(
            release.recipe,
            steps=(Step(do=step.do, **{name: v for name, v in step.arguments.items() if name != "loss"}),),
        )
        again = run(old)
        assert again.facts.get("loss") == (absent or "gini")
        assert run(release.recipe).frame.equals(release.frame)
