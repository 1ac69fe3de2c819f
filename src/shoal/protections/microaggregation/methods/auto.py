"""The default method. It chooses the method with the least information loss for the size of the file.

one column without weights: the optimum
up to 20,000 records: memetic search
more records: annealing in blocks

A small file without weights then gets a proof: column generation either proves that the groups are optimal, or finds
better groups and proves those, or states the gap that is left when its budget of work is spent.
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
from shoal.protections.microaggregation.proof import Work, prove
from shoal.protections.microaggregation.squared_error import SquaredError

LARGE = 20_000  # records from which on memetic search takes too long
PROOF_RECORDS, PROOF_K = 400, 6  # the largest file and k for which a proof usually ends within its budget
PROOF_WORK = {
    "quick": Work(nodes=300_000, pivots=10_000, columns=1_000, programmes=30_000),
    "standard": Work(nodes=1_500_000, pivots=50_000, columns=4_000, programmes=300_000),
    "thorough": Work(nodes=20_000_000, pivots=500_000, columns=20_000, programmes=5_000_000),
}


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
        if _is_provable(loss) and not control.stopped:
            work = replace(PROOF_WORK[settings.effort])
            partition = prove(loss.values, loss.k, partition, seconds=None, work=work, control=control)
    else:
        name, partition = "blocks", blocks(loss, control, settings)
    return replace(partition, facts={**partition.facts, "chosen": name})


def _is_provable(loss: SquaredError) -> bool:
    return loss.weighting is None and 2 * loss.k <= loss.n <= PROOF_RECORDS and loss.k <= PROOF_K


auto = SearchMethod(search)
