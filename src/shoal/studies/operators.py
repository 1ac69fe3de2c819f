"""The effect of the operators of GOMM, alone and together, as in chapter 4 of the GOMM thesis: a table and plots.

A study runs GOMM with all operators, and once with each operator alone (100 children per generation in all cases), for
several seeds, and keeps the monitor's rows: one per run, operator and generation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress, silent
from shoal.errors import UsageError, check_k, check_seed
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.monitor import Monitor
from shoal.protections.grouping.operators import OPERATORS
from shoal.report.charts import Chart, Series, panels, series_chart
from shoal.table.scaling import scale

COMBINED = "combined"
LOOKS = {"better": 1, "worse": 2, "line": 1}  # colours and dashes of the lines


def study_operators(
    values: NDArray[np.float64],
    k: int,
    *,
    dataset: str = "data",
    convention: str = "thesis",
    generations: int = 100,
    population: int = 200,
    seeds: int = 3,
    first_seed: int = 0,
    alone: bool = True,
    threads: int | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> pl.DataFrame:
    """Return the rows of the monitors of all runs. Costs of column groups that one run computed serve the next run.

    first_seed: the seed of the first run of each setting; the other runs have the next seeds.
    """
    check_k(k, len(values))
    check_seed(first_seed)
    for name, number, smallest in (("generations", generations, 1), ("population", population, 2), ("seeds", seeds, 1)):
        if number != int(number) or number < smallest:
            raise UsageError(f"{name} must be a whole number, {smallest} or more, not {number:g}.")
    whole = control_of(control, threads, progress, usual_threads=1)
    runs: list[tuple[str, GommSettings]] = [
        (COMBINED, GommSettings(population=population, generations=generations)),
        *(
            (name, GommSettings.alone(name, population=population, generations=generations))
            for name in OPERATORS
            if alone
        ),
    ]
    rows: list[dict[str, Any]] = []

    def run_all() -> None:
        cost = GroupingCost(scale(values, CONVENTIONS[convention].scaling), k, convention, threads=whole.threads)
        quiet = whole.part(progress=silent)
        for number, (name, settings) in enumerate(runs):
            for seed in range(first_seed, first_seed + seeds):
                whole.show(number * seeds + seed - first_seed, len(runs) * seeds, None, name)
                monitor = Monitor()
                gomm(cost, settings, seed=seed, monitor=monitor, control=quiet)
                whole.check()
                rows.extend({"dataset": dataset, "k": k, "run": name, "seed": seed, **row} for row in monitor.table())

    whole.call(run_all)
    return pl.DataFrame(rows, infer_schema_length=None)


def relative_best(table: pl.DataFrame) -> pl.DataFrame:
    """Best cost of each operator alone, divided by that of the combined run, per generation (means over seeds)."""
    best = table.group_by("dataset", "k", "run", "generation").agg(pl.col("best_cost").mean())
    combined = best.filter(pl.col("run") == COMBINED).select("dataset", "k", "generation", together="best_cost")
    joined = best.filter(pl.col("run") != COMBINED).join(combined, on=["dataset", "k", "generation"])
    return joined.with_columns(relative=pl.col("best_cost") / pl.col("together")).sort("run", "generation")


def figures(table: pl.DataFrame) -> dict[str, Chart]:
    """The plots of figures 4.1 to 4.11 (and, for another data set and k, B.1 to B.8), by their titles."""
    made: dict[str, Chart] = {}
    for (dataset, k), part in table.group_by("dataset", "k", maintain_order=True):
        where = f"{dataset}, k = {k}"
        for combined in (False, True):
            rows = part.filter((pl.col("run") == COMBINED) == combined, pl.col("operator") != "first")
            if not rows.is_empty():
                how = "used together" if combined else "used alone"
                for name, (draw, unit) in PLOTS.items():
                    made[f"{name} of the operators {how}: {where}"] = _panels(rows, draw, unit)
        relative = relative_best(part)
        if not relative.is_empty():
            made[f"Best cost relative to the combined run: {where}"] = _lines(relative, "relative", "run", "times")
        groups = part.filter(pl.col("run") == COMBINED).group_by("generation").agg(pl.col("mean_groups").mean())
        groups = groups.sort("generation").with_columns(run=pl.lit(COMBINED))
        made[f"Mean number of column groups: {where}"] = _lines(groups, "mean_groups", "run", "groups")
    return made


def write_operators(table: pl.DataFrame, folder: Path) -> tuple[Path, Path]:
    """Write operators.parquet and operators.html to a folder."""
    from shoal.sources.files import atomically
    from shoal.studies.reproduce.result import Result

    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "operators.parquet"
    with atomically(data) as temporary:
        table.write_parquet(temporary)
    return data, Result("The operators of GOMM", [], figures(table)).write_page(folder / "operators.html")


def _panels(rows: pl.DataFrame, draw: Callable[[pl.DataFrame], Sequence[Series]], unit: str) -> Chart:
    """One small chart per operator."""
    names = [name for name in OPERATORS if name in set(rows["operator"])]
    return panels({name: draw(rows.filter(pl.col("operator") == name)) for name in names}, "generation", unit)


def _utilisation(rows: pl.DataFrame) -> list[Series]:
    share = rows.group_by("generation").agg(percent=100 * pl.col("discarded_unused").sum() / pl.col("children").sum())
    return [_line(share.sort("generation"), "percent", "discarded unused (%)", "line")]


def _lifetime(rows: pl.DataFrame) -> list[Series]:
    means = rows.group_by("generation").agg(pl.col("lifetime").mean()).sort("generation")
    return [_line(means, "lifetime", "generations lived", "line")]


def _efficacy(rows: pl.DataFrame) -> list[Series]:
    counts = rows.group_by("generation").agg(pl.col("better").mean(), -pl.col("worse").mean()).sort("generation")
    return [_line(counts, "better", "better", "better"), _line(counts, "worse", "worse", "worse")]


def _efficiency(rows: pl.DataFrame) -> list[Series]:
    kinds = [f"{what}_{which}" for what in ("improvement", "worsening") for which in ("mean", "min", "max")]
    means = rows.group_by("generation").agg(pl.col(kind).mean() for kind in kinds).sort("generation")
    made = []
    for kind in kinds:
        look = "better" if kind.startswith("improvement") else "worse"
        made.append(_line(means, kind, f"{kind.replace('_', ', ')} (%)", look, faint=not kind.endswith("mean")))
    return made


def _line(rows: pl.DataFrame, column: str, name: str, look: str, faint: bool = False) -> Series:
    return Series(name, rows["generation"].to_list(), rows[column].to_list(), look=LOOKS[look], faint=faint)


def _lines(rows: pl.DataFrame, column: str, by: str, unit: str) -> Chart:
    """One line per value of a column."""
    series = [
        Series(str(name), part["generation"].to_list(), part[column].to_list(), look=i)
        for i, ((name,), part) in enumerate(rows.group_by(by, maintain_order=True), start=1)
    ]
    return series_chart(series, "generation", unit)


PLOTS: dict[str, tuple[Callable[[pl.DataFrame], Sequence[Series]], str]] = {
    "Utilisation": (_utilisation, "discarded unused, %"),
    "Mean lifetime": (_lifetime, "generations"),
    "Efficacy": (_efficacy, "children"),
    "Efficiency": (_efficiency, "change, %"),
}
