"""The kernels of recoding whose form depends on the loss, with examples of their arguments: for compiling ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.partition.kernels.rules import no_rules
from shoal.engine.partition.space import search_kernels
from shoal.protections.recoding.kernels.mondrian import median_cuts
from shoal.protections.recoding.losses import NodeColumn, NodeLoss, RecodingLoss, SetColumn, ValueSetLoss


def generic_kernels() -> list[tuple[Any, ...]]:
    """Return the kernels of a search with each loss, and that of Mondrian."""
    codes = np.arange(4, dtype=np.int32)
    tree = NodeColumn(codes, codes[None], np.array([[1] * 4, [0] * 4], dtype=np.int64))
    losses: tuple[RecodingLoss, ...] = (ValueSetLoss([SetColumn(codes.astype(np.int64))], 2), NodeLoss([tree], 2))
    kernels: list[tuple[Any, ...]] = [(median_cuts, no_rules(4))]
    for loss in losses:
        kernels += search_kernels(loss.marker, loss.records, loss.summary_type, loss.is_rebuilt)
        kernels += loss.kernels()
    return kernels
