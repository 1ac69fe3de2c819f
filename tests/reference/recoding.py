"""The losses of recoding, slow and obvious: what each group covers in each column."""

from __future__ import annotations

import math
from collections import Counter


def set_cost(columns, rows):
    """The cost per record of a group: the width of its positions, and its further names.

    columns: (kind, values, unit) with kind "positions" (-1 is missing) or "names".
    """
    total = 0
    for kind, values, unit in columns:
        held = [int(values[i]) for i in rows]
        if kind == "names":
            total += (len(set(held)) - 1) * unit
        else:
            present = [v for v in held if v >= 0]
            total += max(present) - min(present) if present else 0
    return total


def node_cost(columns, rows):
    """The cost per record of a group: that of the lowest level at which all values have one node.

    columns: (codes, levels, costs); levels below the root, costs from the root on.
    """
    total = 0
    for codes, levels, costs in columns:
        values = [int(codes[i]) for i in rows]
        depth = 0
        while depth < len(levels) and len({int(levels[depth][v]) for v in values}) == 1:
            depth += 1
        total += int(costs[depth][values[0]])
    return total


def keeps(values, whole, kind, least, c, t, ordered):
    """Whether the confidential values of a group keep l and t."""
    counts, n = Counter(values), len(values)
    if kind == "distinct" and len(counts) < least - 1e-12:
        return False
    if kind == "entropy":
        entropy = -sum(m / n * math.log(m / n) for m in counts.values())
        if math.exp(entropy) < least - 1e-12:
            return False
    if kind == "recursive":
        falling = sorted(counts.values(), reverse=True)
        if not falling[0] < c * sum(falling[math.ceil(least) - 1 :]):
            return False
    if t is None:
        return True
    width, all_counts = max(whole) + 1, Counter(whole)
    gaps = [counts[v] / n - all_counts[v] / len(whole) for v in range(width)]
    if not ordered:
        return sum(map(abs, gaps)) / 2 <= t + 1e-12
    running, total = 0.0, 0.0
    for gap in gaps:
        running += gap
        total += abs(running)
    return width < 2 or total / (width - 1) <= t + 1e-12
