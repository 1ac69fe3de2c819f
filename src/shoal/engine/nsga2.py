"""The selection of NSGA-II: fronts, crowding distances and survivors (Deb et al. 2002)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.nsga2 import crowding, ranks


@dataclass(frozen=True)
class Ranked:
    """The ranks (0 is best) and crowding distances (more is better) of a population."""

    rank: Ints
    distance: Floats


def ranked(objectives: Floats) -> Ranked:
    """Return ranks and crowding distances of points whose objectives are all minimized."""
    values = np.ascontiguousarray(objectives, dtype=np.float64)
    rank = ranks(values)
    return Ranked(rank, crowding(values, rank))


def survivors(order: Ranked, size: int) -> Ints:
    """Return the `size` best by rank, then by crowding distance, then by place."""
    return np.lexsort((-order.distance, order.rank))[:size].astype(np.int64)
