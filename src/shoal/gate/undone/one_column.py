"""Attacks by one or two columns: nearest neighbour, label, pair of labels, a dependency that the release breaks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.gate.undone.columns import FEW, MIN_GAIN, MIN_SHARE, REPEATED, Source, Truth, best_guess
from shoal.gate.undone.judging import CHANCE, PURE, QUICK, Attack, GivenAway, judged, share_of

SAMPLE = 20_000  # of larger files, so many records are predicted
HOLDS = 0.99  # a dependency holds if at least this share of the records keep it
RECORDS_PER_LABEL = 10  # on average, in a pair of labels
MAX_PAIRS = 1_000


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """Records, and for each the nearest record in a column, and the next records below and above.

    weight is that of the record above, on a straight line between the two. same: the nearest has the same value.
    """

    records: Ints
    nearest: Ints
    below: Ints
    above: Ints
    weight: Floats
    same: Bools


def in_order(values: Floats, shuffled: Ints) -> Ints:
    """Return the rows with a value in ascending order; equal values are in random order, because the file may be
    sorted by another column."""
    rows = shuffled[~np.isnan(values[shuffled])]
    return rows[np.argsort(values[rows], kind="stable")]


def by_one_column(source: Source, order: Ints, truths: Sequence[Truth], level: float) -> Iterator[GivenAway]:
    """Yield the attacks by the nearest neighbour in a column, or by a label that determines the value."""
    if order.size < 2:
        return
    complete = _neighbours(order, source.values[order])
    domain_size = 1 + int((np.diff(source.values[order]) != 0).sum())
    for truth in truths:
        rows = order[truth.known[order]] if truth.has_gaps else order
        neighbours = _neighbours(rows, source.values[rows]) if truth.has_gaps else complete
        if source.kind == "nominal":
            if _agreeing(neighbours, truth) > truth.min_agreement(source.values.size - order.size):
                yield from judged(truth, _determined(source.values, truth), (source.name,), "label", level)
            continue
        attack = _nearest(neighbours, truth)
        rare = not truth.repeats or domain_size * REPEATED > order.size
        if attack.share > MIN_SHARE and rare and domain_size < order.size:
            rows = _without_copies(rows, source.values, truth)
            attack = _nearest(_neighbours(rows, source.values[rows]), truth)
        yield from judged(truth, attack, (source.name,), "neighbour", level)


def _without_copies(rows: Ints, values: Floats, truth: Truth) -> Ints:
    """Return one row per pair of values, in the same order.

    Two rows of one household share its rent and its income. The rent then finds the other row, not the income.
    """
    ranked = rows[np.lexsort((truth.values[rows], values[rows]))]
    first = np.ones(ranked.size, dtype=bool)
    first[1:] = (np.diff(values[ranked]) != 0) | (np.diff(truth.values[ranked]) != 0)
    kept = np.zeros(values.size, dtype=bool)
    kept[ranked[first]] = True
    return rows[kept[rows]]


def _neighbours(order: Ints, values: Floats) -> _Neighbours:
    """Return the neighbours of each record, or of a systematic sample in large files; `values` are in this order."""
    if order.size < 2:  # no record has a neighbour
        order, values = order[:0], values[:0]
    last = order.size - 1
    spots = np.arange(order.size) if order.size <= SAMPLE else np.arange(SAMPLE) * order.size // SAMPLE
    below, above = spots - 1, spots + 1
    gap_below = np.where(below >= 0, values[spots] - values[np.maximum(below, 0)], np.inf)
    gap_above = np.where(above <= last, values[np.minimum(above, last)] - values[spots], np.inf)
    below, above = np.where(below >= 0, below, above), np.where(above <= last, above, below)
    with np.errstate(invalid="ignore"):
        weight = np.nan_to_num(gap_below / (gap_below + gap_above))
    nearest = np.where(gap_above < gap_below, above, below)
    same = np.minimum(gap_below, gap_above) == 0
    return _Neighbours(order[spots], order[nearest], order[below], order[above], weight, same)


def _nearest(neighbours: _Neighbours, truth: Truth) -> Attack:
    """Predict each value by that of the nearest record, or by a straight line between the records below and above.

    The line helps in small files, in which the nearest record is far away. Pairs of records predict each other, so only
    half of the predictions are independent.
    """
    values, actual = truth.values, truth.values[neighbours.records]
    margin = truth.margin[neighbours.records]
    share = share_of(np.abs(values[neighbours.nearest] - actual) <= margin)
    if truth.is_number:
        below, above = values[neighbours.below], values[neighbours.above]
        line = below + (above - below) * neighbours.weight
        share = max(share, share_of(np.abs(line - actual) <= margin))
    trials = max(1, actual.size // 2)
    return Attack(neighbours.records, share, share * trials, trials)


def _agreeing(neighbours: _Neighbours, truth: Truth) -> float:
    """Return the share of records with the protected value of another record with the same label."""
    difference = np.abs(truth.values[neighbours.nearest] - truth.values[neighbours.records])
    return share_of(neighbours.same & (difference <= truth.margin[neighbours.records]))


def _determined(labels: Floats, truth: Truth) -> Attack | None:
    """Attack by labels that determine the value: at least two records have the label, and nearly all agree.

    Of m records with a label, one sets the value and m - 1 are evidence.
    """
    rows = np.flatnonzero(truth.known & ~np.isnan(labels))
    if rows.size < 2:
        return None
    groups = np.unique(labels[rows], return_inverse=True)[1]
    median, size = _medians(groups, truth.values[rows])
    agrees = np.abs(truth.values[rows] - median[groups]) <= truth.margin[rows]
    right = np.bincount(groups, agrees)
    pure = (size >= 2) & (right >= PURE * size)
    hits, trials = float((right[pure] - 1).sum()), int((size - 1).sum())
    return Attack(rows, float((agrees & pure[groups]).mean()), hits, trials)


def _medians(groups: Ints, values: Floats) -> tuple[Floats, Ints]:
    """Return the lower median of each group, which is the majority value if there is one, and the groups' sizes."""
    size = np.bincount(groups)
    ranked = values[np.lexsort((values, groups))]
    return ranked[np.cumsum(size) - size + (size - 1) // 2], size


def by_dependency(source: Source, truths: Sequence[Truth], level: float) -> Iterator[GivenAway]:
    """Yield dependencies that released values break, such as a district with the region of another district."""
    for truth in truths:
        if not truth.is_few_valued:
            continue
        rows = np.flatnonzero(truth.known & ~np.isnan(source.values))
        changed = rows[~truth.revealed[rows] & ~np.isnan(truth.released[rows])]
        quick = rows[:: max(1, rows.size // QUICK)]
        if not changed.size or _kept(source.values, truth, quick) < HOLDS - 0.02:
            continue
        domain, groups = np.unique(truth.values[rows], return_inverse=True)
        expected, size = _medians(groups, source.values[rows])
        hits, trials = (source.values[rows] == expected[groups]).sum() - domain.size, int((size - 1).sum())
        guess = best_guess(source.values[rows], np.zeros(rows.size))
        if hits < HOLDS * trials:
            continue
        from scipy.special import bdtrc

        if bdtrc(hits - 1, trials, guess) >= level:
            continue
        place = np.minimum(np.searchsorted(domain, truth.released[changed]), domain.size - 1)
        exists = domain[place] == truth.released[changed]
        share = float((exists & (expected[place] != source.values[changed])).mean())
        if share > max(MIN_SHARE, MIN_GAIN):
            yield GivenAway(truth.name, (source.name,), "dependency", share, 0.0)


def _kept(values: Floats, truth: Truth, rows: Ints) -> float:
    """Return the share of records with the most common value among those with the same protected value."""
    groups = np.unique(truth.values[rows], return_inverse=True)[1]
    median, _ = _medians(groups, values[rows])
    return float((values[rows] == median[groups]).mean())


def by_pairs(sources: Sequence[Source], truths: Sequence[Truth], attacks: Sequence[GivenAway]) -> Iterator[GivenAway]:
    """Yield pairs of labels that determine a value, unless one of the labels does so alone."""
    alone = {(attack.column, attack.by[0]) for attack in attacks if attack.attack_kind != "dependency"}
    labels = {source.name: coded for source in sources if (coded := _label_codes(source)) is not None}
    pairs = sorted(_small_pairs(labels), key=lambda pair: -pair[2])[:MAX_PAIRS]
    level = CHANCE / max(1, len(pairs) * len(truths))
    for one, two, _ in pairs:
        joint = labels[one] * (np.nanmax(labels[two]) + 1) + labels[two]
        order = np.argsort(joint[:QUICK], kind="stable")  # the rows of a sample are in random order already
        same = np.diff(joint[order]) == 0
        unlabelled = int(np.isnan(joint).sum())
        for truth in truths:
            if (
                (truth.name, one) not in alone
                and (truth.name, two) not in alone
                and _is_promising(order, same, unlabelled, truth)
            ):
                yield from judged(truth, _determined(joint, truth), (one, two), "labels", level)


def _label_codes(source: Source) -> Floats | None:
    """Return codes from 0 for the values of a column that is nominal or has few values, else None."""
    known = ~np.isnan(source.values)
    domain, coded = np.unique(source.values[known], return_inverse=True)
    if domain.size < 2 or (source.kind != "nominal" and domain.size > FEW):
        return None
    result = np.full(known.size, np.nan)
    result[known] = coded
    return result


def _small_pairs(labels: Mapping[str, Floats]) -> Iterator[tuple[str, str, float]]:
    """Yield pairs of labels with enough records per combination, and their number of combinations."""
    size = {name: float(np.nanmax(coded)) + 1 for name, coded in labels.items()}
    for one, two in itertools.combinations(labels, 2):
        if size[one] * size[two] < labels[one].size / RECORDS_PER_LABEL:
            yield one, two, size[one] * size[two]


def _is_promising(order: Ints, same: Bools, unlabelled: int, truth: Truth) -> bool:
    """Whether neighbouring records with the same labels agree often enough for the full test."""
    difference = np.abs(np.diff(truth.values[order]))[same]
    agrees = difference <= truth.margin[order][1:][same]
    return bool(agrees.sum() > truth.min_agreement(unlabelled) * (~np.isnan(difference)).sum())
