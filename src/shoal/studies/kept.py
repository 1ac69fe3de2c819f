"""Finished runs of the published grid, kept in the package because they take many CPU hours.

A study is identified by its values, k, grid and seed, so runs on other data are never used. The file holds complete
repeats only: every setting has the same number of runs.

    python -m shoal.studies.kept make FOLDER [--sets 50x2,100x2] [--repeats 2]
    python -m shoal.studies.kept collect FOLDER

The first command makes the runs that the file lacks, with checkpoints in FOLDER/SET; a stopped one continues. The
second adds the complete repeats of these checkpoints, or those of `shoal study sensitivity SET --grid published -o
FOLDER/SET`, to the file. No run that the file has is ever removed.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import polars as pl

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import InputError, counted
from shoal.protections.microaggregation.methods.exact import exact
from shoal.protections.microaggregation.methods.genetic import genetic_until_settled
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.sources.files import atomically
from shoal.studies.sensitivity import (
    CHECKPOINT,
    GRIDS,
    finished_runs,
    open_checkpoint,
    run_options,
    study_identity,
    values_of,
    write_run,
)

FILE = Path(__file__).with_name("kept.parquet")
GRID, K, SEED = GRIDS["published"], 3, 0
SETS = ("sme", "11x2", "11x3", "11x5", "11x7", "11x10", "20x2", "35x2", "50x2", "100x2")
COLUMNS = {
    "study": pl.String,
    "run": pl.UInt16,
    "sse": pl.Float64,
    "convergence_generation": pl.UInt32,
}
RESULT = ("sse", "convergence_generation")
SECONDS_TO_PROVE = 60  # that a partition is optimal, which only makes the runs shorter


def kept_runs(values: Floats, seed: int = SEED, file: Path = FILE) -> pl.DataFrame | None:
    """Return the kept runs on these scaled values with their settings, or None if there are none."""
    runs = _read(file).filter(pl.col("study") == _study(values, seed)).drop("study")
    if runs.is_empty():
        return None
    return _settings().join(runs, on="run", maintain_order="left")


def make_runs(folder: Path, sets: Sequence[str] = SETS, repeats: int | None = None, file: Path = FILE) -> None:
    """Make the runs of the first repeats that the file does not have, repeat by repeat over all sets.

    They have the SSE and the convergence generation of `run_grid`, but end as soon as neither can change.
    """
    for repeat in range(GRID.repeats if repeats is None else repeats):
        for name in sets:
            values = values_of(name, seed=SEED)
            (folder / name).mkdir(parents=True, exist_ok=True)
            done = set(open_checkpoint(folder / name / CHECKPOINT, study_identity(values, K, GRID, SEED)))
            if (known := kept_runs(values, file=file)) is not None:
                done |= set(known["run"])
            number = _make_repeat(values, repeat, done, folder / name / CHECKPOINT)
            print(f"{name}, repeat {repeat + 1}: {counted(number, 'run')} made", flush=True)


def _make_repeat(values: Floats, repeat: int, done: Collection[int], checkpoint: Path) -> int:
    """Make the runs of a repeat that are not done, and return their number."""
    left = [s for s in GRID.settings() if s["repeat"] == repeat and s["run"] not in done]
    if not left:
        return 0
    optimum, control = _proved_optimum(values), Control(threads=1)
    with open(checkpoint, "a", encoding="utf-8") as lines:
        for setting in left:
            options = run_options(setting, SEED)
            partition = genetic_until_settled(
                values, K, optimum, generations=GRID.generations, control=control, **options
            )
            convergence = partition.facts["convergence_generation"]
            write_run(lines, {**setting, "sse": sse_of(partition, values), "convergence_generation": convergence})
    return len(left)


def _proved_optimum(values: Floats) -> KPartition | None:
    partition = exact(values, K, control=Control(threads=1, seconds=SECONDS_TO_PROVE))
    return partition if partition.facts.get("proved") else None


def collect_runs(folder: Path, file: Path = FILE) -> dict[str, int]:
    """Add the complete repeats of all checkpoints in the folder to the file; return its number of runs per data set."""
    before = _read(file)
    studies = {name: values_of(name, seed=SEED) for name in SETS}
    rows = []
    for name, values in studies.items():
        checkpoint = folder / name / CHECKPOINT
        done = finished_runs(checkpoint, study_identity(values, K, GRID, SEED)) if checkpoint.exists() else {}
        rows += [{"study": _study(values, SEED), **{c: run[c] for c in ("run", *RESULT)}} for run in done.values()]
    runs = pl.concat([before, pl.DataFrame(rows, schema=COLUMNS)]).unique(maintain_order=True)
    differing = runs.filter(pl.struct("study", "run").is_duplicated())
    if not differing.is_empty():
        raise InputError(
            f"Run {differing['run'][0]} in {folder} differs from the one that is kept. The algorithm gives other "
            "results than before: nothing was written."
        )
    runs = _whole_repeats(runs)
    if before.join(runs, on=["study", "run"], how="anti").height:
        raise InputError(f"{file} has incomplete repeats: nothing was written.")
    order = {_study(values, SEED): number for number, values in enumerate(studies.values())}
    runs = runs.sort(pl.col("study").replace_strict(order, default=len(order), return_dtype=pl.Int64), "study", "run")
    with atomically(file) as temporary:
        runs.write_parquet(temporary, compression="zstd", compression_level=19, statistics=False)
    numbers = dict(runs.group_by("study").len().iter_rows())
    return {name: numbers.get(_study(values, SEED), 0) for name, values in studies.items()}


def _read(file: Path) -> pl.DataFrame:
    return pl.read_parquet(file) if file.exists() else pl.DataFrame(schema=COLUMNS)


def _whole_repeats(runs: pl.DataFrame) -> pl.DataFrame:
    """Return the runs of the repeats that every setting of their study has."""
    runs = runs.join(_settings().select("run", "repeat"), on="run", maintain_order="left")
    whole = pl.len().over("study", "repeat") == len(GRID) // GRID.repeats
    return runs.filter(whole).drop("repeat")


@cache
def _settings() -> pl.DataFrame:
    """Return the settings of every run of the grid."""
    return pl.DataFrame(list(GRID.settings())).cast({"run": pl.UInt16})


def _study(values: Floats, seed: int) -> str:
    return hashlib.sha256(study_identity(values, K, GRID, seed).encode()).hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m shoal.studies.kept", description="Make and keep published runs.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make", help="make the runs that the file lacks, with checkpoints in FOLDER")
    make.add_argument("--sets", default=",".join(SETS), help="data sets, separated by commas")
    make.add_argument("--repeats", type=int, choices=range(1, GRID.repeats + 1), help="first repeats to complete")
    collect = commands.add_parser("collect", help="add the complete repeats of FOLDER to the file")
    for command in (make, collect):
        command.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "make":
        if unknown := set(options.sets.split(",")) - set(SETS):
            parser.error(f"There is no data set {', '.join(sorted(unknown))}. Choose from {', '.join(SETS)}.")
        make_runs(options.folder, options.sets.split(","), options.repeats)
        return
    for name, number in collect_runs(options.folder).items():
        print(f"{name}: {counted(number, 'run')}")


if __name__ == "__main__":
    main()
