"""The operators of GOMM, alone and together: Figures 4.1 to 4.11 and B.1 to B.8 of the thesis, as charts and figures.

The thesis prints plots, and its text says what they show. The first table has these statements next to the values of
Shoal. Each plot is also a table of its values at some generations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from shoal.errors import counted
from shoal.protections.grouping.operators import CROSSOVER, MUTATIONS
from shoal.studies.operators import COMBINED, figures, relative_best, study_operators
from shoal.studies.reproduce.data import known_folder
from shoal.studies.reproduce.gomm import load
from shoal.studies.reproduce.result import Result, Table


class MonitoringBudget(NamedTuple):
    """The size of the runs."""

    generations: int
    population: int
    seeds: int


BUDGETS = {"quick": MonitoringBudget(100, 200, 1), "full": MonitoringBudget(100, 200, 3)}
RUNS = (("water", 25), ("water", 100), ("census", 25), ("census", 100))
GROUPED = ("group create", "group eliminate", "group split")
SHOWN = (1, 5, 10, 15, 20, 25, 30, 50, 75, 100)

# Which figure has which plot: (set, k, used together or alone, measure).
PLOTS = {
    **{f"Figure 4.{2 * i + c + 1}": ("water", 25, bool(c), i) for i in range(4) for c in (0, 1)},
    **{f"Figure B.{i + 1}": ("census", 25, True, i) for i in range(4)},
    **{f"Figure B.{i + 5}": ("water", 100, True, i) for i in range(4)},
}
_CHILDREN = pl.col("children").sum()
MEASURES = (
    ("utilization: children discarded unused, percent", 100 * pl.col("discarded_unused").sum() / _CHILDREN),
    ("mean lifetime, generations", pl.col("lifetime").mean()),
    ("efficacy: children better than their parents, percent", 100 * pl.col("better").sum() / _CHILDREN),
    ("efficiency: largest gain of a generation, percent", pl.col("improvement_max").mean()),
)


def operators(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """Return the plots of chapter 4 and appendix B as tables and charts, and the statements of the thesis on them."""
    folder = known_folder("census", data_folder)
    budget = BUDGETS["quick" if quick else "full"]
    table = pl.concat(
        study_operators(load(folder, name), k, dataset=name, **budget._asdict(), first_seed=seed) for name, k in RUNS
    )
    tables = [statements(table), *(plot_table(table, name) for name in PLOTS)]
    tables += [best_cost(table, "water", "Figure 4.9"), best_cost(table, "census", "Figure 4.10"), group_counts(table)]
    convention = (
        "GOMM with the parameters and the convention of the thesis (as on the page gomm): 200 solutions, 100 "
        f"children per generation, {budget.generations} generations; means over {counted(budget.seeds, 'seed')}. A "
        "child that was never a parent counts as discarded unused. A clone is neither better nor worse. The published "
        "figures have no printed values, so the statements of the text stand next to Shoal's values."
    )
    return Result("The operators of GOMM", tables, figures(table), convention=convention)


def statements(table: pl.DataFrame) -> Table:
    """Return the statements of the text on the plots of Water at k = 25, next to Shoal's results."""
    water = table.filter(pl.col("dataset") == "water", pl.col("k") == 25, pl.col("operator") != "first")
    alone, together = water.filter(pl.col("run") != COMBINED), water.filter(pl.col("run") == COMBINED)
    crossing = pl.col("operator") == CROSSOVER
    single, whole = pl.col("operator").is_in(["element swap", "element move"]), pl.col("operator").is_in(GROUPED)
    create = pl.col("operator") == "group create"
    born = pl.col("generation")
    unused, life, better, gain = (expression for _, expression in MEASURES)
    most = pl.col("improvement_max").max()
    crossed, settled = together.filter(crossing), together.filter(whole, born > 25)
    fine = together.filter(single, born.is_between(20, 30))
    lines: list[tuple[str, str, str, pl.DataFrame, Any]] = [
        ("Figure 4.1", "crossover alone: discarded unused, %", "around 70", alone.filter(crossing), unused),
        ("Figure 4.2", "crossover: discarded unused, %", "around 75", crossed, unused),
        ("Figure 4.2", "group mutations after generation 25: unused, %", "100", settled, unused),
        ("Figure 4.2", "swap and move, generations 20 to 30: unused, %", "below 50", fine, unused),
        ("Figure 4.3", "crossover alone: lifetime", "around 2", alone.filter(crossing), life),
        ("Figure 4.4", "crossover: lifetime", "2 to 3", crossed, life),
        ("Figure 4.4", "group mutations after generation 25: lifetime", "0", settled, life),
        ("Figure 4.6", "crossover after generation 20: better, %", "5", crossed.filter(born > 20), better),
        ("Figure 4.6", "group mutations after generation 25: better, %", "0", settled, better),
        ("Figure 4.7", "group create alone: largest gain, %", "up to 20", alone.filter(create), most),
        ("Figure 4.7", "the others alone: largest gain, %", "not over 5", alone.filter(~create), most),
        ("Figure 4.8", "group create, generations 1 to 10: gain, %", "10", together.filter(create, born <= 10), gain),
        ("Figure 4.8", "swap and move, generations 20 to 30: gain, %", "around 2", fine, gain),
    ]
    rows = [[name, what, printed, rows.select(measure).item()] for name, what, printed, rows, measure in lines]
    return {
        "title": "Statements of the text on the figures (Water, k = 25)",
        "columns": ["figure", "what", "in words", "ours"],
        "rows": rows,
        "note": "Group mutations are create, eliminate and split. Values are means over the operators, "
        "generations and seeds.",
    }


def plot_table(table: pl.DataFrame, name: str) -> Table:
    """The values of a plot at some generations, one column per operator."""
    dataset, k, together, measure = PLOTS[name]
    title, expression = MEASURES[measure]
    rows = table.filter(
        pl.col("dataset") == dataset,
        pl.col("k") == k,
        (pl.col("run") == COMBINED) == together,
        pl.col("operator") != "first",
    )
    names = [*MUTATIONS, CROSSOVER]
    values = {
        (operator, generation): value
        for operator, generation, value in rows.group_by("operator", "generation").agg(value=expression).rows()
    }
    shown = [g for g in SHOWN if (CROSSOVER, g) in values]
    return {
        "title": f"{name}: {title}, operators {'together' if together else 'alone'}, {dataset.title()}, k = {k}",
        "columns": ["generation", *names],
        "rows": [[g, *(values.get((operator, g)) for operator in names)] for g in shown],
        "note": "",
    }


def best_cost(table: pl.DataFrame, dataset: str, name: str) -> Table:
    """Best cost of each operator alone over that of all together, at some generations."""
    relative = relative_best(table.filter(pl.col("dataset") == dataset))
    names = [*MUTATIONS, CROSSOVER]
    rows = []
    for k in (25, 100):
        part = relative.filter(pl.col("k") == k)
        values = {(run, g): value for run, g, value in part.select("run", "generation", "relative").rows()}
        shown = [g for g in SHOWN if (CROSSOVER, g) in values]
        rows += [[k, g, *(values.get((operator, g)) for operator in names)] for g in shown]
    return {
        "title": f"{name}: best cost of an operator alone relative to all together, {dataset.title()}",
        "columns": ["k", "generation", *names],
        "rows": rows,
        "note": "According to the text, group create comes closest at k = 25 and leads at first. With few columns "
        "(Census) or k = 100, the operators that lower the number of groups come close. All operators together are "
        "best in the end.",
    }


def group_counts(table: pl.DataFrame) -> Table:
    """Mean number of column groups in the population, at some generations."""
    part = table.filter(pl.col("run") == COMBINED, pl.col("k") == 25)
    means = part.group_by("dataset", "generation").agg(pl.col("mean_groups").mean())
    values = {(dataset, g): value for dataset, g, value in means.rows()}
    shown = [g for g in SHOWN if ("water", g) in values]
    return {
        "title": "Figure 4.11: mean number of column groups, k = 25",
        "columns": ["generation", "Water", "Census"],
        "rows": [[g, values.get(("water", g)), values.get(("census", g))] for g in shown],
        "note": "According to the text, it is constant from about generation 30 (Water) and 20 (Census) on.",
    }
