"""What `shoal suppress` prints about a release, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.report.page import Grid


def show(release: Any) -> list[Grid]:
    """Return tables of the result and of the stars by column."""
    facts = release.facts
    rows = facts["n"]
    stars = [[name, count, f"{100 * count / rows:.2f} %"] for name, count in facts["by_column"].items()]
    return [
        Grid(["", ""], result_rows(facts), title=release.title),
        Grid(["column", "stars", "share"], stars, text=1, title="Stars by column"),
    ]


def result_rows(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of the result with their names."""
    rows: list[list[Any]] = [
        ["records", facts["n"]],
        ["protected columns", facts["d"]],
        ["k", facts["k"]],
        ["starred cells", f"{facts['suppressed_cells']:,} ({100 * facts['suppressed_share']:.2f} %)"],
        ["records with a star", facts["records_with_stars"]],
        ["records with stars only", facts["records_all_starred"]],
        ["k, star as a value", facts["k_value"]],
        ["k, star as a wildcard", facts["k_wildcard"]],
    ]
    if "cost" in facts:
        rows.append(["cost of the stars", facts["cost"]])
    if facts.get("rare_combinations") is not None:
        columns = f"combinations of up to {facts['subsets']} columns below k"
        rows.append([columns, facts["rare_combinations"]])
    if facts["lower_bound"] is not None:
        what = "cost" if "cost" in facts else "stars"
        rows.append([f"no solution has fewer {what} than", f"{facts['lower_bound']:,g} (gap {facts['gap']:.2f} %)"])
    if facts.get("all_subsets") is False:
        rows.append(["sets of columns that may stay in a record", f"the best of {2 ** facts['d']:,}, not all"])
    return [*rows, ["CPU seconds", facts["cpu_seconds"]]]


def rows_of_files(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of a release of many files with their names."""
    stars = [[f"stars in {name}", count] for name, count in facts["by_column"].items()]
    return [*result_rows(facts), *stars]


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of a step as arguments of `shoal.check`; with sets, k holds over each set only."""
    if arguments.get("sets"):
        return {}
    subsets = arguments.get("subsets")
    star = None if subsets is not None else arguments.get("star", "value")
    return {"k": arguments.get("k"), "star": star, "subsets": subsets}
