"""The frame of a drawing with two axes: grid, ticks and titles, and lines and areas inside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from shoal.report.charts.chart import Panel, room
from shoal.report.charts.scales import Scale, Tick, anchor
from shoal.report.svg import joined, number, percent, tag, words

HEIGHT = 180


@dataclass(frozen=True)
class Frame:
    """Two axes and their titles."""

    x: Scale
    y: Scale
    x_title: str = ""
    y_title: str = ""
    height: int = HEIGHT

    def panel(self, *layers: Markup, name: str = "") -> Panel:
        """The layers over the grid, within the axes."""
        left = room([tick.text for tick in self.y.ticks])
        return Panel(joined((self._axes(left), *layers)), self.height, left, name)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """The position of a point from the left and from above, as shares."""
        return self.x.share(x), 1.0 - self.y.share(y)

    def path(self, points: Sequence[Sequence[tuple[float, float]]], class_: str, closed: bool = False) -> Markup:
        """Lines through points, whose coordinates are shares; the strokes keep their width."""
        runs = ["L".join(f"{number(100 * x)} {number(100 * y)}" for x, y in run) for run in points if run]
        if not runs:
            return Markup("")
        drawn = tag("path", class_=class_, d="".join(f"M{run}{'Z' if closed else ''}" for run in runs))
        whole = {"viewBox": "0 0 100 100", "preserveAspectRatio": "none", "width": "100%", "height": "100%"}
        return tag("svg", drawn, **whole)

    def _axes(self, left: float) -> Markup:
        grid = [
            tag("line", class_="g", x1=0, x2="100%", y1=percent(1 - t.share), y2=percent(1 - t.share))
            for t in self.y.ticks
        ]
        side_marks = [
            tag("text", words(t.text), x=-8, y=percent(1 - t.share), dy=".34em", text_anchor="end")
            for t in self.y.ticks
        ]
        titles = [
            tag("text", words(self.y_title), x=-left, y=-12) if self.y_title else Markup(""),
            tag("text", words(self.x_title), x="100%", y="100%", dy=36, text_anchor="end")
            if self.x_title
            else Markup(""),
        ]
        base = tag("line", class_="ax", x1=0, x2="100%", y1="100%", y2="100%")
        return joined((*grid, *side_marks, *map(_tick, self.x.ticks), base, *titles))


def _tick(tick: Tick) -> Markup:
    shown = {"class_": "roomy"} if tick.roomy else {}
    return tag("text", words(tick.text), x=percent(tick.share), y="100%", dy=17, text_anchor=anchor(tick), **shown)
