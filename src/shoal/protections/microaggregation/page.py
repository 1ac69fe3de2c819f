"""The report section of microaggregation: its groups, and what replaced the values."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.report import charts
from shoal.report.page import Block, Charts, Text

SHOWS_CLASSES = True  # the chart of the groups is that of the equivalence classes


def done(release: Any, min_records: int | None) -> list[Block]:
    """Return the groups and their sizes; a public report shows no small number."""
    facts = release.facts
    if min_records is not None:
        number = f"{facts['groups']:,} groups" if facts.get("groups", 0) >= min_records else "groups"
        each = f"of at least {facts.get('k')} {_members(release)}"
        return [Text(f"Shoal put the records into {number} {each} and replaced each record's values by its group's.")]
    solution = release.solution
    if not hasattr(solution, "sizes"):
        return []
    size, count = np.unique(solution.sizes, return_counts=True)
    counts = dict(zip(size.tolist(), count.tolist(), strict=True))
    drawn = charts.sizes(counts, "records in a group", "groups")
    bound = ""
    if facts.get("lower_bound") is not None:
        bound = f" No groups of at least {facts['k']} lose less than {facts['lower_bound']:.4g} %."
    sizes = f"{size[0]} to {size[-1]}" if len(size) > 1 else f"{size[0]} each"
    text = f"{facts['n']:,} records in {facts['groups']:,} groups of {sizes}. {_replacement(release)}{bound}"
    if "units" in facts:
        text += (
            f" The records belong to {facts['units']:,} persons or households; every group has at least "
            f"{facts['smallest_group_units']:,} of them."
        )
    return [Text(text), *([Charts([("Groups by their size", drawn)], wide=True)] if len(counts) > 1 else [])]


def _members(release: Any) -> str:
    return "persons or households" if isinstance(release.original.roles.unit, str) else "records"


def _replacement(release: Any) -> str:
    """Return a sentence on what replaced the values, for the kinds of columns in the release."""
    kinds = {about["kind"] for about in release.facts.get("per_column", {}).values()} or {"number"}
    arguments = {} if release.recipe is None else release.recipe.steps[0].arguments
    aggregates = {
        "number": arguments.get("aggregate", "mean"),
        "date": arguments.get("aggregate", "mean"),
        "ordinal": "median",
        "nominal": "most frequent value",
    }
    names = {"number": "numeric"}
    parts = [f"{value} of {names.get(kind, kind)} columns" for kind, value in aggregates.items() if kind in kinds]
    return f"Each record got its group's values: the {', the '.join(parts)}."
