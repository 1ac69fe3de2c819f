"""The optimal k-partition of a few records by dynamic programming over subsets.

A set of records is the bits of a number. The lowest record not yet covered must be in some group.
Therefore only groups with it are tried next, and no partition is tried twice in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import squared_in_order


@inner
def _group_costs(values: Any, weights: Any) -> Any:
    """Return the sum of squares of every subset: weighted squared distances of its pairs, divided by its weight."""
    n = values.shape[0]
    pair = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            pair[i, j] = weights[i] * weights[j] * squared_in_order(values, i, values, j)
    costs = np.zeros(1 << n)
    totals = np.zeros(1 << n)
    # First the sums over pairs: those of the subset without its highest record, plus the pairs of that record.
    for high in range(n):
        for rest in range(1 << high):
            subset = rest | (1 << high)
            totals[subset] = totals[rest] + weights[high]
            more = 0.0
            for i in range(high):
                if rest >> i & 1:
                    more += pair[i, high]
            costs[subset] = costs[rest] + more
    for subset in range(1, 1 << n):
        costs[subset] /= totals[subset]
    return costs


@inner
def _try_groups(covered: int, n: int, k: int, bound: float, costs: Any, best: Any, last: Any, stack: Any) -> None:
    """Extend the best partition of the covered records by every group with the lowest of the others.

    The cost of a group only grows with its records, so a group that exceeds the bound is not extended.
    """
    free = stack[0]
    count = 0
    for i in range(n):
        if not covered >> i & 1:
            free[count] = i
            count += 1
    group, following = stack[1], stack[2]  # by the number of its records: the group so far, the next record to try
    group[1] = 1 << free[0]
    following[1] = 1
    size = 1
    while size > 0:
        f = following[size]
        # Too few records for a group of k, or the group is full.
        if count - f < k - size or f == count or size == 2 * k - 1:
            size -= 1
            continue
        following[size] = f + 1
        size += 1
        group[size] = group[size - 1] | (1 << free[f])
        following[size] = f + 1
        cost = best[covered] + costs[group[size]]
        if cost > bound:
            size -= 1
            continue
        rest = count - size
        if size >= k and (rest == 0 or rest >= k):
            whole = covered | group[size]
            if last[whole] == 0 or cost < best[whole]:
                best[whole] = cost
                last[whole] = group[size]


@inner
def _cost_of(labels: Any, costs: Any) -> float:
    """Return the cost of a partition whose labels run from 0."""
    subsets = np.zeros(labels.max() + 1, dtype=np.int64)
    for i in range(labels.size):
        subsets[labels[i]] |= 1 << i
    total = 0.0
    for subset in subsets:
        total += costs[subset]
    return total


@kernel("int64[::1](float64[:, ::1], float64[::1], int64, int64[::1], uint8[::1])")
def best_by_subsets(values: Any, weights: Any, k: int, start: Any, flag: Any) -> Any:
    """Return the labels of a k-partition with the least weighted SSE; of several, the first one met.

    Args:
        start: The labels of a partition into groups of k to 2k-1; the better it is, the more is skipped.
        flag: Once it is set, `start` is the result.
    """
    n = values.shape[0]
    costs = _group_costs(values, weights)
    # Wide enough for rounding, and for underflow, by which a part of a group may seem to cost more than the whole.
    bound = _cost_of(start, costs) * (1.0 + 1e-9) + 1e-300
    everything = (1 << n) - 1
    best = np.zeros(1 << n)  # cost of the best partition of each covered set
    last = np.zeros(1 << n, dtype=np.int32)  # its last group; 0 for sets that no groups cover
    stack = np.empty((3, n + 1), dtype=np.int64)
    for covered in range(everything):
        if covered == 0 or last[covered] != 0:
            _try_groups(covered, n, k, bound, costs, best, last, stack)
        if flag[0] != 0:
            return start.copy()
    labels = np.empty(n, dtype=np.int64)
    covered, group = everything, 0
    while covered:
        for i in range(n):
            if last[covered] >> i & 1:
                labels[i] = group
        covered ^= last[covered]
        group += 1
    return labels
