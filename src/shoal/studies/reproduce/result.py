"""The result of a study: tables and charts, for the terminal, as JSON and as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from shoal.report.charts import Chart


class ResultTable(TypedDict):
    """Rows of text and numbers. The note explains differences from the publication."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str


@dataclass(frozen=True)
class Result:
    """The result of a study. `figures` are charts by their titles; `facts` appear only in the JSON.

    `convention` says which reading of a document gives its printed figures.
    """

    title: str
    tables: Sequence[ResultTable]
    figures: Mapping[str, Chart] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    convention: str = ""

    def as_json(self) -> dict[str, Any]:
        """Everything except the charts; rows of tables become objects."""
        tables = [
            {**table, "rows": [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]}
            for table in self.tables
        ]
        return {"title": self.title, "convention": self.convention, "tables": tables, **self.facts}

    def write(self, folder: Path, name: str) -> None:
        """Write name.html and name.json to the folder."""
        from shoal.sources.files import atomically

        folder.mkdir(parents=True, exist_ok=True)
        self.write_page(folder / f"{name}.html")
        with atomically(folder / f"{name}.json") as temporary:
            temporary.write_text(
                json.dumps(self.as_json(), indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8"
            )

    def write_page(self, path: Path) -> Path:
        """Write one HTML file with the tables and charts; it works offline."""
        from shoal.report.page import Charts, Grid, Page, Section

        sections = [
            Section(t["title"], [Grid(t["columns"], t["rows"], text=_words(t["rows"]), note=t["note"])])
            for t in self.tables
        ]
        if self.figures:
            sections.append(Section("Charts", [Charts(list(self.figures.items()), wide=len(self.figures) == 1)]))
        return Page(self.title, sections, lead=self.convention).write(path)


def _words(rows: Sequence[Sequence[Any]]) -> int:
    """The number of leading columns that hold text, at least one."""
    columns = list(zip(*rows, strict=True))
    numbers = (j for j, cells in enumerate(columns) if not all(isinstance(cell, str) for cell in cells))
    return max(1, next(numbers, len(columns)))
