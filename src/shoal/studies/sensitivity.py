"""Effect of the rates and the population on the genetic algorithm (Solanas et al. 2006, sections III and IV).

Every setting of a factorial grid runs several times. Each finished run is a line of a checkpoint, so a study that is
stopped or killed continues where it was. `analysis` computes ranges and charts from the runs.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

import numpy as np
import polars as pl

from shoal.arrays import Floats
from shoal.engine.control import Control, control_of
from shoal.engine.partition.inputs import as_rows
from shoal.engine.progress import Progress, silent
from shoal.errors import InputError, UsageError, check_choice, check_k, check_seed, unknown
from shoal.protections.microaggregation.methods.genetic import genetic
from shoal.protections.microaggregation.sums_of_squares import sse_of
from shoal.sources.files import atomically
from shoal.sources.reading import as_table
from shoal.studies import datasets
from shoal.studies.solanas import scattered
from shoal.table.scaling import scale

CHECKPOINT, RUNS = "runs.jsonl", "runs.parquet"
MOST_CHROMOSOMES = 100_000  # per population
LEAVE_OUT = "--quasi without {name}"  # removes a column from a study


@dataclass(frozen=True)
class Grid:
    """The values of the three factors, which are all combined, and the number of runs per setting."""

    mutation_rate: tuple[float, ...]
    crossover_rate: tuple[float, ...]
    population: tuple[int, ...]
    repeats: int
    generations: int | None = None

    def __post_init__(self) -> None:
        for name in ("mutation_rate", "crossover_rate", "population"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise UsageError(f"The grid needs at least one value of {name}, each of them once, not {list(values)}.")
        if self.repeats < 1:
            raise UsageError(f"repeats must be at least 1, not {self.repeats}.")

    def __len__(self) -> int:
        return len(self.mutation_rate) * len(self.crossover_rate) * len(self.population) * self.repeats

    def settings(self) -> Iterator[dict[str, Any]]:
        """One dictionary per run, numbered from 0 in a fixed order."""
        every = itertools.product(self.mutation_rate, self.crossover_rate, self.population, range(self.repeats))
        names = ("mutation_rate", "crossover_rate", "population", "repeat")
        for number, values in enumerate(every):
            yield {"run": number, **dict(zip(names, values, strict=True))}


_TENTHS = tuple(i / 10 for i in range(11))
GRIDS = {
    "published": Grid(_TENTHS, _TENTHS, tuple(range(10, 101, 10)), repeats=10),
    "coarse": Grid((0.0, 0.1, 0.2, 0.3, 0.5, 1.0), (0.0, 0.1, 0.3, 0.5, 0.8, 1.0), (10, 40, 70, 100), repeats=3),
    "quick": Grid((0.0, 0.1, 0.5), (0.0, 0.3, 1.0), (10, 100), repeats=2, generations=500),
}


def chosen_grid(
    grid: str = "coarse",
    mutation: tuple[float, ...] | None = None,
    crossover: tuple[float, ...] | None = None,
    population: tuple[float, ...] | None = None,
    repeats: int | None = None,
    generations: int | None = None,
) -> Grid:
    """A named grid with some of its values replaced."""
    if grid not in GRIDS:
        raise unknown("grid", grid, GRIDS)
    for name, rates in (("mutation", mutation), ("crossover", crossover)):
        if not all(0 <= rate <= 1 for rate in rates or ()):
            raise UsageError(f"--{name} must be rates between 0 and 1, not {', '.join(map(str, rates or ()))}.")
    for size in population or ():
        if size not in range(2, MOST_CHROMOSOMES + 1):
            raise UsageError(f"--population must be whole numbers from 2 to {MOST_CHROMOSOMES:,}, not {size:g}.")
    for name, count in (("--repeats", repeats), ("--generations", generations)):
        if count is not None and (count != int(count) or count < 1):
            raise UsageError(f"{name} must be a whole number, 1 or more, not {count:g}.")
    sizes = None if population is None else tuple(int(size) for size in population)
    other = {
        "mutation_rate": mutation,
        "crossover_rate": crossover,
        "population": sizes,
        "repeats": repeats,
        "generations": generations,
    }
    return replace(GRIDS[grid], **{name: value for name, value in other.items() if value is not None})  # type: ignore[arg-type]


def values_of(data: str, quasi: Sequence[str] = (), seed: int = 0, missing: str | None = None) -> Floats:
    """Return the standardized values of a file, of a known data set, or random values of a size such as 20x2.

    missing: how to treat missing values: error, drop or median. The default is error, and drop for a known data set,
    whose benchmarks use the complete records.
    """
    check_seed(seed)
    if missing is not None:
        check_choice("--missing", missing, ("error", "drop", "median"))
    if size := re.fullmatch(r"(\d+)x(\d+)", data):
        if not int(size[1]) or not int(size[2]):
            raise UsageError(f"{data} has no records or no columns: both numbers are at least 1, as in 20x2.")
        for option, value in (("--quasi", ",".join(quasi)), ("--missing", missing)):
            if value:
                raise UsageError(
                    f"{option} {value} cannot be used with {data}: random values have neither column names nor missing "
                    f"values. Remove {option}."
                )
        return random_set(int(size[1]), int(size[2]), seed)
    is_known = data in datasets.KNOWN
    table = as_table(datasets.load(data, seed) if is_known else data, quasi=quasi)
    columns = table.quasi_columns()
    for name in columns:
        if name not in table.columns:
            raise unknown("column", name, table.columns)
    how = missing or ("drop" if is_known else "error")
    return scale(table.with_missing(how, columns, leave_out=LEAVE_OUT).numbers(columns))


def random_set(n: int, d: int, seed: int) -> Floats:
    """A random set as in Solanas et al. 2006: uniform values, standardized."""
    return scale(scattered(np.random.default_rng([seed, n, d]), n, d).to_numpy())


def run_grid(
    values: Floats,
    k: int,
    grid: Grid,
    *,
    folder: Path,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> pl.DataFrame:
    """Run a grid on scaled values and return one row per run. The folder keeps them, and a stopped study continues."""
    values = as_rows(values)
    check_k(k, len(values))
    check_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    done = open_checkpoint(folder / CHECKPOINT, study_identity(values, k, grid, seed))
    whole = control_of(control, threads, progress)
    quiet, lock = whole.part(progress=silent), Lock()
    # Repeat by repeat: a study that is stopped has nearly the same number of runs of every setting.
    left = sorted((s for s in grid.settings() if s["run"] not in done), key=lambda s: (s["repeat"], s["run"]))

    def one(setting: dict[str, Any], checkpoint: TextIO) -> None:
        if whole.stopped:
            return
        partition = genetic(values, k, generations=grid.generations, control=quiet, **run_options(setting, seed))
        if whole.stopped:  # this run is not complete: the next study repeats it
            return
        result = {**setting, "sse": sse_of(partition, values), **partition.facts}
        with lock:
            done[result["run"]] = result
            write_run(checkpoint, result)
            whole.show(len(done), len(grid), None, "runs")

    with open(folder / CHECKPOINT, "a", encoding="utf-8") as checkpoint:
        whole.call(lambda: whole.run([partial(one, setting, checkpoint) for setting in left]))
    whole.call(whole.check)
    runs = pl.DataFrame([done[number] for number in sorted(done)])
    with atomically(folder / RUNS) as temporary:
        runs.write_parquet(temporary)
    return runs


def run_options(setting: dict[str, Any], seed: int) -> dict[str, Any]:
    """The options of the genetic algorithm for one run of a grid, with the run's own seed."""
    options = {name: setting[name] for name in ("mutation_rate", "crossover_rate", "population")}
    return {**options, "seed": int(np.random.SeedSequence([seed, setting["run"]]).generate_state(1)[0])}


def write_run(checkpoint: TextIO, result: dict[str, Any]) -> None:
    """Add a finished run to a checkpoint.

    One write per line: a killed study leaves at most one incomplete last line, which is then ignored.
    """
    checkpoint.write(json.dumps(result) + "\n")
    checkpoint.flush()


def study_identity(values: Floats, k: int, grid: Grid, seed: int) -> str:
    """The first line of a checkpoint, which identifies the study that it belongs to."""
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]
    n, d = values.shape
    return json.dumps({"n": n, "d": d, "values": digest, "k": k, "seed": seed, **asdict(grid)})


def finished_runs(checkpoint: Path, identity: str) -> dict[int, dict[str, Any]]:
    """Read the finished runs of a checkpoint by number."""
    lines = checkpoint.read_bytes().decode(errors="replace").split("\n")
    if lines[0] != identity:
        raise UsageError(
            f"{checkpoint} belongs to another study: data, k, grid or seed differ. Use another folder with -o, or "
            "remove the file."
        )
    try:
        results = [json.loads(line) for line in lines[1:-1]]  # text after the last line end is an incomplete line
        for result in results:
            _ = [float(result[name]) for name in ("mutation_rate", "crossover_rate", "population", "repeat", "sse")]
        return {int(result["run"]): result for result in results}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{checkpoint} is damaged. Remove it, or use another folder with -o.") from None


def open_checkpoint(checkpoint: Path, identity: str) -> dict[int, dict[str, Any]]:
    """Start a checkpoint, or remove an incomplete last line from it; return its finished runs."""
    if not checkpoint.exists():
        with atomically(checkpoint) as temporary:
            temporary.write_text(identity + "\n", encoding="utf-8")
    done = finished_runs(checkpoint, identity)
    whole, _, rest = checkpoint.read_bytes().rpartition(b"\n")
    if rest:
        with atomically(checkpoint) as temporary:
            temporary.write_bytes(whole + b"\n")
    return done
