"""The default method. It chooses the method with the least information loss for the size of the file.

one column without weights: the optimum, which needs no proof
up to 20,000 records: memetic search
more records: annealing in blocks

A small file without weights whose loss is the squared error then gets a proof: column generation either proves that the
groups are optimal, or finds better groups and proves those, or states the gap that is left when its budget of work is
spent. In a file of fewer than 2k records the only group is the optimum.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.engine.control import Control
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.blocks import blocks
from shoal.engine.partition.search.memetic import memetic
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.errors import UsageError
from shoal.protections.microaggregation.methods.searching import SearchMethod
from shoal.protections.microaggregation.methods.univariate import univariate
from shoal.protections.microaggregation.proof import Work, prove
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.microaggregation.sums_of_squares import as_optimal

LARGE = 20_000  # records from which on memetic search takes too long
PROOF_RECORDS, PROOF_K = 400, 6  # the largest file and k for which a proof usually ends within its budget
TINY = 100  # records up to which the standard search should end at the optimum: integer programmes get more work
TINY_K = 10  # largest k of such files: with more, a proof hardly ever ends, but it states the gap
TINY_PROGRAMMES = 900_000  # on 97 records of 8 columns of ties, 300,000 ended 0.27 % above the optimum
PROOF_WORK = {
    "quick": Work(nodes=300_000, pivots=10_000, columns=1_000, programmes=30_000),
    "standard": Work(nodes=1_500_000, pivots=50_000, columns=4_000, programmes=300_000),
    "thorough": Work(nodes=20_000_000, pivots=500_000, columns=20_000, programmes=5_000_000),
}


def search(loss: GroupLoss, control: Control, settings: SearchSettings) -> KPartition:
    """Return the partition of the method that fits the file. The fact `chosen` names the method."""
    plain = loss if type(loss) is SquaredError and loss.weighting is None else None
    if plain is not None and plain.values.shape[1] == 1:
        if settings.checkpoint is not None or settings.resume:
            raise UsageError(
                "A single column is solved at once, without a checkpoint. Leave out --checkpoint and --resume."
            )
        name, partition = "univariate", univariate(plain.values, loss.k)
    elif loss.n <= LARGE:
        name, partition = "memetic", memetic(loss, control, settings)
        if plain is not None and loss.n < 2 * loss.k:
            partition = as_optimal(partition, plain.values)
        elif plain is not None and _is_provable(plain) and not control.stopped:
            work = proof_work(loss.n, settings.effort)
            partition = prove(plain.values, loss.k, partition, seconds=None, work=work, control=control)
    else:
        name, partition = "blocks", blocks(loss, control, settings)
    return replace(partition, facts={**partition.facts, "chosen": name})


def proof_work(n: int, effort: str) -> Work:
    """Return the budget of the proof of a file of n records."""
    work = replace(PROOF_WORK[effort])
    if effort == "standard" and n <= TINY:
        work.programmes = TINY_PROGRAMMES
    return work


def _is_provable(loss: SquaredError) -> bool:
    return loss.n <= PROOF_RECORDS and loss.k <= (TINY_K if loss.n <= TINY else PROOF_K)


auto = SearchMethod(search)
