"""The default method: groups that are rebuilt again and again (`engine/partition/search/rebuild.py`).

Records whose class has k records already, and keeps the rules, are left as they are. With l or t, a group may need more
than 2k - 1 records: such groups stay as the cuts from the top made them.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Ints
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.rebuild import rebuild
from shoal.protections.recoding.task import RecodingTask


def search(task: RecodingTask, control: Control) -> KPartition:
    """Return the groups of the search, and the classes that need none."""
    classes = task.classes
    fixed = task.keeps(classes)[classes]
    left = np.flatnonzero(~fixed)
    labels = classes.copy()
    if 0 < left.size < task.k or (left.size and not _keeps_all(task, left)):
        left = _with_nearest_class(task, classes, left)
    if not left.size:
        return KPartition(labels, {"proposals": 0})
    offset = int(classes.max()) + 1
    loss, start = task.loss.part(left), None
    if task.rules.integers.size:
        cut = loss.cut_groups(task.settings.seed)
        small = np.bincount(cut)[cut] <= loss.most
        labels[left] = offset + cut
        left, start, offset = left[small], cut[small], offset + int(cut.max()) + 1
        if left.size < 2 * task.k:
            return KPartition(labels, {"proposals": 0})
        loss = task.loss.part(left)
    partition = rebuild(loss, control, task.settings, start, task.rebuilds(loss.n))
    labels[left] = offset + partition.labels
    return KPartition(labels, partition.facts)


def improve(task: RecodingTask, groups: KPartition, control: Control) -> KPartition:
    """Return better groups, from groups of at least k that keep the rules. Groups without loss stay as they are."""
    fixed = (task.loss.costs(groups.labels) == 0) | (groups.sizes > task.loss.most)
    left = np.flatnonzero(~fixed[groups.labels])
    if left.size < 2 * task.k:
        return groups
    loss, start = task.loss.part(left), groups.labels[left]
    partition = rebuild(loss, control, task.settings, start, task.rebuilds(loss.n))
    labels = groups.labels.copy()
    labels[left] = groups.groups + partition.labels
    return KPartition(labels, partition.facts)


def _keeps_all(task: RecodingTask, rows: Ints) -> bool:
    """Return whether these records keep the rules as one group."""
    labels = np.ones(task.n, dtype=np.int64)
    labels[rows] = 0
    return bool(task.keeps(labels)[0]) if rows.size < task.n else True


def _with_nearest_class(task: RecodingTask, classes: Ints, left: Ints) -> Ints:
    """Return the records that are left, with those of near classes, until they can be grouped."""
    chosen = left
    while chosen.size < task.k or not _keeps_all(task, chosen):
        others = np.setdiff1d(np.arange(task.n), chosen)
        if not others.size:
            break
        nearest = others[int(task.loss.distances(int(left[0]), others).argmin())]
        chosen = np.union1d(chosen, np.flatnonzero(classes == classes[nearest]))
    return chosen
