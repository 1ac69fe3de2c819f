"""The optimum of a small file, for tests, for teaching and for tiny tables (Solanas 2008).

Up to 20 records, dynamic programming over subsets tries every set of records once instead of every partition. Beyond,
column generation (`proof`) proves that a good partition is optimal. If it cannot, the result states the gap that is
left.
"""

from __future__ import annotations

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError, check_k
from shoal.protections.microaggregation.kernels.by_subsets import best_by_subsets
from shoal.protections.microaggregation.methods.memetic import memetic
from shoal.protections.microaggregation.methods.path import path
from shoal.protections.microaggregation.proof import prove
from shoal.protections.microaggregation.sums_of_squares import as_optimal

# 2^20 subsets take 28 MiB, and up to five seconds (k = 5). One more record doubles the memory and triples the time.
MOST_BY_SUBSETS = 20


def exact(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    seconds: float | None = None,
    control: Control | None = None,
) -> KPartition:
    """Return a k-partition with the least (weighted) SSE; beyond 20 records, `facts` says proved or gives the gap.

        best[no records] = 0
        for each set S of records that groups have covered, subsets of it first:
            i = the lowest record that is not in S
            for each group g of k to 2k-1 records outside S, i among them:
                best[S and g] = min(best[S and g], best[S] + cost(g))

    Sets that already cost more than the path method's partition are skipped. Of several optima the result is the
    first one met. A stopped search returns the path method's partition, or the best one so far.
    """
    control = control or current()
    values = as_rows(values)
    n = len(values)
    k = check_k(k, n)
    weighted = weights is not None
    weights = as_weights(weights, n)
    if n > MOST_BY_SUBSETS:
        if weighted:
            raise UsageError(
                f"Method 'exact' supports weights for at most {MOST_BY_SUBSETS} records, not {n:,}. Use auto or remove "
                "--weight."
            )
        partition = memetic(values, k, seed=seed, effort="quick", control=control)
        return prove(values, k, partition, seconds=seconds, control=control)
    start = path(values, k, weights=weights)
    labels = best_by_subsets(values, weights, k, start.labels.copy(), control.flag)
    if control.stopped:
        return KPartition(labels, {"proved": False, **control.facts})
    return as_optimal(KPartition(labels), values, weights)
