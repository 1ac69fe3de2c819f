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


def cores() -> int:
    """Return how many cores this process may use: a container or `taskset` may allow fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
