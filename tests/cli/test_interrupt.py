"""Ctrl-C during a long search: the best so far is verified and written, and the run says so; no traceback, ever."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal

# Ctrl-C comes after this many calls of the progress function; the command line makes the run.
INTERRUPTED = """
import os, signal, sys
from contextlib import contextmanager
from shoal.cli import main, options
after, calls = int(sys.argv[1]), 0

@contextmanager
def watched(label):
    def progress(done, total, best=None, what=""):
        global calls
        calls += 1
        if calls == after:
            os.kill(os.getpid(), signal.SIGINT)
    yield progress

import shoal.cli.protect
shoal.cli.protect.progress_bar = watched
main(sys.argv[2:])
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    n = 400
    town = rng.integers(0, 12, n)
    job = np.where((town == 3) & (rng.random(n) < 0.7) | (rng.random(n) < 0.08), "guard", "clerk")
    columns = {f"x{j}": rng.normal(size=n).round(3) for j in range(6)}
    frame = pl.DataFrame(
        {
            "name": [f"p{7 * i % n}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "school": rng.choice(["low", "mid", "high", "none"], n),
            "town": [f"t{t:02d}" for t in town],
            "job": job,
            **columns,
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


NUMBERS = ["--quasi", "x0,x1,x2,x3,x4,x5", "--as-is", "age,school,town,job", "-k", "3"]
LABELS = ["--quasi", "age,school,town", "--as-is", "job,x*", "-k", "5"]
ACCEPTED = ["--accept-k", "1"]  # what promises no joint k is written on the publisher's word
MASK = [
    *ACCEPTED, "--seed", "0", "--settings", "published",
    "--vital", "job=guard", "--parameter", "town", "--influential", "age,school", "--ordinal", "age",
    "--outliers", "t03", "--thresholds", "8", "--compatibility", "0", "--distortion", "1", "--sensitivity", "1",
]  # fmt: skip
LONG = {
    "microaggregate": ["microaggregate", *NUMBERS, "--effort", "thorough", "--threads", "2"],
    "memetic": ["microaggregate", *NUMBERS, "--method", "memetic", "--effort", "thorough", "--threads", "1"],
    "anneal": ["microaggregate", *NUMBERS, "--method", "anneal", "--effort", "thorough", "--threads", "1"],
    "genetic": ["microaggregate", *NUMBERS, "--method", "genetic", "--generations", "100000000"],
    "group": ["group", *NUMBERS, *ACCEPTED, "--evaluations", "10000000", "--threads", "2"],
    "gomm": ["group", *NUMBERS, *ACCEPTED, "--method", "gomm"],
    "front": ["group", *NUMBERS, *ACCEPTED, "--method", "univariate", "--front", "--evaluations", "10000000"],
    "search": ["generalize", *LABELS, "--effort", "thorough"],
    "nsga2": [
        "generalize", *LABELS, "--method", "nsga2", "--order", "alphabetical", "--evaluations", "100000000",
    ],
    "recode": ["recode", *LABELS, "--effort", "thorough"],
    "suppress": ["suppress", *LABELS, *ACCEPTED, "--star", "wildcard", "--effort", "thorough"],
    "flow": ["mask", *MASK, "--budget", "4000", "--steps", "100000000"],
    "swaps": ["mask", *MASK, "--method", "memetic", "--runs", "10000", "--generations", "50"],
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_the_best_so_far_is_written(name: str, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = [*LONG[name][:1], str(people), *LONG[name][1:], "--identifiers", "name", "-o", str(out), "--json"]
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, "12", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        "Traceback" not in done.stderr
        and "Stopped before the search had finished; this is the best result so far." in done.stderr
    )
    facts = json.loads(done.stdout)
    assert facts["stopped"] is True and facts["written"] is True
    before, after = pl.read_csv(people), pl.read_csv(out)
    assert after.height == before.height and "name" not in after.columns
    if name in ("microaggregate", "memetic", "anneal", "genetic"):
        assert after.group_by([f"x{j}" for j in range(6)]).len()["len"].min() >= 3
    if name == "suppress":
        assert facts["k_wildcard"] >= 5
    if LONG[name][0] in ("generalize", "recode"):
        assert after.group_by("age", "school", "town").len()["len"].min() >= 5
    if LONG[name][0] == "group":
        assert all(after.group_by(group).len()["len"].min() >= 3 for group in facts["groups"])
    if LONG[name][0] == "mask":
        assert sorted(after["town"]) == sorted(before["town"]) and facts["swaps"] > 0


@pytest.mark.parametrize("name", ["group", "search", "flow"])
def test_before_anything_is_found_nothing_is_written(name: str, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = [*LONG[name][:1], str(people), *LONG[name][1:], "-o", str(out)]
    code = "import shoal.cli.protect as c\ndef at_once(given):\n    raise KeyboardInterrupt\n"
    code += "c.read_table = at_once\nfrom shoal.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 130 and done.stderr.strip() == "Stopped; nothing was written." and not out.exists()


PLAIN: dict[str, Callable[..., shoal.Release]] = {
    "group": lambda table, **more: shoal.group_attributes(table, 3, evaluations=3000, **more),
    "gomm": lambda table, **more: shoal.group_attributes(table, 3, method="gomm", **more),
    "exact groups": lambda table, **more: shoal.group_attributes(table, 3, method="exact", **more),
    "auto": lambda table, **more: shoal.microaggregate(table, 3, effort="quick", **more),
    "memetic": lambda table, **more: shoal.microaggregate(table, 3, method="memetic", effort="quick", **more),
    "anneal": lambda table, **more: shoal.microaggregate(table, 3, method="anneal", effort="quick", **more),
    "genetic": lambda table, **more: shoal.microaggregate(table, 3, method="genetic", generations=3000, **more),
    "hybrid": lambda table, **more: shoal.microaggregate(table, 3, method="hybrid", generations=3000, **more),
    "search": lambda table, **more: shoal.generalize(table, 5, quasi=["age", "school"], effort="quick", **more),
    "exact cuts": lambda table, **more: shoal.generalize(
        table, 5, quasi=["age", "school"], granularity={"age": 10}, method="exact", order="alphabetical", **more
    ),
    "nsga2": lambda table, **more: shoal.generalize(
        table, 5, quasi=["age", "school"], method="nsga2", order="alphabetical", evaluations=4000, **more
    ),
    "recode": lambda table, **more: shoal.recode(table, 5, quasi=["age", "school"], effort="quick", **more),
    "suppress": lambda table, **more: shoal.suppress(table, 5, quasi=["age", "school"], effort="quick", **more),
    "flow": lambda table, **more: shoal.mask_group(table, **MASKED, budget=60, steps=300, **more),
    "swaps": lambda table, **more: shoal.mask_group(
        table, **MASKED, method="memetic", runs=3, generations=20, population=20, **more
    ),
}
MASKED = {
    "vital": ("job", ["guard"]), "parameter": "town", "influential": ["age", "school"], "ordinal": ["age"],
    "outliers": ["t03"], "thresholds": [8.0], "compatibility": 0.0, "distortion": 1.0, "sensitivity": 1.0,
    "seed": 0, "settings": "published",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The groups of method 'genetic' lose")
@pytest.mark.parametrize("name", PLAIN)
def test_every_search_reports_its_progress_and_best_and_the_trace_has_the_same(name: str, people: Path) -> None:
    told: list[tuple[str, float, float, float | None]] = []

    def progress(done: float, total: float, best: float | None = None, what: str = "") -> None:
        told.append((what, float(done), float(total), None if best is None else float(best)))

    whole = name in ("search", "exact cuts", "nsga2", "recode", "suppress", "flow", "swaps")
    table = shoal.read(people, quasi=[] if whole else ["x0", "x1", "x2", "x3"])
    release = PLAIN[name](table, progress=progress)
    assert [tuple(point) for point in release.trace] == told  # short enough to be kept whole
    assert all(what and 0 <= done <= total and total > 0 for what, done, total, _ in told)
    for _, stage in itertools.groupby(told, lambda look: look[0]):
        looks = list(stage)
        assert looks[-1][3] is not None  # the best so far
        bests = [best for *_, best in looks if best is not None]
        assert bests == sorted(bests, reverse=True)


def test_a_real_ctrl_c_from_outside(people: Path, tmp_path: Path) -> None:
    out, state = tmp_path / "out.csv", tmp_path / "state.npz"
    words = [*LONG["microaggregate"], "--identifiers", "name", "-o", str(out), "--json", "--checkpoint", str(state)]
    words.insert(1, str(people))
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not state.exists():
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    assert process.returncode == 0 and json.loads(stdout)["stopped"] is True and "Traceback" not in stderr
    assert pl.read_csv(out).group_by([f"x{j}" for j in range(6)]).len()["len"].min() >= 3
