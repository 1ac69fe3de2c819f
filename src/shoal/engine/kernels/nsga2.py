"""NSGA-II's sorting: ranks of non-domination and crowding distances (Deb et al. 2002), all objectives minimized."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.kernels.compiling import kernel


@kernel("int64[::1](float64[:, ::1])")
def ranks(objectives: NDArray[np.float64]) -> Any:
    """Return the front of each point: 0 for the non-dominated, 1 for the non-dominated among the rest, and so on."""
    n, m = objectives.shape
    dominated_by = np.zeros(n, np.int64)
    dominates = np.zeros((n, n), np.bool_)
    for a in range(n):
        for b in range(a + 1, n):
            better, worse = False, False
            for j in range(m):
                if objectives[a, j] < objectives[b, j]:
                    better = True
                elif objectives[a, j] > objectives[b, j]:
                    worse = True
            if better and not worse:
                dominates[a, b] = True
                dominated_by[b] += 1
            elif worse and not better:
                dominates[b, a] = True
                dominated_by[a] += 1
    rank = np.full(n, -1, np.int64)
    placed, front = 0, 0
    while placed < n:
        current = np.empty(n, np.int64)
        size = 0
        for a in range(n):
            if rank[a] < 0 and dominated_by[a] == 0:
                current[size] = a
                size += 1
        for q in range(size):
            rank[current[q]] = front
            for b in range(n):
                if dominates[current[q], b]:
                    dominated_by[b] -= 1
        placed += size
        front += 1
    return rank


@kernel("float64[::1](float64[:, ::1], int64[::1])")
def crowding(objectives: NDArray[np.float64], rank: NDArray[np.int64]) -> Any:
    """Return how far apart each point's neighbours on its front are, as a share of the front's range, summed."""
    n, m = objectives.shape
    distance = np.zeros(n)
    for front in range(rank.max() + 1):
        members = np.flatnonzero(rank == front)
        for j in range(m):
            values = np.empty(members.size)
            for q in range(members.size):
                values[q] = objectives[members[q], j]
            order = np.argsort(values, kind="mergesort")
            extent = values[order[-1]] - values[order[0]]
            distance[members[order[0]]] = np.inf
            distance[members[order[-1]]] = np.inf
            if extent > 0:
                for q in range(1, members.size - 1):
                    distance[members[order[q]]] += (values[order[q + 1]] - values[order[q - 1]]) / extent
    return distance
