"""What `shoal generalize` prints, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.page import Grid
from shoal.report.printed import assessment_table, facts_table, readable

FACTS = ("n", "d", "k", "method", "evaluations", "optimal", "cpu_seconds")
MOST_POINTS = 30  # rows of the Pareto front and of the legend


def show(release: Any) -> list[Grid]:
    """Return tables of the settings, the categories, the values behind cut labels, and the Pareto front."""
    facts = release.facts
    blocks = [facts_table(release.title, {name: facts[name] for name in FACTS if name in facts})]
    if "cuts" in facts:
        rows = [[name, "; ".join(labels), len(labels)] for name, labels in facts["cuts"].items()]
        blocks.append(Grid(["column", "categories", "number"], rows, text=2, title="Categories"))
        cut = release.legend_rows()
        if cut:
            blocks.append(Grid(["column", "category", "values"], cut[:MOST_POINTS], text=3, title="Legend"))
        keys = ("effective_k", "nwp", "necd", "achievement", "suppressed")
        front = [[i, *(p[key] for key in keys)] for i, p in enumerate(facts["front"], start=1)]
        title = f"Pareto front (taken: {facts['pick']})"
        heads = ["pick", *map(readable, keys)]
        blocks.append(Grid(heads, front[:MOST_POINTS], text=0, title=title))
    return [*blocks, assessment_table(release.assessment)]


def rows_of_files(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of a release of many files with their names."""
    return [
        ["records", facts["n"]], ["distinct tuples", facts["tuples"]], ["protected columns", facts["d"]],
        ["effective k", facts["effective_k"]], ["loss (NWP)", facts["nwp"]], ["bias (NECD)", facts["necd"]],
        ["suppressed records", facts["suppressed"]],
        *([f"categories of {name}", "; ".join(labels)] for name, labels in facts["cuts"].items()),
        ["CPU seconds of the search", facts["cpu_seconds"]],
    ]  # fmt: skip


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of a step as arguments of `shoal.check`; with sets, k holds over each set only."""
    return {} if arguments.get("sets") else {name: arguments.get(name) for name in ("k", "l", "t", "distance")}
