"""A run that is killed (kill -9) leaves no partial output, and goes on from its checkpoint to the same result.

With SHOAL_SOAK set, the process is killed 20 times; otherwise a few.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine.partition.chains import MIN_BATCHES
from shoal.protections.microaggregation.effort import proposals
from shoal.sources.files import write_file

SOAK = bool(os.environ.get("SHOAL_SOAK"))
KILLS, WATCHED_KILLS = (20, 20) if SOAK else (4, 4)
N, K = 100, 3
TOTAL = proposals(N, K, "thorough")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.csv"
    pl.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), schema=["a", "b", "c"]).write_csv(path)
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def start(records: Path, out: Path, state: Path) -> subprocess.Popen[str]:
    """The real command, resumed if there is something to resume."""
    asked = ["microaggregate", records, "-k", K, "--effort", "thorough", "--threads", 2, "--json", "-o", out]
    asked += ["--checkpoint", state, *(["--resume"] if state.exists() else [])]
    command = [sys.executable, "-m", "shoal", *map(str, asked)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_at_random_moments_it_ends_with_the_same_file(records: Path, tmp_path: Path) -> None:
    folder, state = tmp_path / "out", tmp_path / "state" / "state.npz"
    folder.mkdir()
    state.parent.mkdir()
    out, moments = folder / "out.csv", random.Random(8)
    clock = time.monotonic()
    whole = start(records, out, tmp_path / "whole.npz")
    told = json.loads(whole.communicate()[0])
    length, expected = time.monotonic() - clock, sha256(out)
    assert told["proposals"] == pytest.approx(TOTAL, rel=1e-3)
    out.unlink()
    killed = went_on = 0
    while killed < KILLS or went_on == 0:
        process = start(records, out, state)
        try:
            last = json.loads(process.communicate(timeout=moments.uniform(0.05, 0.9) * length)[0])
        except subprocess.TimeoutExpired:
            resumed = state.exists()
            process.kill()
            process.communicate()
            killed += 1
            went_on += resumed
            assert [name for name in os.listdir(folder) if not name.startswith(".")] in ([], ["out.csv"])
            assert not out.exists() or sha256(out) == expected  # a whole file or none
            continue
        assert process.returncode == 0 and sha256(out) == expected and os.listdir(folder) == ["out.csv"]
        assert last["proposals"] <= told["proposals"]
        out.unlink()
        state.unlink()
    last = json.loads(start(records, out, state).communicate()[0])
    assert sha256(out) == expected and os.listdir(folder) == ["out.csv"]
    assert os.listdir(state.parent) == ["state.npz"]
    same = {name for name in told if name not in ("seconds", "cpu_seconds", "check_cpu_seconds", "stages", "proposals")}
    assert {name: last[name] for name in same} == {name: told[name] for name in same}


# Notes at each step how far the search is and how much of it this process did, so that it is known of a killed one too.
WATCHED = """
import json, os, sys, shoal
from shoal.engine.control import Control
records, state, noted = sys.argv[1:4]
file, own, advance = os.open(noted, os.O_CREAT | os.O_WRONLY), 0.0, Control.advance
def watched(control, work, *progress):
    global own
    own += work
    go_on = advance(control, work, *progress)
    os.pwrite(file, b"%20d %20d" % (control.done, own), 0)
    return go_on
Control.advance = watched
options = {"effort": "thorough", "checkpoint": state, "resume": os.path.exists(state), "threads": 1}
release = shoal.microaggregate(records, 3, method="memetic", **options)  # auto would prove the optimum after it
print(json.dumps([release.facts["proposals"], own, release.facts["sse"]]))
"""


def test_what_was_done_is_not_done_again(records: Path, tmp_path: Path) -> None:
    """After every single kill the next process begins at most a tenth of the work before the kill.

    What the killed one had under way, and nobody counted, is reckoned in: a piece of the search. By how often a
    state is written and how long a piece is, no more than 1/30 + 2/40 can be lost, however slow the disk is.
    """
    state, noted, moments = tmp_path / "state.npz", tmp_path / "noted", random.Random(3)
    reached = 0.0  # by the last process that was killed
    shares = sorted(moments.uniform(0.05, 0.95) for _ in range(WATCHED_KILLS))
    for share in [*shares, None]:
        noted.unlink(missing_ok=True)
        had_state = state.exists()
        command = [sys.executable, "-c", WATCHED, str(records), str(state), str(noted)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        if share is not None:
            while process.poll() is None and _noted(noted)[0] < share * TOTAL:
                time.sleep(0.005)
            time.sleep(moments.uniform(0, 0.1))  # within a piece, or within the writing of a state
            process.kill()
        told = process.communicate()[0]
        done, own = _noted(noted)
        if had_state:
            begun = done - own
            assert begun > 0 and reached + TOTAL / MIN_BATCHES - begun <= TOTAL / 10
        reached = done
        if told:
            break
    proposals, own, sse = json.loads(told)
    assert proposals == own  # the release states the work that was done
    whole = shoal.microaggregate(records, K, effort="thorough", threads=1)
    assert sse == whole.facts["sse"] and whole.facts["proposals"] == pytest.approx(TOTAL, rel=1e-3)


def _noted(path: Path) -> tuple[float, float]:
    """How far a process came, and how much of it was its own work."""
    found = path.read_bytes().split() if path.exists() else []
    return (float(found[0]), float(found[1])) if len(found) == 2 else (0.0, 0.0)


COMMANDS = {
    "group": ["-k", "3", "--evaluations", "400", "--threads", "1"],
    "generalize": [
        "-k",
        "3",
        "--granularity",
        "a=1",
        "--granularity",
        "b=1",
        "--granularity",
        "c=1",
        "--effort",
        "quick",
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_run_of_another_command_leaves_a_whole_file_or_none(name: str, records: Path, tmp_path: Path) -> None:
    folder, moments = tmp_path / "out", random.Random(5)
    folder.mkdir()
    out = folder / "out.csv"
    command = [sys.executable, "-m", "shoal", name, str(records), *COMMANDS[name], "-o", str(out), "--report"]
    command += [str(folder / "page.html"), "--save-recipe", str(folder / "run.toml")]
    clock = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    length, expected = time.monotonic() - clock, sha256(out)
    for path in folder.iterdir():
        path.unlink()
    for _ in range(KILLS):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=moments.uniform(0.3, 1.0) * length)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        seen = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        assert seen <= {"out.csv", "page.html", "run.toml"}
        assert "out.csv" not in seen or sha256(out) == expected
        assert "page.html" not in seen or (folder / "page.html").read_text().rstrip().endswith("</html>")
    subprocess.run(command, check=True, capture_output=True)
    assert {path.name for path in folder.iterdir()} == {"out.csv", "page.html", "run.toml"}  # what was left is gone
    assert sha256(out) == expected


def test_what_a_killed_write_left_is_cleaned_up_and_a_running_one_is_not(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code = (
        "import sys, time\nfrom shoal.sources.files import atomically\n"
        "with atomically(sys.argv[1]) as part:\n    part.write_text('half')\n    print('now', flush=True)\n"
        "    time.sleep(60)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(out)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "now\n"
    frame = pl.DataFrame({"x": [1, 2]})
    write_file(frame, out)
    assert len(os.listdir(tmp_path)) == 2 and pl.read_csv(out).equals(frame)  # the other is still writing
    writer.kill()
    writer.communicate()
    assert len(os.listdir(tmp_path)) == 2
    write_file(frame, out)
    assert os.listdir(tmp_path) == ["out.csv"]
