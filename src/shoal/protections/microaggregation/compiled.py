"""The kernels of microaggregation that are compiled for its losses, so that they can be compiled ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.partition.kernels.rules import check_groups, no_rules
from shoal.engine.partition.space import search_kernels
from shoal.protections.microaggregation.changed_cells import ChangedCells
from shoal.protections.microaggregation.kernels.squares import RuledSquares, Squares


def generic_kernels() -> list[tuple[Any, ...]]:
    """Return the kernels of the search over partitions with each loss, and the kernel that checks rules."""
    codes = np.arange(4.0)[:, None]
    changed = ChangedCells(codes, codes, codes, 2)
    kernels: list[tuple[Any, ...]] = [(check_groups, no_rules(4)), *search_kernels(Squares())]
    for marker in (RuledSquares(*no_rules(4)), changed.marker):
        kernels += search_kernels(marker)[1:]  # the first one is the same for all losses of floats
    return [*kernels, *(kernel for kernel in changed.kernels() if isinstance(kernel, tuple))]
