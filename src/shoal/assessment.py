"""`shoal.assess`: the information loss of a protected file and the risk that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.arrays import cores
from shoal.engine.control import Control
from shoal.errors import InputError, check_choice, counted, unknown
from shoal.gate.row_order import side_by_side
from shoal.measures.assessment import Assessment, assess_evidence
from shoal.measures.compared import numbers_among
from shoal.measures.convention import CONVENTIONS
from shoal.measures.evidence import evidence_of_tables
from shoal.measures.measure import declared_measures
from shoal.sources.reading import as_table
from shoal.table.bounds import bounded_in, doubled
from shoal.table.kinds import kind_of
from shoal.table.table import Table

UNSHUFFLED = (
    "Assess the table before its rows are shuffled, or use 'shoal report … --recipe FILE', which restores them."
)


def assess(
    original: Any,
    protected: Any,
    *,
    quasi: Sequence[str] = (),
    confidential: Sequence[str] = (),
    weight: str | None = None,
    convention: str = "sound",
    missing: str = "error",
    threads: int | None = None,
    seed: int = 0,
) -> Assessment:
    """Measure the information loss and the disclosure risk of `protected` against `original`.

    Both must have the same records in the same order.

    Args:
        original: The original: a `Table`, a data frame or a file.
        protected: The release: a `Table`, a data frame or a file.
        quasi: Quasi-identifiers, if the original does not name them.
        confidential: Confidential columns whose l and t are measured, if the original does not name them.
        weight: Column of survey weights, if the original does not name it. The measures of loss are weighted. The
            measures of risk are not: an intruder looks for a record, whatever its weight.
        convention: How measures are computed: sound, or thesis (as in the GOMM thesis).
        missing: What the protection did with missing values: error (there are none), drop or median.
        threads: Largest number of threads; all cores by default.
        seed: Seed of the order in which an intruder learns columns.

    Returns:
        The measures, by name.

    Raises:
        InputError: The two files do not have the same records or columns.
        UsageError: An argument is invalid.
    """
    check_choice("convention", convention, CONVENTIONS)
    before, after = as_table(original, quasi=quasi), as_table(protected)
    before = doubled(before, bounded_in(before, after.columns))
    if weight is not None:
        before = before.with_roles(replace(before.roles, weight=weight))
    columns = tuple(dict.fromkeys((*before.quasi_columns(), *before.roles.derived)))
    before, after = _without_gaps(before, after, columns, missing)
    if before.rows != after.rows:
        raise InputError(
            f"The original has {counted(before.rows, 'row')} and the release {counted(after.rows, 'row')}. Both must "
            "have the same records in the same order. If rows with missing values were dropped, add --missing drop."
        )
    hidden = tuple(confidential) or before.roles.confidential
    for name in (*columns, *hidden):
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    side_by_side(before, after, columns, ways=UNSHUFFLED)
    numeric = numbers_among(before, after, columns)
    for table in (before, after):
        if numeric:
            table.numbers(numeric, allow_constant=True)  # an error names the first missing value
    evidence = evidence_of_tables(
        before,
        after,
        columns,
        confidential=hidden,
        convention=convention,
        threads=threads or cores(),
        seed=seed,
    )
    return Control(threads=evidence.threads).call(lambda: assess_evidence(evidence))


def weights_note(original: Table, figures: Assessment) -> str:
    """Return which measures of an assessment are weighted and which are not, or '' if there are no weights."""
    if original.roles.weight is None:
        return ""
    names = {weighted: [m.shown for m in declared_measures() if m.weighted == weighted] for weighted in (True, False)}
    shown = {figure.shown for figure in figures.figures}
    weighted, others = (", ".join(name for name in names[key] if name in shown) for key in (True, False))
    return (
        f"The weights {original.roles.weight!r} count in {weighted}. They do not change {others}: these count records, "
        "because an intruder looks for a record, whatever its weight."
    )


def _without_gaps(before: Table, after: Table, columns: Sequence[str], missing: str) -> tuple[Table, Table]:
    """Return both tables after the missing values of the original were treated as the protection did."""
    if missing == "error":
        return before, after
    filled = before.with_missing(missing, columns, {name: kind_of(before, name) for name in columns})
    if filled.rows < before.rows == after.rows:  # the release has the rows that are left out here
        return filled, after.take(np.isin(before.numbering, filled.numbering))
    return filled, after
