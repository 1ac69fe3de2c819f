"""The losses of recoding as the search over partitions takes them: intervals and value sets, or nodes of taxonomies.

A cost is a whole number: a cell that loses everything costs its column's part of FULL, and the parts of all columns add
up to FULL. Therefore sums are exact, and equal groups have equal costs in any order of their records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.control import current
from shoal.engine.partition.kernels.greedy import cut_from_top, greedy_groups, neighbours_in_order
from shoal.engine.partition.kernels.groups import Groups, empty_groups
from shoal.engine.partition.kernels.rules import GroupRules, no_rules
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.neighbours import neighbours_in_orders, random_sort_key
from shoal.engine.partition.partition import KPartition
from shoal.protections.recoding.effort import rebuilds
from shoal.protections.recoding.kernels.tree_nodes import LANES, TreeNodes
from shoal.protections.recoding.kernels.value_sets import ValueSets

FULL = 1 << 30  # what a record costs that loses everything
ORDERS = 8  # random orders in which records are compared
LARGE, FEWER_ORDERS = 200_000, 4  # more records than that are compared in fewer orders
REACH = 10  # records compared with each one, per order
COARSE = 8  # intervals of an ordered column by which records are sorted first
BOTH_UP_TO = 60_000  # numbers of a file up to which cuts from the top are tried as first groups too
WORD = 64  # names that the bits of a word hold
SAMPLE, CUTS = 300, 3  # records that decide a cut, and random cuts that are tried per column
COARSE_NODE = 1_000  # up to so many records, fewer decide it: the cut only sets their order in memory


class RecodingLoss(GroupLoss):
    """What the losses of recoding share. `records` has one row per record; the first `ordered` columns have an order.

    ease: how far the nearest records are, by record; greedy groups begin where it is least. whole: how many records
    the file has of which these are a part.
    """

    first_name = "greedy groups"
    is_rebuilt = True
    ordered: int
    rules: GroupRules
    ease: Floats | None = None
    whole: int = 0

    @property
    def rule_room(self) -> int:  # type: ignore[override]
        return int(self.rules.integers[:, 1].max(initial=0))

    @property
    def total(self) -> float:
        return float(self.costs(np.zeros(self.n, dtype=np.int64))[0])

    @property
    def rounding(self) -> float:
        return 0.0

    def of(self, partition: KPartition) -> float:
        return float(self.costs(partition.labels).sum())

    def costs_of(self, groups: Sequence[NDArray[Any]]) -> Floats:
        labels = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        return self.part(np.concatenate(groups)).costs(labels)

    def state(self) -> Groups:
        """Return room for groups of the records."""
        return empty_groups(self.records, self.weights, self.k, self.most, self.width, self.summary_type)

    def first(self) -> KPartition:
        if self.rules.integers.size:
            return KPartition(self.cut_groups(0))
        ease = self.neighbours(self.k + 5, seed=0, threads=1)[1] if self.ease is None else self.ease
        seeds = np.argsort(ease, kind="stable").astype(np.int32)
        labels = greedy_groups(self.marker, self.state(), seeds, current().flag)
        current().check()
        greedy = KPartition(labels.astype(np.int64))
        if max(self.n, self.whole) * self.records.shape[1] > BOTH_UP_TO:
            return greedy
        cut = KPartition(self._of_most(self.cut_groups(0)))
        return greedy if self.of(greedy) <= self.of(cut) else cut

    def _of_most(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the same groups, each with more than `most` records in parts of k or a few more."""
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels)
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        parts = np.where(sizes > self.most, sizes // self.k, 1)
        part = place * parts[labels] // sizes[labels]
        return np.asarray(np.unique(labels * self.n + part, return_inverse=True)[1].reshape(-1), dtype=np.int64)

    def cut_groups(self, seed: int) -> NDArray[np.int64]:
        """Return labels of groups that were cut at the least loss, until no cut leaves k records on both sides."""
        random_state = np.random.default_rng(seed).integers(2**64, size=1, dtype=np.uint64)
        order = np.arange(self.n, dtype=np.int32)
        starts = self._cut(order, self.k, 2 * self.k - 1, random_state, 500, 4, 0)
        labels = np.empty(self.n, dtype=np.int64)
        labels[order] = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        return labels

    def neighbours(self, count: int, *, seed: int, threads: int) -> tuple[Indices, Floats]:
        count = min(count, self.n - 1)
        rng = np.random.default_rng(seed)
        count_of_orders = 1 if self.n <= REACH else ORDERS if self.n <= LARGE else FEWER_ORDERS
        keys = (random_sort_key(self._keys, rng) for _ in range(count_of_orders))
        orders = (np.argsort(key, kind="stable") for key in keys)
        near, far = neighbours_in_orders(self.marker, self.state(), orders, REACH, count)
        self.ease = far[:, : max(1, min(self.k - 1, count))].max(axis=1)
        return near, np.where(np.isfinite(self.ease), self.ease, float(FULL))

    def leaves(self, most: int, random_state: int) -> tuple[Indices, Indices]:
        order = np.arange(self.n, dtype=np.int32)
        return order, self._cut(order, 1, most, np.array([random_state], dtype=np.uint64), SAMPLE, CUTS, COARSE_NODE)

    def _cut(
        self,
        order: Indices,
        fewest: int,
        most: int,
        random_state: NDArray[np.uint64],
        sample: int,
        cuts: int,
        coarse: int,
    ) -> Indices:
        starts: Indices = cut_from_top(
            *(self.marker, self.state(), order, self.ordered, fewest, most, sample, cuts),
            *(coarse, self.rule_room if fewest > 1 else 0, random_state, current().flag),
        )
        current().check()
        return starts

    def points(self, g: Groups) -> Floats:
        return np.ascontiguousarray(self.records[g.member[:, 0]], dtype=np.float64)

    def proposals(self, effort: str) -> int:
        return rebuilds(self.n, self.k, effort)

    def large_proposals(self, effort: str) -> int:
        return rebuilds(self.n, self.k, effort)

    def kernels(self) -> list[Any]:
        g = empty_groups(self.records[:4], self.weights[:4], 2, 3, 4, self.summary_type)
        return [(kernel, self.marker, g) for kernel in (neighbours_in_order, cut_from_top, greedy_groups)]

    @abstractmethod
    def part(self, rows: Any) -> RecodingLoss:
        """Return the same loss on some of the records."""

    @abstractmethod
    def _key_columns(self) -> list[tuple[Any, int]]:
        """Return small codes of the records by which they are sorted, each with its number of bits."""

    @cached_property
    def _keys(self) -> list[tuple[Any, int]]:
        return [(codes.astype(np.uint64), bits) for codes, bits in self._key_columns()]

    def _taken(self, rows: Any) -> GroupRules:
        """Return the rules for some of the records."""
        return self.rules._replace(confidential=np.ascontiguousarray(self.rules.confidential[rows]))


@dataclass(frozen=True, eq=False)
class SetColumn:
    """A column of positions (ordered) or of codes of names.

    codes: positions from 0 to the cost of losing everything, -1 for missing; or the codes of names. unit: the cost of
    one more name. values: the number of names; 0 for positions.
    """

    codes: NDArray[Any]
    unit: int = 0
    values: int = 0

    @property
    def kind(self) -> int:
        """0 for positions, 1 for names that fit into one word, 2 for others."""
        return 0 if not self.values else 1 if self.values <= WORD else 2


class ValueSetLoss(RecodingLoss):
    """The width of the interval, or the number of names, that a group covers in each column."""

    summary_type = np.int64

    def __init__(self, columns: Sequence[SetColumn], k: int, rules: GroupRules | None = None) -> None:
        columns = sorted(columns, key=lambda column: column.kind)
        self.column_cost = FULL / len(columns)
        self.values = np.array([column.values for column in columns], dtype=np.int64)
        self.unit = np.array([column.unit for column in columns], dtype=np.int64)
        self.ordered = sum(column.kind == 0 for column in columns)
        self.narrow = sum(column.kind <= 1 for column in columns)
        words = np.array([1 if column.kind < 2 else -(-column.values // WORD) for column in columns], dtype=np.int64)
        ends = 1 + self.ordered + np.cumsum(words)
        self.place, self.width = ends - words, int(ends[-1])
        records = np.column_stack([column.codes for column in columns]).astype(np.int64)
        records[:, self.ordered : self.narrow] = np.int64(1) << records[:, self.ordered : self.narrow]
        self._hold(records, k, rules)

    def _hold(self, records: NDArray[np.int64], k: int, rules: GroupRules | None) -> None:
        self.records = np.ascontiguousarray(records)
        self.k, self.most = k, 2 * k - 1
        self.weights = np.ones(len(self.records))
        self.rules = no_rules(len(self.records)) if rules is None else rules
        self.marker = ValueSets(self.unit, self.place, self.ordered, self.narrow, *self.rules)

    @property
    def identity(self) -> Sequence[NDArray[Any]]:
        return (self.records, self.unit, self.rules.confidential, self.rules.floats, self.rules.integers)

    def costs(self, labels: NDArray[Any]) -> Floats:
        count = int(labels.max()) + 1
        per_record = np.zeros(count, dtype=np.int64)
        for c, values in enumerate(self.records.T):
            if c < self.ordered:
                present = values >= 0
                low, high = np.full(count, FULL + 1), np.full(count, -1)
                np.minimum.at(low, labels[present], values[present])
                np.maximum.at(high, labels[present], values[present])
                per_record += np.where(high >= 0, high - low, 0)
            else:
                codes = np.unique(values, return_inverse=True)[1].reshape(-1)
                pairs = np.unique(labels.astype(np.int64) * self.n + codes)
                distinct = np.bincount(pairs // self.n, minlength=count)
                per_record += np.maximum(distinct - 1, 0) * self.unit[c]
        return np.asarray(per_record * np.bincount(labels, minlength=count), dtype=np.float64)

    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        one, rest = self.records[record], self.records[others]
        wide = np.abs(rest - one) * ((rest >= 0) & (one >= 0))
        gap = np.where(np.arange(one.size) < self.ordered, wide, (rest != one) * self.unit)
        return np.asarray(gap.sum(axis=1), dtype=np.float64)

    def part(self, rows: Any) -> ValueSetLoss:
        part = object.__new__(ValueSetLoss)
        part.__dict__.update(self.__dict__)
        part.__dict__.pop("_keys", None)
        part.whole = max(self.n, self.whole)
        part._hold(self.records[rows], self.k, self._taken(rows))
        part.ease = None if self.ease is None else self.ease[rows]
        return part

    def _key_columns(self) -> list[tuple[Any, int]]:
        columns: list[tuple[Any, int]] = []
        for c, values in enumerate(self.records.T):
            if c < self.ordered:
                largest = max(1, int(values.max(initial=0)))
                columns.append(((values + 1) * COARSE // (largest + 2), COARSE.bit_length() - 1))
                shift = max(0, largest.bit_length() - 15)
                columns.append(((values + 1) >> shift, 16))
            elif c < self.narrow:
                columns.append((np.log2(values.view(np.uint64)), 6))
            else:
                columns.append((values, int(self.values[c] - 1).bit_length()))
        return columns


@dataclass(frozen=True, eq=False)
class NodeColumn:
    """A column of values below the nodes of a taxonomy.

    levels: for each level below the root, the number of the node above each value. costs: for each level, from the root
    on, the cost of the node above each value. codes: the value of each record.
    """

    codes: Indices
    levels: NDArray[np.int32]
    costs: NDArray[np.int64]


class NodeLoss(RecodingLoss):
    """The share of the leaves under the lowest node of a taxonomy that covers a group, in each column."""

    summary_type = np.int32
    ordered = 0

    def __init__(self, columns: Sequence[NodeColumn], k: int, rules: GroupRules | None = None) -> None:
        self.column_cost = FULL / len(columns)
        ids, rises = [], []
        for column in columns:
            step = (column.costs[:-1] - column.costs[1:]).astype(np.int32)
            for level, rise in zip(column.levels, step, strict=True):
                if rise.any():
                    ids.append(level[column.codes])
                    rises.append(rise[column.codes])
        order = np.argsort([-float(rise.sum()) for rise in rises], kind="stable")  # what costs most comes first
        width = max(LANES, -(-len(ids) // LANES) * LANES)
        records = np.zeros((columns[0].codes.size, width), dtype=np.int32)
        kept = np.zeros_like(records)
        for place, c in enumerate(order):
            records[:, place], kept[:, place] = ids[c], rises[c]
        self._hold(records, kept, k, rules)

    def _hold(self, records: NDArray[Any], rises: NDArray[Any], k: int, rules: GroupRules | None) -> None:
        self.records = np.ascontiguousarray(records, dtype=np.int32)
        self.rises = np.ascontiguousarray(rises, dtype=np.int32)
        self.k, self.most = k, 2 * k - 1
        self.width = 1 + 2 * self.records.shape[1]
        self.weights = np.ones(len(self.records))
        self.rules = no_rules(len(self.records)) if rules is None else rules
        self.marker = TreeNodes(self.rises, *self.rules)

    @property
    def identity(self) -> Sequence[NDArray[Any]]:
        return (self.records, self.rises, self.rules.confidential, self.rules.floats, self.rules.integers)

    def costs(self, labels: NDArray[Any]) -> Floats:
        count = int(labels.max()) + 1
        first = np.zeros(count, dtype=np.int64)
        first[labels[::-1]] = np.arange(self.n - 1, -1, -1)
        differs = self.records != self.records[first[labels]]
        per_record = np.zeros(count, dtype=np.int64)
        for c in range(self.records.shape[1]):
            is_left = np.bincount(labels, differs[:, c], minlength=count) > 0
            per_record += np.where(is_left, self.rises[first, c], 0)
        return np.asarray(per_record * np.bincount(labels, minlength=count), dtype=np.float64)

    def distances(self, record: int, others: NDArray[Any]) -> Floats:
        differs = self.records[others] != self.records[record]
        return np.asarray((differs * self.rises[record].astype(np.int64)).sum(axis=1), dtype=np.float64)

    def part(self, rows: Any) -> NodeLoss:
        part = object.__new__(NodeLoss)
        part.column_cost, part.whole = self.column_cost, max(self.n, self.whole)
        part._hold(self.records[rows], self.rises[rows], self.k, self._taken(rows))
        part.ease = None if self.ease is None else self.ease[rows]
        return part

    def _key_columns(self) -> list[tuple[Any, int]]:
        most = self.records.max(axis=0)
        return [(self.records[:, c], max(1, int(most[c]).bit_length())) for c in range(self.records.shape[1])]
