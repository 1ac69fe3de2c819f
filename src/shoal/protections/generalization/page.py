"""The report of a generalization: the categories, how many records have each, and the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.errors import counted
from shoal.report import charts
from shoal.report.front_table import front_table
from shoal.report.page import Block, Charts, Grid, Text
from shoal.report.promise import k_promise
from shoal.table.labels import SUPPRESSED

IN_SETTINGS = ("sets", "l", "t", "mapping")  # the recipe at the end of the page holds a mapping in full


def promise(release: Any, external: bool) -> str:
    """Return the guarantee of k; a mapping that was made for other records guarantees nothing."""
    if release.k is not None:
        return k_promise(release)
    columns = counted(len(release.changed), "column")
    return f"The values of {columns} were replaced by the labels of a given mapping. It guarantees nothing."


def settings(release: Any, external: bool) -> list[list[Any]]:
    """Return the l and t of the confidential columns, and the sets of columns over which k holds."""
    rows: list[list[Any]] = release.setting_rows()
    return rows


def done(release: Any, min_records: int | None) -> list[Block]:
    """Return the categories and the front; a public report has neither."""
    facts = release.facts
    cuts: Mapping[str, Sequence[str]] = facts.get("cuts", {})
    text = Text("Values were replaced by categories. Equal values have the same category in every record.")
    if min_records is not None:
        return [text]
    blocks: list[Block] = [text]
    if cuts:
        rows = [[name, "; ".join(categories), len(categories)] for name, categories in cuts.items()]
        blocks.append(Grid(["column", "categories", "number"], rows, text=2, title="Categories"))
        cut = release.legend_rows()
        if cut:
            blocks.append(Grid(["column", "category", "values"], cut, text=3, title="Legend of cut labels"))
    drawn = []
    for name in release.changed:
        categories, counts = release.label_counts(name)
        drawn.append((name, charts.labels(["* (suppressed)" if v == SUPPRESSED else v for v in categories], counts)))
    blocks.append(Charts(drawn, note="Number of records per category."))
    if "front" in facts:
        blocks += _front(facts)
    return blocks


def _front(facts: Mapping[str, Any]) -> list[Block]:
    """Return the Pareto front as charts and as a table around the solution that was taken."""
    front, pick = facts["front"], facts["pick"]
    names = [f"pick {i}: k = {p['effective_k']}" for i, p in enumerate(front, start=1)]
    pairs = (
        ("Cost of a higher k", "effective_k", "nwp", "smallest class (k)", "loss (NWP)"),
        ("Loss against bias", "nwp", "necd", "loss (NWP)", "bias (NECD)"),
    )
    drawn = []
    for title, x, y, x_title, y_title in pairs:
        points = [(p[x], p[y], name) for p, name in zip(front, names, strict=True)]
        taken = (front[pick - 1][x], front[pick - 1][y])
        drawn.append((title, charts.choices(points, taken, x_title, y_title, log=x == "effective_k")))
    keys = ("effective_k", "nwp", "necd", "achievement", "suppressed")
    rows = [[p[key] for key in keys] for p in front]
    heads = ["smallest class", "NWP", "NECD", "achievement", "suppressed"]
    return [Charts(drawn), front_table(heads, rows, pick, title="Pareto front")]
