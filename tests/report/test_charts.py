"""Charts: well-formed drawings with safe texts, ticks that do not cover each other, and the figures of their tables."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
from shoal.report import charts
from shoal.report.bins import bins
from shoal.report.charts import Chart, Series
from shoal.report.charts.scales import NARROW, ROOMY, Scale, linear, logarithmic, named, placed, spread
from shoal.report.svg import words

NASTY = "</text><script>alert('x')</script> \"quoted\" & \x00\x1b\x85 \u202e \ud800 ]]>"
EXAMPLES = Path(__file__).parents[2] / "examples"
STYLE = Path(charts.__file__).parents[1] / "templates" / "style.css"


def drawn(chart: Chart, title: str = "a title") -> ElementTree.Element:
    """The chart parsed as XML, as strictly as a parser of SVG files reads it."""
    return ElementTree.fromstring(f"<div>{chart.html('chart-1', title)}</div>")


def every_kind(name: str) -> dict[str, Chart]:
    """One chart of each kind with this text wherever a text of the data can stand."""
    values = np.arange(50.0) ** 2
    found = bins(values, values[::-1] * 0.9)
    assert found is not None
    points = [(1.0, 2.0, name), (2.0, 1.0, name)]
    lines = [Series(name, [0, 1, 2], [1.0, None, math.nan], titles=[name] * 3, texts=[name] * 3)]
    return {
        "distribution": charts.distribution(found),
        "sizes": charts.sizes({3: 5, 4: 2}, name, name),
        "sizes far apart": charts.sizes({3: 5, 4000: 2000}, name, name),
        "columns": charts.columns([0.0, 1.0, 2.0], [4, 5], name, name),
        "labels": charts.labels([name, "b"], [3, 4]),
        "label counts": charts.label_counts([name], [3], [0]),
        "correlations": charts.correlations([name, "b", "c"], [[1.0, None, -0.9]] * 3, [[1.0, math.nan, 0.2]] * 3),
        "heat": charts.heat([1, 2], [name, "b"], [[1.0, 2.0], [None, math.inf]], name, name, name),
        "changes": charts.changes([name], [0.5], [-0.2], name),
        "choices": charts.choices(points, (1.0, 2.0), name, name),
        "signals": charts.signal_chart([name, "b"], {name: ([1.0, 9.0], [name])}),
        "series": charts.series_chart(lines, name, name, names=[name, "b", "c"]),
        "panels": charts.panels({name: lines, "b": lines}, name, name),
    }


@pytest.mark.parametrize("kind", list(every_kind("a")))
def test_no_text_of_the_data_becomes_markup(kind: str) -> None:
    chart = every_kind(NASTY)[kind]
    root = drawn(chart, NASTY)
    assert not root.findall(".//script")
    html = chart.html("chart-1", NASTY)
    assert "<script" not in html and "\x00" not in html and "\u202e" not in html
    html.encode("utf-8")  # no lone surrogate either


@pytest.mark.parametrize("kind", list(every_kind("a")))
def test_a_reader_who_does_not_see_it_has_its_name_its_text_and_its_table(kind: str) -> None:
    root = drawn(every_kind("a")[kind])
    pictures = [svg for svg in root.iter("svg") if svg.get("role") == "img"]
    assert pictures
    named_by = {element.get("id"): "".join(element.itertext()) for element in root.iter() if element.get("id")}
    for svg in pictures:
        assert named_by[svg.get("aria-labelledby")].startswith("a title")
        assert len(named_by[svg.get("aria-describedby")]) > 10
    details = root.find("details")
    assert details is not None and details.findtext("summary") == "As a table"
    head = details.findall(".//thead//th")
    rows = details.findall(".//tbody/tr")
    assert rows and all(len(row) == len(head) and row[0].get("scope") == "row" for row in rows)


@pytest.mark.parametrize("kind", list(every_kind("a")))
def test_drawn_twice_gives_the_same_text_without_script_or_link(kind: str) -> None:
    one, two = (every_kind("a")[kind].html("chart-1", "t") for _ in range(2))
    assert one == two
    assert not re.search(r"<script|href|url\(|\bon\w+=|style=", one)
    for attribute in re.findall(r' (?:x|y|cx|cy|r|d|width|height|x1|x2|y1|y2)="([^"]*)"', one):
        assert "nan" not in attribute and "inf" not in attribute and "e" not in attribute, attribute


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def check_ticks(scale: Scale) -> None:
    assert all(0.0 <= tick.share <= 1.0 for tick in scale.ticks)
    for width, ticks in ((NARROW, [t for t in scale.ticks if not t.roomy]), (ROOMY, scale.ticks)):
        boxes = [placed(tick, width) for tick in ticks]
        assert all(a[1] < b[0] for a, b in pairwise(boxes)), (width, ticks)
    texts = [tick.text for tick in scale.ticks]
    assert len(set(texts)) == len(texts), texts


@given(st.lists(FLOATS, max_size=4))
@example([])
@example([0.0])
@example([7.0, 7.0])
@example([1e9, 1e9 + 1e-4])
@example([1e15, 1e15 + 2])
@example([-1.7e308, 1.7e308])
@example([0.0, 5e-324])
@example([-1e-9, 3e-9])
@example([-123456789.0, 987654321.0])
@example([0.0, 1e300])
def test_ticks_do_not_cover_each_other(values: list[float]) -> None:
    low, high = spread(values)
    assert low < high
    scale = linear(low, high)
    check_ticks(scale)
    assert scale.ticks and all(0.0 <= scale.share(value) <= 1.0 for value in values)


@given(st.floats(1e-300, 1e300), st.floats(1.0, 1e6))
def test_logarithmic_ticks_do_not_cover_each_other(low: float, factor: float) -> None:
    scale = logarithmic(low, min(low * factor, 1e301))
    check_ticks(scale)
    assert scale.ticks


@given(st.integers(0, 300), st.integers(1, 30))
def test_names_do_not_cover_each_other(count: int, length: int) -> None:
    scale = named([f"{i}".rjust(length, "m") for i in range(count)])
    for width, ticks in ((NARROW, [t for t in scale.ticks if not t.roomy]), (ROOMY, scale.ticks)):
        assert all(a[1] < b[0] for a, b in pairwise(placed(tick, width) for tick in ticks))


@pytest.mark.parametrize(
    "y", [[], [None], [math.nan, math.inf], [3.0], [3.0, 3.0], [1e300, -1e300], [5e-324, 0.0], [-2.0, None, 4.0]]
)
def test_odd_values_are_drawn_or_left_out(y: list[float | None]) -> None:
    chart = charts.series_chart([Series("s", list(range(len(y))), y)], "x", "y")
    root = drawn(chart)
    there = [value for value in y if value is not None and math.isfinite(value)]
    assert len([c for c in root.iter("circle") if c.find("title") is not None]) == len(there)


def test_the_bars_are_those_of_the_table() -> None:
    """Heights of the outline, counts over the bars and counts of the table are the same numbers."""
    rng = np.random.default_rng(4)
    before, after = rng.normal(50, 10, 500), rng.normal(50, 8, 500)
    found = bins(before, after)
    assert found is not None
    root = drawn(charts.distribution(found))
    rows = [[cell.text or "" for cell in row] for row in root.findall(".//tbody/tr")]
    assert [int(row[1]) for row in rows] == found.before and [int(row[2]) for row in rows] == found.after
    said = [rect.findtext("title") for rect in root.iter("rect") if rect.get("class") == "hover"]
    assert said == [f"{row[0]}: {row[1]} before, {row[2]} after" for row in rows]
    outline = next(path for path in root.iter("path") if path.get("class") == "area").get("d") or ""
    heights = [100 - float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", outline)][1:-1:2]
    top = max(*found.before, *found.after)
    assert heights == pytest.approx([count / (1.06 * top) * 100 for count in found.before], abs=0.01)


def test_hidden_bars_are_neither_drawn_nor_listed() -> None:
    values = np.random.default_rng(1).normal(0, 1, 300)
    found = bins(values, values, min_records=10)
    assert found is not None and found.hides and 0 in found.before
    root = drawn(charts.distribution(found))
    cells = [cell.text for row in root.findall(".//tbody/tr") for cell in row[1:]]
    assert "–" in cells and "0" not in cells
    assert not [t for t in root.itertext() if re.search(r": 0 before|, 0 after", t)]


def test_words_are_escaped_once() -> None:
    assert words(words("<")) == "&amp;lt;"  # a text is a text, whatever it looks like
    assert (
        ElementTree.fromstring(f'<a b="{words(NASTY)}">{words(NASTY)}</a>').text
        == ElementTree.fromstring(f"<a>{words(NASTY)}</a>").text
    )


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear_ = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear_[0] + 0.7152 * linear_[1] + 0.0722 * linear_[2]


@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_can_be_seen_in_light_and_dark(scheme: int) -> None:
    """Text has a contrast of at least 4.5 to its ground, and marks of at least 3 (WCAG 2.2)."""
    block = re.findall(r":root \{(.*?)\}", STYLE.read_text(encoding="utf-8"), re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block))
    ground = luminance(colours["bg"])

    def contrast(name: str) -> float:
        light, dark = sorted((luminance(colours[name]), ground), reverse=True)
        return (light + 0.05) / (dark + 0.05)

    assert all(contrast(name) >= 4.5 for name in ("ink", "soft", "accent"))
    assert all(contrast(name) >= 3.0 for name in ("before-edge", "control", *(f"c{i}" for i in range(6))))


def test_the_report_of_the_demo_is_small_and_the_same_twice(tmp_path: Path) -> None:
    data = shoal.read(EXAMPLES / "survey.csv", roles=EXAMPLES / "roles.toml")
    release = shoal.microaggregate(data, k=5, method="vmdav")
    one, two = (release.report(tmp_path / f"{i}.html").read_bytes() for i in range(2))
    assert one == two and len(one) < 200_000 and b"<script" not in one
