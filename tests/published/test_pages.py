"""The pages of the docs that rest on kept runs agree with the kept file: a stale page fails."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from shoal.studies import kept
from shoal.studies.reproduce import ENTRIES, reproduce
from shoal.studies.reproduce.pages import markdown_table
from shoal.studies.sensitivity import Grid, values_of

PAGES = Path(__file__).parents[2] / "docs" / "published"
TINY = Grid((0.0, 0.1), (0.0, 0.3), (10,), repeats=2, generations=5)
SMALLER: dict[str, Any] = {"sme": TINY, "ga-small": TINY, "sensitivity": (TINY, 5)}
RENEW = "is stale: run `shoal reproduce all --quick -o docs/published`"


@pytest.fixture(scope="module")
def kept_sets() -> dict[str, int]:
    """The number of kept runs per set."""
    runs = {name: kept.kept_runs(values_of(name)) for name in kept.SETS}
    return {name: frame.height for name, frame in runs.items() if frame is not None}


@pytest.mark.parametrize("name", SMALLER)
def test_a_page_agrees_with_the_kept_runs(
    name: str, kept_sets: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row and every figure of a set with kept runs is on the page; other sets run a tiny grid here."""
    module = importlib.import_module(f"shoal.studies.reproduce.{ENTRIES[name][0]}")
    monkeypatch.setitem(module.BUDGETS, "quick", SMALLER[name])
    result = reproduce(name, quick=True)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    compared = 0
    for table in result.tables:
        if "seconds" in " ".join(table["columns"]):
            continue
        lines = markdown_table(table["columns"], table["rows"]).splitlines()[2:]
        whole = name == "sme" or table["title"].rpartition(", ")[2] in kept_sets
        for row, line in zip(table["rows"], lines, strict=True):
            if whole or row[0] in kept_sets:
                assert line in page, f"{name}.md {RENEW}: {table['title']}: {line}"
                compared += 1
    assert compared > 0


@pytest.mark.parametrize("name", SMALLER)
def test_a_page_says_how_many_runs_it_is_made_of(name: str, kept_sets: dict[str, int]) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    sets = ("sme",) if name == "sme" else tuple(s for s in kept_sets if s != "sme" and f"| {s} |" in page)
    for one in sets:
        shown = "the companies" if one == "sme" else one
        number = kept_sets.get(one, 0)
        words = f"{shown} ({number:,} runs)" if 0 < number < 12_100 else shown
        assert words in page, f"{name}.md {RENEW}: {words}"


def test_no_page_or_module_holds_the_share_of_optimal_runs_as_a_literal() -> None:
    module = importlib.import_module("shoal.studies.reproduce.sme")
    assert "91.3" not in Path(str(module.__file__)).read_text(encoding="utf-8")
