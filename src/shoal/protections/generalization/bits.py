"""Bits and categories: a generalization of an ordered column is a bit between each two neighbours (Dewri et al. 2009).

Bit i is 1 if value i and value i + 1 lie in different categories. A column whose categories must be nodes of a taxonomy
has one bit per node instead: 1 if the node is split into its children. The bits of all columns together are the
chromosome. Categories are labels from 0 in the order of their first values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints
from shoal.table.taxonomy import Splits

Bits = NDArray[np.uint8]


def labels_of_bits(bits: Bits, sizes: Sequence[int], splits: Sequence[Splits | None] = ()) -> Ints:
    """Return the categories of one chromosome, one row per column; several chromosomes have one more axis.

    >>> labels_of_bits(np.array([0, 1, 1], dtype=np.uint8), [3, 2]).tolist()
    [[0, 0, 1], [0, 1, 0]]
    """
    chromosomes = np.atleast_2d(bits)
    labels = np.zeros((chromosomes.shape[0], len(sizes), max(sizes)), dtype=np.int64)
    first = 0
    for j, size in enumerate(sizes):
        nodes = splits[j] if splits else None
        width = max(size - 1, 0) if nodes is None else nodes.parent.size
        cuts = chromosomes[:, first : first + width]
        labels[:, j, 1:size] = np.cumsum(cuts if nodes is None else nodes.cuts(cuts), axis=1)
        first += width
    return labels if np.ndim(bits) == 2 else labels[0]


def canonical(labels: Ints, sizes: Sequence[int]) -> Ints:
    """Return the same categories, numbered from 0 in the order of their first values."""
    result = np.zeros_like(labels)
    for j, size in enumerate(sizes):
        _, first, label_of = np.unique(labels[j, :size], return_index=True, return_inverse=True)
        result[j, :size] = np.argsort(np.argsort(first))[label_of.reshape(-1)]
    return result


def groups_of(labels: Ints, size: int) -> list[list[int]]:
    """Return the values of each category of one column, in the order of their first values."""
    groups: dict[int, list[int]] = {}
    for value in range(size):
        groups.setdefault(int(labels[value]), []).append(value)
    return list(groups.values())
