"""MDAV: groups of k around the records farthest from the centroid (Domingo-Ferrer and Torra 2005; spec/1).

Two exact engines give identical labels: `brute` sweeps over all records that are left, `tree` passes over boxes
of records that cannot matter. Distances are summed from the first column to the last in both, and ties go to the
lowest row. `solanas` is Algorithm 1 of Solanas et al.; `thesis` reproduces the GOMM thesis (spec/5).
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from shoal.errors import InputError, UsageError, check_choice, check_k
from shoal.kernels.distance import EUCLIDEAN, L1
from shoal.kernels.mdav import groups_by_sweep, groups_by_tree
from shoal.partition.partition import Floats, Ints, KPartition

REMAINDERS = ("standard", "solanas", "thesis", "distribute")
METRICS = {"euclidean": EUCLIDEAN, "l1": L1}
ENGINES = ("auto", "brute", "tree")

LARGEST = 1e150  # squares of larger values overflow

_one_at_a_time = Lock()  # Numba's simplest threading layer must not be entered by two threads at once


def mdav(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    remainder: str = "standard",
    metric: str = "euclidean",
    engine: str = "auto",
    threads: int = 1,
) -> KPartition:
    """Partition scaled records by MDAV.

        while 3k records are left (2k with the other remainders):
            r = the record farthest from the centroid of what is left; a group of the k records nearest to r
            s = the record farthest from r of what is left then;       a group of the k records nearest to s
        standard:   2k or more left: one more group around the farthest from the centroid; the rest is a group
        solanas:    k or more left are a group, fewer join their closest groups
        thesis:     what is left is a group, even one smaller than k
        distribute: what is left joins the closest groups

    With weights the centroid is the weighted mean; k counts records. The closest group is the one whose centroid,
    before anyone joined, is closest. Fewer than 2k records (3k with `standard`: see above) form one group.
    A second thread shares the large sweeps of `brute`; `tree` asks too little at a time to share, and uses one.
    """
    values, weights = _checked(values, weights)
    n = values.shape[0]
    k = check_k(k, n)
    check_choice("remainder", remainder, REMAINDERS)
    check_choice("metric", metric, METRICS)
    check_choice("engine", engine, ENGINES)
    if threads < 1:
        raise UsageError(f"threads must be 1 or more, not {threads}")
    if engine == "auto":
        engine = "brute" if _sweeping_is_faster(*values.shape) else "tree"
    # The origin goes to a record's value (the lower median), so that differences of whole numbers stay exact.
    values = values - np.partition(values, (n - 1) // 2, axis=0)[(n - 1) // 2]
    standard = remainder == "standard"
    least = 3 * k if standard else 2 * k
    if engine == "tree":
        threads = 1
        made = groups_by_tree(values, weights, k, least, standard, METRICS[metric])
    elif threads == 1:
        made = groups_by_sweep(values, weights, k, least, standard, METRICS[metric], False)
    else:
        threads = 2
        with _one_at_a_time:
            made = groups_by_sweep(values, weights, k, least, standard, METRICS[metric], True)
    labels = _settle(made, values, weights, k, remainder, metric)
    return KPartition(labels, {"engine": engine, "threads": threads})


def _checked(values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """The values as an n x d array in C order and a weight a record."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"the values must be an array of records by columns, not of shape {values.shape}")
    if not np.abs(values).max() <= LARGEST:  # also false for NaN
        row, column = np.argwhere(~(np.abs(values) <= LARGEST))[0]
        raise InputError(
            f"the values must be numbers of at most {LARGEST:g}; record {row}, column {column} (counted from 0) is "
            f"{values[row, column]}: fill or drop such records, or scale the columns first"
        )
    if weights is None:
        return values, np.ones(values.shape[0])
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape != values.shape[:1]:
        raise InputError(f"there must be {values.shape[0]} weights, one a record, not {weights.shape}")
    if not (weights.min() > 0 and weights.max() <= LARGEST):
        row = int(np.flatnonzero(~((weights > 0) & (weights <= LARGEST)))[0])
        raise InputError(f"weights must be positive numbers; that of record {row} (counted from 0) is {weights[row]}")
    return values, weights


def _sweeping_is_faster(n: int, d: int) -> bool:
    """The engine's choice, from measurements on normal, clustered and duplicated data (benchmarks/mdav.py)."""
    return n < 2000 or d > 12


def _settle(made: Ints, values: Floats, weights: Floats, k: int, remainder: str, metric: str) -> Ints:
    """Find a group for the records that MDAV's loop left over (-1)."""
    left = np.flatnonzero(made < 0)
    alone = {"standard": k, "solanas": k, "thesis": 1, "distribute": made.size + 1}[remainder]
    labels = made.copy()
    if left.size == made.size or left.size >= alone:
        labels[left] = made.max() + 1
    elif left.size:
        taken = np.flatnonzero(made >= 0)
        formed = KPartition(made[taken])
        labels[taken] = formed.labels
        labels[left] = _closest(values[left], formed.centroids(values[taken], weights[taken]), metric)
    return labels


def _closest(records: Floats, centroids: Floats, metric: str) -> Ints:
    """The centroid closest to each record; the first among equals."""
    closest = np.empty(len(records), dtype=np.int64)
    for i, record in enumerate(records):
        gaps = centroids - record
        parts = np.abs(gaps) if metric == "l1" else gaps * gaps
        # Columns one after the other: numpy's own sum over an axis takes them in another order.
        distances = np.zeros(len(centroids))
        for column in parts.T:
            distances += column
        closest[i] = distances.argmin()
    return closest
