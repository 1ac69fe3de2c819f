"""Hiding New York's military bases (spec/4): ten memetic runs on a made-up microfile of the paper's size, and the flow.

The paper's file is not published, only 24 signals of it; those are tested as printed, and the runs stand beside them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.masking.exact import flow_seeds, mask_by_flow
from shoal.masking.flow import Network
from shoal.masking.memetic import Settings, mask_by_evolution
from shoal.masking.outliers import outliers
from shoal.masking.restriction import zmf
from shoal.masking.task import Answer, Solution, Task
from shoal.report.charts import signal_chart
from shoal.study.military_task import military_task
from shoal.study.reproduce.published_signals import ROWS, THRESHOLD
from shoal.study.reproduce.result import Result, Table


def military(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The published signals and our runs on a made microfile; `quick` runs 2 x 100 generations, not 10 x 1,000."""
    task = military_task(seed, threshold=float(THRESHOLD))
    network = Network(task)
    settings = Settings(runs=2, generations=100) if quick else Settings()
    tau = replace(settings, tau=True)
    budget, steps = (60, 500) if quick else (400, 20_000)
    plain = _timed(lambda: mask_by_evolution(task, settings, seed=seed, network=network))
    with_tau = _timed(lambda: mask_by_evolution(task, tau, seed=seed, network=network))
    flow = _timed(lambda: mask_by_flow(task, network=network, budget=budget, steps=steps))
    seeded = _timed(lambda: mask_by_evolution(task, tau, seed=seed, seeds=flow_seeds(task, network), network=network))
    methods = {"memetic, as published": plain, "memetic, tau in the fitness": with_tau}
    methods |= {"memetic, tau and flow seeds": seeded, "flow": flow}
    tables = [published_table(), _method_table(network, methods), _solution_table(task, plain.answer)]
    return Result("Hiding where a group is concentrated", tables, {"Signals": _chart(task, methods)})


@dataclass(frozen=True)
class Run:
    answer: Answer
    seconds: float

    @property
    def best(self) -> Solution | None:
        """The feasible solution of least distortion, or the fittest where none is feasible."""
        return self.answer.solutions[0] if self.answer.solutions else self.answer.fittest


def published_table() -> Table:
    """Table 3 as printed, with our outliers and compatibilities beside it."""
    rows = []
    for i, row in enumerate(ROWS):
        product = float(zmf(row.signal[4], 10, 97) * zmf(row.signal[28], 10, 45))
        ours = tuple(int(d) + 1 for d in outliers(row.signal))
        rows.append(
            [
                i + 1,
                row.fitness,
                row.metric,
                row.compatibility,
                round(product, 3),
                round(float(np.sqrt(product)), 3),
                " ".join(map(str, row.outliers)),
                "same" if ours == row.outliers else " ".join(map(str, ours)),
            ]
        )
    return {
        "title": "The paper's 24 feasible solutions",
        "columns": ["no.", "fitness", "metric", "mu printed", "product", "its root", "outliers printed", "ours"],
        "rows": rows,
        "note": "Printed compatibilities are the product's root in 22 rows; the printed formula, the product, fits 18.",
    }


def _timed(work: Any) -> Run:
    started = time.process_time()
    answer = work()
    return Run(answer, time.process_time() - started)


def _method_table(network: Network, methods: dict[str, Run]) -> Table:
    rows = []
    for name, run in methods.items():
        best = run.best
        if best is None:
            continue
        optimum = network.target(best.counts)
        least = best.metric if optimum is None else optimum.metric
        rows.append(
            [
                name,
                run.answer.candidates,
                len(run.answer.solutions),
                best.metric,
                least,
                100.0 * (best.metric / least - 1.0),
                best.verdict.compatibility,
                len(best.swaps),
                run.answer.bound,
                round(run.seconds, 2),
            ]
        )
    return {
        "title": "Least distortion of a feasible solution, and of any swaps for the same signal",
        "columns": [
            "method",
            "candidates",
            "feasible",
            "metric",
            "flow's optimum",
            "above it, %",
            "compatibility",
            "swaps",
            "lower bound",
            "CPU s",
        ],
        "rows": rows,
        "note": "Made-up microfile: 91,398 records, 38 districts, 13 categorical attributes, thresholds of 10. "
        "The lower bound holds for every masked solution.",
    }


def _solution_table(task: Task, answer: Answer) -> Table:
    rows = [
        [
            i + 1,
            s.facts["fitness"],
            s.metric,
            s.verdict.compatibility,
            len(s.swaps),
            " ".join(str(int(d) + 1) for d in s.verdict.outliers),
            " ".join(map(str, s.counts)),
        ]
        for i, s in enumerate(answer.solutions[:24])
    ]
    return {
        "title": f"Feasible solutions of the memetic algorithm ({len(answer.solutions)} distinct; the paper had 24)",
        "columns": ["no.", "fitness", "metric", "compatibility", "swaps", "outliers", "modified signal"],
        "rows": rows,
        "note": f"Of {answer.candidates} individuals of the last generations; the paper's metrics are 407 to 551.",
    }


def _chart(task: Task, methods: dict[str, Run]) -> Any:
    labels = list(range(1, task.districts + 1))
    signals: dict[str, tuple[list[float], list[Any]]] = {
        "original": (task.signal.counts.tolist(), [int(d) + 1 for d in task.outlying])
    }
    for name in ("memetic, as published", "flow"):
        best = methods[name].best
        if best is not None:
            signals[name] = (best.counts.tolist(), [int(d) + 1 for d in best.verdict.outliers])
    return signal_chart(labels, signals)
