"""Every method, check and source has its place in the docs, and the navigation has every page."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from shoal.cli import COMMANDS
from shoal.gate.check import check
from shoal.gate.policy import JUDGED, Thresholds, policy_named
from shoal.gate.policy import names as policies
from shoal.protections.microaggregation.register import METHODS
from shoal.sources.roles_file import TABLES, TOP
from shoal.studies.reproduce import ENTRIES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# start, of genetic: how the hybrid hands in the heuristic's groups. order, of path: the earlier name of path_order.
INTERNAL = {"start", "order"}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_a_page_with_its_options_and_an_example(name: str) -> None:
    page = (DOCS / "methods" / f"{name}.md").read_text(encoding="utf-8")
    for option in set(METHODS[name].options) - INTERNAL:
        assert f"--{option.replace('_', '-')}" in page, option
    assert "When to use" in page or "take |" in page
    assert "```console" in page
    assert f"({name}.md)" in (DOCS / "methods" / "index.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted(DOCS.rglob("*.md")):
        assert str(page.relative_to(DOCS)) in nav, page
    for name in ENTRIES:
        assert f"published/{name}.md" in nav


def test_the_readme_names_every_command() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"shoal {name}" in readme, name


def test_the_page_on_the_release_check_names_every_check() -> None:
    page = (DOCS / "release-gate.md").read_text(encoding="utf-8")
    frame = pl.DataFrame({"age": [23, 23, 60, 60], "sex": ["f", "f", "m", "m"], "w": [1.5, 1.5, 2.5, 2.5]})
    found = check(frame, frame, quasi=["age", "sex"], weight="w", k=2, column_groups=[["age"], ["sex"]])
    for name in {finding.check for finding in found} | set(JUDGED) | {"written", "swapped"}:
        assert f"`{name}`" in page, name
    for field in fields(Thresholds):
        assert f"`{field.name}`" in page, field.name
    for name in policies():
        assert f"`{name}`" in page, name
    for key in (*TABLES, *TOP, "order", "derived"):
        assert f"`{key}`" in page or f"`[{key}]`" in page, key


def test_the_references_have_every_source_of_a_policy() -> None:
    lines = (DOCS / "references.md").read_text(encoding="utf-8").splitlines()
    cited = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    for name in policies():
        for source in policy_named(name).sources.values():
            for part in source.split("; "):
                known = part.startswith("convention of Shoal") or any(part.startswith(entry) for entry in cited)
                assert known, part


def test_the_page_on_the_intruder_names_every_role() -> None:
    page = (DOCS / "intruder.md").read_text(encoding="utf-8")
    for option in ("identifiers", "quasi", "confidential", "weight", "unit", "derived", "drop", "as-is"):
        assert f"`--{option}" in page, option
    for name in ("protected", "known", "released"):
        assert f"**{name}**" in page, name


def test_every_check_has_tests_that_guard_it() -> None:
    page = (DOCS / "release-gate.md").read_text(encoding="utf-8").split("## Tests that guard each check")[1]
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    named = {check_name: re.findall(r"`tests/([\w/.]+)::(\w+)`", tests) for check_name, tests in rows}
    frame = pl.DataFrame({"x": [1.0, 1.0, 2.0, 2.0], "y": [1.0, 1.0, 2.0, 2.0]})
    found = check(frame, frame, quasi=["x", "y"], column_groups=[["x"], ["y"]], swapped=["x"], k=2)
    assert {finding.check for finding in found} | {"written"} == set(named)
    for check_name, tests in named.items():
        assert tests, check_name
        for file, name in tests:
            assert f"def {name}(" in (DOCS.parent / "tests" / file).read_text(encoding="utf-8"), f"{file}::{name}"
