"""A page: sections of text, tables, charts and code, made into one HTML file that works offline and prints.

Every page that Shoal writes, of a release or of a study, is such a page: the same template, the same style. The charts
are drawings inside the file: no page has a script.
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
    """Charts by their titles, side by side where there is room; wide: each over the whole width."""

    figures: Sequence[tuple[str, Chart]]
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
class Card:
    """A figure that the page opens with; meaning: one sentence below it."""

    name: str
    value: Any
    meaning: str = ""


@dataclass(frozen=True)
class Page:
    """A title, a sentence under it, a few figures on cards, and the sections; a section without blocks is left out.

    verdict: the answer of the release check, with its gravest status; opening: the figures that belong to it.
    internal: its first line says that it must not be handed out.
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""
    cards: Sequence[Card] = ()
    verdict: tuple[str, str] | None = None
    opening: Sequence[Card] = ()
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
    """The block itself; each chart is drawn under a number of its own in the page."""
    if not isinstance(block, Charts):
        return block
    drawn = [{"title": title, "html": chart.html(f"chart-{next(numbers)}", title)} for title, chart in block.figures]
    return {"kind": "charts", "charts": drawn, "wide": block.wide, "note": block.note, "title": block.title}
