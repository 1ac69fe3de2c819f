"""Memory of shoal microaggregate on one Parquet file: the largest resident memory of the command, by rows.

    python benchmarks/memory.py [--rows 250000,500000,1000000] [--columns 20] [--effort quick]

Each size is a process of its own, which reads the file, searches, writes the release and checks it. Between two sizes,
the growth of the peak per record is what a record costs; the rest is Python with its libraries. The values are
correlated normal numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="250000,500000,1000000")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.here:
        here(chosen.here, chosen.effort)
        return
    peaks: dict[int, int] = {}
    for n in sorted(int(text) for text in chosen.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "in.parquet"
            make(path, n, chosen.columns)
            done = subprocess.run(
                [sys.executable, __file__, "--here", str(path), "--effort", chosen.effort],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
        peaks[n], seconds = json.loads(done.stdout.splitlines()[-1])
        print(f"{n:>12,} x {chosen.columns}: {peaks[n] / 1e9:.2f} GB, {seconds:.0f} CPU s", flush=True)
    for one, two in pairwise(peaks):
        print(f"{one:>12,} to {two:,}: {(peaks[two] - peaks[one]) / (two - one):.0f} bytes per record")


def make(path: Path, n: int, columns: int) -> None:
    rng = np.random.default_rng(1)
    mixing = np.eye(columns) + 0.5 * rng.normal(size=(columns, columns))
    pl.DataFrame(rng.normal(size=(n, columns)) @ mixing).write_parquet(path)


def here(path: Path, effort: str) -> None:
    """Run the command in this process, and print its peak in bytes and its CPU seconds."""
    from shoal.cli import main as command

    silent = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        command(["microaggregate", str(path), "-k", "5", "--effort", effort, "-o", str(path.with_name("out.parquet"))])
    except SystemExit as end:
        if end.code:
            raise
    os.dup2(silent, 1)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime]))


if __name__ == "__main__":
    main()
