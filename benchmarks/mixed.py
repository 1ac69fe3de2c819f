"""Mixed microaggregation: loss, changed cells, CPU seconds and memory of MDAV and of searches with both losses, k = 5.

    python benchmarks/mixed.py [--survey | --adult | --million]

The survey is in examples/, Adult comes from the folder SHOAL_DATA, the file of 1,000,000 records is synthetic, with
five numbers and three nominal columns of 2, 8 and 12 values. Compilation is not counted; the memory is the peak of a
process of its own, with the check of the release.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.table.table import Table

K = 5
LEVELS = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
ADULT = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country")
MOST_CPU_SECONDS, MOST_GIGABYTES = 100.0, 2.5  # of the million


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("survey", "adult", "million"):
        parser.add_argument(f"--{name}", action="store_true", help=f"only the {name}")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.million and chosen.here:
        million()
        return
    every = not (chosen.survey or chosen.adult or chosen.million)
    if chosen.survey or every:
        compare("survey, 3,000 records", survey())
    if chosen.adult or every:
        compare("Adult, 30,162 records", adult())
    if chosen.million or every:  # in a process of its own: the peak of memory is that of a process
        subprocess.run([sys.executable, __file__, "--million", "--here"], check=True)


def compare(title: str, table: Table) -> None:
    """Loss and changed cells of MDAV and of searches, column by column; of searches the median of three seeds."""
    for loss in ("gini", "changes"):
        shoal.microaggregate(made(500), K, effort="quick", loss=loss)  # loads every kernel
    runs: dict[str, dict[str, Any]] = {
        "mdav": {"method": "mdav"},
        "gini, quick": {"effort": "quick", "loss": "gini"},
        "quick": {"effort": "quick"},
        "standard": {},
    }
    results = {name: median_run(table, options) for name, options in runs.items()}
    print(f"\n{title}, {results['quick']['d']} columns")
    print(f"{'':24}" + "".join(f"{name:>16}" for name in runs))
    rows = {
        "loss as written, %": lambda facts: facts["information_loss"],
        "CPU s": lambda facts: facts["cpu_seconds"],
    }
    for label, value in rows.items():
        print(f"{label:24}" + "".join(f"{value(facts):16.3f}" for facts in results.values()))
    nominal = [100 * nominal_share(run) for run in results.values()]
    print(f"{'nominal changed, %':24}" + "".join(f"{share:16.2f}" for share in nominal))
    for column, facts in results["quick"]["per_column"].items():
        name, key = ("changed ", "changed") if "changed" in facts else ("loss of ", "loss")
        values = (run["per_column"][column][key] * (100 if key == "changed" else 1) for run in results.values())
        print(f"{name + column + ', %':24}" + "".join(f"{value:16.2f}" for value in values), flush=True)


def median_run(table: Table, options: dict[str, Any]) -> Any:
    """The run whose share of changed nominal cells is the median of three seeds; MDAV has no seed."""
    seeds = (0,) if options.get("method") == "mdav" else (0, 1, 2)
    runs = [shoal.microaggregate(table, K, seed=seed, threads=1, **options).facts for seed in seeds]
    return sorted(runs, key=nominal_share)[len(runs) // 2]


def nominal_share(facts: Any) -> float:
    """The share of the nominal cells that changed."""
    return float(np.mean([c["changed"] for c in facts["per_column"].values() if c["kind"] == "nominal"]))


def million() -> None:
    """Time and memory of the quick search on 1,000,000 records."""
    shoal.microaggregate(made(500), K, effort="quick")
    table = made(1_000_000)
    clock = time.monotonic()
    release = shoal.microaggregate(table, K, effort="quick", threads=2)
    facts = release.facts
    clock = time.monotonic() - clock
    checked = release.findings.cpu_seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print("\n1,000,000 records, 8 columns, quick, two threads")
    print(f"loss as written {facts['information_loss']:.3f} %, of the search {100 * facts['sse'] / facts['sst']:.3f} %")
    print(f"{facts['cpu_seconds']:.1f} CPU s (at most {MOST_CPU_SECONDS:.0f}), {clock:.1f} s by the clock")
    print(f"{checked:.1f} CPU s for the release check: {100 * checked / facts['cpu_seconds']:.0f} % (at most 33)")
    print(f"{peak:.2f} GB at the peak (at most {MOST_GIGABYTES})")
    for column, measured in facts["per_column"].items():
        if "changed" in measured:
            print(f"changed {column}: {100 * measured['changed']:.2f} %")


def survey() -> Table:
    columns = ("age", "hours", "income", "expenses", "wealth", "district", "sex", "education")
    path = Path(__file__).parents[1] / "examples" / "survey.csv"
    return shoal.read(path, identifiers="name", confidential="diagnosis", quasi=columns, order={"education": LEVELS})


def adult() -> Table:
    """The complete records."""
    frame = pl.read_csv(Path(os.environ["SHOAL_DATA"]) / "adult.csv", null_values="?")
    return shoal.read(frame.drop_nulls().select(ADULT), quasi=ADULT)


def made(n: int) -> Table:
    """Five correlated numbers, and labels of 2, 8 and 12 values that depend on them."""
    rng = np.random.default_rng(7)
    numbers = rng.normal(size=(n, 5)) @ (np.eye(5) + 0.5 * rng.normal(size=(5, 5)))
    labels = {}
    for j, count in enumerate((2, 8, 12)):
        noisy = numbers[:, j] + rng.normal(size=n)
        cuts = np.quantile(noisy, np.sort(rng.random(count - 1)))
        labels[f"label{count}"] = pl.Series([f"value {c}" for c in range(count)]).gather(np.searchsorted(cuts, noisy))
    frame = pl.DataFrame({**{f"x{j}": numbers[:, j] for j in range(5)}, **labels})
    return shoal.read(frame, quasi=frame.columns)


if __name__ == "__main__":
    main()
