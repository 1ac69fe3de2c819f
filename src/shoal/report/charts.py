"""The charts of all pages, in one style: grey is before, teal is after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

if TYPE_CHECKING:
    from shoal.engine.trace import Point
    from shoal.report.bins import Bins

BEFORE, AFTER = "#8a94a6", "#0b7285"
COLOURS = (BEFORE, AFTER, "#e8590c", "#5f3dc4", "#2b8a3e", "#c2255c")
DIVERGING = [[0.0, "#e8590c"], [0.5, "#ffffff"], [1.0, "#0b7285"]]
_AXIS = {"showline": True, "linecolor": "#9aa5b1", "ticks": "outside", "tickcolor": "#9aa5b1", "gridcolor": "#edf0f3"}


def styled(figure: Any) -> Any:
    """The chart in the style of all; what it says of its own height stays."""
    layout = figure.layout
    several, solid = bool(layout.annotations), "scene" in layout.to_plotly_json()
    above = {"y": 1.02, "yanchor": "bottom"}
    below = {"y": -0.12, "yanchor": "top"}  # charts within a chart have their titles above
    figure.update_layout(
        template="none",
        colorway=[*COLOURS[1:], BEFORE],
        height=layout.height or (380 if several or solid else 280),
        margin={"l": 10, "r": 16, "t": 24 if several else 16, "b": 10, "autoexpand": True},
        legend={"orientation": "h", "x": 0, **(below if several else above)},
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#1f2933"},
        paper_bgcolor="white",
        plot_bgcolor="white",
        hoverlabel={"namelength": -1},
    )
    figure.update_xaxes(**_AXIS, automargin=True, zeroline=False, title_standoff=8)
    figure.update_yaxes(**_AXIS, automargin=True, zeroline=False, title_standoff=8)
    figure.update_annotations(font_size=12)
    if solid:
        eye, centre = {"x": 1.7, "y": 1.7, "z": 0.9}, {"x": 0, "y": 0, "z": -0.2}
        figure.update_layout(scene_camera={"eye": eye, "center": centre}, scene_aspectmode="cube")
        figure.update_traces(colorscale=[[0.0, "#d5e8ec"], [1.0, AFTER]], selector={"type": "surface"})
    return figure


def distribution(bins: Bins) -> Any:
    """A column's histogram before and after, over the same bins."""
    chart = go.Figure(go.Bar(x=bins.middles, y=bins.before, width=bins.width, name="before", marker_color="#c8cfd8"))
    # The outline of the bars after: a step before the first and after the last bar brings it down to zero.
    ends = [bins.middles[0] - bins.width, *bins.middles, bins.middles[-1] + bins.width]
    line = {"color": AFTER, "width": 2, "shape": "hvh"}
    chart.add_scatter(x=ends, y=[0, *bins.after, 0], mode="lines", line=line, name="after")
    half = bins.width / 2
    chart.update_layout(yaxis_title="records", yaxis_rangemode="tozero")
    chart.update_xaxes(range=[bins.middles[0] - 1.5 * half, bins.middles[-1] + 1.5 * half])
    return chart


def sizes(counts: Mapping[int, int], what: str, of: str) -> Any:
    """How many groups or classes there are of each size; sizes far apart on a logarithmic axis."""
    far = len(counts) > 1 and max(counts) > 20 * min(counts)
    many = max(counts.values(), default=0) > 50 * max(1, min(counts.values(), default=1))
    if far:
        chart = go.Figure(
            go.Scatter(x=list(counts), y=list(counts.values()), mode="markers", marker={"color": AFTER, "opacity": 0.6})
        )
        chart.update_xaxes(type="log", dtick=1)
    else:
        chart = go.Figure(go.Bar(x=list(counts), y=list(counts.values()), marker_color=AFTER))
        chart.update_xaxes(dtick=1 if len(counts) < 16 else None)
    if far and many:
        chart.update_yaxes(type="log", dtick=1)
    chart.update_layout(xaxis_title=what, yaxis_title=of, bargap=0.15)
    return chart


def labels(names: Sequence[str], counts: Sequence[int]) -> Any:
    """The records of each label of a column; beyond thirty labels the rest are taken together."""
    shown = sorted(range(len(names)), key=lambda i: -counts[i])[:30] if len(names) > 30 else list(range(len(names)))
    bars = [(names[i], counts[i]) for i in sorted(shown)]
    if len(names) > len(shown):
        bars.append((f"{len(names) - len(shown)} other labels", sum(counts) - sum(c for _, c in bars)))
    places = list(range(len(bars)))
    chart = go.Figure(
        go.Bar(
            x=[count for _, count in bars],
            y=places,
            orientation="h",
            marker_color=AFTER,
            hovertext=[escape(name) for name, _ in bars],
        )
    )
    chart.update_layout(xaxis_title="records", height=110 + 22 * len(bars), bargap=0.25)
    chart.update_xaxes(nticks=5)
    chart.update_yaxes(tickvals=places, ticktext=[_short(name) for name, _ in bars], autorange="reversed")
    return chart


def label_counts(names: Sequence[str], before: Sequence[int], after: Sequence[int]) -> Any:
    """The records of each value of a column before and after, side by side."""
    places = list(range(len(names)))
    chart = go.Figure()
    for when, counts, colour in (("before", before, "#c8cfd8"), ("after", after, AFTER)):
        hover = [escape(name) for name in names]
        chart.add_bar(x=list(counts), y=places, orientation="h", name=when, marker_color=colour, hovertext=hover)
    chart.update_layout(xaxis_title="records", height=120 + 30 * len(names), bargap=0.3, barmode="group")
    chart.update_xaxes(nticks=5)
    chart.update_yaxes(tickvals=places, ticktext=[_short(name) for name in names], autorange="reversed")
    return chart


def correlations(names: Sequence[str], values: Sequence[Sequence[float | None]]) -> Any:
    """Correlations as a map of colours from -1 to 1."""
    few = len(names) <= 8
    text = [["" if v is None else f"{v:.2f}" for v in row] for row in values]
    short = [_short(name, 16) for name in names]
    chart = go.Figure(
        go.Heatmap(
            z=[list(row) for row in values],
            x=list(range(len(names))),
            y=list(range(len(names))),
            zmin=-1,
            zmax=1,
            colorscale=DIVERGING,
            text=text if few else None,
            texttemplate="%{text}" if few else None,
            textfont={"size": 10},
            hovertemplate="%{z:.3f}<extra></extra>",
            colorbar={"thickness": 10, "len": 0.9},
            xgap=1,
            ygap=1,
        )
    )
    chart.update_xaxes(tickvals=list(range(len(names))), ticktext=short, tickangle=-60, tickfont={"size": 10})
    chart.update_yaxes(tickvals=list(range(len(names))), ticktext=short, autorange="reversed", tickfont={"size": 10})
    chart.update_layout(height=340)
    return chart


def evolution(trace: Sequence[Point]) -> Any:
    """The best so far over the run; several stages one after another, each as wide as the others. None: no curve."""
    stages = _stages(trace)
    if not any(stage[0].best > stage[-1].best for stage in stages):
        return None
    chart = go.Figure()
    alone = len(stages) == 1
    ends: list[tuple[float, float]] = []
    for number, stage in enumerate(stages):
        x = [look.done if alone else number + min(1.0, look.done / max(look.total, 1e-300)) for look in stage]
        y = [float(look.best) for look in stage]
        if ends:  # where the last stage ended, up to where this one begins
            gap = {"color": BEFORE, "width": 1, "dash": "dot"}
            chart.add_scatter(x=[ends[-1][0], x[0]], y=[ends[-1][1]] * 2, mode="lines", line=gap)
        chart.add_scatter(x=x, y=y, mode="lines+markers" if len(x) < 3 else "lines", line={"color": AFTER, "width": 2})
        ends.append((x[-1], y[-1]))
    names = [_short(stage[0].what, 22) for stage in stages]
    chart.update_layout(showlegend=False, yaxis_title="best so far")
    if alone:
        chart.update_xaxes(title=f"work done ({names[0]})" if names[0] else "work done", rangemode="tozero")
    else:
        chart.update_xaxes(tickvals=[i + 0.5 for i in range(len(names))], ticktext=names, range=[0, len(names) + 0.02])
    return chart


def _stages(trace: Sequence[Point]) -> list[list[Any]]:
    """The looks of each stage; one with a single look is no curve, and one whose best rises has several objectives.

    A look without a stage's name goes on with the stage before it.
    """
    stages: list[list[Any]] = []
    for look in trace:
        if look.best is None:
            continue
        last = stages[-1][-1] if stages else None
        if last is None or look.what not in ("", last.what) or look.done < last.done:
            stages.append([])
        stages[-1].append(look)
    curves: list[list[Any]] = []
    for stage in stages:
        if len(stage) < 2 or any(a.best < b.best for a, b in pairwise(stage)):
            continue
        last = curves[-1][-1] if curves else None
        if (
            last is not None
            and last.what == stage[0].what
            and last.done <= stage[0].done
            and last.best >= stage[0].best
        ):
            curves[-1] += stage  # only a word on something else came between
        else:
            curves.append(stage)
    return curves


def choices(
    points: Sequence[tuple[float, float, str]], taken: tuple[float, float], x: str, y: str, *, log: bool = False
) -> Any:
    """Points that no other beats in both, each with what it is, and the one that was taken."""
    chart = go.Figure()
    chart.add_scatter(
        x=[p[0] for p in points],
        y=[p[1] for p in points],
        hovertext=[escape(p[2]) for p in points],
        mode="markers",
        marker={"color": BEFORE, "size": 7},
        name="the front",
    )
    chart.add_scatter(x=[taken[0]], y=[taken[1]], mode="markers", marker={"color": AFTER, "size": 13}, name="taken")
    chart.update_layout(xaxis_title=x, yaxis_title=y)
    if log:
        chart.update_xaxes(type="log", dtick=1)
    return chart


def signal_chart(districts: Sequence[Any], signals: Mapping[str, tuple[Sequence[float], Sequence[Any]]]) -> Any:
    """Signals over the districts as lines; the outliers of each are marked."""
    names = [str(d) for d in districts]
    plot = go.Figure()
    for i, (label, (values, outlying)) in enumerate(signals.items()):
        colour = COLOURS[i % len(COLOURS)]
        plot.add_scatter(x=names, y=list(values), mode="lines", name=label, line={"color": colour})
        marked = [names.index(str(d)) for d in outlying]
        if marked:
            plot.add_scatter(
                x=[names[j] for j in marked],
                y=[values[j] for j in marked],
                mode="markers+text",
                cliponaxis=False,
                text=[escape(names[j]) for j in marked],
                textposition="top center",
                name=f"outliers {label}",
                marker={"color": colour, "size": 12, "symbol": "circle-open", "line": {"width": 3}},
            )
    plot.update_layout(xaxis_title="district", yaxis_title="signal", xaxis_type="category", height=340)
    every = [float(v) for values, _ in signals.values() for v in values]
    low, high = min(0.0, *every), max(0.0, *every)
    plot.update_yaxes(range=[low - 0.06 * (high - low), high + 0.14 * (high - low)])  # room for the names of outliers
    return plot


def _short(text: str, length: int = 26) -> str:
    return escape(text if len(text) <= length else text[: length - 1] + "…")
