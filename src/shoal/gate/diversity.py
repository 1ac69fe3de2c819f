"""l-diversity and t-closeness of a confidential column, from the counts of (class, value) pairs.

l after Machanavajjhala et al. 2007, t after Li, Li and Venkatasubramanian 2007. The code visits only values that occur
in a class, so that a column with a million distinct numbers costs no more than one with two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import Floats, Ints
from shoal.gate.cells import Classes, codes


class Pairs(NamedTuple):
    """The (class, value) pairs that occur, in ascending order: the class, the value's code, the number of records."""

    group: Ints
    value: Ints
    records: Ints
    starts: Ints  # the first pair of each class


def diversity(classes: Classes, column: pl.Series, kind: str, c: float) -> float:
    """Return the l of the least diverse class; infinite if every row is suppressed."""
    pairs = _pairs(classes, codes(column))
    if not pairs.records.size:
        return float("inf")
    if kind == "distinct":
        return float(np.diff(pairs.starts, append=pairs.records.size).min())
    if kind == "entropy":
        share = pairs.records / classes.sizes[pairs.group]
        return float(np.exp(np.add.reduceat(-share * np.log(share), pairs.starts).min()))
    return _recursive(pairs, c)


def farthest(classes: Classes, column: pl.Series, distance: str) -> float:
    """Return the largest distance of a class from the whole table.

    The distance "equal" is half the sum of the differences of shares; "ordered" also counts how far ranks must move.
    """
    distinct, coded = np.unique(codes(column), return_inverse=True)
    coded = coded.reshape(-1)
    return farthest_from(classes, coded, np.bincount(coded, minlength=distinct.size) / coded.size, distance)


def farthest_from(classes: Classes, coded: Ints, whole: Floats, distance: str) -> float:
    """Return the largest distance of a class from a table with these shares of the values; codes count from 0."""
    pairs = _pairs(classes, coded)
    if not pairs.records.size or whole.size < 2:
        return 0.0
    share = pairs.records / classes.sizes[pairs.group]
    if distance == "equal":
        over = np.abs(share - whole[pairs.value]) - whole[pairs.value]
        return float((np.add.reduceat(over, pairs.starts).max() + 1.0) / 2)
    return float(_ordered(pairs, share, whole).max() / (whole.size - 1))


def _pairs(classes: Classes, coded: Ints) -> Pairs:
    kept = classes.labels >= 0
    width = int(coded.max(initial=0)) + 1
    pairs, count = np.unique(classes.labels[kept] * width + coded[kept], return_counts=True)
    group = pairs // width
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return Pairs(group, pairs % width, count.astype(np.int64), starts)


def _recursive(pairs: Pairs, c: float) -> float:
    """Return the largest l for which every class has r_1 < c (r_l + ... + r_m), or 0 if there is none."""
    order = np.lexsort((-pairs.records, pairs.group))
    count = pairs.records[order]
    ends = np.append(pairs.starts[1:], count.size) - 1
    upto = np.cumsum(count)
    tail = upto[ends][pairs.group] - upto + count  # r_l + ... + r_m for each l
    fits = count[pairs.starts][pairs.group] < c * tail
    return float(np.add.reduceat(fits.astype(np.int64), pairs.starts).min())


def _ordered(pairs: Pairs, share: Floats, whole: Floats) -> Floats:
    """Return for each class the sum over all ranks of |F_class - F_table|.

    F_class is constant between two values of the class, and F_table rises. Each interval is therefore split where they
    cross, and sums of F_table over an interval are differences of its running sum.
    """
    m = whole.size
    total = np.cumsum(whole)
    running = np.concatenate([[0.0], np.cumsum(total)])
    last = np.append(pairs.starts[1:], pairs.records.size) - 1
    level = np.cumsum(share)
    level -= np.repeat(level[pairs.starts] - share[pairs.starts], np.diff(pairs.starts, append=pairs.records.size))
    end = np.append(pairs.value[1:], m)
    end[last] = m
    begin = pairs.value
    cross = np.clip(np.searchsorted(total, level), begin, end)
    below = level * (cross - begin) - (running[cross] - running[begin])
    above = (running[end] - running[cross]) - level * (end - cross)
    first = running[pairs.value[pairs.starts]]  # before its first value the class has F = 0
    return np.add.reduceat(below + above, pairs.starts) + first
