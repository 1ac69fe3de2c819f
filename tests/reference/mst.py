"""MSTP by its definition: Prim's tree by looking at every pair, components found anew after each trial cut."""

from __future__ import annotations

from reference.md import md
from reference.rows import labels_of, squared


def tree(values):
    """Edges (squared length, row added, row it was linked to), starting from row 0."""
    points = [list(map(float, row)) for row in values]
    visited, edges = [0], []
    while len(visited) < len(points):
        square, row, step = min(
            (squared(points[i], points[v]), i, step)
            for i in range(len(points))
            if i not in visited
            for step, v in enumerate(visited)
        )
        edges.append((square, row, visited[step]))
        visited.append(row)
    return edges


def component(start, edges):
    found, todo = {start}, [start]
    while todo:
        i = todo.pop()
        for _, a, b in edges:
            for near, far in ((a, b), (b, a)):
                if near == i and far not in found:
                    found.add(far)
                    todo.append(far)
    return found


def mst(values, k, split, weights=None):
    n = len(values)
    weights = [1.0] * n if weights is None else list(weights)
    edges = tree(values)
    for edge in sorted(edges, key=lambda e: (-e[0], e[1])):
        rest = [e for e in edges if e is not edge]
        if len(component(edge[1], rest)) >= k and len(component(edge[2], rest)) >= k:
            edges = rest
    groups = {frozenset(component(i, edges)) for i in range(n)}
    if split:
        parts = []
        for group in groups:
            rows = sorted(group)
            if len(rows) < 2 * k:
                parts.append(rows)
                continue
            within = md([values[i] for i in rows], k, [weights[i] for i in rows])
            parts += [[i for i, label in zip(rows, within, strict=True) if label == g] for g in set(within)]
        groups = parts
    return labels_of(groups, n)
