"""Simulated annealing from MDAV's groups: several chains, the best of them (Kirkpatrick et al. 1983).

start: MDAV;  chains: 1 (quick), 2 (standard), 4 (thorough), together the effort's proposals
each: cool from 0.18 to 0.05 of the local scale, then local search;  the chain with the least loss wins
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.control import Control
from shoal.engine.partition.chains import Chain, run_chains
from shoal.engine.partition.checkpoint import Checkpoint
from shoal.engine.partition.inputs import as_rows, as_weights
from shoal.engine.partition.partition import KPartition, total_squares
from shoal.engine.partition.space import prepare, random_word, survey
from shoal.engine.partition.windows import in_order, of_file
from shoal.engine.progress import Progress
from shoal.errors import check_choice, check_k
from shoal.protections.microaggregation.effort import EFFORTS, proposals
from shoal.protections.microaggregation.methods.mdav import mdav

CHAINS = {"quick": 1, "standard": 2, "thorough": 4}


def anneal(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    effort: str = "standard",
    threads: int | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> KPartition:
    """The best partition of several annealing chains."""
    clock = time.process_time()
    check_k(k, len(values))
    check_choice("effort", effort, EFFORTS)
    values = as_rows(values)
    prepare(*values.shape)
    order, _ = in_order(values, random_word(seed))
    rows, w = values[order], None if weights is None else as_weights(weights, len(values))[order]
    first = mdav(rows, k, weights=w)
    before = first.sse(rows, w)
    if len(values) < 2 * k or before == 0.0:
        return KPartition(of_file(first.labels, order), first.facts)
    space = survey(rows, k, w, seed=seed, threads=threads)
    start_cpu = time.process_time() - clock
    work = proposals(space.n, k, effort)
    chains = [
        Chain(first.labels.astype(np.int32), random_word(seed, 0, c), work // CHAINS[effort])
        for c in range(CHAINS[effort])
    ]
    store = Checkpoint(checkpoint, values, weights, k, ("anneal", effort, seed), work)
    if resume:
        chains = store.load(lambda chains, *_: len(chains) == CHAINS[effort])[0]
    sst = total_squares(values, weights)
    control = Control(threads=threads, progress=progress, total=work, seconds=seconds, unit=100.0 / sst)
    control.done = before_this = float(sum(chain.done for chain in chains))
    run_chains(space, chains, control, "annealing", lambda: store.save(chains))
    store.save(chains, now=True)
    best = min(range(len(chains)), key=lambda c: (chains[c].loss, c))
    found = KPartition(chains[best].labels.astype(np.int64))
    after = found.sse(rows, w)
    if after > before:
        found, after = first, before
    facts: dict[str, Any] = {
        "stages": [
            {"name": "mdav", "loss_before": sst, "loss_after": before, "cpu_seconds": start_cpu},
            {
                "name": f"annealing, {len(chains)} chain{'s'[: len(chains) > 1]} of {chains[0].proposals} proposals",
                "loss_before": before,
                "loss_after": after,
                "cpu_seconds": time.process_time() - clock - start_cpu,
            },
        ],
        "effort": effort,
        "proposals": int(control.done - before_this),
    }
    if control.stopped:
        facts["stopped"] = True
    return KPartition(of_file(found.labels, order), facts)
