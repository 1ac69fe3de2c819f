"""What a study gives: tables of plain figures and charts, for the terminal, as JSON and as one HTML page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict


class Table(TypedDict):
    """Rows of text and figures; the note tells the convention and what differs from print."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str


@dataclass(frozen=True)
class Result:
    """The outcome of a study. `figures` are plotly charts by their titles; `facts` go into the JSON alone."""

    title: str
    tables: Sequence[Table]
    figures: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Everything but the charts; a table's rows become objects."""
        tables = [
            {**table, "rows": [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]}
            for table in self.tables
        ]
        return {"title": self.title, "tables": tables, **self.facts}

    def write(self, folder: Path, name: str) -> None:
        """name.html and name.json in the folder."""
        from shoal.data.files import atomically

        folder.mkdir(parents=True, exist_ok=True)
        self.write_page(folder / f"{name}.html")
        with atomically(folder / f"{name}.json") as temporary:
            temporary.write_text(
                json.dumps(self.as_json(), indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8"
            )

    def write_page(self, path: Path) -> Path:
        """One HTML file with the tables and the charts, that works offline."""
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from plotly.offline import get_plotlyjs

        from shoal import __version__
        from shoal.data.files import atomically
        from shoal.report.figures import figure
        from shoal.report.page import chart

        environment = Environment(
            loader=PackageLoader("shoal.study"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        environment.filters["figure"] = figure
        charts = {title: chart(made, f"chart-{i}") for i, (title, made) in enumerate(self.figures.items())}
        page = environment.get_template("result.html").render(
            result=self, charts=charts, plotly=get_plotlyjs() if charts else "", version=__version__
        )
        with atomically(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return path
