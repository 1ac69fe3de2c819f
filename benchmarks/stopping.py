"""How long every search continues after a stop by another thread, and by Ctrl-C (SIGINT) on the command line.

    python benchmarks/stopping.py            # all; or the names of some
    python benchmarks/stopping.py hybrid mask-memetic

Each search gets far more work than it can do. It is stopped after SECONDS, and must end within LIMIT seconds. The CPU
seconds of its threads are shown too: other work on the machine lengthens the seconds, but not these. "gave"
says whether it had a result by then (the best so far) or ended without one. The kernels are compiled in advance,
because the compilation of a kernel cannot be stopped.

docs/how-it-works.md has a table of these seconds. On a machine with far more work, only the CPU seconds count.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.errors import Stopped

SECONDS, LIMIT = 1.0, 2.0


def numbers(n: int, d: int = 6) -> pl.DataFrame:
    """Records in clusters, with which no search finishes early."""
    rng = np.random.default_rng(n)
    centres = rng.normal(size=(40, d)) * 3
    values = centres[rng.integers(40, size=n)] + rng.normal(size=(n, d))
    return pl.DataFrame({f"x{j}": values[:, j] for j in range(d)})


def people(n: int) -> pl.DataFrame:
    """A small census: a target group with a peak in one town."""
    rng = np.random.default_rng(n)
    town = rng.integers(0, 40, n)
    job = np.where((town == 3) & (rng.random(n) < 0.5) | (rng.random(n) < 0.05), "guard", "clerk")
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "school": rng.choice(["none", "low", "mid", "high"], n),
            "income": rng.integers(0, 400, n),
            "town": [f"t{t:02d}" for t in town],
            "job": job,
        }
    )


def micro(n: int, d: int = 6, k: int = 5, **options: Any) -> Callable[[shoal.Control], Any]:
    return lambda control: shoal.microaggregate(numbers(n, d), k, control=control, **options)


def mask(n: int, **options: Any) -> Callable[[shoal.Control], Any]:
    group = {"vital": ("job", ["guard"]), "parameter": "town", "influential": ["age", "school", "income"]}
    return lambda control: shoal.mask_group(
        people(n), ordinal=["age", "income"], distortion=1.0, control=control, **group, **options
    )


def labels(n: int, **options: Any) -> Callable[[shoal.Control], Any]:
    quasi = ["age", "school", "income", "town"]
    return lambda control: shoal.generalize(people(n), 10, quasi=quasi, control=control, **options)


def recode(n: int, **options: Any) -> Callable[[shoal.Control], Any]:
    quasi = ["age", "school", "income", "town"]
    return lambda control: shoal.recode(people(n), 10, quasi=quasi, control=control, **options)


def suppress(n: int, **options: Any) -> Callable[[shoal.Control], Any]:
    quasi = ["age", "school", "income", "town", "job"]
    return lambda control: shoal.suppress(people(n), 10, quasi=quasi, control=control, **options)


def suppress_wide(n: int, d: int, **options: Any) -> Callable[[shoal.Control], Any]:
    """Cell suppression of many columns, each with a few values."""

    def search(control: shoal.Control) -> Any:
        values = np.random.default_rng(n).integers(0, 6, (n, d))
        frame = pl.DataFrame({f"x{j}": values[:, j] for j in range(d)})
        return shoal.suppress(frame, 10, quasi=frame.columns, control=control, **options)

    return search


def folder(n: int, files: int) -> Callable[[shoal.Control], Any]:
    """Microaggregation of a folder: the files are written when the search is called, and its workers are processes."""

    def search(control: shoal.Control) -> Any:
        with tempfile.TemporaryDirectory() as place:
            for number in range(files):
                numbers(n + number).write_parquet(Path(place) / f"{number}.parquet")
            return shoal.microaggregate(shoal.scan(place, workers=2), 5, effort="thorough", control=control)

    return search


def groups(n: int, d: int = 9, **options: Any) -> Callable[[shoal.Control], Any]:
    return lambda control: shoal.group_attributes(numbers(n, d), 5, control=control, **options)


SEARCHES: dict[str, Callable[[shoal.Control], Any]] = {
    "auto": micro(5_000, effort="thorough"),
    "memetic": micro(2_000, method="memetic", effort="thorough"),
    "memetic-small": micro(150, method="memetic", k=3, effort="thorough"),
    "anneal": micro(20_000, method="anneal", effort="thorough"),
    "blocks": micro(100_000, method="blocks", effort="thorough"),
    "mdav-brute": micro(100_000, d=12, method="mdav", engine="brute"),
    "mdav-tree": micro(400_000, method="mdav", engine="tree"),
    "md": micro(40_000, method="md"),
    "vmdav": micro(40_000, method="vmdav"),
    "mst": micro(100_000, method="mst"),
    "path": micro(60_000, method="path"),
    "genetic": micro(3_000, method="genetic", generations=10**8),
    "hybrid": micro(5_000, method="hybrid", macro_size=200, generations=10**8),
    "exact-subsets": micro(20, method="exact"),
    "exact": micro(400, method="exact", k=3),
    "refine": micro(100_000, method="mdav", refine=True),
    "bound": micro(1_500, method="mdav", k=3, bound=True, bound_seconds=600.0),
    "group": groups(3_000, evaluations=10**8),
    "group-gomm": groups(3_000, d=14, method="gomm"),
    "group-exact": groups(3_000, d=12, method="exact"),
    "group-front": groups(3_000, method="all", with_front=True, evaluations=10**8),
    "generalize": labels(20_000, effort="thorough"),
    "generalize-nsga2": labels(20_000, method="nsga2", order="alphabetical", evaluations=10**8),
    "generalize-exact": labels(20_000, method="exact", order="alphabetical"),
    "mask": mask(60_000, budget=100_000),
    "mask-flow": mask(60_000, settings="published", method="flow", budget=100_000, steps=10**8),
    "mask-memetic": mask(60_000, settings="published", method="memetic", runs=10_000, generations=10**6),
    "recode": recode(60_000, effort="thorough"),
    "recode-nodes": recode(60_000, steps={"age": [5, 10, 20], "income": [10, 50]}, effort="thorough"),
    "recode-topdown": recode(1_000_000, method="topdown"),
    "recode-mondrian": recode(1_000_000, method="mondrian"),
    "recode-peel": recode(200_000, method="peel", steps={"age": [2, 10, 20], "income": [2, 10, 50]}),
    "recode-suppress": recode(60_000, suppress=0.2, effort="thorough"),
    "recode-bound": recode(200_000, method="mondrian", bound=True),
    "suppress": suppress(300_000, effort="thorough"),
    "suppress-wide": suppress_wide(30_000, 20, effort="thorough"),
    "suppress-wildcard": suppress(30_000, star="wildcard", effort="thorough"),
    "suppress-subsets": suppress(100_000, subsets=3, effort="thorough"),
    "suppress-subsets-wide": suppress_wide(30_000, 20, subsets=3, effort="thorough"),
    "suppress-sets": suppress(60_000, sets=[["age", "income"], ["income", "town", "job"]], effort="thorough"),
    "folder": folder(100_000, 8),
    "compare": lambda control: shoal.compare(numbers(10_000), 5, effort="thorough", control=control),
}  # fmt: skip

WORDS = ["--as-is", "job", "-k", "10", "--quasi", "age,school,income,town"]
GROUP = ["--vital", "job=guard", "--parameter", "town", "--influential", "age,school,income", "--ordinal", "age,income"]
COMMANDS: dict[str, list[str]] = {
    "auto": ["microaggregate", "numbers.csv", "-k", "5", "--effort", "thorough"],
    "hybrid": ["microaggregate", "numbers.csv", "-k", "5", "--method", "hybrid", "--generations", str(10**8)],
    "bound": ["microaggregate", "few.csv", "-k", "3", "--method", "mdav", "--bound", "--bound-seconds", "600"],
    "group": ["group", "numbers.csv", "-k", "5", "--accept-k", "1", "--evaluations", str(10**8)],
    "generalize": ["generalize", "people.csv", *WORDS, "--effort", "thorough"],
    "mask-memetic": [
        "mask", "people.csv", *GROUP, "--settings", "published", "--method", "memetic", "--seed", "0",
        "--accept-k", "1", "--distortion", "1", "--runs", "10000", "--generations", str(10**6),
    ],
    "compare": ["compare", "numbers.csv", "-k", "5", "--effort", "thorough"],
    "study-sensitivity": ["study", "sensitivity", "20x2", "--grid", "published"],
    "study-operators": ["study", "operators", "20x8", "-k", "3", "--generations", "100000"],
    "study-alpha": ["study", "alpha"],
}  # fmt: skip


def cancelled(search: Callable[[shoal.Control], Any], seconds: float) -> tuple[float, float, str]:
    """Seconds and CPU seconds from the stop to the end, and the outcome."""
    control, outcome = shoal.Control(threads=2), ["ended before"]

    def body() -> None:
        try:
            search(control)
            outcome[0] = "best so far"
        except Stopped:
            outcome[0] = "nothing yet"
        except Exception as error:
            outcome[0] = f"{type(error).__name__}: {str(error)[:60]}"

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(seconds)
    ended_before = not thread.is_alive()
    stopped, spent = time.perf_counter(), time.process_time()
    control.stop()
    thread.join()
    taken = time.perf_counter() - stopped, time.process_time() - spent
    return *taken, "ended before" if ended_before else outcome[0]


def interrupted(words: list[str], folder: Path, seconds: float) -> tuple[float, str]:
    """The same for a command that gets SIGINT."""
    file = f"out-{time.monotonic_ns()}{'' if words[0] == 'study' else '.csv'}"  # a study writes a folder
    out = [] if words[0] == "compare" else ["-o", str(folder / file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *words, *out, "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(seconds)
    stopped = time.perf_counter()
    ended_before = process.poll() is not None
    if not ended_before:
        os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    taken = time.perf_counter() - stopped
    if ended_before:
        return taken, f"ended before, {process.returncode}: {stderr.strip()[-80:]}"
    if process.returncode == 130:
        return taken, "nothing yet"
    facts = json.loads(stdout) if process.returncode == 0 else {}
    return taken, "best so far" if facts.get("stopped") else f"exit code {process.returncode}: {stderr.strip()[-80:]}"


def main(names: list[str]) -> None:
    worst = 0.0
    print(f"{'search':<24}{'seconds':>9}{'CPU':>8}  gave")
    for name, search in SEARCHES.items():
        if names and name not in names:
            continue
        cancelled(search, 10 * SECONDS)  # what it calls is compiled or loaded
        seconds, cpu, outcome = cancelled(search, SECONDS)
        worst = max(worst, seconds)
        print(f"{name:<24}{seconds:>9.2f}{cpu:>8.2f}  {outcome}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        numbers(5_000).write_csv(folder / "numbers.csv")
        numbers(1_500).write_csv(folder / "few.csv")
        people(20_000).write_csv(folder / "people.csv")
        for name, words in COMMANDS.items():
            if names and name not in names:
                continue
            seconds, outcome = interrupted(words, folder, 4.0)  # the start of Python included
            worst = max(worst, seconds)
            print(f"{'SIGINT ' + name:<24}{seconds:>9.2f}{'':>8}  {outcome}", flush=True)
    print(f"slowest {worst:.2f} s, limit {LIMIT:.0f} s: {'kept' if worst <= LIMIT else 'BROKEN'}")


if __name__ == "__main__":
    main(sys.argv[1:])
