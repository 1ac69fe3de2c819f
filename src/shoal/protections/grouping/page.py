"""What the report of a release says about column groups: the groups, the baselines and the Pareto front."""

from __future__ import annotations

from typing import Any

from shoal.errors import counted
from shoal.protections.grouping.command import ESTIMATED, FITNESS, FRONT_TITLE, RISK, baselines, front, split_note
from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Text

IN_SETTINGS = ("convention", "within_groups")


def promise(release: Any, external: bool) -> str:
    """k within each column group; an internal report has the joint k as well."""
    facts, number = release.facts, len(release.column_groups)
    where = f"each of {number} column groups" if number > 1 else "the only column group"
    records = counted(facts["joint_k"], "record")
    measured = f" Over all columns together the smallest class has {records} (measured, not guaranteed)."
    kept = f"Within {where}, every record shares its values with at least {facts['k'] - 1} others."
    return kept if external else kept + measured


def settings(release: Any, external: bool) -> list[list[Any]]:
    """The convention of the measures, and the method inside the column groups."""
    facts = release.facts
    return [
        ["convention", facts.get("convention")],
        ["record groups inside a column group", facts.get("within_groups")],
    ]


def done(release: Any, min_records: int | None) -> list[Block]:
    """The column groups; an internal report has the baselines and the Pareto front as well."""
    facts = release.facts
    rows = [[i, ", ".join(group)] for i, group in enumerate(release.column_groups, start=1)]
    blocks: list[Block] = [
        Text(
            "The columns of each column group were microaggregated together: within them every record shares its "
            f"values with at least {facts['k'] - 1} others."
        ),
        Grid(["group", "columns"], rows, text=2, title="Column groups"),
    ]
    if min_records is not None:
        return blocks
    blocks.append(Text(f"{FITNESS} {RISK}", note=True))
    if "baselines" in facts:
        blocks.append(baselines(facts))
    blocks += [Text(text) for text in split_note(facts)]
    return [*blocks, *(_front(release) if release.front else [])]


def _front(release: Any) -> list[Block]:
    """The Pareto front as a chart and as a table; the taken point is the release itself."""
    facts = release.facts
    points = [
        (
            p["information_loss"],
            p["risk"],
            f"pick {p['pick']}: " + " | ".join(", ".join(group) for group in p["groups"]),
        )
        for p in release.front
    ]
    taken = (facts["information_loss"], (facts["interval_disclosure"] + facts["distance_linkage_all_columns"]) / 2)
    drawn = charts.choices(points, taken, "information loss, %", "disclosure risk, %")
    return [Charts([(FRONT_TITLE, drawn)], wide=True, note=ESTIMATED), front(facts)]
