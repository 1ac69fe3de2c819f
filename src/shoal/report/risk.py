"""What risk is left in the protected columns, before and after: equivalence classes, intervals, l.

Each value comes with a plain sentence. Only the internal report has it; people found are in `intruder`, as the release
check found them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.measures.anonymity import classes
from shoal.measures.interval import interval_disclosure
from shoal.report import charts
from shoal.report.compared import numbers_among
from shoal.report.page import Block, Charts, Grid, Told
from shoal.table.columns import coded
from shoal.table.labels import SUPPRESSED
from shoal.table.table import Table


def risk(
    before: Table,
    after: Table,
    columns: Sequence[str],
    groups: Sequence[Sequence[str]] = (),
    draw_classes: bool = True,
    beside: bool = True,
) -> list[Block]:
    """The risk of the protected columns before and after; k also within each of the `groups` of columns.

    beside: whether the rows are in the same order, so that values and units can be compared row by row.
    """
    units = _units(before) if beside else None
    codes = {name: coded(after, name, allow_infinite=True).codes for name in columns}
    kept = ~suppressed(after, columns)
    every = np.ones(before.rows, dtype=bool)
    old = _Classes.of({name: coded(before, name, allow_infinite=True).codes for name in columns}, columns, every, units)
    new = _Classes.of(codes, columns, kept, units)
    rows = _equivalence(old, new, kept, units is not None)
    for group in groups:
        least = _Classes.of(codes, group, kept, units).smallest
        listed = ", ".join(group) if len(group) <= 4 else f"{', '.join(group[:3])} and {len(group) - 3} more"
        meaning = f"Within {listed}, every record shares its values with at least {least - 1} others."
        rows.append([f"k of a column group ({len(group)})", None, least, meaning])
    if beside:
        numeric = numbers_among(before, after, columns)
        rows += _nearness(before, after, numeric, all_columns=len(numeric) == len(columns))
    rows += [_diversity(after, name, new.label, kept) for name in before.roles.confidential if name in after.columns]
    told = [[Told(name, why), *figures] for name, *figures, why in rows]
    blocks: list[Block] = [Grid(["", "before", "after"], told, title="Protected columns before and after")]
    size, count = np.unique(new.records, return_counts=True)
    if draw_classes and len(size) > 1:
        drawn = charts.sizes(
            dict(zip(size.tolist(), count.tolist(), strict=True)), "records in an equivalence class", "classes"
        )
        blocks.append(Charts([("Equivalence classes by size", drawn)], wide=True))
    return blocks


def _units(table: Table) -> Ints | None:
    """Each record's person or household, where a column marks it."""
    unit = table.roles.unit
    return coded(table, unit, allow_infinite=True).codes.astype(np.int64) if isinstance(unit, str) else None


@dataclass(frozen=True, eq=False)
class _Classes:
    """Each kept row's equivalence class, the records of each class, and its persons where several rows are one's."""

    label: Ints
    records: Ints
    persons: Ints

    @property
    def smallest(self) -> int:
        return int(self.persons.min()) if self.persons.size else 0

    @classmethod
    def of(
        cls, codes: dict[str, NDArray[np.int32]], columns: Sequence[str], kept: NDArray[np.bool_], units: Ints | None
    ) -> _Classes:
        if not kept.any():
            return cls(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
        label = classes([codes[name][kept] for name in columns])
        records = np.bincount(label)
        if units is None:
            return cls(label, records, records)
        width = int(units.max()) + 1
        pairs = np.unique(label * width + units[kept])
        return cls(label, records, np.bincount(pairs // width, minlength=records.size))


def suppressed(table: Table, columns: Sequence[str]) -> NDArray[np.bool_]:
    """The rows with * in all of the columns."""
    starred = np.ones(table.rows, dtype=bool)
    for name in columns:
        if table.kinds[name] == "number":
            return np.zeros(table.rows, dtype=bool)
        found = coded(table, name, allow_infinite=True)
        if SUPPRESSED not in found.values:
            return np.zeros(table.rows, dtype=bool)
        starred &= found.codes == found.values.index(SUPPRESSED)
    return starred


def _equivalence(old: _Classes, new: _Classes, kept: NDArray[np.bool_], of_units: bool) -> list[list[Any]]:
    k, left = new.smallest, int(kept.sum())
    others = f"those of at least {k - 1} other persons or households" if of_units else f"at least {k - 1} others"
    shared = f"Every record shares its values with {others}" if k > 1 else "Some records share their values with nobody"
    average = [100.0 * float((c.records / c.persons).sum()) / max(int(c.records.sum()), 1) for c in (old, new)]
    rows: list[list[Any]] = [
        ["k", old.smallest, k, f"{shared}: the size of the smallest equivalence class."],
        [
            "unique records",
            *(int(c.records[c.persons == 1].sum()) for c in (old, new)),
            "Whoever knows these columns of such a person finds the record at once.",
        ],
        [
            "average re-identification risk, %",
            *average,
            "Mean of 1 / class size: how often an intruder is right who knows all these columns as they are released "
            "and guesses within the class.",
        ],
    ]
    if left < kept.size:
        meaning = "Records with * in every protected column."
        rows.append(["suppressed records", None, kept.size - left, meaning])
    return rows


def _nearness(before: Table, after: Table, columns: list[str], all_columns: bool) -> list[list[Any]]:
    """Interval disclosure of the columns that are numbers before and after, on their complete rows."""
    if not columns:
        return []
    values = [table.numbers(columns, missing="keep", allow_constant=True) for table in (before, after)]
    whole = ~(np.isnan(values[0]) | np.isnan(values[1])).any(axis=1)
    if not whole.any():
        return []
    old, new = (np.ascontiguousarray(v[whole]) for v in values)
    of = "" if all_columns else f" ({len(columns)} columns of numbers)"
    return [
        [
            f"interval disclosure{of}, %",
            None,
            interval_disclosure(old, new),
            "Protected values within 1 to 10 % of the column's standard deviation from the original.",
        ],
    ]


def _diversity(table: Table, name: str, label: Ints, kept: NDArray[np.bool_]) -> list[Any]:
    """The fewest distinct values of a confidential column in a class, counted by distinct pairs."""
    codes = coded(table, name, allow_infinite=True).codes[kept]
    if not label.size:
        return [f"l of {name}", None, None, "Every record is suppressed."]
    pairs = np.unique(label * (int(codes.max()) + 1) + codes)
    least = int(np.bincount(pairs // (int(codes.max()) + 1)).min())
    meaning = (
        f"Every class has at least {least} different values of {name}."
        if least > 1
        else f"In at least one class all records have the same {name}: it is disclosed of everybody in that class."
    )
    return [f"l of {name}", None, least, meaning]
