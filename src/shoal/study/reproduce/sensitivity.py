"""The best ranges of the rates and the population (Solanas et al. 2006, Table V), on a coarser grid."""

from __future__ import annotations

import tempfile
from pathlib import Path

from shoal.study.analysis import analyse, surface
from shoal.study.outcome import range_table, surface_chart
from shoal.study.reproduce.printed import BEST_RANGES
from shoal.study.reproduce.result import Result, Table
from shoal.study.sensitivity import GRIDS, random_set, run_grid


def sensitivity(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The printed ranges and those of the same four steps on sets of the same sizes."""
    grid = GRIDS["quick" if quick else "coarse"]
    largest = 20 if quick else 35  # 50 and 100 records at 100,000 generations take hours
    findings, charts = {}, {}
    for printed in BEST_RANGES:
        n, d = printed["n"], printed["d"]
        if n > largest:
            continue
        with tempfile.TemporaryDirectory() as folder:
            runs = run_grid(random_set(n, d, seed), 3, grid, folder=Path(folder), seed=seed)
        findings[f"{n}x{d}"] = analyse(runs)
        charts[f"{n}x{d}: mean SSE"] = surface_chart(surface(runs, "sse"))
    ours = range_table(findings)
    table: Table = {
        "title": "Table V as printed",
        "columns": ours["columns"],
        "rows": [
            [f"{r['n']}x{r['d']}", *(f"{r[f][0]} – {r[f][1]}" for f in ("mutation", "crossover", "population"))]
            for r in BEST_RANGES
        ],
        "note": "",
    }
    ours["note"] += (
        f" {len(grid)} runs a set: mutation {grid.mutation_rate}, crossover {grid.crossover_rate}, population "
        f"{grid.population}, {grid.repeats} repeats; the published grid has 12,100 runs a set "
        "(shoal study sensitivity 20x2 --grid published)."
    )
    return Result("Sensitivity of the genetic algorithm", [table, ours], charts)
