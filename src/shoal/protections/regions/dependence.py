"""Columns that are tied to the regions: next to them every swap is visible.

A column follows the regions if each region has one value of it, such as its country. A column fixes the regions if each
of its values lies in one region, such as a town or the number of a household. A swapped record then contradicts the
other column. The measure is Goodman and Kruskal's lambda (1954): the share of wrong guesses that knowing one column
avoids.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Ints

TIED_LAMBDA = 0.9  # smallest lambda of a tied column
MIN_REPEATED = 10  # smallest number of records with a repeated value in a column that can fix the regions


def tie(region: Ints, column: Ints) -> str | None:
    """Return how a column is tied to the regions: "follows", "fixes" or None; both have codes from 0."""
    if int(column.max(initial=0)) == 0:
        return None
    if lambda_of(region, column) >= TIED_LAMBDA:
        return "follows"
    is_repeated = np.bincount(column)[column] > 1
    if int(is_repeated.sum()) >= MIN_REPEATED and lambda_of(column[is_repeated], region[is_repeated]) >= TIED_LAMBDA:
        return "fixes"
    return None


def lambda_of(known: Ints, guessed: Ints) -> float:
    """Return Goodman and Kruskal's lambda, 0 to 1: how much knowing `known` helps to guess `guessed`.

    If a value of `known` has few records, most of them agree with some guess by chance. So one record per value of
    `known` does not count.
    """
    width = int(guessed.max(initial=0)) + 1
    pairs, counts = np.unique(known.astype(np.int64) * width + guessed, return_counts=True)
    first = np.concatenate([[True], pairs[1:] // width != pairs[:-1] // width])
    best = np.maximum.reduceat(counts, np.flatnonzero(first))
    sizes = np.add.reduceat(counts, np.flatnonzero(first))
    overall = int(np.bincount(guessed).max())
    several = sizes > 1
    right, all_ = int((best[several] - 1).sum()), int((sizes[several] - 1).sum())
    chance = overall / guessed.size
    return 0.0 if all_ == 0 or chance >= 1.0 else (right / all_ - chance) / (1.0 - chance)
