"""Histograms of a column before and after, and of the sizes of groups."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from markupsafe import Markup

from shoal.report.charts.chart import Chart, swatch
from shoal.report.charts.frame import Frame
from shoal.report.charts.scales import Scale, linear, logarithmic, spelled
from shoal.report.svg import percent, tag, words

if TYPE_CHECKING:
    from shoal.report.bins import Bins

FAR = 20  # sizes that differ by this factor are drawn on a logarithmic axis


def distribution(bins: Bins) -> Chart:
    """The histogram of a column before and after, over the same bins; the table shows – for a bar that is not drawn."""
    edges = [middle - bins.width / 2 for middle in bins.middles]
    edges.append(bins.middles[-1] + bins.width / 2)
    frame = Frame(linear(edges[0], edges[-1]), _counts([*bins.before, *bins.after]), y_title="records")
    outlines = [_outline(frame, edges, counts) for counts in (bins.before, bins.after)]
    ranges = _ranges(edges, bins.width)
    shown = [[_shown(count, bins.hides) for count in side] for side in (bins.before, bins.after)]
    hover = [
        _hover(
            frame,
            edges[i],
            edges[i + 1],
            f"{name}: {_shown_count(shown[0][i])} before, {_shown_count(shown[1][i])} after",
        )
        for i, name in enumerate(ranges)
    ]
    panel = frame.panel(
        frame.path([outlines[0]], "area", closed=True), frame.path([outlines[1][1:-1]], "line c1"), *hover
    )
    highest = [max(range(len(ranges)), key=lambda i, side=side: side[i]) for side in (bins.before, bins.after)]  # type: ignore[misc]
    text = (
        f"Histogram of {len(ranges)} bars. Most records are in {ranges[highest[0]]} before "
        f"and in {ranges[highest[1]]} after."
    )
    key = [
        (swatch(tag("rect", class_="area", x=1, y=1, width=20, height=10)), "before"),
        (swatch(tag("path", class_="line c1", d="M0 6L22 6")), "after"),
    ]
    rows = list(zip(ranges, *shown, strict=True))
    return Chart([panel], text, ["range", "before", "after"], rows, key)


def sizes(counts: Mapping[int, int], what: str, of: str) -> Chart:
    """The number of groups or classes of each size; sizes that differ a lot are drawn on a logarithmic axis."""
    pairs = sorted(counts.items())
    least, most = (pairs[0][0], pairs[-1][0]) if pairs else (0, 1)
    numbers = [count for _, count in pairs]
    if least > 0 and most > FAR * least:
        many = max(numbers) > 50 * min(numbers)
        y = logarithmic(min(numbers), max(numbers)) if many else _counts(numbers)
        frame = Frame(logarithmic(least, most), y, what, of)
        marks = [_dot(frame, size, count, of) for size, count in pairs]
    else:
        low, high = least - 0.6, most + 0.6
        frame = Frame(linear(low, high, most=min(16.0, high - low)), _counts(numbers), what, of)
        marks = [_column(frame, size, count, of) for size, count in pairs]
    whole = sum(numbers)
    text = f"{whole:,} {of}, of {least:,} to {most:,} records each." if pairs else f"No {of}."
    return Chart([frame.panel(*marks)], text, [what, of], pairs)


def columns(edges: list[float], counts: list[int], x_title: str, y_title: str) -> Chart:
    """Bars over the ranges between the edges."""
    frame = Frame(linear(edges[0], edges[-1]), _counts(counts), x_title, y_title)
    ranges = _ranges(edges, edges[1] - edges[0])
    hover = [_hover(frame, edges[i], edges[i + 1], f"{name}: {counts[i]:,}") for i, name in enumerate(ranges)]
    outline = frame.path([_outline(frame, edges, counts)], "bar c1", closed=True)
    most = max(range(len(counts)), key=lambda i: counts[i])
    text = f"Histogram of {len(counts)} bars. The highest, {counts[most]:,} {y_title}, is {ranges[most]}."
    return Chart([frame.panel(outline, *hover)], text, [x_title, y_title], list(zip(ranges, counts, strict=True)))


def _counts(values: list[int]) -> Scale:
    """An axis for counts, from 0."""
    top = 1.06 * (max(values, default=0) or 1)
    return linear(0.0, top, most=min(5.0, top))  # steps of at least 1


def _outline(frame: Frame, edges: list[float], counts: list[int]) -> list[tuple[float, float]]:
    """The outline of a histogram, which begins and ends at the axis."""
    steps = [(edges[0], 0.0)]
    for i, count in enumerate(counts):
        steps += [(edges[i], float(count)), (edges[i + 1], float(count))]
    return [frame.point(x, y) for x, y in (*steps, (edges[-1], 0.0))]


def _ranges(edges: list[float], width: float) -> list[str]:
    """The range of each bar; a bar of whole numbers begins half a step below its first number."""
    largest = max(abs(edges[0]), abs(edges[-1]))
    if width.is_integer() and (2 * edges[0]).is_integer() and not edges[0].is_integer():
        pairs = [(a + 0.5, b - 0.5) for a, b in itertools.pairwise(edges)]
    else:
        pairs = list(itertools.pairwise(edges))
    texts = [(spelled(a, width, largest), spelled(b, width, largest)) for a, b in pairs]
    return [a if a == b else f"{a} to {b}" for a, b in texts]


def _shown(count: int, hides: bool) -> int | None:
    return None if hides and not count else count


def _shown_count(count: int | None) -> str:
    return "not drawn" if count is None else f"{count:,}"


def _hover(frame: Frame, left: float, right: float, text: str) -> Markup:
    """An invisible area over the whole height of a bar that shows its numbers."""
    a, b = frame.x.share(left), frame.x.share(right)
    return tag(
        "rect", tag("title", words(text)), class_="hover", x=percent(a), y=0, width=percent(b - a), height="100%"
    )


def _column(frame: Frame, size: int, count: int, of: str) -> Markup:
    left, right = frame.x.share(size - 0.4), frame.x.share(size + 0.4)
    top = frame.y.share(count)
    title = tag("title", words(f"{size:,}: {count:,} {of}"))
    place = {"x": percent(left), "y": percent(1 - top), "width": percent(right - left), "height": percent(top)}
    return tag("rect", title, class_="bar c1", **place)


def _dot(frame: Frame, size: int, count: int, of: str) -> Markup:
    x, y = frame.point(size, count)
    return tag(
        "circle", tag("title", words(f"{size:,}: {count:,} {of}")), class_="dot c1", cx=percent(x), cy=percent(y), r=3.5
    )
