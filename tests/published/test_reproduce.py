"""Every entry of `shoal reproduce` computes: another input gives other figures, and what is printed stays as it is."""

from __future__ import annotations

import importlib
import json
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from published.on_page import what_is_stale
from shoal.cli import main
from shoal.protections.generalization.evaluate import Problem
from shoal.protections.generalization.front import Front
from shoal.protections.generalization.nsga2 import Nsga2Settings, nsga2
from shoal.protections.grouping.gomm import GommSettings
from shoal.protections.regions.by_evolution import MemeticSettings, penalty
from shoal.protections.regions.by_flow import flow_seeds
from shoal.protections.regions.task import Answer, Solution, Verdict
from shoal.studies import datasets
from shoal.studies.military_task import military_task
from shoal.studies.reproduce import ENTRIES, reproduce
from shoal.studies.reproduce.catalogue import ITEMS, of_entry
from shoal.studies.reproduce.gomm import GommBudget
from shoal.studies.reproduce.operators import MonitoringBudget
from shoal.studies.reproduce.result import Result
from shoal.studies.sensitivity import Grid

PAGES = Path(__file__).parents[2] / "docs" / "published"


class Cheap(NamedTuple):
    """How to run an entry in seconds: other values for its module's names, the files it reads, what never changes.

    Of each file, every `step`th record is read.
    """

    quick: Any = None
    names: dict[str, Any] = {}  # noqa: RUF012
    files: tuple[str, ...] = ()
    step: int = 1
    fixed: tuple[str, ...] = ()
    equal: tuple[str, ...] = ()  # columns of small counts that may agree with print for another input too


def short_search(problem: Problem, *, seed: int, effort: str) -> Front:
    """The search for comparison, with 100 evaluations."""
    return nsga2(problem, seed=seed, settings=Nsga2Settings(evaluations=100))


SMALL = Grid((0.0, 0.1), (0.0, 0.3), (10,), repeats=2, generations=20)
CHEAP = {
    "representatives": Cheap(names={"SIZES": (12, 30)}),
    "sme": Cheap(SMALL, {"WITHIN": (0, 2, 5, 10)}, files=("sme",)),
    "ga-small": Cheap(Grid((0.1,), (0.3,), (10,), repeats=2, generations=40)),
    "sensitivity": Cheap((SMALL, 5)),
    "hybrid": Cheap(5, files=("census",), step=4),
    "gomm": Cheap(
        GommBudget((50,), GommSettings(10, 2), False, 1, 1),
        files=("water", "census"),
        step=3,
        fixed=("Table 2.1",),
        equal=("groups ours",),
    ),
    "operators": Cheap(MonitoringBudget(2, 8, 1), files=("water", "census"), step=3),
    "adult": Cheap(
        (200, (5,), "quick", 1),
        {"PRINTED_POPULATIONS": {100: (5, 55, -0.661)}, "search": short_search},
        files=("adult",),
        step=20,
    ),
    "military": Cheap(
        (MemeticSettings(runs=1, generations=1, population=10, pairs=4), 2, 1),
        {
            "flow_seeds": partial(flow_seeds, budget=2),
            "shoal.protections.regions.signal_search.HEIGHTS": 4,
            "shoal.studies.microfile.RECORDS": 20_000,
        },
        fixed=("Table 2:", "Table 3:", "Fig. 1:", "Feasible", "Section 5"),  # so short a run finds nothing feasible
    ),
}


RESTS_ON_KEPT_RUNS = ("sme", "ga-small")  # see test_pages.py


def test_every_entry_has_a_cheap_run() -> None:
    assert set(CHEAP) == set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_another_input_gives_other_figures(
    name: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"shoal.studies.reproduce.{ENTRIES[name][0]}")
    cheap = CHEAP[name]
    if cheap.quick is not None:
        monkeypatch.setitem(module.BUDGETS, "quick", cheap.quick)
    for attribute, value in cheap.names.items():
        monkeypatch.setattr(attribute if "." in attribute else f"{module.__name__}.{attribute}", value)
    if name == "hybrid":
        monkeypatch.setattr(module, "HYBRID", [row for row in module.HYBRID if row["dataset"] == "census"])
    first = 0 if cheap.files else 1  # the runs that the package keeps are of seed 0
    for folder, change in (("before", some), ("after", perturbed)):
        (tmp_path / folder).mkdir()
        for file in cheap.files:
            change(file, shared_data, cheap.step).write_csv(tmp_path / folder / f"{file}.csv")
    before = reproduce(name, tmp_path / "before" if cheap.files else shared_data, quick=True, seed=first)
    if name != "sensitivity":  # its columns are those of the grid
        stale = what_is_stale(name, before, with_texts=name not in RESTS_ON_KEPT_RUNS)
        assert not stale, f"{name}.md is stale: run `python docs/make_published.py {name}`"
    if name == "representatives":
        monkeypatch.setattr(module, "REPRESENTATIVES", [{**row, "n": row["n"] + 1} for row in module.REPRESENTATIVES])
        monkeypatch.setattr(module, "SIZES", (13, 30))
    after = reproduce(
        name, tmp_path / "after" if cheap.files else shared_data, quick=True, seed=0 if cheap.files else 2
    )
    fixed = cheap.fixed
    assert [t["title"] for t in before.tables] == [t["title"] for t in after.tables] or name == "military"
    for old, new in zip(before.tables, after.tables, strict=True):
        assert (computed(old) != computed(new)) == (not old["title"].startswith(fixed)), old["title"]
        assert printed(old) == printed(new), old["title"]
        if not old["title"].startswith(fixed):
            assert not copied_cells(old, new, cheap.equal), old["title"]


def copied_cells(old: Any, new: Any, equal: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    """Cells of ours that hold a printed value of their row, and hold it for another input too.

    Where a table has printed rows instead of columns, a row is compared with the printed one of its set or k. A small
    whole number agrees by chance, so it counts only where the whole column agrees.
    """
    copies = []
    columns: dict[str, list[tuple[bool, tuple[Any, ...]]]] = {}
    known: dict[Any, list[Any]] = {}
    for before, after in zip(old["rows"], new["rows"], strict=False):
        if "printed" in before:
            known[before[0]] = before
            continue
        for j in _columns(old, False):
            name = old["columns"][j]
            theirs = [before[i] for i in _columns(old, True) if _same_kind(before[i], before[j])]
            if before[0] in known and j > 0:
                theirs.append(known[before[0]][j])
            if isinstance(before[j], str) or before[j] is None or not theirs or name in equal:
                continue
            copied = before[j] == after[j] and before[j] in theirs
            cell = (old["title"], *before[:2], name, before[j])
            if float(before[j]).is_integer() and before[j] < 1000:
                columns.setdefault(name, []).append((copied, cell))
            elif copied:
                copies.append(cell)
    for cells in columns.values():
        if all(copied for copied, _ in cells):
            copies += [cell for _, cell in cells]
    return copies


def _same_kind(printed_cell: Any, cell: Any) -> bool:
    return isinstance(printed_cell, int | float) and isinstance(cell, int | float)


@pytest.mark.parametrize("copied", ["one cell", "a column", "a row"])
def test_a_cell_copied_from_print_is_noticed(copied: str) -> None:
    """The check itself: five kinds of tables would pass without it."""
    columns = ["set", "SSE printed", "SSE"]
    old = {"title": "T", "columns": columns, "rows": [["a", 4.28, 4.191], ["b", 4.33, 4.088]]}
    new = {"title": "T", "columns": columns, "rows": [["a", 4.28, 5.2], ["b", 4.33, 5.1]]}
    assert not copied_cells(old, new)
    if copied == "a row":
        old = {"title": "T", "columns": ["k", "search", "IL"], "rows": [[5, "printed", 35.74], [5, "GOMM", 35.74]]}
        assert copied_cells(old, old)
        return
    for table in (old, new):
        for row in table["rows"][: 1 if copied == "one cell" else 2]:  # type: ignore[index]
            row[2] = row[1]
    assert len(copied_cells(old, new)) == (1 if copied == "one cell" else 2)


def some(name: str, folder: Path, step: int) -> pl.DataFrame:
    """Every `step`th complete record of a set."""
    if name == "sme":
        return datasets.generate(name)
    frame = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
    return (frame if name == "adult" else frame.drop_nulls())[::step]


def perturbed(name: str, folder: Path, step: int) -> pl.DataFrame:
    """A set with other values (numbers drawn anew within each column) or, where columns are names, with other rows."""
    if name == "adult":
        frame = pl.read_csv(folder / "adult.csv")
        return frame.filter(pl.col("native_country") != "Hungary")[1::step]
    frame = some(name, folder, step)
    rng = np.random.default_rng(5)
    numbers = [column for column, kind in frame.schema.items() if kind.is_numeric()]
    return frame.with_columns(frame[column].shuffle(seed=int(rng.integers(1000))) for column in numbers)


def computed(table: Any) -> list[list[Any]]:
    """The cells that are ours: neither printed ones nor times."""
    return [[row[j] for j in _columns(table, False)] for row in table["rows"] if "printed" not in row]


def printed(table: Any) -> list[list[Any]]:
    return [[row[j] for j in _columns(table, True)] for row in table["rows"]]


def _columns(table: Any, wanted: bool) -> list[int]:
    return [
        j for j, name in enumerate(table["columns"]) if ("printed" in name) == wanted and "second" not in name.lower()
    ]


def test_the_published_signals_are_computed_from(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = importlib.import_module("shoal.studies.reproduce.military")
    before = computed(module.published_table())
    monkeypatch.setattr(module, "ROWS", [row._replace(signal=row.signal[::-1]) for row in module.ROWS])
    after = computed(module.published_table())
    assert all(old != new for old, new in zip(before, after, strict=True))
    curve = computed(module.restriction_table())
    monkeypatch.setattr(module, "THRESHOLD", 12)
    assert computed(module.restriction_table()) != curve


def test_the_mean_metric_is_computed_from_the_published_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """467.958, 0.04 % and 2.4 % follow from the 24 printed rows; other rows give other values."""
    module: Any = importlib.import_module("shoal.studies.reproduce.military")
    task, answer = military_task(0), Answer([], 10)
    before = [row[2] for row in module.summary_table(task, answer)["rows"]]
    assert before[0] == "467.958" and [round(before[1], 2), before[2]] == [0.04, pytest.approx(2.4)]
    monkeypatch.setattr(module, "ROWS", [row._replace(metric=row.metric + 1) for row in module.ROWS[:-1]])
    after = [row[2] for row in module.summary_table(task, answer)["rows"]]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_the_mean_metric_of_a_run_is_that_of_its_solutions() -> None:
    module: Any = importlib.import_module("shoal.studies.reproduce.military")
    task = military_task(0)
    ours = []
    for distortions in ((400.0, 500.0), (90.0,)):
        none, fine = np.empty(0, np.int64), Verdict(1.0, np.empty(0, np.int64), 0, True)
        found = [Solution(none, task.signal.counts, distortion, fine) for distortion in distortions]
        ours.append([row[3] for row in module.summary_table(task, Answer(found, 10))["rows"]])
    cells = 13 * len(task.region)
    assert ours == [["450.000", 100 * 450 / cells, 20.0], ["90.000", 100 * 90 / cells, 10.0]]


def test_the_parameters_and_the_example_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that have no input: other defaults, or other records, give other cells."""
    masking: Any = importlib.import_module("shoal.studies.reproduce.military")
    before = [row[2] for row in masking._parameter_table()["rows"]]
    monkeypatch.setattr(masking, "MemeticSettings", lambda: MemeticSettings(population=7, generations=9))
    after = [row[2] for row in masking._parameter_table()["rows"]]
    assert sum(old != new for old, new in zip(before, after, strict=True)) == 2
    grouping: Any = importlib.import_module("shoal.studies.reproduce.gomm")
    cells = [row[4:] for row in grouping.example()["rows"]]
    other = {**grouping.EXAMPLE, "original": [[3 * a, 3 * b] for a, b in grouping.EXAMPLE["original"]]}
    monkeypatch.setattr(grouping, "EXAMPLE", other)
    assert [row[4:] for row in grouping.example()["rows"]] == [[3 * a, 3 * b] for a, b in cells]


def test_the_fitness_of_the_published_solutions_comes_out_in_most_rows() -> None:
    module: Any = importlib.import_module("shoal.studies.reproduce.military")
    table = module.published_table()
    ours, theirs = (table["columns"].index(name) for name in ("fitness", "fitness printed"))
    assert sum(abs(row[ours] - row[theirs]) <= 0.0025 for row in table["rows"]) >= 20


def test_the_fitness_of_the_published_solutions_follows_from_metric_signal_and_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fitness is (1 - metric / 1846) times the root of the compatibility times the penalty of the swaps."""
    module: Any = importlib.import_module("shoal.studies.reproduce.military")
    for metric in (None, 300.0):  # as printed, and another one
        if metric is not None:
            monkeypatch.setattr(module, "ROWS", [row._replace(metric=metric) for row in module.ROWS])
        table = module.published_table()
        fitness, product = (table["columns"].index(name) for name in ("fitness", "product"))
        for published, row in zip(module.ROWS, table["rows"], strict=True):
            swaps = 97 + 45 - published.signal[4] - published.signal[28]
            expected = (1 - published.metric / 1846) * np.sqrt(row[product]) * penalty(swaps, 130)
            assert row[fitness] == pytest.approx(expected, abs=2e-3)


def test_the_list_names_every_entry_and_says_why_the_others_are_not_computed() -> None:
    assert {item.entry for item in ITEMS if item.entry} == set(ENTRIES)
    assert all(bool(item.entry) != bool(item.why) for item in ITEMS)
    assert len({(item.document, item.name) for item in ITEMS}) == len(ITEMS)
    shown = CliRunner().invoke(main, ["reproduce"])
    assert shown.exit_code == 0
    for item in ITEMS:
        assert item.name in shown.output
    listed = json.loads(CliRunner().invoke(main, ["reproduce", "--json"]).output)
    assert [row["name"] for row in listed["printed"]] == [item.name for item in ITEMS]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_page_of_the_docs_has_every_table_and_figure(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    headings = "\n".join(line for line in page.splitlines() if line.startswith("## "))
    for item in of_entry(name):
        assert item.name in headings, (
            f"{item.name} is not on {name}.md: run shoal reproduce all --quick -o docs/published"
        )


def test_all_writes_a_page_each_and_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str, **_: Any) -> Result:
        table: Any = {"title": f"Table of {name}", "columns": ["a|b", "ours"], "rows": [["x", 1.5]], "note": "Noted."}
        return Result(name.title(), [table], convention="As read.")

    monkeypatch.setattr("shoal.studies.reproduce.reproduce", made)
    done = CliRunner().invoke(main, ["reproduce", "all", "--quick", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert {path.stem for path in tmp_path.iterdir()} == {*ENTRIES, "index"}
    page = (tmp_path / "hybrid.md").read_text(encoding="utf-8")
    assert "| a\\|b | Shoal |\n| --- | ---: |\n| x | 1.5 |" in page
    assert "As read." in page and "`shoal reproduce hybrid --quick`" in page
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "[hybrid](hybrid.md)" in index and "not computed: a drawing" in index
