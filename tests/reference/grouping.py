"""The cost of a grouping of columns, slowly: the protected data is built, and every pair of records is compared."""

from __future__ import annotations

import itertools
import math

import numpy as np


def centroids(columns, labels):
    """One list a column: the mean of each group, the value itself where all are equal."""
    groups = max(labels) + 1
    found = []
    for column in columns:
        means = []
        for g in range(groups):
            values = [float(column[i]) for i in range(len(labels)) if labels[i] == g]
            total = 0.0
            for value in values:
                total += value
            means.append(values[0] if len(set(values)) == 1 else total / len(values))
        found.append(means)
    return found


def group_figures(columns, labels, reach):
    """SSE, hits of the ten intervals, and labels where groups with the same centroid have the same one."""
    means = centroids(columns, labels)
    sse, hits = 0.0, 0
    for column, line, width in zip(columns, means, reach, strict=True):
        for i, g in enumerate(labels):
            miss = abs(column[i] - line[g])
            sse += miss * miss
            hits += sum(miss <= 0.01 * p * (abs(line[g]) if width < 0 else width) for p in range(1, 11))
    points = [tuple(line[g] for line in means) for g in range(max(labels) + 1)]
    distinct = list(dict.fromkeys(points))
    return sse, hits, [distinct.index(points[g]) for g in labels], len(distinct)


def distance_table(columns, labels):
    """Squared distances of every record to every centroid."""
    means = centroids(columns, labels)
    return [
        [
            sum((column[i] - line[g]) ** 2 for column, line in zip(columns, means, strict=True))
            for g in range(max(labels) + 1)
        ]
        for i in range(len(labels))
    ]


def links(tables, labels, strict):
    """Links by comparing every record with every protected record; a table is a list of rows, one a record."""
    n = len(labels[0])
    total = 0.0
    for i in range(n):
        away = [sum(table[i][label[r]] for table, label in zip(tables, labels, strict=True)) for r in range(n)]
        least = min(away)
        if away[i] == least:
            ties = away.count(least)
            total += (ties == 1) if strict else 1 / ties
    return total


def cost(values, labelled, strict, relative):
    """Loss, interval disclosure and linkage of a protection: `labelled` has (columns, labels) of each column group."""
    values = np.asarray(values, dtype=float)
    protected = np.empty_like(values)
    for columns, labels in labelled:
        means = centroids([values[:, c] for c in columns], list(labels))
        for c, line in zip(columns, means, strict=True):
            protected[:, c] = [line[g] for g in labels]
    sst = ((values - values.mean(axis=0)) ** 2).sum()
    loss = 100 * ((values - protected) ** 2).sum() / sst
    varied = [j for j in range(values.shape[1]) if np.ptp(values[:, j]) > 0]
    hits = 0
    for j in varied:
        for x, y in zip(values[:, j], protected[:, j], strict=True):
            width = abs(y) if relative else values[:, j].std()
            hits += sum(abs(x - y) <= 0.01 * p * width for p in range(1, 11))
    found = 0.0
    for i in range(len(values)):
        away = [math.fsum((a - b) ** 2 for a, b in zip(values[i], row, strict=True)) for row in protected]
        if away[i] == min(away):
            ties = away.count(min(away))
            found += (ties == 1) if strict else 1 / ties
    return loss, 100 * hits / (10 * len(values) * len(varied)), 100 * found / len(values)


def partitions(columns):
    """All groupings of a list of columns."""
    if not columns:
        yield []
        return
    first, *rest = columns
    for grouping in partitions(rest):
        yield [[first], *grouping]
        for i, group in enumerate(grouping):
            yield [*grouping[:i], [first, *group], *grouping[i + 1 :]]


def estimate(grouping, pairs, sizes):
    """The estimated price of a grouping: pairs over the root of the group's size, and a number for the size."""
    price = 0.0
    for group in grouping:
        columns = [c for c in range(len(pairs)) if group >> c & 1]
        within = sum(pairs[max(a, b), min(a, b)] for a, b in itertools.combinations(columns, 2))
        price += within / len(columns) ** 0.5 + sizes[len(columns)]
    return price
