"""Local recoding: loss, granularity and CPU seconds beside other tools, on Adult and on ARX's published benchmark.

    SHOAL_DATA=FOLDER python benchmarks/recoding.py [quick standard thorough]
    python benchmarks/recoding.py million

The second one measures quick and Mondrian on a synthetic survey of 1,000,000 records (`shoal data make survey`), once.
Medians of three seeds on one thread. The figures of the other tools were measured once on another machine under load
(anonypy 0.2, ARX 3.9), or published (ARX's benchmark of 2021).
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.studies import datasets

EIGHT = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country")
SEEDS = (0, 1, 2)
OTHERS = {
    "Adult, 8 columns, sets, k = 5": "anonypy's Mondrian: loss 0.0322 in 94 s",
    "Adult, 8 columns, sets, k = 10": "strict Mondrian: loss 0.0574",
    "Adult, 8 columns, sets, k = 25": "strict Mondrian: loss 0.1078",
    "ARX's Adult, 9 columns, nodes, k = 5": "ARX: granularity 0.7296 (global optimum)",
    "ARX's MACH 2019, 16 columns, nodes, k = 5": "ARX: granularity 0.6387 (local, some 2,000 s), 0.4609 (global)",
}


def main(efforts: list[str]) -> None:
    folder = Path(os.environ["SHOAL_DATA"])
    tables = {
        **{f"Adult, 8 columns, sets, k = {k}": (adult(folder), k, {}) for k in (5, 10, 25)},
        "ARX's Adult, 9 columns, nodes, k = 5": (*arx(folder, "adult"),),
        "ARX's MACH 2019, 16 columns, nodes, k = 5": (*arx(folder, "mach2019"),),
    }
    for title, (table, k, options) in tables.items():
        print(f"\n{title} ({OTHERS[title]})")
        methods: list[dict[str, Any]] = [{"method": "mondrian"}, *({"effort": effort} for effort in efforts)]
        for method in methods:
            seeds = SEEDS if "effort" in method else SEEDS[:1]
            runs = [shoal.recode(table, k, seed=seed, threads=1, **method, **options).facts for seed in seeds]
            name = next(iter(method.values()))
            loss, detail, cpu = (
                statistics.median(run[key] for run in runs) for key in ("loss", "granularity", "cpu_seconds")
            )
            print(f"  {name:<10} loss {loss:.4f}  granularity {detail:.4f}  {cpu:6.2f} CPU s", flush=True)


def million() -> None:
    """Loss, CPU seconds and memory on one thread; the memory is the most so far, and Mondrian goes first."""
    table, few = (datasets.load("survey", 1, rows=rows) for rows in (1_000_000, 500))
    for method in ({"method": "mondrian"}, {"effort": "quick"}):
        shoal.recode(few, 5, **method)  # type: ignore[arg-type]  # loads the kernels
        facts = shoal.recode(table, 5, threads=1, **method).facts  # type: ignore[arg-type]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        name = next(iter(method.values()))
        print(f"{name:<10} loss {facts['loss']:.5f}  {facts['cpu_seconds']:6.2f} CPU s  {peak:.2f} GiB", flush=True)


def adult(folder: Path) -> Any:
    """The complete records of Adult; an incomplete one has a question mark."""
    frame = pl.read_csv(folder / "adult.csv")
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    complete = frame.filter(~pl.any_horizontal(pl.col(texts).str.strip_chars() == "?"))
    return shoal.read(complete.select(EIGHT), quasi=EIGHT)


def arx(folder: Path, name: str) -> tuple[Any, int, dict[str, Any]]:
    """A file of ARX's benchmark, k, and its hierarchies."""
    frame = pl.read_csv(folder / "arx" / f"{name}.csv", separator=";", infer_schema=False)
    trees = {column: folder / "arx" / "hierarchies" / f"{name}_{column}.csv" for column in frame.columns}
    return shoal.read(frame, quasi=frame.columns), 5, {"taxonomy": trees}


if __name__ == "__main__":
    if sys.argv[1:] == ["million"]:
        million()
    else:
        main(sys.argv[1:] or ["quick", "standard"])
