"""The rates and the population of the genetic algorithm (Solanas et al. 2006, Table V and Figs. 1 to 4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import counted
from shoal.studies.analysis import analyse, surface
from shoal.studies.outcome import range_table, surface_chart
from shoal.studies.reproduce.grid_runs import origin_of, runs_on
from shoal.studies.reproduce.printed import BEST_RANGES
from shoal.studies.reproduce.result import Result, ResultTable
from shoal.studies.sensitivity import GRIDS, random_set

# For sets without kept runs: the grid, and the generations of sets of more than 35 records (published: 100,000).
BUDGETS = {"quick": (replace(GRIDS["quick"], generations=5_000), 20_000), "full": (GRIDS["coarse"], 20_000)}
SSE, WHEN = "sse", "convergence_generation"
WORDS = {SSE: "mean SSE", WHEN: "mean convergence generation"}
# Which figure shows which set's means.
SURFACES = {
    ("11x2", SSE): "Fig. 1",
    ("11x3", SSE): "Fig. 1",
    ("11x2", WHEN): "Fig. 2",
    ("11x3", WHEN): "Fig. 3",
    ("20x2", SSE): "Fig. 4",
    ("35x2", SSE): "Fig. 4",
    ("50x2", SSE): "Fig. 4",
    ("100x2", SSE): "Fig. 4",
}


def sensitivity(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The published ranges next to those of the same four steps on sets of the same sizes, and the surfaces."""
    grid, many = BUDGETS["quick" if quick else "full"]
    runs: dict[str, pl.DataFrame] = {}
    for printed in BEST_RANGES:
        n, d = printed["n"], printed["d"]
        smaller = replace(grid, generations=many) if n > 35 else grid
        runs[f"{n}x{d}"] = runs_on(random_set(n, d, seed), smaller, seed)
    surfaces = {
        f"{name}: {WORDS[response]}, {size}": surface(runs[size], response)
        for (size, response), name in SURFACES.items()
        if size in runs
    }
    smaller_grid = (
        f"a smaller grid with mutation {_list(grid.mutation_rate)}, crossover {_list(grid.crossover_rate)}, "
        f"population {_list(grid.population)}, {counted(grid.repeats, 'repeat')} and "
        f"{grid.generations or 10_000:,} generations ({many:,} above 35 records)"
    )
    convention = (
        "The random data sets of the publications were not published. Those of Shoal are generated in the same way "
        f"(uniform, standardized). {origin_of(runs, smaller_grid)} "
        "`shoal study sensitivity 20x2 --grid published` runs the whole grid on a set."
    )
    tables = [_ranges(runs), *(_grid(title, one) for title, one in surfaces.items())]
    charts = {title: surface_chart(one) for title, one in surfaces.items()}
    return Result("Sensitivity of the genetic algorithm", tables, charts, convention=convention)


def _ranges(frames: dict[str, pl.DataFrame]) -> ResultTable:
    """Table V, with the ranges of Shoal below each published line."""
    ours = range_table({name: analyse(runs) for name, runs in frames.items()})
    rows: list[list[Any]] = []
    for printed, after, before in zip(BEST_RANGES, ours["rows"][::2], ours["rows"][1::2], strict=True):
        name = f"{printed['n']}x{printed['d']}"
        ends = (printed[factor] for factor in ("mutation", "crossover", "population"))
        rows.append([name, "printed", 12_100, *(f"{a:g} – {b:g}" if a != b else f"{a:g}" for a, b in ends)])
        rows.append([name, "ours", frames[name].height, *after[1:]])
        rows.append([name, "ours, by SSE alone", frames[name].height, *before[1:]])
    return {
        "title": "Table V: the best ranges",
        "columns": ["set", "whose", "runs", "mutation rate", "crossover rate", "population"],
        "rows": rows,
        "note": "Best values after all four steps (SSE, then convergence generation), and after the first two. "
        "Few runs distinguish fewer values.",
    }


def _grid(title: str, means: dict[str, Any]) -> ResultTable:
    """A surface as a table: one row per mutation rate, one column per crossover rate."""
    return {
        "title": title,
        "columns": ["mutation rate", *(f"crossover {rate:g}" for rate in means["crossover_rate"])],
        "rows": [[rate, *line] for rate, line in zip(means["mutation_rate"], means["mean"], strict=True)],
        "note": "",
    }


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
