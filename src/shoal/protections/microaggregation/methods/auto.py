"""The default method, by the size of the file: the least loss that the effort can buy.

one column without weights: the optimum
up to 20,000 records: memetic search
beyond: annealing in blocks
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.blocks import blocks
from shoal.protections.microaggregation.methods.memetic import memetic
from shoal.protections.microaggregation.methods.univariate import univariate

LARGE = 20_000


def auto(
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
    """The partition of the method that fits n, d and the effort; `facts` says which."""
    name = "univariate" if values.shape[1] == 1 and weights is None else "blocks"
    if name == "blocks" and len(values) <= LARGE:
        name = "memetic"
    if name == "univariate" and (checkpoint is not None or resume):
        raise UsageError("a single column is solved at once, without a checkpoint; leave --checkpoint and --resume out")
    if name == "univariate":
        partition = univariate(values, k)
    else:
        partition = (blocks if name == "blocks" else memetic)(
            values,
            k,
            weights=weights,
            seed=seed,
            effort=effort,
            seconds=seconds,
            checkpoint=checkpoint,
            resume=resume,
            control=control,
        )
    return replace(partition, facts={**partition.facts, "chosen": name})
