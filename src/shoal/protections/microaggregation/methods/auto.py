"""The default method. It chooses the method with the least information loss for the size of the file.

one column without weights: the optimum
up to 20,000 records: memetic search
more records: annealing in blocks
"""

from __future__ import annotations

from dataclasses import replace

from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.blocks import blocks
from shoal.engine.partition.search.memetic import memetic
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.searching import SearchMethod
from shoal.protections.microaggregation.methods.univariate import univariate
from shoal.protections.microaggregation.squared_error import SquaredError

LARGE = 20_000  # records from which on memetic search takes too long


def search(loss: SquaredError, control: Control, settings: SearchSettings) -> KPartition:
    """Return the partition of the method that fits the file. The fact `chosen` names the method."""
    if loss.values.shape[1] == 1 and loss.weighting is None:
        if settings.checkpoint is not None or settings.resume:
            raise UsageError(
                "A single column is solved at once, without a checkpoint. Leave out --checkpoint and --resume."
            )
        name, partition = "univariate", univariate(loss.values, loss.k)
    elif loss.n <= LARGE:
        name, partition = "memetic", memetic(loss, control, settings)
    else:
        name, partition = "blocks", blocks(loss, control, settings)
    return replace(partition, facts={**partition.facts, "chosen": name})


auto = SearchMethod(search)
