"""V-MDAV, variable-size maximum distance to average vector (Solanas and Martinez-Balleste 2006).

Like MDAV it works from the outside in, but a group may grow to 2k-1 records where the data are clustered.
gamma decides how readily it grows: about 0.2 suits scattered data and about 1.1 clustered data, according
to the publication. `auto` tries a few values on the data.
"""

from __future__ import annotations

import math

from shoal.arrays import Floats
from shoal.engine.control import current
from shoal.engine.kernels.distance import EUCLIDEAN
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import UsageError, check_k
from shoal.protections.microaggregation.kernels.leftovers import join_closest
from shoal.protections.microaggregation.kernels.vmdav import vmdav as kernel
from shoal.protections.microaggregation.sums_of_squares import sse_of

# The values that `auto` tries: no growth, then steps that cover the two values of the publication.
GAMMAS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5)


def vmdav(values: Floats, k: int, *, weights: Floats | None = None, gamma: float | str = "auto") -> KPartition:
    """Return groups of k to 2k-1 around the records farthest from the centroid of the whole file.

        c = centroid of all records (weighted), fixed
        while k or more remain:
            e = the remaining record farthest from c; a group of e and its k-1 closest
            up to k-1 times:
                m = the remaining record closest to any member, at distance d_in
                d_out = distance from m to its nearest other remaining record (infinite if m is the last)
                if d_in < gamma * d_out: m joins, else the group is done
        each record left joins the group with the closest centroid (weighted; centroids do not move meanwhile)

    Ties go to the lowest row. A group that the remaining records join may exceed 2k-1.

    Args:
        gamma: A number from 0 (all groups of k), or "auto": the one of GAMMAS with the least SSE, the smallest among
            equals. The fact `gamma` states it.
    """
    values = as_rows(values)
    k = check_k(k, len(values))
    weights = as_weights(weights, len(values))
    if gamma == "auto":
        tried = [_with_gamma(values, weights, k, g) for g in GAMMAS]
        return min(tried, key=lambda partition: sse_of(partition, values, weights))
    return _with_gamma(values, weights, k, _number(gamma))


def _number(gamma: float | str) -> float:
    """Return gamma as a number. Raise UsageError if it is not one from 0."""
    try:
        number = float(gamma)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise UsageError(
            f"gamma must be 'auto' or a number from 0 (0.2 for scattered, 1.1 for clustered data), not {gamma!r}."
        )
    return number


def _with_gamma(values: Floats, weights: Floats, k: int, gamma: float) -> KPartition:
    """Return the partition for one gamma."""
    control = current()
    labels = kernel(values, weights, k, gamma, control.flag)
    control.check()
    if labels.min() < 0:
        join_closest(values, weights, labels, labels.max() + 1, EUCLIDEAN)
    return KPartition(labels, {"gamma": gamma})
