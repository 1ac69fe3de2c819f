"""Whether a group keeps the required l-diversity and t-closeness of the confidential columns.

l and t never get worse when groups are joined. The measures are those of `measures/diversity.py`. `counts` is room for
the number of members per value; it is 0 before and after each call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.kernels.compiling import bare, kernel

ENTROPY, RECURSIVE = 2, 3
ROUNDING = 1e-12


class GroupRules(NamedTuple):
    """The rules of the confidential columns.

    confidential: the codes of the records. integers: by column, the place of its values in `reference`, their number,
    the kind of l (0 for none) and whether t is ordered. floats: l, c and t. reference: the share of each value.
    """

    confidential: Indices
    integers: Ints
    floats: NDArray[np.float64]
    reference: Floats


def no_rules(n: int) -> GroupRules:
    """Return rules that allow every group of n records."""
    return GroupRules(np.zeros((n, 0), np.int32), np.zeros((0, 4), np.int64), np.zeros((0, 3)), np.zeros(0))


@bare
def distinct_values(rules: Any, member: Any, size: Any, a: int, c: int, counts: Ints) -> int:
    """Count the members per confidential value; return the number of distinct values."""
    distinct = 0
    for s in range(size[a]):
        v = rules.confidential[member[a, s], c]
        if counts[v] == 0:
            distinct += 1
        counts[v] += 1
    return distinct


@bare
def exp_entropy(rules: Any, member: Any, size: Any, a: int, c: int, counts: Ints) -> float:
    """Return the exponential of the entropy of the counted values."""
    entropy = 0.0
    for s in range(size[a]):
        entropy -= np.log(counts[rules.confidential[member[a, s], c]] / size[a]) / size[a]
    return float(np.exp(entropy))


@bare
def is_recursive(rules: Any, member: Any, size: Any, a: int, c: int, counts: Ints, least: int, factor: float) -> bool:
    """Return whether the most frequent value is rarer than `factor` times all from the `least`-th most frequent on."""
    tail, largest = size[a], 0
    for turn in range(max(1, least)):
        value = -1
        for s in range(size[a]):
            v = rules.confidential[member[a, s], c]
            if counts[v] > 0 and (value < 0 or counts[v] > counts[value]):
                value = v
        if value < 0:
            break
        if turn == 0:
            largest = counts[value]
        if turn + 1 < least:
            tail -= counts[value]
        counts[value] = -counts[value]  # taken
    return bool(largest < factor * tail)


@bare
def distance(rules: Any, size: Any, a: int, c: int, counts: Ints) -> float:
    """Return the earth mover's distance of the counted values from those of the whole table."""
    first, width, ordered = rules.integers[c, 0], rules.integers[c, 1], rules.integers[c, 3] != 0
    total, running = 0.0, 0.0
    for v in range(width):
        difference = abs(counts[v]) / size[a] - rules.reference[first + v]
        if ordered:
            running += difference
            total += abs(running)
        else:
            total += abs(difference) / 2
    if not ordered:
        return total
    return total / (width - 1) if width > 1 else 0.0


@bare
def keeps_rules(rules: Any, member: Any, size: Any, a: int, counts: Ints) -> bool:
    """Return whether a group keeps every rule."""
    keeps = True
    for c in range(rules.integers.shape[0]):
        kind, least, factor, t = rules.integers[c, 2], rules.floats[c, 0], rules.floats[c, 1], rules.floats[c, 2]
        distinct = distinct_values(rules, member, size, a, c, counts)
        if kind == RECURSIVE:
            keeps = keeps and is_recursive(rules, member, size, a, c, counts, int(np.ceil(least - ROUNDING)), factor)
        elif kind == ENTROPY:
            keeps = keeps and exp_entropy(rules, member, size, a, c, counts) >= least - ROUNDING
        elif kind > 0:
            keeps = keeps and distinct >= least - ROUNDING
        if t < 1.0:
            keeps = keeps and distance(rules, size, a, c, counts) <= t + ROUNDING
        for s in range(size[a]):
            counts[rules.confidential[member[a, s], c]] = 0
    return keeps


@kernel(lambda rules: ("void", rules, "int32[:, ::1]", "int32[::1]", "int32[::1]", "int8[::1]"))
def check_groups(rules: Any, order: Indices, starts: Indices, sizes: Indices, keeps: NDArray[np.int8]) -> None:
    """Write 1 for each group that keeps every rule, else 0. A group starts at its place in the order of the records."""
    counts = np.zeros(rules.reference.size, dtype=np.int64)
    for a in range(starts.size):
        size = sizes[a : a + 1]
        keeps[a] = 1 if keeps_rules(rules, order[:, starts[a] :], size, 0, counts) else 0
