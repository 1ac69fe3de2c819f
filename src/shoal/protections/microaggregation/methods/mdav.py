"""MDAV: groups of k around the records farthest from the centroid (Domingo-Ferrer and Torra 2005).

Two exact engines return identical labels: `brute` sweeps over all remaining records, `tree` skips boxes of records that
cannot matter. Both sum distances from the first column to the last, and ties go to the lowest row. `solanas` is
Algorithm 1 of Solanas 2008; `thesis` reproduces the GOMM thesis (docs/explain/conventions.md).
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import current
from shoal.engine.kernels.compiling import Kernel
from shoal.engine.kernels.distance import EUCLIDEAN, L1
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_choice, check_k
from shoal.protections.microaggregation.choices import ENGINES, REMAINDERS
from shoal.protections.microaggregation.kernels.leftovers import join_closest
from shoal.protections.microaggregation.kernels.mdav_by_sweep import groups_by_sweep
from shoal.protections.microaggregation.kernels.mdav_by_tree import groups_by_tree

METRICS = {"euclidean": EUCLIDEAN, "l1": L1}
WORTH_COMPILING = 20_000  # records: with fewer, sweeping takes less time than compiling the tree search


def mdav(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    remainder: str = "standard",
    metric: str = "euclidean",
    engine: str = "auto",
) -> KPartition:
    """Partition scaled records by MDAV.

        while 3k records are left (2k with the other remainders):
            r = the record farthest from the centroid of the remaining records; a group of the k records nearest to r
            s = the remaining record farthest from r;                           a group of the k records nearest to s
        standard:   2k or more left: one more group around the farthest from the centroid; the rest is a group
        solanas:    k or more left are a group, fewer join their closest groups
        thesis:     the remaining records are a group, even one smaller than k
        distribute: the remaining records join the closest groups

    With weights the centroid is the weighted mean; k counts records. The closest group is the one with the closest
    centroid before any record joined, among equals the one with the lowest first row. MDAV uses one thread, because
    each group depends on the one before, and a sweep or a tree search is too short to divide.
    """
    values = as_rows(values)
    n = values.shape[0]
    k = check_k(k, n)
    weights = as_weights(weights, n)
    check_choice("remainder", remainder, REMAINDERS)
    check_choice("metric", metric, METRICS)
    check_choice("engine", engine, ENGINES)
    if engine == "auto":
        engine = "tree" if engine_kernel(*values.shape) is groups_by_tree else "brute"
    # The origin moves to a record's value (the lower median), so that differences of whole numbers stay exact.
    values = values - np.partition(values, (n - 1) // 2, axis=0)[(n - 1) // 2]
    pair_from, one_more = (3 * k, True) if remainder == "standard" else (2 * k, False)
    groups = groups_by_tree if engine == "tree" else groups_by_sweep
    control = current()
    labels = groups(values, weights, k, pair_from, one_more, METRICS[metric], control.flag)
    control.check()
    _settle(labels, values, weights, k, remainder, METRICS[metric])
    return KPartition(labels, {"engine": engine})


def engine_kernel(n: int, d: int) -> Any:
    """Return the kernel that `mdav` calls for n records and d columns."""
    tree = _tree_is_faster(n, d) and (n > WORTH_COMPILING or cast(Kernel, groups_by_tree).is_ready())
    return groups_by_tree if tree else groups_by_sweep


def _tree_is_faster(n: int, d: int) -> bool:
    """Return whether there are enough records to cut each column about once, so that boxes prune (benchmarks/mdav.py).

    On normal data both engines are equally fast near n = 64 * 2^d. On clustered, duplicated or correlated data the tree
    is faster from fewer records on (two to three times with 20,000 x 20 in clusters), hence the smaller factor.
    """
    return n >= 8 * 2.0**d


def _settle(labels: Ints, values: Floats, weights: Floats, k: int, remainder: str, metric: int) -> None:
    """Put the records that MDAV's loop left over (-1) into groups."""
    left = np.flatnonzero(labels < 0)
    alone = {"standard": k, "solanas": k, "thesis": 1, "distribute": labels.size + 1}[remainder]
    groups = int(labels.max()) + 1
    if groups == 0 or left.size >= alone:
        labels[left] = groups
    elif left.size:
        join_closest(values, weights, labels, groups, metric)
