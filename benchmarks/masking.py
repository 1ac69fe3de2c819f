"""Masking: CPU seconds of the tau test, tables, flows, the masked optimum and a memetic run; and a large file's memory.

python benchmarks/masking.py            the made-up military file
python benchmarks/masking.py large      1,000,000 records in 500 districts
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.masking.exact import flow_seeds, mask_by_flow
from shoal.masking.flow import Network
from shoal.masking.memetic import Settings, mask_by_evolution
from shoal.masking.similarity import influential
from shoal.masking.task import masking_task
from shoal.study.military_task import military_task


def timed(name: str, work: Callable[[], Any]) -> Any:
    started = time.process_time()
    answer = work()
    print(f"{name:<48} {time.process_time() - started:8.2f} CPU s", flush=True)
    return answer


def small() -> None:
    task = timed("made-up file and task", lambda: military_task(0))
    network = timed("table of nearest partners", lambda: Network(task))
    high = task.room.copy()
    high[task.outlying] = 10
    flow = timed("flow with bounds on two districts", lambda: network.solve(np.zeros_like(high), high))
    timed("flow for a target signal", lambda: network.target(flow.counts))
    best = timed("masked optimum and lower bound", lambda: mask_by_flow(task, network=network))
    print(f"  metric {best.solutions[0].metric}, lower bound {best.bound}, {len(best.solutions)} solutions")
    one = Settings(runs=1)
    run = timed("memetic run, 100 x 1,000", lambda: mask_by_evolution(task, one, network=network))
    seeds = flow_seeds(task, network)
    tau = Settings(runs=1, tau=True)
    seeded = timed("  with tau and flow seeds", lambda: mask_by_evolution(task, tau, seeds=seeds, network=network))
    for name, answer in (("plain", run), ("seeded", seeded)):
        found = answer.solutions[0] if answer.solutions else answer.fittest
        least = network.target(found.counts).metric
        print(f"  {name}: {len(answer.solutions)} feasible, metric {found.metric}, least for its signal {least}")


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
    values = influential(np.empty((records, 0)), codes)
    task = timed(
        f"task: {records:,} records, {int(vital.sum()):,} vital", lambda: masking_task(district, vital, values)
    )
    network = timed("table of nearest partners", lambda: Network(task))
    answer = timed("masked solutions by flow", lambda: mask_by_flow(task, network=network, budget=60))
    best = answer.solutions[0] if answer.solutions else None
    print(f"  metric {best.metric if best else None}, lower bound {answer.bound}, {len(answer.solutions)} solutions")
    light = Settings(runs=1, generations=50)
    timed("memetic run, 100 x 50", lambda: mask_by_evolution(task, light, network=network))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    large() if sys.argv[1:] == ["large"] else small()
