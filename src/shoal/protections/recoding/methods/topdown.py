"""Cuts from the top that are scored by the loss of their two sides, on a sample of the records of a node."""

from __future__ import annotations

from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.protections.recoding.task import RecodingTask


def topdown(task: RecodingTask, control: Control) -> KPartition:
    """Return groups that are cut in two, each time at the cut of least loss, while both sides keep k and the rules."""
    return KPartition(task.loss.cut_groups(task.settings.seed))
