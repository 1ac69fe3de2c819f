"""What risk is left, each figure with a plain sentence: classes of records that look alike, linkage, intervals, l.

Only for the inside: an external page tells no measured risk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.columns import coded
from shoal.data.table import Table
from shoal.generalization.labels import SUPPRESSED
from shoal.measure.anonymity import classes
from shoal.measure.full import same_scale
from shoal.measure.interval import interval_disclosure
from shoal.measure.linkage import distance_linkage
from shoal.report import charts
from shoal.report.page import Block, Charts, Grid, Told

Ints = NDArray[np.int64]


def risk(
    before: Table,
    after: Table,
    columns: Sequence[str],
    groups: Sequence[Sequence[str]] = (),
    draw_classes: bool = True,
    beside: bool = True,
) -> list[Block]:
    """The risk of the given columns before and after; k also within each of the `groups` of columns.

    beside: whether the rows are in the same order, so that linkage and intervals can be measured.
    """
    alike = classes([coded(before, name).codes for name in columns])
    codes = {name: coded(after, name).codes for name in columns}
    kept = ~suppressed(after, columns)
    rows = _alike(np.bincount(alike), *_sizes(codes, columns, kept), kept)
    for group in groups:
        least = int(_sizes(codes, group, kept)[1].min())
        told = ", ".join(group) if len(group) <= 4 else f"{', '.join(group[:3])} and {len(group) - 3} more"
        meaning = f"Within {told} every record looks like at least {least - 1} others."
        rows.append([f"k of a column group ({len(group)})", None, least, meaning])
    numeric = [name for name in columns if before.kinds[name] == after.kinds[name] == "number"]
    if beside:
        rows += _nearness(before, after, numeric, all_columns=len(numeric) == len(columns))
    label, _ = _sizes(codes, columns, kept)
    rows += [_diversity(after, name, label, kept) for name in before.roles.confidential if name in after.columns]
    blocks: list[Block] = [Grid(["", "before", "after"], [[Told(name, why), old, new] for name, old, new, why in rows])]
    size, count = np.unique(np.bincount(label), return_counts=True)
    if draw_classes and len(size) > 1:
        drawn = charts.sizes(
            dict(zip(size.tolist(), count.tolist(), strict=True)), "records in a class that look alike", "classes"
        )
        blocks.append(Charts([("Classes by their size", drawn)], wide=True))
    return blocks


def suppressed(table: Table, columns: Sequence[str]) -> NDArray[np.bool_]:
    """The rows with * in all of the columns."""
    starred = np.ones(table.rows, dtype=bool)
    for name in columns:
        if table.kinds[name] == "number":
            return np.zeros(table.rows, dtype=bool)
        found = coded(table, name)
        if SUPPRESSED not in found.values:
            return np.zeros(table.rows, dtype=bool)
        starred &= found.codes == found.values.index(SUPPRESSED)
    return starred


def _sizes(codes: dict[str, NDArray[np.int32]], columns: Sequence[str], kept: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Each kept row's class, and the classes' sizes."""
    if not kept.any():
        return np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    label = classes([codes[name][kept] for name in columns])
    return label, np.bincount(label)


def _alike(old: Ints, label: Ints, new: Ints, kept: NDArray[np.bool_]) -> list[list[Any]]:
    k, left = int(new.min()), int(kept.sum())
    said = f"Every record looks like at least {k - 1} others" if k > 1 else "There are records that look like no other"
    unique = int((new == 1).sum())
    rows: list[list[Any]] = [
        ["k", int(old.min()), k, f"{said} in the protected columns: the smallest class that look alike."],
        [
            "uniques",
            int((old == 1).sum()),
            unique,
            "Records that look like no other: whoever knows these columns of somebody finds the record at once.",
        ],
        [
            "right guesses, %",
            100.0 * old.size / int(old.sum()),
            100.0 * new.size / left if left else 0.0,
            "An intruder who knows all these columns and guesses within the class is right this often, on average.",
        ],
    ]
    if left < kept.size:
        rows.append(
            ["suppressed", None, kept.size - left, "Records with * in every protected column: they tell nothing."]
        )
    return rows


def _nearness(before: Table, after: Table, columns: list[str], all_columns: bool) -> list[list[Any]]:
    """Linkage and interval disclosure of the columns that stayed numbers, on their complete rows."""
    if not columns:
        return []
    values = [table.numbers(columns, missing="keep", allow_constant=True) for table in (before, after)]
    whole = ~(np.isnan(values[0]) | np.isnan(values[1])).any(axis=1)
    if not whole.any():
        return []
    old, new = (np.ascontiguousarray(v[whole]) for v in values)
    scaled = same_scale(old, new, standard=True)
    threads = len(os.sched_getaffinity(0))
    linkage = distance_linkage(*scaled, threads=threads)
    of = "" if all_columns else f" ({len(columns)} columns of numbers)"
    sampled = f" Measured on {linkage.records:,} records; standard error {linkage.error:.2g}." if linkage.error else ""
    return [
        [
            f"distance linkage{of}, %",
            None,
            linkage.percent,
            "An intruder who knows all these columns exactly and takes the nearest protected record is right "
            f"this often.{sampled}",
        ],
        [
            f"interval disclosure{of}, %",
            None,
            interval_disclosure(old, new),
            "Protected values that tell the original to within 1 to 10 % of the column's deviation.",
        ],
    ]


def _diversity(table: Table, name: str, label: Ints, kept: NDArray[np.bool_]) -> list[Any]:
    """The fewest distinct values of a confidential column in a class, counted by distinct pairs."""
    codes = coded(table, name).codes[kept]
    if not label.size:
        return [f"l of {name}", None, None, "No record is left."]
    pairs = np.unique(label * (int(codes.max()) + 1) + codes)
    least = int(np.bincount(pairs // (int(codes.max()) + 1)).min())
    meaning = (
        f"A class has at least {least} different values of {name}."
        if least > 1
        else f"In at least one class all records have the same {name}: who is known to be in it has no secret left."
    )
    return [f"l of {name}", None, least, meaning]
