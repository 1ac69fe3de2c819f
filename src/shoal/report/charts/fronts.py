"""Charts of Pareto fronts, of changes from before to after, and of signals by region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from shoal.report.charts.chart import Chart, Panel, room, swatch
from shoal.report.charts.scales import Tick, linear, present, shortened
from shoal.report.charts.series import Series, series_chart
from shoal.report.figures import figure
from shoal.report.svg import joined, percent, tag, words


def choices(
    points: Sequence[tuple[float, float, str]], taken: tuple[float, float], x: str, y: str, *, log: bool = False
) -> Chart:
    """The points of a Pareto front with their names; the chosen point is marked."""
    front = Series(
        "the front", [p[0] for p in points], [p[1] for p in points], line=False, titles=[p[2] for p in points], look=0
    )
    chosen = Series("taken", [taken[0]], [taken[1]], line=False, titles=["taken"], look=1, size=6, shape="diamond")
    return series_chart([front, chosen], x, y, log_x=log)


def signal_chart(regions: Sequence[Any], signals: Mapping[str, tuple[Sequence[float], Sequence[Any]]]) -> Chart:
    """Signals by region as lines, with the outliers of each marked."""
    names = [str(d) for d in regions]
    drawn: list[Series] = []
    for i, (label, (values, outlying)) in enumerate(signals.items()):
        drawn.append(Series(label, range(len(names)), list(values), look=i))
        marked = [names.index(str(d)) for d in outlying]
        if marked:
            texts = [shortened(names[j], 14) for j in marked]
            outliers = [values[j] for j in marked]
            about = [f"outlier {label}"] * len(marked)
            drawn.append(
                Series(
                    f"outliers {label}",
                    marked,
                    outliers,
                    False,
                    titles=about,
                    texts=texts,
                    look=i,
                    size=6,
                    shape="ring",
                )
            )
    return series_chart(drawn, "region", "signal", names=names, zero=True)


def changes(names: Sequence[str], before: Sequence[float], after: Sequence[float], what: str) -> Chart:
    """The value of each name before (a vertical line) and after (a dot), with the change as a number."""
    every = [*before, *after]
    drawn = present(every)
    low, high = min([0.0, *drawn]), max([0.0, *drawn])
    scale = linear(-1.0, 1.0, most=4) if low >= -1 and high <= 1 else linear(low, high or 1.0, most=4)
    step = 26
    parts: list[Markup] = [_upright(tick) for tick in scale.ticks]
    for i, name in enumerate(names):
        middle = i * step + step / 2
        old, new = scale.share(before[i]), scale.share(after[i])
        tooltip = tag("title", words(f"{name}: {figure(before[i])} before, {figure(after[i])} after"))
        parts += [
            tag("text", words(shortened(name, 24)), x=-8, y=middle, dy=".34em", text_anchor="end"),
            tag("line", class_="g", x1=0, x2="100%", y1=middle, y2=middle),
            tag("line", class_="link c1", x1=percent(old), x2=percent(new), y1=middle, y2=middle),
            tag("line", class_="upright", x1=percent(old), x2=percent(old), y1=middle - 7, y2=middle + 7),
            tag("circle", tooltip, class_="dot c1", cx=percent(new), cy=middle, r=4.5),
            tag("text", words(f"{after[i] - before[i]:+.3g}"), x="100%", dx=10, y=middle, dy=".34em"),
        ]
    key = [
        (swatch(tag("line", class_="upright", x1=11, x2=11, y1=0, y2=12)), "before"),
        (swatch(tag("circle", class_="dot c1", cx=11, cy=6, r=4)), "after; the number is the change"),
    ]
    rows = [[name, before[i], after[i], after[i] - before[i]] for i, name in enumerate(names)]
    panel = Panel(
        joined(parts), max(1, len(names)) * step, room([shortened(n, 24) for n in names]), right=8, above=False
    )
    return Chart([panel], f"{what} of {len(names)}, before and after.", ["", "before", "after", "change"], rows, key)


def _upright(tick: Tick) -> Markup:
    line = tag("line", class_="g", x1=percent(tick.share), x2=percent(tick.share), y1=0, y2="100%")
    shown = {"class_": "roomy"} if tick.roomy else {}
    return line + tag("text", words(tick.text), x=percent(tick.share), y="100%", dy=17, text_anchor="middle", **shown)
