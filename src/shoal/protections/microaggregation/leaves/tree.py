"""A tree that divides records into leaves of about the same size; only a sample of the records is needed to build it.

A node is cut along the line through two distant records of the sample, at a quantile of the projections. Projections
are summed column by column, never by a linear algebra library, so that every worker computes the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints

PAIRS = 25  # of records, of which the most distant pair gives the direction of a cut


@dataclass(frozen=True, eq=False)
class Tree:
    """The cuts of a tree. Node i sends a record to `left[i]` if its projection is at most `cuts[i]`.

    Otherwise it sends the record to `right[i]`. A negative number -1 - l stands for leaf l. Leaves whose numbers are
    neighbours are neighbours in the tree.
    """

    lines: Floats
    cuts: Floats
    left: Indices
    right: Indices
    leaves: int

    def leaf_of(self, points: Floats) -> Indices:
        """Return the leaf of each point."""
        leaf = np.zeros(len(points), dtype=np.int32)
        if self.leaves == 1:
            return leaf
        stack: list[tuple[int, Ints]] = [(0, np.arange(len(points)))]
        while stack:
            node, rows = stack.pop()
            goes_left = _projected(points, rows, self.lines[node]) <= self.cuts[node]
            for child, chosen in ((self.left[node], rows[goes_left]), (self.right[node], rows[~goes_left])):
                if child < 0:
                    leaf[chosen] = -1 - child
                elif chosen.size:
                    stack.append((int(child), chosen))
        return leaf


def build_tree(sample: Floats, leaves: int, seed: int, number: int) -> Tree:
    """Return a tree with so many leaves; trees of different numbers have different cuts."""
    rng = np.random.default_rng([seed, number])
    lines: list[NDArray[np.float64]] = []
    cuts: list[float] = []
    left: list[int] = []
    right: list[int] = []

    def grow(rows: Ints, first: int, count: int) -> int:
        """Return the number of the node, or the leaf, that holds these rows of the sample."""
        if count == 1:
            return -1 - first
        node = len(cuts)
        line = _direction(sample, rows, rng)
        projections = _projected(sample, rows, line)
        share = count // 2
        ranked = np.sort(projections)
        cut = float(ranked[max(0, min(ranked.size - 1, ranked.size * share // count - 1))]) if ranked.size else 0.0
        lines.append(line)
        cuts.append(cut)
        left.append(0)
        right.append(0)
        goes_left = projections <= cut
        left[node] = grow(rows[goes_left], first, share)
        right[node] = grow(rows[~goes_left], first + share, count - share)
        return node

    grow(np.arange(len(sample)), 0, leaves)
    width = sample.shape[1]
    return Tree(
        np.array(lines).reshape(len(cuts), width), np.array(cuts), np.array(left, np.int32), np.array(right, np.int32),
        leaves,
    )  # fmt: skip


def _direction(sample: Floats, rows: Ints, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the difference of the most distant of some random pairs of records."""
    if rows.size < 2:
        return rng.standard_normal(sample.shape[1])
    pairs = rows[rng.integers(rows.size, size=(PAIRS, 2))]
    apart = sample[pairs[:, 0]] - sample[pairs[:, 1]]
    squares = np.zeros(PAIRS)
    for j in range(sample.shape[1]):
        squares += apart[:, j] * apart[:, j]
    return np.asarray(apart[int(squares.argmax())], dtype=np.float64)


def _projected(points: Floats, rows: Ints, line: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(rows.size)
    for j, factor in enumerate(line):
        total += factor * points[rows, j]
    return total
