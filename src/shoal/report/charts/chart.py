"""A chart of a page: the drawing, a legend, and the same numbers as a table.

Coordinates are in percent of the width, and texts have a fixed size, so that one drawing suits a phone, a screen and
paper. Colours are names of classes, so that the style sheet can set them for light mode, dark mode and print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from shoal.report.charts.scales import text_width
from shoal.report.figures import figure
from shoal.report.svg import joined, tag, words

MOST_ROWS = 60  # most rows of the table of a chart
COLOURS = 6  # number of colours in the style sheet


@dataclass(frozen=True)
class Panel:
    """One drawing, with its height and the space at its left in pixels; one of several drawings has a name."""

    inside: Markup
    height: int
    left: float
    name: str = ""
    right: int = 2  # steps of 8 pixels
    above: bool = True  # whether there is a title above
    below: bool = True  # whether there are ticks or a title below


@dataclass(frozen=True)
class Chart:
    """One or several drawings of the same numbers; `text` describes them for readers who cannot see them."""

    panels: Sequence[Panel]
    text: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Any]]
    key: Sequence[tuple[Markup, str]] = ()  # sample and name of each series

    def html(self, identity: str, title: str) -> Markup:
        """The chart as HTML, with an identity that is unique in the page."""
        key = joined(tag("span", swatch, words(name)) for swatch, name in self.key)
        legend = tag("div", key, class_="key") if key else Markup("")
        drawn = [
            _drawing(
                panel, f"{identity}-{i}" if i else identity, ": ".join(filter(None, (title, panel.name))), self.text
            )
            for i, panel in enumerate(self.panels)
        ]
        body = tag("div", *drawn, class_="panels") if len(drawn) > 1 else joined(drawn)
        return joined((legend, body, self._table()))

    def _table(self) -> Markup:
        """The numbers as a table; a long table has evenly chosen rows."""
        count = len(self.rows)
        chosen = (
            range(count) if count <= MOST_ROWS else [round(i * (count - 1) / (MOST_ROWS - 1)) for i in range(MOST_ROWS)]
        )
        head = tag("tr", *(tag("th", words(head), scope="col") for head in self.heads))
        rows = [_row(self.rows[i]) for i in chosen]
        note = tag("p", words(f"{MOST_ROWS} of {count:,} rows."), class_="note") if len(chosen) < count else Markup("")
        table = tag("table", tag("thead", head), tag("tbody", *rows))
        summary = tag("summary", words("As a table"))
        return tag("details", summary, tag("div", table, class_="scroll", tabindex="0"), note)


def swatch(*marks: Markup) -> Markup:
    """The sample of a series in the legend."""
    return tag("svg", *marks, class_="swatch", viewBox="0 0 22 12", aria_hidden="true")


def colour(number: int) -> str:
    """The class of a series; the combination of colour and dashes is different for many series."""
    return f"c{number % COLOURS} d{number % 4}"


def room(texts: Sequence[str]) -> float:
    """The width in pixels of the longest text at the left of a drawing."""
    return max(map(text_width, texts), default=0.0) + 12.0


def _row(cells: Sequence[Any]) -> Markup:
    first, *others = (words(figure(cell)) for cell in cells)
    return tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in others))


def _drawing(panel: Panel, identity: str, title: str, text: str) -> Markup:
    names = {"title": f"{identity}-title", "desc": f"{identity}-text"}
    svg = tag(
        "svg",
        tag("title", words(title or "Chart"), id=names["title"]),
        tag("desc", words(text), id=names["desc"]),
        panel.inside,
        role="img",
        aria_labelledby=names["title"],
        aria_describedby=names["desc"],
        height=panel.height,
        id=identity,
    )
    steps = min(30, max(3, -(-int(panel.left + 0.999) // 8)))
    around = f"{' above' if panel.above else ''}{' below' if panel.below else ''}"
    plot = tag("div", svg, class_=f"plot left-{steps} right-{panel.right}{around}")
    return tag("div", tag("p", words(panel.name)), plot) if panel.name else plot
