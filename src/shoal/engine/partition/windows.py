"""A large file is searched window by window. The data of a window fit into the processor's cache, and windows far apart
in the order of the file are searched at once.

Each window may change the groups of its records, of their neighbours, and other groups in its part of the file. If two
windows reach a group, the nearer one gets it. Which windows are searched together depends only on n and on random
numbers, and no window reads what another one may change. Therefore the result is the same on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices
from shoal.engine.control import Control
from shoal.engine.partition.kernels.groups import Groups, claim
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.neighbours import runs
from shoal.engine.partition.space import SearchSpace

WINDOW = 8192  # records
LEAF = 64  # records per leaf of the tree that sets the order
AT_ONCE = 8  # windows that are searched at once, at most
UNUSED = 64  # group numbers that each window may use for new groups, at most
APART = 24  # windows of the file per window at work, at least: with fewer they would reach too many common groups

Work = Callable[[int, Groups, int, int], None]


def windows_of(n: int) -> list[tuple[int, int]]:
    """Return the first record of each window of a file, and the one after its last."""
    return runs(n, WINDOW)


def memory_order(loss: GroupLoss, random_state: int) -> tuple[Indices, Indices]:
    """Return an order in which near records are near in memory, so that a window reads little memory.

    It is the order of the leaves of a random tree. The second result is where each leaf starts, and the end. A file of
    one window keeps its order.
    """
    n = loss.n
    if len(windows_of(n)) == 1:
        return np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.int32)
    return loss.leaves(LEAF, random_state)


def to_file_order(labels: NDArray[Any], order: Indices) -> NDArray[np.int64]:
    """Return labels of records in some order in the order of the file.

    >>> to_file_order(np.array([5, 6, 7]), np.array([2, 0, 1])).tolist()
    [6, 7, 5]
    """
    result = np.empty(order.size, dtype=np.int64)
    result[order] = labels
    return result


def at_once(n: int) -> int:
    """Return how many windows of a file are searched at once: a power of two.

    >>> [at_once(n) for n in (20_000, 200_000, 500_000, 1_000_000, 5_000_000)]
    [1, 1, 2, 4, 8]
    """
    return int(min(AT_ONCE, 1 << max(0, (len(windows_of(n)) // APART).bit_length() - 1)))


def in_windows(space: SearchSpace, g: Groups, control: Control, random_state: int, work: Work) -> None:
    """Call work(worker, state, first, last) for every window first .. last - 1, until stopped.

    A worker has one stretch of the file, window after window. Where stretches begin, and with which window a worker
    begins, is random: two windows that are searched together now are apart the next time.
    """
    windows, workers = windows_of(space.n), at_once(space.n)
    if workers == 1:
        for window in windows:
            if not control.stopped:
                work(0, g, *window)
        return
    rng = np.random.default_rng(random_state)
    turned = np.roll(np.arange(len(windows)), rng.integers(len(windows)))
    stretches = np.array_split(turned, workers)
    home = np.empty(len(windows), dtype=np.int8)
    for p, stretch in enumerate(stretches):
        home[stretch] = p
    stretches = [np.roll(stretch, rng.integers(stretch.size)) for stretch in stretches]
    owner = home[g.member[:, 0] // WINDOW]
    for s in range(stretches[0].size):
        if control.stopped:
            return
        batch = [windows[stretch[s]] for stretch in stretches if s < stretch.size]
        states = _shared(space, g, owner, batch)
        control.run([partial(work, p, states[p], *window) for p, window in enumerate(batch)])
        _gather(g, states)


def _shared(space: SearchSpace, g: Groups, home: NDArray[np.int8], batch: list[tuple[int, int]]) -> list[Groups]:
    """Return the state that each worker may change: its groups, and its part of the unused group numbers."""
    owner = home.copy()
    room = min(UNUSED, int(g.vacant[-1]) // len(batch))
    states = []
    for p in range(len(batch)):
        g.vacant[-1] -= room
        vacant_here = g.vacant[g.vacant[-1] : g.vacant[-1] + room]
        vacant = np.empty_like(g.vacant)
        vacant[: vacant_here.size], vacant[-1] = vacant_here, vacant_here.size
        owner[vacant_here] = p
        states.append(g._replace(owner=owner, worker=p, vacant=vacant))
    reach = 2 * space.near.shape[1]
    while reach > 0:  # a nearer window takes what a farther one took before
        reach //= 2
        for state, window in zip(states, batch, strict=True):
            claim(state, space.near, reach, *window)
    return states


def _gather(g: Groups, states: list[Groups]) -> None:
    """Put the unused group numbers together again."""
    for state in states:
        count, held = state.vacant[-1], g.vacant[-1]
        g.vacant[held : held + count] = state.vacant[:count]
        g.vacant[-1] += count
