"""The report of a local recoding: which columns lost how much, typical groups, and the legend of cut labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.protections.recoding.command import front_table
from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Text

OWN_LOSSES = True
SHOWN = 12  # groups and labels that the report shows


def settings(release: Any, external: bool) -> list[list[Any]]:
    """Return the l and t of the confidential columns, and the sets of columns over which k holds."""
    rows: list[list[Any]] = release.setting_rows()
    return rows


def done(release: Any, min_records: int | None) -> list[Block]:
    """Return the groups and what each column lost; a public report shows no group."""
    facts = release.facts
    text = "Each group of records got its own intervals and sets of values. Every value is still true, but coarser."
    lost = [[name, about["loss"]] for name, about in facts["per_column"].items()]
    losses = Grid(["column", "loss"], lost, text=1, title="Loss of each column (0: exact, 1: everything)")
    if min_records is not None:
        return [Text(text), losses]
    text += f" {facts['groups']:,} groups; {facts['unchanged_rows']:,} of {facts['n']:,} records did not change."
    if facts.get("lower_bound") is not None:
        text += f" No groups of at least {facts['k']} records have a loss below {facts['lower_bound']:.4g}."
    blocks: list[Block] = [Text(text), losses]
    if release.solution is not None:
        size, count = np.unique(release.solution.sizes, return_counts=True)
        counts = dict(zip(size.tolist(), count.tolist(), strict=True))
        blocks.append(Grid(["records", *release.changed], _typical(release), text=0, title="Typical groups"))
        if len(counts) > 1:
            drawn = charts.sizes(counts, "records in a group", "groups")
            blocks.append(Charts([("Groups by their size", drawn)], wide=True))
    if "front" in facts:
        blocks += _front(facts)
    cut = release.legend_rows()
    if cut:
        title = "Legend of cut labels" if len(cut) <= SHOWN else f"Legend of cut labels (the first {SHOWN})"
        blocks.append(Grid(["column", "category", "values"], cut[:SHOWN], text=3, title=title))
    return blocks


def _front(facts: dict[str, Any]) -> list[Block]:
    """Return the Pareto front as charts of the loss against k, l and suppressed records, and as a table."""
    front, taken = facts["front"], facts["front"][facts["pick"] - 1]
    axes = (
        ("Cost of a higher k", "k", "k"),
        ("Cost of a higher l", "l", "l"),
        ("Cost of fewer suppressed records", "suppressed", "suppressed records"),
    )
    drawn = []
    for title, key, head in axes:
        others = [name for name in ("k", "l", "suppress") if name != ("suppress" if key == "suppressed" else key)]
        points = [
            (float(p[key] or 1 if key == "l" else p[key]), p["loss"], f"pick {i}")
            for i, p in enumerate(front, start=1)
            if all(p[name] == facts["front"][0][name] for name in others)
        ]
        if len({x for x, _, _ in points}) > 1:
            at = (float(taken[key] or 1 if key == "l" else taken[key]), taken["loss"])
            drawn.append((title, charts.choices(points, at, head, "loss", log=key == "k")))
    return [*([Charts(drawn)] if drawn else []), front_table(facts)]


def _typical(release: Any) -> list[list[Any]]:
    """Return the size and the values of groups from the middle of the file's losses."""
    labels = release.solution.labels
    first = np.unique(labels, return_index=True)[1]
    chosen = first[np.linspace(0, first.size - 1, min(SHOWN, first.size)).astype(np.int64)]
    rows = []
    for record in chosen.tolist():
        columns = [release.protected[name] for name in release.changed]
        values = ["missing" if column.absent[record] else column.cell(record) for column in columns]
        rows.append([int(release.solution.sizes[labels[record]]), *values])
    return rows
