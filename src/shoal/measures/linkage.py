"""Distance-based linkage: how often the nearest protected record is the record's own (Pagliuca and Seri 1999).

An intruder who holds some columns of the original links every record to the nearest protected one. Protected records
are taken once each with their count and searched by a tree of boxes, so that it is exact for 100,000 records; beyond a
given number, a random sample of the records is linked against all, and the standard error is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.measures.anonymity import classes
from shoal.measures.kernels.linkage import grow_boxes, nearest_ties

SAMPLED_ABOVE = 200_000
SAMPLE = 20_000


@dataclass(frozen=True)
class Linkage:
    """Percent of right links, and its standard error where the records were sampled (0 otherwise)."""

    percent: float
    error: float = 0.0
    records: int = 0


def distance_linkage(
    original: Floats,
    protected: Floats,
    *,
    strict: bool = False,
    sets: Sequence[Sequence[int]] | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Linkage:
    """Percent of the records whose nearest protected record is their own, 0 to 100.

    Both arrays must be on the same scale. A tie among m counts 1/m, or nothing if `strict`. sets: the sets of columns
    that the intruder may hold, over which the percentage is averaged; all columns if none are given.
    """
    n, d = original.shape
    chosen = sampled_records(n, seed)
    credits = np.zeros(chosen.size)
    every = sets if sets is not None else [range(d)]
    for columns in every:
        credits += link_credits(original, protected, list(columns), chosen, strict, threads)
    return as_linkage(credits / len(every), n)


def first_columns(d: int, seed: int = 0, order: Sequence[int] | None = None) -> list[list[int]]:
    """The first 1, 2, ..., d columns of an order: the sets an intruder may hold, a random order if none is given.

    >>> first_columns(3, order=[2, 0, 1])
    [[2], [2, 0], [2, 0, 1]]
    """
    chosen = list(np.random.default_rng(seed).permutation(d)) if order is None else list(order)
    return [[int(column) for column in chosen[: size + 1]] for size in range(d)]


def link_credits(
    original: Floats, protected: Floats, columns: list[int], chosen: Ints, strict: bool, threads: int = 1
) -> Floats:
    """For each chosen record, the share of a link that an intruder with these columns gets right."""
    after = np.ascontiguousarray(protected[:, columns])
    own = classes([np.ascontiguousarray(after[:, j]) for j in range(len(columns))])
    first = np.full(int(own.max()) + 1, len(own), dtype=np.int64)
    np.minimum.at(first, own, np.arange(len(own)))
    points, counts = np.ascontiguousarray(after[first]), np.bincount(own).astype(np.int64)
    tree = grow_boxes(points)
    records = np.ascontiguousarray(original[chosen][:, columns])
    mine = own[chosen]
    blocks = [(a, min(a + 4096, len(records))) for a in range(0, len(records), 4096)]
    with ThreadPoolExecutor(threads) as pool:
        found = list(
            pool.map(lambda b: nearest_ties(records[b[0] : b[1]], mine[b[0] : b[1]], points, counts, *tree), blocks)
        )
    ties = np.concatenate(found)
    if strict:
        return np.asarray(ties == 1, dtype=np.float64)
    return tie_credits(ties)


def tie_credits(ties: Ints) -> Floats:
    """1/m for a tie among m, 0 for none."""
    credits = np.zeros(ties.size)
    np.divide(1.0, ties, out=credits, where=ties > 0)
    return credits


def sampled_records(n: int, seed: int, above: int = SAMPLED_ABOVE, sample: int = SAMPLE) -> Ints:
    """All records, or a sorted random sample of a large file's."""
    if n <= above:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))


def as_linkage(credits: Floats, n: int) -> Linkage:
    """The mean of the credits in percent; the standard error knows that the sample was drawn without replacement."""
    count = credits.size
    error = 0.0
    if count < n:
        error = 100.0 * float(credits.std(ddof=1)) * float(np.sqrt((1 - count / n) / count))
    return Linkage(100.0 * float(credits.mean()), error, count)
