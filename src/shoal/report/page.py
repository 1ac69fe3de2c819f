"""A page: sections of text, tables, charts and code in one HTML file that works offline and can be printed.

Reports on releases and studies use the same template and style. Charts are drawings inside the file; no page has a
script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.report.figures import figure
from shoal.sources.files import atomically, check_place

if TYPE_CHECKING:
    from shoal.report.charts import Chart


@dataclass(frozen=True)
class Text:
    """A paragraph; a note has a smaller font, a warning has a colour."""

    text: str
    note: bool = False
    warning: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Points:
    """A list; each point has a short text and an explanation."""

    points: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "points"


@dataclass(frozen=True)
class Code:
    """A command or program text to copy."""

    title: str
    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class MeasureCell:
    """A cell with the name of a measure and, below it, a sentence that explains it."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Grid:
    """A table whose first `text` columns are words and whose others are numbers; `marked` words have a colour."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    text: int = 1
    title: str = ""
    note: str = ""
    marked: tuple[str, ...] = ()
    kind: ClassVar[str] = "grid"


@dataclass(frozen=True)
class Charts:
    """Charts with their titles, side by side if there is space; `wide` charts have the whole width."""

    figures: Sequence[tuple[str, Chart]]
    wide: bool = False
    note: str = ""
    title: str = ""
    kind: ClassVar[str] = "charts"


Block = Text | Points | Code | Grid | Charts


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Card:
    """A value at the beginning of the page; `meaning` is a sentence below it."""

    name: str
    value: Any
    meaning: str = ""


@dataclass(frozen=True)
class Page:
    """A page with a title, a few values on cards, and sections; a section without blocks is left out.

    Attributes:
        lead: A sentence below the title.
        verdict: The most severe status of the release check, and its verdict.
        opening: The cards of the release check.
        internal: Whether the first line says that the report must not be handed out.
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""
    cards: Sequence[Card] = ()
    verdict: tuple[str, str] | None = None
    opening: Sequence[Card] = ()
    internal: bool = False

    def write(self, path: Path, *inputs: Path) -> Path:
        """Write the page, all or nothing; an input is never overwritten."""
        check_place(path, *inputs)
        html = self.html()
        with atomically(path) as temporary:
            temporary.write_text(html, encoding="utf-8")
        return path

    def html(self) -> str:
        """The page as one HTML file."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        from shoal import __version__

        environment = Environment(
            loader=PackageLoader("shoal.report"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters["figure"] = figure
        numbers = count(1)
        sections = [
            {"title": section.title, "blocks": [_drawn(block, numbers) for block in section.blocks]}
            for section in self.sections
            if section.blocks
        ]
        return environment.get_template("base.html").render(
            page=self,
            sections=sections,
            version=__version__,
        )


def _drawn(block: Block, numbers: Iterator[int]) -> Any:
    """The block as HTML; each chart gets an identity that is unique in the page."""
    if not isinstance(block, Charts):
        return block
    drawn = [{"title": title, "html": chart.html(f"chart-{next(numbers)}", title)} for title, chart in block.figures]
    return {"kind": "charts", "charts": drawn, "wide": block.wide, "note": block.note, "title": block.title}
