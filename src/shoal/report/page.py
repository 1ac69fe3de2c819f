"""A page: sections of text, tables, charts and code, made into one HTML file that works offline and prints.

Every page that Shoal writes, of a release or of a study, is such a page: the same template, the same style. The charts
are plotly's, its code inside the file once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from shoal import __version__
from shoal.report.charts import styled
from shoal.report.figures import figure
from shoal.sources.files import atomically, check_place


@dataclass(frozen=True)
class Text:
    """A paragraph; a note is set smaller, a warning stands out."""

    text: str
    note: bool = False
    warning: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Points:
    """A list, each point a few words and what they mean."""

    points: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "points"


@dataclass(frozen=True)
class Code:
    """Something to copy."""

    title: str
    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Told:
    """A cell with a figure's name and, below it, a plain sentence of what it means."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Grid:
    """A table whose first `text` columns are words and whose others are figures; marked: words in a colour."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    text: int = 1
    title: str = ""
    note: str = ""
    marked: tuple[str, ...] = ()
    kind: ClassVar[str] = "grid"


@dataclass(frozen=True)
class Charts:
    """plotly figures by their titles, side by side where there is room; wide: each over the whole width."""

    figures: Sequence[tuple[str, Any]]
    wide: bool = False
    note: str = ""
    title: str = ""
    kind: ClassVar[str] = "charts"


Block = Text | Points | Code | Grid | Charts


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A title, a sentence under it, a few figures on cards, and the sections; a section without blocks is left out.

    internal: its first line says that it must not be handed out.
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""
    cards: Sequence[tuple[str, Any]] = ()
    internal: bool = False

    def write(self, path: Path, *inputs: Path) -> Path:
        """Write the page, all or nothing, and never over one of the inputs."""
        check_place(path, *inputs)
        html = self.html()
        with atomically(path) as temporary:
            temporary.write_text(html, encoding="utf-8")
        return path

    def html(self) -> str:
        """The page as one HTML file."""
        environment = Environment(
            loader=PackageLoader("shoal.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["figure"] = figure
        drawn: list[dict[str, Any]] = []
        sections = [
            {"title": section.title, "blocks": [_numbered(block, drawn) for block in section.blocks]}
            for section in self.sections
            if section.blocks
        ]
        return environment.get_template("base.html").render(
            page={"title": self.title, "internal": self.internal, "lead": self.lead, "cards": self.cards},
            sections=sections,
            charts=to_json_plotly(drawn) if drawn else "",  # safe inside a script: <, > and / are escaped
            plotly=get_plotlyjs() if drawn else "",
            version=__version__,
        )


def _numbered(block: Block, drawn: list[dict[str, Any]]) -> Any:
    """The block itself; charts get a place of their own in the page and join those to be drawn."""
    if not isinstance(block, Charts):
        return block
    places = []
    for title, made in block.figures:
        identity = f"chart-{len(drawn) + 1}"
        drawn.append({"id": identity, **styled(made).to_plotly_json()})
        places.append({"title": title, "identity": identity})
    return {"kind": "charts", "charts": places, "wide": block.wide, "note": block.note, "title": block.title}
