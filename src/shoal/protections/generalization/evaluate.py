"""A generalization problem: distinct tuples with their counts, and what grouping the values costs (Dewri et al. 2009).

NWP is the mean over rows of the weighted widths of their values' groups, a suppressed row losing 1;
NECD is (largest - smallest class) / (rows - 1); effective k is the smallest class. The achievement
max(w (NWP + eps), (1 - w) (NECD + eps)) leans to the publisher's preference point, and the
preference deviation NWP + NECD - both preferences breaks ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.errors import UsageError
from shoal.protections.generalization.constraints import Rules, rules_of
from shoal.protections.generalization.kernels.classes import count_keys, evaluate_labels

EPSILON = 1e-6
BLOCK = 512  # packed codes a lookup table may have


@dataclass(frozen=True)
class Preference:
    """The publisher's preference point (NWP, NECD)."""

    loss: float = 0.2
    bias: float = 1.0

    def __post_init__(self) -> None:
        if not (0 <= self.loss <= 1 and 0 <= self.bias <= 1):
            raise UsageError(f"a preference point lies between 0,0 and 1,1, not at {self.loss},{self.bias}")

    @property
    def weight(self) -> float:
        loss, bias = 1 / (self.loss + EPSILON), 1 / (self.bias + EPSILON)
        return loss / (loss + bias)

    def achievement(self, nwp: Floats, necd: Floats) -> Floats:
        return np.maximum(self.weight * (nwp + EPSILON), (1 - self.weight) * (necd + EPSILON))


@dataclass(frozen=True)
class Costs:
    """Figures of one or more groupings, an entry each. `least` is the smallest class, suppressed ones included."""

    nwp: Floats
    necd: Floats
    effective_k: Ints
    achievement: Floats
    deviation: Floats
    suppressed: Ints
    least: Ints


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a search needs. codes: attribute by tuple; a code of sizes[j] says: not in this tuple's set."""

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

    @property
    def bits(self) -> int:
        return sum(size - 1 for size in self.sizes if size > 1)

    @cached_property
    def absent(self) -> Ints:
        """1 for an attribute that some set of quasi-identifiers leaves out."""
        return np.array([int((row == size).any()) for row, size in zip(self.codes, self.sizes, strict=True)])

    def evaluate(self, labels: Ints) -> Costs:
        """The costs of groupings: an attribute-by-value array of labels (compact, from 0), or a stack of them."""
        stack = np.ascontiguousarray(labels[None] if labels.ndim == 2 else labels)
        arguments: list[Any] = [*self._arrays, stack]
        figures = evaluate_labels(*arguments)
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
) -> Problem:
    """Count the distinct tuples of coded columns once; after that nothing depends on the number of rows.

    positions: of each attribute's values. sets: attributes that must be k-anonymous together (all, by default).
    """
    n, d = int(columns[0].size), len(columns)
    sizes = tuple(int(p.size) for p in positions)
    sets = [list(range(d))] if sets is None else [sorted(set(s)) for s in sets]
    if len(sets) > 1 and suppress > 0:
        raise UsageError("suppression works with one set of quasi-identifiers: leave out suppress, or name one set")
    scaled = _scaled_positions(positions, weights)
    tuple_of, tuples, counts = _distinct(columns, sizes)
    rules = rules if rules is not None else rules_of([], [])
    held, overall = _confidential_counts(tuple_of, counts.size, confidential, rules)
    rows = np.zeros((d, max(sizes)), dtype=np.int64)
    for j in range(d):
        rows[j, : sizes[j]] = np.bincount(tuples[j], weights=counts, minlength=sizes[j]).astype(np.int64)
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
    )


def without_empty(problem: Problem) -> tuple[Problem, Callable[[Ints], Ints]]:
    """The same problem over the values that rows have, and the way back for its groups.

    An empty value between two of a group joins it; any other is a group of its own.
    """
    held = [np.flatnonzero(problem.rows[j, :size] > 0) for j, size in enumerate(problem.sizes)]
    sizes = tuple(max(int(place.size), 1) for place in held)
    codes = np.empty_like(problem.codes)
    positions, rows = np.zeros((len(sizes), max(sizes))), np.zeros((len(sizes), max(sizes)), dtype=np.int64)
    for j, place in enumerate(held):
        number = np.full(problem.sizes[j] + 1, sizes[j], dtype=np.int32)  # the last: not in this tuple's set
        number[place] = np.arange(place.size)
        codes[j] = number[problem.codes[j]]
        # Where any values may join, a group costs its size: positions stay a step apart.
        positions[j, : place.size] = problem.positions[j, np.arange(place.size) if problem.free[j] else place]
        rows[j, : place.size] = problem.rows[j, place]

    def whole(labels: Ints) -> Ints:
        result = np.zeros((len(sizes), max(problem.sizes)), dtype=np.int64)
        for j, place in enumerate(held):
            size = problem.sizes[j]
            attribute = size + np.arange(size)
            attribute[place] = labels[j, : place.size]
            if place.size and not problem.free[j]:
                right = np.searchsorted(place, np.arange(size))  # the next value that rows have
                empty = (right > 0) & (right < place.size)
                left = labels[j, np.maximum(right - 1, 0)]
                same = empty & (left == labels[j, np.minimum(right, place.size - 1)])
                attribute = np.where(same, left, attribute)
                attribute[place] = labels[j, : place.size]
            result[j, :size] = attribute
        return result

    return replace(problem, codes=codes, sizes=sizes, positions=positions, rows=rows), whole


def in_bins(problem: Problem, most: int, bins: int) -> tuple[Problem, Callable[[Ints], Ints]] | None:
    """The problem with long ordered columns in bins of neighbouring values, and the way back for its categories.

    A column with more than `most` values gets at most `bins` bins with about the same number of records each. None if
    no column is that long. A class of bins is a class of values, so what is feasible in bins is feasible.
    """
    is_long = [size > most and not free for size, free in zip(problem.sizes, problem.free, strict=True)]
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
    codes = np.empty_like(problem.codes)
    for j, number in enumerate(bin_of):
        codes[j] = np.append(number, sizes[j])[problem.codes[j]]  # the last: not in this tuple's set
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
    )

    def whole(labels: Ints) -> Ints:
        result = np.zeros((len(sizes), max(problem.sizes)), dtype=np.int64)
        for j, number in enumerate(bin_of):
            result[j, : number.size] = labels[j, number]
        return result

    return small, whole


def value_losses(problem: Problem, labels: Ints) -> Floats:
    """What a row loses by each of its values, attribute by value: the width of the value's group."""
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


def _scaled_positions(positions: Sequence[Floats], weights: Sequence[float] | None) -> Floats:
    """Positions from 0 to the attribute's weight, weights summing to 1."""
    share = np.full(len(positions), 1.0) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.size != len(positions) or not np.all(share >= 0) or not 0 < share.sum() < np.inf:
        raise UsageError("weights must be numbers of 0 or more, one an attribute, not all 0")
    share = share / share.sum()
    scaled = np.zeros((len(positions), max(p.size for p in positions)))
    for j, place in enumerate(positions):
        extent = float(place[-1] - place[0]) if place.size > 1 else 0.0
        if extent > 0:
            scaled[j, : place.size] = (place - place[0]) / extent * share[j]
    return scaled


def _distinct(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Ints, NDArray[np.int32], Ints]:
    """The tuple of each row, the tuples (attribute by tuple) and their counts."""
    key = columns[0].astype(np.int64)
    extent = sizes[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if extent > 2**62 // size:  # the keys found so far are renumbered, and there is room again
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
    tuple_of: Ints, tuples: int, confidential: Sequence[NDArray[Any]], rules: Rules
) -> tuple[Ints, Floats]:
    """How often each tuple has each confidential value, columns side by side, and the whole table's shares."""
    held = np.zeros((tuples, rules.width), dtype=np.int64)
    first = 0
    for column, width in zip(confidential, rules.widths, strict=True):
        np.add.at(held, (tuple_of, first + column.astype(np.int64)), 1)
        first += width
    return held, held.sum(axis=0) / max(tuple_of.size, 1)


def _per_set(
    tuples: NDArray[np.int32], counts: Ints, held: Ints, sizes: Sequence[int], sets: Sequence[Sequence[int]]
) -> tuple[NDArray[np.int32], Ints, Ints, Ints]:
    """The tuples of each set of attributes, those of all sets side by side; a left-out attribute has code sizes[j]."""
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
    """The records of each group of tuples, and its counts of confidential values."""
    total = np.bincount(group_of, weights=counts, minlength=groups).astype(np.int64)
    sums = np.zeros((groups, held.shape[1]), dtype=np.int64)
    np.add.at(sums, group_of, held)
    return total, sums


def _packed(codes: NDArray[np.int32], radix: Ints) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Attributes packed into blocks of at most BLOCK codes (or one attribute): fewer lookups a tuple."""
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
