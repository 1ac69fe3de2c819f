"""Finished runs of the published grid, kept in the package because they take many CPU hours.

A study is identified by its values, k, grid and seed, so runs on other data are never used. The file holds complete
repeats only: every setting has the same number of runs. `python -m shoal.studies.kept FOLDER` writes the file
from the checkpoints of `shoal study sensitivity SET --grid published -o FOLDER/SET`.
"""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import polars as pl

from shoal.arrays import Floats
from shoal.errors import counted
from shoal.sources.files import atomically
from shoal.studies.sensitivity import CHECKPOINT, GRIDS, finished_runs, study_identity, values_of

FILE = Path(__file__).with_name("kept.parquet")
GRID, K, SEED = GRIDS["published"], 3, 0
SETS = ("sme", "11x2", "11x3", "11x5", "11x7", "11x10", "20x2", "35x2", "50x2", "100x2")
COLUMNS = {
    "study": pl.String,
    "run": pl.UInt16,
    "sse": pl.Float64,
    "convergence_generation": pl.UInt32,
}


def kept_runs(values: Floats, seed: int = SEED, file: Path = FILE) -> pl.DataFrame | None:
    """Return the kept runs on these scaled values with their settings, or None if there are none."""
    if not file.exists():
        return None
    runs = pl.read_parquet(file).filter(pl.col("study") == _study(values, seed)).drop("study")
    if runs.is_empty():
        return None
    return _settings().join(runs, on="run", maintain_order="left")


def collect_runs(folder: Path, file: Path = FILE) -> dict[str, int]:
    """Write the complete repeats of all checkpoints in the folder; return the number of runs per data set."""
    parts, numbers = [], {}
    for name in SETS:
        values = values_of(name, seed=SEED)
        checkpoint = folder / name / CHECKPOINT
        done = finished_runs(checkpoint, study_identity(values, K, GRID, SEED)) if checkpoint.exists() else {}
        rows = [{"study": _study(values, SEED), **{c: run[c] for c in list(COLUMNS)[1:]}} for run in done.values()]
        runs = _whole_repeats(pl.DataFrame(rows, schema=COLUMNS))
        numbers[name] = runs.height
        parts.append(runs)
    with atomically(file) as temporary:
        pl.concat(parts).write_parquet(temporary, compression="zstd", compression_level=19, statistics=False)
    return numbers


def _whole_repeats(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs of the repeats that every setting has."""
    runs = runs.join(_settings().select("run", "repeat"), on="run").sort("run")
    whole = pl.len().over("repeat") == len(GRID) // GRID.repeats
    return runs.filter(whole).drop("repeat")


@cache
def _settings() -> pl.DataFrame:
    """Return the settings of every run of the grid."""
    return pl.DataFrame(list(GRID.settings())).cast({"run": pl.UInt16})


def _study(values: Floats, seed: int) -> str:
    return hashlib.sha256(study_identity(values, K, GRID, seed).encode()).hexdigest()[:16]


if __name__ == "__main__":
    for set_name, number in collect_runs(Path(sys.argv[1])).items():
        print(f"{set_name}: {counted(number, 'run')}")
