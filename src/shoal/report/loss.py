"""The section on information loss: loss and values of each column, histograms before and after, correlations.

Numbers are compared as numbers, labels by the number of records that changed theirs, and categories by the entropy that
they keep. With `min_records` the report is public: it does not show anything that could disclose a record (see `bins`)
and no value of a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.measures.columns import correlations, detail_lost, moments, quantiles
from shoal.measures.compared import (
    CATEGORY,
    DATE,
    NOMINAL,
    NUMBER,
    ORDINAL,
    ComparedLabels,
    compared_as,
    compared_labels,
)
from shoal.measures.evidence import column_pair
from shoal.measures.loss import column_loss
from shoal.report import charts
from shoal.report.bins import bins, is_dominated_by_few, is_small, smoothed, sorted_present
from shoal.report.page import Block, Charts, Grid, MeasureCell
from shoal.table.table import Table

Facts = Mapping[str, Any]

SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
MOST_MAPPED = 40  # most columns of a drawn correlation matrix
MOST_VALUES = 12  # most values of a column of labels that are drawn


def loss(
    before: Table,
    after: Table,
    columns: Sequence[str],
    min_records: int | None,
    *,
    rows_aligned: bool = True,
    per_column: Mapping[str, Facts] | None = None,
) -> list[Block]:
    """Loss, values, histograms and correlations of the columns of two tables with the same records.

    Args:
        before: The original table.
        after: The protected table.
        columns: The columns to compare.
        min_records: The threshold of a public report; None for an internal report.
        rows_aligned: Whether both tables have the same row order.
        per_column: The kind, loss and share of changed cells of each column, if the method measured them.
    """
    kinds = compared_as(before, after, columns)
    numeric = [name for name in columns if kinds[name] == NUMBER]
    labels = {name: compared_labels(before, after, name) for name in columns if kinds[name] in (ORDINAL, NOMINAL)}
    blocks = _by_column(before, after, kinds, labels, per_column or {}, min_records, rows_aligned)
    if numeric:
        blocks += _numbers(before, after, numeric, min_records, rows_aligned)
    if labels and min_records is None:
        blocks += _label_charts(labels, kinds)
    return blocks + _categories(
        before, after, [name for name in columns if kinds[name] == CATEGORY], min_records, rows_aligned
    )


def _by_column(
    before: Table,
    after: Table,
    kinds: Mapping[str, str],
    labels: Mapping[str, ComparedLabels],
    per_column: Mapping[str, Facts],
    min_records: int | None,
    rows_aligned: bool,
) -> list[Block]:
    """The loss and the share of changed cells of every column that was not generalized."""
    several = any("changed_by_more_than_one" in facts for facts in per_column.values())
    facts_of: dict[str, Facts] = {
        name: dict(per_column.get(name) or _measured(before, after, name, kind, labels, rows_aligned, min_records))
        for name, kind in kinds.items()
        if kind != CATEGORY
    }
    if min_records is not None:
        facts_of = _outside(before, after, facts_of, min_records)
    rows: list[list[Any]] = []
    for name, facts in facts_of.items():
        sources = facts.get("derived_from")
        shown = MeasureCell(name, f"derived from {', '.join(sources)}") if sources else name
        compared = labels.get(name)
        counts = [None, None] if compared is None else [int((c > 0).sum()) for c in compared.counts()]
        row = [shown, facts["kind"], facts.get("loss"), _percent(facts.get("changed"))]
        row += [_percent(facts.get("changed_by_more_than_one"))] if several else []
        rows.append([*row, *(counts[1:] if min_records is not None else counts)])
    heads = ["column", "kind", "information loss, %", "cells changed, %"]
    heads += ["changed by more than one level, %"] if several else []
    heads += ["values"] if min_records is not None else ["values before", "values after"]
    used = [j for j in range(len(heads)) if j < 2 or any(row[j] is not None for row in rows)]
    if len(used) < 3:
        return []
    note = (
        "Information loss is the share of the variance of a column that protection removed; of a nominal column, the "
        "share of its Gini impurity."
    )
    note = note if 2 in used else ""
    note += f" Values of fewer than {min_records} records are not shown (–)." if min_records is not None else ""
    shown_rows = [[row[j] for j in used] for row in rows]
    return [Grid([heads[j] for j in used], shown_rows, text=2, title="Loss by column", note=note.strip())]


def _measured(
    before: Table,
    after: Table,
    name: str,
    kind: str,
    labels: Mapping[str, ComparedLabels],
    rows_aligned: bool,
    min_records: int | None,
) -> dict[str, Any]:
    """The values of a column that can be measured on two files, if the method did not measure them.

    A public report leaves out the loss of labels, because the number of changed cells follows from it.
    """
    facts: dict[str, Any] = {"kind": kind}
    if not rows_aligned:
        return facts
    pair = column_pair(before, after, name, kind)
    if pair.before.size and (min_records is None or name not in labels):
        facts["loss"] = column_loss(pair).information_loss
    if name in labels:
        facts["changed"] = labels[name].changed / before.rows
    return facts


def _values(table: Table, name: str, kind: str) -> Floats:
    return table[name].days if kind == DATE else table[name].numbers


def _outside(before: Table, after: Table, facts_of: Mapping[str, Facts], min_records: int) -> dict[str, Facts]:
    """The values of the columns, without those that depend on fewer than `min_records` records.

    The total loss is known, so a single hidden loss would follow from the others. Then all losses are left out.
    """
    hidden = {name: _hidden(before, after, name, facts, min_records) for name, facts in facts_of.items()}
    if any("loss" in facts_of[name] and "loss" in keys for name, keys in hidden.items()):
        hidden = {name: keys | {"loss"} for name, keys in hidden.items()}
    return {
        name: {key: value for key, value in facts.items() if key not in hidden[name]}
        for name, facts in facts_of.items()
    }


def _hidden(before: Table, after: Table, name: str, facts: Facts, min_records: int) -> set[str]:
    """The values of a column that depend on only a few records."""
    if "changed" not in facts:
        sides = (_values(table, name, facts["kind"]) for table in (before, after) if "loss" in facts)
        return {"loss"} if any(is_dominated_by_few(sorted_present(values), min_records) for values in sides) else set()
    changed, further = (round(facts.get(key, 0.0) * before.rows) for key in ("changed", "changed_by_more_than_one"))
    if is_small(changed, before.rows, min_records):
        return {"changed", "changed_by_more_than_one", "loss"}  # the number of changed cells follows from the loss
    return {"changed_by_more_than_one"} if is_small(further, changed, min_records) else set()


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _label_charts(labels: Mapping[str, ComparedLabels], kinds: Mapping[str, str]) -> list[Block]:
    """Charts of the most frequent values of each column of labels, before and after."""
    drawn = []
    for name, compared in labels.items():
        before, after = compared.counts()
        most = np.argsort(-np.maximum(before, after), kind="stable")[:MOST_VALUES]
        chosen = np.sort(most) if kinds[name] == ORDINAL else most
        rest = np.setdiff1d(np.arange(before.size), most)
        names = [compared.values[i] for i in chosen]
        counts = [side[chosen].tolist() for side in (before, after)]
        if rest.size:
            names.append(f"{rest.size} other values")
            counts = [[*shown, int(side[rest].sum())] for shown, side in zip(counts, (before, after), strict=True)]
        drawn.append((name, charts.label_counts(names, counts[0], counts[1])))
    return [Charts(drawn, note="Number of records of the most frequent values, before and after.", title="Labels")]


def _numbers(
    before: Table, after: Table, columns: list[str], min_records: int | None, rows_aligned: bool
) -> list[Block]:
    old, new = (table.numbers(columns, missing="keep", allow_constant=True) for table in (before, after))
    weights = before.weights() if rows_aligned else None
    dominated = _dominated_by_few(old, new, min_records)
    blocks = _column_values(columns, old, new, weights, dominated, min_records)
    moved = [j for j in range(len(columns)) if not np.array_equal(old[:, j], new[:, j], equal_nan=True)]
    drawn = [(columns[j], bins(old[:, j], new[:, j], min_records)) for j in moved]
    figures = [(name, charts.distribution(bars)) for name, bars in drawn if bars is not None]
    hidden = "" if min_records is None else f" Bars of fewer than {min_records} records are not drawn."
    note = (
        "Number of records per bar, before and after. The first and last bars include all smaller and larger values."
        + hidden
    )
    if figures:
        blocks.append(Charts(figures, note=note))
    if len(columns) > 1:
        blocks += _correlations(columns, old, new, weights, dominated)
    return blocks


def _dominated_by_few(before: Floats, after: Floats, min_records: int | None) -> tuple[list[bool], list[bool]]:
    """Which columns, before and after, must not have a mean, standard deviation or correlation in a public report."""
    hidden = [
        [min_records is not None and is_dominated_by_few(sorted_present(column), min_records) for column in values.T]
        for values in (before, after)
    ]
    return hidden[0], hidden[1]


def _column_values(
    columns: list[str],
    before: Floats,
    after: Floats,
    weights: Floats | None,
    dominated: tuple[list[bool], list[bool]],
    min_records: int | None,
) -> list[Block]:
    """The mean, standard deviation and quantiles of each column before and after."""
    heads = ["column", "", "mean", "std. dev.", *SHARES]
    if min_records is None:
        heads[4:4], heads[len(heads) :] = ["minimum"], ["maximum"]
    rows: list[list[Any]] = []
    for j, name in enumerate(columns):
        for when, values, hidden in (
            ("before", before[:, j], dominated[0][j]),
            ("after", after[:, j], dominated[1][j]),
        ):
            summary = moments(values, weights)
            figures: list[float | None] = [summary.mean, summary.deviation]
            if min_records is None:
                figures += quantiles(values, [0.0, *SHARES.values(), 1.0])
            else:
                ordered = sorted_present(values)
                figures = [None, None] if hidden else figures
                figures += [smoothed(ordered, share, min_records) for share in SHARES.values()]
            rows.append([name if when == "before" else "", when, *map(_plain, figures)])
    note = "The mean and the standard deviation are weighted, the quantiles are not." if weights is not None else ""
    if min_records is not None:
        note += (
            f" A quantile is the mean of the {min_records} records around it. Values that depend on only a few records "
            "are not shown (–)."
        )
    return [Grid(heads, rows, text=2, title="Numbers", note=note.strip())]


def _correlations(
    columns: list[str],
    before: Floats,
    after: Floats,
    weights: Floats | None,
    dominated: tuple[list[bool], list[bool]],
) -> list[Block]:
    """The correlations that changed most, and both correlation matrices if there are not too many columns."""
    matrices = [np.round(correlations(values, weights), 3) for values in (before, after)]
    for matrix, hidden in zip(matrices, dominated, strict=True):
        matrix[hidden, :] = np.nan
        matrix[:, hidden] = np.nan
    change = np.abs(matrices[1] - matrices[0])
    pairs = [(i, j) for i, j in combinations(range(len(columns)), 2) if np.isfinite(change[i, j])]
    if not pairs:
        return []
    mean = float(np.mean([change[pair] for pair in pairs]))
    worst = sorted(pairs, key=lambda pair: -change[pair])[:5]
    rows = [
        [
            f"{columns[i]}, {columns[j]}",
            *(_plain(m[i, j]) for m in matrices),
            _plain(matrices[1][i, j] - matrices[0][i, j]),
        ]
        for i, j in worst
    ]
    several = len(pairs) > 1
    note = f"A correlation changed by {mean:.3f} on average over {len(pairs)} pairs of columns." if several else ""
    heads = ["columns", "before", "after", "change"]
    blocks: list[Block] = [Grid(heads, rows, title="Correlations that changed most", note=note)]
    if 2 < len(columns) <= MOST_MAPPED:
        maps = [[[_plain(value) for value in row] for row in matrix] for matrix in matrices]
        names = [f"{columns[i]}, {columns[j]}" for i, j in worst]
        old, new = ([float(matrix[pair]) for pair in worst] for matrix in matrices)
        moved = charts.changes(names, old, new, "Correlations")
        drawn = charts.correlations(columns, maps[0], maps[1])
        title = "Correlations before (below the diagonal) and after (above it)"
        blocks.append(Charts([("Correlations that changed most", moved), (title, drawn)]))
    return blocks


def _categories(
    before: Table, after: Table, columns: Sequence[str], min_records: int | None, rows_aligned: bool
) -> list[Block]:
    """The number of categories of generalized columns, and the detail that they lost."""
    rows: list[list[Any]] = []
    for name in columns:
        old, new = (table[name].codes for table in (before, after))
        counts = [len(new.values)] if min_records is not None else [len(old.values), len(new.values)]
        rows.append([name, *counts, *([detail_lost(old.codes, new.codes)] if rows_aligned else [])])
    if not rows:
        return []
    heads = ["column", *(["categories"] if min_records is not None else ["values before", "categories after"])]
    if not rows_aligned:
        return [Grid(heads, rows, title="Categories")]
    note = "Detail lost is the share of the entropy of a column that its categories no longer carry."
    return [Grid([*heads, "detail lost, %"], rows, title="Categories", note=note)]


def _plain(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
