"""Generalization, slowly: classes by dictionaries, rules by their definitions, fronts by comparing all pairs."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict


def class_l(values, kind, c):
    """The l of one class of confidential values."""
    counts = sorted(Counter(values).values(), reverse=True)
    if kind == "distinct":
        return len(counts)
    if kind == "entropy":
        total = sum(counts)
        return math.exp(-sum(x / total * math.log(x / total) for x in counts))
    held = [x for x in range(1, len(counts) + 1) if counts[0] < c * sum(counts[x - 1 :])]
    return max(held, default=0)


def class_t(values, everything, width, ordered):
    """The distance of one class's values from the whole table's."""
    gaps = [values.count(v) / len(values) - everything.count(v) / len(everything) for v in range(width)]
    if not ordered:
        return sum(abs(g) for g in gaps) / 2
    return sum(abs(sum(gaps[: i + 1])) for i in range(width)) / (width - 1) if width > 1 else 0.0


def evaluate(rows, positions, labels, free, weights, k, confidential, rule, sets):
    """NWP, largest, smallest kept class, broken rows, smallest class. rows: tuples of codes."""
    share = [w / sum(weights) for w in weights]
    widths = []
    for j, place in enumerate(positions):
        own = {}
        for g in set(labels[j]):
            inside = [v for v in range(len(place)) if labels[j][v] == g]
            extent = place[-1] - place[0]
            if free[j]:
                own[g] = (len(inside) - 1) / (len(place) - 1) if len(place) > 1 else 0.0
            else:
                own[g] = (place[inside[-1]] - place[inside[0]]) / extent if extent > 0 else 0.0
        widths.append(own)
    kept, least, broken = [], [], set()
    broken_count = 0
    for chosen in sets:
        classes = defaultdict(list)
        for i, row in enumerate(rows):
            classes[tuple(labels[j][row[j]] for j in chosen)].append(i)
        for members in classes.values():
            least.append(len(members))
            bad = len(members) < k
            if rule is not None:
                values = [confidential[i] for i in members]
                bad = bad or class_l(values, rule.kind, rule.c) < rule.l - 1e-12
                if rule.t is not None:
                    far = class_t(values, confidential, max(confidential) + 1, rule.distance == "ordered")
                    bad = bad or far > rule.t + 1e-12
            if bad:
                broken.update(members)
                broken_count += len(members)
            else:
                kept.append(len(members))
    loss = 0.0
    for i, row in enumerate(rows):
        own = sum(share[j] * widths[j][labels[j][row[j]]] for j in range(len(positions)))
        loss += 1.0 if i in broken and len(sets) == 1 else own
    return loss / len(rows), max(kept, default=0), min(kept, default=0), broken_count, min(least)


def ranks(points):
    """The front of each point."""
    left, rank, front = set(range(len(points))), [0] * len(points), 0
    while left:
        best = {
            a
            for a in left
            if not any(
                all(x <= y for x, y in zip(points[b], points[a], strict=True)) and points[b] != points[a] for b in left
            )
        }
        for a in best:
            rank[a] = front
        left -= best
        front += 1
    return rank


def all_cuts(sizes):
    """Every grouping of ordered domains, as lists of labels."""
    choices = []
    for size in sizes:
        own = []
        for bits in itertools.product((0, 1), repeat=max(size - 1, 0)):
            labels = [0]
            for bit in bits:
                labels.append(labels[-1] + bit)
            own.append(labels)
        choices.append(own)
    return itertools.product(*choices)
