"""The record groups inside each column group: those of the search of `shoal microaggregate`, or those of MDAV."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import current, shielded
from shoal.engine.partition.partition import KPartition
from shoal.errors import Stopped
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.grouping import columns_of
from shoal.protections.microaggregation.methods import group_records


class RecordGroups:
    """Forms the record groups of column groups, once per column group.

    effort: the search budget of the method `auto` of `shoal microaggregate`; None for MDAV. A column group that the
    search does not reach before it is stopped has the record groups of MDAV: `unsearched` counts them.
    """

    def __init__(self, cost: GroupingCost, scaled: Floats, effort: str | None, seed: int = 0) -> None:
        self._cost, self._scaled = cost, scaled
        self._effort, self._seed = effort, seed
        self._partitions: dict[int, KPartition] = {}
        self.unsearched = 0

    @property
    def method(self) -> str:
        """search or mdav."""
        return "mdav" if self._effort is None else "search"

    def partition(self, group: int) -> KPartition:
        """The record groups of one column group."""
        partition = self._partitions.get(group)
        if partition is None:
            partition = self._partitions[group] = self._search(group) or self._by_mdav(group)
        return partition

    def _search(self, group: int) -> KPartition | None:
        """The record groups of the search; None without a search, and if it was stopped before it had any."""
        if self._effort is None:
            return None
        control = current()
        number = len(self._partitions) + 1
        values = np.ascontiguousarray(self._scaled[:, columns_of(group)])

        def show(done: float, total: float, best: float | None = None, what: str = "") -> None:
            control.show(done, total, best, f"record groups, search {number}")

        part = control.part(progress=show)
        with suppress(Stopped):
            part.check()
            return group_records("auto", values, self._cost.k, seed=self._seed, control=part, effort=self._effort)
        self.unsearched += 1
        return None

    def _by_mdav(self, group: int) -> KPartition:
        labels = shielded(partial(self._cost.labels, group))
        return KPartition(labels.astype(np.int64))
