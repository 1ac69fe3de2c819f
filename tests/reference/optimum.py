"""The optimal k-partition of a few records by trying all of them, the slow way."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def optimum(values: NDArray[np.float64], k: int) -> float:
    """The least SSE over all partitions into groups of k..2k-1 records."""

    @cache
    def spread(group: tuple[int, ...]) -> float:
        rows = values[list(group)]
        return float(((rows - rows.mean(axis=0)) ** 2).sum())

    @cache
    def least(left: tuple[int, ...]) -> float:
        if not left:
            return 0.0
        found = float("inf")
        for size in range(k, min(2 * k - 1, len(left)) + 1):
            if 0 < len(left) - size < k:
                continue
            for others in combinations(left[1:], size - 1):
                group = (left[0], *others)
                rest = tuple(i for i in left if i not in group)
                found = min(found, spread(group) + least(rest))
        return found

    return least(tuple(range(len(values))))
