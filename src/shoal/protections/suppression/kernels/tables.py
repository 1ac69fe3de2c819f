"""The classes that records form in subsets of the keys.

A record that keeps a subset of its keys belongs to the class of the records with the same values in them. A class is
of use only if at least k records could be in it. Adding a key to a subset only splits classes, so a class below k is
not refined any further. The pair of a class and a value names a class of the larger subset exactly: no hash of values
decides which records are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Indices, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.hashing import GOLDEN


@inner
def refine(
    parent: Indices, values: Indices, width: int, counts: Ints, k: int, child: Indices, slots: Any, number: int
) -> int:
    """Split the classes of `parent` by the values of a key; return the number of classes of at least k records.

    Classes are numbered by their first tuple. A tuple of a smaller class gets -1 in `child`.

    Args:
        parent: The class of each tuple; -1 if it is below k.
        values: The value of each tuple, below `width`.
        width: A number above every value.
        counts: The number of records of each tuple.
        k: The smallest number of records in a class.
        child: The result.
        slots: A hash table: its keys, the number of the call that filled each slot, its classes, and their records.
        number: The number of this call, above that of earlier calls.
    """
    keys, filled, class_of, records, renumbered = slots
    mask = keys.size - 1
    total = 0
    for u in range(parent.size):
        if parent[u] < 0:
            child[u] = -1
            continue
        key = np.int64(parent[u]) * width + values[u]
        slot = np.int64((np.uint64(key) * GOLDEN) >> np.uint64(24)) & mask
        while filled[slot] == number and keys[slot] != key:
            slot = (slot + 1) & mask
        if filled[slot] != number:
            filled[slot], keys[slot], class_of[slot] = number, key, total
            records[total] = 0
            total += 1
        child[u] = class_of[slot]
        records[class_of[slot]] += counts[u]
    kept = 0
    for c in range(total):
        renumbered[c] = -1
        if records[c] >= k:
            renumbered[c] = kept
            kept += 1
    for u in range(parent.size):
        if child[u] >= 0:
            child[u] = renumbered[child[u]]
    return kept


@kernel(
    "int64[::1](int32[:, ::1], int32[::1], int64[::1], int64[::1], int32[:, ::1], int64[::1], int64, int32[:, ::1])"
)
def count_classes(
    values: Indices, first: Indices, widths: Ints, counts: Ints, subsets: Indices, places: Ints, k: int, table: Indices
) -> Any:
    """Fill the table of classes, column by column, and return the number of classes of each subset.

    Args:
        values: [key, tuple], the values of the tuples.
        first: The class of each tuple before any key is kept: its stratum.
        widths: A number above every value, for each key.
        counts: The number of records of each tuple.
        subsets: The kept keys of each subset in ascending order, then -1, in lexicographic order.
        places: The column of each subset in the table.
        k: The smallest number of records in a class.
        table: [tuple, column], the class of a tuple, or -1 if it is below k.
    """
    n, d = first.size, values.shape[0]
    size = 64
    while size < 2 * n:
        size *= 2
    slots = (
        np.empty(size, np.int64),
        np.zeros(size, np.int64),
        np.empty(size, np.int32),
        np.empty(n + 1, np.int64),
        np.empty(n + 1, np.int32),
    )
    levels = np.empty((d + 1, n), np.int32)  # the classes of the kept keys so far, after each of them
    classes_at = np.zeros(d + 1, np.int64)
    number = 1
    zeros = np.zeros(n, np.int32)
    classes_at[0] = refine(first, zeros, 1, counts, k, levels[0], slots, number)
    classes = np.zeros(places.size, np.int64)
    before = np.full(d, -1, np.int32)
    for s in range(places.size):
        shared = True
        depth = 0
        for level in range(d):
            key = subsets[s, level]
            if key < 0:
                break
            if not (shared and before[level] == key):
                shared = False
                number += 1
                classes_at[level + 1] = refine(
                    levels[level], values[key], widths[key], counts, k, levels[level + 1], slots, number
                )
            depth = level + 1
        before[:] = subsets[s]
        classes[s] = classes_at[depth]
        place = places[s]
        for u in range(n):
            table[u, place] = levels[depth, u]
    return classes


@kernel("Tuple((int64[::1], int32[::1]))(int32[:, ::1], int64[::1])")
def list_members(table: Indices, offsets: Ints) -> Any:
    """Number the classes of all columns one after the other, and return the tuples of each class.

    Args:
        table: The classes of each column, numbered from 0 within it; here they get their number among all.
        offsets: The number of the first class of each column, and the number of all classes.

    Returns:
        Where the tuples of each class start, with the end, and these tuples.
    """
    classes = offsets[-1]
    start = np.zeros(classes + 1, np.int64)
    for u in range(table.shape[0]):
        for p in range(table.shape[1]):
            if table[u, p] >= 0:
                table[u, p] += offsets[p]
                start[table[u, p] + 1] += 1
    for c in range(classes):
        start[c + 1] += start[c]
    members = np.empty(start[classes], np.int32)
    place = start[:-1].copy()
    for u in range(table.shape[0]):
        for p in range(table.shape[1]):
            c = table[u, p]
            if c >= 0:
                members[place[c]] = u
                place[c] += 1
    return start, members
