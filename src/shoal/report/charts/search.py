"""The course of a search: the best result over its stages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from shoal.report.charts.chart import Chart
from shoal.report.charts.scales import Scale, Tick, shortened, text_width
from shoal.report.charts.series import Series, series_chart

if TYPE_CHECKING:
    from shoal.engine.trace import TracePoint


def evolution(trace: Sequence[TracePoint]) -> Chart | None:
    """The best result during the run, or None if there is no curve; several stages have equal widths."""
    curves = search_curves(trace)
    if not curves:
        return None
    alone = len(curves) == 1
    if alone:
        name = curves[0].name
        return series_chart(curves, f"work done ({shortened(name, 30)})" if name else "work done", "best so far")
    return series_chart(_with_gaps(curves), "", "best so far", x_scale=_stage_scale([curve.name for curve in curves]))


def search_curves(trace: Sequence[TracePoint]) -> list[Series]:
    """One curve per stage: over the work of a single stage, or over the share of the work of each stage."""
    stages = _stages(trace)
    if not any(stage[0].best > stage[-1].best for stage in stages):  # type: ignore[operator]
        return []
    alone = len(stages) == 1
    curves = []
    for number, stage in enumerate(stages):
        x = [float(p.done) if alone else number + min(1.0, p.done / max(p.total, 1e-300)) for p in stage]
        curves.append(Series(stage[0].what, x, [float(p.best) for p in stage], dots=len(x) < 3, look=1))  # type: ignore[arg-type]
    return curves


def _with_gaps(curves: Sequence[Series]) -> list[Series]:
    """The curves, and dotted lines from the end of a stage to the beginning of the next."""
    gaps = [Series("", [a.x[-1], b.x[0]], [a.y[-1]] * 2, look=3, faint=True) for a, b in pairwise(curves)]
    return [*curves, *gaps]


def _stage_scale(names: Sequence[str]) -> Scale:
    """An axis with the names of the stages, cut to the width of a stage."""
    count = len(names)
    ticks = []
    for i, name in enumerate(names):
        text = shortened(name, max(4, round(520 / count / 7) - 1))
        ticks.append(Tick((i + 0.5) / count, text, roomy=text_width(text) > 250 / count - 6))
    return Scale(0.0, float(count), tuple(ticks))


def _stages(trace: Sequence[TracePoint]) -> list[list[TracePoint]]:
    """Split the trace into stages, without stages of one point and without stages of several objectives.

    The best value of a stage with several objectives may rise. A point without a name belongs to the stage before it.
    """
    stages: list[list[TracePoint]] = []
    for point in trace:
        if point.best is None:
            continue
        last = stages[-1][-1] if stages else None
        if last is None or point.what not in ("", last.what) or point.done < last.done:
            stages.append([])
        stages[-1].append(point)
    curves: list[list[TracePoint]] = []
    for stage in stages:
        if len(stage) < 2 or any(_best(a) < _best(b) for a, b in pairwise(stage)):
            continue
        last = curves[-1][-1] if curves else None
        if (
            last is not None
            and last.what == stage[0].what
            and last.done <= stage[0].done
            and _best(last) >= _best(stage[0])
        ):
            curves[-1] += stage  # the same stage continues after a message about something else
        else:
            curves.append(stage)
    return curves


def _best(point: TracePoint) -> float:
    assert point.best is not None
    return float(point.best)
