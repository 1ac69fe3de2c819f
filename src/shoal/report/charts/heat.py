"""Heat maps: correlations, and means over two settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from shoal.report.charts.chart import Chart, Panel, room
from shoal.report.charts.scales import present, shortened
from shoal.report.figures import figure
from shoal.report.svg import joined, percent, tag, words

MOST_WRITTEN = 8  # most columns of a heat map whose cells show numbers
STRONG = 0.55  # strength of a colour above which text on it must be light
Matrix = Sequence[Sequence[float | None]]


def correlations(names: Sequence[str], before: Matrix, after: Matrix) -> Chart:
    """Correlations from -1 to 1, before protection below the diagonal and after it above."""
    size = len(names)
    cells: list[Markup] = []
    rows: list[list[Any]] = []
    for i in range(size):
        for j in range(size):
            if i == j:
                continue
            value, when = (before[i][j], "before") if j < i else (after[i][j], "after")
            tooltip = f"{names[i]}, {names[j]} {when}: {_written(value, 3)}"
            cells.append(_cell(i, j, size, size, value, value, tooltip))
            if j < i:
                rows.append([f"{names[j]}, {names[i]}", before[i][j], after[i][j]])
    row_labels = [f"{i} {shortened(name, 16)}" for i, name in enumerate(names, start=1)]
    panel = _grid(cells, row_labels, [str(i) for i in range(1, size + 1)])
    text = (
        f"Correlations of {size} columns: before below the diagonal, after above it. Blue is positive, orange negative."
    )
    return Chart([panel], text, ["columns", "before", "after"], rows)


def heat(x: Sequence[Any], y: Sequence[Any], values: Matrix, x_title: str, y_title: str, what: str) -> Chart:
    """A value for each pair of settings; a darker cell has a larger value."""
    drawn = present(value for row in values for value in row)
    low, high = (min(drawn), max(drawn)) if drawn else (0.0, 1.0)
    cells, rows = [], []
    for i, down in enumerate(y):
        for j, across in enumerate(x):
            value = values[i][j]
            strength = None if value is None or not present([value]) else (value - low) / ((high - low) or 1.0)
            tooltip = f"{y_title} {figure(down)}, {x_title} {figure(across)}: {figure(value)}"
            cells.append(_cell(i, j, len(y), len(x), value, strength, tooltip))
            rows.append([down, across, value])
    panel = _grid(cells, [figure(v) for v in y], [figure(v) for v in x], x_title, y_title)
    text = (
        f"{what} over {x_title} and {y_title}, from {figure(low)} to {figure(high)}; darker cells have larger values."
    )
    return Chart([panel], text, [y_title, x_title, what], rows)


def _grid(
    cells: Sequence[Markup], row_labels: Sequence[str], below: Sequence[str], x_title: str = "", y_title: str = ""
) -> Panel:
    """The cells, with names at the left and below."""
    rows, columns = len(row_labels), len(below)
    step = max(1, -(-columns // 20))
    left = room(row_labels)
    names = [
        tag("text", words(name), x=-8, y=percent((i + 0.5) / rows), dy=".34em", text_anchor="end")
        for i, name in enumerate(row_labels)
    ]
    names += [
        tag("text", words(name), x=percent((j + 0.5) / columns), y="100%", dy=17, text_anchor="middle")
        for j, name in enumerate(below)
        if j % step == 0
    ]
    titles = [tag("text", words(y_title), x=-left, y=-12)] if y_title else []
    titles += [tag("text", words(x_title), x="100%", y="100%", dy=36, text_anchor="end")] if x_title else []
    height = min(440, max(26 if rows <= 12 else 14, 26 if columns <= MOST_WRITTEN else 14) * rows)
    return Panel(joined((*cells, *names, *titles)), max(40, height), left)


def _cell(i: int, j: int, rows: int, columns: int, value: float | None, strength: float | None, tooltip: str) -> Markup:
    """A cell, blue for a positive strength and orange for a negative one; the strength is from -1 to 1."""
    known = strength is not None
    share = min(1.0, abs(strength)) if strength is not None else 0.0
    look = "none" if not known else "c2" if strength is not None and strength < 0 else "c1"
    box = {
        "x": percent(j / columns),
        "y": percent(i / rows),
        "width": percent(1 / columns),
        "height": percent(1 / rows),
    }
    cell = tag("rect", tag("title", words(tooltip)), class_=f"cell {look}", fill_opacity=0.04 + 0.9 * share, **box)
    if columns > MOST_WRITTEN:
        return cell
    written = tag(
        "text",
        words(_written(value, 2)),
        class_="in strong" if share > STRONG else "in",
        x=percent((j + 0.5) / columns),
        y=percent((i + 0.5) / rows),
        dy=".34em",
        text_anchor="middle",
    )
    return cell + written


def _written(value: float | None, decimals: int) -> str:
    if value is None or not present([value]):
        return "–"
    return f"{value:.{decimals}f}" if abs(value) <= 1 else figure(value)
