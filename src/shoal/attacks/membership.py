"""An attack on group anonymity: guess from the other columns where the members of a group were before the swaps.

Tavrov and Chertov 2016 ("Evolutionary approach to violating group anonymity using third-party data", SpringerPlus 5:78)
rebuild a group's distribution from other columns by fuzzy rules. Here a naive Bayes model does it. It learns from the
released records outside the group which values belong to which region, and gives every member's region a probability.
Their sum over the members is the signal that the intruder recovers. Nothing of the original is used to learn; it only
tells how right the guesses are.

    for every column: how often has each value each region, among the records outside the group
    for every member: the probability of each region, given the member's values
    recovered signal = the sum of these probabilities; compare its largest regions with the original outliers
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Bools, Floats, Ints

BINS = 32  # values of a column that are kept apart; of more, ranges of equally many records
FOLDS = 5
BLOCK = 2_000_000  # probabilities held at once


@dataclass(frozen=True)
class RegionAttack:
    """What the attack reached.

    learnt, learnt_base: share of records outside the group whose region is guessed, cross-validated, and by region
    sizes alone. guessed, guessed_base: share of moved members whose original region is guessed, and the base rate.
    ranks: for each original outlier its place by the recovered share of members (1: the largest).
    expected: the recovered number of members per region.
    """

    learnt: float
    learnt_base: float
    guessed: float
    guessed_base: float
    ranks: tuple[int, ...]
    expected: tuple[float, ...]

    @property
    def finds(self) -> bool:
        """Are the original outliers just the largest regions of the recovered signal?"""
        return max(self.ranks, default=len(self.expected)) <= len(self.ranks)


def attack_regions(
    columns: Sequence[Ints], released: Ints, original: Ints, member: Bools, outlying: Ints, *, regions: int
) -> RegionAttack:
    """Guess each member's original region from `columns` (codes from 0; numbers in their order)."""
    values = [_binned(column) for column in columns]
    rest = np.flatnonzero(~member)
    fold = rest % FOLDS if rest.size else rest
    hits, base = 0.0, 0.0
    for number in range(FOLDS):
        train, test = rest[fold != number], rest[fold == number][:5_000]
        if train.size == 0 or test.size == 0:
            continue
        found = _probabilities(values, released, train, test, regions)
        hits += float((found.argmax(axis=1) == released[test]).mean()) / FOLDS
        base += float(np.bincount(released[train], minlength=regions).max() / train.size) / FOLDS
    who = np.flatnonzero(member)
    moved = released[who] != original[who]
    expected, right, chance = np.zeros(regions), 0.0, 0.0
    sizes = np.bincount(released, minlength=regions)
    for part in np.array_split(np.arange(who.size), max(1, who.size * regions // BLOCK)):
        found = _probabilities(values, released, rest, who[part], regions)
        expected += found.sum(axis=0)
        gone = moved[part]
        right += float((found[gone].argmax(axis=1) == original[who[part][gone]]).sum())
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
    """A region's place by its recovered share of members; by their number the largest regions would come first."""
    share = expected / np.maximum(sizes, 1)
    return int((share >= share[region] - 1e-12).sum())


def _binned(column: Ints) -> Ints:
    """The codes, or ranges of them where there are many: about equally many records each."""
    if int(column.max(initial=0)) < BINS:
        return column
    order = np.cumsum(np.bincount(column))
    place = np.minimum(order * BINS // column.size, BINS - 1)
    return np.asarray(place[column], dtype=np.int64)


def _probabilities(values: Sequence[Ints], region: Ints, train: Ints, test: Ints, regions: int) -> Floats:
    """Naive Bayes with one added count per value: the probability of each region for the records `test`."""
    sizes = np.bincount(region[train], minlength=regions).astype(np.float64)
    score = np.tile(np.log(np.maximum(sizes, 0.5)), (test.size, 1))
    for column in values:
        width = int(column.max(initial=0)) + 1
        table = np.bincount(region[train] * width + column[train], minlength=regions * width).reshape(regions, width)
        score += np.log((table + 1.0) / (sizes[:, None] + width)).T[column[test]]
    score -= score.max(axis=1, keepdims=True)
    score = np.exp(score)
    return np.asarray(score / score.sum(axis=1, keepdims=True))
