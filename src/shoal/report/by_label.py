"""How analyses change: means of protected numbers by the labels of other columns, and differences of two numbers.

A release usually keeps the mean of each column. Analysts also compute means of subgroups, slopes and signs of
differences, and these can change a lot (analysis-specific utility: Karr, Kohnen, Oganian, Reiter and Sanil 2006).
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.errors import counted
from shoal.losses import SAMPLE, Crossed, crossed_columns
from shoal.measures.subgroups import sign_change_pairs, slopes, worst_subgroups
from shoal.report.page import Block, Grid, Text
from shoal.table.table import Table


def by_label(before: Table, after: Table, columns: Sequence[str]) -> list[Block]:
    """Tables of the subgroup means, slopes and signs that changed most; `columns` are the protected numbers."""
    if not columns:
        return []
    crossed = crossed_columns(before, after, columns)
    blocks = [*_subgroups(crossed), *_slopes(crossed), *_signs(crossed)]
    sampled = Text(f"These values were measured on a sample of {SAMPLE:,} records.", note=True)
    return [*blocks, sampled] if blocks and before.rows > SAMPLE else blocks


def _subgroups(crossed: Crossed) -> list[Block]:
    subgroups = worst_subgroups(crossed.numeric, crossed.labels, crossed.weights)
    blocks: list[Block] = []
    if subgroups.worst:
        rows = [
            [f"{s.column}, {s.by} = {s.label}", s.records, s.mean_before, s.mean_after, s.median_before, s.median_after,
             100 * s.change]
            for s in subgroups.worst
        ]  # fmt: skip
        heads = [
            "subgroup", "records", "mean before", "mean after", "median before", "median after", "change of the mean, %"
        ]  # fmt: skip
        note = f"The table shows the {len(rows)} subgroups of at least ten records whose means changed most."
        note = note if len(rows) > 1 else ""
        blocks.append(Grid(heads, rows, title="Means and medians by label", note=note))
    if subgroups.vanished:
        one = subgroups.vanished == 1
        labels = counted(subgroups.vanished, "label")
        text = f"{labels} of at least ten original records {'is' if one else 'are'} not in the release."
        blocks.append(Text(text, note=True))
    if subgroups.left_out:
        columns = counted(subgroups.left_out, "column of labels")
        has = "has" if subgroups.left_out == 1 else "have"
        blocks.append(Text(f"{columns} {has} too many values for a table of subgroups.", note=True))
    return blocks


def _slopes(crossed: Crossed) -> list[Block]:
    changed_slopes = slopes(crossed.numeric, crossed.labels, crossed.weights)
    if not changed_slopes:
        return []
    rows = [[f"{s.column}, {s.by} = {s.label}", s.before, s.after, s.change] for s in changed_slopes]
    note = (
        "The slope is the mean of the records with the label minus the mean of all others, in standard deviations of "
        "the original column."
    )
    heads = ["column and label", "before", "after", "change"]
    return [Grid(heads, rows, title="Slopes on labels that changed most", note=note)]


def _signs(crossed: Crossed) -> list[Block]:
    changes = sign_change_pairs(crossed.numeric)
    rows = [[f"{s.a} - {s.b}", 100 * s.share] for s in changes.worst if s.share > 0]
    if not rows:
        return []
    note = f"Shoal compared {changes.pairs} pairs of columns of similar scale." if changes.pairs > 1 else ""
    return [Grid(["difference", "records whose sign changed, %"], rows, title="Signs of differences", note=note)]
