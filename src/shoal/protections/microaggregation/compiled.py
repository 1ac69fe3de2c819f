"""The kernels of microaggregation that are compiled for its loss, so that they can be compiled ahead."""

from __future__ import annotations

from typing import Any

from shoal.engine.partition.space import search_kernels
from shoal.protections.microaggregation.kernels.squares import Squares


def generic_kernels() -> list[tuple[Any, ...]]:
    """Return the kernels of the search over partitions, with the squared error as their loss."""
    return search_kernels(Squares())
