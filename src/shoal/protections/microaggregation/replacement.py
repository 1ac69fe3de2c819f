"""The values that replace those of a group: means of numbers, lower medians of ranks, modes of labels; and their loss.

Domingo-Ferrer and Torra 2005 aggregate ordinal values by medians and nominal ones by modes. All groups are computed at
once, from the sorted pairs of group and value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.partition.partition import KPartition
from shoal.measures.loss import Loss, information_loss, nominal_loss
from shoal.table.frames import used_categories
from shoal.table.kinds import Labels
from shoal.table.mixed import MixedColumns, dated

RESIDUE = 8  # steps of the last bit by which two means of the same values may differ


@dataclass(frozen=True, eq=False)
class Replacement:
    """New numbers and new series by column, the columns to be rounded, and the loss of each column."""

    whole: tuple[str, ...]
    numbers: dict[str, Floats]
    series: dict[str, nw.Series[Any]]
    losses: dict[str, Loss]
    per_column: dict[str, dict[str, Any]]


def replacement(
    columns: MixedColumns, partition: KPartition, aggregate: str, weights: Floats | None, round: bool = False
) -> Replacement:
    """Return the new values, identical for all members of a group; round: columns of whole numbers stay whole."""
    numbers = [name for name in columns.measured if columns.kinds[name] == "number"]
    made = Replacement(columns.table.whole(numbers) if round and numbers else (), {}, {}, {}, {})
    values = columns.values
    of_groups = aggregates(values, partition, aggregate, weights) if columns.measured else values
    for name in columns.names:
        if name in columns.labels:
            _replace_labels(made, columns.labels[name], columns.table[name].series, partition, weights)
            continue
        j = columns.measured.index(name)
        dates = columns.kinds[name] == "date"
        new = of_groups[partition.labels, j]
        if dates or name in made.whole:
            new = np.rint(new) + 0.0  # -0.2 is rounded to 0.0, not to -0.0
        loss = information_loss(values[:, j : j + 1], new[:, None], weights)
        made.losses[name], made.per_column[name] = loss, {"kind": columns.kinds[name], "loss": loss.information_loss}
        if dates:
            made.series[name] = dated(columns.table[name].series, new)
        else:
            values[:, j] = new  # in the same memory, so that a large file has no further copy
            made.numbers[name] = values[:, j]
    return made


def replaced(values: Floats, partition: KPartition, aggregate: str, weights: Floats | None) -> Floats:
    """Return the mean or median of each record's group, in the units of the values; identical for all members."""
    return aggregates(values, partition, aggregate, weights)[partition.labels]


def aggregates(values: Floats, partition: KPartition, aggregate: str, weights: Floats | None) -> Floats:
    """Return the mean or median of each group."""
    if aggregate == "median":
        return partition.medians(values) + 0.0  # one zero: a group of -0.0 gets 0.0
    return _without_residue(partition.centroids(values, weights)) + 0.0


def _without_residue(centroids: Floats) -> Floats:
    """Make nearly equal means identical: a difference in the last bits would disclose the order of a sum."""
    for j in range(centroids.shape[1]):
        column = centroids[:, j]
        order = np.argsort(column, kind="stable")
        ranked = column[order]
        near = np.abs(np.diff(ranked)) <= RESIDUE * np.finfo(np.float64).eps * np.abs(ranked[1:])
        if near.any():
            run = np.concatenate(([0], np.cumsum(~near)))
            column[order] = ranked[np.searchsorted(run, run)]
    return centroids


def modes(
    groups: NDArray[Any],
    codes: NDArray[Any],
    count: int,
    weights: Floats | None = None,
    overall: NDArray[Any] | None = None,
) -> Ints:
    """Return the most frequent code of each group (by weight); ties: the more frequent overall, then the lower code.

    Args:
        overall: The frequency of each code, if the groups are not those of all records.
    """
    group, code, mass = _pairs(groups, codes, count, weights)
    overall = np.bincount(codes, weights, minlength=count) if overall is None else overall
    order = np.lexsort((code, -overall[code], -mass, group))
    first = np.searchsorted(group, np.arange(int(group[-1]) + 1))  # the pairs are sorted by group before and after
    return np.asarray(code[order[first]], dtype=np.int64)


def lower_medians(groups: NDArray[Any], ranks: NDArray[Any], count: int, weights: Floats | None = None) -> Ints:
    """Return the lowest rank of each group that at least half of its records (of its weight) do not exceed."""
    group, rank, mass = _pairs(groups, ranks, count, weights)
    first = np.searchsorted(group, np.arange(int(group[-1]) + 1))
    length = np.diff(np.append(first, group.size))
    total, reached = np.bincount(group, mass), np.zeros(first.size)
    median = np.full(first.size, -1, dtype=np.int64)
    for place in range(int(length.max())):  # rank by rank: sums within a group see no rounding of other groups
        open_ = np.flatnonzero((median < 0) & (length > place))
        pair = first[open_] + place
        reached[open_] += mass[pair]
        last = length[open_] == place + 1  # regardless of rounding
        done = (2.0 * reached[open_] >= total[open_]) | last
        median[open_[done]] = rank[pair[done]]
    return median


def _pairs(
    groups: NDArray[Any], codes: NDArray[Any], count: int, weights: Floats | None
) -> tuple[Ints, Ints, NDArray[Any]]:
    """Return the pairs of group and code that occur, in ascending order, and their frequency (by weight)."""
    keys, inverse = np.unique(groups.astype(np.int64) * count + codes, return_inverse=True)
    mass = np.bincount(inverse.reshape(-1), weights)
    return keys // count, keys % count, mass


def _replace_labels(
    made: Replacement, label: Labels, old: nw.Series[Any], partition: KPartition, weights: Floats | None
) -> None:
    """Replace labels by the lower median or mode of the group, taken from a record, so that the column keeps its type.

    Categories that no group has any more are removed from the type.
    """
    count = len(label.texts)
    pick = lower_medians if label.kind == "ordinal" else modes
    new = pick(partition.labels, label.codes, count, weights)[partition.labels]
    moved = np.abs(new - label.codes)
    made.series[label.name] = used_categories(old[label.rows[new]])
    facts: dict[str, Any] = {"kind": label.kind}
    made.per_column[label.name] = facts
    if label.kind == "ordinal":
        loss = information_loss(label.codes[:, None].astype(np.float64), new[:, None].astype(np.float64), weights)
        facts |= {"loss": loss.information_loss, "changed": float((moved > 0).mean())}
        facts["changed_by_more_than_one"] = float((moved > 1).mean())
    else:
        loss = nominal_loss(label.codes, moved > 0, weights)
        facts |= {"loss": loss.information_loss, "impurity": 100.0 * _impurity(label, partition, weights)}
        facts["changed"] = float((moved > 0).mean())
    made.losses[label.name] = loss


def _impurity(label: Labels, partition: KPartition, weights: Floats | None) -> float:
    """Return the share of the column's Gini impurity within the groups, which the search minimizes."""
    gini = label.gini(weights)
    if gini == 0.0:
        return 0.0
    group, _, mass = _pairs(partition.labels, label.codes, len(label.texts), weights)
    total = np.bincount(group, mass)
    within = float(total.sum() - (np.bincount(group, mass.astype(np.float64) ** 2) / total).sum())
    return within / float(total.sum()) / gini
