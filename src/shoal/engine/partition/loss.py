"""What the groups of a partition cost: the one thing that a search over partitions is handed in.

A `GroupLoss` holds the records of one search in the form that its kernels take. Its `marker` chooses the compiled
functions that tell the change of every move (`kernels/losses.py`). A group that the loss forbids costs infinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.partition.kernels.groups import Groups
from shoal.engine.partition.partition import KPartition


class GroupLoss(ABC):
    """The loss of groups of k to `most` of the records; a compiled group has a row of `width` numbers.

    first_name: what `first` is called in a report. looks_around: whether `variants` finds groups.
    """

    marker: Any
    k: int
    most: int
    width: int
    records: NDArray[Any]
    weights: Floats
    first_name: str
    looks_around: bool = False

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.records.shape[0])

    @property
    @abstractmethod
    def total(self) -> float:
        """The loss of one group of all records: what 100 % is."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """What rounding can make of a change at most, per record: a smaller gain does not count."""

    @property
    @abstractmethod
    def identity(self) -> Sequence[NDArray[Any]]:
        """The arrays that distinguish this loss from that of another file; the first has a row for each record."""

    @abstractmethod
    def of(self, partition: KPartition) -> float:
        """The loss of a partition."""

    @abstractmethod
    def costs(self, labels: NDArray[Any]) -> Floats:
        """The cost of each group of a partition; equal to the last bit for equal groups."""

    @abstractmethod
    def costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        """The cost of each of some groups, which may overlap."""

    @abstractmethod
    def first(self) -> KPartition:
        """A partition to start from, of finite loss, into groups of k to `most`."""

    @abstractmethod
    def neighbours(self, count: int, *, seed: int, threads: int) -> tuple[Indices, Floats]:
        """The `count` nearest records of each, nearest first, and each record's own scale of loss."""

    @abstractmethod
    def leaves(self, most: int, word: int) -> tuple[Indices, Indices]:
        """The records in an order in which near ones are near, and where each leaf of `most` starts, with the end."""

    @abstractmethod
    def points(self, g: Groups) -> Floats:
        """A point for each group of a state, near ones for groups alike; rows padded to a multiple of four."""

    @abstractmethod
    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        """How far the other records are from a record."""

    @abstractmethod
    def part(self, rows: Any) -> GroupLoss:
        """The same loss on some of the records."""

    @abstractmethod
    def proposals(self, effort: str) -> int:
        """The moves that an effort proposes in all."""

    @abstractmethod
    def large_proposals(self, effort: str) -> int:
        """The moves that an effort proposes in all for a large file."""

    def reordered(self, order: Indices) -> GroupLoss:
        """The same loss with the records in another order."""
        return self.part(order)

    def kernels(self) -> list[Any]:
        """The kernels that the loss calls itself, to be compiled ahead."""
        return []

    def variants(
        self, groups: Sequence[NDArray[Any]], near: Indices, duals: Floats, limit: float, count: int
    ) -> list[Indices]:
        """Groups like these whose cost above their records' duals is below the limit: `count` for each at most."""
        return []
