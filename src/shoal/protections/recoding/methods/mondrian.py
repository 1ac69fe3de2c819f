"""Strict Mondrian: cuts at the median of the widest column, until no cut leaves k records on both sides."""

from __future__ import annotations

import numpy as np

from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.protections.recoding.kernels.mondrian import median_cuts
from shoal.protections.recoding.task import RecodingTask


def mondrian(task: RecodingTask, control: Control) -> KPartition:
    """Return the groups of strict Mondrian (LeFevre, DeWitt and Ramakrishnan 2006)."""
    values, named = task.cut_values()
    most = int(values[:, named].max(initial=0))
    labels = median_cuts(task.rules, values, named.astype(np.uint8), most, task.k, task.loss.rule_room, control.flag)
    control.check()
    return KPartition(labels.astype(np.int64))
