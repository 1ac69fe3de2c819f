"""The page of a release: what came in, what was done, what was lost, what risk is left, how to repeat it.

One file that works offline and prints; the charts are plotly's, its code inside the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from plotly.offline import get_plotlyjs

from shoal import __version__
from shoal.data.files import atomically, check_place
from shoal.report.figures import figure

if TYPE_CHECKING:
    from shoal.release import Release

BEFORE, AFTER = "#8a94a6", "#0b7285"


def write_report(release: Release, path: Path) -> Path:
    """Write the page of a release, all or nothing."""
    inputs = [release.original.source.path] if release.original.source else []
    check_place(path, *inputs)
    page = render(release)
    with atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def render(release: Release) -> str:
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
    if release.solution is not None and hasattr(release.solution, "sizes"):
        charts.insert(0, chart(group_sizes(release.solution.sizes), "group-sizes"))
    return environment.get_template("release.html").render(
        release=release,
        facts=release.facts,
        columns=release.original.describe(),
        roles=release.original.roles,
        changes=release.column_changes(),
        figures=release.assessment.figures,
        charts=charts,
        plotly=get_plotlyjs(),
        version=__version__,
    )


def distribution(before: NDArray[np.float64], after: NDArray[np.float64], name: str) -> Any:
    """A column's histogram before and after, over the same bins."""
    low, high = float(before.min()), float(before.max())
    # A few very large values would squeeze all others into one bar: the view is cut at the 0.5 and 99.5 % points.
    left, right = (float(q) for q in np.quantile(before, [0.005, 0.995]))
    if right - left <= 0:
        left, right = low, high
    edges = np.linspace(left, right, 41) if right > left else np.array([left - 0.5, left + 0.5])
    middles = (edges[:-1] + edges[1:]) / 2
    chart = go.Figure()
    for values, label, color in ((before, "before", BEFORE), (after, "after", AFTER)):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        chart.add_bar(x=middles.tolist(), y=counts.tolist(), name=label, marker_color=color, opacity=0.65)
    chart.update_layout(barmode="overlay", bargap=0.05, xaxis_title=name, yaxis_title="records")
    return chart


def group_sizes(sizes: NDArray[np.int64]) -> Any:
    """How many groups of each size there are."""
    size, count = np.unique(sizes, return_counts=True)
    figure = go.Figure(go.Bar(x=size.tolist(), y=count.tolist(), marker_color=AFTER))
    figure.update_layout(
        xaxis_title="records in a group", yaxis_title="groups", xaxis_dtick=1 if len(size) < 20 else None
    )
    return figure


def chart(figure: Any, identity: str) -> str:
    """A chart as a piece of a page, without plotly's code, which the page holds once."""
    figure.update_layout(
        template="simple_white",
        height=280,
        margin={"l": 60, "r": 20, "t": 20, "b": 50},
        legend={"orientation": "h", "y": 1.1},
        font={"family": "system-ui, sans-serif"},
    )
    html: str = figure.to_html(
        full_html=False, include_plotlyjs=False, div_id=identity, config={"responsive": True, "displayModeBar": False}
    )
    return html
