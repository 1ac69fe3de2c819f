"""Low loss for large files: first groups in blocks, then annealing over the whole file, window by window.

    order the records by a random projection tree: near records are near in memory
    cut the order into blocks; form the loss's first partition (MDAV's for squared errors) in each, on threads
    find neighbour lists over the whole file, so that groups can cross the borders of the blocks
    for each of a few falling temperatures: for each window of records: make proposals for its records
    local search

The proposals of a window may change any group near it, from any block. Windows far apart are annealed at once
(windows.py). Time and memory grow linearly with n, and the result does not depend on the number of threads. Between two
temperatures, and between two sweeps of the local search, the state is a function of the labels alone, which a
checkpoint keeps.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices
from shoal.engine.control import Control
from shoal.engine.partition.chains import COLD, HOT, Chain
from shoal.engine.partition.checkpoint import Checkpoint
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.refine import anneal_windows, sweep_windows
from shoal.engine.partition.search.prepared import PreparedSearch, SearchSettings
from shoal.engine.partition.space import random_state_of

BLOCK = 10_000  # records per block
LEVELS = 8, 100  # smallest and largest number of passes over the file, each at its own temperatures
PROPOSALS_PER_LEVEL = 10  # per record


def blocks(
    loss: GroupLoss,
    control: Control,
    settings: SearchSettings,
    start: KPartition | None = None,
    hot: float = HOT,
) -> KPartition:
    """Return a partition of a large file: first groups in blocks, then annealing across their borders.

    Args:
        start: A partition into groups of k to `most` records, to start from instead of the first groups in blocks.
        hot: The first temperature.
    """
    n, work = loss.n, loss.large_proposals(settings.effort)
    if start is None and loss.starts_whole:
        start = loss.first()
    levels = int(np.clip(work // n // PROPOSALS_PER_LEVEL, *LEVELS))
    search = PreparedSearch(loss, control, settings, method="blocks", proposals=work, place=(0,), in_place=True)
    chain, sweeps, first = _resumed(search.checkpoint) if settings.resume else _first(search, start)
    search.loss.keep_records_only()
    space = search.space
    before = space.state(first)[1]
    g, current = space.state(chain.labels)
    stages = [search.stage(f"{loss.first_name} in blocks, neighbour lists", search.total, before)]
    control.done = float(chain.done)
    random_state = np.array([chain.random_state], dtype=np.uint64)

    def keep(done: int = 0) -> None:
        nonlocal sweeps
        chain.labels, chain.random_state, sweeps = g.label.copy(), int(random_state[0]), done
        search.checkpoint.save([chain], stage=sweeps, kept=[first])

    steps = hot * (COLD / hot) ** (np.arange(levels + 1) / levels)
    for level in range(round(chain.done * levels / work), levels):  # the number of levels need not divide the work
        high, low = steps[level : level + 2]
        if not control.stopped:
            [current] = control.run(
                [partial(anneal_windows, space, g, random_state, work / n / levels, high, low, control, "annealing")]
            )
        if not control.stopped:
            chain.done = work * (level + 1) // levels
            keep()
    if control.stopped:
        current = space.state(g.label)[1]
    stages.append(search.stage(f"annealing, {work // n:,} proposals per record", before, current))
    if not control.stopped:
        annealed = current
        control.run([partial(sweep_windows, space, g, control, n // 50, sweeps, keep)])
        current = space.state(g.label)[1]
        stages.append(search.stage("local search", annealed, current))
    facts: dict[str, Any] = {"stages": stages, "effort": settings.effort}
    if control.stopped:
        search.checkpoint.save([chain], stage=sweeps, kept=[first], now=True)
    return search.result(g.label if current <= before else first, facts | control.facts)


def _first(search: PreparedSearch, start: KPartition | None) -> tuple[Chain, int, Indices]:
    """Return a chain that starts at the first groups in the blocks, 0 for the sweeps done, and those groups."""
    if start is None:
        labels = first_in_blocks(search, max(BLOCK, 20 * search.loss.k))
    else:
        labels = search.in_memory_order(start.labels).astype(np.int32)
    return Chain(labels.copy(), random_state_of(search.settings.seed, 1), search.proposals), 0, labels


def first_in_blocks(search: PreparedSearch, block: int) -> Indices:
    """Return the loss's first partition of each block of about so many records, in memory order."""
    loss = search.loss
    starts = _starts(search.leaves, loss.n, block)
    parts = search.control.run([loss.part(slice(a, b)).first for a, b in pairwise(starts)])
    labels = np.concatenate([p.labels + offset for p, offset in zip(parts, _offsets(parts), strict=True)])
    return labels.astype(np.int32)


def _resumed(checkpoint: Checkpoint) -> tuple[Chain, int, Indices]:
    """Return the chain, the number of sweeps done, and the first groups, from a checkpoint."""
    [chain], sweeps, [first], _ = checkpoint.load(lambda chains, _, kept, *__: len(chains) == len(kept) == 1)
    return chain, sweeps, first


def _starts(leaves: Indices, n: int, block: int) -> list[int]:
    """Return where blocks of whole leaves, about `block` records each, start and end."""
    count = min(max(1, round(n / block)), leaves.size - 1)
    chosen = leaves[np.searchsorted(leaves, (np.arange(1, count) * n // count).astype(leaves.dtype))]
    return [0, *chosen.tolist(), n]


def _offsets(parts: list[KPartition]) -> NDArray[np.int64]:
    """Return the number of groups before each part."""
    counts = np.array([part.groups for part in parts])
    return np.asarray(np.cumsum(counts) - counts, dtype=np.int64)
