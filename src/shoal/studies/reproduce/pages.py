"""The docs' section "Published results": a Markdown page for each entry, and an index of everything that is printed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from shoal import __version__
from shoal.report.figures import figure
from shoal.sources.files import atomically
from shoal.studies.reproduce.catalogue import ITEMS, of_entry
from shoal.studies.reproduce.result import Result, Table


def write_page(folder: Path, name: str, result: Result, command: str, cpu_seconds: float) -> Path:
    """NAME.md in the folder: what is printed, the convention, the tables, and how the page was made."""
    parts = [f"# {result.title}", result.convention]
    parts.append(_grid(["printed in", "which", "what"], [[i.document, i.name, i.about] for i in of_entry(name)]))
    parts += [_section(table) for table in result.tables]
    charts = f" `shoal reproduce {name} -o FOLDER` draws the charts too." if result.figures else ""
    parts.append(f"*Made by `{command}`, Shoal {__version__}, in {cpu_seconds:.0f} CPU seconds.{charts}*")
    return _write(folder / f"{name}.md", parts)


def write_index(folder: Path, command: str) -> Path:
    """index.md in the folder: every printed table and figure, a link to its page or why there is none."""
    computed = sum(bool(item.entry) for item in ITEMS)
    parts = [
        "# Published results",
        f"The five documents that Shoal's methods come from print {len(ITEMS)} tables and figures (counting two worked "
        f"examples). {computed} of them are computed here, the printed figure beside ours; the others hold nothing "
        "to compute. Which reading of a document gives its figures stands on each page, and in short on "
        "[Conventions](../conventions.md).",
        f"`shoal reproduce` lists them, `shoal reproduce NAME` makes one again, `{command}` made these pages.",
    ]
    for document, items in itertools.groupby(ITEMS, lambda item: item.document):
        rows = [[i.name, i.about, f"[{i.entry}]({i.entry}.md)" if i.entry else f"not computed: {i.why}"] for i in items]
        parts += [f"## {document}", _grid(["which", "what", "here"], rows)]
    return _write(folder / "index.md", parts)


def _section(table: Table) -> str:
    note = f"\n\n{table['note']}" if table["note"] else ""
    return f"## {table['title']}\n\n{_grid(table['columns'], table['rows'])}{note}"


def _grid(columns: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table, figures to the right."""
    right = [all(isinstance(row[j], int | float) for row in rows) for j in range(len(columns))]
    lines = [columns, ["---:" if r else "---" for r in right], *([figure(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _write(path: Path, parts: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomically(path) as temporary:
        temporary.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path
