"""Generalization of Adult (evaluations, search, ten million rows) and of daily dates, in CPU seconds.

SHOAL_DATA=folder python benchmarks/generalization.py [evaluations] [search] [peers] [rows] [days]
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.protections.generalization.evaluate import Problem, make_problem
from shoal.protections.generalization.nsga2 import nsga2
from shoal.protections.generalization.search import search
from shoal.studies.reproduce.adult import QUASI, REFERENCE
from shoal.table.domain import nominal_domain, numeric_domain

BARS = {2: 0.3662, 5: 0.4274, 10: 0.4449, 25: 0.4759, 50: 0.5315, 100: 0.5690}
FREE_BARS = {5: 0.405, 10: 0.424, 25: 0.476}
DAYS_BAR = 15.0  # CPU seconds of the quick effort on 20,000 records with two columns of daily dates
PEERS = {(5, 0.0): 0.661, (5, 0.05): 0.274, (25, 0.0): 0.715, (25, 0.05): 0.431}


def problem(
    frame: pl.DataFrame, k: int, order: str = "alphabetical", d: int = 9, exact: bool = False, **more: Any
) -> Problem:
    codes, domains = [], []
    for name in QUASI[:d]:
        values = frame[name].unique().sort()
        index = frame[name].replace_strict(values, list(range(len(values))), return_dtype=pl.UInt8).to_numpy()
        counts = np.bincount(index, minlength=len(values)).tolist()
        if name == "age":
            domain = numeric_domain(name, values.to_list(), False, granularity=None if exact else (5, 1, 101))
        else:
            domain = nominal_domain(name, values.to_list(), counts, False, order)
        codes.append(domain.encode(values.to_list()).astype(np.uint8)[index])
        domains.append(domain)
    return make_problem(codes, [x.positions for x in domains], k, free=[x.free for x in domains], **more)


def stays(n: int = 20_000, seed: int = 31) -> pl.DataFrame:
    """Synthetic hospital stays: six quasi-identifiers, two of them daily dates."""
    rng = np.random.default_rng(seed)
    admitted = rng.integers(0, 730, n)
    born = admitted - (np.clip(rng.gamma(9, 5, n), 0, 99) * 365.25).astype(np.int64)
    shares = 1 / np.arange(1, 31)
    frame = pl.DataFrame(
        {
            "born": born,
            "admitted": admitted,
            "sex": rng.choice(["f", "m"], n),
            "district": rng.choice([f"district {i}" for i in range(30)], n, p=shares / shares.sum()),
            "job": rng.choice([f"job {letter}" for letter in "abcdefghijkl"], n),
            "stay": rng.poisson(4, n),
        }
    )
    first = pl.lit(date(2023, 1, 1))
    return frame.with_columns((first + pl.duration(days=name)).alias(name) for name in ("born", "admitted"))


def timed(work: Any) -> tuple[Any, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def days() -> None:
    """The quick effort on daily dates, everything included."""
    frame = stays()
    shoal.generalize(frame.head(500), 5, quasi=frame.columns, effort="quick")  # kernels are loaded before
    release, seconds = timed(lambda: shoal.generalize(frame, 5, quasi=frame.columns, effort="quick"))
    distinct = {name: frame[name].n_unique() for name in ("born", "admitted")}
    print(
        f"20,000 x 6 with daily dates {distinct}, k=5, quick: NWP {release.facts['nwp']:.4f}, {seconds:.1f} CPU s "
        f"(bar {DAYS_BAR:g})",
        flush=True,
    )


def main(parts: list[str]) -> None:
    if "days" in parts:
        days()
    if parts == ["days"]:
        return
    frame = pl.read_csv(Path(os.environ["SHOAL_DATA"]) / "adult.csv", null_values="?").drop_nulls()
    nsga2(problem(frame, 5), seed=9)  # everything is compiled and loaded before the clock starts
    if "evaluations" in parts:
        for k, reference in REFERENCE.items():
            front, seconds = timed(lambda k=k: nsga2(problem(frame, k)))
            print(f"nsga2 k={k}: NWP {front.best.nwp:.4f} (reference {reference}), {seconds:.2f} CPU s", flush=True)
    if "search" in parts:
        for order, bars in (("alphabetical", BARS), ("auto", FREE_BARS)):
            for k, bar in bars.items():
                runs = [timed(lambda k=k, s=s, order=order: search(problem(frame, k, order), seed=s)) for s in range(3)]
                losses = [front.best.nwp for front, _ in runs]
                print(
                    f"search {order} k={k}: NWP {statistics.median(losses):.4f} (bar {bar}), all {sorted(losses)}, "
                    f"{max(seconds for _, seconds in runs):.1f} CPU s at most",
                    flush=True,
                )
    if "peers" in parts:
        for (k, share), bar in PEERS.items():
            made = problem(frame, k, "auto", 8, exact=True, suppress=share)
            front, seconds = timed(lambda made=made: search(made))
            best = front.best
            print(
                f"eight columns, exact ages, k={k}, at most {share:.0%} suppressed: loss {best.nwp:.4f} (ARX {bar}), "
                f"{best.suppressed} rows suppressed, {seconds:.1f} CPU s",
                flush=True,
            )
    if "rows" in parts:
        rng = np.random.default_rng(0)
        large = frame.select(QUASI)[rng.integers(0, frame.height, 10_000_000)]
        k = 5 * large.height // frame.height  # the same share of the rows: an equally fine problem
        made, counting = timed(lambda: problem(large, k))
        small = problem(frame, 5)
        search(small, effort="quick")  # its kernels are loaded before the clock starts
        (_, many), (_, few) = timed(lambda: search(made, effort="quick")), timed(lambda: search(small, effort="quick"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"10,000,000 rows ({made.counts.size} tuples), k={k}: counting {counting:.1f} CPU s, "
            f"search {many:.1f} CPU s (Adult itself {few:.1f}), {peak:.2f} GiB at most"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["evaluations", "search", "peers", "rows", "days"])
