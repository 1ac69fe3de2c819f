"""The page of a generalization: the front (what a higher k would cost) and the groups of each attribute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from shoal import __version__
from shoal.data.files import atomically, check_place
from shoal.report.figures import figure
from shoal.report.page import AFTER, BEFORE, chart


def write_report(release: Any, path: Path) -> Path:
    """Write the page, all or nothing."""
    inputs = [release.original.source.path] if release.original.source else []
    check_place(path, *inputs)
    page = render(release)
    with atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def render(release: Any) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=PackageLoader("shoal.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["figure"] = figure
    facts = release.facts
    charts = []
    if "front" in facts:
        charts = [chart(k_front(facts["front"], facts["pick"]), "front-k")]
        charts.append(chart(bias_front(facts["front"], facts["pick"]), "front-bias"))
    for j, name in enumerate(release.changed):
        labels, rows = release.label_counts(name)
        charts.append(chart(groups(name, labels, rows), f"groups-{j}"))
    return environment.get_template("generalization.html").render(
        release=release,
        facts=facts,
        figures=release.assessment.figures,
        front=facts.get("front", []),
        cuts=facts.get("cuts", {}),
        charts=charts,
        plotly=get_plotlyjs(),
        version=__version__,
    )


def k_front(front: Sequence[dict[str, Any]], taken: int) -> Any:
    """The loss that each effective k costs."""
    chart = _points(front, taken, "effective_k", "nwp")
    chart.update_layout(xaxis_title="effective k", yaxis_title="NWP (loss)", xaxis_type="log")
    return chart


def bias_front(front: Sequence[dict[str, Any]], taken: int) -> Any:
    """Loss against bias."""
    chart = _points(front, taken, "nwp", "necd")
    chart.update_layout(xaxis_title="NWP (loss)", yaxis_title="NECD (bias)")
    return chart


def groups(name: str, labels: Sequence[str], rows: Sequence[int]) -> Any:
    """The rows of each group of an attribute."""
    short = [label if len(label) <= 28 else label[:25] + "…" for label in labels]
    bars = go.Bar(x=list(rows), y=list(range(len(labels))), orientation="h", marker_color=AFTER, hovertext=list(labels))
    chart = go.Figure(bars)
    chart.update_layout(xaxis_title="records", title={"text": name, "font": {"size": 14}})
    chart.update_yaxes(tickvals=list(range(len(labels))), ticktext=short, autorange="reversed")
    return chart


def _points(front: Sequence[dict[str, Any]], taken: int, x: str, y: str) -> Any:
    colours = [AFTER if i == taken else BEFORE for i in range(1, len(front) + 1)]
    return go.Figure(
        go.Scatter(
            x=[p[x] for p in front],
            y=[p[y] for p in front],
            mode="markers",
            marker={"color": colours, "size": [12 if c == AFTER else 7 for c in colours]},
            hovertext=[f"pick {i}: k = {p['effective_k']}" for i, p in enumerate(front, start=1)],
        )
    )
