"""Every method has its page with its options, and the navigation has every page of the published results."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.cli import COMMANDS
from shoal.partition.methods import METHODS
from shoal.study.reproduce import ENTRIES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INTERNAL = {"start"}  # of genetic: how the hybrid hands in the heuristic's groups


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
