"""Losses of groups that must keep l-diversity and t-closeness: the search never makes a group that breaks a rule.

l and t never get worse when groups are joined. The first groups are therefore those of the loss without rules, in
which each group that breaks a rule is joined with its nearest one, until all keep the rules. Groups may then have more
than 2k - 1 records, as many as the largest of the first groups.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.partition.kernels.rules import GroupRules, check_groups
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError
from shoal.protections.class_rules import NOT_DIVERSE
from shoal.protections.microaggregation.kernels.squares import RuledSquares
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.units import merged


class RuledLoss(GroupLoss):
    """A loss of groups with rules; without rules, every group is allowed.

    start: the first groups, which keep the rules; None for those of `first_groups`.
    """

    rules: GroupRules
    start: Ints | None = None

    @property
    def has_rules(self) -> bool:
        return bool(self.rules.integers.size)

    @property
    def starts_whole(self) -> bool:  # type: ignore[override]
        return self.start is not None

    def start_from_kept(self) -> None:
        """Find first groups that keep the rules, and make room for the largest; without rules, do nothing.

        Raises UsageError if not even all records as one group keep the rules.
        """
        if self.has_rules:
            self.start = self.kept(self.first_groups().labels)
            self.most = max(self.most, int(np.bincount(self.start).max()))

    def kept(self, labels: Ints) -> Ints:
        """Return groups that keep the rules: each one that breaks a rule is joined with its nearest group."""
        if not self.allowed(np.zeros(self.n, dtype=np.int64))[0]:
            raise UsageError(NOT_DIVERSE)
        return merged(KPartition(labels), self.embedded, self._lacking, self.weights).labels

    def _lacking(self, labels: Ints) -> Ints:
        """Return the size of each group that breaks a rule, -1 for the others."""
        return np.where(self.allowed(labels), -1, np.bincount(labels))

    def allowed(self, labels: NDArray[Any]) -> Bools:
        """Return which groups of a partition keep the rules."""
        return self._allowed(np.argsort(labels, kind="stable"), np.bincount(labels))

    def _allowed(self, records: NDArray[Any], sizes: NDArray[Any]) -> Bools:
        """Return which groups keep the rules; they follow each other in the array of records."""
        keeps = np.ones(sizes.size, dtype=np.int8)
        if self.has_rules:
            starts = (np.cumsum(sizes) - sizes).astype(np.int32)
            order = np.ascontiguousarray(records, dtype=np.int32)[None]
            check_groups(self.rules, order, starts, sizes.astype(np.int32), keeps)
        return np.asarray(keeps > 0)

    def costs(self, labels: NDArray[Any]) -> Floats:
        costs = self._costs(labels)
        return np.where(self.allowed(labels), costs, np.inf) if self.has_rules else costs

    def costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        costs = self._costs_of(groups)
        if not self.has_rules or not groups:
            return costs
        return np.where(self._allowed(np.concatenate(groups), np.array([len(g) for g in groups])), costs, np.inf)

    def first(self) -> KPartition:
        return self.first_groups() if self.start is None else KPartition(self.start)

    def keep_records_only(self) -> None:
        """Keep everything: groups that break a rule are joined by their points."""

    def reordered(self, order: Any, *, in_place: bool = False) -> Any:
        part = self.part(order)
        part.most = self.most
        part.start = None if self.start is None else self.start[order]
        return part

    def rules_of(self, rows: Any) -> GroupRules:
        """Return the rules for some of the records."""
        return self.rules._replace(confidential=np.ascontiguousarray(self.rules.confidential[rows]))

    def rule_kernels(self) -> list[Any]:
        """Return the kernel that checks the rules, if there are rules."""
        return [(check_groups, self.rules)] if self.has_rules else []

    @property
    @abstractmethod
    def embedded(self) -> Floats:
        """Points of the records, near ones for records that cost little together."""

    @abstractmethod
    def part(self, rows: Any) -> RuledLoss:
        """Return the same loss on some of the records."""

    @abstractmethod
    def first_groups(self) -> KPartition:
        """Return groups of k to 2k - 1 records, regardless of the rules."""

    @abstractmethod
    def _costs(self, labels: NDArray[Any]) -> Floats:
        """Return the cost of each group of a partition, regardless of the rules."""

    @abstractmethod
    def _costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        """Return the cost of each of some groups, regardless of the rules."""


class RuledSquaredError(RuledLoss, SquaredError):
    """The sum of squared distances to the centroids, of groups that keep rules."""

    looks_around = False  # the variants of groups would break the rules

    def __init__(
        self,
        values: Floats,
        k: int,
        rules: GroupRules,
        weights: Floats | None = None,
        *,
        origin: NDArray[Any] | None = None,
    ) -> None:
        SquaredError.__init__(self, values, k, weights, origin=origin)
        self.rules = rules
        self.marker = RuledSquares(*rules)

    @property
    def embedded(self) -> Floats:
        return self.values

    @property
    def identity(self) -> Sequence[NDArray[Any]]:
        return (*super().identity, *self.rules)

    def part(self, rows: Any) -> RuledSquaredError:
        weights = self._weighting_of(rows)
        return RuledSquaredError(self.values[rows], self.k, self.rules_of(rows), weights, origin=self.origin)

    def kernels(self) -> list[Any]:
        return [*super().kernels(), *self.rule_kernels()]

    def first_groups(self) -> KPartition:
        return SquaredError.first(self)

    def _costs(self, labels: NDArray[Any]) -> Floats:
        return SquaredError.costs(self, labels)

    def _costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        return SquaredError.costs_of(self, groups)
