"""The memetic search from MDAV's groups (`engine/partition/search/memetic.py`)."""

from __future__ import annotations

from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search import memetic as search
from shoal.protections.microaggregation.squared_error import SquaredError


def memetic(
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
    """The best partition of a population of annealed ones and of their groups."""
    loss = SquaredError(values, k, weights)
    control = (control or current()).part(seconds=seconds)
    return search.memetic(loss, control, seed=seed, effort=effort, checkpoint=checkpoint, resume=resume)
