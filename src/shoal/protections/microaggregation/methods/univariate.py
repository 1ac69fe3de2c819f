"""The optimum of a single column (Hansen and Mukherjee 2003).

In an optimal partition of one column without weights, each group is an interval of the sorted values. So the best cut
of the sorted values is the optimum. With weights this does not hold: a record with a large weight may be best in a
group with records from both sides. Therefore the method does not support weights.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats
from shoal.engine.partition.inputs import as_rows
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError, check_k
from shoal.protections.microaggregation.kernels.cut import optimal_cut
from shoal.protections.microaggregation.sums_of_squares import as_optimal


def univariate(values: Floats, k: int) -> KPartition:
    """Return the partition of one column with the least SSE, in O(nk) after sorting; equal values keep their order."""
    values = as_rows(values)
    if values.shape[1] != 1:
        raise UsageError(
            f"Method 'univariate' protects exactly one column, not {values.shape[1]}. Name one column with --quasi. Or "
            "use another method, such as auto, to protect the columns together. Or run shoal group --method "
            "univariate, which protects each column by itself."
        )
    k = check_k(k, len(values))
    order = np.argsort(values[:, 0], kind="stable")
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = optimal_cut(values[order], np.ones(len(values)), k)
    return as_optimal(KPartition(labels), values)
