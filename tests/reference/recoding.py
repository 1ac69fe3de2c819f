"""The losses of recoding, slow and obvious: what each group covers in each column."""

from __future__ import annotations

import math
import statistics
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


def greedy(cost_of, seeds, k):
    """Greedy groups of k to 2k - 1 records, as sorted lists.

    A group begins at the first seed that is left, takes the cheapest record until it has k, and then all that cost
    nothing, as long as k others stay. Larger groups are split; the last records join where they cost least.
    """
    pool, groups, placed = list(seeds), [], set()
    while len(pool) >= k:
        p, group = pool.index(next(i for i in seeds if i not in placed)), []
        while pool:
            if group:
                p = min(range(len(pool)), key=lambda q: cost_of([*group, pool[q]]))
            if len(group) >= k and (len(pool) <= k or cost_of([*group, pool[p]]) > cost_of(group)):
                break
            group.append(pool[p])
            placed.add(pool[p])
            pool[p] = pool[-1]
            pool.pop()
        groups.append(sorted(group))
    parts = []
    for group in groups:
        count = len(group) // k if len(group) > 2 * k - 1 else 1
        parts.append([[i for at, i in enumerate(group) if at * count // len(group) == part] for part in range(count)])
    groups = [first for first, *_ in parts] + [part for _, *others in parts for part in others]
    for i in pool:
        room = [group for group in groups if len(group) < 2 * k - 1]
        min(room, key=lambda group: (len(group) + 1) * cost_of([*group, i]) - len(group) * cost_of(group)).append(i)
    return sorted(map(sorted, groups))


def mondrian(columns, named, k):
    """The groups of strict Mondrian, as sorted lists. Names are halved in the order in which they occur."""

    def span(c, rows):
        held = [columns[c][i] for i in rows]
        return len(set(held)) if named[c] else max(held) - min(held)

    whole = [span(c, range(len(columns[0]))) or 1 for c in range(len(columns))]

    def parts(rows):
        spans = [span(c, rows) / whole[c] for c in range(len(columns))]
        for c in sorted(range(len(columns)), key=lambda c: -spans[c]):
            held = [columns[c][i] for i in rows]
            if named[c]:
                names = list(dict.fromkeys(held))
                tries = [[v in names[: len(names) // 2] for v in held]]
            else:
                tries = [[v < statistics.median(held) for v in held], [v <= statistics.median(held) for v in held]]
            for left in tries:
                if min(sum(left), len(left) - sum(left)) >= k:
                    sides = [i for i, is_left in zip(rows, left, strict=True) if is_left]
                    return parts(sides) + parts([i for i in rows if i not in sides])
        return [sorted(rows)]

    return sorted(parts(list(range(len(columns[0])))))


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
