"""What a method of recoding gets: the columns, k, the rules, and the loss that the search lowers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.partition.kernels.rules import GroupRules, keeps_rules
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.protections.recoding.columns import OrderedColumn, RecodedColumn, TreeColumn
from shoal.protections.recoding.effort import rebuilds
from shoal.protections.recoding.losses import FULL, NodeLoss, RecodingLoss, ValueSetLoss


@dataclass(frozen=True, eq=False)
class RecodingTask:
    """Columns whose combinations must occur at least k times.

    Attributes:
        settings: The settings of the search.
        whole: The records of the table of which these are a part; the work per record depends on it.
        share: The share of that work.
    """

    columns: Sequence[RecodedColumn]
    k: int
    kind: str
    rules: GroupRules
    settings: SearchSettings
    whole: int | None = None
    share: float = 1.0

    def rebuilds(self, n: int) -> int:
        """Return how many times groups of n of the records are rebuilt."""
        parts = 1.0 if self.whole is None else self.whole / self.n
        return max(1, int(self.share * rebuilds(round(n * parts), self.k, self.settings.effort) / parts))

    @property
    def n(self) -> int:
        return int(self.columns[0].codes.codes.size)

    @cached_property
    def parts(self) -> Floats:
        """What losing a whole column costs a record, as shares of FULL."""
        weights = np.array([column.weight for column in self.columns])
        total = weights.sum()
        return np.asarray(weights / total if total > 0 else np.full(weights.size, 1.0 / weights.size))

    @cached_property
    def loss(self) -> RecodingLoss:
        parts = [float(np.floor(part * FULL)) for part in self.parts]
        pairs = list(zip(self.columns, parts, strict=True))
        if self.kind == "nodes":
            return NodeLoss([c.node_column(part) for c, part in pairs if isinstance(c, TreeColumn)], self.k, self.rules)
        columns: Any = [c for c, _ in pairs]
        made = [one for column, part in zip(columns, parts, strict=True) for one in column.set_columns(part)]
        return ValueSetLoss(made, self.k, self.rules)

    @cached_property
    def classes(self) -> Ints:
        """The equivalence class of each record before recoding."""
        label = np.zeros(self.n, dtype=np.int64)
        for column in self.columns:
            pairs = label * len(column.codes.values) + column.codes.codes
            label = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return label

    def keeps(self, labels: Ints) -> Bools:
        """Return which groups have at least k records and keep the rules."""
        sizes = np.bincount(labels)
        good = sizes >= self.k
        if self.rules.integers.size:
            order = np.argsort(labels, kind="stable").astype(np.int32)
            counts = np.zeros(self.loss.rule_room, dtype=np.int64)
            for group, members in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
                good[group] &= bool(keeps_rules(self.rules, members[None], np.array([members.size]), 0, counts))
        return np.asarray(good)

    def cut_values(self) -> tuple[Floats, Bools]:
        """Return the values by which Mondrian cuts, and which columns hold names."""
        values = []
        for column in self.columns:
            codes = column.codes.codes.astype(np.float64)
            if isinstance(column, OrderedColumn):
                codes = np.append(column.positions, column.positions.min(initial=0.0) - 1.0)[column.codes.codes]
            elif isinstance(column, TreeColumn):  # neighbouring leaves are near in the tree
                rank = np.lexsort(column.tree.ids[::-1])
                place = np.empty(rank.size)
                place[rank] = np.arange(float(rank.size))
                codes = place[column.codes.codes]
            values.append(codes)
        named = [not isinstance(column, OrderedColumn | TreeColumn) for column in self.columns]
        return np.ascontiguousarray(np.column_stack(values)), np.array(named)
