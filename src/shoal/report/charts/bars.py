"""Bar charts with names and numbers: the records of each label, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from shoal.report.charts.chart import Chart, Panel, room, swatch
from shoal.report.charts.scales import shortened
from shoal.report.figures import figure
from shoal.report.svg import joined, percent, tag, words

MOST_NAMES = 30


def labels(names: Sequence[str], counts: Sequence[int]) -> Chart:
    """The number of records of each label of a column; labels after the first thirty are shown as one bar."""
    shown = sorted(range(len(names)), key=lambda i: -counts[i])[:MOST_NAMES]
    bars = [(names[i], counts[i]) for i in sorted(shown)]
    if len(names) > len(shown):
        bars.append((f"{len(names) - len(shown)} other labels", sum(counts) - sum(count for _, count in bars)))
    return named_bars([name for name, _ in bars], {"records": [count for _, count in bars]}, "label")


def label_counts(names: Sequence[str], before: Sequence[int], after: Sequence[int]) -> Chart:
    """The number of records of each value of a column, with one bar for before and one for after."""
    return named_bars(names, {"before": before, "after": after}, "value")


def named_bars(names: Sequence[str], series: Mapping[str, Sequence[float]], what: str) -> Chart:
    """Bars for each name, one per series, with a number at the end of each."""
    most = max((value for values in series.values() for value in values), default=0) or 1
    looks = ["bar c1"] if len(series) == 1 else ["area", "bar c1", "bar c2", "bar c3"][: len(series)]
    thick = 16 if len(series) == 1 else 13
    step = thick * len(series) + 8
    drawn: list[Markup] = [tag("line", class_="ax", x1=0, x2=0, y1=0, y2="100%")]
    for place, name in enumerate(names):
        top = place * step + 4
        middle = top + thick * len(series) / 2
        drawn.append(tag("text", words(shortened(name, 20)), x=-8, y=middle, dy=".34em", text_anchor="end"))
        for row, (when, values) in enumerate(series.items()):
            tooltip = f"{name}: {figure(values[place])} {when}"
            drawn.append(_bar(values[place], most, top + row * thick, thick - 1, looks[row % len(looks)], tooltip))
    left = room([shortened(name, 20) for name in names])
    rows: list[list[Any]] = [[name, *(values[i] for values in series.values())] for i, name in enumerate(names)]
    key = [
        (swatch(tag("rect", class_=looks[row], x=1, y=1, width=20, height=10)), when) for row, when in enumerate(series)
    ]
    panel = Panel(joined(drawn), max(1, len(names)) * step, left, right=8, above=False, below=False)
    text = f"Bars with numbers for {len(names)} names: {', '.join(series)}."
    return Chart([panel], text, [what, *series], rows, key if len(series) > 1 else ())


def _bar(value: float, most: float, top: float, height: float, look: str, tooltip: str) -> Markup:
    share = value / most
    bar = tag(
        "rect",
        tag("title", words(tooltip)),
        class_=look,
        x=0,
        y=top,
        width=percent(share) if share else "0",
        height=height,
    )
    end = tag("text", words(figure(value)), x=percent(share), dx=6, y=top + height / 2, dy=".34em")
    return bar + end
