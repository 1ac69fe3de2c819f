"""The sensitivity study's tables and charts: best ranges, the four steps, surfaces and the histogram."""

from __future__ import annotations

from typing import Any

import polars as pl

from shoal.report.charts import Chart, columns, heat
from shoal.report.figures import figure
from shoal.studies.analysis import FACTORS, BestSettings, histogram, ranges, surface
from shoal.studies.reproduce.result import Result, ResultTable

_RESPONSES = {"sse": "mean SSE", "convergence_generation": "mean convergence generation"}


def outcome(name: str, runs: pl.DataFrame, findings: BestSettings) -> Result:
    """The runs on one data set and their analysis, as tables and charts."""
    surfaces = [surface(runs, response) for response in _RESPONSES]
    when = histogram(runs)
    least = float(runs["sse"].min())  # type: ignore[arg-type]
    share = float((runs["sse"] <= least * (1 + 1e-9)).mean())  # type: ignore[arg-type]
    facts = {
        "runs": runs.height,
        "least_sse": least,
        "share_at_least_sse": share,
        "best_ranges": {factor: list(ends) for factor, ends in ranges(findings.best).items()},
        "best_values": findings.best,
        "best_values_for_sse": findings.sse,
        "steps": findings.steps,
        "surfaces": surfaces,
        "convergence_histogram": when,
    }
    charts = {_RESPONSES[s["response"]]: surface_chart(s) for s in surfaces}
    charts["runs by convergence generation"] = histogram_chart(when)
    tables = [range_table({name: findings}), *step_tables(findings)]
    return Result(f"Sensitivity of the genetic algorithm: {name}, {runs.height:,} runs", tables, charts, facts)


def range_table(findings: dict[str, BestSettings]) -> ResultTable:
    """The best ranges of each data set, like Table V of the paper."""
    rows = []
    for name, effects in findings.items():
        rows.append([name, *(_range(ends) for ends in ranges(effects.best).values())])
        rows.append(["  by SSE alone", *(_range(ends) for ends in ranges(effects.sse).values())])
    note = "Best values after all four steps, and after the first two (SSE alone)."
    return {"title": "Best ranges", "columns": ["data set", *map(_words, FACTORS)], "rows": rows, "note": note}


def step_tables(findings: BestSettings) -> list[ResultTable]:
    """The tests of the four steps."""
    tables: list[ResultTable] = []
    for step in findings.steps:
        title = f"Step {step['step']}: {step['test']}, {_words(step['response'])}"
        if step["test"] == "ANOVA":
            columns = ["factor", "F", "p", "matters"]
            rows = [[_words(r["factor"]), r["f"], r["p"], "yes" if r["significant"] else "no"] for r in step["factors"]]
            note = "A factor is significant if p is below 0.05."
        else:
            columns = ["factor", "as good as the best by Tukey", "by Scheffe", "kept"]
            rows = [
                [_words(r["factor"]), *(_list(r[test]) for test in ("tukey", "scheffe", "best"))]
                for r in step["factors"]
            ]
            note = "Only significant factors; the effects of the other factors are subtracted first."
        tables.append({"title": title, "columns": columns, "rows": rows, "note": note})
    return tables


def surface_chart(effects: dict[str, Any]) -> Chart:
    """Mean response over mutation and crossover rate."""
    what = _RESPONSES[effects["response"]]
    return heat(
        effects["crossover_rate"], effects["mutation_rate"], effects["mean"], "crossover rate", "mutation rate", what
    )


def histogram_chart(effects: dict[str, Any]) -> Chart:
    """The number of runs by the generation that found the best."""
    return columns(effects["edges"], effects["runs"], "generation that found the best", "runs")


def _range(ends: tuple[float, float]) -> str:
    return figure(ends[0]) if ends[0] == ends[1] else f"{figure(ends[0])} – {figure(ends[1])}"


def _list(values: list[float]) -> str:
    return ", ".join(figure(value) for value in values)


def _words(name: str) -> str:
    return "SSE" if name == "sse" else name.replace("_", " ")
