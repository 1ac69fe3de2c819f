"""Any recipe that is written is read again as it was; every step knows what it may be given."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.partition.methods import METHODS
from shoal.protect.run import FUNCTIONS, step_parameters
from shoal.recipe import Input, Output, Recipe, Step, line_of, parse_recipe

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
    assert set(FUNCTIONS) == {"microaggregate", "group", "generalize", "apply", "mask"}
