"""The tables and the figure of the GOMM thesis, made again: Tables 3.1 and 5.1 to 5.4, Figure 5.1 (spec/5).

All under the convention 'thesis': columns scaled to [0, 1], MDAV by L1 distances with a last group that may be smaller
than k, intervals around the protected value, strict linkage. Printed figures are truncated, not rounded.
"""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.data.scaling import scale
from shoal.grouping.cost import GroupingCost
from shoal.grouping.gomm import GommSettings
from shoal.grouping.gomm import gomm as run_gomm
from shoal.grouping.grouping import Grouping, apart, from_lists, together
from shoal.grouping.memetic import memetic
from shoal.study.reproduce.data import known_folder
from shoal.study.reproduce.gomm_printed import BEST, GROUPINGS, HAND_MADE, KS, PROFILE
from shoal.study.reproduce.result import Result, Table

SETS = ("water", "census")
CENSUS_COLUMNS = 12  # ERNVAL, the last, is dropped


def gomm(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """All tables of the thesis on attribute grouping; `quick` leaves out what takes more than a minute."""
    folder = known_folder("census", data_folder)
    values = {name: load(folder, name) for name in SETS}
    tables = [hand_made(values[name], name) for name in SETS]
    tables += [best_found(values[name], name, quick, seed) for name in SETS]
    tables.append(profile(values["water"], quick, seed))
    compared = [against_dynamic(values[name], name, quick, seed) for name in SETS]
    return Result(
        "GOMM: attribute grouping", [*tables, *compared], {t["title"]: evaluations_chart(t) for t in compared}
    )


def load(folder: Path, name: str) -> NDArray[np.float64]:
    """The data set as the thesis has it: Water's 380 complete records, Census without its last column."""
    frame = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
    frame = frame.drop("date").drop_nulls() if name == "water" else frame[:, :CENSUS_COLUMNS]
    return frame.to_numpy().astype(np.float64)


def cost_of(values: NDArray[np.float64], k: int, **options: Any) -> GroupingCost:
    """The cost under the thesis's convention."""
    return GroupingCost(scale(values, "minmax"), k, "thesis", **options)


def named_grouping(name: str, kind: str, d: int) -> Grouping:
    """A hand-made grouping of the thesis."""
    if kind == "all":
        return together(d)
    if kind == "univariate":
        return apart(d)
    return from_lists([[column - 1 for column in group] for group in GROUPINGS[name][kind]], d)


def truncated(value: float, digits: int) -> float:
    """The value with the digits that print has, the rest cut off.

    >>> truncated(43.997, 1)
    43.9
    """
    scale_by = float(10**digits)
    return math.floor(value * scale_by) / scale_by


def hand_made(values: NDArray[np.float64], name: str) -> Table:
    """Tables 5.3 and 5.4: the fitness of the hand-made groupings."""
    costs = {k: cost_of(values, k) for k in KS}
    rows, right = [], 0
    for kind, printed in HAND_MADE[name].items():
        grouping = named_grouping(name, kind, values.shape[1])
        for k, figure in zip(KS, printed, strict=True):
            ours = costs[k].evaluate(grouping).fitness
            right += truncated(ours, 1) == figure
            rows.append([kind, k, len(grouping), figure, round(ours, 3)])
    return {
        "title": f"Table {'5.3' if name == 'water' else '5.4'}: hand-made groupings of {name.title()}",
        "columns": ["grouping", "k", "groups", "printed", "ours"],
        "rows": rows,
        "note": f"{right} of {len(rows)} cells agree once ours are truncated to one decimal. Where a row of Water "
        "disagrees, the partition printed in the appendix is probably not the one that was run.",
    }


def best_found(values: NDArray[np.float64], name: str, quick: bool, seed: int) -> Table:
    """Tables 5.1 and 5.2: the best grouping that GOMM found, beside ours by GOMM and by the memetic search."""
    rows = []
    for k in KS:
        fitness, groups, loss, interval, linkage = BEST[name][k]
        rows.append([k, "printed", groups, fitness, loss, interval, linkage])
        cost = cost_of(values, k)
        found = {"GOMM": run_gomm(cost, GommSettings(), seed=seed).best}
        if not quick:
            found["memetic"] = memetic(cost_of(values, k), seed=seed).best
        for how, grouping in found.items():
            e = cost.evaluate(grouping)
            figures = (e.fitness, e.information_loss, e.interval_disclosure, e.distance_linkage)
            rows.append([k, how, len(grouping), *(round(figure, 3) for figure in figures)])
    return {
        "title": f"Table {'5.1' if name == 'water' else '5.2'}: the best groupings of {name.title()}",
        "columns": ["k", "search", "groups", "fitness", "IL", "ID", "DLD"],
        "rows": rows,
        "note": "GOMM with the thesis's parameters, one seed; the memetic search with its default budget.",
    }


def profile(values: NDArray[np.float64], quick: bool, seed: int) -> Table:
    """Table 3.1: where the time of a run on Water goes; the run without caches does the thesis's work."""
    rows = [[part, "thesis", percent, seconds, calls] for part, (percent, seconds, calls) in PROFILE.items()]
    for how, caching in (("ours", True), ("ours, without caches", False)):
        cost = cost_of(values, 25, caching=caching)
        started = time.process_time()
        run_gomm(cost, GommSettings(generations=5 if quick and not caching else 100), seed=seed)
        total = time.process_time() - started
        for part, seconds in cost.spending.seconds.items():
            rows.append([part, how, round(100 * seconds / total, 2), round(seconds, 3), cost.spending.calls[part]])
        rows.append(["whole run", how, 100.0, round(total, 3), cost.requests])
    return {
        "title": "Table 3.1: where the time goes (Water, k = 25)",
        "columns": ["part", "program", "percent", "CPU seconds", "calls"],
        "rows": rows,
        "note": "Of ours, the last line of each program is the whole run, its calls the groupings asked for."
        + (" Quick: five generations without caches." if quick else ""),
    }


def against_dynamic(values: NDArray[np.float64], name: str, quick: bool, seed: int) -> Table:
    """Figure 5.1 as a table: GOMM against D-GOMM, medians over seeds."""
    rows = []
    for k in KS:
        cost = cost_of(values, k)
        seeds = range(seed, seed + (1 if quick else 3))
        plain = [run_gomm(cost, GommSettings(), seed=s) for s in seeds]
        dynamic = [run_gomm(cost, GommSettings(dynamic=True), seed=s) for s in seeds]
        births = [statistics.median(run.births for run in runs) for runs in (plain, dynamic)]
        fitness = [statistics.median(run.population[0][1].fitness for run in runs) for runs in (plain, dynamic)]
        rows.append([k, *births, round(100 * (1 - births[1] / births[0]), 1), *(round(f, 3) for f in fitness)])
    return {
        "title": f"Figure 5.1: GOMM and D-GOMM on {name.title()}",
        "columns": ["k", "evaluations GOMM", "evaluations D-GOMM", "saved %", "fitness GOMM", "fitness D-GOMM"],
        "rows": rows,
        "note": "The thesis plots seconds; evaluations are what D-GOMM saves, whatever the machine.",
    }


def evaluations_chart(table: Table) -> Any:
    """The bars of Figure 5.1."""
    import plotly.graph_objects as go

    figure = go.Figure()
    ks = [f"k = {row[0]}" for row in table["rows"]]
    for name, column in (("GOMM", 1), ("D-GOMM", 2)):
        figure.add_bar(x=ks, y=[row[column] for row in table["rows"]], name=name)
    figure.update_layout(yaxis_title="evaluations", barmode="group")
    return figure
