"""Peel: for the nodes of taxonomies, the classes of the cheapest generalization that have k records, again and again.

all combinations of one level per column, by their mean loss over all records
for each: every class of at least k of the records that are left becomes a group
records that are left at the end join the group where they cost least
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from shoal.arrays import Ints
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError
from shoal.protections.recoding.columns import TreeColumn
from shoal.protections.recoding.task import RecodingTask

MOST = 20_000  # combinations of levels


def peel(task: RecodingTask, control: Control) -> KPartition:
    """Return the groups of peel."""
    columns = [column for column in task.columns if isinstance(column, TreeColumn)]
    if len(columns) < len(task.columns):
        raise UsageError("The method peel needs taxonomies: use --loss nodes, or another method.")
    levels = [column.tree.ids.shape[0] for column in columns]
    if math.prod(levels) > MOST:
        raise UsageError(
            f"The method peel would try {math.prod(levels):,} combinations of levels, and {MOST:,} are the most. Name "
            "fewer columns, use taxonomies with fewer levels, or use --method search."
        )
    shares = [np.bincount(c.codes.codes, minlength=c.tree.ids.shape[1]) / task.n for c in columns]
    cost = [
        part * (column.tree.losses * share).sum(axis=1)
        for part, column, share in zip(task.parts, columns, shares, strict=True)
    ]
    chosen = sorted(
        itertools.product(*map(range, levels)), key=lambda vector: sum(c[v] for c, v in zip(cost, vector, strict=True))
    )
    labels, left, groups = np.full(task.n, -1, dtype=np.int64), np.arange(task.n), 0
    for vector in chosen:
        control.check()
        if left.size < task.k:
            break
        sub, sizes = _classes(columns, vector, left)
        good = task.keeps(_spread(task.n, left, sub))[: sizes.size] if task.rules.integers.size else sizes >= task.k
        number = np.cumsum(good) - 1 + groups
        kept = good[sub]
        labels[left[kept]] = number[sub[kept]]
        groups += int(good.sum())
        left = left[~kept]
    return KPartition(_joined(task, labels, left, groups, control))


def _classes(columns: list[TreeColumn], vector: tuple[int, ...], left: Ints) -> tuple[Ints, Ints]:
    """Return the class of each record that is left at a level per column, and the sizes of the classes."""
    label = np.zeros(left.size, dtype=np.int64)
    for column, level in zip(columns, vector, strict=True):
        if level > 0:
            ids = column.tree.ids[level][column.codes.codes[left]]
            pairs = label * (int(ids.max()) + 1) + ids
            label = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return label, np.bincount(label)


def _spread(n: int, left: Ints, sub: Ints) -> Ints:
    """Return the classes of the records that are left, and one more for all others."""
    labels = np.full(n, int(sub.max()) + 1, dtype=np.int64)
    labels[left] = sub
    return labels


def _joined(task: RecodingTask, labels: Ints, left: Ints, groups: int, control: Control) -> Ints:
    """Give each record that is left to the group of its nearest record; without groups, all are one."""
    if groups == 0:
        return np.zeros(task.n, dtype=np.int64)
    placed = np.flatnonzero(labels >= 0)
    for record in left:
        control.check()
        labels[record] = labels[placed[int(task.loss.distances(int(record), placed).argmin())]]
    return labels
