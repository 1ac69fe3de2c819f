"""The section "Published results" of the documentation: one Markdown page per entry, and an index of all items."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.report.figures import figures_of
from shoal.sources.files import atomically
from shoal.studies.reproduce.catalogue import ITEMS, of_entry
from shoal.studies.reproduce.result import Result, ResultTable


def write_page(folder: Path, name: str, result: Result, command: str, cpu_seconds: float) -> Path:
    """Write NAME.md: the published items, the convention, the tables, and how the page was made."""
    parts = [f"# {result.title}", result.convention]
    parts.append(
        markdown_table(["publication", "item", "content"], [[i.document, i.name, i.about] for i in of_entry(name)])
    )
    parts += [_section(table) for table in result.tables]
    charts = f" `shoal reproduce {name} -o FOLDER` also draws the charts." if result.figures else ""
    parts.append(f"*Made by `{command}`, Shoal {__version__}, in {cpu_seconds:.0f} CPU seconds.{charts}*")
    return _write(folder / f"{name}.md", parts)


def write_index(folder: Path, command: str) -> Path:
    """Write index.md: every published table and figure, with a link to its page or the reason why there is none."""
    computed = sum(bool(item.entry) for item in ITEMS)
    parts = [
        "# Published results",
        "Shoal's methods come from five publications ([references](../references.md)). They contain "
        f"{len(ITEMS)} tables and figures, including two worked examples. These pages show {computed} of them, each "
        "published value next to Shoal's. The others contain nothing to compute. Each page says which interpretation "
        "reproduces the values; [how published results were interpreted](../explain/conventions.md) has a summary.",
        f"`shoal reproduce` lists the entries, and `shoal reproduce NAME` reproduces one. `{command}` made these "
        "pages.",
    ]
    for document, items in itertools.groupby(ITEMS, lambda item: item.document):
        rows = [[i.name, i.about, f"[{i.entry}]({i.entry}.md)" if i.entry else f"not computed: {i.why}"] for i in items]
        parts += [f"## {document}", markdown_table(["item", "content", "page"], rows)]
    return _write(folder / "index.md", parts)


def _section(table: ResultTable) -> str:
    note = f"\n\n{table['note']}" if table["note"] else ""
    return f"## {table['title']}\n\n{markdown_table(table['columns'], table['rows'])}{note}"


def markdown_table(columns: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table, with numbers aligned to the right."""
    right = [all(isinstance(row[j], int | float) for row in rows) for j in range(len(columns))]
    cells = [[_in_words(cell) for cell in row] for row in figures_of([columns, *rows])]
    lines = [cells[0], ["---:" if r else "---" for r in right], *cells[1:]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _in_words(cell: str) -> str:
    """Return a cell in the words of the documentation; the JSON keys keep their names.

    >>> _in_words("SSE printed"), _in_words("ours, by SSE alone")
    ('SSE published', 'Shoal, by SSE alone')
    """
    for word, better in ((r"\bprinted\b", "published"), (r"\bours?\b", "Shoal")):
        cell = re.sub(word, better, cell)
    return cell


def _write(path: Path, parts: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomically(path) as temporary:
        temporary.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path
