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
from shoal.data.files import write_file
from shoal.partition.effort import proposals

SOAK = bool(os.environ.get("SHOAL_SOAK"))
KILLS, WATCHED_KILLS = (20, 10) if SOAK else (4, 2)
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
    same = {name for name in told if name not in ("seconds", "cpu_seconds", "stages", "proposals")}
    assert {name: last[name] for name in same} == {name: told[name] for name in same}


# Writes how much was done at each step, so that it is known of a killed process too.
WATCHED = """
import os, sys, shoal
records, state, noted = sys.argv[1:4]
file = os.open(noted, os.O_CREAT | os.O_WRONLY)
def note(done, total, best=None, what=""):
    os.pwrite(file, b"%20d" % done, 0)
shoal.microaggregate(records, 3, effort="thorough", checkpoint=state, resume=os.path.exists(state), threads=1,
                     progress=note)
"""


def test_what_was_done_is_not_done_again(records: Path, tmp_path: Path) -> None:
    state, noted, moments = tmp_path / "state.npz", tmp_path / "noted", random.Random(3)
    total = TOTAL
    for share in sorted(moments.uniform(0.05, 0.95) for _ in range(WATCHED_KILLS)):
        process = subprocess.Popen([sys.executable, "-c", WATCHED, str(records), str(state), str(noted)])
        while process.poll() is None and (not noted.exists() or int(noted.read_bytes() or 0) < share * total):
            time.sleep(0.01)
        process.kill()
        process.wait()
    done = int(noted.read_bytes())
    resumed = shoal.microaggregate(records, K, effort="thorough", checkpoint=state, resume=True, threads=1)
    assert done >= share * total * 0.9
    assert resumed.facts["proposals"] <= total - done + total / 10


def test_what_a_killed_write_left_is_cleaned_up_and_a_running_one_is_not(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code = (
        "import sys, time\nfrom shoal.data.files import atomically\n"
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
