"""The evidence for the measures: an original and its release as arrays, record by record.

A part that a release does not have is None, and the measures that need it are left out. For example, a release in
another row order has no pairs of records, and a table of labels has no numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Codes, Floats
from shoal.measures.anonymity import EquivalenceClasses, equivalence_classes, suppressed_rows, units_of
from shoal.measures.compared import (
    CATEGORY,
    DATE,
    NOMINAL,
    NUMBER,
    ORDINAL,
    compared_as,
    compared_labels,
    compared_ranks,
)
from shoal.measures.convention import CONVENTIONS, Convention
from shoal.measures.measure import Computed, Estimate, declared_measure
from shoal.table.table import Table


@dataclass(frozen=True, eq=False)
class ColumnPair:
    """A column before and after on the rows with both values: numbers, days, ranks, or codes of nominal labels."""

    name: str
    kind: str  # number, date, ordinal or nominal
    before: NDArray[Any]
    after: NDArray[Any]
    weights: Floats | None = None


@dataclass(frozen=True, eq=False)
class ConfidentialColumn:
    """The codes of a confidential column in the release; `ordered` if the codes are ranks of numbers."""

    codes: Codes
    ordered: bool


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data that the measures use.

    Attributes:
        original, release: The columns of numbers, on the rows that are complete in both.
        weights: The weights of these rows.
        columns: Every column that can be compared.
        changed: The number of records whose value changed, for each column that does not hold numbers.
        classes: The equivalence classes of the release.
        confidential: The confidential columns of the release.
    """

    records: int
    original: Floats | None = None
    release: Floats | None = None
    weights: Floats | None = None
    columns: tuple[ColumnPair, ...] | None = None
    changed: Mapping[str, Bools] | None = None
    classes: EquivalenceClasses | None = None
    confidential: Mapping[str, ConfidentialColumn] = field(default_factory=dict)
    convention: Convention = CONVENTIONS["sound"]
    threads: int = 1
    seed: int = 0
    _known: dict[str, Any] = field(default_factory=dict)

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Compute a result that several measures share, once."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def measure(self, name: str) -> Computed:
        """The result of another measure; it is computed once."""
        result: Computed = self.once(f"measure {name}", lambda: declared_measure(name).compute(self))
        return result

    def number(self, name: str) -> float:
        """The value of another measure, which must be a single number."""
        result = self.measure(name)
        value = result.value if isinstance(result, Estimate) else result
        if not isinstance(value, int | float):
            raise ValueError(f"The measure {name!r} has no single value.")
        return float(value)

    def numbers(self) -> tuple[Floats, Floats]:
        """The columns of numbers before and after."""
        if self.original is None or self.release is None:
            raise ValueError("This evidence has no numbers. A measure that uses them needs original and release.")
        return self.original, self.release


def evidence_of_numbers(
    original: Floats,
    release: Floats,
    *,
    weights: Floats | None = None,
    convention: str = "sound",
    threads: int = 1,
    seed: int = 0,
) -> Evidence:
    """The evidence of two n x d arrays without missing values."""
    pairs = [ColumnPair(str(j), NUMBER, original[:, j], release[:, j], weights) for j in range(original.shape[1])]
    return Evidence(
        len(original), original, release, weights, tuple(pairs),
        convention=CONVENTIONS[convention], threads=threads, seed=seed,
    )  # fmt: skip


def evidence_of_tables(
    before: Table,
    after: Table,
    columns: Sequence[str],
    *,
    within: Sequence[str] = (),
    confidential: Sequence[str] = (),
    aligned: bool = True,
    convention: str = "sound",
    threads: int = 1,
    seed: int = 0,
) -> Evidence:
    """The evidence of an original and its release over some columns.

    Args:
        before: The original.
        after: The release.
        columns: The columns to compare.
        within: Further columns that the equivalence classes use.
        confidential: The confidential columns.
        aligned: Whether the rows are in the same order.
        convention: The convention for measuring.
        threads: The number of threads.
        seed: The seed of random samples.
    """
    known = tuple(dict.fromkeys((*columns, *within)))
    units = units_of(before) if aligned else None
    classes = equivalence_classes(after, known, ~suppressed_rows(after, known), units)
    hidden = {name: _confidential(after, name) for name in confidential}
    rules: dict[str, Any] = {"convention": CONVENTIONS[convention], "threads": threads, "seed": seed}
    if not aligned:
        return Evidence(before.rows, classes=classes, confidential=hidden, **rules)
    kinds = compared_as(before, after, columns)
    numeric = [name for name, kind in kinds.items() if kind == NUMBER]
    weights, original, release = before.weights(), None, None
    complete = np.ones(before.rows, dtype=bool)
    if numeric:
        values = [table.numbers(numeric, missing="keep", allow_constant=True) for table in (before, after)]
        complete = ~(np.isnan(values[0]) | np.isnan(values[1])).any(axis=1)
        if complete.any():
            original, release = (v if complete.all() else np.ascontiguousarray(v[complete]) for v in values)
    pairs = [column_pair(before, after, name, kind) for name, kind in kinds.items() if kind != CATEGORY]
    return Evidence(
        before.rows,
        original,
        release,
        weights if weights is None or complete.all() else weights[complete],
        tuple(pair for pair in pairs if pair.before.size) or None,
        {name: _changed(before, after, name) for name, kind in kinds.items() if kind != NUMBER},
        classes,
        hidden,
        **rules,
    )


def column_pair(before: Table, after: Table, name: str, kind: str) -> ColumnPair:
    """A column before and after, on the rows that have a value in both."""
    weights = before.weights()
    if kind == NOMINAL:  # a missing label counts as a label
        labels = compared_labels(before, after, name)
        return ColumnPair(name, kind, labels.before, labels.after, weights)
    old, new = (
        compared_ranks(before, after, name)
        if kind == ORDINAL
        else (_numbers(table, name, kind) for table in (before, after))
    )
    present = ~(np.isnan(old) | np.isnan(new))
    return ColumnPair(name, kind, old[present], new[present], None if weights is None else weights[present])


def _numbers(table: Table, name: str, kind: str) -> Floats:
    if kind == DATE:
        return table[name].days
    return np.ascontiguousarray(table.numbers([name], missing="keep", allow_constant=True)[:, 0])


def _changed(before: Table, after: Table, name: str) -> Bools:
    old, new = (table[name].stored for table in (before, after))
    code = {str(value): i for i, value in enumerate(old.values)}
    again = np.array([code.get(str(value), -1) for value in new.values])[new.codes]
    return np.asarray(old.codes != again)


def _confidential(after: Table, name: str) -> ConfidentialColumn:
    column = after[name].stored
    return ConfidentialColumn(column.codes, after[name].kind == "number" and None not in column.values)
