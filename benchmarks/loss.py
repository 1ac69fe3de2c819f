"""The loss of the searches compared with that of MDAV, and CPU seconds on one core: medians over seeds.

    python benchmarks/loss.py [--seeds 5] [--quick | --effort EFFORT | --middle | --large [--mdav] | --bounds]

Census and EIA come from the folder SHOAL_DATA; the larger sets are synthetic. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

from shoal.engine.control import Control
from shoal.protections.microaggregation.methods.auto import auto
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.protections.microaggregation.proof import prove
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares
from shoal.table.scaling import scale

KS = (3, 4, 5, 10)
# Loss and CPU seconds of exact MDAV on the synthetic files of 1,000,000 records; --mdav measures them again.
EXACT = {"normal": (7.9857, 145.9), "50 normals": (1.1225, 66.8)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="only the quick effort")
    parser.add_argument("--effort", choices=("quick", "standard", "thorough"), help="only this effort")
    parser.add_argument("--middle", action="store_true", help="only the table of files of some thousand records")
    parser.add_argument("--large", action="store_true", help="only the table of large files")
    parser.add_argument("--mdav", action="store_true", help="with --large: exact MDAV on 1,000,000 records again")
    parser.add_argument("--bounds", action="store_true", help="only the certified bounds")
    chosen = parser.parse_args()
    auto(np.random.default_rng(0).normal(size=(50, 2)), 3)  # loads every kernel
    if chosen.middle:
        middle()
    elif chosen.large:
        large(chosen.quick, chosen.mdav)
    elif chosen.bounds:
        bounds()
    else:
        one = "quick" if chosen.quick else chosen.effort
        literature(chosen.seeds, (one,) if one else ("quick", "standard", "thorough"))


def literature(seeds: int, efforts: tuple[str, ...]) -> None:
    """Census and EIA: information loss and CPU seconds by effort and k."""
    print(f"{'':16}" + "".join(f"{f'k={k}':>18}" for k in KS))
    for name, values in (("Census", census()), ("EIA", eia())):
        sst = total_squares(values)
        print(
            f"{name + ' MDAV':16}" + "".join(f"{100 * sse_of(mdav(values, k), values) / sst:12.4f}{'':6}" for k in KS)
        )
        for effort in efforts:
            cells = []
            for k in KS:
                runs = [timed(auto, values, k, seed=s, effort=effort) for s in range(seeds)]
                losses = [100 * sse_of(partition, values) / sst for partition, _ in runs]
                cells.append(f"{np.median(losses):10.4f}{np.median([cpu for _, cpu in runs]):6.1f} s")
            print(f"{name + ' ' + effort:16}" + "".join(cells), flush=True)


def middle() -> None:
    """Files of 3,000 to 40,000 records, below and above the size at which the method changes; one seed."""
    print(f"{'k = 5, d = 10':16}{'n':>8}{'MDAV':>12}{'quick':>12}{'CPU s':>8}{'standard':>12}{'CPU s':>8}")
    for kind in ("normal", "50 normals"):
        for n in (3_000, 6_000, 12_000, 20_000, 20_001, 40_000):
            values = made(kind, n)
            sst = total_squares(values)
            line = f"{kind:16}{n:8}{100 * sse_of(mdav(values, 5), values) / sst:12.4f}"
            for effort in ("quick", "standard"):
                partition, cpu = timed(auto, values, 5, effort=effort)
                line += f"{100 * sse_of(partition.check(5), values) / sst:12.4f}{cpu:8.1f}"
            print(line, flush=True)


def bounds() -> None:
    """Certified gaps of Census, and proofs for subsets of 200 records."""
    values = census()
    for k in (3, 4, 5):
        partition = auto(values, k, effort="standard")
        proved, cpu = timed(prove, values, k, partition, seconds=90.0)
        sst = total_squares(values)
        facts = proved.facts
        print(
            f"Census k={k}: loss {100 * sse_of(proved, values) / sst:.4f}, "
            f"bound {100 * facts['lower_bound'] / sst:.4f}, gap {facts['gap']:.3f} %, {cpu:.0f} s"
        )
    for seed in range(5):
        part = scale(values[np.random.default_rng(seed).choice(len(values), 200, replace=False)])
        partition, first = timed(auto, part, 3, effort="quick", seed=seed)
        proved, cpu = timed(prove, part, 3, partition, seconds=60.0)
        cpu += first
        facts = proved.facts
        print(f"200 of Census, k=3, seed {seed}: proved {facts['proved']}, gap {facts['gap']:.3f} %, {cpu:.1f} s")


def large(quick: bool, again: bool) -> None:
    """Synthetic files of 100,000 to 5,000,000 records: CPU seconds and loss, compared with exact MDAV."""
    sizes = (100_000,) if quick else (100_000, 1_000_000, 5_000_000)
    heads = f"{'loss':>10}{'CPU s':>9}{'clock s':>9}{'us per record':>14}{'MDAV':>10}{'CPU s':>9}"
    print(f"{'k = 5, d = 10':28}{'n':>10}{'effort':>10}{heads}")
    for kind in ("normal", "50 normals"):
        for n in sizes:
            values = made(kind, n)
            sst = total_squares(values)
            base = f"{'not run':>10}"
            if n == 1_000_000 and not again:
                base = f"{EXACT[kind][0]:10.4f}{EXACT[kind][1]:9.1f}"
            elif n <= 1_000_000:
                partition, cpu = timed(mdav, values, 5)
                base = f"{100 * sse_of(partition, values) / sst:10.4f}{cpu:9.1f}"
            for effort in ("quick", "standard") if n == 100_000 else ("quick",):
                clock = time.monotonic()
                partition, cpu = timed(auto, values, 5, effort=effort, control=Control(threads=2))
                clock = time.monotonic() - clock
                loss = 100 * sse_of(partition.check(5), values) / sst
                spent = f"{cpu:9.1f}{clock:9.1f}{1e6 * cpu / n:14.1f}"
                print(f"{kind:28}{n:10}{effort:>10}{loss:10.4f}{spent}{base}", flush=True)


def made(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(n, 10))
    if kind == "50 normals":
        values += rng.normal(scale=4.0, size=(50, 10))[rng.integers(50, size=n)]
    return scale(values)


def timed(function, *args, **options):
    started = time.process_time()
    result = function(*args, **options)
    return result, time.process_time() - started


def census() -> np.ndarray:
    return scale(pl.read_csv(Path(os.environ["SHOAL_DATA"]) / "census.csv").to_numpy().astype(float))


def eia() -> np.ndarray:
    table = pl.read_csv(Path(os.environ["SHOAL_DATA"]) / "eia.csv", infer_schema_length=None)
    names = ["UTILITYID", *table.columns[table.columns.index("RESREVENUE") : table.columns.index("TOTSALES") + 1]]
    return scale(table.select(names).to_numpy().astype(float))


if __name__ == "__main__":
    main()
