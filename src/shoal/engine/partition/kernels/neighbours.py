"""Lists of the nearest records, sorted by (distance, record): exact by brute force, or improved leaf by leaf.

`near[i]` are records, `far[i]` their squared distances. Empty places hold -1 and infinity.
"""

from __future__ import annotations

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import squared


@inner
def insert(near: Indices, far: Floats, i: int, j: int, gap: float) -> bool:
    """Insert j into i's list if it is near enough and not in it yet; return whether it was inserted."""
    t = far.shape[1] - 1
    if gap > far[i, t] or (gap == far[i, t] and j >= near[i, t] >= 0):
        return False
    s = t
    while s >= 0 and far[i, s] >= gap:  # equal distances: j may be in the list already
        if near[i, s] == j:
            return False
        s -= 1
    while t > 0 and (far[i, t - 1] > gap or (far[i, t - 1] == gap and near[i, t - 1] > j)):
        far[i, t] = far[i, t - 1]
        near[i, t] = near[i, t - 1]
        t -= 1
    far[i, t] = gap
    near[i, t] = j
    return True


@kernel("void(float64[:, ::1], int32[:, ::1], float64[:, ::1], int64, int64)")
def all_pairs(x: Floats, near: Indices, far: Floats, first: int, last: int) -> None:
    """Fill the exact lists of the records first .. last - 1."""
    for i in range(first, last):
        for j in range(x.shape[0]):
            if j != i:
                gap = squared(x, i, x, j)
                if gap <= far[i, far.shape[1] - 1]:
                    insert(near, far, i, j, gap)


@kernel("void(float64[:, ::1], int32[::1], int32[::1], int32[:, ::1], float64[:, ::1], int64, int64)")
def within_leaves(
    x: Floats, order: Indices, starts: Indices, near: Indices, far: Floats, first: int, last: int
) -> None:
    """Improve the lists by all pairs within each of the leaves first .. last - 1."""
    worst = far.shape[1] - 1
    for leaf in range(first, last):
        for p in range(starts[leaf], starts[leaf + 1]):
            i = order[p]
            for q in range(starts[leaf], p):
                j = order[q]
                gap = squared(x, i, x, j)
                if gap <= far[i, worst]:
                    insert(near, far, i, j, gap)
                if gap <= far[j, worst]:
                    insert(near, far, j, i, gap)


@kernel("void(float64[:, ::1], int32[:, ::1], int32[:, ::1], float64[:, ::1], int64, int64, int64)")
def neighbours_of_neighbours(
    x: Floats, old: Indices, near: Indices, far: Floats, reach: int, first: int, last: int
) -> None:
    """Improve the lists of the records first .. last - 1 by the `reach` nearest of their `reach` nearest."""
    worst = far.shape[1] - 1
    for i in range(first, last):
        for s in range(reach):
            j = old[i, s]
            if j < 0:
                break
            for t in range(reach):
                m = old[j, t]
                if m < 0:
                    break
                if m != i:
                    gap = squared(x, i, x, m)
                    if gap <= far[i, worst]:
                        insert(near, far, i, m, gap)
