"""Exhaustive search, MDAV and the genetic algorithm on eleven companies (Solanas 2008, Tables 1, 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.arrays import Floats
from shoal.engine.clock import Clock
from shoal.engine.partition.partition import KPartition
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.genetic import genetic
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.studies.analysis import histogram
from shoal.studies.outcome import histogram_chart
from shoal.studies.reproduce.data import numbers
from shoal.studies.reproduce.grid_runs import origin_of, runs_on
from shoal.studies.reproduce.printed import COMPANIES, COMPANIES_OPTIMAL_PERCENT
from shoal.studies.reproduce.result import Result, ResultTable
from shoal.studies.sensitivity import GRIDS
from shoal.table.scaling import scale

BUDGETS = {"quick": replace(GRIDS["quick"], generations=10_000), "full": GRIDS["coarse"]}
WITHIN = (100, 500, 1_000, 5_000, 10_000)


def sme(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """Time and SSE of the three methods, and the share of runs that find the optimum."""
    raw = numbers("sme", data_folder)
    values = scale(raw)
    ours: dict[str, Callable[[], KPartition]] = {
        "exhaustive search": lambda: exact(values, 3),
        "mdav": lambda: mdav(values, 3),
        "genetic": lambda: genetic(values, 3, seed=seed, generations=5_000),
    }
    partitions, rows = {}, []
    for row in COMPANIES:
        clock = Clock()
        partitions[row["method"]] = ours[row["method"]]()
        seconds = clock.read()["cpu_seconds"]
        printed_time = "<1" if row["method"] == "mdav" else row["seconds"]
        rows.append([row["method"], printed_time, seconds, row["sse"], sse_of(partitions[row["method"]], values)])
    performance: ResultTable = {
        "title": "Table 3: eleven companies, k = 3",
        "columns": ["method", "seconds printed", "CPU seconds", "SSE printed", "SSE"],
        "rows": rows,
        "note": "The time of the genetic algorithm is that of 5,000 generations of 100 chromosomes. Dynamic "
        "programming over subsets finds the optimum.",
    }
    runs = runs_on(values, BUDGETS["quick" if quick else "full"], seed)
    tables = [_companies(raw, partitions), performance, _shares(runs, float(rows[0][4])), _convergence(runs)]
    convention = (
        "Columns are standardized with the population standard deviation (divide by n). The published SSE 14.82 is "
        "14.827 truncated."
    )
    figures = {"Fig. 3: runs by convergence generation": histogram_chart(histogram(runs))}
    return Result("The eleven companies", tables, figures, convention=convention)


def _companies(raw: Floats, partitions: dict[str, KPartition]) -> ResultTable:
    """The input, with the groups that the methods make of it."""
    methods = {"optimum": "exhaustive search", "MDAV": "mdav", "genetic": "genetic"}
    labels = [partitions[method].labels for method in methods.values()]
    return {
        "title": "Table 1: the companies, and their groups",
        "columns": ["no.", "surface", "employees", "turnover", "net profit", *methods],
        "rows": [
            [i + 1, *(int(cell) for cell in row), *(int(group[i]) + 1 for group in labels)] for i, row in enumerate(raw)
        ],
        "note": "The first five columns are the published input. The numbers of the groups have no meaning.",
    }


def _shares(runs: pl.DataFrame, least: float) -> ResultTable:
    """The share of the runs that end at the optimum."""
    hit = runs["sse"].to_numpy() <= least * (1 + 1e-9)
    moving = (runs["mutation_rate"].to_numpy() > 0) & (runs["crossover_rate"].to_numpy() > 0)
    return {
        "title": "Section 5.1: runs that end at the optimum, percent",
        "columns": ["settings", "runs", "printed", "ours"],
        "rows": [
            ["all", hit.size, COMPANIES_OPTIMAL_PERCENT, 100 * float(np.mean(hit))],
            ["mutation and crossover rate above 0", int(moving.sum()), None, 100 * float(np.mean(hit[moving]))],
        ],
        "note": f"The publication has 12,100 runs. {origin_of({'the companies': runs}, 'a smaller grid')} "
        f"{100 * float(np.mean(runs['mutation_rate'].to_numpy() == 0)):.0f} % of the runs are without mutation. "
        "`shoal study sensitivity sme --grid published` makes the runs again.",
    }


def _convergence(runs: pl.DataFrame) -> ResultTable:
    when = runs["convergence_generation"].to_numpy()
    return {
        "title": "Fig. 3: runs that have converged, percent",
        "columns": ["within generations", "printed", "ours"],
        "rows": [[g, "most" if g == 5_000 else None, 100 * float(np.mean(when <= g))] for g in WITHIN],
        "note": "A run has converged when it has found its best chromosome. Solanas 2008 shows a histogram without "
        "values, and says that most tests converge in less than 5,000 iterations.",
    }
