"""A tree that divides records into leaves of about the same size; only a sample of the records is needed to build it.

A node is cut across a line through two distant records of the sample. Of some lines, and of some places near the
quantile that makes leaves of the same size, the cut is where the fewest records are near: groups cannot cross it in one
search. Projections are summed column by column, never by a linear algebra library, so that every worker computes the
same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.folders.leaves import LeafTree

PAIRS = 25  # of records, of which the most distant pairs give the directions of a cut
LINES = 4  # that are tried
MARGIN = 0.1  # share of the records of a node by which a cut may differ from the quantile
NEAR = 0.02  # distance of a record that counts as near a cut, in standard deviations along the longest line


@dataclass(frozen=True, eq=False)
class Tree(LeafTree):
    """The cuts of a tree. Node i sends a record to the left if its projection is at most `cuts[i]`."""

    lines: Floats
    cuts: Floats

    def goes_left(self, node: int, points: NDArray[Any], rows: Ints) -> Bools:
        """Return which of the rows a node sends to the left."""
        return np.asarray(_projected(points, rows, self.lines[node]) <= self.cuts[node])


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
        share = count // 2
        line, projections, cut = _sparsest(sample, rows, _directions(sample, rows, rng), share / count)
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
        np.array(left, np.int32), np.array(right, np.int32), leaves, np.array(lines).reshape(len(cuts), width),
        np.array(cuts),
    )  # fmt: skip


def _directions(sample: Floats, rows: Ints, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Return the differences of the most distant of some random pairs of records, each of length 1."""
    if rows.size < 2:
        return [rng.standard_normal(sample.shape[1])]
    pairs = rows[rng.integers(rows.size, size=(PAIRS, 2))]
    apart = sample[pairs[:, 0]] - sample[pairs[:, 1]]
    squares = np.zeros(PAIRS)
    for j in range(sample.shape[1]):
        squares += apart[:, j] * apart[:, j]
    longest = np.argsort(-squares, kind="stable")[:LINES]
    return [apart[i] / max(float(np.sqrt(squares[i])), 1e-300) for i in longest]


def _sparsest(
    sample: Floats, rows: Ints, lines: list[NDArray[np.float64]], share: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the line, the projections and the cut with the fewest records near it, about a share of them below it."""
    projected = [_projected(sample, rows, line) for line in lines]
    if not rows.size:
        return lines[0], projected[0], 0.0
    width = NEAR * max(float(part.std()) for part in projected)
    low, high = (max(0, min(rows.size - 1, int(rows.size * (share + by)) - 1)) for by in (-MARGIN, MARGIN))
    best = None
    for line, part in zip(lines, projected, strict=True):
        ranked = np.sort(part)
        upper = ranked[np.minimum(np.arange(low, high + 1) + 1, rows.size - 1)]
        middles = (ranked[low : high + 1] + upper) / 2
        near = np.searchsorted(ranked, middles + width) - np.searchsorted(ranked, middles - width)
        chosen = np.flatnonzero(near == near.min())
        place = int(chosen[np.argmin(np.abs(chosen - middles.size // 2))])  # the nearest to the quantile
        if best is None or near[place] < best[0]:
            best = int(near[place]), line, part, float(middles[place])
    assert best is not None
    return best[1:]


def _projected(points: Floats, rows: Ints, line: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(rows.size)
    for j, factor in enumerate(line):
        total += factor * points[rows, j]
    return total
