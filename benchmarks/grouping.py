"""Attribute grouping: evaluations a CPU second, what the caches save, the memetic search, D-GOMM against GOMM.

`python benchmarks/grouping.py [evaluations|memetic|dynamic|exact|linkage|wide] …`: all parts if none is named. The data
folder comes from SHOAL_DATA. All figures under the thesis's convention; CPU seconds of one thread.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from shoal.measures.linkage import distance_linkage
from shoal.measures.probabilistic import probabilistic_linkage
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.memetic import memetic
from shoal.protections.microaggregation.methods.mdav import mdav
from shoal.studies.reproduce.gomm import cost_of, load
from shoal.studies.reproduce.gomm_printed import BEST, KS
from shoal.table.scaling import scale


def evaluations(folder: Path) -> None:
    """GOMM's 10,200 evaluations on Water, with caches and (fewer generations) without."""
    values = load(folder, "water")
    rates = {}
    for caching, generations in ((True, 100), (False, 5)):
        cost = cost_of(values, 25, caching=caching)
        started, clock = time.process_time(), time.perf_counter()
        gomm(cost, GommSettings(generations=generations), seed=0)
        seconds, passed = time.process_time() - started, time.perf_counter() - clock
        rates[caching] = cost.requests / seconds
        print(
            f"Water, k = 25, caches {'on' if caching else 'off'}: {cost.requests} evaluations in {seconds:.2f} CPU s, "
            f"{rates[caching]:.0f} a second (the thesis: 868 s for 10,200)"
        )
        if caching:
            print(
                f"  groupings known {100 * (1 - cost.computed / cost.requests):.1f} %, "
                f"column groups known {100 * (1 - cost.subsets_computed / cost.subset_requests):.1f} %"
            )
            for part, spent in cost.spending.seconds.items():
                print(f"  {part}: {100 * spent / passed:.1f} %, {cost.spending.calls[part]} calls")
    print(f"  ratio of the rates, with caches to without: {rates[True] / rates[False]:.1f}")


def memetic_table(folder: Path) -> None:
    """The memetic search on Water at the k where more than one group pays, three seeds."""
    values = load(folder, "water")
    for k in (25, 50, 100):
        found, spent = [], []
        for seed in range(3):
            started = time.process_time()
            found.append(memetic(cost_of(values, k), seed=seed).evaluation.fitness)
            spent.append(time.process_time() - started)
        shown = ", ".join(f"{fitness:.3f}" for fitness in found)
        print(
            f"Water, k = {k}: {shown}; median {statistics.median(found):.3f} (thesis {BEST['water'][k][0]}), "
            f"at most {max(spent):.0f} CPU s"
        )


def dynamic(folder: Path) -> None:
    """D-GOMM against GOMM: evaluations saved and difference of fitness, medians of three seeds."""
    for name in ("water", "census"):
        values = load(folder, name)
        for k in KS:
            cost = cost_of(values, k)
            runs = {
                how: [gomm(cost, GommSettings(dynamic=how), seed=seed) for seed in range(3)] for how in (False, True)
            }
            births = {how: statistics.median(run.births for run in runs[how]) for how in runs}
            best = {how: statistics.median(run.population[0][1].fitness for run in runs[how]) for how in runs}
            print(
                f"{name}, k = {k}: {births[True]:.0f} of {births[False]:.0f} evaluations "
                f"({100 * (1 - births[True] / births[False]):.0f} % saved), "
                f"fitness {best[False]:.3f} and {best[True]:.3f}, "
                f"{len(runs[False][0].best)} groups"
            )


def proof(folder: Path) -> None:
    """The optimum of Census at k = 100, proved."""
    started = time.process_time()
    found = exact(cost_of(load(folder, "census"), 100))
    print(
        f"Census, k = 100: {found.evaluation.fitness:.4f} is the least of {found.groupings:,} groupings; "
        f"{found.costed:,} of them costed in full, {time.process_time() - started:.0f} CPU s"
    )


def linkage(folder: Path) -> None:
    """Distance and probabilistic linkage of microaggregated normal records."""
    for n, d in ((1080, 13), (100_000, 10)):
        values = np.random.default_rng(0).normal(size=(n, d))
        partition = mdav(values, 5)
        protected = partition.centroids(values)[partition.labels]
        for measure in (distance_linkage, probabilistic_linkage):
            measure(values[:50], protected[:50])
            started = time.process_time()
            found = measure(values, protected)
            print(f"{measure.__name__} {n} x {d}: {found.percent:.3f} % in {time.process_time() - started:.4f} CPU s")


def wide(folder: Path) -> None:
    """10,000 made records of 50 columns that eight factors drive: what the default search makes of them."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(10_000, 8)) @ rng.normal(size=(8, 50)) + rng.normal(size=(10_000, 50))
    cost = GroupingCost(scale(values, "standard"), 25)
    started = time.process_time()
    found = memetic(cost)
    exactly = cost.exact(found.best)
    print(
        f"10,000 x 50, k = 25: fitness {exactly.fitness:.3f} in {len(found.best)} groups after {cost.requests:,} "
        f"groupings, {time.process_time() - started:.0f} CPU s"
    )


PARTS = {
    "evaluations": evaluations,
    "memetic": memetic_table,
    "dynamic": dynamic,
    "exact": proof,
    "linkage": linkage,
    "wide": wide,
}

if __name__ == "__main__":
    data = os.environ.get("SHOAL_DATA")
    if not data:
        sys.exit("SHOAL_DATA must name the folder of the benchmark sets")
    for name in sys.argv[1:] or PARTS:
        print(f"-- {name}", flush=True)
        PARTS[name](Path(data))
