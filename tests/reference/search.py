"""The search's sums the slow way: loss from labels, neighbours from all distances, optima from all partitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def sse(values, labels, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    total = 0.0
    for group in np.unique(labels):
        rows = labels == group
        centre = np.average(values[rows], axis=0, weights=weights[rows])
        total += (weights[rows] * ((values[rows] - centre) ** 2).sum(axis=1)).sum()
    return total


def deviation(values, weights):
    """The weighted sum of absolute deviations from each column's median, which is one of its values."""
    values = np.asarray(values, dtype=np.float64)
    return sum(min((weights * np.abs(column - middle)).sum() for middle in column) for column in values.T)


def deviations(values, labels, weights):
    return sum(deviation(values[labels == g], weights[labels == g]) for g in np.unique(labels))


def nearest_distances(values, count):
    gaps = ((values[:, None] - values[None]) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return np.sort(gaps, axis=1)[:, :count]


def least_sse(values, k):
    """The optimum over all partitions into groups of k to 2k - 1."""

    def least(rows):
        if not rows:
            return 0.0
        best = np.inf
        first, others = rows[0], rows[1:]
        for size in range(k, 2 * k):
            for rest in combinations(others, size - 1):
                group = values[[first, *rest]]
                cost = ((group - group.mean(axis=0)) ** 2).sum()
                left = [r for r in others if r not in rest]
                if cost < best and (not left or len(left) >= k):
                    best = min(best, cost + least(left))
        return best

    return least(list(range(len(values))))


def least_reduced_cost(values, duals, k, record):
    """The least (SSE - duals) / size of the groups with a record, at most 0."""
    best = 0.0
    others = [r for r in range(len(values)) if r != record]
    for size in range(k, 2 * k):
        for rest in combinations(others, size - 1):
            group = [record, *rest]
            cost = ((values[group] - values[group].mean(axis=0)) ** 2).sum() - duals[group].sum()
            best = min(best, cost / size)
    return best
