"""Loss and risk of a masked group: what the swaps did to the tables of regions, and what of the signal is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.report.page import Block, Grid, Text, Told
from shoal.table.columns import coded


def swap_loss(release: Any, external: bool) -> list[Block]:
    """What is kept exactly, and how much each column's table by district changed."""
    kept = Text(
        "Kept exactly: the number of records of every district, the size of the group over all districts, and every "
        "column but that of the districts, hence all means, deviations, distributions and correlations among them."
    )
    if external:
        return [kept]
    old, new = (
        coded(table, release.parameter).codes.astype(np.int64) for table in (release.original, release.protected)
    )
    swaps = release.solution.swaps
    rows: list[list[Any]] = []
    for name in release.original.columns:
        if name in release.changed or name in release.original.roles.removed:
            continue
        found = coded(release.original, name, allow_infinite=True).codes
        width = int(found.max()) + 1
        length = (int(old.max()) + 1) * width
        tables = [np.bincount(district * width + found, minlength=length) for district in (old, new)]
        alike = float((found[swaps[:, 0]] == found[swaps[:, 1]]).mean()) if len(swaps) else 1.0
        rows.append([name, 100 * alike, 100 * float(np.abs(tables[1] - tables[0]).sum()) / 2 / old.size])
    facts = release.facts
    note = (
        f"Distortion: {100 * facts['distortion']:.4g} % of the influential values stand in another district than "
        "before, weighted by how much they differ."
    )
    heads = ["column", "swapped pairs that agree in it, %", "records that moved in its table by district, %"]
    return [kept, Grid(heads, rows, note=note)]


def swap_headline(release: Any, external: bool) -> str:
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


def swap_risk(release: Any) -> list[Block]:
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
        found = ", ".join(map(str, sorted(attack["ranks"].values())))
        rows.append([Told("ranks of the original outliers in that attack", "Places by the recovered share."), found])
    return [Text(swap_headline(release, external=False)), Grid(["", "value"], rows, title="The masked group")]
