"""What `shoal recode` prints, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.page import Grid
from shoal.report.printed import assessment_table, facts_table

FACTS = ("n", "d", "k", "method", "groups", "unchanged_rows", "lower_bound", "cpu_seconds")


def show(release: Any) -> list[Grid]:
    """Return tables of the settings, the loss of each column, and the measures."""
    facts = release.facts
    rows = [[name, about["loss"]] for name, about in facts["per_column"].items()]
    return [
        facts_table(release.title, {name: facts[name] for name in FACTS if name in facts}),
        Grid(["column", "loss"], rows, text=1, title="Loss of each column"),
        assessment_table(release.assessment),
    ]


def rows_of_files(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of a release of many files with their names."""
    return [
        ["records", facts["n"]], ["protected columns", facts["d"]], ["loss", facts["loss"]],
        *([f"loss of {name}", about["loss"]] for name, about in facts["per_column"].items()),
        ["granularity", facts["granularity"]], ["groups", facts["groups"]],
        ["records per group", f"{facts['smallest_group']} to {facts['largest_group']}"],
        ["unchanged records", facts["unchanged_rows"]], ["leaves", facts["leaves"]], ["rounds", facts["rounds"]],
        ["CPU seconds of the search", facts["cpu_seconds"]],
    ]  # fmt: skip


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of a step as arguments of `shoal.check`; with sets, k holds over each set only."""
    return {} if arguments.get("sets") else {name: arguments.get(name) for name in ("k", "l", "t", "distance")}
