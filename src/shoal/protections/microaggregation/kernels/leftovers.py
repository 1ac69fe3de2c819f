"""The records that are left over when too few remain for a group: each joins the group with the closest centroid."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.kernels.compiling import kernel
from shoal.engine.kernels.distance import distance


@kernel("void(float64[:, ::1], float64[::1], int64[::1], int64, int64)")
def join_closest(values: Any, weights: Any, labels: Any, groups: int, metric: int) -> None:
    """Give each record with label -1 the label of the closest (weighted) centroid.

    Centroids are those of the groups before any record joins. Ties go to the group with the lowest
    first row.
    """
    n, d = values.shape
    first = np.full(groups, -1, dtype=np.int64)
    order = np.empty(groups, dtype=np.int64)
    met = 0
    for i in range(n):
        g = labels[i]
        if g >= 0 and first[g] < 0:
            first[g] = i
            order[met] = g
            met += 1
    totals = np.zeros(groups)
    centroids = np.zeros((groups, d))
    for i in range(n):
        g = labels[i]
        if g >= 0:
            totals[g] += weights[i]
            for c in range(d):
                centroids[g, c] += weights[i] * (values[i, c] - values[first[g], c])
    for g in range(groups):
        for c in range(d):
            centroids[g, c] = values[first[g], c] + centroids[g, c] / totals[g]
    for i in range(n):
        if labels[i] < 0:
            closest, least = order[0], np.inf
            for g in order:
                far = distance(values[i], centroids[g], metric)
                if far < least:
                    closest, least = g, far
            labels[i] = -2 - closest  # marked, so that it does not count as a member for later records
    for i in range(n):
        if labels[i] < -1:
            labels[i] = -2 - labels[i]
