"""Simulated annealing: several chains from one partition, the best of them (Kirkpatrick et al. 1983).

start: the loss's first partition (MDAV's for squares)
chains: 1 (quick), 2 (standard), 4 (thorough), together the effort's proposals
each: cool from 0.18 to 0.05 of the local scale, then local search;  the chain with the least loss wins
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engine.control import Control
from shoal.engine.partition.chains import Chain, run_chains
from shoal.engine.partition.checkpoint import Checkpoint
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.space import prepare, random_word, search_space
from shoal.engine.partition.windows import memory_order, to_file_order
from shoal.engine.stage import Stage
from shoal.errors import check_choice, check_k

CHAINS = {"quick": 1, "standard": 2, "thorough": 4}


def anneal(
    of_file_order: GroupLoss,
    control: Control,
    *,
    seed: int = 0,
    effort: str = "standard",
    checkpoint: Path | None = None,
    resume: bool = False,
) -> KPartition:
    """The best partition of several annealing chains."""
    clock = time.process_time()
    check_k(of_file_order.k, of_file_order.n)
    check_choice("effort", effort, tuple(CHAINS))
    prepare(of_file_order)
    order, _ = memory_order(of_file_order, random_word(seed))
    loss = of_file_order.reordered(order)
    first = loss.first()
    before = loss.of(first)
    if loss.n < 2 * loss.k or before == 0.0:
        return KPartition(to_file_order(first.labels, order), first.facts)
    space = search_space(loss, seed=seed, threads=control.threads)
    start_cpu = time.process_time() - clock
    work = loss.proposals(effort)
    chains = [
        Chain(first.labels.astype(np.int32), random_word(seed, 0, c), work // CHAINS[effort])
        for c in range(CHAINS[effort])
    ]
    store = Checkpoint(checkpoint, of_file_order, ("anneal", effort, seed), work)
    if resume:
        chains = store.load(lambda chains, *_: len(chains) == CHAINS[effort])[0]
    total = of_file_order.total
    control.stage("", work, 100.0 / total)
    control.done = before_this = float(sum(chain.done for chain in chains))
    run_chains(space, chains, control, "annealing", lambda: store.save(chains))
    store.save(chains, now=True)
    best = min(range(len(chains)), key=lambda c: (chains[c].loss, c))
    annealed = KPartition(chains[best].labels.astype(np.int64))
    after = loss.of(annealed)
    if after > before:
        annealed, after = first, before
    facts: dict[str, Any] = {
        "stages": [
            Stage(name=loss.first_name, loss_before=total, loss_after=before, cpu_seconds=start_cpu),
            Stage(
                name=f"annealing, {len(chains)} chain{'s'[: len(chains) > 1]} of {chains[0].proposals} proposals",
                loss_before=before,
                loss_after=after,
                cpu_seconds=time.process_time() - clock - start_cpu,
            ),
        ],
        "effort": effort,
        "proposals": int(control.done - before_this),
    }
    facts |= control.facts
    return KPartition(to_file_order(annealed.labels, order), facts)
