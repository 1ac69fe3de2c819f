"""What `shoal mask` prints about a release, and what `shoal check` takes from its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.protections.regions.task import COMPATIBILITY, TAU_TEST
from shoal.report.page import Grid, Text

MOST_SOLUTIONS = 24
BOUND_TITLES = {
    COMPATIBILITY: "lower bound (compatibility alone)",
    TAU_TEST: "lower bound (compatibility and tau test)",
}


def show(release: Any) -> list[Grid | Text]:
    """Return the protection, the distortion, the changes of the signal, and the feasible solutions."""
    facts = release.facts
    changed = [
        [label, before, after]
        for label, before, after in zip(facts["districts"], facts["signal"], facts["modified_signal"], strict=True)
        if before != after
    ]
    title = f"Group anonymity, method {facts['method']}, settings {facts['settings']}"
    return [
        Text(facts["headline"]),
        Grid(["", ""], _rows(facts), title=title),
        Grid(["region", "before", "after"], changed, title="Changes of the signal"),
        _solutions(facts),
    ]


def _rows(facts: Mapping[str, Any]) -> list[list[Any]]:
    return [
        ["records", facts["n"]],
        ["target records", facts["vital_records"]],
        ["original outliers", ", ".join(map(str, facts["outliers"]))],
        ["original outliers still outliers", ", ".join(map(str, facts["outliers_left"])) or "none"],
        ["new outliers", ", ".join(map(str, facts["new_outliers"])) or "none"],
        ["decoys", ", ".join(map(str, facts["decoys"])) or "none"],
        ["ranks of the original outliers", _ranks(facts["ranks"])],
        *([["regions an intruder must consider", facts["candidate_regions"]]] if facts["candidate_regions"] else []),
        ["swaps", facts["swaps"]],
        ["distortion (metric)", facts["metric"]],
        [BOUND_TITLES[facts["lower_bound_kind"]], facts["lower_bound"]],
        ["lowest distortion for this signal", facts["flow_optimum"]],
        ["values of matching columns distorted", f"{100 * facts['distortion']:.4f} %"],
        ["compatibility", facts["compatibility"]],
        *_attack_rows(facts["attack"]),
    ]


def _ranks(ranks: dict[str, dict[str, int]]) -> str:
    """Return the ranks of the original outliers after masking, by signal."""
    return "; ".join(f"{kind}: {', '.join(map(str, sorted(of.values())))}" for kind, of in ranks.items())


def _attack_rows(attack: dict[str, Any] | None) -> list[list[Any]]:
    """Return the rows on the attack: how often the other columns disclose the original regions of moved records."""
    if attack is None:
        return []
    guessed, base = (f"{100 * attack[name]:.1f} %" for name in ("moved_guessed", "moved_guessed_base"))
    ranks = ", ".join(map(str, sorted(attack["ranks"].values())))
    return [
        ["original regions guessed from other columns", f"{guessed} of the moved records (by chance {base})"],
        ["ranks of the original outliers in that attack", ranks],
    ]


def _solutions(facts: Mapping[str, Any]) -> Grid:
    hiding, solutions = facts["settings"] == "hiding", facts["feasible_solutions"]
    return Grid(
        ["no.", "fitness", "distortion", "compatibility", "swaps", "regions to consider" if hiding else "outliers"],
        [
            [s["number"], s["fitness"], s["metric"], s["compatibility"], s["swaps"],
             s["candidate_regions"] if hiding else " ".join(map(str, s["outliers"]))]
            for s in solutions[:MOST_SOLUTIONS]
        ],
        title=f"Feasible solutions ({len(solutions)}; number {facts['picked']} is used; --pick takes another)",
    )  # fmt: skip


def check_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantees of the arguments of a step, as arguments of `shoal.check`."""
    return {
        "swapped": (arguments["parameter"], *arguments.get("along", ())),
        "vital": tuple(arguments["vital"]),
        "decoys": arguments.get("decoys", 0),
    }
