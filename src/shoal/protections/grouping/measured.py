"""Loss and risk of the values that a column grouping writes, rounded values included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import shielded
from shoal.measures.anonymity import k_anonymity
from shoal.measures.evidence import Evidence, evidence_of_numbers
from shoal.measures.linkage import Linkage, linkage_on_all, linkage_over_sets, linkage_with
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, columns_of
from shoal.protections.grouping.record_groups import RecordGroups
from shoal.protections.microaggregation.protect import replaced


@dataclass(frozen=True, eq=False)
class Measured:
    """The protected values of a column grouping, with their loss and risk.

    within_groups: how the records were grouped, search or mdav. evaluation: loss and risk; its intruder holds all
    columns. over_sets: the linkage averaged over sets of columns.
    by_intruder: the linkage by an intruder who holds the columns that the user names. smallest_group: the size of the
    smallest record group inside a column group. joint_k: the smallest number of records that share all values.
    """

    values: Floats
    within_groups: str
    evaluation: Evaluation
    over_sets: Linkage
    by_intruder: Linkage | None
    smallest_group: int
    joint_k: int

    def facts(self) -> dict[str, Any]:
        """Loss and risk by their names in the JSON output."""
        evaluation = self.evaluation
        by_intruder = (
            {} if self.by_intruder is None else {"distance_linkage_intruder_columns": self.by_intruder.percent}
        )
        return {
            "fitness": evaluation.fitness,
            "information_loss": evaluation.information_loss,
            "interval_disclosure": evaluation.interval_disclosure,
            "distance_linkage": self.over_sets.percent,
            "distance_linkage_std": self.over_sets.deviation,
            "distance_linkage_sets": self.over_sets.sets,
            "distance_linkage_all_columns": evaluation.distance_linkage,
            **by_intruder,
            "linkage_error": evaluation.error,
        }

    def baseline(self) -> dict[str, Any]:
        """The facts that a comparison needs."""
        evaluation = self.evaluation
        return {
            "fitness": evaluation.fitness,
            "information_loss": evaluation.information_loss,
            "risk": evaluation.risk,
            "distance_linkage_all_columns": evaluation.distance_linkage,
            "joint_k": self.joint_k,
        }


class Measuring:
    """Makes the protected values of column groupings in the units of the columns, and measures them.

    groups: the ways to group the records inside a column group; the one with the lowest fitness is used. rounded: the
    numbers of the columns that are written as integers. intruder: the columns that an intruder
    holds, by number; () if the user names none.
    """

    def __init__(
        self,
        values: Floats,
        cost: GroupingCost,
        groups: Sequence[RecordGroups],
        rounded: Sequence[int],
        intruder: Sequence[int],
    ) -> None:
        self._values, self._cost, self._groups = values, cost, groups
        self._rounded, self._intruder = list(rounded), list(intruder)
        self._measured: dict[Grouping, Measured] = {}

    def measured(self, grouping: Grouping) -> Measured:
        """The values of a grouping, with their loss and risk. It is finished even if the run is stopped."""
        best = self._measured.get(grouping)
        if best is None:
            measured = [self._measured_with(groups, grouping) for groups in self._groups]
            best = min(measured, key=lambda one: (not self.keeps_floor(one), one.evaluation.fitness))
            self._measured[grouping] = best
        return best

    def keeps_floor(self, measured: Measured) -> bool:
        """Whether the values keep the floor of the search."""
        return self._cost.floor.accepts(measured.joint_k, measured.evaluation.distance_linkage)

    def _measured_with(self, groups: RecordGroups, grouping: Grouping) -> Measured:
        values, smallest = self._protected(groups, grouping)
        return shielded(partial(self._measure, values, groups.method, smallest))

    def _protected(self, groups: RecordGroups, grouping: Grouping) -> tuple[Floats, int]:
        """The protected values, and the size of the smallest record group."""
        values, smallest = np.empty_like(self._values), len(self._values)
        for group in grouping:
            columns, partition = columns_of(group), groups.partition(group)
            values[:, columns] = replaced(self._values[:, columns], partition, "mean", None)
            smallest = min(smallest, int(partition.sizes.min()))
        for j in self._rounded:
            values[:, j] = np.rint(values[:, j]) + 0.0  # -0.2 becomes 0.0, not -0.0
        return values, smallest

    def _measure(self, values: Floats, method: str, smallest: int) -> Measured:
        convention, threads = self._cost.convention.name, self._cost.threads
        evidence = evidence_of_numbers(self._values, values, convention=convention, threads=threads)
        return Measured(
            values,
            method,
            _evaluation_of(evidence),
            linkage_over_sets(evidence),
            linkage_with(evidence, [self._intruder]) if self._intruder else None,
            smallest,
            k_anonymity([np.ascontiguousarray(values[:, j]) for j in range(values.shape[1])]),
        )


def _evaluation_of(evidence: Evidence) -> Evaluation:
    linkage = linkage_on_all(evidence)
    loss, disclosure = evidence.number("information_loss"), evidence.number("interval_disclosure")
    return Evaluation(loss, disclosure, linkage.percent, linkage.error)
