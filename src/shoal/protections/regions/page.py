"""What the report of a release says of a masked group: what the swaps did and cost, and what the signal shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Text, Told

IN_SETTINGS = ("vital", "parameter", "compatibility", "alpha")
MOST_POINTS = 25  # regions, and feasible solutions, in a table


def promise(release: Any, external: bool) -> str:
    return headline(release, external)


def uses(release: Any) -> dict[str, str]:
    """The columns that have a part in the masking."""
    return {release.parameter: "districts", release.vital[0]: "group to hide"}


def settings(release: Any, external: bool) -> list[list[Any]]:
    """The group and its regions; a public report has none of it."""
    if external:
        return []
    column, values = release.vital
    facts, limits = release.facts, release.task.limits
    return [
        ["group to hide", f"{column} is {' or '.join(map(str, values))}"],
        ["districts", release.parameter],
        ["districts that stand out", ", ".join(map(str, facts["outliers"]))],
        ["to be brought down to", ", ".join(f"{t:g}" for t in facts["thresholds"])],
        ["least compatibility", limits.compatibility],
        ["level of the tau test", limits.alpha],
    ]


def done(release: Any, least: int | None) -> list[Block]:
    """The signal before and after, and the feasible solutions; a public report names neither group nor regions."""
    facts = release.facts
    if least is not None:
        return [
            Text(
                f"{headline(release, external=True)} Nothing else changed. The report does not name the group, "
                "the regions or the number of pairs: that would undo the protection."
            )
        ]
    signals = charts.signal_chart(
        facts["districts"],
        {
            "before": (facts["signal"], facts["outliers"]),
            "after": (facts["modified_signal"], facts["modified_outliers"]),
        },
    )
    signal = zip(facts["districts"], facts["signal"], facts["modified_signal"], strict=True)
    changed = sorted(
        ([str(d), old, new] for d, old, new in signal if old != new), key=lambda row: -abs(row[2] - row[1])
    )
    solutions = [
        [s["number"], " ".join(map(str, s["outliers"])) or "none", s["metric"], s["compatibility"], s["swaps"]]
        for s in facts["feasible_solutions"][:MOST_POINTS]
    ]
    more = len(facts["feasible_solutions"]) - len(solutions)
    return [
        Text(f"{facts['swaps']:,} pairs of records exchanged their districts; nothing else changed."),
        Charts([("The group's signal over the districts, outliers marked", signals)], wide=True),
        Grid(
            ["district", "before", "after"],
            changed[:MOST_POINTS],
            title="Where the signal changed most",
            note=f"{len(changed) - MOST_POINTS} more changed." if len(changed) > MOST_POINTS else "",
        ),
        Grid(
            ["number", "outliers left", "metric", "compatibility", "swaps"],
            solutions,
            text=2,
            title="Feasible solutions, by distortion",
            note=f"{more} more." if more > 0 else "",
        ),
    ]


def lost(release: Any, external: bool) -> list[Block]:
    """What is kept exactly, and how much each column's table by district changed."""
    kept = Text(
        "Kept exactly: the number of records of every district, the size of the group over all districts, and every "
        "column but that of the districts, hence all means, deviations, distributions and correlations among them."
    )
    if external:
        return [kept]
    old, new = (
        table[release.parameter].codes.codes.astype(np.int64) for table in (release.original, release.protected)
    )
    swaps = release.solution.swaps
    rows: list[list[Any]] = []
    for name in release.original.columns:
        if name in release.changed or name in release.original.roles.removed:
            continue
        codes = release.original[name].codes.codes
        width = int(codes.max()) + 1
        length = (int(old.max()) + 1) * width
        tables = [np.bincount(district * width + codes, minlength=length) for district in (old, new)]
        alike = float((codes[swaps[:, 0]] == codes[swaps[:, 1]]).mean()) if len(swaps) else 1.0
        rows.append([name, 100 * alike, 100 * float(np.abs(tables[1] - tables[0]).sum()) / 2 / old.size])
    facts = release.facts
    note = (
        f"Distortion: {100 * facts['distortion']:.4g} % of the influential values stand in another district than "
        "before, weighted by how much they differ."
    )
    heads = ["column", "swapped pairs that agree in it, %", "records that moved in its table by district, %"]
    return [kept, Grid(heads, rows, note=note)]


def headline(release: Any, external: bool) -> str:
    """What was measured on the masked signal; a public report names neither regions nor numbers."""
    facts = release.facts
    if not external:
        return str(facts["headline"])
    if not facts["hidden"]:
        return (
            "Pairs of similar records exchanged their regions. This report does not say how well that hides the group."
        )
    alphas = facts["alphas"]
    return (
        "Pairs of similar records exchanged their regions. Measured on the release: no region that stood out is an "
        f"outlier by the tau test at alpha {alphas[0]:g} to {alphas[-1]:g}, by number or share, or the largest region."
    )


def risk(release: Any) -> list[Block]:
    """What the new signal still shows at every alpha, what other columns tell, and how many records moved."""
    facts = release.facts
    every, attack = len(facts["outliers"]), facts["attack"]
    alphas = f"alpha {facts['alphas'][0]:g} to {facts['alphas'][-1]:g}, in every signal"
    rows = [
        [
            Told("original outliers still outliers", f"Regions that stood out before and still do, at {alphas}."),
            f"{len(facts['outliers_left'])} of {every}",
        ],
        [
            Told("original outliers still the largest", "Original outliers that no other region exceeds in a signal."),
            f"{len(facts['still_largest'])} of {every}",
        ],
        [
            Told("new outliers", f"Regions that stand out now and did not before, at {alphas}; decoys included."),
            ", ".join(map(str, facts["new_outliers"])) or "none",
        ],
        [
            Told("ranks of the original outliers", "Their places by size in the release; 1 is the largest region."),
            "; ".join(f"{kind}: {', '.join(map(str, sorted(of.values())))}" for kind, of in facts["ranks"].items()),
        ],
        [
            Told("compatibility", "How far the outliers came down to what was asked: 1 all the way, 0 not at all."),
            facts["compatibility"],
        ],
        [
            Told("records moved, %", "Records whose region in the release is not their own."),
            200.0 * facts["swaps"] / facts["n"],
        ],
    ]
    if facts["candidate_regions"]:
        about = "Regions that an intruder who knows the method must consider: any may be an original outlier."
        rows.insert(
            4, [Told("regions to consider", about), f"{facts['candidate_regions']} of {len(facts['districts'])}"]
        )
    if attack is not None:
        about = "Moved records of the group whose original region a naive Bayes model of the other columns guesses."
        base = 100 * attack["moved_guessed_base"]
        rows.append(
            [Told("original regions guessed, %", f"{about} By chance: {base:.1f} %."), 100 * attack["moved_guessed"]]
        )
        ranks = ", ".join(map(str, sorted(attack["ranks"].values())))
        rows.append([Told("ranks of the original outliers in that attack", "Places by the recovered share."), ranks])
    return [Text(headline(release, external=False)), Grid(["", "value"], rows, title="The masked group")]
