"""Low loss for large files: first groups in blocks, then annealing over the whole file, window by window.

    order the records by a random projection tree: near records are near in memory
    cut the order into blocks; the loss's first partition (MDAV's for squares) in each, on threads
    neighbour lists over the whole file, so that the blocks' borders vanish
    for each of a few temperatures, falling: for each window of records: proposals for its records
    local search

A window's proposals may change any group near it, whatever block it came from. Windows far apart are annealed at once
(windows.py). Time and memory grow linearly with n; the answer does not depend on threads. Between two temperatures, and
two sweeps of the local search, the state is a function of the labels alone, which a checkpoint keeps.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from pathlib import Path
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
from shoal.engine.partition.space import prepare, random_word, search_space
from shoal.engine.partition.windows import memory_order, to_file_order
from shoal.engine.stage import Stage
from shoal.errors import check_k

BLOCK = 10_000  # records that get their first groups at once
LEVELS = 8, 100  # sweeps over the file, at least and at most, each at its own temperatures
PROPOSALS_PER_LEVEL = 10  # per record, between two sweeps


def blocks(
    of_file_order: GroupLoss,
    control: Control,
    *,
    seed: int = 0,
    effort: str = "standard",
    checkpoint: Path | None = None,
    resume: bool = False,
) -> KPartition:
    """A partition of a large file: first groups in blocks, annealing across their borders."""
    clock = time.process_time()
    n, k = of_file_order.n, check_k(of_file_order.k, of_file_order.n)
    work = of_file_order.large_proposals(effort)
    levels = int(np.clip(work // n // PROPOSALS_PER_LEVEL, *LEVELS))
    total = of_file_order.total
    control.stage("", work, 100.0 / total if total > 0 else 1.0)
    store = Checkpoint(checkpoint, of_file_order, ("blocks", effort, seed), work)
    prepare(of_file_order)
    order, leaves = memory_order(of_file_order, random_word(seed, 0))
    starts = _starts(leaves, n, max(BLOCK, 20 * k))
    loss_of = of_file_order.reordered(order)
    chain, sweeps, first = _resumed(store) if resume else _first(loss_of, starts, control, work, seed)
    space = search_space(loss_of, seed=seed, threads=control.threads)
    before = space.state(first)[1]
    g, loss = space.state(chain.labels)
    stages = [_stage(f"{loss_of.first_name} in blocks, neighbour lists", total, before, clock)]
    clock, control.done = time.process_time(), float(chain.done)
    word = np.array([chain.word], dtype=np.uint64)

    def keep(done: int = 0) -> None:
        nonlocal sweeps
        chain.labels, chain.word, sweeps = g.label.copy(), int(word[0]), done
        store.save([chain], stage=sweeps, kept=[first])

    steps = HOT * (COLD / HOT) ** (np.arange(levels + 1) / levels)
    for level in range(round(chain.done * levels / work), levels):  # levels need not divide the work
        high, low = steps[level : level + 2]
        if not control.stopped:
            [loss] = control.run(
                [partial(anneal_windows, space, g, word, work / n / levels, high, low, control, "annealing")]
            )
        if not control.stopped:
            chain.done = work * (level + 1) // levels
            keep()
    if control.stopped:
        loss = space.state(g.label)[1]
    stages.append(_stage(f"annealing, {work // n} proposals per record", before, loss, clock))
    clock, between = time.process_time(), loss
    if not control.stopped:
        control.run([partial(sweep_windows, space, g, control, n // 50, sweeps, keep)])
        loss = space.state(g.label)[1]
        stages.append(_stage("local search", between, loss, clock))
    facts: dict[str, Any] = {"stages": stages, "effort": effort}
    if control.stopped:
        store.save([chain], stage=sweeps, kept=[first], now=True)
        facts["stopped"] = True
    return KPartition(to_file_order(g.label if loss <= before else first, order), facts)


def _first(loss: GroupLoss, starts: list[int], control: Control, work: int, seed: int) -> tuple[Chain, int, Indices]:
    """A chain from the first groups in the blocks, no sweep done, and those groups."""
    parts = control.run([loss.part(slice(a, b)).first for a, b in pairwise(starts)])
    labels = np.concatenate([p.labels + offset for p, offset in zip(parts, _offsets(parts), strict=True)])
    return Chain(labels.astype(np.int32), random_word(seed, 1), work), 0, labels.astype(np.int32)


def _resumed(store: Checkpoint) -> tuple[Chain, int, Indices]:
    """The same from a checkpoint, and how many sweeps were done."""
    [chain], sweeps, [first], _ = store.load(lambda chains, _, kept, *__: len(chains) == len(kept) == 1)
    return chain, sweeps, first


def _starts(leaves: Indices, n: int, block: int) -> list[int]:
    """Where blocks of about so many records, and of whole leaves, start and end."""
    count = max(1, round(n / block))
    chosen = leaves[np.searchsorted(leaves, (np.arange(1, count) * n // count).astype(leaves.dtype))]
    return [0, *chosen.tolist(), n]


def _offsets(parts: list[KPartition]) -> NDArray[np.int64]:
    counts = np.array([part.groups for part in parts])
    return np.asarray(np.cumsum(counts) - counts, dtype=np.int64)


def _stage(name: str, before: float, after: float, clock: float) -> Stage:
    return Stage(name=name, loss_before=before, loss_after=after, cpu_seconds=time.process_time() - clock)
