"""Lines and points over two axes: searches, signals, fronts, risk-utility maps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from shoal.report.charts.chart import Chart, Panel, colour, swatch
from shoal.report.charts.frame import Frame
from shoal.report.charts.scales import NARROW, ROOMY, Scale, linear, logarithmic, named, present, spread, text_width
from shoal.report.figures import figure
from shoal.report.svg import percent, tag, words

MOST_HOVERS, FEW_HOVERS = 60, 10  # most points of a line that show their value, in a large and in a small drawing
Value = float | None


@dataclass(frozen=True)
class Series:
    """Points with a name, with or without a line.

    Attributes:
        titles: The name of each point.
        texts: The text above each point.
        look: The number of the colour and dashes; by default the position in the list.
    """

    name: str
    x: Sequence[float]
    y: Sequence[Value]
    line: bool = True
    dots: bool = False
    steps: bool = False  # whether the line consists of horizontal and vertical steps
    titles: Sequence[str] = ()
    texts: Sequence[str] = ()
    look: int | None = None
    size: float = 3.5
    shape: str = "circle"  # circle, diamond or ring
    faint: bool = False


def series_chart(
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    *,
    names: Sequence[str] | None = None,
    x_scale: Scale | None = None,
    log_x: bool = False,
    zero: bool = False,
    height: int = 220,
) -> Chart:
    """Lines and points over two axes; `names` are the names of x = 0, 1, …, and with `zero` the y axis includes 0."""
    frame = _frame(series, x_title, y_title, names, x_scale, log_x, zero, height)
    panel = frame.panel(*_layers(frame, series, names))
    heads, rows = _table(series, x_title, y_title, names)
    return Chart([panel], _summary(series, y_title), heads, rows, _key(series) if len(series) > 1 else ())


def panels(parts: Mapping[str, Sequence[Series]], x_title: str, y_title: str) -> Chart:
    """Several small drawings, one per part."""
    drawn: list[Panel] = []
    rows: list[list[Any]] = []
    for name, series in parts.items():
        frame = _frame(series, x_title, y_title, None, None, False, False, 110)
        drawn.append(frame.panel(*_layers(frame, series, None, FEW_HOVERS), name=name))
        rows_of_part = [[name, s.name, x, y] for s in series for x, y in zip(s.x, s.y, strict=True)]
        rows += rows_of_part
    first = next(iter(parts.values()), ())
    text = f"{len(drawn)} drawings: {', '.join(parts)}."
    return Chart(drawn, text, ["drawing", "series", x_title, y_title], rows, _key(first))


def _frame(
    series: Sequence[Series],
    x_title: str,
    y_title: str,
    names: Sequence[str] | None,
    x_scale: Scale | None,
    log_x: bool,
    zero: bool,
    height: int,
) -> Frame:
    every = present(x for s in series for x in s.x)
    texts = any(text for s in series for text in s.texts)
    low, high = spread(
        [*(y for s in series for y in s.y), *([0.0] if zero else [])], 0.0 if zero else 0.06, 0.16 if texts else 0.06
    )
    if names is not None:
        x_scale = named(names)
    elif x_scale is None:
        positive = [x for x in every if x > 0]
        lines_only = all(s.line for s in series)
        margin = 0.0 if lines_only else 0.05
        x_scale = (
            logarithmic(min(positive), max(positive)) if log_x and positive else linear(*spread(every, margin, margin))
        )
    return Frame(x_scale, linear(low, high, most=5), x_title, y_title, height)


def _layers(
    frame: Frame, series: Sequence[Series], names: Sequence[str] | None, hovers: int = MOST_HOVERS
) -> list[Markup]:
    layers: list[Markup] = []
    written: list[tuple[Series, int, float, float]] = []
    for number, s in enumerate(series):
        look = colour(number if s.look is None else s.look)
        places = [
            (i, *frame.point(x, y))
            for i, (x, y) in enumerate(zip(s.x, s.y, strict=True))
            if y is not None and math.isfinite(y) and math.isfinite(x) and not (frame.x.log and x <= 0)
        ]
        if s.line:
            layers.append(frame.path(_runs(places, s.steps), f"line {look}{' faint' if s.faint else ''}"))
        dots = places if s.dots or not s.line else []
        layers += [_mark(s, look, x, y, _title(s, i, names)) for i, x, y in dots]
        if not dots:
            every = max(1, math.ceil(len(places) / hovers))
            layers += [
                tag(
                    "circle",
                    tag("title", words(_title(s, i, names))),
                    class_="hover",
                    cx=percent(x),
                    cy=percent(y),
                    r=7,
                )
                for i, x, y in places[::every]
            ]
        written += [(s, i, x, y) for i, x, y in places if i < len(s.texts) and s.texts[i]]
    return layers + _texts(frame, written)


def _runs(places: Sequence[tuple[int, float, float]], steps: bool) -> list[list[tuple[float, float]]]:
    """The unbroken parts of a line; a missing value interrupts it."""
    runs: list[list[tuple[float, float]]] = []
    last = None
    for i, x, y in places:
        if last is None or i != last + 1:
            runs.append([])
        elif steps:
            runs[-1].append((x, runs[-1][-1][1]))
        runs[-1].append((x, y))
        last = i
    return runs


def _mark(s: Series, look: str, x: float, y: float, title: str) -> Markup:
    kind = f"{'ring' if s.shape == 'ring' else 'dot'} {look}"
    tooltip = tag("title", words(title))
    if s.shape == "diamond":
        r = s.size * 1.25
        shape = tag("path", tooltip, class_=kind, d=f"M0 {-r:g}L{r:g} 0L0 {r:g}L{-r:g} 0Z")
        return tag("svg", shape, x=percent(x), y=percent(y), class_="mark")
    return tag("circle", tooltip, class_=kind, cx=percent(x), cy=percent(y), r=s.size)


def _texts(frame: Frame, written: Sequence[tuple[Series, int, float, float]]) -> list[Markup]:
    """The texts above points; a text that would cover another is shown only on a wide drawing or in the table."""
    boxes: dict[float, list[tuple[float, float, float, float]]] = {NARROW: [], ROOMY: []}
    drawn: list[Markup] = []
    for s, i, x, y in written:
        half, centre = text_width(s.texts[i]) / 2, frame.height * y
        fits = {}
        for width, taken in boxes.items():
            box = (x * width - half, x * width + half, centre - 20, centre - 6)
            fits[width] = not any(box[0] < b[1] and b[0] < box[1] and box[2] < b[3] and b[2] < box[3] for b in taken)
        for width in [NARROW, ROOMY] if all(fits.values()) else [ROOMY] if fits[ROOMY] else []:
            boxes[width].append((x * width - half, x * width + half, centre - 20, centre - 6))
        if fits[ROOMY]:
            kind = "k" if all(fits.values()) else "k roomy"
            drawn.append(
                tag("text", words(s.texts[i]), class_=kind, x=percent(x), y=percent(y), dy=-9, text_anchor="middle")
            )
    return drawn


def _title(s: Series, i: int, names: Sequence[str] | None) -> str:
    place = names[int(s.x[i])] if names is not None else figure(float(s.x[i]))
    about = s.titles[i] if i < len(s.titles) else s.name
    return f"{about}: {place}, {figure(s.y[i])}" if about else f"{place}: {figure(s.y[i])}"


def _key(series: Sequence[Series]) -> list[tuple[Markup, str]]:
    made = []
    for number, s in enumerate(series):
        look = colour(number if s.look is None else s.look)
        marks = [tag("path", class_=f"line {look}{' faint' if s.faint else ''}", d="M0 6L22 6")] if s.line else []
        if s.dots or not s.line:
            kind = "ring" if s.shape == "ring" else "dot"
            marks.append(
                tag("path", class_=f"{kind} {look}", d="M11 1L16 6L11 11L6 6Z")
                if s.shape == "diamond"
                else tag("circle", class_=f"{kind} {look}", cx=11, cy=6, r=4)
            )
        made.append((swatch(*marks), s.name))
    return made


def _table(
    series: Sequence[Series], x_title: str, y_title: str, names: Sequence[str] | None
) -> tuple[list[str], list[list[Any]]]:
    """The table of the points: one column per series if all have the same x values, otherwise one row per point."""

    def place(x: float) -> Any:
        return names[int(x)] if names is not None else x

    if series and all(list(s.x) == list(series[0].x) and not s.titles for s in series):
        only = [y_title] if len(series) == 1 else [s.name for s in series]
        return [x_title or "place", *only], [[place(x), *(s.y[i] for s in series)] for i, x in enumerate(series[0].x)]
    rows = [[s.titles[i] if i < len(s.titles) else s.name, place(x), s.y[i]] for s in series for i, x in enumerate(s.x)]
    return ["what", x_title or "place", y_title], rows


def _summary(series: Sequence[Series], y_title: str) -> str:
    """The description of the chart: the first and last value of each series."""
    parts = []
    for s in series[:8]:
        values = present(s.y)
        span = f"{figure(values[0])} to {figure(values[-1])}" if len(values) > 1 else ", ".join(map(figure, values))
        kind = "from first to last, " if s.line and len(values) > 1 else ""
        parts.append(f"{s.name or y_title}: {len(values):,} points, {kind}{span or 'none'}")
    return f"{y_title}. {'; '.join(parts)}." if parts else f"{y_title}: nothing to draw."
