"""The default method: the optimum where it is quick to find, MDAV elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.partition.mdav import mdav
from shoal.partition.partition import KPartition
from shoal.partition.univariate import univariate

Floats = NDArray[np.float64]


def auto(values: Floats, k: int, *, weights: Floats | None = None, threads: int | None = None) -> KPartition:
    """The optimum of a single column without weights, else MDAV's groups."""
    if values.shape[1] == 1 and weights is None:
        found, chosen = univariate(values, k), "univariate"
    else:
        found, chosen = mdav(values, k, weights=weights, threads=threads), "mdav"
    return replace(found, facts={**found.facts, "chosen": chosen})
