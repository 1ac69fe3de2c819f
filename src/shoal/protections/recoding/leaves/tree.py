"""A tree that divides records by the values of one column at a time; only a sample of them is needed to build it.

A node is cut where the groups of its two sides could lose least: of some random cuts of each column that leave enough
of the sample on both sides, the one with the least loss of the sides. A tree of a later round prefers columns that the
one before did not cut first, so that its borders are elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Indices, Ints
from shoal.folders.leaves import LeafTree
from shoal.protections.recoding.columns import OrderedColumn, RecodedColumn, TreeColumn
from shoal.protections.recoding.losses import RecodingLoss

UP_TO, ONE = -2, -1  # levels of a rule that does not read a taxonomy
TRIED = 3  # random cuts per column
MARGIN = 0.25  # share of the sample on the smaller side of a cut, at least, if any cut has it
SCORED = 500  # records of the sample that score a cut
Tables = Mapping[tuple[int, int], Indices]  # the node above each value, by column and level


class Rule(NamedTuple):
    """Which records a node sends to the left: those whose code in a column is `value` or, for UP_TO, at most that.

    With a level of a taxonomy, those whose node on that level is `value`.
    """

    column: int
    level: int
    value: int

    def holds(self, codes: NDArray[Any], tables: Tables) -> Bools:
        """Return for which of these codes of the column it holds."""
        if self.level == UP_TO:
            return np.asarray(codes <= self.value)
        if self.level == ONE:
            return np.asarray(codes == self.value)
        return np.asarray(tables[self.column, self.level][codes] == self.value)


@dataclass(frozen=True, eq=False)
class CutTree(LeafTree):
    """A tree over the codes of the columns. rules: by node. tables: the taxonomies that the rules read."""

    rules: tuple[Rule, ...]
    tables: Tables

    def goes_left(self, node: int, points: NDArray[Any], rows: Ints) -> Bools:
        """Return which of the rows a node sends to the left."""
        rule = self.rules[node]
        return rule.holds(points[rows, rule.column], self.tables)

    def columns_cut_first(self) -> list[int]:
        """Return the columns that it cuts, those nearest the root first."""
        return list(dict.fromkeys(rule.column for rule in self.rules))


def build_tree(
    columns: Sequence[RecodedColumn],
    points: NDArray[Any],
    loss: RecodingLoss,
    leaves: int,
    seed: int,
    number: int,
    avoided: Collection[int] = (),
) -> CutTree:
    """Return a tree with so many leaves, or fewer if nothing is left to cut.

    Args:
        points: The codes of the sample, a column for each column.
        loss: The loss of the sample.
        number: The number of the tree; trees of different numbers have different cuts.
        avoided: Columns that are cut only if no other column can be.
    """
    rng = np.random.default_rng([seed, number])
    rules: list[Rule] = []
    left: list[int] = []
    right: list[int] = []
    tables: dict[tuple[int, int], Indices] = {}
    ended = 0

    def grow(rows: Ints, count: int) -> int:
        """Return the number of the node, or the leaf, that holds these rows of the sample."""
        nonlocal ended
        rule = _cheapest(columns, points, loss, rows, rng, avoided) if count > 1 else None
        if rule is None:
            ended += 1
            return -ended
        if rule.level >= 0:
            column = columns[rule.column]
            assert isinstance(column, TreeColumn)
            tables[rule.column, rule.level] = column.tree.ids[rule.level]
        node = len(rules)
        rules.append(rule)
        left.append(0)
        right.append(0)
        goes_left = rule.holds(points[rows, rule.column], tables)
        share = min(max(round(count * goes_left.mean()), 1), count - 1)
        left[node] = grow(rows[goes_left], share)
        right[node] = grow(rows[~goes_left], count - share)
        return node

    grow(np.arange(len(points)), leaves)
    return CutTree(np.array(left, np.int32), np.array(right, np.int32), ended, tuple(rules), tables)


def _cheapest(
    columns: Sequence[RecodedColumn],
    points: NDArray[Any],
    loss: RecodingLoss,
    rows: Ints,
    rng: np.random.Generator,
    avoided: Collection[int],
) -> Rule | None:
    """Return the cut with the least loss of its two sides; None if all records are equal."""
    if rows.size < 2:
        return None
    chosen = np.sort(rng.choice(rows, SCORED, replace=False)) if rows.size > SCORED else rows
    part = loss.part(chosen)
    sides: list[tuple[bool, bool, float, int, Rule]] = []
    for j, column in enumerate(columns):
        for rule in _drawn(column, j, points[chosen, j], rng):
            codes = points[chosen, j]
            here = rule.holds(codes, _tables(column, rule))
            share = min(here.mean(), 1 - here.mean())
            if share > 0:
                cost = float(part.costs(here.astype(np.int64)).sum())
                sides.append((share < MARGIN, j in avoided, -share if share < MARGIN else cost, len(sides), rule))
    return min(sides)[-1] if sides else None


def _tables(column: RecodedColumn, rule: Rule) -> Tables:
    return {(rule.column, rule.level): column.tree.ids[rule.level]} if isinstance(column, TreeColumn) else {}


def _drawn(column: RecodedColumn, j: int, codes: NDArray[Any], rng: np.random.Generator) -> list[Rule]:
    """Return random cuts of a column: near the middle of an order, one name from all others, or one node."""
    if isinstance(column, TreeColumn):
        levels = range(1, column.tree.ids.shape[0])
        return [
            Rule(j, level, int(column.tree.ids[level][codes[rng.integers(codes.size)]]))
            for level in levels
            for _ in range(TRIED)
        ]
    ranked = np.sort(codes)
    places = rng.uniform(MARGIN, 1 - MARGIN, size=TRIED) * codes.size
    rules = [Rule(j, UP_TO, int(ranked[int(place)])) for place in places]
    if not isinstance(column, OrderedColumn):
        rules += [Rule(j, ONE, int(codes[rng.integers(codes.size)])) for _ in range(TRIED)]
    return rules
