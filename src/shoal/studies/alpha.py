"""How alpha of the tau test changes the outliers and feasible solutions (open in Chertov and Tavrov 2017).

The study has two parts. First, the published solutions at other alphas: how many outliers they have, and how many of
the 24 stay feasible. Second, a file of the user (by default the synthetic one): the outliers of its signal, the lowest
distortion that masks them, its lower bound, and how many solutions for one alpha are also feasible at another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress
from shoal.errors import ShoalError, UsageError, check_seed
from shoal.protections.regions.by_flow import mask_by_flow
from shoal.protections.regions.outliers import outliers
from shoal.protections.regions.task import MaskingLimits, Solution, Task, masking_task
from shoal.report.charts import Chart, Series, series_chart
from shoal.studies.military_task import military_task
from shoal.studies.reproduce.published_signals import ORIGINAL_OUTLIERS, ROWS
from shoal.studies.reproduce.result import Result, ResultTable

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
    masked = []
    for i, alpha in enumerate(alphas):
        masked.append(_mask_at(task, alpha, quick))
        control.check()
        control.show(i + 1, len(alphas), None, f"alpha {alpha:g}")
    rows = [_summary(one, masked) for one in masked]
    tables: list[ResultTable] = [
        {
            "title": "The 24 published signals under other alphas",
            "columns": ["alpha", "mean outliers", "original outliers found again", "still feasible"],
            "rows": published,
            "note": "Feasible here means that neither region 5 nor region 29 is an outlier.",
        },
        {
            "title": "Masking under other alphas",
            "columns": ["alpha", "outliers before", "least distortion", "lower bound", "swaps", "solutions"],
            "rows": rows,
            "note": f"{_trend(masked, rows)} The lowest distortion is over the solutions of all alphas that are "
            "feasible at this one. At an alpha without outliers there is nothing to mask: choose alpha before you "
            "look at the data.",
        },
        {
            "title": "Solutions that are also feasible at another alpha",
            "columns": ["masked at", "solutions", *(f"feasible at {alpha:g}" for alpha in alphas)],
            "rows": [
                [one.alpha, len(one.solutions), *(sum(other.is_feasible(s) for s in one.solutions) for other in masked)]
                for one in masked
            ],
            "note": "A solution is feasible at an alpha if it masks the outliers that the original signal has there.",
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


@dataclass(frozen=True)
class AlphaSolutions:
    """The solutions for one alpha. There is no task if the signal has no outliers at this alpha."""

    alpha: float
    task: Task | None = None
    solutions: tuple[Solution, ...] = ()
    bound: float | None = None

    def is_feasible(self, solution: Solution) -> bool:
        """Whether a solution, made for any alpha, is feasible at this one."""
        return self.task is not None and self.task.judge(solution.counts, solution.distortion).feasible


def _mask_at(task: Task, alpha: float, quick: bool) -> AlphaSolutions:
    limits: MaskingLimits = replace(task.limits, alpha=alpha)
    try:
        here = masking_task(task.region, task.is_target, task.matching, limits=limits)
        answer = mask_by_flow(here, budget=40 if quick else 400, steps=300 if quick else 20_000)
    except ShoalError:
        return AlphaSolutions(alpha)
    return AlphaSolutions(alpha, here, tuple(answer.solutions), answer.bound)


def _summary(one: AlphaSolutions, masked: Sequence[AlphaSolutions]) -> list[Any]:
    """The row of an alpha. Its best solution may come from any alpha, but is feasible at this one."""
    if one.task is None:
        return [one.alpha, "none", None, None, None, 0]
    names = " ".join(str(d + 1) for d in one.task.outlying)
    feasible = [s for other in masked for s in other.solutions if one.is_feasible(s)]
    if not feasible:
        return [one.alpha, names, None, one.bound, None, 0]
    best = min(feasible, key=lambda s: s.distortion)
    return [one.alpha, names, best.distortion, one.bound, len(best.swaps), len(feasible)]


def _trend(masked: Sequence[AlphaSolutions], rows: Sequence[Sequence[Any]]) -> str:
    """Return whether in these rows a larger alpha has more outliers and costs more, as a text."""
    counts = [0 if one.task is None else len(one.task.outlying) for one in masked]
    costs = [row[2] for row in rows if row[2] is not None]
    more = "A larger alpha never has fewer outliers in this file." if counts == sorted(counts) else ""
    dearer = (
        "Masking never costs less at a larger alpha."
        if costs == sorted(costs)
        else "The lowest distortion does not rise with alpha throughout: the search does not prove it, see the bound."
    )
    return f"{more} {dearer}".strip()


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
        "lowest distortion of this file by alpha": series_chart(
            [distortion], "alpha", "metric", names=names, zero=True
        ),
    }
