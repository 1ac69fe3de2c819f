"""The rates and the population of the genetic algorithm (Solanas et al. 2006, Table V and Figs. 1 to 4)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.studies.analysis import analyse, surface
from shoal.studies.outcome import range_table, surface_chart
from shoal.studies.reproduce.printed import BEST_RANGES
from shoal.studies.reproduce.result import Result, Table
from shoal.studies.sensitivity import GRIDS, random_set, run_grid

# The grid, and how many generations sets of more than 35 records get: the published 100,000 would take hours.
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
        size_grid = replace(grid, generations=many) if n > 35 else grid
        with tempfile.TemporaryDirectory() as folder:
            runs[f"{n}x{d}"] = run_grid(random_set(n, d, seed), 3, size_grid, folder=Path(folder), seed=seed)
    surfaces = {
        f"{name}: {WORDS[response]}, {size}": surface(runs[size], response)
        for (size, response), name in SURFACES.items()
        if size in runs
    }
    convention = (
        "The random data sets of the publications were not published. Those of Shoal are generated in the same way "
        f"(uniform, standardized). {len(grid)} runs per set: mutation {_list(grid.mutation_rate)}, "
        f"crossover {_list(grid.crossover_rate)}, "
        f"population {_list(grid.population)}, {grid.repeats} repeats, "
        f"{grid.generations or 10_000:,} generations ({many:,} above 35 records). The published grid has 12,100 runs "
        "per set: `shoal study sensitivity 20x2 --grid published`."
    )
    tables = [_ranges(runs), *(_grid(title, one) for title, one in surfaces.items())]
    charts = {title: surface_chart(one) for title, one in surfaces.items()}
    return Result("Sensitivity of the genetic algorithm", tables, charts, convention=convention)


def _ranges(frames: dict[str, pl.DataFrame]) -> Table:
    """Table V, with the ranges of Shoal below each published line."""
    ours = range_table({name: analyse(runs) for name, runs in frames.items()})
    rows: list[list[Any]] = []
    for printed, after, before in zip(BEST_RANGES, ours["rows"][::2], ours["rows"][1::2], strict=True):
        name = f"{printed['n']}x{printed['d']}"
        ends = (printed[factor] for factor in ("mutation", "crossover", "population"))
        rows.append([name, "printed", *(f"{a:g} – {b:g}" if a != b else f"{a:g}" for a, b in ends)])
        rows.append([name, "ours", *after[1:]])
        rows.append([name, "ours, by SSE alone", *before[1:]])
    return {
        "title": "Table V: the best ranges",
        "columns": ["set", "whose", "mutation rate", "crossover rate", "population"],
        "rows": rows,
        "note": "Best values after all four steps (SSE, then convergence generation), and after the first two. "
        "A coarser grid with few generations distinguishes fewer values.",
    }


def _grid(title: str, means: dict[str, Any]) -> Table:
    """A surface as a table: one row per mutation rate, one column per crossover rate."""
    return {
        "title": title,
        "columns": ["mutation rate", *(f"crossover {rate:g}" for rate in means["crossover_rate"])],
        "rows": [[rate, *line] for rate, line in zip(means["mutation_rate"], means["mean"], strict=True)],
        "note": "",
    }


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in values)
