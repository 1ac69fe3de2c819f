"""An attack on group anonymity: guess the original regions of the target group from the other columns.

Tavrov and Chertov 2016 ("Evolutionary approach to violating group anonymity using third-party data", SpringerPlus 5:78)
rebuild a group's distribution from other columns by fuzzy rules. Here a naive Bayes model does this. From the released
records outside the target group it learns which values belong to which region, and it gives each target record a
probability per region. The sum of these probabilities is the signal that the intruder recovers. The model learns
nothing from the original, which only serves to count the correct guesses.

    for each column: count each value per region, over the records outside the target group
    for each target record: compute the probability of each region from the record's values
    recovered signal = the sum of these probabilities; compare its largest regions with the original outliers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Bools, Floats, Ints

BINS = 32  # columns with more values are split into this many ranges of equally many records
FOLDS = 5
BLOCK = 2_000_000  # probabilities in memory at once


@dataclass(frozen=True)
class RegionAttack:
    """The result of the attack.

    Attributes:
        learnt: The share of records outside the target group whose region is guessed, by cross-validation.
        learnt_base: The same share if the largest region is always guessed.
        guessed: The share of moved target records whose original region is guessed.
        guessed_base: The same share if regions are guessed by their size.
        ranks: The rank of each original outlier by the recovered share of target records (1: the largest).
        expected: The recovered number of target records per region.
    """

    learnt: float
    learnt_base: float
    guessed: float
    guessed_base: float
    ranks: tuple[int, ...]
    expected: tuple[float, ...]

    @property
    def finds(self) -> bool:
        """Whether the original outliers are exactly the largest regions of the recovered signal."""
        return max(self.ranks, default=len(self.expected)) <= len(self.ranks)


def attack_regions(
    columns: Sequence[Ints], released: Ints, original: Ints, member: Bools, outlying: Ints, *, regions: int
) -> RegionAttack:
    """Guess the original region of each target record.

    Args:
        columns: The other columns as codes from 0; numbers in ascending order.
        released: The released region of each record.
        original: The original region of each record.
        member: Which records belong to the target group.
        outlying: The original outlier regions.
        regions: The number of regions.

    Returns:
        How often the guesses are right, and the recovered signal.
    """
    values = [_binned(column) for column in columns]
    rest = np.flatnonzero(~member)
    fold = rest % FOLDS if rest.size else rest
    hits, base = 0.0, 0.0
    for number in range(FOLDS):
        train, test = rest[fold != number], rest[fold == number][:5_000]
        if train.size == 0 or test.size == 0:
            continue
        probabilities = _probabilities(values, released, train, test, regions)
        hits += float((probabilities.argmax(axis=1) == released[test]).mean()) / FOLDS
        base += float(np.bincount(released[train], minlength=regions).max() / train.size) / FOLDS
    who = np.flatnonzero(member)
    moved = released[who] != original[who]
    expected, right, chance = np.zeros(regions), 0.0, 0.0
    sizes = np.bincount(released, minlength=regions)
    for part in np.array_split(np.arange(who.size), max(1, who.size * regions // BLOCK)):
        probabilities = _probabilities(values, released, rest, who[part], regions)
        expected += probabilities.sum(axis=0)
        gone = moved[part]
        right += float((probabilities[gone].argmax(axis=1) == original[who[part][gone]]).sum())
        chance += float((sizes[original[who[part][gone]]] / released.size).sum())
    return RegionAttack(
        learnt=hits,
        learnt_base=base,
        guessed=right / max(1, int(moved.sum())),
        guessed_base=chance / max(1, int(moved.sum())),
        ranks=tuple(_rank(expected, sizes, int(d)) for d in outlying),
        expected=tuple(float(x) for x in expected),
    )


def _rank(expected: Floats, sizes: Ints, region: int) -> int:
    """Return a region's rank by its recovered share of target records, not by their number, which favours size."""
    share = expected / np.maximum(sizes, 1)
    return int((share >= share[region] - 1e-12).sum())


def _binned(column: Ints) -> Ints:
    """Return the codes, or ranges of codes with about equally many records if there are many codes."""
    if int(column.max(initial=0)) < BINS:
        return column
    order = np.cumsum(np.bincount(column))
    place = np.minimum(order * BINS // column.size, BINS - 1)
    return np.asarray(place[column], dtype=np.int64)


def _probabilities(values: Sequence[Ints], region: Ints, train: Ints, test: Ints, regions: int) -> Floats:
    """Return the probability of each region for the records `test`, by naive Bayes with one added count per value."""
    sizes = np.bincount(region[train], minlength=regions).astype(np.float64)
    score = np.tile(np.log(np.maximum(sizes, 0.5)), (test.size, 1))
    for column in values:
        width = int(column.max(initial=0)) + 1
        table = np.bincount(region[train] * width + column[train], minlength=regions * width).reshape(regions, width)
        score += np.log((table + 1.0) / (sizes[:, None] + width)).T[column[test]]
    score -= score.max(axis=1, keepdims=True)
    score = np.exp(score)
    return np.asarray(score / score.sum(axis=1, keepdims=True))
