"""How alpha of the tau test changes the outliers and feasible solutions (open in Chertov and Tavrov 2017).

Two views. The published solutions, tested at other alphas: how many outliers they have and how many of the 24 stay
feasible. And a file of one's own (the synthetic microfile by default): the outliers of its signal, the least
distortion that masks them, its lower bound, and how many of the signals masked at one alpha hold at another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress
from shoal.errors import ShoalError, UsageError, check_seed
from shoal.protections.regions.by_flow import mask_by_flow
from shoal.protections.regions.outliers import outliers
from shoal.protections.regions.task import Limits, Task, masking_task
from shoal.report.charts import Chart, Series, series_chart
from shoal.studies.military_task import military_task
from shoal.studies.reproduce.published_signals import ORIGINAL_OUTLIERS, ROWS
from shoal.studies.reproduce.result import Result, Table

ALPHAS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1)


def alpha_study(
    task: Task | None = None,
    alphas: Sequence[float] = ALPHAS,
    *,
    seed: int = 0,
    quick: bool = False,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Result:
    """Return how many outliers and feasible solutions there are at each alpha."""
    check_seed(seed)
    for value in alphas:
        if not 0.0 < value < 1.0:
            raise UsageError(f"--alphas must be numbers between 0 and 1, such as 0.01,0.05, not {value:g}.")
    whole = control_of(control, None, progress)
    return whole.call(lambda: _alpha_study(task, alphas, seed, quick, whole))


def _alpha_study(task: Task | None, alphas: Sequence[float], seed: int, quick: bool, control: Control) -> Result:
    task = task or military_task(seed)
    published = _published(alphas)
    rows = []
    for i, alpha in enumerate(alphas):
        rows.append(_masked_at(task, alpha, quick))
        control.check()
        control.show(i + 1, len(alphas), None, f"alpha {alpha:g}")
    tables: list[Table] = [
        {
            "title": "The 24 published signals under other alphas",
            "columns": ["alpha", "mean outliers", "original outliers found again", "still feasible"],
            "rows": published,
            "note": "Feasible as to the tau test: neither district 5 nor 29 is an outlier.",
        },
        {
            "title": "Masking under other alphas",
            "columns": ["alpha", "outliers before", "least distortion", "lower bound", "swaps", "solutions"],
            "rows": rows,
            "note": "A larger alpha finds more outliers, so more districts must be masked; a smaller one is content "
            "with less. Choosing alpha so that nothing is an outlier masks nothing: fix it before looking at the data.",
        },
    ]
    return Result("Alpha of the tau test", tables, _plots(alphas, published, rows))


def _published(alphas: Sequence[float]) -> list[list[Any]]:
    rows = []
    originals = {d - 1 for d in ORIGINAL_OUTLIERS}
    for alpha in alphas:
        outlying = [set(outliers(row.signal, alpha).tolist()) for row in ROWS]
        again = sum(bool(f & originals) for f in outlying)
        rows.append([alpha, float(np.mean([len(f) for f in outlying])), again, len(ROWS) - again])
    return rows


def _masked_at(task: Task, alpha: float, quick: bool) -> list[Any]:
    limits: Limits = replace(task.limits, alpha=alpha)
    try:
        here = masking_task(task.region, task.is_target, task.matching, limits=limits)
        answer = mask_by_flow(here, budget=40 if quick else 400, steps=300 if quick else 20_000)
    except ShoalError:
        return [alpha, "none", None, None, None, 0]
    names = " ".join(str(d + 1) for d in here.outlying)
    if not answer.solutions:
        return [alpha, names, None, answer.bound, None, 0]
    best = answer.solutions[0]
    return [alpha, names, best.distortion, answer.bound, len(best.swaps), len(answer.solutions)]


def _plots(alphas: Sequence[float], published: list[list[Any]], computed: list[list[Any]]) -> dict[str, Chart]:
    places, names = range(len(alphas)), [f"{alpha:g}" for alpha in alphas]
    counts = {
        "outliers in the published signals (mean)": [row[1] for row in published],
        "published solutions still feasible": [row[3] for row in published],
        "outliers of this file": [len(str(row[1]).split()) if row[5] else 0 for row in computed],
    }
    series = [Series(name, places, values, dots=True, look=i) for i, (name, values) in enumerate(counts.items(), 1)]
    distortion = Series("", places, [row[2] for row in computed], dots=True, look=1)
    return {
        "outliers and feasible solutions by alpha": series_chart(series, "alpha", "number", names=names, zero=True),
        "least distortion of this file by alpha": series_chart([distortion], "alpha", "metric", names=names, zero=True),
    }
