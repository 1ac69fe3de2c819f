"""Annealing chains. Many run at once, each can be resumed, and the result does not depend on the number of threads.

A chain is a pure function of its labels, its random state and its step, and a checkpoint holds all three. Between two
batches of proposals the state is rebuilt from the labels alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.control import Control
from shoal.engine.partition.kernels.anneal import anneal as anneal_kernel
from shoal.engine.partition.kernels.groups import Groups, refresh_state
from shoal.engine.partition.refine import FROZEN, to_local_optimum
from shoal.engine.partition.space import SearchSpace, repeated_by_weight, visits_of
from shoal.engine.partition.windows import windows_of

STEP_LOCK = threading.Lock()  # held while a chain steps and while a checkpoint is taken
# First and last temperature, in units of the local scale: above HOT everything moves, below COLD local search suffices.
HOT, COLD = 0.18, 0.05
MAX_PROPOSALS_PER_BATCH = 1_000_000  # between two time checks: about 0.1 s
MIN_BATCHES = 40  # per chain, so that a killed search loses little work
SNAPSHOT_TEMPERATURE = 0.1  # below it most groups no longer change, and snapshots are taken
RESTING = 0.1  # visits of a record whose group has long been the same, per visit of one whose group changes
QUENCH = 30  # proposals per record that take a snapshot to its local optimum


@dataclass
class Chain:
    """A partition that is annealed from `hot` to COLD over `proposals`; `seen` are late local optima of the chain.

    While warm, each region switches between a few good groupings independently. Local optima of one chain therefore
    contain good groups for every region, although no single one has them all. `unsettled` is 1 for a record whose group
    changes from batch to batch. It falls towards 0 while the group stays, because the record needs fewer visits then.
    """

    labels: Indices
    random_state: int
    proposals: int
    hot: float = HOT
    snapshots: int = 0
    done: int = 0
    loss: float = np.inf
    finished: bool = False
    unsettled: Floats = field(default_factory=lambda: np.ones(1))
    seen: list[Indices] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unsettled = np.broadcast_to(self.unsettled, self.labels.size)


def run_chains(
    space: SearchSpace,
    chains: Sequence[Chain],
    control: Control,
    what: str,
    after_batch: Callable[[], None] = lambda: None,
) -> None:
    """Anneal all chains to their end and to a local optimum, or until the control stops them."""
    control.run([partial(anneal_chain, space, chain, control, what, after_batch) for chain in chains])


def anneal_chain(
    space: SearchSpace,
    chain: Chain,
    control: Control,
    what: str,
    after_batch: Callable[[], None] = lambda: None,
) -> None:
    """Anneal in batches; `seen` gets the local optima below some of the last ones."""
    if chain.finished:
        return
    random_state = np.array([chain.random_state], dtype=np.uint64)
    go_on = not control.stopped
    stops, looks = _stops(chain)
    for stop in stops[stops > chain.done]:
        if not go_on:
            break
        g, _ = space.state(chain.labels)
        batch = int(stop) - chain.done
        steps = np.array([chain.done, stop]) / chain.proposals
        high, low = chain.hot * (COLD / chain.hot) ** steps
        visit_weight = space.visit_weight * (RESTING + (1.0 - RESTING) * chain.unsettled)
        _propose(space, g, repeated_by_weight(visit_weight), random_state, batch, high, low)
        changed = space.loss.costs(g.label)[g.label] != space.loss.costs(chain.labels)[chain.labels]
        loss = float(refresh_state(space.marker, g))
        below = [_quenched(space, g.label, random_state)] if stop in looks else []
        with STEP_LOCK:
            chain.labels, chain.random_state, chain.done, chain.loss = g.label, int(random_state[0]), int(stop), loss
            chain.unsettled = (chain.unsettled + changed) / 2
            chain.seen.extend(below)
        go_on = control.advance(batch, loss, what)
        after_batch()
    if go_on:
        g, _ = space.state(chain.labels)
        to_local_optimum(space, g, chain.random_state, control)
        loss = space.state(g.label)[1]
        with STEP_LOCK:
            chain.labels, chain.loss, chain.finished = g.label, loss, not control.stopped
        after_batch()


def _stops(chain: Chain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the steps at which a batch ends, and those of them with a snapshot, spread below SNAPSHOT_TEMPERATURE."""
    count = max(MIN_BATCHES, -(-chain.proposals // MAX_PROPOSALS_PER_BATCH))
    stops = chain.proposals * np.arange(1, count + 1) // count
    start = max(0.0, np.log(SNAPSHOT_TEMPERATURE / chain.hot) / np.log(COLD / chain.hot))
    way = np.linspace(start, 1.0, chain.snapshots + 1)[1:]
    return stops, stops[np.rint(way * count).astype(np.int64) - 1]


def _quenched(space: SearchSpace, labels: Indices, random_state: NDArray[np.uint64]) -> Indices:
    """Return about the local optimum below a partition."""
    g, _ = space.state(labels)
    _propose(space, g, space.visits, random_state.copy(), QUENCH * space.n, FROZEN, FROZEN)
    return g.label


def _propose(
    space: SearchSpace,
    g: Groups,
    visits: Indices,
    random_state: NDArray[np.uint64],
    proposals: int,
    high: float,
    low: float,
) -> None:
    """Make so many proposals for the records in `visits`, window by window."""
    for window in windows_of(space.n):
        visits_here = visits_of(visits, *window)
        number = proposals * visits_here.size // visits.size
        anneal_kernel(space.marker, g, space.near, space.local_scale, visits_here, random_state, number, high, low)
