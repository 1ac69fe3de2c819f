"""The k nearest records so far, in a max-heap ordered by (distance, row).

The farthest of them is at the root, so a new record is compared with the root only. Among equal distances the lower row
counts as the nearer one.
"""

from __future__ import annotations

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner


@inner
def offer(far: Floats, rows: Ints, size: int, distance: float, row: int) -> int:
    """Add a record to the heap if it is among the nearest; return the new size of the heap."""
    if size < far.size:
        i = size
        while i > 0:
            above = (i - 1) // 2
            if far[above] > distance or (far[above] == distance and rows[above] > row):
                break
            far[i], rows[i] = far[above], rows[above]
            i = above
        far[i], rows[i] = distance, row
        return size + 1
    if distance < far[0] or (distance == far[0] and row < rows[0]):
        _sink(far, rows, size, distance, row)
    return size


@inner
def sort_nearest(far: Floats, rows: Ints, size: int) -> None:
    """Turn the heap into a list, nearest first."""
    for last in range(size - 1, 0, -1):
        distance, row = far[last], rows[last]
        far[last], rows[last] = far[0], rows[0]
        _sink(far, rows, last, distance, row)


@inner
def _sink(far: Floats, rows: Ints, size: int, distance: float, row: int) -> None:
    """Replace the root by a record and move it down to its place."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        other = child + 1
        if other < size and (far[other] > far[child] or (far[other] == far[child] and rows[other] > rows[child])):
            child = other
        if distance > far[child] or (distance == far[child] and row > rows[child]):
            break
        far[i], rows[i] = far[child], rows[child]
        i = child
    far[i], rows[i] = distance, row
