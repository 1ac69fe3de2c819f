"""What the report of a release says of column groups: which columns belong together, and the Pareto front."""

from __future__ import annotations

from typing import Any

from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Text

IN_SETTINGS = ("convention",)


def promise(release: Any, external: bool) -> str:
    """k within each column group; an internal report has the joint k as well."""
    facts, number = release.facts, len(release.column_groups)
    where = f"each of {number} column groups" if number > 1 else "the only column group"
    measured = f" Over all columns together the smallest class has {facts['joint_k']:,}: measured, not promised."
    kept = f"Within {where}, every record shares its values with at least {facts['k'] - 1} others."
    return kept if external else kept + measured


def settings(release: Any, external: bool) -> list[list[Any]]:
    return [["convention", release.facts.get("convention")]]


def done(release: Any, least: int | None) -> list[Block]:
    """The column groups, and the other choices where they were asked for."""
    facts = release.facts
    rows = [[i, ", ".join(group)] for i, group in enumerate(release.column_groups, start=1)]
    blocks: list[Block] = [
        Text(
            "The columns of each column group were microaggregated together: within them every record shares its "
            f"values with at least {facts['k'] - 1} others."
        ),
        Grid(["group", "columns"], rows, text=2, title="Column groups"),
    ]
    if release.front and least is None:
        points = [
            (c["information_loss"], c["risk"], " | ".join(", ".join(group) for group in c["groups"]))
            for c in release.front
        ]
        taken = (facts["information_loss"], (facts["interval_disclosure"] + facts["distance_linkage_all_columns"]) / 2)
        drawn = charts.choices(points, taken, "information loss, %", "disclosure risk, %")
        blocks.append(Charts([("Pareto front: no other choice is better in both loss and risk", drawn)], wide=True))
    return blocks
