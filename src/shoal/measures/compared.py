"""How a protected column is compared with its original: as numbers, dates, labels or categories.

Mixed microaggregation replaces labels (ordinal, nominal) by other labels of the same column. Generalization replaces
values by categories, which are names of sets of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.errors import ShoalError
from shoal.table.kinds import kind_of, labels_of
from shoal.table.table import Table

NUMBER, DATE, ORDINAL, NOMINAL, CATEGORY = "number", "date", "ordinal", "nominal", "category"


@dataclass(frozen=True, eq=False)
class ComparedLabels:
    """A column of labels: the code of each record before and after, and the value of each code in order."""

    before: Ints
    after: Ints
    values: tuple[str, ...]

    @property
    def changed(self) -> int:
        """The number of records whose label changed."""
        return int((self.before != self.after).sum())

    def counts(self) -> tuple[Ints, Ints]:
        """The number of records of each value, before and after."""
        before, after = (np.bincount(codes, minlength=len(self.values)) for codes in (self.before, self.after))
        return before, after


def compared_as(before: Table, after: Table, columns: Sequence[str]) -> dict[str, str]:
    """How each column is compared: as number, date, ordinal, nominal or category."""
    return {name: _compared_as(before, after, name) for name in columns}


def numbers_among(before: Table, after: Table, columns: Sequence[str]) -> list[str]:
    """The columns that hold numbers before and after; codes with the role of labels are not numbers."""
    return [name for name, kind in compared_as(before, after, columns).items() if kind == NUMBER]


def compared_labels(before: Table, after: Table, name: str) -> ComparedLabels:
    """The labels of a column before and after with common codes, ordered by rank or, if not ordinal, by value."""
    old, new = (labels_of(table, name, NOMINAL) for table in (before, after))
    values = sorted({*old.texts, *new.texts}, key=lambda text: (text is None, text))
    rank = _ranks(before, name)
    if rank:
        values.sort(key=lambda text: rank.get(text, len(rank)))
    place = {text: i for i, text in enumerate(values)}
    codes = [np.array([place[t] for t in labels.texts], dtype=np.int64)[labels.codes] for labels in (old, new)]
    return ComparedLabels(codes[0], codes[1], tuple(_name(before, name, text) for text in values))


def compared_ranks(before: Table, after: Table, name: str) -> tuple[Floats, Floats]:
    """The ranks of an ordinal column before and after, in the order of the original; NaN for missing values."""
    rank = _ranks(before, name)
    sides = [labels_of(table, name, NOMINAL) for table in (before, after)]
    old, new = (
        np.array([rank.get(text, np.nan) for text in side.texts], dtype=np.float64)[side.codes] for side in sides
    )
    return old, new


def _compared_as(before: Table, after: Table, name: str) -> str:
    roles = before.roles
    declared = name in roles.order or name in roles.nominal
    if not declared and after.kinds[name] == "number" and _holds_numbers(before, name):
        return NUMBER
    if not declared and before.kinds[name] == after.kinds[name] == "date":
        return DATE
    try:
        old, new = (set(labels_of(table, name, NOMINAL).texts) for table in (before, after))
    except ShoalError:  # such as Python objects
        return CATEGORY
    if not new <= old:
        return CATEGORY
    return ORDINAL if _ranks(before, name) else NOMINAL


def _holds_numbers(table: Table, name: str) -> bool:
    if table.kinds[name] == "number":
        return True
    try:
        table.numbers([name], missing="keep", allow_constant=True)
    except ShoalError:
        return False
    return True


def _ranks(table: Table, name: str) -> dict[str | None, int]:
    """The rank of each value of an ordinal column; empty if the column has no order."""
    try:
        if kind_of(table, name) != ORDINAL:
            return {}
        by_rank, by_value = labels_of(table, name, ORDINAL), labels_of(table, name, NOMINAL)
    except ShoalError:
        return {}
    ranks = {text: int(by_rank.codes[row]) for text, row in zip(by_value.texts, by_value.rows, strict=True)}
    return {text: rank for text, rank in ranks.items() if rank >= 0}


def _name(table: Table, name: str, text: str | None) -> str:
    """The name of a value for people: the label of a code, or the value itself."""
    if text is None:
        return "missing"
    source = table.source
    labels: dict[Any, str] = {} if source is None or source.labels is None else dict(source.labels.values.get(name, {}))
    known = {str(int(c)) if isinstance(c, float) and c.is_integer() else str(c): label for c, label in labels.items()}
    return known.get(text, text)
