"""What an intruder finds: the three figures of the release check, and its findings, as tables of a report.

Nothing is measured here: the release check alone links records, and a report shows what it found.
"""

from __future__ import annotations

from typing import Any

from shoal.gate.figures import Figure, Figures
from shoal.gate.findings import BLOCK, WARN, Findings, as_sentences
from shoal.report.page import Block, Card, Grid, Text, Told

SETS = (
    ("protected", "Protected columns", "What the method promised."),
    ("known", "Protected columns and those without a role", "What an intruder may know. This figure decides."),
    ("released", "Every released column", "What if somebody knew the confidential values and the weight too."),
)
MOST_ADDED = 10  # columns without a role, by the unique records that each adds


def intruder(findings: Findings) -> list[Block]:
    """The verdict, the three figures, and every finding that needs attention."""
    blocks: list[Block] = [Text(f"{findings.verdict} Policy: {findings.policy}.")]
    figures = findings.figures
    if figures is not None:
        blocks += [_figures(figures), *_added(figures)]
    rows = _grave(findings)
    if rows:
        heads = ["", "check", "finding, and what to do"]
        blocks.append(Grid(heads, rows, text=3, title="Findings to judge", marked=(BLOCK, WARN)))
    return blocks


def opening(findings: Findings) -> tuple[tuple[str, str], list[Card]]:
    """What a report opens with: the verdict with its gravest status, and how many people each intruder finds."""
    status = BLOCK if findings.blocking else WARN if findings.warnings else "pass"
    figures = findings.figures
    cards = []
    for name, title, _ in SETS if figures is not None else ():
        found: Figure = getattr(figures, name)
        linked = "–" if found.linked is None else f"{100 * found.linked:.3g} %"
        unique = "1 unique record" if found.uniques == 1 else f"{found.uniques:,} unique records"
        who = f"An intruder who knows {'' if title.startswith('Every') else 'the '}{title[0].lower()}{title[1:]}"
        cards.append(Card("people found", linked, f"{who} ({len(found.columns)}): k is {found.k:,}, {unique}."))
    return (status, f"{findings.verdict} Policy: {findings.policy}."), cards


def _grave(findings: Findings) -> list[list[Any]]:
    """Every finding that blocks or warns, what blocks first; checks with the same answer stand together."""
    checks: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        if finding.status in (BLOCK, WARN):
            checks.setdefault((finding.status, as_sentences(finding)), []).append(finding.check)
    ordered = sorted(checks, key=lambda key: key[0] != BLOCK)
    return [[status, ", ".join(checks[status, text]), text] for status, text in ordered]


def _figures(figures: Figures) -> Grid:
    rows = [[Told(title, meaning), *_cells(getattr(figures, name))] for name, title, meaning in SETS]
    note = (
        "k is the smallest equivalence class. People found is the share of people whom an intruder finds who knows the "
        "original values of all these columns and takes the released record that fits best."
    )
    if figures.unit:
        note += " k and unique records count persons or households, not rows."
    if any(getattr(figures, name).linked_se is not None for name, _, _ in SETS):
        note += " People found was measured on a sample; its standard error stands beside it."
    heads = ["an intruder who knows", "columns", "k", "unique records", "people found, %"]
    return Grid(heads, rows, title="What an intruder finds", note=note)


def _cells(figure: Figure) -> list[Any]:
    linked: Any = None if figure.linked is None else 100 * figure.linked
    if linked is not None and figure.linked_se is not None:
        linked = f"{linked:.4g} ± {100 * figure.linked_se:.2g}"
    return [len(figure.columns), figure.k, figure.uniques, linked]


def _added(figures: Figures) -> list[Block]:
    """What each column without a role adds, the most first."""
    rows = [[name, count] for name, count in figures.added_uniques.items() if count > 0]
    if not rows:
        return []
    note = f"{len(rows) - MOST_ADDED} more columns." if len(rows) > MOST_ADDED else ""
    heads = ["column without a role", "unique records it adds"]
    return [Grid(heads, rows[:MOST_ADDED], title="What each column without a role adds", note=note)]
