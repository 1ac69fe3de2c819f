"""The runs of the genetic algorithm that the published tables are computed from: kept ones, or a smaller grid."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shoal.arrays import Floats
from shoal.studies import kept
from shoal.studies.sensitivity import Grid, run_grid


def runs_on(values: Floats, smaller: Grid, seed: int) -> pl.DataFrame:
    """The kept runs of the published grid on these scaled values, or those of a smaller grid where there are none."""
    runs = kept.kept_runs(values, seed)
    if runs is not None:
        return runs
    with tempfile.TemporaryDirectory() as folder:
        return run_grid(values, kept.K, smaller, folder=Path(folder), seed=seed)


def origin_of(runs: Mapping[str, pl.DataFrame], smaller: str) -> str:
    """Say which sets have all runs of the published grid, which have some repeats of it, and which have none."""
    complete = [name for name, frame in runs.items() if frame.height == len(kept.GRID)]
    begun = [name for name, frame in runs.items() if _is_begun(frame)]
    others = [name for name in runs if name not in complete and name not in begun]
    sentences = []
    if complete:
        sentences.append(f"Shoal has made all {len(kept.GRID):,} runs of the published grid on {_listed(complete)}.")
    if begun:
        counts = [f"{name} ({runs[name].height:,} runs)" for name in begun]
        sentences.append(f"Shoal has made some repeats of the whole published grid, not all ten, on {_listed(counts)}.")
    if others:
        sentences.append(f"The published grid was not run yet on {_listed(others)}. Their values come from {smaller}.")
    return " ".join(sentences)


def _is_begun(runs: pl.DataFrame) -> bool:
    """Return whether these are some, but not all repeats of the published grid."""
    settings = runs.select("mutation_rate", "crossover_rate", "population").unique().height
    return settings == len(kept.GRID) // kept.GRID.repeats and runs.height < len(kept.GRID)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
