"""Reproduce Tables 2.1, 3.1, 5.1 to 5.4, A.1, A.2 and Figure 5.1 of the GOMM thesis (docs/explain/conventions.md).

All under the convention 'thesis': columns scaled to [0, 1], MDAV by L1 distances with a last group that may be smaller
than k, intervals around the protected value, strict linkage. Tables 5.3 and 5.4 print truncated values.
"""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import counted
from shoal.protections.grouping.correlation import by_correlation, deal, dealt_out
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.gomm import GommSettings
from shoal.protections.grouping.gomm import gomm as run_gomm
from shoal.protections.grouping.grouping import Grouping, apart, from_lists, group_of, together
from shoal.protections.grouping.memetic import memetic
from shoal.protections.microaggregation.methods.univariate import univariate
from shoal.report.charts import Chart, named_bars
from shoal.studies.reproduce.data import known_folder
from shoal.studies.reproduce.gomm_printed import BEST, EXAMPLE, GROUPINGS, HAND_MADE, KS, PROFILE
from shoal.studies.reproduce.result import Result, ResultTable
from shoal.table.scaling import scale

SETS = ("water", "census")
CENSUS_COLUMNS = 12  # ERNVAL, the last, is dropped
CONVENTION = (
    "The convention `thesis`: columns scaled to [0, 1], MDAV by L1 distances with a last group that may be smaller "
    "than k, intervals around the protected value averaged over 1 to 10 %, and a link only if the right record is "
    "strictly nearest. Water has its 380 complete records, Census its first 12 columns. The values published in "
    "Tables 5.3 and 5.4 are truncated to one decimal."
)


class GommBudget(NamedTuple):
    """`plain`: generations of the profile's run without caches; `seeds`: runs of Figure 5.1."""

    ks: tuple[int, ...]
    settings: GommSettings
    memetic: bool
    plain: int
    seeds: int


BUDGETS = {"quick": GommBudget(KS, GommSettings(), False, 5, 1), "full": GommBudget(KS, GommSettings(), True, 100, 3)}


def gomm(data_folder: Path | None = None, quick: bool = False, seed: int = 0) -> Result:
    """All tables of the thesis on attribute grouping; `quick` leaves out the memetic search and has fewer seeds."""
    folder = known_folder("census", data_folder)
    budget = BUDGETS["quick" if quick else "full"]
    values = {name: load(folder, name) for name in SETS}
    tables = [example(), profile(values["water"], budget, seed)]
    tables += [best_found(values[name], name, budget, seed) for name in SETS]
    tables += [hand_made(values[name], name, budget) for name in SETS]
    tables += [built(values[name], name, budget) for name in reversed(SETS)]
    compared = [against_dynamic(values[name], name, budget, seed) for name in SETS]
    charts = {t["title"]: evaluations_chart(t) for t in compared}
    return Result("GOMM: attribute grouping", [*tables, *compared], charts, convention=CONVENTION)


def load(folder: Path, name: str) -> NDArray[np.float64]:
    """The data set of the thesis: Water's 380 complete records, Census without its last column."""
    frame = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
    frame = frame.drop("date").drop_nulls() if name == "water" else frame[:, :CENSUS_COLUMNS]
    return frame.to_numpy().astype(np.float64)


def cost_of(values: NDArray[np.float64], k: int, **options: Any) -> GroupingCost:
    """The cost under the thesis's convention."""
    return GroupingCost(scale(values, "minmax"), k, "thesis", **options)


def named_grouping(name: str, kind: str, d: int) -> Grouping:
    """Manual column groups of the thesis."""
    if kind == "all":
        return together(d)
    if kind == "univariate":
        return apart(d)
    return from_lists([[column - 1 for column in group] for group in GROUPINGS[name][kind]], d)


def truncated(value: float, digits: int) -> float:
    """Truncate a value to the published number of digits.

    >>> truncated(43.997, 1)
    43.9
    """
    scale_by = float(10**digits)
    return math.floor(value * scale_by) / scale_by


def example() -> ResultTable:
    """Table 2.1: two columns, each microaggregated by itself at k = 2."""
    values = np.array(EXAMPLE["original"], dtype=np.float64)
    ours = np.empty_like(values)
    for j in range(values.shape[1]):
        groups = univariate(values[:, [j]], 2)
        ours[:, j] = groups.centroids(values[:, [j]])[groups.labels, 0]
    return {
        "title": "Table 2.1: two column groups, k = 2",
        "columns": ["a1", "a2", "a1 printed", "a2 printed", "a1 ours", "a2 ours"],
        "rows": [
            [*map(int, original), *printed, *map(float, computed)]
            for original, printed, computed in zip(values, EXAMPLE["protected"], ours, strict=True)
        ],
        "note": "The thesis prints 1.5, but the mean of 2 and 3 is 2.5. No two records agree in both columns.",
    }


def hand_made(values: NDArray[np.float64], name: str, budget: GommBudget) -> ResultTable:
    """Tables 5.3 and 5.4: the fitness of the manual column groups."""
    costs = {k: cost_of(values, k) for k in budget.ks}
    rows, right = [], 0
    for kind, printed in HAND_MADE[name].items():
        grouping = named_grouping(name, kind, values.shape[1])
        for k in budget.ks:
            figure = printed[KS.index(k)]
            ours = costs[k].evaluate(grouping).fitness
            right += truncated(ours, 1) == figure
            rows.append([kind, k, len(grouping), figure, round(ours, 3)])
    doubt = "Where a row disagrees, the column groups printed in the appendix are probably not those that were run. "
    return {
        "title": f"Table {'5.3' if name == 'water' else '5.4'}: manual column groups of {name.title()}",
        "columns": ["grouping", "k", "groups", "printed", "ours"],
        "rows": rows,
        "note": f"{right} of {len(rows)} cells agree once the values of Shoal are truncated to one decimal. "
        f"{doubt if right < len(rows) else ''}The last row of the published table, GOMM, is the fitness of Table "
        f"{'5.1' if name == 'water' else '5.2'}.",
    }


def built(values: NDArray[np.float64], name: str, budget: GommBudget) -> ResultTable:
    """Tables A.1 and A.2: the manual column groups next to those that Shoal builds from the correlations."""
    rows = []
    for kind, lists in GROUPINGS[name].items():
        size = int(kind.removeprefix("un").removeprefix("correlated"))
        theirs = named_grouping(name, kind, values.shape[1])
        is_apart = kind.startswith("un")
        ours = dealt_out(values, size) if is_apart else by_correlation(values, size, together=True)
        shared = len(set(theirs) & set(ours))
        correlated = [[column - 1 for column in group] for group in GROUPINGS[name][kind.removeprefix("un")]]
        dealt = {group_of(group) for group in deal(correlated, size)} if is_apart else None
        cost = cost_of(values, budget.ks[0])
        fitness = [cost.evaluate(grouping).fitness for grouping in (theirs, ours)]
        theirs_dealt = None if dealt is None else len(set(theirs) & dealt)
        rows.append([kind, len(lists), len(ours), shared, theirs_dealt, *(round(f, 3) for f in fitness)])
    return {
        "title": f"Table {'A.2' if name == 'water' else 'A.1'}: column groups of {name.title()} by correlation",
        "columns": [
            "grouping",
            "groups printed",
            "groups ours",
            "groups in both",
            "in both, theirs dealt out",
            "fitness of theirs",
            "fitness of ours",
        ],
        "rows": rows,
        "note": f"Fitness of the published column groups and of Shoal's, both computed by Shoal at k = {budget.ks[0]}. "
        "The thesis does not say how its column groups were built. Shoal takes the most correlated columns first, and "
        "deals the correlated groups out, one column of each in turn, for the uncorrelated ones. "
        "The column on dealing out does this with the published correlated groups instead.",
    }


def best_found(values: NDArray[np.float64], name: str, budget: GommBudget, seed: int) -> ResultTable:
    """Tables 5.1 and 5.2: the best grouping that GOMM found, next to Shoal's by GOMM and by the memetic search."""
    rows = []
    for k in budget.ks:
        fitness, groups, loss, interval, linkage = BEST[name][k]
        rows.append([k, "printed", groups, fitness, loss, interval, linkage])
        cost = cost_of(values, k)
        groupings = {"GOMM": run_gomm(cost, budget.settings, seed=seed).best}
        if budget.memetic:
            groupings["memetic"] = memetic(cost_of(values, k), seed=seed).best
        for how, grouping in groupings.items():
            e = cost.evaluate(grouping)
            figures = (e.fitness, e.information_loss, e.interval_disclosure, e.distance_linkage)
            rows.append([k, how, len(grouping), *(round(figure, 3) for figure in figures)])
    return {
        "title": f"Table {'5.1' if name == 'water' else '5.2'}: the best column groups of {name.title()}",
        "columns": ["k", "search", "groups", "fitness", "IL", "ID", "DLD"],
        "rows": rows,
        "note": "GOMM with the parameters of the thesis, one seed"
        + ("; the memetic search with its default budget." if budget.memetic else "."),
    }


def profile(values: NDArray[np.float64], budget: GommBudget, seed: int) -> ResultTable:
    """Table 3.1: the time of a run on Water by part. The run without caches does the same work as the thesis."""
    rows = [[part, "thesis", percent, seconds, calls] for part, (percent, seconds, calls) in PROFILE.items()]
    for how, caching in (("ours", True), ("ours, without caches", False)):
        cost = cost_of(values, 25, caching=caching)
        started = time.perf_counter()
        run_gomm(cost, budget.settings if caching else replace(budget.settings, generations=budget.plain), seed=seed)
        total = time.perf_counter() - started
        for part, seconds in cost.spending.seconds.items():
            rows.append([part, how, round(100 * seconds / total, 2), round(seconds, 3), cost.spending.calls[part]])
        rows.append(["whole run", how, 100.0, round(total, 3), cost.requests])
    return {
        "title": "Table 3.1: time by function (Water, k = 25)",
        "columns": ["part", "program", "percent", "seconds", "calls"],
        "rows": rows,
        "note": "For Shoal, the last line of each program is the whole run, and its calls are the evaluations."
        f" Without caches: {budget.plain} generations. In the profile of the thesis the other functions take no time.",
    }


def against_dynamic(values: NDArray[np.float64], name: str, budget: GommBudget, seed: int) -> ResultTable:
    """Figure 5.1 as a table: GOMM against D-GOMM, medians over seeds."""
    rows = []
    for k in budget.ks:
        cost = cost_of(values, k)
        seeds = range(seed, seed + budget.seeds)
        plain = [run_gomm(cost, budget.settings, seed=s) for s in seeds]
        dynamic = [run_gomm(cost, replace(budget.settings, dynamic=True), seed=s) for s in seeds]
        births = [statistics.median(run.births for run in runs) for runs in (plain, dynamic)]
        fitness = [statistics.median(run.population[0][1].fitness for run in runs) for runs in (plain, dynamic)]
        saved, lost = 100 * (1 - births[1] / births[0]), 100 * (fitness[1] / fitness[0] - 1)
        rows.append([k, *births, round(saved, 1), *(round(f, 3) for f in fitness), round(lost, 2)])
    return {
        "title": f"Figure 5.1: GOMM and D-GOMM on {name.title()}",
        "columns": [
            *("k", "evaluations GOMM", "evaluations D-GOMM", "saved %"),
            *("fitness GOMM", "fitness D-GOMM", "lost %"),
        ],
        "rows": rows,
        "note": "The thesis plots seconds and finds D-GOMM faster at every k. Saved evaluations do not depend on the "
        "machine. Lost is how much higher, and so worse, the fitness of D-GOMM is: "
        f"{_lost_in_words([row[-1] for row in rows])} Medians over {counted(budget.seeds, 'seed')}.",
    }


def _lost_in_words(lost: list[float]) -> str:
    """The quality that D-GOMM loses, over all k."""
    worse = [percent for percent in lost if percent > 0]
    if not worse:
        return "D-GOMM loses nothing at any k."
    return f"D-GOMM is worse at {len(worse)} of {len(lost)} k, by up to {max(worse):.1f} %."


def evaluations_chart(table: ResultTable) -> Chart:
    """The bars of Figure 5.1."""
    counts = {name: [row[column] for row in table["rows"]] for name, column in (("GOMM", 1), ("D-GOMM", 2))}
    return named_bars([f"k = {row[0]}" for row in table["rows"]], counts, "number of evaluations")
