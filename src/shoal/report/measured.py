"""The declared measures of loss and risk as rows of tables.

Only the internal report has them. Names, meanings and values are those of `shoal assess`, because both use the
declarations in `shoal.measures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import counted
from shoal.measures.assessment import figures_of
from shoal.measures.evidence import Evidence, evidence_of_tables
from shoal.measures.measure import Measure, declared_measures
from shoal.report.page import Block, Grid, MeasureCell
from shoal.table.table import Table

COSTLY_ABOVE = 20_000  # above this number of records, a report leaves out costly measures


def measured_loss(before: Table, after: Table, columns: Sequence[str]) -> list[Block]:
    """The measures of information loss of a release whose rows are in the order of the original."""
    evidence = evidence_of_tables(before, after, columns)
    rows = measure_rows(evidence, ("loss",))
    if not rows:
        return []
    return [Grid(["", "value"], rows, title="Measures of information loss", note=left_out(evidence))]


def measure_rows(evidence: Evidence, kinds: Sequence[str], original: Evidence | None = None) -> list[list[Any]]:
    """One row per value: its name and meaning, the value before protection if `original` is set, and the value."""
    rows: list[list[Any]] = []
    for measure in _chosen(evidence, kinds):
        earlier = {figure.name: figure.value for figure in figures_of(measure, original)} if original else {}
        for figure in figures_of(measure, evidence):
            if figure.value is None:
                continue
            unit = ", %" if measure.unit == "%" else ""
            words = MeasureCell(f"{figure.shown}{unit}", f"{figure.meaning[0].upper()}{figure.meaning[1:]}.")
            rows.append([words, *([earlier.get(figure.name)] if original else []), figure.value])
    return rows


def left_out(evidence: Evidence) -> str:
    """The note on measures and records that the tables leave out."""
    notes = []
    if evidence.records > COSTLY_ABOVE:
        names = ", ".join(measure.shown for measure in declared_measures() if measure.costly)
        notes.append(
            f"A report on more than {COSTLY_ABOVE:,} records leaves out {names}. Run shoal assess to measure them."
        )
    if evidence.original is not None and len(evidence.original) < evidence.records:
        missing = evidence.records - len(evidence.original)
        notes.append(f"Measures of numbers do not use {counted(missing, 'record')} with missing values.")
    return " ".join(notes)


def _chosen(evidence: Evidence, kinds: Sequence[str]) -> list[Measure]:
    large = evidence.records > COSTLY_ABOVE
    return [m for m in declared_measures() if m.kind in kinds and not (large and m.costly)]
