"""What `shoal group` prints about a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import counted
from shoal.report.front_table import front_table
from shoal.report.page import Grid, Text

FITNESS = "Fitness F is the mean of information loss and disclosure risk in percent; lower is better."
RISK = "Disclosure risk is the mean of interval disclosure and linkage by an intruder who holds all columns."
ESTIMATED = "Estimates of the search, with MDAV inside the column groups."
FRONT_TITLE = "Pareto front: no other choice is better in both loss and risk"


def show(release: Any) -> list[Grid | Text]:
    """The column groups, their loss and risk, and what they are compared with."""
    facts = release.facts
    groups = [[f"group {i}", ", ".join(group)] for i, group in enumerate(facts["groups"], start=1)]
    blocks: list[Grid | Text] = [
        Grid(["", ""], groups, text=2, title="Column groups"),
        Grid(["", ""], measures(facts), title="Loss and risk"),
        Text(f"{FITNESS} {RISK}"),
    ]
    if "baselines" in facts:
        blocks.append(baselines(facts))
    blocks += [Text(text) for text in split_note(facts)]
    if release.front:
        blocks += [front(facts), Text(ESTIMATED)]
    return blocks


def measures(facts: Mapping[str, Any]) -> list[list[Any]]:
    """The values of the release, each with the intruder it is about."""
    sets, deviation = facts["distance_linkage_sets"], facts["distance_linkage_std"]
    rows: list[list[Any]] = [["fitness", f"{facts['fitness']:.4f}"]]
    if "fitness_estimate" in facts:
        rows.append(["fitness estimated by the search (MDAV)", f"{facts['fitness_estimate']:.4f}"])
    rows += [
        ["record groups inside a column group", facts["within_groups"]],
        ["information loss", f"{facts['information_loss']:.4f} %"],
        ["interval disclosure", f"{facts['interval_disclosure']:.4f} %"],
        ["linkage, intruder holds all columns", f"{facts['distance_linkage_all_columns']:.4f} %"],
    ]
    if sets > 1:
        rows += [
            [f"linkage, mean over {sets} sets of columns", f"{facts['distance_linkage']:.4f} %"],
            ["linkage, standard deviation over these sets", f"{deviation:.4f} %"],
        ]
    if "intruder_columns" in facts:
        columns = ", ".join(facts["intruder_columns"])
        rows.append([f"linkage, intruder holds {columns}", f"{facts['distance_linkage_intruder_columns']:.4f} %"])
    return [
        *rows,
        ["smallest group of records within a column group", facts["smallest_group"]],
        ["joint k, over all columns (measured, not guaranteed)", facts["joint_k"]],
        ["column groupings evaluated", facts["evaluations"]],
    ]


def baselines(facts: Mapping[str, Any]) -> Grid:
    """Return the release next to one group of all columns, and next to each column alone."""
    names = {"all": "all columns in one group", "univariate": "each column alone"}
    risk = (facts["interval_disclosure"] + facts["distance_linkage_all_columns"]) / 2
    rows = [["this release", facts["fitness"], facts["information_loss"], risk, facts["joint_k"]]]
    rows += [
        [names[name], one["fitness"], one["information_loss"], one["risk"], one["joint_k"]]
        for name, one in facts["baselines"].items()
    ]
    return Grid(["", "fitness", "loss %", "risk %", "joint k"], rows, title="Baselines")


def split_note(facts: Mapping[str, Any]) -> list[str]:
    """Return a sentence if one group of all columns is best, else nothing."""
    if facts.get("split_pays", True):
        return []
    if len(facts["groups"]) == 1:
        return ["One group of all columns has the lowest fitness."]
    fitness = facts["baselines"]["all"]["fitness"]
    return [
        f"One group of all columns has a lower fitness: {fitness:.4f}. These "
        f"{counted(len(facts['groups']), 'column group')} have {facts['fitness']:.4f}. Use --method all."
    ]


def front(facts: Mapping[str, Any]) -> Grid:
    """The Pareto front, with the numbers that --pick takes."""
    points = [[p["information_loss"], p["risk"], p["fitness"], p["joint_k"], len(p["groups"])] for p in facts["front"]]
    return front_table(["loss %", "risk %", "fitness", "joint k", "groups"], points, facts["pick"], title=FRONT_TITLE)
