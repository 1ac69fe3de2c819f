"""The known-column figures and the findings of the release check, as tables of a report.

Only the release check links records; this module shows its results and does not measure anything.
"""

from __future__ import annotations

from typing import Any

from shoal.errors import counted
from shoal.gate.figures import Figure, Figures
from shoal.gate.findings import BLOCK, WARN, Findings, as_sentences
from shoal.report.page import Block, Card, Grid, MeasureCell, Text

SETS = (
    ("protected", "Protected columns", "The guarantee of the method covers these columns."),
    ("known", "Protected columns and those without a role", "An intruder may know these columns. This row decides."),
    ("released", "Every released column", "The intruder also knows the confidential values and the weight."),
)
MOST_ADDED = 10  # most columns without a role in the table


def intruder(findings: Findings) -> list[Block]:
    """The verdict, the known-column figures, and every finding that blocks or warns."""
    blocks: list[Block] = [Text(f"{findings.verdict} Policy: {findings.policy}.")]
    figures = findings.figures
    if figures is not None:
        blocks += [_figures(figures), *_added(figures)]
    rows = _grave(findings)
    if rows:
        heads = ["status", "check", "finding and what to do"]
        blocks.append(Grid(heads, rows, text=3, title="Findings", marked=(BLOCK, WARN)))
    return blocks


def opening(findings: Findings) -> tuple[tuple[str, str], list[Card]]:
    """The beginning of a report: the verdict with the most severe status, and how many people each intruder finds."""
    status = BLOCK if findings.blocking else WARN if findings.warnings else "pass"
    figures = findings.figures
    cards = []
    for name, title, _ in SETS if figures is not None else ():
        figure: Figure = getattr(figures, name)
        linked = "–" if figure.linked is None else f"{100 * figure.linked:.3g} %"
        unique = counted(figure.uniques, "unique record")
        who = f"An intruder who knows {'' if title.startswith('Every') else 'the '}{title[0].lower()}{title[1:]}"
        cards.append(Card("people found", linked, f"{who} ({len(figure.columns)}): k is {figure.k:,}, {unique}."))
    return (status, f"{findings.verdict} Policy: {findings.policy}."), cards


def _grave(findings: Findings) -> list[list[Any]]:
    """Every finding that blocks or warns, blocking ones first; checks with the same finding share a row."""
    checks: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.status in (BLOCK, WARN):
            checks.setdefault((finding.status, as_sentences(finding)), []).append(finding.check)
    ordered = sorted(checks, key=lambda key: key[0] != BLOCK)
    return [[status, ", ".join(checks[status, text]), text] for status, text in ordered]


def _figures(figures: Figures) -> Grid:
    rows = [[MeasureCell(title, meaning), *_cells(getattr(figures, name))] for name, title, meaning in SETS]
    note = (
        "k is the size of the smallest equivalence class. People found is the share of people whose record an intruder "
        "finds. The intruder knows the original values of all these columns, and takes the released record that fits "
        "best."
    )
    if figures.unit:
        note += " k and the unique records count persons or households, not rows."
    if any(getattr(figures, name).linked_se is not None for name, _, _ in SETS):
        note += " People found was measured on a sample; the number after ± is its standard error."
    heads = ["an intruder who knows", "columns", "k", "unique records", "people found, %"]
    return Grid(heads, rows, title="What an intruder finds", note=note)


def _cells(figure: Figure) -> list[Any]:
    linked: Any = None if figure.linked is None else 100 * figure.linked
    if linked is not None and figure.linked_se is not None:
        linked = f"{linked:.4g} ± {100 * figure.linked_se:.2g}"
    return [len(figure.columns), figure.k, figure.uniques, linked]


def _added(figures: Figures) -> list[Block]:
    """How many unique records each column without a role adds, in descending order."""
    rows = [[name, count] for name, count in figures.added_uniques.items() if count > 0]
    if not rows:
        return []
    note = ""
    if len(rows) > MOST_ADDED:
        note = f"The table leaves out {counted(len(rows) - MOST_ADDED, 'more column')}."
    heads = ["column without a role", "unique records it adds"]
    return [Grid(heads, rows[:MOST_ADDED], title="Unique records that columns without a role add", note=note)]
