"""SSE, centroids and totals of a partition, record by record."""

from __future__ import annotations

from fractions import Fraction


def centroid(rows: list[list[float]], weights: list[float]) -> list[float]:
    """The weighted mean, in exact arithmetic."""
    total = sum(Fraction(w) for w in weights)
    columns = range(len(rows[0]))
    return [
        float(sum(Fraction(r[j]) * Fraction(w) for r, w in zip(rows, weights, strict=True)) / total) for j in columns
    ]


def sse(rows: list[list[float]], labels: list[int], weights: list[float]) -> float:
    """Squared distances to the centroids, in exact arithmetic."""
    loss = Fraction(0)
    for group in set(labels):
        members = [i for i, label in enumerate(labels) if label == group]
        total = sum(Fraction(weights[i]) for i in members)
        for j in range(len(rows[0])):
            mean = sum(Fraction(rows[i][j]) * Fraction(weights[i]) for i in members) / total
            loss += sum(Fraction(weights[i]) * (Fraction(rows[i][j]) - mean) ** 2 for i in members)
    return float(loss)
