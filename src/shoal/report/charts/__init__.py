"""The charts of all pages, drawn as SVG; grey is before and blue is after. Each chart also has a table."""

from shoal.report.charts.bars import label_counts, labels, named_bars
from shoal.report.charts.chart import Chart
from shoal.report.charts.distribution import columns, distribution, sizes
from shoal.report.charts.fronts import changes, choices, signal_chart
from shoal.report.charts.heat import correlations, heat
from shoal.report.charts.search import evolution, search_curves
from shoal.report.charts.series import Series, panels, series_chart

__all__ = [
    "Chart",
    "Series",
    "changes",
    "choices",
    "columns",
    "correlations",
    "distribution",
    "evolution",
    "heat",
    "label_counts",
    "labels",
    "named_bars",
    "panels",
    "search_curves",
    "series_chart",
    "signal_chart",
    "sizes",
]
