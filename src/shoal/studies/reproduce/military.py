"""Hide the military bases of New York (Chertov and Tavrov 2017): ten memetic runs on a synthetic file, and the flow.

The file of the paper was not published, only 24 signals. Shoal tests these, and shows its own runs next to them.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import counted
from shoal.protections.regions.by_evolution import MemeticSettings, mask_by_evolution, penalty
from shoal.protections.regions.by_flow import flow_seeds, mask_by_flow
from shoal.protections.regions.flow import Network
from shoal.protections.regions.outliers import outliers
from shoal.protections.regions.restriction import zmf
from shoal.protections.regions.task import Answer, MaskingLimits, Solution, Task
from shoal.report.charts import Chart, Series, series_chart, signal_chart
from shoal.studies.microfile import INFLUENTIAL, military_microfile
from shoal.studies.military_task import military_task
from shoal.studies.reproduce.published_signals import (
    CODES,
    ORIGINAL_OUTLIERS,
    PARAMETERS,
    PRINTED_CELLS_PERCENT,
    PRINTED_FEASIBLE_PERCENT,
    PRINTED_MEAN_METRIC,
    PRINTED_SOLUTIONS,
    RECORDS,
    ROWS,
    THRESHOLD,
)
from shoal.studies.reproduce.result import Result, ResultTable

CONVENTION = (
    "Outliers are found by the modified Thompson tau technique with Hazen quartiles, alpha 0.01. The published "
    "compatibility is the root of the product of the restrictions in 22 of 24 rows; the published formula, "
    "the product, fits 18. The fitness fits the root with Q = 142 - q5 - q29 swaps and a penalty "
    "centred at 130 (the text says 25). "
    "The file of the paper was not published. The runs of Shoal use a synthetic file of its size (91,398 records, 38 "
    "regions, 13 matching columns), so their metrics are not comparable with the published 407 to 551."
)
WORST = 1846  # 13 matching columns of the 142 target records in the two outlier regions
# The settings of the memetic algorithm, and the numbers of signals and steps of the flow.
BUDGETS = {"quick": (MemeticSettings(runs=2, generations=100), 60, 500), "full": (MemeticSettings(), 400, 20_000)}


def military(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """The published signals, and runs on a synthetic file; `quick` runs 2 x 100 generations, not 10 x 1,000."""
    task = military_task(seed, threshold=float(THRESHOLD))
    network = Network(task)
    settings, budget, steps = BUDGETS["quick" if quick else "full"]
    tau = replace(settings, tau=True)
    plain = _timed(lambda: mask_by_evolution(task, settings, seed=seed, network=network))
    with_tau = _timed(lambda: mask_by_evolution(task, tau, seed=seed, network=network))
    flow = _timed(lambda: mask_by_flow(task, network=network, budget=budget, steps=steps))
    seeded = _timed(lambda: mask_by_evolution(task, tau, seed=seed, seeds=flow_seeds(task, network), network=network))
    methods = {"memetic, as published": plain, "memetic, tau in the fitness": with_tau}
    methods |= {"memetic, tau and flow seeds": seeded, "flow": flow}
    tables = [published_table(), summary_table(task, plain.answer)]
    tables += [_method_table(network, methods), _solution_table(task, plain.answer)]
    tables += [_attribute_table(seed), _parameter_table(), restriction_table(), _signal_table(task, methods)]
    charts = {"Fig. 1: the restrictions": _restriction_chart(), "Fig. 2: the signals": _chart(task, methods)}
    convention = CONVENTION + f" {settings.runs} runs of {settings.generations} generations."
    return Result("Hiding where a group is concentrated", tables, charts, convention=convention)


@dataclass(frozen=True)
class Run:
    answer: Answer
    seconds: float

    @property
    def best(self) -> Solution | None:
        """Return the feasible solution with the lowest distortion, or the fittest one if none is feasible."""
        return self.answer.solutions[0] if self.answer.solutions else self.answer.fittest


def published_table() -> ResultTable:
    """Table 3 as published, next to the outliers and compatibilities that Shoal computes."""
    rows = []
    for i, row in enumerate(ROWS):
        product = float(np.prod([restriction(d, row.signal[d - 1]) for d in ORIGINAL_OUTLIERS]))
        ours = tuple(int(d) + 1 for d in outliers(row.signal))
        swaps = sum(ORIGINAL_OUTLIERS.values()) - sum(row.signal[d - 1] for d in ORIGINAL_OUTLIERS)
        fitness = (1 - row.metric / WORST) * float(np.sqrt(product)) * penalty(swaps, 130)
        rows.append(
            [
                i + 1,
                row.metric,
                row.fitness,
                round(fitness, 3),
                row.compatibility,
                round(product, 3),
                round(float(np.sqrt(product)), 3),
                " ".join(map(str, row.outliers)),
                "same" if ours == row.outliers else " ".join(map(str, ours)),
            ]
        )
    return {
        "title": "Table 3: the 24 published feasible solutions",
        "columns": [
            *("no.", "metric", "fitness printed", "fitness", "compatibility printed", "product", "its root"),
            *("outliers printed", "outliers"),
        ],
        "rows": rows,
        "note": 'Computed from the published signals and metrics. "same": Shoal finds the published outliers.',
    }


def summary_table(task: Task, answer: Answer) -> ResultTable:
    """Return the values of the text, the same from the published Table 3, and those of a run on the synthetic file."""
    metrics = [row.metric for row in ROWS]
    ours = [solution.distortion for solution in answer.solutions]
    cells, our_cells = len(INFLUENTIAL) * RECORDS, len(INFLUENTIAL) * len(task.region)
    return {
        "title": "Section 5: the mean metric of the feasible solutions",
        "columns": ["figure", "printed", "from the printed Table 3", "ours, synthetic file"],
        "rows": [
            [
                "mean metric",
                f"{PRINTED_MEAN_METRIC:.3f}",
                f"{np.mean(metrics):.3f}",
                f"{np.mean(ours):.3f}" if ours else None,
            ],
            [
                "share of the cells, %",
                PRINTED_CELLS_PERCENT,
                100 * float(np.mean(metrics)) / cells,
                100 * float(np.mean(ours)) / our_cells if ours else None,
            ],
            [
                "feasible solutions, %",
                PRINTED_FEASIBLE_PERCENT,
                100 * len(ROWS) / PRINTED_SOLUTIONS,
                100 * len(answer.solutions) / answer.candidates,
            ],
        ],
        "note": f"The paper selects {len(ROWS)} of {PRINTED_SOLUTIONS:,} solutions. Cells are the values of the "
        f"{len(INFLUENTIAL)} matching columns. For Shoal: {counted(len(ours), 'feasible solution')} of "
        f"{answer.candidates:,} individuals of the last generations.",
    }


def restriction(region: int, value: float) -> float:
    """The compatibility of an outlier region's value: 1 at the threshold, 0 at the original value."""
    return float(zmf(value, THRESHOLD, ORIGINAL_OUTLIERS[region]))


def restriction_table() -> ResultTable:
    return {
        "title": "Fig. 1: the restrictions",
        "columns": ["target records", *(f"region {number}" for number in ORIGINAL_OUTLIERS)],
        "rows": [[x, *(restriction(d, x) for d in ORIGINAL_OUTLIERS)] for x in (0, 10, 20, 30, 40, 45, 60, 80, 97)],
        "note": "ZMF(x, 10, 97) and ZMF(x, 10, 45), as published. The paper has plots without values.",
    }


def _restriction_chart() -> Chart:
    series = [
        Series(f"region {number}", range(most + 4), [restriction(number, x) for x in range(most + 4)], look=i)
        for i, (number, most) in enumerate(ORIGINAL_OUTLIERS.items(), start=1)
    ]
    return series_chart(series, "target records", "compatibility", zero=True)


def _attribute_table(seed: int) -> ResultTable:
    columns = military_microfile(seed)
    spans = {name: (int(columns[name].min()), int(columns[name].max())) for name in INFLUENTIAL}
    rows = [
        [title, codes, name, f"{spans[name][0]} to {spans[name][1]}", int(np.unique(columns[name]).size)]
        for (title, codes), name in zip(CODES, INFLUENTIAL, strict=True)
    ]
    return {
        "title": "Table 1: matching columns (influential attributes)",
        "columns": ["attribute", "codes printed", "column of the synthetic file", "codes", "distinct"],
        "rows": rows,
        "note": "",
    }


def _parameter_table() -> ResultTable:
    ours = {**asdict(MemeticSettings()), **asdict(MaskingLimits())}
    return {
        "title": "Table 2: parameters",
        "columns": ["parameter", "printed", "our default"],
        "rows": [[what, printed, ours[name]] for what, name, printed in PARAMETERS],
        "note": "",
    }


def _signal_table(task: Task, methods: dict[str, Run]) -> ResultTable:
    """Return the signals of Fig. 2, and those of Shoal."""
    signals = {"original, synthetic file": task.signal.counts.tolist()}
    signals |= {f"printed no. {i + 1}": list(ROWS[i].signal) for i in (0, 1)}
    signals |= {name: run.best.counts.tolist() for name, run in methods.items() if run.best is not None}
    return {
        "title": "Fig. 2: signals before and after",
        "columns": ["signal", *(str(d) for d in range(1, task.region_count + 1))],
        "rows": [[name, *map(int, signal)] for name, signal in signals.items()],
        "note": "Of the original signal, the paper has regions 5 and 29 (97 and 45) and the total.",
    }


def _timed(work: Any) -> Run:
    started = time.process_time()
    answer = work()
    return Run(answer, time.process_time() - started)


def _method_table(network: Network, methods: dict[str, Run]) -> ResultTable:
    rows = []
    for name, run in methods.items():
        best = run.best
        if best is None:
            continue
        optimum = network.reach(best.counts)
        least = best.distortion if optimum is None else optimum.distortion
        rows.append(
            [
                name,
                run.answer.candidates,
                len(run.answer.solutions),
                best.distortion,
                least,
                100.0 * (best.distortion / least - 1.0),
                best.verdict.compatibility,
                len(best.swaps),
                run.answer.bound,
                round(run.seconds, 2),
            ]
        )
    return {
        "title": "Lowest distortion of a feasible solution, and of any swaps for the same signal",
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
        "note": "Synthetic file: 91,398 records, 38 regions, 13 categorical matching columns, thresholds of 10. "
        "The lower bound holds for every masked solution.",
    }


def _solution_table(task: Task, answer: Answer) -> ResultTable:
    rows = [
        [
            i + 1,
            s.facts["fitness"],
            s.distortion,
            s.verdict.compatibility,
            len(s.swaps),
            " ".join(str(int(d) + 1) for d in s.verdict.outliers),
            " ".join(map(str, s.counts)),
        ]
        for i, s in enumerate(answer.solutions[:24])
    ]
    return {
        "title": f"Feasible solutions of the memetic algorithm ({len(answer.solutions)} distinct; published: 24)",
        "columns": ["no.", "fitness", "metric", "compatibility", "swaps", "outliers", "modified signal"],
        "rows": rows,
        "note": f"Out of {answer.candidates} individuals of the last generations. Published metrics are 407 to 551.",
    }


def _chart(task: Task, methods: dict[str, Run]) -> Chart:
    labels = list(range(1, task.region_count + 1))
    signals: dict[str, tuple[list[float], list[Any]]] = {
        "original": (task.signal.counts.tolist(), [int(d) + 1 for d in task.outlying])
    }
    for name in ("memetic, as published", "flow"):
        best = methods[name].best
        if best is not None:
            signals[name] = (best.counts.tolist(), [int(d) + 1 for d in best.verdict.outliers])
    return signal_chart(labels, signals)
