"""The part of a report on a masked group: what the swaps changed, what they cost, and what the signal shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import counted
from shoal.protections.regions.command import BOUND_TITLES
from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, MeasureCell, Text

IN_SETTINGS = ("vital", "parameter", "compatibility", "alpha")
MOST_ROWS = 25  # regions, and feasible solutions, in a table


def promise(release: Any, external: bool) -> str:
    """Return the guarantee that was measured."""
    return headline(release, external)


def uses(release: Any) -> dict[str, str]:
    """Return the columns that have a part in the masking."""
    return {release.parameter: "regions", release.vital[0]: "target group"}


def settings(release: Any, external: bool) -> list[list[Any]]:
    """Return the target group and its regions; a public report names neither."""
    if external:
        return []
    column, values = release.vital
    facts, limits = release.facts, release.task.limits
    return [
        ["target group", f"{column} is {' or '.join(map(str, values))}"],
        ["column of the regions", release.parameter],
        ["outlier regions", ", ".join(map(str, facts["outliers"]))],
        ["thresholds of the outlier regions", ", ".join(f"{t:g}" for t in facts["thresholds"])],
        ["smallest compatibility", limits.compatibility],
        ["alpha of the tau test", limits.alpha],
    ]


def done(release: Any, min_records: int | None) -> list[Block]:
    """Return the signal before and after and the feasible solutions; a public report names no group and no region."""
    facts = release.facts
    if min_records is not None:
        return [
            Text(
                f"{headline(release, external=True)} Nothing else changed. The report does not name the group, "
                "the regions or the number of pairs, because that would undo the protection."
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
        for s in facts["feasible_solutions"][:MOST_ROWS]
    ]
    more = len(facts["feasible_solutions"]) - len(solutions)
    return [
        Text(f"{counted(facts['swaps'], 'pair')} of records exchanged their regions; nothing else changed."),
        Charts([("Signal of the target group by region, with outliers marked", signals)], wide=True),
        Grid(
            ["region", "before", "after"],
            changed[:MOST_ROWS],
            title="Largest changes of the signal",
            note=f"{len(changed) - MOST_ROWS} more regions changed." if len(changed) > MOST_ROWS else "",
        ),
        Grid(
            ["number", "outliers", "distortion", "compatibility", "swaps"],
            solutions,
            text=2,
            title="Feasible solutions, by distortion",
            note=f"{counted(more, 'more solution')}." if more > 0 else "",
        ),
    ]


def lost(release: Any, external: bool) -> list[Block]:
    """Return what stays unchanged, how much the table of each column by region changed, and the distortion."""
    kept = Text(
        "Unchanged: the number of records per region, the size of the target group, and every column except the "
        "regions. So the means, standard deviations, distributions and correlations of these columns are unchanged too."
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
        tables = [np.bincount(regions * width + codes, minlength=length) for regions in (old, new)]
        alike = float((codes[swaps[:, 0]] == codes[swaps[:, 1]]).mean()) if len(swaps) else 1.0
        rows.append([name, 100 * alike, 100 * float(np.abs(tables[1] - tables[0]).sum()) / 2 / old.size])
    facts = release.facts
    note = (
        f"Distortion: {facts['metric']:.6g}, which is {100 * facts['distortion']:.4g} % of all values of the matching "
        f"columns. The {BOUND_TITLES[facts['lower_bound_kind']]} is {facts['lower_bound']:.6g}."
    )
    heads = ["column", "swapped pairs that agree, %", "records that changed cell in its table by region, %"]
    return [kept, Grid(heads, rows, note=note)]


def headline(release: Any, external: bool) -> str:
    """Return what was measured on the masked signal; a public report names neither regions nor numbers."""
    facts = release.facts
    if not external:
        return str(facts["headline"])
    if not facts["hidden"]:
        return (
            "Pairs of similar records exchanged their regions. This report does not say how well that hides the group."
        )
    alphas = facts["alphas"]
    return (
        "Pairs of similar records exchanged their regions. Measured on the release: no original outlier region is an "
        f"outlier of the tau test at alpha {alphas[0]:g} to {alphas[-1]:g}, by number or share, or the largest region."
    )


def risk(release: Any) -> list[Block]:
    """Return what the new signal shows at every alpha, what other columns disclose, and how many records moved."""
    facts = release.facts
    every, attack = len(facts["outliers"]), facts["attack"]
    alphas = f"alpha {facts['alphas'][0]:g} to {facts['alphas'][-1]:g}, in every signal"
    rows = [
        [
            MeasureCell(
                "original outliers still outliers", f"Original outlier regions that are still outliers, at {alphas}."
            ),
            f"{len(facts['outliers_left'])} of {every}",
        ],
        [
            MeasureCell(
                "original outliers still the largest", "Original outliers that no other region exceeds in a signal."
            ),
            f"{len(facts['still_largest'])} of {every}",
        ],
        [
            MeasureCell(
                "new outliers", f"Regions that are outliers now and were not before, at {alphas}; with the decoys."
            ),
            ", ".join(map(str, facts["new_outliers"])) or "none",
        ],
        [
            MeasureCell(
                "ranks of the original outliers", "Their ranks by size in the release; 1 is the largest region."
            ),
            "; ".join(f"{kind}: {', '.join(map(str, sorted(of.values())))}" for kind, of in facts["ranks"].items()),
        ],
        [
            MeasureCell(
                "compatibility", "How far the outlier regions came down to their thresholds: 1 fully, 0 not at all."
            ),
            facts["compatibility"],
        ],
        [
            MeasureCell("records moved, %", "Records whose region in the release is not the original one."),
            200.0 * facts["swaps"] / facts["n"],
        ],
    ]
    if facts["candidate_regions"]:
        about = "Regions that an intruder who knows the method must consider: any may be an original outlier."
        rows.insert(
            4, [MeasureCell("regions to consider", about), f"{facts['candidate_regions']} of {len(facts['districts'])}"]
        )
    if attack is not None:
        about = "Moved target records whose original region a naive Bayes model of the other columns guesses."
        base = 100 * attack["moved_guessed_base"]
        rows.append(
            [
                MeasureCell("original regions guessed, %", f"{about} By chance: {base:.1f} %."),
                100 * attack["moved_guessed"],
            ]
        )
        ranks = ", ".join(map(str, sorted(attack["ranks"].values())))
        rows.append(
            [MeasureCell("ranks of the original outliers in that attack", "Ranks by the recovered share."), ranks]
        )
    return [Text(headline(release, external=False)), Grid(["", "value"], rows, title="The masked group")]
