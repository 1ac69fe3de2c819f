"""Strict Mondrian with median cuts (LeFevre, DeWitt and Ramakrishnan 2006).

a node is cut at the column with the widest span, as a share of its span in the file, if both sides keep k and the
    rules; else at the next one
numbers are cut at the median: values below it go left, or those up to it if that leaves too few on the left; names are
    halved in the order in which they occur
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.partition.kernels.rules import GroupRules, keeps_rules


@inner
def span_of(
    x: Floats, order: Indices, first: int, last: int, c: int, is_named: bool, seen: Indices, mark: int
) -> float:
    """Return the range of a column in a node, or the number of its names."""
    if is_named:
        distinct = 0
        for p in range(first, last):
            v = int(x[order[p], c])
            if seen[v] != mark:
                seen[v] = mark
                distinct += 1
        return float(distinct)
    low, high = np.inf, -np.inf
    for p in range(first, last):
        low, high = min(low, x[order[p], c]), max(high, x[order[p], c])
    return float(high - low)


@inner
def cut(
    x: Floats,
    order: Indices,
    first: int,
    last: int,
    c: int,
    is_named: bool,
    with_median: bool,
    side: NDArray[np.int8],
    spare: Indices,
) -> int:
    """Move the left side of a node before its right side, both in their order; return where the right side begins.

    with_median: whether the median itself goes left.
    """
    if is_named:
        distinct = 0
        side[:] = -1
        for p in range(first, last):
            v = int(x[order[p], c])
            if side[v] < 0:
                side[v] = 0
                distinct += 1
        at = 0
        side[:] = -1
        for p in range(first, last):
            v = int(x[order[p], c])
            if side[v] < 0:
                side[v] = 1 if at < distinct // 2 else 0
                at += 1
        middle = 0.0
    else:
        middle = float(np.median(x[order[first:last], c]))
    left, right = first, 0
    for p in range(first, last):
        i = order[p]
        v = x[i, c]
        if side[int(v)] == 1 if is_named else v < middle or (with_median and v == middle):
            order[left] = i
            left += 1
        else:
            spare[right] = i
            right += 1
    for s in range(right):
        order[left + s] = spare[s]
    return left


@inner
def is_allowed(
    rules: GroupRules, order: Indices, first: int, last: int, bag: Indices, counts: NDArray[np.int64]
) -> bool:
    """Return whether the records first .. last - 1 of the order keep the rules."""
    if counts.size == 0:
        return True
    for p in range(first, last):
        bag[0, p - first] = order[p]
    return bool(keeps_rules(rules, bag, np.array([last - first], dtype=np.int32), 0, counts))


@kernel(
    lambda rules: (
        *("int32[::1]", rules, "float64[:, ::1]", "uint8[::1]", "int64", "int64", "int64"),
        "uint8[::1]",
    )
)
def median_cuts(
    rules: GroupRules, x: Floats, named: Bytes, most_names: int, k: int, rule_room: int, flag: Bytes
) -> Indices:
    """Return the label of each record. named: the columns of codes of names; most_names: above all these codes.

    It ends early, with unfinished labels, once the flag is set.
    """
    n, d = x.shape
    order = np.arange(n).astype(np.int32)
    spare, bag = np.empty(n, dtype=np.int32), np.empty((1, n), dtype=np.int32)
    seen, side = np.zeros(most_names + 1, dtype=np.int32), np.zeros(most_names + 1, dtype=np.int8)
    counts = np.zeros(rule_room, dtype=np.int64)
    label = np.zeros(n, dtype=np.int32)
    stack = np.empty((n + 1, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    height, groups, mark = 1, 0, 0
    whole, span = np.ones(d), np.empty(d)
    for c in range(d):
        mark += 1
        whole[c] = span_of(x, order, 0, n, c, named[c] != 0, seen, mark)
    while height > 0 and flag[0] == 0:
        height -= 1
        first, last = stack[height, 0], stack[height, 1]
        for c in range(d):
            mark += 1
            span[c] = span_of(x, order, first, last, c, named[c] != 0, seen, mark)
            span[c] = span[c] / whole[c] if whole[c] > 0 else 0.0
        middle = -1
        for _ in range(d if last - first >= 2 * k else 0):
            best = 0
            for c in range(1, d):
                if span[c] > span[best]:
                    best = c
            if span[best] < 0:
                break
            span[best] = -1.0
            is_named = named[best] != 0
            for turn in range(1 if is_named else 2):
                middle = cut(x, order, first, last, best, is_named, turn == 1, side, spare)
                if (
                    middle - first >= k
                    and last - middle >= k
                    and is_allowed(rules, order, first, middle, bag, counts)
                    and is_allowed(rules, order, middle, last, bag, counts)
                ):
                    break
                middle = -1
                order[first:last] = np.sort(order[first:last])  # as before the cut
            if middle >= 0:
                break
        if middle < 0:
            for p in range(first, last):
                label[order[p]] = groups
            groups += 1
            continue
        stack[height, 0], stack[height, 1] = middle, last
        stack[height + 1, 0], stack[height + 1, 1] = first, middle
        height += 2
    return label
