"""The page of a masked group: the signal before and after with its outliers, and the feasible solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from shoal import __version__
from shoal.data.files import atomically, check_place
from shoal.report.figures import figure
from shoal.report.page import AFTER, BEFORE, chart

if TYPE_CHECKING:
    from shoal.protect.mask import GroupRelease

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem;color:#1f2933}"
    "table{border-collapse:collapse}th,td{padding:.2rem .8rem;border-bottom:1px solid #d9dee5;text-align:right}"
    "th:first-child,td:first-child{text-align:left}"
)


def write_masking_report(release: GroupRelease, path: Path) -> Path:
    """Write the page, all or nothing."""
    inputs = [release.original.source.path] if release.original.source else []
    check_place(path, *inputs)
    page = render(release.facts)
    with atomically(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def render(facts: dict[str, Any]) -> str:
    """The page as HTML that works offline."""
    signals = signal_chart(
        facts["districts"],
        {
            "before": (facts["signal"], facts["outliers"]),
            "after": (facts["modified_signal"], facts["modified_outliers"]),
        },
    )
    told = [
        [name.replace("_", " "), figure(value)]
        for name, value in facts.items()
        if isinstance(value, (int, float, str)) and not isinstance(value, bool)
    ]
    solutions = [
        [s["number"], s["fitness"], s["metric"], s["compatibility"], s["swaps"], " ".join(map(str, s["outliers"]))]
        for s in facts["feasible_solutions"]
    ]
    heads = ["no.", "fitness", "metric", "compatibility", "swaps", "outliers"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Group anonymity</title>'
        f"<style>{_STYLE}</style><script>{get_plotlyjs()}</script></head><body><h1>Group anonymity</h1>"
        f"<p>{facts['swaps']} pairs of records exchanged their districts; nothing else changed.</p>"
        f"{chart(signals, 'signals')}<h2>What was done</h2>{_table(['figure', 'value'], told)}"
        f"<h2>Feasible solutions</h2>{_table(heads, solutions)}<footer>shoal {__version__}</footer></body></html>"
    )


def signal_chart(districts: Sequence[Any], signals: Mapping[str, tuple[Sequence[float], Sequence[Any]]]) -> Any:
    """Signals over the districts as lines; the outliers of each are marked."""
    names = [str(d) for d in districts]
    colors = [BEFORE, AFTER, "#e8590c", "#5f3dc4", "#2b8a3e"]
    plot = go.Figure()
    for i, (label, (values, outlying)) in enumerate(signals.items()):
        color = colors[i % len(colors)]
        plot.add_scatter(x=names, y=list(values), mode="lines", name=label, line={"color": color})
        marked = [names.index(str(d)) for d in outlying]
        plot.add_scatter(
            x=[names[j] for j in marked],
            y=[values[j] for j in marked],
            mode="markers",
            name=f"outliers {label}",
            marker={"color": color, "size": 11, "symbol": "circle-open", "line": {"width": 3}},
        )
    plot.update_layout(xaxis_title="district", yaxis_title="signal", xaxis_type="category")
    return plot


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    top = "".join(f"<th>{escape(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(figure(c))}</td>" for c in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"
