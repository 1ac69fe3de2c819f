"""How the operators of GOMM work, alone and together: chapter 4 of the thesis as a table and as plots.

A study runs GOMM with all operators, and once with each operator alone (100 children a generation in all cases), for
several seeds, and keeps the monitor's rows: one per run, operator and generation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engine.progress import Progress, silent
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.monitor import Monitor
from shoal.protections.grouping.operators import OPERATORS
from shoal.table.scaling import scale

COMBINED = "combined"
COLORS = {"better": "#0b7285", "worse": "#c2410c", "line": "#1f2933"}


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
    threads: int = 1,
    progress: Progress = silent,
) -> pl.DataFrame:
    """The monitors' rows of all runs; what one run learnt of the column groups serves the next."""
    cost = GroupingCost(scale(values, CONVENTIONS[convention].scaling), k, convention, threads=threads)
    runs: list[tuple[str, GommSettings]] = [
        (COMBINED, GommSettings(population=population, generations=generations)),
        *(
            (name, GommSettings.alone(name, population=population, generations=generations))
            for name in OPERATORS
            if alone
        ),
    ]
    rows: list[dict[str, Any]] = []
    for number, (name, settings) in enumerate(runs):
        for seed in range(first_seed, first_seed + seeds):
            progress(number * seeds + seed - first_seed, len(runs) * seeds, None, name)
            monitor = Monitor()
            gomm(cost, settings, seed=seed, monitor=monitor)
            rows += [{"dataset": dataset, "k": k, "run": name, "seed": seed, **row} for row in monitor.table()]
    return pl.DataFrame(rows, infer_schema_length=None)


def relative_best(table: pl.DataFrame) -> pl.DataFrame:
    """Best cost of each operator alone, divided by that of the combined run, per generation (means over seeds)."""
    best = table.group_by("dataset", "k", "run", "generation").agg(pl.col("best_cost").mean())
    combined = best.filter(pl.col("run") == COMBINED).select("dataset", "k", "generation", together="best_cost")
    joined = best.filter(pl.col("run") != COMBINED).join(combined, on=["dataset", "k", "generation"])
    return joined.with_columns(relative=pl.col("best_cost") / pl.col("together")).sort("run", "generation")


def figures(table: pl.DataFrame) -> dict[str, Any]:
    """The plots of figures 4.1 to 4.11 (and, for another data set and k, B.1 to B.8), by their titles."""
    made: dict[str, Any] = {}
    for (dataset, k), part in table.group_by("dataset", "k", maintain_order=True):
        where = f"{dataset}, k = {k}"
        for combined in (False, True):
            rows = part.filter((pl.col("run") == COMBINED) == combined, pl.col("operator") != "first")
            if not rows.is_empty():
                how = "used together" if combined else "used alone"
                for name, draw in PLOTS.items():
                    made[f"{name} of the operators {how}: {where}"] = _panels(rows, draw)
        relative = relative_best(part)
        if not relative.is_empty():
            made[f"Best cost relative to the combined run: {where}"] = _lines(relative, "relative", "run", "times")
        groups = part.filter(pl.col("run") == COMBINED).group_by("generation").agg(pl.col("mean_groups").mean())
        groups = groups.sort("generation").with_columns(run=pl.lit(COMBINED))
        made[f"Mean number of column groups: {where}"] = _lines(groups, "mean_groups", "run", "groups")
    return made


def write_operators(table: pl.DataFrame, folder: Path) -> tuple[Path, Path]:
    """operators.parquet and operators.html in a folder."""
    from shoal.sources.files import atomically
    from shoal.studies.reproduce.result import Result

    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "operators.parquet"
    with atomically(data) as temporary:
        table.write_parquet(temporary)
    return data, Result("The operators of GOMM", [], figures(table)).write_page(folder / "operators.html")


def _panels(rows: pl.DataFrame, draw: Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]]) -> Any:
    """One small plot an operator."""
    from plotly.subplots import make_subplots

    names = [name for name in OPERATORS if name in set(rows["operator"])]
    figure = make_subplots(rows=(len(names) + 2) // 3, cols=min(3, len(names)), subplot_titles=names)
    for place, name in enumerate(names):
        for trace in draw(rows.filter(pl.col("operator") == name)):
            figure.add_scatter(**trace, mode="lines", showlegend=place == 0, row=place // 3 + 1, col=place % 3 + 1)
    return figure


def _utilisation(rows: pl.DataFrame) -> list[dict[str, Any]]:
    share = rows.group_by("generation").agg(percent=100 * pl.col("discarded_unused").sum() / pl.col("children").sum())
    return [_trace(share.sort("generation"), "percent", "discarded unused (%)", "line")]


def _lifetime(rows: pl.DataFrame) -> list[dict[str, Any]]:
    means = rows.group_by("generation").agg(pl.col("lifetime").mean()).sort("generation")
    return [_trace(means, "lifetime", "generations lived", "line")]


def _efficacy(rows: pl.DataFrame) -> list[dict[str, Any]]:
    counts = rows.group_by("generation").agg(pl.col("better").mean(), -pl.col("worse").mean()).sort("generation")
    return [_trace(counts, "better", "better", "better"), _trace(counts, "worse", "worse", "worse")]


def _efficiency(rows: pl.DataFrame) -> list[dict[str, Any]]:
    kinds = [f"{what}_{which}" for what in ("improvement", "worsening") for which in ("mean", "min", "max")]
    means = rows.group_by("generation").agg(pl.col(kind).mean() for kind in kinds).sort("generation")
    return [
        _trace(means, kind, kind.replace("_", ", ") + " (%)", "better" if kind.startswith("i") else "worse")
        | {"opacity": 1.0 if kind.endswith("mean") else 0.4}
        for kind in kinds
    ]


def _trace(rows: pl.DataFrame, column: str, name: str, color: str) -> dict[str, Any]:
    return {
        "x": rows["generation"].to_list(),
        "y": rows[column].to_list(),
        "name": name,
        "line": {"color": COLORS[color]},
    }


def _lines(rows: pl.DataFrame, column: str, by: str, unit: str) -> Any:
    """One line for each value of a column."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for (name,), part in rows.group_by(by, maintain_order=True):
        figure.add_scatter(x=part["generation"].to_list(), y=part[column].to_list(), mode="lines", name=str(name))
    figure.update_layout(xaxis_title="generation", yaxis_title=unit)
    return figure


PLOTS: dict[str, Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]]] = {
    "Utilisation": _utilisation,
    "Mean lifetime": _lifetime,
    "Efficacy": _efficacy,
    "Efficiency": _efficiency,
}
