"""What `shoal microaggregate` prints about a release, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.release import Release
from shoal.report.page import Grid


def show(release: Release) -> list[Grid]:
    """Return tables of the groups and their loss, the stages of the search, and the changes of the columns."""
    facts = release.facts
    blocks = [Grid(["", ""], _rows(facts), title=release.title)]
    if "stages" in facts:
        stages = [[s["name"], s["loss_before"], s["loss_after"], s["cpu_seconds"]] for s in facts["stages"]]
        blocks.append(Grid(["stage", "loss before, %", "loss after, %", "CPU s"], stages, title="What was run"))
    keys = ["column", "mean_before", "mean_after", "deviation_before", "deviation_after"]
    changes = [[row[key] for key in keys] for row in release.column_changes()]
    if changes:
        heads = ["column", "mean before", "mean after", "std. dev. before", "std. dev. after"]
        blocks.append(Grid(heads, changes, title="Numbers"))
    labels = {name: about for name, about in facts.get("per_column", {}).items() if "changed" in about}
    if labels:
        rows = [[name, about["kind"], f"{100 * about['changed']:.1f} %"] for name, about in labels.items()]
        blocks.append(Grid(["column", "kind", "cells changed"], rows, text=2, title="Labels"))
    return blocks


def rows_of_files(facts: Mapping[str, Any]) -> list[list[Any]]:
    """Return the values of a release of many files with their names."""
    units = facts.get("smallest_group_units")
    return [
        ["records", facts["n"]], ["protected columns", facts["d"]], ["information loss (%)", facts["information_loss"]],
        ["groups", facts["groups"]], ["records per group", f"{facts['smallest_group']} to {facts['largest_group']}"],
        *([] if units is None else [["units in the smallest group", units]]),
        ["leaves", facts["leaves"]], ["rounds", facts["rounds"]], ["CPU seconds of the search", facts["cpu_seconds"]],
    ]  # fmt: skip


def _rows(facts: Mapping[str, Any]) -> list[list[Any]]:
    rows = [["k", facts["k"]], ["method", facts["method"]], ["records", facts["n"]]]
    if facts.get("columns"):
        rows.append(["protected columns", ", ".join(facts["columns"])])
    rows += [
        ["groups", facts["groups"]],
        ["smallest group", facts["smallest_group"]],
        ["largest group", facts["largest_group"]],
        ["information loss", f"{facts['information_loss']:.4f} %"],
    ]
    if facts.get("loss") is not None:
        rows.append(["loss of the search", facts["loss"]])
    if facts.get("l") is not None:
        rows += [["smallest l", facts["l"]], ["largest t", f"{facts['t']:.4f}"]]
    if facts.get("times_mdav"):
        rows.append(["times MDAV's SSE", f"{facts['times_mdav']:.4f}"])
    if facts.get("notice"):
        rows.append(["note", facts["notice"]])
    if facts.get("lower_bound") is not None:
        rows.append(["no groups lose less than", f"{facts['lower_bound']:.4f} % ({_distance(facts)})"])
    return rows


def _distance(facts: Mapping[str, Any]) -> str:
    """Return how far the groups are from the lower bound, as a text."""
    if not facts.get("proved"):
        gap = "no gap is known" if facts.get("gap") is None else f"gap {_percent(facts['gap'])}"
        return f"{gap}; the bound was stopped early, the groups are complete" if facts.get("bound_stopped") else gap
    if facts["information_loss"] > facts["lower_bound"] * (1 + 1e-6):
        return "the groups are proved optimal; labels, medians or rounding add the rest"
    return "proved optimal"


def _percent(gap: float) -> str:
    """Return a gap as a text that is never 0.00 %: the groups may still be above the optimum."""
    return f"{gap:.2f} %" if gap >= 0.01 else "below 0.01 %"


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of the arguments of a step, as arguments of `shoal.check`."""
    return {name: arguments.get(name) for name in ("k", "l", "t", "distance")}
