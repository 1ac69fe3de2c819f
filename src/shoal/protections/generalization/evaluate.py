"""A generalization problem: the distinct tuples with their counts, and the cost of categories (Dewri et al. 2009).

NWP is the mean over all records of the weighted widths of their categories; a suppressed record counts 1. NECD is
(largest - smallest class) / (records - 1). The effective k is the size of the smallest class. The search minimizes the
achievement max(w (NWP + eps), (1 - w) (NECD + eps)), whose weight w comes from the publisher's preference point. Among
equals the lower preference deviation wins: NWP + NECD minus both preferences.

With one set of quasi-identifiers, the records of a class that breaks k, l or t are suppressed, and no other class
changes. With several sets, a suppressed record leaves its classes of the other sets. These may then break k, l or t
too, so records are suppressed until no class does. The kernel cannot do that. Such problems (`cascades`) are evaluated
here, record by record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import UsageError
from shoal.measures.anonymity import classes
from shoal.measures.diversity import broken_classes
from shoal.protections.class_rules import Rules, rules_of
from shoal.protections.generalization.bits import Bits, labels_of_bits
from shoal.protections.generalization.kernels.classes import count_keys, evaluate_labels
from shoal.table.taxonomy import Splits

EPSILON = 1e-6
BLOCK = 512  # largest number of packed codes in a lookup table


@dataclass(frozen=True)
class Preference:
    """The publisher's preference point (NWP, NECD)."""

    loss: float = 0.2
    bias: float = 1.0

    def __post_init__(self) -> None:
        if not (0 <= self.loss <= 1 and 0 <= self.bias <= 1):
            raise UsageError(f"prefer must lie between 0,0 and 1,1, not at {self.loss},{self.bias}.")

    @property
    def weight(self) -> float:
        loss, bias = 1 / (self.loss + EPSILON), 1 / (self.bias + EPSILON)
        return loss / (loss + bias)

    def achievement(self, nwp: Floats, necd: Floats) -> Floats:
        return np.maximum(self.weight * (nwp + EPSILON), (1 - self.weight) * (necd + EPSILON))


@dataclass(frozen=True)
class Costs:
    """Measures of one or more generalizations. `least` is the smallest class, suppressed ones included."""

    nwp: Floats
    necd: Floats
    effective_k: Ints
    achievement: Floats
    deviation: Floats
    suppressed: Ints
    least: Ints


@dataclass(frozen=True, eq=False)
class Problem:
    """The data and conditions of a search.

    codes: column by tuple; a code of sizes[j] means that the column is not in this tuple's set, or that its missing
    values stay alone. splits: for each column, the nodes that may be categories; None if they are not restricted.
    sets: the columns of each set. records, record_values: the codes of each record, and its confidential values.
    repeats: the number of records that each of these stands for; None if it is one.
    """

    codes: NDArray[np.int32]
    counts: Ints
    set_of: Ints
    sizes: tuple[int, ...]
    positions: Floats
    rows: Ints
    free: tuple[bool, ...]
    k: int
    n: int
    preference: Preference
    allowed: int
    rules: Rules
    confidential: Ints
    overall: Floats
    splits: tuple[Splits | None, ...]
    sets: tuple[tuple[int, ...], ...]
    records: tuple[Ints, ...]
    record_values: tuple[Ints, ...]
    repeats: Ints | None = None

    @property
    def bits(self) -> int:
        """The length of a chromosome."""
        return sum(
            max(size - 1, 0) if splits is None else splits.parent.size
            for size, splits in zip(self.sizes, self.splits, strict=True)
        )

    def labels_of(self, bits: Bits) -> Ints:
        """Return the categories of one chromosome or of several."""
        return labels_of_bits(bits, self.sizes, self.splits)

    @property
    def cascades(self) -> bool:
        """Whether suppressed records may make other classes break k, l or t."""
        return self.allowed > 0 and bool(self.absent.any())

    @cached_property
    def absent(self) -> Ints:
        """1 for a column that some set leaves out, or whose missing values stay alone."""
        return np.array([int((row == size).any()) for row, size in zip(self.codes, self.sizes, strict=True)])

    def evaluate(self, labels: Ints) -> Costs:
        """Return the costs of one generalization (labels from 0, column by value), or of a stack of several."""
        stack = np.ascontiguousarray(labels[None] if labels.ndim == 2 else labels)
        if self.cascades:
            figures = np.array([_cascade(self, candidate)[1] for candidate in stack])
            return self._costs(figures)
        arguments: list[Any] = [*self._arrays, stack]
        return self._costs(evaluate_labels(*arguments))

    def _costs(self, figures: Floats) -> Costs:
        """Return the costs. figures: loss, largest and smallest kept class, suppressed records, smallest class."""
        nwp, largest, smallest, suppressed, least = figures.T
        necd = np.maximum(largest - smallest, 0) / max(self.n - 1, 1)
        preference = self.preference
        return Costs(
            nwp=nwp,
            necd=necd,
            effective_k=smallest.astype(np.int64),
            achievement=preference.achievement(nwp, necd),
            deviation=nwp + necd - preference.loss - preference.bias,
            suppressed=suppressed.astype(np.int64),
            least=least.astype(np.int64),
        )

    def cascade(self, labels: Ints, completed: bool = False) -> tuple[Bools, Costs]:
        """Return which records a generalization with cascading suppression suppresses, and its costs.

        completed: the smallest class that would be kept is suppressed too.
        """
        suppressed, figures = _cascade(self, labels)
        if completed:
            label = classes([self.labels_of_record(labels, j) for j in self.sets[0]])
            sizes = self.sizes_of(label, ~suppressed)
            smallest = int(np.where(sizes > 0, sizes, self.n + 1).argmin())
            suppressed, figures = _cascade(self, labels, suppressed | (label == smallest))
        return suppressed, self._costs(figures[None])

    def sizes_of(self, label: Ints, chosen: Bools | None = None) -> Ints:
        """Return the number of records with each label, of those that are chosen."""
        repeats = self.repeats
        if chosen is not None:
            highest = int(label.max()) + 1
            return np.bincount(label[chosen], None if repeats is None else repeats[chosen], minlength=highest).astype(
                np.int64
            )
        return np.bincount(label, repeats).astype(np.int64)

    def records_in(self, chosen: Bools) -> int:
        """Return the number of records that are chosen."""
        return int(chosen.sum()) if self.repeats is None else int(self.repeats[chosen].sum())

    def labels_of_record(self, labels: Ints, column: int) -> Ints:
        """Return the category of each record in a column; missing values that stay alone are one more category."""
        size = self.sizes[column]
        return np.append(labels[column, :size], size)[self.records[column]]

    @property
    def is_reachable(self) -> bool:
        """Whether the solution with one category per column is feasible."""
        merged = np.zeros((len(self.sizes), max(self.sizes)), dtype=np.int64)
        costs = self.evaluate(merged)
        return bool(costs.suppressed[0] <= (self.allowed if self.cascades else 0))

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        sizes = np.array(self.sizes, dtype=np.int64)
        packed, members, block_sizes = _packed(self.codes, sizes + self.absent)
        return (
            packed,
            self.set_of,
            members,
            block_sizes,
            sizes,
            self.counts,
            np.minimum(self.codes, sizes[:, None] - 1).astype(np.int64),
            self.positions,
            self.rows,
            np.array(self.free, dtype=np.int64),
            self.absent,
            self.k,
            self.confidential,
            self.rules.integers,
            self.rules.floats,
            self.overall,
        )


def make_problem(
    columns: Sequence[NDArray[Any]],
    positions: Sequence[Floats],
    k: int,
    *,
    free: Sequence[bool] | None = None,
    weights: Sequence[float] | None = None,
    preference: Preference | None = None,
    suppress: float = 0.0,
    confidential: Sequence[NDArray[Any]] = (),
    rules: Rules | None = None,
    sets: Sequence[Sequence[int]] | None = None,
    splits: Sequence[Splits | None] | None = None,
    repeats: Ints | None = None,
) -> Problem:
    """Return the problem of these coded columns. It holds each distinct tuple once, with its number of records.

    positions: those of the values of each column. sets: the columns that must be k-anonymous together (by default all).
    splits: the nodes that may be categories, by column. A code of sizes[j] stands for missing values that stay alone.
    The first column must not have that code, because the kernel takes the number of records from it. repeats: the
    number of records that each row of the columns stands for; one by default.
    """
    n, d = int(columns[0].size if repeats is None else repeats.sum()), len(columns)
    sizes = tuple(int(p.size) for p in positions)
    sets = [list(range(d))] if sets is None else [sorted(set(s)) for s in sets]
    scaled = _scaled_positions(positions, weights)
    tuple_of, tuples, counts = _distinct(columns, sizes)
    if repeats is not None:
        counts = np.bincount(tuple_of, repeats, minlength=counts.size).astype(np.int64)
    rules = rules if rules is not None else rules_of([], [])
    held, overall = _confidential_counts(tuple_of, counts.size, confidential, rules, repeats)
    rows = np.zeros((d, max(sizes)), dtype=np.int64)
    for j in range(d):
        rows[j, : sizes[j]] = np.bincount(tuples[j], weights=counts, minlength=sizes[j])[: sizes[j]].astype(np.int64)
    codes, counts, held, set_of = _per_set(tuples, counts, held, sizes, sets)
    return Problem(
        codes=codes,
        counts=counts,
        set_of=set_of,
        sizes=sizes,
        positions=scaled,
        rows=rows,
        free=tuple(free) if free is not None else (False,) * d,
        k=k,
        n=n,
        preference=preference or Preference(),
        allowed=int(suppress * n + 1e-9),
        rules=rules,
        confidential=held,
        overall=overall,
        splits=tuple(splits) if splits is not None else (None,) * d,
        sets=tuple(tuple(chosen) for chosen in sets),
        records=tuple(np.asarray(column, dtype=np.int64) for column in columns),
        record_values=tuple(np.asarray(column, dtype=np.int64) for column in confidential),
        repeats=repeats,
    )


def without_empty(problem: Problem) -> tuple[Problem, Callable[[Ints], Ints]]:
    """Return the problem without values that no record has, and the function that adds them to its categories.

    Such a value joins the category on both of its sides, if that is one category; otherwise it is its own category.
    """
    held = [np.flatnonzero(problem.rows[j, :size] > 0) for j, size in enumerate(problem.sizes)]
    sizes = tuple(max(int(place.size), 1) for place in held)
    codes, records, splits = np.empty_like(problem.codes), [], []
    positions, rows = np.zeros((len(sizes), max(sizes))), np.zeros((len(sizes), max(sizes)), dtype=np.int64)
    for j, place in enumerate(held):
        number = np.full(problem.sizes[j] + 1, sizes[j], dtype=np.int32)  # last entry: not in the set of this tuple
        number[place] = np.arange(place.size)
        codes[j] = number[problem.codes[j]]
        records.append(number[problem.records[j]].astype(np.int64))
        nodes = problem.splits[j]
        splits.append(None if nodes is None or not place.size else nodes.among(place))
        # If any values may form a category, its width depends on its size only, so positions stay one step apart.
        positions[j, : place.size] = problem.positions[j, np.arange(place.size) if problem.free[j] else place]
        rows[j, : place.size] = problem.rows[j, place]

    def whole(labels: Ints) -> Ints:
        result = np.zeros((len(sizes), max(problem.sizes)), dtype=np.int64)
        for j, place in enumerate(held):
            size, nodes = problem.sizes[j], problem.splits[j]
            if nodes is not None and place.size:
                result[j, 1:size] = np.cumsum(nodes.cuts(nodes.split_nodes(place, labels[j, : place.size])))
                continue
            attribute = size + np.arange(size)
            attribute[place] = labels[j, : place.size]
            if place.size and not problem.free[j]:
                right = np.searchsorted(place, np.arange(size))  # the next value that a record has
                empty = (right > 0) & (right < place.size)
                left = labels[j, np.maximum(right - 1, 0)]
                same = empty & (left == labels[j, np.minimum(right, place.size - 1)])
                attribute = np.where(same, left, attribute)
                attribute[place] = labels[j, : place.size]
            result[j, :size] = attribute
        return result

    small = replace(
        problem,
        codes=codes,
        sizes=sizes,
        positions=positions,
        rows=rows,
        records=tuple(records),
        splits=tuple(splits),
    )
    return small, whole


def in_bins(problem: Problem, most: int, bins: int) -> tuple[Problem, Callable[[Ints], Ints]] | None:
    """Return the problem with long ordered columns in bins, and the function from its categories to those of values.

    A column with more than `most` values gets at most `bins` bins of neighbouring values, with about the same number of
    records each. Return None if no column is that long. A class of bins is also a class of values, so a solution that
    is feasible in bins is feasible.
    """
    is_long = [
        size > most and not free and splits is None
        for size, free, splits in zip(problem.sizes, problem.free, problem.splits, strict=True)
    ]
    if not any(is_long):
        return None
    bin_of = [np.arange(size) for size in problem.sizes]
    for j in np.flatnonzero(is_long):
        held = problem.rows[j, : problem.sizes[j]]
        before = np.cumsum(held) - held
        bin_of[j] = np.unique(before * bins // max(int(held.sum()), 1), return_inverse=True)[1].reshape(-1)
    sizes = tuple(int(number[-1]) + 1 for number in bin_of)
    shape = (len(sizes), max(sizes))
    positions, rows = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    codes, records = np.empty_like(problem.codes), []
    for j, number in enumerate(bin_of):
        number_of = np.append(number, sizes[j])  # last entry: not in the set of this tuple, or missing and alone
        codes[j] = number_of[problem.codes[j]]
        records.append(number_of[problem.records[j]])
        held, place = problem.rows[j, : number.size], problem.positions[j, : number.size]
        rows[j, : sizes[j]] = np.bincount(number, weights=held).astype(np.int64)
        positions[j, : sizes[j]] = np.bincount(number, weights=place) / np.bincount(number)
    tuples, of_tuple = np.unique(np.vstack([codes, problem.set_of]), axis=1, return_inverse=True)
    counts, held = _summed(of_tuple.reshape(-1), tuples.shape[1], problem.counts, problem.confidential)
    small = replace(
        problem,
        codes=np.ascontiguousarray(tuples[:-1], dtype=np.int32),
        set_of=np.ascontiguousarray(tuples[-1], dtype=np.int64),
        counts=counts,
        confidential=held,
        sizes=sizes,
        positions=positions,
        rows=rows,
        records=tuple(records),
    )

    def whole(labels: Ints) -> Ints:
        result = np.zeros((len(sizes), max(problem.sizes)), dtype=np.int64)
        for j, number in enumerate(bin_of):
            result[j, : number.size] = labels[j, number]
        return result

    return small, whole


def value_losses(problem: Problem, labels: Ints) -> Floats:
    """Return the loss of a record per value, column by value: the width of the category of the value."""
    losses = np.zeros_like(problem.positions)
    for j, size in enumerate(problem.sizes):
        attribute, place = labels[j, :size], problem.positions[j, :size]
        if problem.free[j]:
            step = place[1] - place[0] if size > 1 else 0.0
            losses[j, :size] = (np.bincount(attribute)[attribute] - 1) * step
        else:
            first = np.flatnonzero(np.concatenate([[True], attribute[1:] != attribute[:-1]]))
            last = np.append(first[1:], size) - 1
            losses[j, :size] = np.repeat(place[last] - place[first], last - first + 1)
    return losses


def _cascade(problem: Problem, labels: Ints, start: Bools | None = None) -> tuple[Bools, Floats]:
    """Return the records to suppress, and loss, largest and smallest kept class, their number and smallest class."""
    class_of = [classes([problem.labels_of_record(labels, j) for j in chosen]) for chosen in problem.sets]
    rows = class_of[0].size
    suppressed = np.zeros(rows, dtype=bool) if start is None else start.copy()
    least, is_first = problem.n, True
    while True:
        broken = np.zeros(rows, dtype=bool)
        sizes_kept = []
        for label in class_of:
            sizes = problem.sizes_of(label, ~suppressed)
            bad = (sizes > 0) & (sizes < problem.k)
            kept = np.where(suppressed, sizes.size, label)  # suppressed records are in a class of their own
            for values, rule in zip(problem.record_values, problem.rules.rules, strict=True):
                _, compact = np.unique(kept, return_inverse=True)
                short = broken_classes(
                    compact.reshape(-1), values, rule.l, rule.kind, rule.c, rule.t, rule.distance, problem.repeats
                )
                bad_records = short[compact.reshape(-1)] & ~suppressed
                bad[label[bad_records]] = True
            broken |= bad[label] & ~suppressed
            sizes_kept.append(sizes[sizes > 0])
        least = min(least, *(int(sizes.min()) for sizes in sizes_kept)) if is_first else least
        is_first = False
        if not broken.any():
            break
        suppressed |= broken
        if suppressed.all():
            sizes_kept = []
            break
    losses, loss = value_losses(problem, labels), np.zeros(rows)
    for j, codes in enumerate(problem.records):
        loss += np.append(losses[j, : problem.sizes[j]], 0.0)[codes]
    if problem.repeats is not None:
        loss *= problem.repeats
    number = problem.records_in(suppressed)
    nwp = float(loss[~suppressed].sum() + number) / problem.n
    largest = max((int(sizes.max()) for sizes in sizes_kept), default=0)
    smallest = min((int(sizes.min()) for sizes in sizes_kept), default=0)
    return suppressed, np.array([nwp, largest, smallest, number, least], dtype=np.float64)


def _scaled_positions(positions: Sequence[Floats], weights: Sequence[float] | None) -> Floats:
    """Return positions from 0 to the weight of the column; the weights sum to 1."""
    share = np.full(len(positions), 1.0) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.size != len(positions) or not np.all(share >= 0) or not 0 < share.sum() < np.inf:
        raise UsageError("Each column needs a weight of 0 or more, and one weight must be above 0. Change --weights.")
    share = share / share.sum()
    scaled = np.zeros((len(positions), max(p.size for p in positions)))
    for j, place in enumerate(positions):
        extent = float(place[-1] - place[0]) if place.size > 1 else 0.0
        if extent > 0:
            scaled[j, : place.size] = (place - place[0]) / extent * share[j]
    return scaled


def _distinct(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Ints, NDArray[np.int32], Ints]:
    """Return the tuple of each record, the tuples (column by tuple) and their counts."""
    sizes = [size + 1 for size in sizes]  # last code: missing values that stay alone
    key = columns[0].astype(np.int64)
    extent = sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if extent > 2**62 // size:  # renumber the keys, so that they stay small
            distinct, _, key = count_keys(key)
            extent = distinct.size
        key *= size
        key += column
        extent *= size
    _, counts, tuple_of = count_keys(key)
    del key
    first = np.empty(counts.size, dtype=np.int64)
    first[tuple_of[::-1]] = np.arange(tuple_of.size - 1, -1, -1)
    tuples = np.array([column[first] for column in columns], dtype=np.int32)
    return tuple_of, tuples, counts


def _confidential_counts(
    tuple_of: Ints, tuples: int, confidential: Sequence[NDArray[Any]], rules: Rules, repeats: Ints | None
) -> tuple[Ints, Floats]:
    """Return how often each tuple has each confidential value, one column after another, and the overall shares."""
    held = np.zeros((tuples, rules.width), dtype=np.int64)
    first = 0
    for column, width in zip(confidential, rules.widths, strict=True):
        np.add.at(held, (tuple_of, first + column.astype(np.int64)), 1 if repeats is None else repeats)
        first += width
    records = tuple_of.size if repeats is None else int(repeats.sum())
    return held, held.sum(axis=0) / max(records, 1)


def _per_set(
    tuples: NDArray[np.int32], counts: Ints, held: Ints, sizes: Sequence[int], sets: Sequence[Sequence[int]]
) -> tuple[NDArray[np.int32], Ints, Ints, Ints]:
    """Return the tuples of each set of columns, one set after another; other columns have the code sizes[j]."""
    parts = []
    for number, chosen in enumerate(sets):
        codes = tuples.copy()
        for j in range(codes.shape[0]):
            if j not in chosen:
                codes[j] = sizes[j]
        distinct, place = np.unique(codes, axis=1, return_inverse=True)
        place = place.reshape(-1)
        total, sums = _summed(place, distinct.shape[1], counts, held)
        parts.append((distinct, total, sums, np.full(total.size, number)))
    every = [np.concatenate(p, axis=1 if i == 0 else 0) for i, p in enumerate(zip(*parts, strict=True))]
    return np.ascontiguousarray(every[0], dtype=np.int32), every[1], every[2], every[3].astype(np.int64)


def _summed(group_of: Ints, groups: int, counts: Ints, held: Ints) -> tuple[Ints, Ints]:
    """Return the number of records of each group of tuples, and its counts of confidential values."""
    total = np.bincount(group_of, weights=counts, minlength=groups).astype(np.int64)
    sums = np.zeros((groups, held.shape[1]), dtype=np.int64)
    np.add.at(sums, group_of, held)
    return total, sums


def _packed(codes: NDArray[np.int32], radix: Ints) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Return the columns packed into blocks of at most BLOCK codes (or one column), for fewer lookups per tuple."""
    blocks: list[list[int]] = []
    extents: list[int] = []
    for j in np.argsort(-radix, kind="stable"):
        room = next((b for b, extent in enumerate(extents) if extent * radix[j] <= BLOCK), None)
        if room is None:
            blocks.append([int(j)])
            extents.append(int(radix[j]))
        else:
            blocks[room].append(int(j))
            extents[room] *= int(radix[j])
    members = np.full((len(blocks), max(map(len, blocks))), -1, dtype=np.int64)
    packed = np.zeros((len(blocks), codes.shape[1]), dtype=np.int32)
    for b, block in enumerate(blocks):
        stride = 1
        for place, j in enumerate(block):
            members[b, place] = j
            packed[b] += codes[j] * stride
            stride *= int(radix[j])
    return packed, members, np.array(extents, dtype=np.int64)
