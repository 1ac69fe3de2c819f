"""MDAV in blocks, then annealing over the whole file (`engine/partition/search/blocks.py`)."""

from __future__ import annotations

from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search import blocks as search
from shoal.protections.microaggregation.squared_error import SquaredError


def blocks(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    effort: str = "standard",
    seconds: float | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
    control: Control | None = None,
) -> KPartition:
    """A partition of a large file: MDAV in blocks, annealing across their borders."""
    loss = SquaredError(values, k, weights)
    control = (control or current()).part(seconds=seconds)
    return search.blocks(loss, control, seed=seed, effort=effort, checkpoint=checkpoint, resume=resume)
