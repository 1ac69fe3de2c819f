"""Column groups: evaluations per CPU second with and without caches, the memetic search, D-GOMM against GOMM.

`python benchmarks/grouping.py [evaluations|memetic|dynamic|exact|linkage|wide] …` runs the named parts, or all. The
data folder comes from SHOAL_DATA. All values have the convention of the GOMM thesis; times are CPU seconds of a thread.
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
            f"{rates[caching]:.0f} per second (the thesis: 868 s for 10,200)"
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
    """The memetic search on Water, three seeds, at the k where several column groups have a lower fitness than one."""
    values = load(folder, "water")
    for k in (25, 50, 100):
        fitnesses, spent = [], []
        for seed in range(3):
            started = time.process_time()
            fitnesses.append(memetic(cost_of(values, k), seed=seed).evaluation.fitness)
            spent.append(time.process_time() - started)
        shown = ", ".join(f"{fitness:.3f}" for fitness in fitnesses)
        print(
            f"Water, k = {k}: {shown}; median {statistics.median(fitnesses):.3f} (thesis {BEST['water'][k][0]}), "
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
    """The proved optimum of Census at k = 100."""
    started = time.process_time()
    optimum = exact(cost_of(load(folder, "census"), 100))
    print(
        f"Census, k = 100: {optimum.evaluation.fitness:.4f} is the lowest of {optimum.groupings:,} column groupings; "
        f"{optimum.costed:,} of them evaluated in full, {time.process_time() - started:.0f} CPU s"
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
            linkage = measure(values, protected)
            print(f"{measure.__name__} {n} x {d}: {linkage.percent:.3f} % in {time.process_time() - started:.4f} CPU s")


def wide(folder: Path) -> None:
    """The default search on 10,000 synthetic records of 50 columns that depend on eight factors."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(10_000, 8)) @ rng.normal(size=(8, 50)) + rng.normal(size=(10_000, 50))
    cost = GroupingCost(scale(values, "standard"), 25)
    started = time.process_time()
    result = memetic(cost)
    exactly = cost.exact(result.best)
    print(
        f"10,000 x 50, k = 25: fitness {exactly.fitness:.3f} in {len(result.best)} groups after {cost.requests:,} "
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
