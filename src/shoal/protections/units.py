"""Groups over units: k counts persons or households, not their rows.

A group with fewer than k units is merged with the nearest group until it has k of them.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.control import shielded
from shoal.engine.partition.kernels.groups import padded
from shoal.engine.partition.neighbours import neighbour_lists
from shoal.engine.partition.partition import KPartition, by_first_record
from shoal.errors import InputError, counted
from shoal.table.kinds import Labels, labels_of
from shoal.table.table import Table

UNIT = "unit"  # the staged name of the persons or households, as numbers that are the same in every file
CERTIFICATES = ("lower_bound", "gap", "proved")


def units_of(table: Table, k: int) -> Ints | None:
    """Return each record's unit as a code, or None if records are units. Raise InputError for fewer than k units."""
    label = _unit_labels(table)
    if label is None:
        return None
    name = label.name
    if len(label.texts) < k:
        raise InputError(
            f"The file has {len(label.texts):,} units (values of {name!r}), fewer than k = {k}: no group can hold "
            f"k of them. Choose a smaller k."
        )
    return label.codes.astype(np.int64)


def hashed_units(table: Table) -> Ints | None:
    """Return each record's unit as a number that is the same in every file, or None if records are units."""
    label = _unit_labels(table)
    if label is None:
        return None
    digests = [blake2b(str(text).encode(), digest_size=8).digest() for text in label.texts]
    return np.array([int.from_bytes(digest, "big", signed=True) for digest in digests], dtype=np.int64)[label.codes]


def _unit_labels(table: Table) -> Labels | None:
    name = table.roles.unit
    if not isinstance(name, str):
        return None
    label = labels_of(table, name, "nominal")
    if None in label.texts:
        absent = label.codes == len(label.texts) - 1
        raise InputError(
            f"The unit column {name!r} has {int(absent.sum()):,} missing values, the first in row "
            f"{int(table.numbering[absent.argmax()])}: every record belongs to a unit. Correct the file."
        )
    return label


def units_per_group(labels: Ints, units: Ints) -> Ints:
    """Return the number of distinct units in each group."""
    width = int(units.max()) + 1
    pairs = np.unique(labels * width + units)
    return np.bincount(pairs // width, minlength=int(labels.max()) + 1).astype(np.int64)


def merged_for_units(
    partition: KPartition, scaled: Floats, k: int, units: Ints, weights: Floats | None = None
) -> KPartition:
    """Merge groups with fewer than k units with the nearest group, by centroids, until every group has k units."""

    def few(labels: Ints) -> Ints:
        counts = units_per_group(labels, units)
        return np.where(counts < k, counts, -1)

    return merged(partition, scaled, few, weights)


def merged(
    partition: KPartition, points: Floats, lacking: Callable[[Ints], Ints], weights: Floats | None = None
) -> KPartition:
    """Merge groups that lack something with the nearest group, by centroids, until none lacks anything.

    Args:
        lacking: What each group of some labels has of what it lacks, the least first to merge; -1 if it lacks nothing.
    """
    labels = np.array(partition.labels)
    while labels.max() > 0:
        counts = lacking(labels)
        small = np.flatnonzero(counts >= 0)
        if not small.size:
            break
        nearest = _nearest(KPartition(labels).centroids(points, weights))
        labels = by_first_record(_merge(counts, small, nearest)[labels])
    if labels.max() + 1 == partition.groups:
        return partition
    kept = {name: value for name, value in partition.facts.items() if name not in CERTIFICATES}
    return KPartition(labels, kept)


def _merge(counts: Ints, small: Ints, nearest: NDArray[Any]) -> Ints:
    """Return new numbers of the groups: the smallest merges first with its nearest, and no group twice per round."""
    number, touched = np.arange(counts.size), np.zeros(counts.size, dtype=bool)
    for group in small[np.argsort(counts[small], kind="stable")].tolist():
        other = int(nearest[group])
        if not touched[group] and not touched[other]:
            touched[group] = touched[other] = True
            number[group] = other
    return number


def _nearest(centroids: Floats) -> NDArray[Any]:
    """Return the nearest other group of each group."""
    points = padded(centroids - centroids.mean(axis=0))
    # The groups of a stopped search must have k units too.
    near = shielded(lambda: neighbour_lists(points, min(8, len(centroids) - 1)))[0][:, 0]
    # Approximate lists may miss a group that is alone in its leaf. Any other group will do: its centroid then moves.
    return np.where(near < 0, (np.arange(near.size) + 1) % near.size, near)


def check_leaf_units(records: int, units: Ints, k: int) -> None:
    """Raise an error if a leaf of many files has fewer than k units."""
    there = int(units.max()) + 1
    if there < k:
        raise InputError(
            f"A leaf of {records:,} records has only {counted(there, 'unit')}, fewer than k = {k}. Use a larger "
            "--leaf, or a smaller k."
        )


def staged_units(units: Ints) -> Ints:
    """Return the staged units of some records as codes."""
    return np.unique(units, return_inverse=True)[1].reshape(-1).astype(np.int64)
