"""The loss of mixed columns as the search takes it: shares of variance, of rank distance and of changed labels.

    number, date    squared distances to the means of the groups, relative to those to the mean of all records
    ordinal         rank distances to the medians of the groups, relative to those to the median of all records,
                    times RANK
    nominal         labels that differ from the modes of their groups, relative to those that would differ from the
                    labels of random records, times LABEL

The loss is the sum over the columns, each times its importance. With RANK and LABEL no kind of column pays for another:
each keeps about as much as with sums of squares of indicators. No column per value is needed, so that a nominal column
may have thousands of them. No group of 2k or more records costs less than its parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.control import current
from shoal.engine.partition.inputs import as_weights
from shoal.engine.partition.kernels.greedy import greedy_groups, neighbours_in_order
from shoal.engine.partition.kernels.groups import Groups, empty_groups, padded
from shoal.engine.partition.kernels.rules import GroupRules, no_rules
from shoal.engine.partition.kernels.trees import cut
from shoal.engine.partition.neighbours import leaves, neighbours_in_orders, random_sort_key
from shoal.engine.partition.partition import KPartition
from shoal.protections.microaggregation.effort import changes_proposals, large_changes_proposals
from shoal.protections.microaggregation.kernels.changes import Changes, block_width
from shoal.protections.microaggregation.replacement import lower_medians, modes
from shoal.protections.microaggregation.ruled import RuledLoss
from shoal.table.mixed import MixedColumns

EXACT_UP_TO = 2_000  # records up to which every pair is compared
ORDERS = 16  # random orders in which records are compared, half of them by sorting, half by trees
RANK, LABEL = 0.5, 1.1  # what the loss of a whole ordinal or nominal column counts, relative to one of numbers
BLOCK = 1_000  # records per block of the first groups
DIRECTIONS = 4  # numbers that stand for a nominal column in a random tree, at most
COARSE_BITS, FINE_BITS = 3, 10  # of a number in the key of a sort


class ChangedCells(RuledLoss):
    """The shares of variance, of rank distance and of changed labels that groups lose. See the text of this module.

    records: the scaled numbers, then the ranks, then the codes of the labels. unit: what one rank or one changed label
    costs.
    """

    first_name = "greedy groups"

    def __init__(
        self,
        numbers: Floats,
        ranks: NDArray[Any],
        codes: NDArray[Any],
        k: int,
        *,
        weights: Floats | None = None,
        importance: Sequence[float] | None = None,
        rules: GroupRules | None = None,
    ) -> None:
        n = len(numbers)
        held = as_weights(weights, n)
        factors = np.ones(numbers.shape[1] + ranks.shape[1] + codes.shape[1])
        if importance is not None:
            factors[:] = importance
        moved = numbers - np.average(numbers, axis=0, weights=held) if numbers.size else numbers
        squares = (held[:, None] * moved**2).sum(axis=0)
        scale = np.sqrt(np.divide(factors[: squares.size], squares, out=np.zeros_like(squares), where=squares > 0))
        self.numbers, self.ordered = numbers.shape[1], numbers.shape[1] + ranks.shape[1]
        self.unit = factors.copy()
        for c, column in enumerate(ranks.T, start=self.numbers):
            whole = _rank_distance(column, held)
            self.unit[c] = RANK * factors[c] / whole if whole > 0 else 0.0
        for c, column in enumerate(codes.T, start=self.ordered):
            whole = _labels_differing(column, held)
            self.unit[c] = LABEL * factors[c] / whole if whole > 0 else 0.0
        records = np.column_stack([moved * scale, ranks, codes]).astype(np.float64)
        self.rules = no_rules(n) if rules is None else rules
        self.k, self.most = k, 2 * k - 1
        self._hold(records, held)

    def _hold(self, records: Floats, weights: Floats) -> None:
        self.records = np.ascontiguousarray(records)
        self.weights = np.ascontiguousarray(weights)
        self.marker = Changes(self.unit, self.numbers, self.ordered, *self.rules)

    @property
    def width(self) -> int:  # type: ignore[override]
        return 1 + self.numbers + (self.records.shape[1] - self.numbers) * block_width(self.most)

    @property
    def total(self) -> float:
        return self.of(KPartition(np.zeros(self.n, dtype=np.int64)))

    @property
    def rounding(self) -> float:
        return 1e-14 * self.total / self.n

    @property
    def identity(self) -> Sequence[NDArray[Any]]:
        return (self.records, self.weights, self.unit, np.array([self.numbers, self.ordered]), *self.rules)

    def of(self, partition: KPartition) -> float:
        return float(self._costs(partition.labels).sum())

    def _costs(self, labels: NDArray[Any]) -> Floats:
        count = int(labels.max()) + 1
        w = self.weights
        mass = np.bincount(labels, w, minlength=count)
        costs = np.zeros(count)
        for c, values in enumerate(self.records.T):
            if c < self.numbers:
                centre = np.bincount(labels, w * values, minlength=count) / np.where(mass > 0, mass, 1.0)
                costs += np.bincount(labels, w * (values - centre[labels]) ** 2, minlength=count)
                continue
            used, codes = np.unique(values, return_inverse=True)
            # Groups without records are left out: medians and modes are those of groups that exist.
            groups = np.unique(labels, return_inverse=True)[1].reshape(-1)
            if c < self.ordered:
                middle = used[lower_medians(groups, codes.reshape(-1), used.size, w)]
                lost = np.abs(values - middle[groups])
            else:
                most = used[modes(groups, codes.reshape(-1), used.size, w)]
                lost = (values != most[groups]).astype(np.float64)
            costs += self.unit[c] * np.bincount(labels, w * lost, minlength=count)
        return costs

    def _costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        labels = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        return self.part(np.concatenate(groups))._costs(labels) if len(groups) else np.empty(0)

    def first_groups(self) -> KPartition:
        if self.n < 2 * self.k:
            return KPartition(np.zeros(self.n, dtype=np.int64))
        labels, groups = np.empty(self.n, dtype=np.int64), 0
        for rows in self._blocks(max(BLOCK, 20 * self.k)):
            current().check()
            part = self.part(rows)
            ease = part.neighbours(self.k + 5, seed=0, threads=1)[1]
            seeds = np.argsort(ease, kind="stable").astype(np.int32)
            labels[rows] = groups + greedy_groups(part.marker, part.state(), seeds, current().flag)
            current().check()
            groups = int(labels[rows].max()) + 1
        return KPartition(labels)

    def _blocks(self, size: int) -> list[Indices]:
        """Return the records in blocks of about so many near ones, each with at least k."""
        count = max(1, self.n // size)
        if count == 1:
            return [np.arange(self.n, dtype=np.int32)]
        order, _ = self.leaves(max(2, size // 16), 0)
        return np.array_split(order, count)

    def state(self) -> Groups:
        """Return room for groups of the records."""
        return empty_groups(self.records, self.weights, self.k, self.most, self.width, self.summary_type)

    def neighbours(self, count: int, *, seed: int, threads: int) -> tuple[Indices, Floats]:
        count = min(count, self.n - 1)
        reach = self.n if self.n <= EXACT_UP_TO else max(10, count)  # enough to fill every list
        near, far = neighbours_in_orders(self.marker, self.state(), self._orders(seed), reach, count)
        return near, 2.0 * self.weights * far[:, min(self.k, count) - 1]

    def _orders(self, seed: int) -> Iterator[NDArray[np.int64]]:
        if self.n <= EXACT_UP_TO:
            yield np.arange(self.n)
            return
        rng = np.random.default_rng(seed)
        for _ in range(ORDERS // 2):
            yield np.argsort(random_sort_key(self._keys, rng), kind="stable")
            yield self.leaves(8, int(rng.integers(2**63)))[0].astype(np.int64)

    @cached_property
    def _keys(self) -> list[tuple[NDArray[np.uint64], int]]:
        """Small codes of the columns, by which records are sorted: numbers and ranks twice, coarse and fine."""
        keys = []
        for c, values in enumerate(self.records.T):
            codes = np.unique(values, return_inverse=True)[1].reshape(-1)
            if c >= self.ordered:
                keys.append((codes.astype(np.uint64), max(1, int(codes.max()).bit_length())))
                continue
            rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
            first = np.full(int(codes.max()) + 1, self.n)
            np.minimum.at(first, codes, rank)  # equal values have equal keys
            keys += [((first[codes] << bits) // self.n, bits) for bits in (COARSE_BITS, FINE_BITS)]
        return [(codes.astype(np.uint64), bits) for codes, bits in keys]

    def leaves(self, most: int, random_state: int) -> tuple[Indices, Indices]:
        return leaves(self.embedded, most, random_state)

    @cached_property
    def embedded(self) -> Floats:
        """Points whose squared distances are about the costs of pairs: each label stands for a few random numbers."""
        rng = np.random.default_rng(0)
        columns = [self.records[:, : self.numbers]]
        for c in range(self.numbers, self.records.shape[1]):
            values, codes = np.unique(self.records[:, c], return_inverse=True)
            size = np.sqrt(self.unit[c] * max(1.0, float(np.ptp(values))) if c < self.ordered else self.unit[c])
            if c < self.ordered:
                columns.append((values / max(1.0, float(np.ptp(values))))[codes.reshape(-1)][:, None] * size)
                continue
            width = min(DIRECTIONS, values.size)
            columns.append(rng.normal(size=(values.size, width))[codes.reshape(-1)] * size / np.sqrt(width))
        return padded(np.column_stack(columns))

    def points(self, g: Groups) -> Floats:
        return np.ascontiguousarray(self.embedded[g.member[:, 0]])

    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        one, rest = self.records[record], self.records[others]
        gaps = np.abs(rest - one)
        place = np.arange(one.size)
        costs = np.where(place < self.numbers, gaps**2 / 2, np.where(place < self.ordered, gaps, gaps > 0) * self.unit)
        return np.asarray(costs.sum(axis=1))

    def part(self, rows: Any) -> ChangedCells:
        part = object.__new__(ChangedCells)
        part.__dict__.update(self.__dict__)
        for name in ("embedded", "_keys"):
            part.__dict__.pop(name, None)
        part.start, part.most = None, 2 * self.k - 1
        part.rules = self.rules_of(rows)
        part._hold(self.records[rows], self.weights[rows])
        if "embedded" in self.__dict__:
            part.__dict__["embedded"] = self.embedded[rows]
        return part

    def proposals(self, effort: str) -> int:
        return changes_proposals(self.n, self.k, effort)

    def large_proposals(self, effort: str) -> int:
        return large_changes_proposals(self.n, effort)

    def kernels(self) -> list[Any]:
        g = empty_groups(self.records[:4], self.weights[:4], 2, 3, 4, self.summary_type)
        return [
            *((kernel, self.marker, g) for kernel in (neighbours_in_order, greedy_groups)),
            cut,
            *self.rule_kernels(),
        ]


def changed_cells(
    columns: MixedColumns,
    k: int,
    weights: Floats | None,
    importance: Mapping[str, float] | None,
    rules: GroupRules | None,
) -> ChangedCells:
    """Return the loss of the columns of a table."""
    ordinal = [label for label in columns.labels.values() if label.kind == "ordinal"]
    nominal = [label for label in columns.labels.values() if label.kind != "ordinal"]
    n = columns.table.rows
    names = [*columns.measured, *(label.name for label in (*ordinal, *nominal))]
    factors = columns.factors(importance or {})
    return ChangedCells(
        columns.values,
        _side_by_side([label.codes for label in ordinal], n),
        _side_by_side([label.codes for label in nominal], n),
        k,
        weights=weights,
        importance=[factors[name] ** 2 for name in names],
        rules=rules,
    )


def _side_by_side(columns: Sequence[NDArray[Any]], n: int) -> NDArray[Any]:
    return np.column_stack(columns) if columns else np.zeros((n, 0))


def _rank_distance(ranks: NDArray[Any], weights: Floats) -> float:
    """Return the distances of all ranks to their median."""
    together = np.zeros(ranks.size, dtype=np.int64)
    used, codes = np.unique(ranks, return_inverse=True)
    middle = used[lower_medians(together, codes.reshape(-1), used.size, weights)][0]
    return float((weights * np.abs(ranks - middle)).sum())


def _labels_differing(codes: NDArray[Any], weights: Floats) -> float:
    """Return how many labels would differ from those of random records: the records times the Gini impurity."""
    masses = np.bincount(codes.astype(np.int64), weights)
    return float((masses * (1.0 - masses / masses.sum())).sum())
