"""The types of the arrays that packages exchange, and the number of cores."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]  # rows, groups and codes, of which there are many
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Codes = NDArray[np.integer[Any]]  # which distinct value a row has, in integers of any width


ROWS = 65_536  # of an array that are computed with at once
CACHE_LINE = 64  # bytes


def in_slices(n: int) -> list[slice]:
    """Return 0 .. n in slices, so that computing with a large array needs no copy of all of it.

    >>> in_slices(65_537)
    [slice(0, 65536, None), slice(65536, 65537, None)]
    """
    return [slice(first, min(n, first + ROWS)) for first in range(0, n, ROWS)]


def aligned_rows(n: int, width: int) -> Floats:
    """Return an uninitialized n x width array that starts at a cache line, so that each row lies on few of them."""
    memory = np.empty(n * width * 8 + CACHE_LINE, dtype=np.uint8)
    first = -memory.ctypes.data % CACHE_LINE
    return memory[first : first + n * width * 8].view(np.float64).reshape(n, width)


def cores() -> int:
    """Return how many cores this process may use: a container or `taskset` may allow fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
