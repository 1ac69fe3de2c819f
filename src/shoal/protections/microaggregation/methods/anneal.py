"""Simulated annealing from MDAV's groups (`engine/partition/search/anneal.py`)."""

from __future__ import annotations

from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search import anneal as search
from shoal.engine.progress import Progress
from shoal.protections.microaggregation.squared_error import SquaredError


def anneal(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    effort: str = "standard",
    threads: int | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> KPartition:
    """The best partition of several annealing chains."""
    loss = SquaredError(values, k, weights)
    control = Control(threads=threads, progress=progress, seconds=seconds)
    return search.anneal(loss, control, seed=seed, effort=effort, checkpoint=checkpoint, resume=resume)
