"""Columns that are tied to the regions: beside them every swap is seen.

A column follows the regions if each region has one value of it (the country of a district), and fixes them if each of
its values lies in one region (a town, a household's number). A swapped record then contradicts its other column.
The measure is Goodman and Kruskal's lambda (1954): the share of wrong guesses that knowing the one column saves.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Ints

TIED = 0.9  # lambda from which on a column counts as tied
ENOUGH = 10  # records whose value occurs more than once, to tell whether the values lie in one region each


def tie(region: Ints, column: Ints) -> str | None:
    """How a column is tied to the regions: "follows", "fixes" or None; both hold codes from 0."""
    if int(column.max(initial=0)) == 0:
        return None
    if lambda_of(region, column) >= TIED:
        return "follows"
    often = np.bincount(column)[column] > 1
    if int(often.sum()) >= ENOUGH and lambda_of(column[often], region[often]) >= TIED:
        return "fixes"
    return None


def lambda_of(known: Ints, guessed: Ints) -> float:
    """Goodman and Kruskal's lambda: how much better `guessed` is guessed where `known` is known; 0 to 1.

    Of a value of `known` with few records most would agree with some guess by chance: one guess per value is paid for.
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
