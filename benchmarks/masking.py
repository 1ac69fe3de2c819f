"""Masking: CPU seconds of the tau test, tables, flows, the masked optimum and a memetic run; memory of a large file.

python benchmarks/masking.py            the synthetic military file
python benchmarks/masking.py large      1,000,000 records in 500 regions
python benchmarks/masking.py hiding     six synthetic files of 50,000 records, ten secrets each: outliers left, time
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import chisquare

from shoal.protections.regions import mask_group
from shoal.protections.regions.by_evolution import MemeticSettings, mask_by_evolution
from shoal.protections.regions.by_flow import flow_seeds, mask_by_flow
from shoal.protections.regions.flow import Network
from shoal.protections.regions.similarity import matching_values
from shoal.protections.regions.task import masking_task
from shoal.studies.military_task import military_task


def timed(name: str, work: Callable[[], Any]) -> Any:
    started = time.process_time()
    answer = work()
    print(f"{name:<48} {time.process_time() - started:8.2f} CPU s", flush=True)
    return answer


def small() -> None:
    task = timed("synthetic file and task", lambda: military_task(0))
    network = timed("table of nearest partners", lambda: Network(task))
    high = task.room.copy()
    high[task.outlying] = 10
    flow = timed("flow with bounds on two regions", lambda: network.solve(np.zeros_like(high), high))
    timed("flow for a given signal", lambda: network.reach(flow.counts))
    best = timed("masked optimum and lower bound", lambda: mask_by_flow(task, network=network))
    print(f"  metric {best.solutions[0].distortion}, lower bound {best.bound}, {len(best.solutions)} solutions")
    one = MemeticSettings(runs=1)
    run = timed("memetic run, 100 x 1,000", lambda: mask_by_evolution(task, one, network=network))
    seeds = flow_seeds(task, network)
    tau = MemeticSettings(runs=1, tau=True)
    seeded = timed("  with tau and flow seeds", lambda: mask_by_evolution(task, tau, seeds=seeds, network=network))
    for name, answer in (("plain", run), ("seeded", seeded)):
        best = answer.solutions[0] if answer.solutions else answer.fittest
        lowest = network.reach(best.counts).distortion
        print(f"  {name}: {len(answer.solutions)} feasible, metric {best.distortion}, lowest for its signal {lowest}")


def large(records: int = 1_000_000, districts: int = 500) -> None:
    rng = np.random.default_rng(0)
    share = rng.lognormal(0.0, 0.6, districts)
    district = rng.choice(districts, records, p=share / share.sum())
    vital = np.zeros(records, dtype=bool)
    for d in range(districts):
        rows = np.flatnonzero(district == d)
        count = {10: 260, 77: 180, 303: 140}.get(d, int(rng.integers(0, 12)))
        vital[rng.choice(rows, min(count, rows.size // 2), replace=False)] = True
    sizes = (80, 12, 2, 9, 60, 6, 6, 12, 90, 60, 7, 1000, 8)
    codes = np.stack([np.minimum(rng.geometric(min(0.6, 3 / k), records), k) for k in sizes], axis=1)
    values = matching_values(np.empty((records, 0)), codes)
    task = timed(
        f"task: {records:,} records, {int(vital.sum()):,} target records", lambda: masking_task(district, vital, values)
    )
    network = timed("table of nearest partners", lambda: Network(task))
    answer = timed("masked solutions by flow", lambda: mask_by_flow(task, network=network, budget=60))
    best = answer.solutions[0] if answer.solutions else None
    print(
        f"  metric {best.distortion if best else None}, lower bound {answer.bound}, {len(answer.solutions)} solutions"
    )
    light = MemeticSettings(runs=1, generations=50)
    timed("memetic run, 100 x 50", lambda: mask_by_evolution(task, light, network=network))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


# Counts of the outlier regions, mean of the ordinary counts, spread of the sizes of the regions.
SHAPES: dict[str, tuple[dict[int, int], float, float]] = {
    "two peaks": ({7: 210, 23: 140}, 28.0, 0.0),
    "regions of many sizes": ({7: 210, 23: 140}, 28.0, 0.5),
    "small counts": ({7: 60, 23: 40}, 3.0, 0.0),
    "six peaks": ({3: 120, 7: 210, 11: 150, 23: 140, 31: 110, 38: 160}, 30.0, 0.0),
    "high and low outlier": ({7: 210, 23: 2}, 60.0, 0.0),
    "one low peak": ({11: 75}, 28.0, 0.0),
}


def made(shape: str, records: int = 50_000, regions: int = 40) -> pl.DataFrame:
    """People in regions; the guards are concentrated in a few of them, and no ordinary region has more than 39."""
    peaks, mean, spread = SHAPES[shape]
    rng = np.random.default_rng(0)
    share = rng.lognormal(0.0, spread, regions)
    region = rng.choice(regions, records, p=share / share.sum())
    job = rng.choice(["cook", "clerk", "nurse"], records).astype(object)
    for d in range(regions):
        rows = np.flatnonzero(region == d)
        count = peaks.get(d, min(int(rng.poisson(mean * share[d])), int(1.4 * mean)))
        job[rng.choice(rows, min(count, rows.size - 5), replace=False)] = "guard"
    return pl.DataFrame(
        {
            "district": [f"D{d:02d}" for d in region],
            "job": job.tolist(),
            "age": rng.integers(18, 70, records),
            "sex": rng.choice(["f", "m"], records),
            "education": rng.integers(1, 7, records),
            "income": rng.lognormal(10, 0.5, records).round(-2),
        }
    )


def hiding(secrets: int = 10) -> None:
    """For every synthetic file: remaining outliers, regions that receive target records, and CPU seconds."""
    matching = ["age", "sex", "education", "income"]
    print(f"{'file':<24}{'hidden':>8}{'new':>5}{'rank':>6}{'regions':>9}{'heights':>9}{'chi2 p':>9}", end="")
    print(f"{'swaps':>7}{'metric':>9}{'guessed':>9}{'chance':>8}{'CPU s':>7}")
    for shape in SHAPES:
        frame, started = made(shape), time.process_time()
        runs = [
            mask_group(
                frame, vital=("job", ["guard"]), parameter="district", influential=matching, ordinal=["income"],
                secret=f"{number + 1:032x}",
            ).facts
            for number in range(secrets)
        ]  # fmt: skip
        limited = {name for facts in runs for name in (*facts["limited_regions"], *facts["outliers"])}
        open_ = [i for i, name in enumerate(runs[0]["districts"]) if name not in limited]
        arrivals = [sum(facts["arrivals"][i] for facts in runs) for i in open_]
        where = [runs[0]["districts"].index(name) for name in runs[0]["outliers"]]
        heights = {tuple(facts["modified_signal"][i] for i in where) for facts in runs}
        rank = min(rank for facts in runs for of in facts["ranks"].values() for rank in of.values())
        mean = {name: float(np.mean([facts[name] for facts in runs])) for name in ("swaps", "metric")}
        attack = {name: float(np.mean([facts["attack"][name] for facts in runs])) for name in runs[0]["attack"] if
                  name.startswith("moved")}  # fmt: skip
        print(
            f"{shape:<24}{sum(facts['hidden'] for facts in runs):>5}/{secrets}"
            f"{sum(len(facts['new_outliers']) for facts in runs):>5}{rank:>6}"
            f"{min(facts['candidate_regions'] for facts in runs):>9}{len(heights):>9}"
            f"{chisquare(arrivals).pvalue:>9.3f}{mean['swaps']:>7.0f}{mean['metric']:>9.2f}"
            f"{attack['moved_guessed']:>9.3f}{attack['moved_guessed_base']:>8.3f}"
            f"{(time.process_time() - started) / secrets:>7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    {"large": large, "hiding": hiding}.get("".join(sys.argv[1:]), small)()
