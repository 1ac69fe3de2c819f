"""MD, maximum distance (Domingo-Ferrer and Mateo-Sanz 2002, the multivariate fixed-size method).

Groups form around the two most distant records. The published algorithm takes O(n^3). Here decreasing bounds find the
same pairs faster (protections/microaggregation/kernels/md.py), with the same groups.
"""

from __future__ import annotations

from shoal.arrays import Floats
from shoal.engine.control import current
from shoal.engine.kernels.distance import EUCLIDEAN
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_k
from shoal.protections.microaggregation.kernels.leftovers import join_closest
from shoal.protections.microaggregation.kernels.md import md as kernel


def md(values: Floats, k: int, *, weights: Floats | None = None) -> KPartition:
    """Return groups of k around the two most distant records.

    while 2k or more remain:
        r, s = the two most distant of them (lowest r, then lowest s among equals)
        a group of r and its k-1 closest (lowest rows among equals; s is left out)
        a group of s and its k-1 closest
    k to 2k-1 left: one group
    fewer: each joins the group with the closest centroid (weighted; centroids do not move meanwhile)
    """
    values = as_rows(values)
    k = check_k(k, len(values))
    weights = as_weights(weights, len(values))
    control = current()
    labels = kernel(values, k, control.flag)
    control.check()
    if labels.min() < 0:
        join_closest(values, weights, labels, labels.max() + 1, EUCLIDEAN)
    return KPartition(labels)
