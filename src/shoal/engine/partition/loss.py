"""The loss of the groups of a partition: the parameter of every search over partitions.

A `GroupLoss` holds the records of one search in the form that its kernels take. Its `marker` chooses the compiled
functions that compute the change of every move (`kernels/losses.py`). A group that the loss forbids costs infinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.partition.kernels.groups import Groups
from shoal.engine.partition.partition import KPartition


class GroupLoss(ABC):
    """The loss of groups of k to `most` records; a compiled group has a row of `width` numbers.

    summary_type: the type of these numbers. first_name: the name of `first` in a report. looks_around: whether
    `variants` finds groups. starts_whole: whether `first` needs all records at once, so that a search must not call it
    for blocks of them. is_rebuilt: whether the search rebuilds whole groups instead of moving single records.
    rule_room: the numbers that its rules need to check a group. column_cost: what a record costs that loses one column,
    for the temperatures of the search that rebuilds groups.
    """

    marker: Any
    k: int
    most: int
    width: int
    records: NDArray[Any]
    weights: Floats
    first_name: str
    summary_type: Any = np.float64
    looks_around: bool = False
    starts_whole: bool = False
    is_rebuilt: bool = False
    rule_room: int = 0
    column_cost: float = np.inf

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.records.shape[0])

    @property
    def record_type(self) -> Any:
        """The type of the numbers of the records."""
        return self.records.dtype

    @property
    @abstractmethod
    def total(self) -> float:
        """The loss of one group of all records, which counts as 100 %."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """The largest rounding error of a change, per record: a smaller gain does not count."""

    @property
    @abstractmethod
    def identity(self) -> Sequence[NDArray[Any]]:
        """The arrays that distinguish this loss from that of another file; the first has one row per record."""

    @abstractmethod
    def of(self, partition: KPartition) -> float:
        """Return the loss of a partition."""

    @abstractmethod
    def costs(self, labels: NDArray[Any]) -> Floats:
        """Return the cost of each group of a partition; identical bits for equal groups."""

    @abstractmethod
    def costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        """Return the cost of each of some groups, which may overlap."""

    @abstractmethod
    def first(self) -> KPartition:
        """Return a partition of finite loss into groups of k to `most`, to start from."""

    @abstractmethod
    def neighbours(self, count: int, *, seed: int, threads: int) -> tuple[Indices, Floats]:
        """Return the `count` nearest records of each, nearest first, and the scale of the loss around each record."""

    @abstractmethod
    def leaves(self, most: int, random_state: int) -> tuple[Indices, Indices]:
        """Return an order that keeps near records together, and where leaves of `most` records start, with the end."""

    @abstractmethod
    def points(self, g: Groups) -> Floats:
        """Return a point for each group of a state, near ones for similar groups; rows padded to a multiple of four."""

    @abstractmethod
    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        """Return the distances of the other records from a record."""

    @abstractmethod
    def part(self, rows: Any) -> GroupLoss:
        """Return the same loss on some of the records."""

    @abstractmethod
    def proposals(self, effort: str) -> int:
        """Return the number of moves that an effort proposes in all."""

    @abstractmethod
    def large_proposals(self, effort: str) -> int:
        """Return the number of moves that an effort proposes in all for a large file."""

    def reordered(self, order: Indices, *, in_place: bool = False) -> GroupLoss:
        """Return the same loss with the records in another order; in place, this loss may become unusable."""
        return self.part(order)

    def keep_records_only(self) -> None:  # noqa: B027 -- most losses hold nothing else
        """Free what only the first partition needs, and no later step in a large file."""

    def kernels(self) -> list[Any]:
        """Return the kernels that the loss itself calls, to be compiled before the search."""
        return []

    def variants(
        self, groups: Sequence[NDArray[Any]], near: Indices, duals: Floats, limit: float, count: int
    ) -> list[Indices]:
        """Return variants of these groups whose reduced cost is below the limit, at most `count` for each."""
        return []
