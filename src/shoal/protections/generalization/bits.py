"""Bits and groups: a generalization of an ordered domain is a bit between each two neighbours (Dewri et al. 2009).

Bit i is 1 if value i and value i + 1 lie in different groups. All attributes' bits together are the
chromosome. Groups are labels from 0 in the order of their first values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Ints

Bits = NDArray[np.uint8]


def labels_of_bits(bits: Bits, sizes: Sequence[int]) -> Ints:
    """The groups of every attribute, a row each, for a chromosome or (an axis more) for many.

    >>> labels_of_bits(np.array([0, 1, 1], dtype=np.uint8), [3, 2]).tolist()
    [[0, 0, 1], [0, 1, 0]]
    """
    chromosomes = np.atleast_2d(bits)
    labels = np.zeros((chromosomes.shape[0], len(sizes), max(sizes)), dtype=np.int64)
    first = 0
    for j, size in enumerate(sizes):
        width = max(size - 1, 0)
        labels[:, j, 1:size] = np.cumsum(chromosomes[:, first : first + width], axis=1)
        first += width
    return labels if np.ndim(bits) == 2 else labels[0]


def bits_of_labels(labels: Ints, sizes: Sequence[int]) -> Bits:
    """The chromosome of groups that are intervals of their domains."""
    parts = [np.asarray(row[1:size] != row[: size - 1]) for row, size in zip(labels, sizes, strict=True) if size > 1]
    return np.concatenate(parts).astype(np.uint8) if parts else np.zeros(0, dtype=np.uint8)


def canonical(labels: Ints, sizes: Sequence[int]) -> Ints:
    """The same groups, numbered from 0 in the order of their first values."""
    result = np.zeros_like(labels)
    for j, size in enumerate(sizes):
        _, first, label_of = np.unique(labels[j, :size], return_index=True, return_inverse=True)
        result[j, :size] = np.argsort(np.argsort(first))[label_of.reshape(-1)]
    return result


def groups_of(labels: Ints, size: int) -> list[list[int]]:
    """The values of each group of one attribute, groups in the order of their first values."""
    groups: dict[int, list[int]] = {}
    for value in range(size):
        groups.setdefault(int(labels[value]), []).append(value)
    return list(groups.values())
