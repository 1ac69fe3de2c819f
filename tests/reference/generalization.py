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
    losses = _losses(rows, positions, labels, free, weights)
    kept, least, broken = [], [], set()
    broken_count = 0
    for chosen in sets:
        for members in _classes(rows, labels, chosen, range(len(rows))):
            least.append(len(members))
            if _is_bad(members, k, confidential, rule):
                broken.update(members)
                broken_count += len(members)
            else:
                kept.append(len(members))
    loss = sum(1.0 if i in broken and len(sets) == 1 else own for i, own in enumerate(losses))
    return loss / len(rows), max(kept, default=0), min(kept, default=0), broken_count, min(least)


def cascade(rows, positions, labels, free, weights, k, confidential, rule, sets):
    """As `evaluate`, but the records of bad classes leave every set, until no class of any set is bad."""
    losses = _losses(rows, positions, labels, free, weights)
    left = set(range(len(rows)))
    least = min(len(members) for chosen in sets for members in _classes(rows, labels, chosen, left))
    while True:
        every = [members for chosen in sets for members in _classes(rows, labels, chosen, left)]
        broken = {i for members in every if _is_bad(members, k, confidential, rule) for i in members}
        if not broken:
            break
        left -= broken
    sizes = [len(members) for members in every]
    loss = sum(own if i in left else 1.0 for i, own in enumerate(losses))
    return loss / len(rows), max(sizes, default=0), min(sizes, default=0), len(rows) - len(left), least


def _losses(rows, positions, labels, free, weights):
    """The loss of each record: the weighted widths of its categories."""
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
    return [sum(share[j] * widths[j][labels[j][row[j]]] for j in range(len(positions))) for row in rows]


def _classes(rows, labels, chosen, records):
    """The classes of some records in some columns, as lists of records."""
    classes = defaultdict(list)
    for i in records:
        classes[tuple(labels[j][rows[i][j]] for j in chosen)].append(i)
    return list(classes.values())


def _is_bad(members, k, confidential, rule):
    """Whether a class breaks k, l or t."""
    if len(members) < k:
        return True
    if rule is None:
        return False
    values = [confidential[i] for i in members]
    if class_l(values, rule.kind, rule.c) < rule.l - 1e-12:
        return True
    if rule.t is None:
        return False
    return class_t(values, confidential, max(confidential) + 1, rule.distance == "ordered") > rule.t + 1e-12


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
