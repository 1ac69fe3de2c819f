"""Microaggregation and local recoding of a folder of files: loss, CPU seconds, memory and disk, k = 5.

    python benchmarks/folders.py [--rows 400000,2000000] [--sets normal,clusters,skewed,survey] [--seeds 1]
                                 [--workers 2] [--on processes,dask,spark] [--effort quick] [--leaf N] [--rounds N]
                                 [--alone] [--folder DIR] [--results FILE]

The input is made file by file, 1,000,000 records each (fewer if there are few records), from the set, the seed and the
number of the file. Three sets are microaggregated and have 10 columns of numbers: correlated normal numbers, 50
clusters, or skewed amounts with two decimals. The set `survey` is recoded: 4 columns of numbers and 4 of names, which
depend on age and on a latent status (the loss is then a percentage of the detail). `--alone` protects the
same records in one file as well, and compares. Every run is a process of its own, which makes, checks and writes the
release. `--on dask` and `--on spark` start a cluster of two workers on this machine, as the tests do. CPU seconds and
the largest process are those of the run, its workers and, from the moment that it is ready, of the cluster. Staged
gigabytes are the most that the staging folder holds at once. `--results` keeps one JSON line per run, from which
docs/make_tables.py makes the tables of docs/explain/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

K, COLUMNS, CLUSTERS = 5, 10, 50
SETS = ("normal", "clusters", "skewed")
SURVEY = "survey"
MOST_ROWS, FEWEST_FILES = 1_000_000, 4  # of a file; of a folder
GIGABYTE = 1e9
ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="400000,2000000")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--on", default="processes", help="processes, dask, spark; several with commas")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--leaf", type=int, help="records of a leaf, instead of the default")
    parser.add_argument("--rounds", type=int, help="rounds across borders, instead of the default")
    parser.add_argument("--alone", action="store_true", help="also protect the same records in one file")
    parser.add_argument("--folder", type=Path, help="where the files are made; by default a temporary folder")
    parser.add_argument("--results", type=Path, help="file to which one JSON line per run is added")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        here(json.loads(chosen.here))
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for n in (int(text) for text in chosen.rows.split(",")):
            for name in chosen.sets.split(","):
                for seed in (int(text) for text in chosen.seeds.split(",")):
                    run(Path(folder), n, name, seed, chosen)


def run(folder: Path, n: int, name: str, seed: int, chosen: argparse.Namespace) -> None:
    """Protect one table in a folder, and on request in one file."""
    files = folder / "in"
    make(files, n, name, seed)
    options = {key: getattr(chosen, key) for key in ("leaf", "rounds") if getattr(chosen, key) is not None}
    facts = {"rows": n, "set": name, "seed": seed, "date": time.strftime("%Y-%m-%d")}
    made: dict[str, dict[str, Any]] = {}
    for on in chosen.on.split(","):
        result = made[on] = measured(
            {"name": name, "data": str(files), "output": str(folder / "out"), "effort": chosen.effort, "on": on,
             "workers": chosen.workers if on == "processes" else None, **options}
        )  # fmt: skip
        print(
            f"{n:>12,} x {result['d']} {name}, seed {seed}, on {on}: loss {result['information_loss']:.4f} %, "
            f"{result['cpu']:.0f} CPU s ({1e6 * result['cpu'] / n:.0f} per million), "
            f"largest process {result['memory']:.2f} GB, "
            f"staged {result['staged']:.2f} GB, written {result['written']:.2f} GB, k = {result['smallest_group']} "
            f"in {result['leaves']} leaves, {result['seconds']:.0f} s by the clock",
            flush=True,
        )
        keep(chosen.results, {**facts, "on": on, "workers": chosen.workers if on == "processes" else 2, **result})
    if chosen.alone:
        one = folder / "one.parquet"
        pl.concat([pl.read_parquet(path) for path in sorted(files.iterdir())]).write_parquet(one)
        alone = measured(
            {"name": name, "data": str(one), "output": str(folder / "one-out.parquet"), "effort": chosen.effort}
        )
        one.unlink()
        against = [
            f"on {on}: loss {percent(result, alone)}, {result['cpu'] / alone['cpu']:.2f} times the CPU seconds"
            for on, result in made.items()
        ]
        print(
            f"{'one file':>12}: loss {alone['information_loss']:.4f} %, {alone['cpu']:.0f} CPU s, "
            f"{alone['memory']:.2f} GB; {'; '.join(against)}",
            flush=True,
        )
        keep(chosen.results, {**facts, "on": None, "workers": 1, **alone})
    shutil.rmtree(files)


def percent(result: dict[str, Any], alone: dict[str, Any]) -> str:
    return f"{100 * (result['information_loss'] / alone['information_loss'] - 1):+.2f} %"


def keep(path: Path | None, result: dict[str, Any]) -> None:
    """Add a result to a file of JSON lines."""
    if path is not None:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")


def make(folder: Path, n: int, name: str, seed: int) -> None:
    """Write the input, one file after the other."""
    folder.mkdir()
    files = max(FEWEST_FILES, -(-n // MOST_ROWS))
    ends = [n * i // files for i in range(files + 1)]
    for i in range(files):
        n_here = ends[i + 1] - ends[i]
        if name == SURVEY:
            frame = survey(n_here, seed, i)
        else:
            values = drawn(name, n_here, seed, i)
            frame = pl.DataFrame({f"x{j}": values[:, j] for j in range(COLUMNS)})
        frame.write_parquet(folder / f"part-{i:05d}.parquet")


def drawn(name: str, n: int, seed: int, part: int) -> np.ndarray:
    """Return the records of one file of a set."""
    whole = np.random.default_rng([seed, SETS.index(name)])  # what all files share
    rng = np.random.default_rng([seed, SETS.index(name), part])
    mixing = np.eye(COLUMNS) + 0.5 * whole.normal(size=(COLUMNS, COLUMNS))
    if name == "clusters":
        centres = whole.normal(size=(CLUSTERS, COLUMNS)) * 3.0
        spread = whole.uniform(0.2, 1.0, size=CLUSTERS)
        chosen = rng.integers(CLUSTERS, size=n)
        return centres[chosen] + rng.normal(size=(n, COLUMNS)) * spread[chosen, None]
    numbers = rng.normal(size=(n, COLUMNS)) @ mixing
    if name == "normal":
        return np.asarray(numbers)
    return np.round(np.exp(6.0 + 0.4 * numbers), 2)


def survey(n: int, seed: int, part: int) -> pl.DataFrame:
    """Return the records of one file of persons: numbers and names that depend on age and on a latent status."""
    whole = np.random.default_rng([seed, len(SETS)])  # what all files share
    rng = np.random.default_rng([seed, len(SETS), part])
    status, age = rng.normal(size=n), np.clip(rng.gamma(9.0, 5.0, size=n) + 15, 16, 95).astype(np.int64)
    works = (age < 67) & (rng.random(n) < 0.8)
    hours = np.where(works, np.clip(np.rint(rng.normal(38, 8, size=n)), 4, 80), 0).astype(np.int64)
    income = np.rint(np.exp(7.2 + 0.5 * status + 0.012 * hours + 0.3 * rng.normal(size=n)) / 50) * 50
    shift, weight = whole.normal(size=(3, 40)), whole.random(40) + 0.1

    def label(count: int, row: int, by: np.ndarray) -> np.ndarray:
        """Draw one of some names: the Gumbel trick for a multinomial logit."""
        scores = np.log(weight[:count]) + by[:, None] * shift[row, :count] + rng.gumbel(size=(n, count))
        return scores.argmax(axis=1)

    return pl.DataFrame(
        {
            "age": age, "hours": hours, "income": income.astype(np.int64),
            "children": np.minimum(rng.poisson(np.clip((age - 18) / 15, 0, 2)), 6),
            "sex": np.array(["f", "m"])[rng.integers(2, size=n)],
            "education": np.char.add("level ", label(12, 0, status).astype(str)),
            "occupation": np.char.add("job ", label(40, 1, status).astype(str)),
            "region": np.char.add("region ", label(16, 2, 0.3 * status).astype(str)),
        }
    )  # fmt: skip


def measured(task: dict[str, Any]) -> dict[str, Any]:
    """Protect and write in a process of its own; return its facts with CPU seconds, memory and disk."""
    done = subprocess.run(
        [sys.executable, __file__, "--here", json.dumps(task)], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def here(task: dict[str, Any]) -> None:
    """Protect, write, remove what was written, and print one JSON line."""
    import shoal

    started = time.monotonic()
    output, options = Path(task["output"]), {k: task[k] for k in ("effort", "leaf", "rounds") if k in task}
    staging = output.with_name("staging")
    watch = Watch(staging)
    protect = shoal.recode if task["name"] == SURVEY else shoal.microaggregate
    with place(task.get("on"), output.parent) as on:
        watch.begin()
        if on is None:
            release = protect(shoal.read(task["data"]), K, progress=stages, threads=1, **options)
            release.save(output)
        else:
            data = shoal.scan(task["data"], on=on, workers=task["workers"], staging=staging)
            release = protect(data, K, progress=stages, **options)
            release.save(output)
            release.discard()
        watch.end()
    written = sum(p.stat().st_size for p in output.iterdir()) if output.is_dir() else output.stat().st_size
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    kept = ("d", "information_loss", "smallest_group", "groups", "leaves", "rounds")
    facts = {name: release.facts[name] for name in kept if name in release.facts}
    if task["name"] == SURVEY:
        facts["information_loss"] = 100.0 * release.facts["loss"]
    facts |= {
        "cpu": watch.cpu, "memory": watch.memory / GIGABYTE,
        "staged": watch.staged / GIGABYTE, "written": written / GIGABYTE, "effort": task["effort"],
        "seconds": time.monotonic() - started, "version": shoal.__version__,
    }  # fmt: skip
    print(json.dumps(facts))


@contextmanager
def place(on: str | None, folder: Path) -> Iterator[str | None]:
    """Give the address of a cluster that is started for `dask` and `spark`; anything else is its own address."""
    if on not in ("dask", "spark"):
        yield on
        return
    sys.path.insert(0, str(ROOT / "tests" / "folders"))
    import clusters

    work = folder / "cluster"
    work.mkdir()
    try:
        with {"dask": clusters.dask_cluster, "spark": clusters.spark_cluster}[on](work) as cluster:
            os.environ.update(cluster.environment)
            yield cluster.address
    finally:
        shutil.rmtree(work, ignore_errors=True)


class Watch:
    """What this process and all that descend from it need, seen twice a second: CPU seconds, memory, staged bytes."""

    def __init__(self, staging: Path) -> None:
        self.staging, self.staged, self.memory, self.before = staging, 0, 0, 0.0
        self.seconds: dict[int, float] = {}  # of each process, when it was last seen
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def begin(self) -> None:
        """Count from here on."""
        self.update()
        self.before = sum(self.seconds.values())
        self.memory = 0
        self.thread.start()

    def end(self) -> None:
        """Count up to here."""
        self.over.set()
        self.thread.join()
        self.update()

    @property
    def cpu(self) -> float:
        return sum(self.seconds.values()) - self.before

    def look(self) -> None:
        while not self.over.wait(0.5):
            self.update()

    def update(self) -> None:
        for process in family(os.getpid()):
            try:
                ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
                peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
            except OSError:  # it has ended meanwhile
                continue
            self.seconds[process] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            self.memory = max(self.memory, int(peak[1]) * 1024 if peak else 0)
        self.staged = max(self.staged, size_of(self.staging))


def family(process: int) -> list[int]:
    """Return a process and all that descend from it."""
    members, place = [process], 0
    while place < len(members):
        for path in Path(f"/proc/{members[place]}/task").glob("*/children"):
            try:
                members += map(int, path.read_text().split())
            except OSError:
                continue
        place += 1
    return members


def size_of(folder: Path) -> int:
    """Return the bytes that a folder holds now."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # it was removed or renamed meanwhile
            continue
    return total


def stages(done: float, total: float, best: float | None = None, what: str = "") -> None:
    """Say on standard error what a long run does."""
    if sys.stderr.isatty() or os.environ.get("SHOAL_BENCH_VERBOSE"):
        loss = "" if best is None else f", loss {best:.4f} %"
        print(f"{what} {done:,.0f} of {total:,.0f}{loss}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
