"""Simulated annealing: several chains from one partition; the best chain wins (Kirkpatrick et al. 1983).

start: the loss's first partition (MDAV's for squared errors)
chains: 1 (quick), 2 (standard), 4 (thorough); together they make the proposals of the effort
each chain: cool from 0.18 to 0.05 of the local scale, then local search
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.engine.control import Control
from shoal.engine.partition.chains import Chain, run_chains
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.prepared import PreparedSearch, SearchSettings
from shoal.engine.partition.space import random_state_of

CHAINS = {"quick": 1, "standard": 2, "thorough": 4}


def anneal(loss: GroupLoss, control: Control, settings: SearchSettings) -> KPartition:
    """Return the best partition of several annealing chains."""
    work, count = loss.proposals(settings.effort), CHAINS[settings.effort]
    search = PreparedSearch(loss, control, settings, method="anneal", proposals=work)
    first, before = search.first, search.first_loss
    if search.has_nothing_to_improve:
        return search.result(first.labels, first.facts)
    space = search.space
    stages = [search.stage(loss.first_name, search.total, before)]
    start = first.labels.astype(np.int32)
    chains = [Chain(start.copy(), random_state_of(settings.seed, 0, c), work // count) for c in range(count)]
    if settings.resume:
        chains = search.checkpoint.load(lambda chains, *_: len(chains) == count)[0]
    control.done = done_before = float(sum(chain.done for chain in chains))
    run_chains(space, chains, control, "annealing", lambda: search.checkpoint.save(chains))
    search.checkpoint.save(chains, now=True)
    best = min(range(count), key=lambda c: (chains[c].loss, c))
    annealed = KPartition(chains[best].labels.astype(np.int64))
    after = search.loss.of(annealed)
    if after > before:
        annealed, after = first, before
    name = f"annealing, {count} chain{'s'[: count > 1]} of {chains[0].proposals:,} proposals"
    stages.append(search.stage(name, before, after))
    facts: dict[str, Any] = {"stages": stages, "effort": settings.effort, "proposals": int(control.done - done_before)}
    return search.result(annealed.labels, facts | control.facts)
