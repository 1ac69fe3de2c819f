"""Mixed microaggregation the slow way: indicators, impurities, modes and medians, record by record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Weights = Sequence[float]


def gini(labels: Sequence[Any], weights: Weights) -> float:
    """The sum over values of p (1 - p)."""
    total = sum(weights)
    return sum(p * (1 - p) for p in (weight_of(labels, weights, value) / total for value in distinct(labels)))


def indicators(labels: Sequence[Any], weights: Weights) -> list[list[float]]:
    """One column per value, so that the total variance is 1."""
    size = math.sqrt(gini(labels, weights))
    return [[1.0 / size if label == value else 0.0 for value in distinct(labels)] for label in labels]


def standardized(values: Sequence[float], weights: Weights) -> list[float]:
    total = sum(weights)
    mean = sum(w * x for w, x in zip(weights, values, strict=True)) / total
    deviation = math.sqrt(sum(w * (x - mean) ** 2 for w, x in zip(weights, values, strict=True)) / total)
    return [(x - mean) / deviation if deviation else 0.0 for x in values]


def mode(labels: Sequence[Any], weights: Weights, group: Sequence[int]) -> Any:
    """The heaviest value of the group; ties: the heaviest in all, then the first in order, missing last."""
    inside, heavy = [labels[i] for i in group], [weights[i] for i in group]

    def rank(value: Any) -> tuple[float, float]:
        return (-weight_of(inside, heavy, value), -weight_of(labels, weights, value))

    return min(distinct(inside), key=rank)  # the first of equals, in the order of `distinct`


def lower_median(ranks: Sequence[int], weights: Weights, group: Sequence[int]) -> int:
    """The lowest rank at which half of the group's weight is reached."""
    half, reached = sum(weights[i] for i in sorted(group, key=lambda i: ranks[i])) / 2, 0.0
    for rank in sorted({ranks[i] for i in group}):
        reached += sum(weights[i] for i in group if ranks[i] == rank)
        if reached >= half:
            return rank
    return max(ranks[i] for i in group)


def impurity(labels: Sequence[Any], weights: Weights, groups: Sequence[Sequence[int]]) -> float:
    """Gini impurity within the groups, as a share of that of all records."""
    within = 0.0
    for group in groups:
        heavy = [weights[i] for i in group]
        within += sum(heavy) * gini([labels[i] for i in group], heavy)
    return within / sum(weights) / gini(labels, weights)


def squares(points: Sequence[Sequence[float]], weights: Weights, groups: Sequence[Sequence[int]]) -> float:
    """Weighted squared distances to the groups' means."""
    total = 0.0
    for group in groups:
        mass = sum(weights[i] for i in group)
        for j in range(len(points[0])):
            mean = sum(weights[i] * points[i][j] for i in group) / mass
            total += sum(weights[i] * (points[i][j] - mean) ** 2 for i in group)
    return total


SHARE = {"number": 1.0, "rank": 0.5, "name": 1.1}


def lost(
    columns: Sequence[tuple[str, Sequence[Any]]], weights: Weights, importance: Weights, labels: Sequence[int]
) -> list[float]:
    """What each group loses by importance: shares of variance, half those of rank distance, 1.1 times those of labels.

    The share of labels is that of the labels that would change if each became that of a random record.

    columns: "number", "rank" or "name", and the values of the records.
    """
    everyone = list(range(len(labels)))
    wholes = [_most(kind, values, weights) for kind, values in columns]
    losses = []
    for group in sorted(set(labels)):
        rows = [i for i in everyone if labels[i] == group]
        shares = [
            factor * SHARE[kind] * _lost(kind, values, weights, rows) / whole
            for (kind, values), factor, whole in zip(columns, importance, wholes, strict=True)
            if whole > 0
        ]
        losses.append(sum(shares))
    return losses


def _most(kind: str, values: Sequence[Any], weights: Weights) -> float:
    """What a column is compared with: labels with those of random records, other values with one group of all."""
    if kind != "name":
        return _lost(kind, values, weights, list(range(len(values))))
    total = sum(weights)
    masses = [weight_of(values, weights, value) for value in set(values)]
    return sum(mass * (total - mass) / total for mass in masses)


def _lost(kind: str, values: Sequence[Any], weights: Weights, rows: Sequence[int]) -> float:
    """Squares, rank distances or changed labels of a group, by weight."""
    if kind == "number":
        mean = sum(weights[i] * values[i] for i in rows) / sum(weights[i] for i in rows)
        return sum(weights[i] * (values[i] - mean) ** 2 for i in rows)
    if kind == "rank":
        middle = lower_median(values, weights, rows)
        return sum(weights[i] * abs(values[i] - middle) for i in rows)
    most = mode(values, weights, rows)
    return sum(weights[i] for i in rows if values[i] != most)


def distinct(labels: Sequence[Any]) -> list[Any]:
    """The values in rising order, missing last."""
    return [*sorted({label for label in labels if label is not None}), *([None] if None in labels else [])]


def weight_of(labels: Sequence[Any], weights: Weights, value: Any) -> float:
    total = 0.0
    for label, weight in zip(labels, weights, strict=True):
        if label == value:
            total += weight
    return total
