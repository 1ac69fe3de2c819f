"""A large file is worked on window by window: what one touches fits in the processor's cache, and windows far apart
in the file's order are worked on at once.

Each of them may change the groups of its records and of their near ones, and others in its part of the file. A group
that two of them reach is left to the nearer one. Which windows are at work together depends on n and chance alone, and
none reads what another may change: the answer is the same on any number of threads.
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
LEAF = 64  # records of the tree's leaves, which set the order
AT_ONCE = 8  # windows, at most
UNUSED = 64  # group numbers that each may use for new groups, at most
APART = 24  # windows of the file to each of those at least: fewer, and they reach too many groups of one another

Work = Callable[[int, Groups, int, int], None]


def windows_of(n: int) -> list[tuple[int, int]]:
    """The first record of each window of a file, and the one after its last."""
    return runs(n, WINDOW)


def memory_order(loss: GroupLoss, word: int) -> tuple[Indices, Indices]:
    """An order in which near records are near in memory, so that a window touches little: that of a random tree's
    leaves, and where each starts, with the end. A file of one window stays as it is."""
    n = loss.n
    if len(windows_of(n)) == 1:
        return np.arange(n, dtype=np.int32), np.array([0, n], dtype=np.int32)
    return loss.leaves(LEAF, word)


def to_file_order(labels: NDArray[Any], order: Indices) -> NDArray[np.int64]:
    """The labels of records in an order as those of the file.

    >>> to_file_order(np.array([5, 6, 7]), np.array([2, 0, 1])).tolist()
    [6, 7, 5]
    """
    result = np.empty(order.size, dtype=np.int64)
    result[order] = labels
    return result


def at_once(n: int) -> int:
    """How many windows of a file are worked on at once: a power of two.

    >>> [at_once(n) for n in (20_000, 200_000, 500_000, 1_000_000, 5_000_000)]
    [1, 1, 2, 4, 8]
    """
    return int(min(AT_ONCE, 1 << max(0, (len(windows_of(n)) // APART).bit_length() - 1)))


def in_windows(space: SearchSpace, g: Groups, control: Control, word: int, work: Work) -> None:
    """Do work(worker, state, first, last) for every window first .. last - 1, until stopped.

    A worker has one stretch of the file, window after window. Where stretches begin, and with which of its windows a
    worker does, is chance: two windows that are at work together now are not the next time.
    """
    windows, workers = windows_of(space.n), at_once(space.n)
    if workers == 1:
        for window in windows:
            if not control.stopped:
                work(0, g, *window)
        return
    rng = np.random.default_rng(word)
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
    """The state as each window's worker may change it: its groups, and its part of the unused numbers."""
    owner = home.copy()
    room = min(UNUSED, int(g.vacant[-1]) // len(batch))
    states = []
    for p in range(len(batch)):
        g.vacant[-1] -= room
        vacant_here = g.vacant[g.vacant[-1] : g.vacant[-1] + room]
        vacant = np.empty_like(g.vacant)
        vacant[: vacant_here.size], vacant[-1] = vacant_here, vacant_here.size
        owner[vacant_here] = p
        states.append(g._replace(owner=owner, mine=p, vacant=vacant))
    reach = 2 * space.near.shape[1]
    while reach > 0:  # a nearer one takes what a farther one took before
        reach //= 2
        for state, window in zip(states, batch, strict=True):
            claim(state, space.near, reach, *window)
    return states


def _gather(g: Groups, states: list[Groups]) -> None:
    """Put the unused numbers together again."""
    for state in states:
        count, held = state.vacant[-1], g.vacant[-1]
        g.vacant[held : held + count] = state.vacant[:count]
        g.vacant[-1] += count
