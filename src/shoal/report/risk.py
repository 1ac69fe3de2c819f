"""The section on the remaining disclosure risk: measures of risk before and after, k of column groups, l-diversity.

Each value has a sentence that explains it. Only the internal report has this section. `intruder` shows the results of
the release check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import cores
from shoal.measures.anonymity import EquivalenceClasses, equivalence_classes, units_of
from shoal.measures.diversity import distinct_l
from shoal.measures.evidence import Evidence, evidence_of_tables
from shoal.report import charts
from shoal.report.measured import left_out, measure_rows
from shoal.report.page import Block, Charts, Grid, MeasureCell
from shoal.table.table import Table


def risk(
    before: Table,
    after: Table,
    columns: Sequence[str],
    groups: Sequence[Sequence[str]] = (),
    within: Sequence[str] = (),
    draw_classes: bool = True,
    rows_aligned: bool = True,
) -> list[Block]:
    """The risk of the protected columns before and after.

    Args:
        before: The original table.
        after: The protected table.
        columns: The protected columns.
        groups: Column groups, each of which gets its k.
        within: Unchanged columns that the equivalence classes also use.
        draw_classes: Whether to draw the sizes of the equivalence classes.
        rows_aligned: Whether both tables have the same row order, so that rows can be compared.
    """
    confidential = [name for name in before.roles.confidential if name in after.columns]
    evidence = evidence_of_tables(
        before, after, columns, within=within, confidential=confidential, aligned=rows_aligned, threads=cores()
    )
    units = units_of(before) if rows_aligned else None
    known = [*columns, *(name for name in within if name not in columns)]
    original = Evidence(before.rows, classes=equivalence_classes(before, known, units=units))
    rows = measure_rows(evidence, ("risk", "balance"), original)
    new = evidence.classes or equivalence_classes(after, known)
    for group in groups:
        rows.append(_group_row(group, equivalence_classes(after, group, new.kept, units).smallest))
    rows += [_diversity(after, name, new) for name in confidential]
    counts_units = "k and the unique records count persons or households." if units is not None else ""
    note = " ".join(text for text in (counts_units, left_out(evidence)) if text)
    blocks: list[Block] = [Grid(["", "before", "after"], rows, title="Protected columns before and after", note=note)]
    size, count = np.unique(new.records, return_counts=True)
    if draw_classes and len(size) > 1:
        drawn = charts.sizes(
            dict(zip(size.tolist(), count.tolist(), strict=True)), "records in an equivalence class", "classes"
        )
        blocks.append(Charts([("Equivalence classes by size", drawn)], wide=True))
    return blocks


def _group_row(group: Sequence[str], smallest: int) -> list[Any]:
    listed = ", ".join(group) if len(group) <= 4 else f"{', '.join(group[:3])} and {len(group) - 3} more"
    meaning = f"Within {listed}, every record shares its values with at least {smallest - 1} others."
    return [MeasureCell(f"k of a column group ({len(group)})", meaning), None, smallest]


def _diversity(table: Table, name: str, classes: EquivalenceClasses) -> list[Any]:
    """The row on the smallest number of distinct values of a confidential column in a class."""
    if not classes.label.size:
        return [MeasureCell(f"l of {name}", "Every record is suppressed."), None, None]
    fewest = distinct_l(classes.label, table[name].codes.codes[classes.kept])
    meaning = (
        f"Every class has at least {fewest} different values of {name}."
        if fewest > 1
        else f"In at least one class all records have the same {name}, which is disclosed for everybody in that class."
    )
    return [MeasureCell(f"l of {name}", meaning), None, fewest]
