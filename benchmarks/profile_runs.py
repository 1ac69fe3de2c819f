"""Source files and changes of package in a run, and how often each column is converted.

    python benchmarks/profile_runs.py [--memory]

Three commands on examples/survey.csv: microaggregate (quick), generalize, and assess of the first one's release. A
conversion turns a whole column into floats or into codes; columns with the same values in the same table or in another
count as one column. A change of package is a call from one folder of src/shoal into another. --memory instead prints
the peak memory of microaggregate on 200,000 records with eight columns, each method in a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
from click.testing import CliRunner

import shoal
from shoal.cli import main as command_line

SOURCES = Path(shoal.__file__).parent
EXAMPLES = Path(__file__).parent.parent / "examples"
ROWS, COLUMNS = 200_000, 8
# The functions that convert a whole column, by file and name; those of older versions too, to compare with them.
TO_FLOATS = {("table/cells.py", "cells"), ("table/kinds.py", "days"), ("table/column.py", "days")}
TO_CODES = {
    ("table/column.py", "_coded_numbers"),
    ("table/column.py", "_coded_texts"),
    ("table/columns.py", "coded"),
    ("table/table.py", "raw"),
    ("table/kinds.py", "_distinct_numbers"),
}


class Profile:
    """Counts the calls of one run."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.package_changes = 0
        self.to_floats: Counter[str] = Counter()
        self.to_codes: Counter[str] = Counter()

    def run(self, *arguments: object) -> None:
        """Run a command of the command line and count."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        try:
            run_command(*arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        file = _source(frame)
        if event != "call" or file is None or frame.f_code.co_name == "<module>":
            return
        self.files.add(file)
        caller = frame.f_back
        while caller is not None and _source(caller) is None:
            caller = caller.f_back
        if caller is not None and _package(_source(caller) or "") != _package(file):
            self.package_changes += 1
        place = (file, frame.f_code.co_name)
        if place in TO_FLOATS:
            self._count(self.to_floats, frame)
        elif place in TO_CODES:
            self._count(self.to_codes, frame)

    def _count(self, counter: Counter[str], frame: FrameType) -> None:
        series, full = _series(frame.f_locals)
        if full:
            column = series.to_polars()
            counter[f"{column.name} {column.dtype} {hash(tuple(column.to_list()))}"] += 1


def run_command(*arguments: object) -> None:
    """Run a command of the command line, which must succeed."""
    answer = CliRunner().invoke(command_line, [str(argument) for argument in arguments])
    if answer.exit_code:
        raise SystemExit(answer.output)


def _series(names: dict[str, Any]) -> tuple[Any, bool]:
    """The column that a conversion gets, and whether it is a whole column, not a list of its distinct values."""
    import narwhals as nw

    if "series" in names:
        return names["series"], len(names["series"]) >= 1000
    holder = names.get("self", names.get("table"))
    if hasattr(holder, "series"):
        return holder.series, True
    return nw.from_native(holder.frame, eager_only=True)[names["name"]], True


def _source(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    return path[len(str(SOURCES)) + 1 :] if path.startswith(f"{SOURCES}/") else None


def _package(file: str) -> str:
    return file.rpartition("/")[0]


def profile_runs(folder: Path) -> dict[str, Profile]:
    """The profiles of the three runs, after one that compiles and imports."""
    survey, release, roles = EXAMPLES / "survey.csv", folder / "release.csv", EXAMPLES / "roles.toml"
    steps = ("expenses=5000", "income=5000", "wealth=20000", "hours=10", "age=5")
    options = [survey, "-k", 5, "--roles", roles, "--effort", "quick", "--seed", 1]
    granularity = [part for step in steps for part in ("--granularity", step)]
    commands: dict[str, list[object]] = {
        "microaggregate": ["microaggregate", *options, "-o", release],
        "generalize": ["generalize", *options, *granularity, "-o", folder / "generalized.csv"],
        "assess": ["assess", survey, release, "--quasi", "age,hours,income,expenses,wealth"],
    }
    profiles = {}
    for name, arguments in commands.items():
        run_command(*arguments)
        profiles[name] = Profile()
        profiles[name].run(*arguments)
    return profiles


def print_table(profiles: dict[str, Profile]) -> None:
    """The counts as a table of Markdown."""
    print("| run | source files | changes of package | columns to floats | conversions | most per column |", end="")
    print(" columns to codes | conversions | most per column |")
    print(f"|{' --- |' * 9}")
    for name, profile in profiles.items():
        counts = [
            figure
            for counter in (profile.to_floats, profile.to_codes)
            for figure in (len(counter), counter.total(), max(counter.values(), default=0))
        ]
        print(f"| {name} | {len(profile.files)} | {profile.package_changes:,} | {' | '.join(map(str, counts))} |")


def print_memory() -> None:
    """The peak memory of runs on floats and on whole numbers."""
    for kind in ("floats", "whole numbers"):
        for method in ("mdav", "quick"):
            command = [sys.executable, __file__, "--one", kind, method]
            peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            print(f"{method} on {kind}: {peak} MB")


def one_peak(kind: str, method: str) -> None:
    """Protect and assess a table of clusters here, and print the peak in megabytes."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, COLUMNS))[rng.integers(0, 50, ROWS)] * 1000 + rng.normal(size=(ROWS, COLUMNS)) * 100
    if kind != "floats":
        values = np.rint(values).astype(np.int64)
    frame = pl.DataFrame({f"x{j}": np.ascontiguousarray(values[:, j]) for j in range(COLUMNS)})
    del values
    options: dict[str, Any] = {"method": "mdav"} if method == "mdav" else {"effort": "quick"}
    release = shoal.microaggregate(shoal.read(frame, quasi=frame.columns), 5, seed=1, **options)
    _ = release.assessment
    print(round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true", help="the peak memory of large runs instead")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one_peak(*arguments.one)
    elif arguments.memory:
        print_memory()
    else:
        with tempfile.TemporaryDirectory() as folder:
            print_table(profile_runs(Path(folder)))


if __name__ == "__main__":
    main()
