"""Column groupings by correlation, as people make them: correlated columns together or apart (GOMM thesis).

Correlated columns together lose little information, because records that are near in one are near in the other.
Correlated columns apart give an intruder less to combine.
"""

from __future__ import annotations

import itertools

import numpy as np

from shoal.arrays import Floats
from shoal.errors import UsageError
from shoal.measures.columns import correlations
from shoal.protections.grouping.grouping import Grouping, canonical, group_of


def by_correlation(values: Floats, size: int, *, together: bool) -> Grouping:
    """Column groups of `size` columns (the last may be smaller), with strong or with weak correlations.

        while columns are left: start with the pair that is correlated most (least), and
            add the column with the highest (lowest) mean correlation to the group, until it has `size`
    The sign of a correlation does not count. A constant column has correlation 0 with every other.
    """
    return canonical([group_of(group) for group in _greedy(values, size, together)])


def dealt_out(values: Floats, size: int) -> Grouping:
    """Column groups of `size` columns that are weakly correlated.

        deal the correlated groups out: the first column of each, the second of each, and so on
        cut this sequence into groups of `size`
    This rule gives the published groups of uncorrelated columns from the published groups of correlated ones.
    """
    return canonical([group_of(group) for group in deal(_greedy(values, size, together=True), size)])


def deal(groups: list[list[int]], size: int) -> list[list[int]]:
    """Deal sorted groups out and cut the sequence into groups of `size`.

    >>> deal([[2, 4, 6, 7], [5, 10, 11, 12], [1, 3, 8, 9]], 4)
    [[2, 5, 1, 4], [10, 3, 6, 11], [8, 7, 12, 9]]
    """
    turns = itertools.zip_longest(*map(sorted, groups))
    sequence = [column for turn in turns for column in turn if column is not None]
    return [sequence[i : i + size] for i in range(0, len(sequence), size)]


def _greedy(values: Floats, size: int, together: bool) -> list[list[int]]:
    """The groups of `by_correlation` in the order in which they are found."""
    d = values.shape[1]
    if not 1 <= size <= d:
        raise UsageError(f"size must be between 1 and {d} (the number of columns), not {size}.")
    strength = np.abs(np.nan_to_num(correlations(values)))  # a constant column has no correlation: 0 instead of NaN
    strength = strength if together else -strength
    left, groups = list(range(d)), []
    while left:
        group = _seed_pair(strength, left) if size > 1 and len(left) > 1 else left[:1]
        while len(group) < min(size, len(left)):
            rest = [column for column in left if column not in group]
            group.append(max(rest, key=lambda column: float(strength[column, group].mean())))
        left = [column for column in left if column not in group]
        groups.append(group)
    return groups


def _seed_pair(strength: Floats, left: list[int]) -> list[int]:
    """The pair of columns with the greatest strength."""
    inside = strength[np.ix_(left, left)].copy()
    inside[np.tril_indices(len(left))] = -np.inf
    a, b = np.unravel_index(int(inside.argmax()), inside.shape)
    return [left[int(a)], left[int(b)]]
