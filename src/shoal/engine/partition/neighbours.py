"""Neighbour lists in near-linear time: exact for small files, random projection trees for large ones.

up to 6,000 records: all pairs
beyond: six trees, all pairs within their leaves, then the neighbours of neighbours
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.control import current
from shoal.engine.kernels.prefetch import filled
from shoal.engine.partition.kernels.greedy import neighbours_in_order
from shoal.engine.partition.kernels.groups import Groups
from shoal.engine.partition.kernels.neighbours import all_pairs, neighbours_of_neighbours, within_leaves
from shoal.engine.partition.kernels.trees import cut

EXACT_UP_TO = 6000
TREES = 6
REACH = 15


def neighbour_lists(x: Floats, count: int, *, seed: int = 0, threads: int = 1) -> tuple[Indices, Floats]:
    """Return the `count` nearest records of each row of the padded x, nearest first, and their squared distances."""
    n = x.shape[0]
    count = min(count, n - 1)
    near = filled((n, count), -1, np.int32)
    far = filled((n, count), np.inf)
    control = current().part(threads=threads)

    def in_runs(kernel: Any, whole: int, length: int) -> None:
        """Call the kernel for all runs, on threads; raise Stopped if the work is stopped."""

        def piece(first: int, last: int) -> None:
            control.check()
            kernel(first, last)

        control.run([partial(piece, *run) for run in runs(whole, length)])

    if n <= EXACT_UP_TO:
        in_runs(partial(all_pairs, x, near, far), n, 1000)
        return near, far
    random_states = np.random.default_rng(seed).integers(2**64, size=TREES, dtype=np.uint64)
    for order, starts in control.run([partial(leaves, x, 4 * count, random_state) for random_state in random_states]):
        in_runs(partial(within_leaves, x, order, starts, near, far), starts.size - 1, 500)
    in_runs(partial(neighbours_of_neighbours, x, near.copy(), near, far, min(REACH, count)), n, 20000)
    return near, far


def neighbours_in_orders(
    loss: Any, g: Groups, orders: Iterable[NDArray[np.int64]], reach: int, count: int
) -> tuple[Indices, Floats]:
    """Return the `count` nearest records of each and their distances, by any loss that says how far records are apart.

    Each record is compared with the `reach` records before and after it in each of the orders.
    """
    n = g.label.size
    near, far = filled((n, count), -1, np.int32), filled((n, count), np.inf)
    control = current()
    for order in orders:
        neighbours_in_order(loss, g, order, reach, near, far, control.flag)
        control.check()
    return near, far


def random_sort_key(columns: Sequence[tuple[NDArray[np.uint64], int]], rng: np.random.Generator) -> NDArray[np.uint64]:
    """Return a key by which records are sorted: random columns, as many as fit into 64 bits.

    Args:
        columns: Codes of the records, each with its number of bits.
    """
    key, free = np.zeros(columns[0][0].size, dtype=np.uint64), 64
    for c in rng.permutation(len(columns)):
        codes, bits = columns[c]
        if bits <= free:
            key = (key << np.uint64(bits)) | codes
            free -= bits
    return key


def neighbour_kernels(n: int) -> list[Any]:
    """Return the kernels that `neighbour_lists` calls for n records."""
    return [all_pairs, cut] if n <= EXACT_UP_TO else [within_leaves, neighbours_of_neighbours, cut]


def leaves(x: Floats, most: int, random_state: int) -> tuple[Indices, Indices]:
    """Return the records in the order of a random tree's leaves, and where each leaf starts, with the end."""
    order = np.arange(x.shape[0], dtype=np.int32)
    return order, cut(x, order, most, np.array([random_state], dtype=np.uint64))


def runs(n: int, length: int) -> list[tuple[int, int]]:
    """Return 0 .. n in runs of at most `length`.

    >>> runs(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(n, first + length)) for first in range(0, n, length)]
