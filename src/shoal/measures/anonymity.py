"""Equivalence classes: sets of records with the same values in all given columns.

Two values are the same if they agree bit for bit. A missing value is a value like any other and never a wildcard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.measures.measure import Measure
from shoal.table.cell_hashes import finalized
from shoal.table.labels import SUPPRESSED
from shoal.table.table import Table

if TYPE_CHECKING:
    from shoal.measures.evidence import Evidence


def classes(columns: Sequence[NDArray[Any]]) -> Ints:
    """The class of each record, numbered from 0 without gaps; `columns` are arrays of equal length.

    The function sorts 64-bit hashes of the rows and compares neighbours in full, so a collision has no effect.
    A file of a million rows takes a second.
    """
    if not columns:
        raise ValueError("Equivalence classes need at least one column.")
    bits = [_bits(column) for column in columns]
    rows = bits[0].size
    key = np.zeros(rows, dtype=np.uint64)
    for column in bits:
        key = finalized(key ^ column)
    order = np.argsort(key, kind="stable")
    key = key[order]
    new_key = key[1:] != key[:-1]
    new_row = np.zeros(rows - 1, dtype=bool)
    for column in bits:
        inside = column[order]
        new_row |= inside[1:] != inside[:-1]
    if not np.array_equal(new_key, new_row):  # two different rows share a hash
        return _classes_by_columns(bits)
    label = np.empty(rows, dtype=np.int64)
    label[order] = np.concatenate([[0], np.cumsum(new_key)])
    return label


def class_sizes(columns: Sequence[NDArray[Any]]) -> Ints:
    """The size of each class."""
    return np.bincount(classes(columns)).astype(np.int64)


def k_anonymity(columns: Sequence[NDArray[Any]]) -> int:
    """The size k of the smallest class: every record shares its values with at least k - 1 others."""
    return int(class_sizes(columns).min())


def suppressed_rows(table: Table, columns: Sequence[str]) -> Bools:
    """The suppressed rows: those with * in all of the columns."""
    starred = np.ones(table.rows, dtype=bool)
    for name in columns:
        column = None if table.kinds[name] == "number" else table[name].codes
        if column is None or SUPPRESSED not in column.values:
            return np.zeros(table.rows, dtype=bool)
        starred &= column.codes == column.values.index(SUPPRESSED)
    return starred


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The equivalence class of each record that is not suppressed, and the size of each class.

    Attributes:
        kept: The rows that are not suppressed.
        label: The class of each of these rows.
        records: The number of records of each class.
        persons: The number of persons or households of each class; without a unit, every record is a different person.
    """

    kept: Bools
    label: Ints
    records: Ints
    persons: Ints

    @property
    def smallest(self) -> int:
        """The number of persons in the smallest class; 0 if every record is suppressed."""
        return int(self.persons.min()) if self.persons.size else 0

    @property
    def unique_records(self) -> int:
        """The number of records that do not share their values with another person."""
        return int(self.records[self.persons == 1].sum())

    @property
    def average_risk(self) -> float:
        """The mean of 1 / class size over the kept records, in percent."""
        return 100.0 * float((self.records / self.persons).sum()) / max(int(self.records.sum()), 1)


def equivalence_classes(
    table: Table, columns: Sequence[str], kept: Bools | None = None, units: Ints | None = None
) -> EquivalenceClasses:
    """The equivalence classes of the `kept` rows; `units` has the person or household of each record, counted once."""
    kept = np.ones(table.rows, dtype=bool) if kept is None else kept
    if not kept.any():
        return EquivalenceClasses(kept, *(np.zeros(0, dtype=np.int64) for _ in range(3)))
    label = classes([table[name].codes.codes[kept] for name in columns])
    records = np.bincount(label)
    if units is None:
        return EquivalenceClasses(kept, label, records, records)
    width = int(units.max()) + 1
    pairs = np.unique(label * width + units[kept])
    return EquivalenceClasses(kept, label, records, np.bincount(pairs // width, minlength=records.size))


def units_of(table: Table) -> Ints | None:
    """The person or household of each record; None if no column has the role unit."""
    unit = table.roles.unit
    return table[unit].codes.codes.astype(np.int64) if isinstance(unit, str) else None


def _bits(column: NDArray[Any]) -> NDArray[np.uint64]:
    """64 bits per value, equal for equal values; all NaN have the same bits."""
    if column.dtype.kind in "iub":
        return column.astype(np.int64).view(np.uint64)
    if column.dtype.kind == "f":
        wide = column.astype(np.float64)
        wide[np.isnan(wide)] = np.nan
        return wide.view(np.uint64)
    seen: dict[Any, int] = {}
    codes = [seen.setdefault(value if value == value else None, len(seen)) for value in column.tolist()]
    return np.array(codes, dtype=np.uint64)


def _classes_by_columns(bits: Sequence[NDArray[np.uint64]]) -> Ints:
    """The classes without hashes, by sorting column after column, which is slower."""
    label = np.zeros(bits[0].size, dtype=np.int64)
    for column in bits:
        code = np.unique(column, return_inverse=True)[1].reshape(-1)
        label = np.unique(label * (int(code.max()) + 1) + code, return_inverse=True)[1].reshape(-1)
    return label.astype(np.int64)


def _of(evidence: Evidence) -> EquivalenceClasses:
    if evidence.classes is None:
        raise ValueError("This evidence has no equivalence classes. A measure that uses them needs classes.")
    return evidence.classes


MEASURES = (
    Measure(
        name="k",
        kind="risk",
        needs=("classes",),
        range="1 to {n}",
        unit="records",
        better="higher",
        meaning="the smallest equivalence class of the protected columns",
        formula="size of the smallest class, without suppressed records; persons or households if there is a unit",
        compute=lambda evidence: _of(evidence).smallest,
    ),
    Measure(
        name="uniques",
        title="unique records",
        kind="risk",
        needs=("classes",),
        range="0 to {n}",
        unit="records",
        better="lower",
        meaning="records that share their protected values with no other",
        formula="number of records in classes of one person",
        compute=lambda evidence: _of(evidence).unique_records,
    ),
    Measure(
        name="average_risk",
        title="average re-identification risk",
        kind="risk",
        needs=("classes",),
        range="0 to 100",
        unit="%",
        better="lower",
        meaning="mean of 1 / class size: how often an intruder picks the right record of a class",
        formula="100 · mean over records of 1 / size of the record's class",
        compute=lambda evidence: _of(evidence).average_risk,
    ),
    Measure(
        name="suppressed",
        title="suppressed records",
        kind="risk",
        needs=("classes",),
        range="0 to {n}",
        unit="records",
        better="lower",
        meaning="records with * in every protected column",
        formula="number of such records; they belong to no class",
        compute=lambda evidence: int((~_of(evidence).kept).sum()),
    ),
)
