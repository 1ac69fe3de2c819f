"""The page of a grouping of columns: the groups, what is promised of them, loss and risk, and the front of choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from shoal import __version__
from shoal.data.files import atomically, check_place
from shoal.report.figures import figure
from shoal.report.page import AFTER, BEFORE, chart, distribution

if TYPE_CHECKING:
    from shoal.protect.grouping import GroupedRelease


def write_grouping_report(release: GroupedRelease, path: Path) -> Path:
    """Write the page, all or nothing."""
    inputs = [release.original.source.path] if release.original.source else []
    check_place(path, *inputs)
    page = render(release)
    with atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def render(release: GroupedRelease) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=PackageLoader("shoal.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["figure"] = figure
    before, after = (t.numbers(release.changed, allow_constant=True) for t in (release.original, release.protected))
    charts = [
        chart(distribution(before[:, j], after[:, j], name), f"distribution-{j}")
        for j, name in enumerate(release.changed)
    ]
    if release.front:
        charts.insert(0, chart(front_chart(release), "front"))
    return environment.get_template("grouping.html").render(
        release=release,
        facts=release.facts,
        changes=release.column_changes(),
        figures=release.assessment.figures,
        charts=charts,
        plotly=get_plotlyjs(),
        version=__version__,
    )


def front_chart(release: GroupedRelease) -> Any:
    """Loss against risk of the choices that no other beats in both, and of the one that was taken."""
    choices = release.front
    figure = go.Figure()
    figure.add_scatter(
        x=[c["information_loss"] for c in choices],
        y=[c["risk"] for c in choices],
        text=[" | ".join(", ".join(group) for group in c["groups"]) for c in choices],
        hovertemplate="loss %{x:.2f} %<br>risk %{y:.2f} %<br>%{text}<extra></extra>",
        mode="lines+markers",
        line={"shape": "hv"},
        marker_color=BEFORE,
        name="no other is better in both",
    )
    facts = release.facts
    risk = (facts["interval_disclosure"] + facts["distance_linkage"]) / 2
    figure.add_scatter(
        x=[facts["information_loss"]], y=[risk], mode="markers", marker={"size": 12, "color": AFTER}, name="taken"
    )
    figure.update_layout(xaxis_title="information loss (%)", yaxis_title="disclosure risk (%)")
    return figure
