"""Annealing chains: many at once, each resumable, the answer independent of the number of threads.

A chain is a pure function of its labels, one random word and the step it is at, all of which are in
a checkpoint: between two pieces of work the state is rebuilt from the labels alone.
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
from shoal.engine.partition.kernels.groups import Groups, renew
from shoal.engine.partition.refine import FROZEN, to_local_optimum
from shoal.engine.partition.space import SearchSpace, turns, turns_of
from shoal.engine.partition.windows import windows_of

STEP = threading.Lock()  # a chain steps and a checkpoint is taken one at a time
# In units of each record's own scale; above HOT everything moves, below COLD local search does as well.
HOT, COLD = 0.18, 0.05
PIECE = 1_000_000  # proposals between two looks at the clock, at most: about 0.1 s
PIECES = 40  # of a chain, at least: what a killed search had under way is little of it
BAND = 0.1  # below this temperature most groups are settled: the rest is worth looking at again and again
RESTING = 0.1  # how often a record is looked at whose group has long been the same, against one whose group changes
QUENCH = 30  # proposals per record that take a snapshot to its local optimum


@dataclass
class Chain:
    """A partition being annealed from `hot` to cold over `proposals`; `seen` are local optima it passed late.

    Which of two ways a region settled is chance while it is warm, and each region's chances are its own: the local
    optima of one chain hold good groups for all of them, though no single one has them all. `unsettled` is 1 for a
    record whose group changes from piece to piece and falls towards 0 when it does not: it needs no more looking at.
    """

    labels: Indices
    word: int
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
    after_piece: Callable[[], None] = lambda: None,
) -> None:
    """Anneal all chains to their end and to a local optimum, or until the control stops them."""
    control.run([partial(anneal_chain, space, chain, control, what, after_piece) for chain in chains])


def anneal_chain(
    space: SearchSpace,
    chain: Chain,
    control: Control,
    what: str,
    after_piece: Callable[[], None] = lambda: None,
) -> None:
    """Anneal in pieces; the local optima below some of the last ones are left in `seen`."""
    if chain.finished:
        return
    word = np.array([chain.word], dtype=np.uint64)
    go_on = not control.stopped
    stops, looks = _stops(chain)
    for stop in stops[stops > chain.done]:
        if not go_on:
            break
        g, _ = space.state(chain.labels)
        piece = int(stop) - chain.done
        steps = np.array([chain.done, stop]) / chain.proposals
        high, low = chain.hot * (COLD / chain.hot) ** steps
        often = space.often * (RESTING + (1.0 - RESTING) * chain.unsettled)
        _propose(space, g, turns(often), word, piece, high, low)
        changed = space.loss.costs(g.label)[g.label] != space.loss.costs(chain.labels)[chain.labels]
        loss = float(renew(space.marker, g))
        below = [_quenched(space, g.label, word)] if stop in looks else []
        with STEP:
            chain.labels, chain.word, chain.done, chain.loss = g.label, int(word[0]), int(stop), loss
            chain.unsettled = (chain.unsettled + changed) / 2
            chain.seen.extend(below)
        go_on = control.advance(piece, loss, what)
        after_piece()
    if go_on:
        g, _ = space.state(chain.labels)
        to_local_optimum(space, g, chain.word, control)
        loss = space.state(g.label)[1]
        with STEP:
            chain.labels, chain.loss, chain.finished = g.label, loss, not control.stopped
        after_piece()


def _stops(chain: Chain) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The steps at which a piece ends, and at which of them a snapshot is taken: spread over the way below BAND."""
    count = max(PIECES, -(-chain.proposals // PIECE))
    stops = chain.proposals * np.arange(1, count + 1) // count
    start = max(0.0, np.log(BAND / chain.hot) / np.log(COLD / chain.hot))
    way = np.linspace(start, 1.0, chain.snapshots + 1)[1:]
    return stops, stops[np.rint(way * count).astype(np.int64) - 1]


def _quenched(space: SearchSpace, labels: Indices, word: NDArray[np.uint64]) -> Indices:
    """The local optimum below a partition, nearly."""
    g, _ = space.state(labels)
    _propose(space, g, space.turns, word.copy(), QUENCH * space.n, FROZEN, FROZEN)
    return g.label


def _propose(
    space: SearchSpace, g: Groups, turns: Indices, word: NDArray[np.uint64], proposals: int, high: float, low: float
) -> None:
    """So many proposals for the records in `turns`, window by window."""
    for window in windows_of(space.n):
        mine = turns_of(turns, *window)
        number = proposals * mine.size // turns.size
        anneal_kernel(space.marker, g, space.near, space.heat, mine, word, number, high, low)
