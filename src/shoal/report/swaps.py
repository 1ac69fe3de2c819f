"""Loss and risk of a masked group: what the swaps did to the tables of districts, and what of the signal is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.data.columns import coded
from shoal.report.page import Block, Grid, Text, Told


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
        if name == release.parameter or name in release.original.roles.removed:
            continue
        found = coded(release.original, name).codes
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


def swap_risk(release: Any) -> list[Block]:
    """Whether the districts still stand out, and how many records' districts are not their own."""
    facts = release.facts
    still = [d for d in facts["outliers"] if d in facts["modified_outliers"]]
    rows = [
        [
            Told("outliers still shown", "Districts that stood out before and still do, by the tau test."),
            f"{len(still)} of {len(facts['outliers'])}",
        ],
        [
            Told("outliers after", "Districts that stand out in the release, true or made."),
            ", ".join(map(str, facts["modified_outliers"])) or "none",
        ],
        [
            Told("compatibility", "How far the districts came down to what was asked: 1 all the way, 0 not at all."),
            facts["compatibility"],
        ],
        [
            Told("records moved, %", "Records whose district in the release is not their own."),
            200.0 * facts["swaps"] / facts["n"],
        ],
    ]
    return [Grid(["", "value"], rows, title="The masked group")]
