"""The path method: put the records in an order, then cut the order optimally.

Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe 2006 cut orders by nearest point next and by
the groups of MDAV. Heaton and Mukherjee 2011 cut tours of the travelling salesman problem. The better the
order keeps near records together, the better the cut, so the default is a tour.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import current
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition
from shoal.errors import check_choice, check_k
from shoal.protections.microaggregation.choices import PATH_ORDERS
from shoal.protections.microaggregation.kernels.cut import optimal_cut
from shoal.protections.microaggregation.kernels.nearest_next import visit
from shoal.protections.microaggregation.kernels.path import farthest_from_centroid, walk_through
from shoal.protections.microaggregation.kernels.tour import neighbours, shorten
from shoal.protections.microaggregation.methods.mdav import mdav

# Length of the neighbour lists in the tour's local search; longer lists cost time and gain little.
NEIGHBOURS = 10
# With fewer records there are no moves of three stops between three others.
FEWEST = 8


def path(values: Floats, k: int, *, weights: Floats | None = None, path_order: str = "tour") -> KPartition:
    """Return the optimal cut of an order of the records into groups of k to 2k-1. Ties go to the lowest row.

    Args:
        path_order: "nearest" starts at the record farthest from the centroid and always goes to the nearest one not yet
            visited. "mdav" goes through the groups of MDAV, always to the group with the nearest centroid and within it
            to the nearest record. "tour" is the nearest order, shortened as a round tour by 2-opt and Or-opt.
    """
    values = as_rows(values)
    k = check_k(k, len(values))
    weights = as_weights(weights, len(values))
    path_order = check_choice("path_order", path_order, PATH_ORDERS)
    first = farthest_from_centroid(values, weights)
    if path_order == "mdav":
        return _cut(values, weights, k, _through_groups(values, k, weights, first))
    rows = _visit(values, first)
    if path_order == "nearest":
        return _cut(values, weights, k, rows)
    return _cut_round(values, weights, k, _shortened(values, rows))


def _visit(values: Floats, first: int) -> Ints:
    """Return all rows from the first one on, always the nearest next."""
    control = current()
    rows: Ints = visit(values, first, False, control.flag)[0]
    control.check()
    return rows


def _cut(values: Floats, weights: Floats, k: int, rows: Ints) -> KPartition:
    """Return the partition of the optimal cut of the rows in this order."""
    labels = np.empty(len(rows), dtype=np.int64)
    labels[rows] = optimal_cut(values[rows], weights[rows], k)
    return KPartition(labels)


def _through_groups(values: Floats, k: int, weights: Floats, first: int) -> Ints:
    """Return the order by MDAV's groups."""
    partition = mdav(values, k, weights=weights)
    groups = _visit(partition.centroids(values, weights), partition.labels[first])
    members = partition.members()
    rows = np.concatenate([members[g] for g in groups])
    walk_through(values, rows, partition.sizes[groups], first)
    return rows


def _shortened(values: Floats, rows: Ints) -> Ints:
    """Return the order, shortened as a round tour."""
    if len(rows) < FEWEST:
        return rows
    control = current()
    near = neighbours(values, min(NEIGHBOURS, len(rows) - 1), control.flag)
    control.check()
    shortened: Ints = shorten(values, near, rows, control.flag)
    return shortened


def _cut_round(values: Floats, weights: Floats, k: int, rows: Ints) -> KPartition:
    """Cut a round tour, which has no ends.

    The first cut is forced to begin at the arbitrary start of the tour. The second begins at a border halfway round,
    where the start no longer matters. It can only be better, because the first cut is one of its choices.
    """
    once = optimal_cut(values[rows], weights[rows], k)
    border = int(np.searchsorted(once, once[len(rows) // 2]))
    return _cut(values, weights, k, np.roll(rows, -border))
