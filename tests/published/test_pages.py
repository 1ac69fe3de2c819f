"""The pages of published results agree with the kept runs, and with what needs no search: a stale page fails.

`test_reproduce.py` compares their titles, published cells and texts.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from published.on_page import missing_rows, what_is_stale
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.report.figures import figure
from shoal.studies import kept
from shoal.studies.analysis import FACTORS, BestSettings, analyse
from shoal.studies.reproduce import ENTRIES, reproduce
from shoal.studies.reproduce.pages import markdown_table
from shoal.studies.reproduce.result import ResultTable
from shoal.studies.sensitivity import Grid, values_of
from shoal.table.scaling import scale

PAGES = Path(__file__).parents[2] / "docs" / "published"
TINY = Grid((0.0, 0.1), (0.0, 0.3), (10,), repeats=2, generations=5)
SMALLER: dict[str, Any] = {"sme": TINY, "ga-small": TINY, "sensitivity": (TINY, 5)}
ANALYSED = "11x2"  # the analysis of one set takes five seconds; the surfaces of all sets are compared
RENEW = "is stale: run `python docs/make_published.py NAME`"


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
    analysed = ANALYSED if name == "sensitivity" else ""
    if analysed:
        runs = kept.kept_runs(values_of(analysed))
        nothing = BestSettings([], {factor: [0.0] for factor in FACTORS}, {factor: [0.0] for factor in FACTORS})
        monkeypatch.setattr(module, "analyse", lambda frame: analyse(frame) if frame.equals(runs) else nothing)
    result = reproduce(name, quick=True)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    compared = 0
    for table in result.tables:
        if "seconds" in " ".join(table["columns"]):
            continue
        lines = markdown_table(table["columns"], table["rows"]).splitlines()[2:]
        whole = name == "sme" or table["title"].rpartition(", ")[2] in kept_sets
        for row, line in zip(table["rows"], lines, strict=True):
            if whole or (row[0] in kept_sets and (analysed in ("", row[0]) or row[1] == "printed")):
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


def tables_without_search(name: str, folder: Path) -> list[ResultTable]:
    """The tables of an entry, or some of their rows, that no random number changes."""
    module: Any = importlib.import_module(f"shoal.studies.reproduce.{ENTRIES[name][0]}")
    if name == "representatives":
        return reproduce(name, quick=True).tables
    if name == "military":
        return [module.published_table(), module.restriction_table(), module._parameter_table()]
    if name == "adult":
        return [module._domains(module._problems(folder / "adult.csv").domains)]
    budget = module.BUDGETS["quick"]._replace(ks=(100,))
    values = {one: module.load(folder, one) for one in ("water", "census")}
    tables = [module.example(), *(module.hand_made(values[one], one, budget) for one in values)]
    whole = module.BUDGETS["quick"]._replace(ks=module.KS[:1])
    return [*tables, module.built(values["census"], "census", whole)]


@pytest.mark.parametrize("name", ["representatives", "military", "adult", "gomm"])
def test_a_page_agrees_with_what_needs_no_search(name: str, shared_data: Path) -> None:
    for table in tables_without_search(name, shared_data):
        assert table["rows"]
        assert not missing_rows(name, table), f"{name}.md {RENEW}: {table['title']}"


def test_the_page_of_the_hybrid_agrees_with_mdav(shared_data: Path) -> None:
    module: Any = importlib.import_module("shoal.studies.reproduce.hybrid")
    page = (PAGES / "hybrid.md").read_text(encoding="utf-8")
    for name in ("census", "eia"):
        values = scale(module.numbers(name, shared_data, 0))
        sse = sse_of(mdav(values, 3), values)
        assert sum(f"| {name} |" in line and f"| {figure(sse)} |" in line for line in page.splitlines()) == 3, RENEW


def test_a_stale_page_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another title, head, published cell, row or sentence than the page has."""
    result = reproduce("representatives", quick=True)
    assert not what_is_stale("representatives", result)
    first, second = result.tables
    row = first["rows"][0]
    other: list[ResultTable] = [
        {**first, "title": "Table 9: a(n,k)"},
        {**first, "columns": [*first["columns"][:-1], "k=6"]},
        {**first, "rows": [[row[0], row[1] + 1, *row[2:]], *first["rows"][1:]]},
        {**second, "note": second["note"] + " It is."},
    ]
    for table in other:
        assert len(what_is_stale("representatives", replace(result, tables=[table]))) == 1, table
    assert len(what_is_stale("representatives", replace(result, convention="Real numbers."))) == 1
    changed: ResultTable = {**first, "rows": [[row[0] + 1, *row[1:]]]}
    assert missing_rows("representatives", changed) and not missing_rows("representatives", first)
