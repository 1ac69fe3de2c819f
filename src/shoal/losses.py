"""Large changes for analysts, printed and reported: protected numbers by the labels of other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import counted
from shoal.measures.subgroups import LabelColumns, NumericColumns, far_off, worst_total_factor
from shoal.table.table import Table

MOST_VALUES = 200
MOST_COLUMNS = 30  # largest number of columns of each kind
SAMPLE = 200_000  # larger files are measured on a sample of this size
LARGE_LOSS = 20.0  # percent of the columns' variance
FAR_FACTOR = 10.0


@dataclass(frozen=True)
class Crossed:
    """The protected numeric columns and the label columns of a release, as arrays."""

    numeric: NumericColumns
    labels: LabelColumns
    weights: Any


def large_losses(before: Table, after: Table, columns: Sequence[str], loss: float | None) -> list[str]:
    """Return one sentence per large loss that an analyst must know about."""
    warnings = []
    if loss is not None and loss > LARGE_LOSS:
        warnings.append(f"The information loss is {loss:.1f} %, above {LARGE_LOSS:g} %.")
    crossed = crossed_columns(before, after, columns)
    for name, (old, new) in crossed.numeric.items():
        off = far_off(old, new)
        if off.records:
            warnings.append(
                f"In {name}, {counted(off.records, 'released value')} {'differs' if off.records == 1 else 'differ'} "
                f"from the original by more than a factor of ten (at most {off.largest_factor:.3g})."
            )
    total = worst_total_factor(crossed.numeric, crossed.labels, crossed.weights)
    if total is not None and total.factor > FAR_FACTOR:
        where = f"{total.column} for {total.by} = {total.label}"
        warnings.append(f"The total of {where} differs from the original by a factor of {total.factor:.3g}.")
    return warnings


def crossed_columns(before: Table, after: Table, columns: Sequence[str]) -> Crossed:
    """Return the protected numeric columns and the released columns with few labels; a sample of a large file."""
    rows = np.arange(before.rows)
    if before.rows > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(before.rows, SAMPLE, replace=False))
    numeric = {}
    codes = {*before.roles.nominal, *before.roles.order}  # numbers that are labels
    measured = [c for c in columns if before.kinds[c] == after.kinds[c] == "number" and c not in codes]
    for name in measured[:MOST_COLUMNS]:
        old, new = (t[name].numbers[rows] for t in (before, after))
        numeric[name] = (old, new)
    labels = {}
    others = [
        c
        for c in after.columns
        if c in before.columns and c not in numeric and (before.kinds[c] != "number" or c in codes)
    ]
    for name in others[:MOST_COLUMNS]:
        old, new = (table[name].codes for table in (before, after))
        if len(old.values) <= MOST_VALUES and set(new.values) <= set(old.values):
            place = {value: i for i, value in enumerate(old.values)}
            again = np.array([place[value] for value in new.values], dtype=np.int64)[new.codes]
            names = ["missing" if value is None else str(value) for value in old.values]
            labels[name] = (old.codes.astype(np.int64)[rows], again[rows], names)
    weights = before.weights()
    return Crossed(numeric, labels, None if weights is None else weights[rows])
