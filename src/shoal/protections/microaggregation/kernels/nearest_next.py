"""Visit all records, always the closest one next: to any visited record (Prim's spanning tree) or to the last (a path).

It takes O(n^2) distances and O(n) memory (Prim 1957). The path is the nearest-neighbour tour of the
travelling salesman problem.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from shoal.engine.kernels.compiling import inner, kernel
from shoal.protections.microaggregation.kernels.columnwise import distances_to


class Unvisited(NamedTuple):
    """The records not yet visited, in the order of their rows, and some visited ones."""

    rows: Any  # of each position; -1 for visited ones
    columns: Any  # values by column and position
    closest: Any  # squared distance to the closest visited record, or to the last one
    via: Any  # the row of that record
    distances: Any  # from the record just visited


@inner
def _next(s: Unvisited, length: int, last: int, tree: bool) -> int:
    """Return the position to visit next, the lowest row among equals; -1 if none is left."""
    best, smallest = -1, np.inf
    for p in range(length):
        if s.rows[p] >= 0:
            if not tree or s.distances[p] < s.closest[p]:
                s.closest[p] = s.distances[p]
                s.via[p] = last
            if s.closest[p] < smallest or best < 0:
                best, smallest = p, s.closest[p]
    return best


@inner
def _close_ranks(s: Unvisited, length: int) -> int:
    """Move the unvisited records together, in their order; return their number."""
    kept = 0
    for p in range(length):
        if s.rows[p] >= 0:
            s.rows[kept], s.closest[kept], s.via[kept] = s.rows[p], s.closest[p], s.via[p]
            for c in range(s.columns.shape[0]):
                s.columns[c, kept] = s.columns[c, p]
            kept += 1
    return kept


@kernel("Tuple((int64[::1], int64[::1], float64[::1]))(float64[:, ::1], int64, boolean, uint8[::1])")
def visit(values: Any, first: int, tree: bool, flag: Any) -> Any:
    """Return the order of the visit, the visited row that each row was closest to (-1 for the first), and the squared
    distance to it.

    Args:
        tree: Whether the next record is the closest to any visited one, so that the links are the minimum spanning
            tree; otherwise it is the closest to the last one.
        flag: The visit ends early, with an unfinished order, once it is set.
    """
    n = values.shape[0]
    order = np.empty(n, dtype=np.int64)
    link = np.full(n, -1, dtype=np.int64)
    squares = np.zeros(n)
    s = Unvisited(
        np.arange(n), np.ascontiguousarray(values.T), np.full(n, np.inf), np.full(n, -1, dtype=np.int64), np.empty(n)
    )
    position, length = first, n
    for step in range(n):
        if flag[0] != 0:
            break
        row = s.rows[position]
        order[step] = row
        if step > 0:
            link[row], squares[row] = s.via[position], s.closest[position]
        s.rows[position] = -1
        if n - step - 1 < length - length // 8:
            length = _close_ranks(s, length)
        distances_to(s.columns, 0, length, values[row], s.distances)
        position = _next(s, length, row, tree)
    return order, link, squares
