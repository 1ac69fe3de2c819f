"""Search by rebuilding groups, for losses of ranges and sets: greedy groups in blocks, then annealing by `rebuild`.

    order the records so that near ones are near in memory; find neighbours over the whole file
    cut the order into blocks; form the loss's first partition in each, on threads
    for each of some falling temperatures, the last ones 0: for each window of records: rebuild groups around them

Between two temperatures the state is a function of the labels alone, which a checkpoint keeps. Windows far apart are
searched at once (windows.py), and the result does not depend on the number of threads.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices
from shoal.engine.control import Control
from shoal.engine.partition.chains import Chain
from shoal.engine.partition.checkpoint import Checkpoint
from shoal.engine.partition.kernels.groups import Groups, build_state
from shoal.engine.partition.kernels.rebuild import rebuild_groups
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition, by_first_record
from shoal.engine.partition.search.blocks import first_in_blocks
from shoal.engine.partition.search.prepared import PreparedSearch, SearchSettings
from shoal.engine.partition.space import SearchSpace, random_state_of
from shoal.engine.partition.windows import at_once, in_windows

# Pairs of records in the same block of the first groups, and the fewest and the most records per block: the time for
# large files is linear.
PAIRS = {"quick": 5e8, "standard": 3e9, "thorough": 1e10}
BLOCKS = {"quick": (4_000, 8_000), "standard": (4_000, 50_000), "thorough": (10_000, 100_000)}
# First and last temperature, as shares of the loss of the groups that are rebuilt: a short search must stay cold.
HOT = {"quick": 0.01, "standard": 0.03, "thorough": 0.1}
COLD = {"quick": 0.001, "standard": 0.001, "thorough": 0.003}
FROZEN = 0.08  # the last share of the work, which accepts no loss
LOST = 0.64  # columns that a record loses; where the first groups lose more, the search is as much colder
LEVELS = 40  # temperatures
POOLED = 3  # groups that are rebuilt at once, at most
DISSOLVED = 0.05  # the share of rebuilds that try to make one group fewer


def rebuild(
    loss: GroupLoss,
    control: Control,
    settings: SearchSettings,
    start: NDArray[Any] | None = None,
    work: int | None = None,
) -> KPartition:
    """Return a partition: first groups in blocks, then groups that are rebuilt again and again.

    Args:
        start: Labels of groups of k to `most` records to start from, instead of the loss's first partition.
        work: The number of rebuilds, instead of that of the effort.
    """
    work = loss.proposals(settings.effort) if work is None else work
    search = PreparedSearch(loss, control, settings, method="rebuild", proposals=work)
    if search.loss.n < 2 * loss.k:
        return search.result(np.zeros(loss.n, dtype=np.int32), {"effort": settings.effort})
    [space] = control.run([lambda: search.space])
    first, chain = _resumed(search.checkpoint) if settings.resume else _first(search, start)
    before = space.state(first)[1]
    # A move changes about one column, so it is a smaller share of the loss where a group has lost many columns.
    scale = min(1.0, LOST * loss.column_cost * loss.n / before) if before > 0 else 1.0
    stages = [search.stage(loss.first_name, search.total, before)]
    g, now = space.state(chain.labels)
    control.done = float(chain.done)
    random_state = np.array([chain.random_state], dtype=np.uint64)
    for level in range(round(chain.done * LEVELS / work), LEVELS):
        if control.stopped:
            break
        high, low = (scale * temperature for temperature in temperatures(level, settings.effort))
        control.run([partial(rebuild_windows, space, g, random_state, work / loss.n / LEVELS, high, low, control)])
        if not control.stopped:
            now = float(build_state(space.marker, g))
            control.advance(0.0, now, "rebuilding")
            chain.labels, chain.random_state = g.label.copy(), int(random_state[0])
            chain.done, chain.loss = work * (level + 1) // LEVELS, now
            search.checkpoint.save([chain], kept=[first])
    if control.stopped:
        now = float(build_state(space.marker, g))
        search.checkpoint.save([chain], kept=[first], now=True)
    stages.append(search.stage(f"{work:,} rebuilds", before, now))
    facts: dict[str, Any] = {"stages": stages, "effort": settings.effort, "proposals": work}
    return search.result(g.label if now <= before else first, facts | control.facts)


def temperatures(level: int, effort: str) -> tuple[float, float]:
    """Return the first and the last temperature of a level.

    >>> temperatures(39, "quick")
    (0.0, 0.0)
    """
    warm = round(LEVELS * (1 - FROZEN))
    if level >= warm:
        return 0.0, 0.0
    hot, ratio = HOT[effort], COLD[effort] / HOT[effort]
    return hot * ratio ** (level / warm), hot * ratio ** ((level + 1) / warm)


def block_of(n: int, k: int, effort: str) -> int:
    """Return the number of records per block of the first groups.

    >>> [block_of(n, 5, "quick") for n in (20_000, 100_000, 1_000_000)]
    [8000, 5000, 4000]
    """
    fewest, most = BLOCKS[effort]
    return max(20 * k, fewest, min(most, int(PAIRS[effort] / n)))


def rebuild_windows(
    space: SearchSpace,
    g: Groups,
    random_state: NDArray[np.uint64],
    per_record: float,
    high: float,
    low: float,
    control: Control,
) -> None:
    """Rebuild groups so many times per record, window by window."""
    states = [
        random_state,
        *(np.array([random_state_of(random_state[0], p)], np.uint64) for p in range(1, at_once(space.n))),
    ]

    def window(worker: int, state: Groups, first: int, last: int) -> None:
        moves = max(1, int(per_record * (last - first)))
        loss = space.loss
        rebuild_groups(
            *(space.marker, state, space.near, states[worker], first, last, moves, high, low),
            *(POOLED, DISSOLVED, loss.rule_room, control.flag),
        )
        control.advance(moves, None, "rebuilding")

    in_windows(space, g, control, int(random_state[0]), window)


def _first(search: PreparedSearch, start: NDArray[Any] | None) -> tuple[Indices, Chain]:
    """Return the first groups, by default made in blocks, and a chain that starts there."""
    if start is None:
        labels = first_in_blocks(search, block_of(search.loss.n, search.loss.k, search.settings.effort))
    else:
        labels = by_first_record(search.in_memory_order(start)).astype(np.int32)
    return labels, Chain(labels.copy(), random_state_of(search.settings.seed, 1), search.proposals)


def _resumed(checkpoint: Checkpoint) -> tuple[Indices, Chain]:
    """Return the first groups and the chain from a checkpoint."""
    [chain], _, [first], _ = checkpoint.load(lambda chains, _, kept, *__: len(chains) == len(kept) == 1)
    return first, chain
