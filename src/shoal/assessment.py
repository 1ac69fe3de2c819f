"""`shoal.assess`: what a protected file lost against its original, and what risk is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.data.reading import as_table
from shoal.data.table import Table
from shoal.errors import InputError, unknown
from shoal.measure.anonymity import class_sizes
from shoal.measure.assessment import Assessment, Figure
from shoal.measure.loss import information_loss


def assess(original: Any, protected: Any, *, quasi: Sequence[str] = ()) -> Assessment:
    """Loss and risk of `protected` against `original`: same rows, in the same order."""
    before = as_table(original, quasi=quasi)
    after = as_table(protected)
    if before.rows != after.rows:
        raise InputError(
            f"the original has {before.rows} rows and the protected file {after.rows}: they must be the same records, "
            "in the same order"
        )
    columns = before.quasi_columns()
    for name in columns:
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    return assess_columns(before, after, columns)


def assess_columns(before: Table, after: Table, columns: Sequence[str]) -> Assessment:
    """The figures for the given columns of two tables with the same rows."""
    original, changed = (table.numbers(columns, allow_constant=True) for table in (before, after))
    loss = information_loss(original, changed, before.weights())
    sizes = class_sizes([np.ascontiguousarray(changed[:, j]) for j in range(len(columns))])
    return Assessment(
        [
            Figure(
                "information_loss",
                loss.information_loss,
                "0 to about 100 %",
                "the share of the columns' variance that was lost",
            ),
            Figure("k", int(sizes.min()), f"1 to {before.rows}", "the smallest class of records that look alike"),
            Figure("uniques", int((sizes == 1).sum()), f"0 to {before.rows}", "records that look like no other"),
        ]
    )
