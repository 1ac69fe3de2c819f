"""Linkage, slowly: every pair of an original and a protected record."""

from __future__ import annotations

import math


def distance_credits(original, protected, strict):
    """For each record, its share of a right link by the nearest protected record."""
    found = []
    for i, record in enumerate(original):
        away = []
        for row in protected:
            total = 0.0
            for a, b in zip(record, row, strict=True):
                total += (a - b) ** 2
            away.append(total)
        ties = away.count(min(away)) if away[i] == min(away) else 0
        found.append(float(ties == 1) if strict else (1 / ties if ties else 0.0))
    return found


def pattern(record, row, tolerance):
    """Bit j where column j agrees."""
    return sum((abs(b - a) <= most) << j for j, (a, b, most) in enumerate(zip(record, row, tolerance, strict=True)))


def pattern_counts(original, protected, tolerance):
    """How many pairs have each pattern."""
    counts = [0] * (1 << len(tolerance))
    for record in original:
        for row in protected:
            counts[pattern(record, row, tolerance)] += 1
    return counts


def heaviest(original, protected, tolerance, weights):
    """Among how many heaviest pairs each record's own is; 0 if it is not."""
    found = []
    for i, record in enumerate(original):
        heavy = [weights[pattern(record, row, tolerance)] for row in protected]
        found.append(heavy.count(max(heavy)) if heavy[i] == max(heavy) else 0)
    return found


def interval_share(before, after, form):
    """Percent of one column's cells within 1 % to 10 % of a width."""
    n = len(before)
    mean = math.fsum(before) / n
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in before) / n)

    def rank(value):
        return sum(x < value for x in before) + sum(x == value for x in before) / 2

    hits = 0
    for x, y in zip(before, after, strict=True):
        miss, width = (abs(x - y), spread) if form == "deviation" else (abs(rank(x) - rank(y)), n)
        hits += sum(miss <= 0.01 * p * width for p in range(1, 11))
    return 100 * hits / (10 * n)
