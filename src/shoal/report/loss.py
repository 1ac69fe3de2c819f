"""What was lost: figures of each column before and after, distributions overlaid, correlations.

Numbers that stay numbers are compared as numbers; values that became labels by how much their labels still tell. With
`least` the page is external: nothing is shown that fewer records would tell (see `bins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.columns import coded
from shoal.data.table import Table
from shoal.measure.columns import correlations, detail_lost, moments, quantiles
from shoal.report import charts
from shoal.report.bins import bins, in_order, smoothed, tells_few
from shoal.report.page import Block, Charts, Grid

Floats = NDArray[np.float64]

SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
MOST_MAPPED = 40  # columns whose correlations are drawn


def loss(before: Table, after: Table, columns: Sequence[str], least: int | None, *, beside: bool = True) -> list[Block]:
    """Everything about the given columns of two tables with the same rows; beside: in the same order too."""
    numeric = [name for name in columns if before.kinds[name] == after.kinds[name] == "number"]
    blocks: list[Block] = []
    if numeric:
        blocks += _numbers(before, after, numeric, least, beside)
    blocks += _labels(before, after, [name for name in columns if name not in numeric], least, beside)
    return blocks


def _numbers(before: Table, after: Table, columns: list[str], least: int | None, beside: bool) -> list[Block]:
    old, new = (table.numbers(columns, missing="keep", allow_constant=True) for table in (before, after))
    weights = before.weights() if beside else None
    few = _made_by_few(old, new, least)
    blocks = _column_figures(columns, old, new, weights, few, least)
    moved = [j for j in range(len(columns)) if not np.array_equal(old[:, j], new[:, j], equal_nan=True)]
    drawn = [(columns[j], bins(old[:, j], new[:, j], least)) for j in moved]
    figures = [(name, charts.distribution(found)) for name, found in drawn if found is not None]
    said = "" if least is None else f" Bars of fewer than {least} records are not drawn."
    note = f"Records in each bar before and after; the end bars take all values beyond.{said}"
    if figures:
        blocks.append(Charts(figures, note=note))
    if len(columns) > 1:
        blocks += _correlations(columns, old, new, weights, few)
    return blocks


def _made_by_few(before: Floats, after: Floats, least: int | None) -> tuple[list[bool], list[bool]]:
    """Which columns, before and after, must not be told to the outside by their mean, deviation or correlation."""
    told = [
        [least is not None and tells_few(in_order(column), least) for column in values.T] for values in (before, after)
    ]
    return told[0], told[1]


def _column_figures(
    columns: list[str],
    before: Floats,
    after: Floats,
    weights: Floats | None,
    few: tuple[list[bool], list[bool]],
    least: int | None,
) -> list[Block]:
    """Mean, deviation and quantiles of each column before and after."""
    heads = ["column", "", "mean", "deviation", *SHARES]
    if least is None:
        heads[4:4], heads[len(heads) :] = ["minimum"], ["maximum"]
    rows: list[list[Any]] = []
    for j, name in enumerate(columns):
        for when, values, hidden in (("before", before[:, j], few[0][j]), ("after", after[:, j], few[1][j])):
            found = moments(values, weights)
            figures: list[float | None] = [found.mean, found.deviation]
            if least is None:
                figures += quantiles(values, [0.0, *SHARES.values(), 1.0])
            else:
                ordered = in_order(values)
                figures = [None, None] if hidden else figures
                figures += [smoothed(ordered, share, least) for share in SHARES.values()]
            rows.append([name if when == "before" else "", when, *map(_plain, figures)])
    note = "Mean and deviation are weighted, quantiles are not." if weights is not None else ""
    if least is not None:
        note += f" A quantile is the mean of the {least} records around it; what few records make is left out (–)."
    return [Grid(heads, rows, text=2, note=note.strip())]


def _correlations(
    columns: list[str],
    before: Floats,
    after: Floats,
    weights: Floats | None,
    few: tuple[list[bool], list[bool]],
) -> list[Block]:
    """How much correlations changed; both as maps if there are not too many columns."""
    found = [np.round(correlations(values, weights), 3) for values in (before, after)]
    for matrix, hidden in zip(found, few, strict=True):
        matrix[hidden, :] = np.nan
        matrix[:, hidden] = np.nan
    change = np.abs(found[1] - found[0])
    pairs = [(i, j) for i, j in combinations(range(len(columns)), 2) if np.isfinite(change[i, j])]
    if not pairs:
        return []
    mean = float(np.mean([change[pair] for pair in pairs]))
    worst = sorted(pairs, key=lambda pair: -change[pair])[:5]
    rows = [
        [f"{columns[i]}, {columns[j]}", *(_plain(m[i, j]) for m in found), _plain(found[1][i, j] - found[0][i, j])]
        for i, j in worst
    ]
    several = len(pairs) > 1
    said = f"Over {len(pairs)} pairs of columns a correlation changed by {mean:.3f} on average." if several else ""
    heads = ["columns", "before", "after", "change"]
    blocks: list[Block] = [Grid(heads, rows, title="Correlations that changed most", note=said)]
    if 2 < len(columns) <= MOST_MAPPED:
        maps = [[[_plain(value) for value in row] for row in matrix] for matrix in found]
        titles = ("Correlations before", "Correlations after")
        blocks.append(Charts([(t, charts.correlations(columns, m)) for t, m in zip(titles, maps, strict=True)]))
    return blocks


def _labels(before: Table, after: Table, columns: Sequence[str], least: int | None, beside: bool) -> list[Block]:
    """Columns whose values became labels: how many, and how much of their detail is gone."""
    rows: list[list[Any]] = []
    for name in columns:
        old, new = coded(before, name), coded(after, name)
        counts = [len(new.values)] if least is not None else [len(old.values), len(new.values)]
        rows.append([name, *counts, *([detail_lost(old.codes, new.codes)] if beside else [])])
    if not rows:
        return []
    heads = ["column", *(["labels"] if least is not None else ["values before", "labels after"])]
    if not beside:
        return [Grid(heads, rows)]
    note = "Detail lost: the share of what a value told (its entropy) that its label no longer tells."
    return [Grid([*heads, "detail lost, %"], rows, note=note)]


def _plain(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
