"""What was lost: the loss of each column, its figures before and after, distributions overlaid, correlations.

Numbers are compared as numbers, labels by the records that changed theirs, categories by how much they still tell of
the values that they stand for. With `least` the page is external: it shows nothing that fewer records would disclose
(see `bins`), and no value of a label.
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
from shoal.report.bins import bins, in_order, is_small, smoothed, tells_few
from shoal.report.page import Block, Charts, Grid, Told
from shoal.table.table import Table

Facts = Mapping[str, Any]

SHARES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
MOST_MAPPED = 40  # columns whose correlations are drawn
MOST_VALUES = 12  # values of a label that are drawn


def loss(
    before: Table,
    after: Table,
    columns: Sequence[str],
    least: int | None,
    *,
    beside: bool = True,
    per_column: Mapping[str, Facts] | None = None,
) -> list[Block]:
    """Everything about the given columns of two tables with the same rows; beside: in the same order too.

    per_column: kind, loss and share of changed cells of each column, where the method measured them.
    """
    kinds = compared_as(before, after, columns)
    numeric = [name for name in columns if kinds[name] == NUMBER]
    labels = {name: compared_labels(before, after, name) for name in columns if kinds[name] in (ORDINAL, NOMINAL)}
    blocks = _by_column(before, after, kinds, labels, per_column or {}, least, beside)
    if numeric:
        blocks += _numbers(before, after, numeric, least, beside)
    if labels and least is None:
        blocks += _label_charts(labels, kinds)
    return blocks + _categories(before, after, [name for name in columns if kinds[name] == CATEGORY], least, beside)


def _by_column(
    before: Table,
    after: Table,
    kinds: Mapping[str, str],
    labels: Mapping[str, ComparedLabels],
    per_column: Mapping[str, Facts],
    least: int | None,
    beside: bool,
) -> list[Block]:
    """Loss and share of changed cells of every column that is not a category."""
    several = any("changed_by_more_than_one" in facts for facts in per_column.values())
    facts_of: dict[str, Facts] = {
        name: dict(per_column.get(name) or _measured(before, after, name, kind, labels, beside, least))
        for name, kind in kinds.items()
        if kind != CATEGORY
    }
    if least is not None:
        facts_of = _outside(before, after, facts_of, least)
    rows: list[list[Any]] = []
    for name, facts in facts_of.items():
        sources = facts.get("derived_from")
        shown = Told(name, f"derived from {', '.join(sources)}") if sources else name
        found = labels.get(name)
        counts = [None, None] if found is None else [int((c > 0).sum()) for c in found.counts()]
        row = [shown, facts["kind"], facts.get("loss"), _percent(facts.get("changed"))]
        row += [_percent(facts.get("changed_by_more_than_one"))] if several else []
        rows.append([*row, *(counts[1:] if least is not None else counts)])
    heads = ["column", "kind", "information loss, %", "cells changed, %"]
    heads += ["changed by more than one level, %"] if several else []
    heads += ["values"] if least is not None else ["values before", "values after"]
    used = [j for j in range(len(heads)) if j < 2 or any(row[j] is not None for row in rows)]
    if len(used) < 3:
        return []
    note = "Information loss: the share of a column's variance, of a nominal column's Gini impurity, that was removed."
    note = note if 2 in used else ""
    note += f" What fewer than {least} records make is left out (–)." if least is not None else ""
    shown_rows = [[row[j] for j in used] for row in rows]
    return [Grid([heads[j] for j in used], shown_rows, text=2, title="Loss by column", note=note.strip())]


def _measured(
    before: Table,
    after: Table,
    name: str,
    kind: str,
    labels: Mapping[str, ComparedLabels],
    beside: bool,
    least: int | None,
) -> dict[str, Any]:
    """What two files alone show of a column, where the method's own figures are not known.

    An external page leaves out the loss of labels, which follows from the changed cells.
    """
    found: dict[str, Any] = {"kind": kind}
    if not beside:
        return found
    pair = column_pair(before, after, name, kind)
    if pair.before.size and (least is None or name not in labels):
        found["loss"] = column_loss(pair).information_loss
    if name in labels:
        found["changed"] = labels[name].changed / before.rows
    return found


def _values(table: Table, name: str, kind: str) -> Floats:
    return table[name].days if kind == DATE else table[name].numbers


def _outside(before: Table, after: Table, facts_of: Mapping[str, Facts], least: int) -> dict[str, Facts]:
    """The figures of the columns without those that fewer than `least` records make.

    The loss of all columns together is known, so that one hidden loss would follow from the others: all are left out.
    """
    hidden = {name: _hidden(before, after, name, facts, least) for name, facts in facts_of.items()}
    if any("loss" in facts_of[name] and "loss" in keys for name, keys in hidden.items()):
        hidden = {name: keys | {"loss"} for name, keys in hidden.items()}
    return {
        name: {key: value for key, value in facts.items() if key not in hidden[name]}
        for name, facts in facts_of.items()
    }


def _hidden(before: Table, after: Table, name: str, facts: Facts, least: int) -> set[str]:
    """The figures of a column that few records make."""
    if "changed" not in facts:
        sides = (_values(table, name, facts["kind"]) for table in (before, after) if "loss" in facts)
        return {"loss"} if any(tells_few(in_order(values), least) for values in sides) else set()
    changed, further = (round(facts.get(key, 0.0) * before.rows) for key in ("changed", "changed_by_more_than_one"))
    if is_small(changed, before.rows, least):
        return {"changed", "changed_by_more_than_one", "loss"}  # the loss follows from the changed cells
    return {"changed_by_more_than_one"} if is_small(further, changed, least) else set()


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _label_charts(labels: Mapping[str, ComparedLabels], kinds: Mapping[str, str]) -> list[Block]:
    """The records of the most frequent values of each column of labels, before and after."""
    drawn = []
    for name, found in labels.items():
        before, after = found.counts()
        most = np.argsort(-np.maximum(before, after), kind="stable")[:MOST_VALUES]
        chosen = np.sort(most) if kinds[name] == ORDINAL else most
        rest = np.setdiff1d(np.arange(before.size), most)
        names = [found.values[i] for i in chosen]
        counts = [side[chosen].tolist() for side in (before, after)]
        if rest.size:
            names.append(f"{rest.size} other values")
            counts = [[*shown, int(side[rest].sum())] for shown, side in zip(counts, (before, after), strict=True)]
        drawn.append((name, charts.label_counts(names, counts[0], counts[1])))
    return [Charts(drawn, note="Records of each value before and after; the most frequent values.", title="Labels")]


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
    """Which columns, before and after, an external report must not describe by a mean, std. dev. or correlation."""
    hidden = [
        [least is not None and tells_few(in_order(column), least) for column in values.T] for values in (before, after)
    ]
    return hidden[0], hidden[1]


def _column_figures(
    columns: list[str],
    before: Floats,
    after: Floats,
    weights: Floats | None,
    few: tuple[list[bool], list[bool]],
    least: int | None,
) -> list[Block]:
    """Mean, deviation and quantiles of each column before and after."""
    heads = ["column", "", "mean", "std. dev.", *SHARES]
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
    note = "Mean and standard deviation are weighted, quantiles are not." if weights is not None else ""
    if least is not None:
        note += f" A quantile is the mean of the {least} records around it; what few records make is left out (–)."
    return [Grid(heads, rows, text=2, title="Numbers", note=note.strip())]


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
        names = [f"{columns[i]}, {columns[j]}" for i, j in worst]
        old, new = ([float(matrix[pair]) for pair in worst] for matrix in found)
        moved = charts.changes(names, old, new, "Correlations")
        drawn = charts.correlations(columns, maps[0], maps[1])
        title = "Correlations before (below the diagonal) and after (above it)"
        blocks.append(Charts([("Correlations that changed most", moved), (title, drawn)]))
    return blocks


def _categories(before: Table, after: Table, columns: Sequence[str], least: int | None, beside: bool) -> list[Block]:
    """Columns whose values became categories: how many, and how much of their detail is gone."""
    rows: list[list[Any]] = []
    for name in columns:
        old, new = (table[name].codes for table in (before, after))
        counts = [len(new.values)] if least is not None else [len(old.values), len(new.values)]
        rows.append([name, *counts, *([detail_lost(old.codes, new.codes)] if beside else [])])
    if not rows:
        return []
    heads = ["column", *(["categories"] if least is not None else ["values before", "categories after"])]
    if not beside:
        return [Grid(heads, rows, title="Categories")]
    note = "Detail lost: the share of a value's information (its entropy) that its category no longer gives."
    return [Grid([*heads, "detail lost, %"], rows, title="Categories", note=note)]


def _plain(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
