"""What the analyst loses: protected numbers by the labels of other columns, and differences of two numbers.

A release keeps each column's mean as a rule; means of subgroups, slopes and signs of differences are what a reader
computes, and what can change a lot (analysis-specific utility: Karr, Kohnen, Oganian, Reiter and Sanil 2006).
"""

from __future__ import annotations

from collections.abc import Sequence

from shoal.losses import SAMPLE, Crossed, crossed_columns
from shoal.measures.subgroups import sign_change_pairs, slopes, worst_subgroups
from shoal.report.page import Block, Grid, Text
from shoal.table.table import Table


def by_label(before: Table, after: Table, columns: Sequence[str]) -> list[Block]:
    """Tables of the subgroup means, slopes and signs that changed most; columns: the protected numbers."""
    if not columns:
        return []
    crossed = crossed_columns(before, after, columns)
    blocks = [*_subgroups(crossed), *_slopes(crossed), *_signs(crossed)]
    sampled = Text(f"Measured on a sample of {SAMPLE:,} records.", note=True)
    return [*blocks, sampled] if blocks and before.rows > SAMPLE else blocks


def _subgroups(crossed: Crossed) -> list[Block]:
    found = worst_subgroups(crossed.numeric, crossed.labels, crossed.weights)
    blocks: list[Block] = []
    if found.worst:
        rows = [
            [f"{s.column}, {s.by} = {s.label}", s.records, s.mean_before, s.mean_after, s.median_before, s.median_after,
             100 * s.change]
            for s in found.worst
        ]  # fmt: skip
        heads = [
            "subgroup", "records", "mean before", "mean after", "median before", "median after", "change of the mean, %"
        ]  # fmt: skip
        note = f"The {len(rows)} subgroups of at least ten records whose means changed most." if len(rows) > 1 else ""
        blocks.append(Grid(heads, rows, title="Means and medians by label", note=note))
    if found.vanished:
        what = "label that at least ten records have is" if found.vanished == 1 else "labels of ten records or more are"
        blocks.append(Text(f"{found.vanished:,} {what} in no released record.", note=True))
    if found.left_out:
        one = found.left_out == 1
        what = "column of labels has" if one else "columns of labels have"
        blocks.append(Text(f"{found.left_out:,} {what} too many values for a table of subgroups.", note=True))
    return blocks


def _slopes(crossed: Crossed) -> list[Block]:
    found = slopes(crossed.numeric, crossed.labels, crossed.weights)
    if not found:
        return []
    rows = [[f"{s.column}, {s.by} = {s.label}", s.before, s.after, s.change] for s in found]
    note = "The mean of a label's records less the mean of all others, in standard deviations of the original."
    heads = ["effect of a label", "before", "after", "change"]
    return [Grid(heads, rows, title="Slopes on labels that changed most", note=note)]


def _signs(crossed: Crossed) -> list[Block]:
    found = sign_change_pairs(crossed.numeric)
    rows = [[f"{s.a} - {s.b}", 100 * s.share] for s in found.worst if s.share > 0]
    if not rows:
        return []
    note = f"Of {found.pairs} pairs of columns of like scale." if found.pairs > 1 else ""
    return [Grid(["difference", "records with another sign, %"], rows, title="Signs of differences", note=note)]
