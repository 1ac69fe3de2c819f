"""What `shoal recode` prints, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.front_table import front_table as numbered
from shoal.report.page import Grid
from shoal.report.printed import assessment_table, facts_table

FRONT_NOTE = "No other solution has at most this loss at the same or a higher k and l, and as few suppressed records."
FACTS = ("n", "d", "k", "method", "groups", "unchanged_rows", "lower_bound", "cpu_seconds")


def show(release: Any) -> list[Grid]:
    """Return tables of the settings, the loss of each column, and the measures."""
    facts = release.facts
    rows = [[name, about["loss"]] for name, about in facts["per_column"].items()]
    front = [front_table(facts)] if "front" in facts else []
    return [
        facts_table(release.title, {name: facts[name] for name in FACTS if name in facts}),
        Grid(["column", "loss"], rows, text=1, title="Loss of each column"),
        *front,
        assessment_table(release.assessment),
    ]


def front_table(facts: Mapping[str, Any]) -> Grid:
    """Return the solutions of the Pareto front with their numbers; columns that do not apply are left out."""
    points = facts["front"]
    heads = {"k": "k", "l": "l", "effective_k": "smallest class", "suppressed": "suppressed records", "loss": "loss"}
    shown = [key for key in heads if any(point[key] for point in points)]
    rows = [["" if point[key] is None else point[key] for key in shown] for point in points]
    return numbered([heads[key] for key in shown], rows, facts["pick"], title="Pareto front", note=FRONT_NOTE)


def rows_of_files(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of a release of many files with their names."""
    units = facts.get("smallest_group_units")
    return [
        ["records", facts["n"]], ["protected columns", facts["d"]], ["loss", facts["loss"]],
        *([f"loss of {name}", about["loss"]] for name, about in facts["per_column"].items()),
        ["granularity", facts["granularity"]], ["groups", facts["groups"]],
        ["records per group", f"{facts['smallest_group']} to {facts['largest_group']}"],
        *([] if units is None else [["units in the smallest group", units]]),
        ["unchanged records", facts["unchanged_rows"]], ["leaves", facts["leaves"]], ["rounds", facts["rounds"]],
        ["CPU seconds of the search", facts["cpu_seconds"]],
    ]  # fmt: skip


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of a step as arguments of `shoal.check`; with sets, k holds over each set only."""
    kept = {"bounds": True} if arguments.get("style") == "bounds" else {}
    return kept | ({} if arguments.get("sets") else {name: arguments.get(name) for name in ("k", "l", "t", "distance")})
