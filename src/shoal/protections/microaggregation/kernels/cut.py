"""Cut a sequence of records into groups of k to 2k-1 at the least cost, by a shortest path over the cut points.

Hansen and Mukherjee 2003 for one column; with the multivariate cost it serves any order of
records (Domingo-Ferrer and others 2006). O(nkd) time, O(n) memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel


@kernel("int64[::1](float64[:, ::1], float64[::1], int64)")
def optimal_cut(values: Any, weights: Any, k: int) -> Any:
    """Return the group of each position, numbered along the sequence; among equal costs the shortest last group wins.

    The cost of a group is summed record by record from its end to its start, with a running mean. Every
    term is a sum of squares and nothing is subtracted. Therefore neither offsets nor the length of the
    sequence cost digits of a small group, as they would with prefix sums.
    """
    n, d = values.shape
    cost = np.zeros(n + 1)  # of the best cut of the first records, by their number
    size = np.zeros(n + 1, dtype=np.int64)  # of its last group; 0 where there are too few records for a cut
    mean = np.empty(d)
    for end in range(k, n + 1):
        for c in range(d):
            mean[c] = values[end - 1, c]
        total, spread = weights[end - 1], 0.0
        for length in range(2, min(2 * k - 1, end) + 1):
            i = end - length
            before = total
            total += weights[i]
            share = weights[i] / total
            square = 0.0
            for c in range(d):
                difference = values[i, c] - mean[c]
                square += difference * difference
                mean[c] += share * difference
            spread += before * share * square
            possible = length >= k and (i == 0 or size[i] > 0)
            if possible and (size[end] == 0 or cost[i] + spread < cost[end]):
                cost[end] = cost[i] + spread
                size[end] = length
    labels = np.empty(n, dtype=np.int64)
    end, group = n, 0
    while end > 0:
        labels[end - size[end] : end] = group
        end -= size[end]
        group += 1
    return group - 1 - labels
