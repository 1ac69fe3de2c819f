"""Compares the pages of published results with what their entries compute, so that a stale page fails."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from shoal.studies.reproduce.pages import markdown_table
from shoal.studies.reproduce.result import Result, ResultTable

PAGES = Path(__file__).parents[2] / "docs" / "published"
# Beginnings of the sentences that depend on the runs, without digits.
DEPENDS_ON_RUNS = (
    *("D-GOMM is worse", "D-GOMM loses", "This trend", "The median effective", "No solution meets"),
    *("# chromosomes, ", "Where a row disagrees", "# of #"),
)


def what_is_stale(name: str, result: Result, with_texts: bool = True) -> list[str]:
    """Return what the page does not have of a run with any input and budget: titles, heads, published cells, texts."""
    stale = []
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    sections = {_digits_off(part.partition("\n")[0]): part for part in page.split("\n## ")[1:]}
    for table in result.tables:
        section = sections.get(_digits_off(table["title"]))
        if section is None:
            stale.append(table["title"])
            continue
        head, lines = _lines(table)
        if head not in section.splitlines():
            stale.append(f"{table['title']}: {head}")
            continue
        there = {_published_cells(table, line) for line in section.splitlines() if line.startswith("| ")}
        here = {_published_cells(table, line) for line in lines}
        stale += [f"{table['title']}: {cells}" for cells in sorted(here - there, key=str)]
    texts = [result.convention, *(table["note"] for table in result.tables)] if with_texts else []
    known = _digits_off(page)
    stale += [s for text in texts for s in _sentences(text) if s not in known and not s.startswith(DEPENDS_ON_RUNS)]
    return stale


def missing_rows(name: str, table: ResultTable) -> list[str]:
    """Return the rows of a table that its page does not have."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    return [line for line in _lines(table)[1] if line not in page]


def _lines(table: ResultTable) -> tuple[str, list[str]]:
    head, _, *rows = markdown_table(table["columns"], table["rows"]).splitlines()
    return head, rows


def _published_cells(table: ResultTable, line: str) -> Any:
    """The whole line if it is a published one; otherwise its first cell and those of the published columns."""
    cells = line.strip("| ").split(" | ")
    if "published" in cells:
        return line
    wanted = [j for j, column in enumerate(table["columns"]) if "printed" in column and j < len(cells)]
    return (cells[0], *(cells[j] for j in wanted)) if any(cells[j] != "–" for j in wanted) else ()


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.:]) ", _digits_off(text)) if sentence]


def _digits_off(text: str) -> str:
    return re.sub(r"[-−]?\d[\d,.]*(?=\D|$)", "#", text)
