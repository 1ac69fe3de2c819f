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

from shoal.evolve.control import Control
from shoal.kernels.anneal import anneal as anneal_kernel
from shoal.partition.refine import descend
from shoal.partition.space import Space

Indices = NDArray[np.int32]

STEP = threading.Lock()  # a chain steps and a checkpoint is taken one at a time
# In units of each record's own scale; above HOT everything moves, below COLD local search does as well.
HOT, COLD = 0.18, 0.04
PIECE = 1_000_000  # proposals between two looks at the clock: about 0.2 s


@dataclass
class Chain:
    """A partition being annealed from `hot` to cold over `proposals`, and the groups it passed through late."""

    labels: Indices
    word: int
    proposals: int
    hot: float = HOT
    done: int = 0
    loss: float = np.inf
    finished: bool = False
    seen: list[Indices] = field(default_factory=list)


def random_word(seed: int, *place: int) -> int:
    """A 64-bit seed for one chain, a function of the user's seed and the chain's place alone."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint64)[0])


def run_chains(
    space: Space, chains: Sequence[Chain], control: Control, what: str, after_piece: Callable[[], None] = lambda: None
) -> None:
    """Anneal all chains to their end and to a local optimum, or until the control stops them."""
    control.run([partial(anneal_chain, space, chain, control, what, after_piece) for chain in chains])


def anneal_chain(
    space: Space,
    chain: Chain,
    control: Control,
    what: str,
    after_piece: Callable[[], None] = lambda: None,
) -> None:
    """Anneal in pieces; the last fifth of the way leaves its partitions in `seen`."""
    if chain.finished:
        return
    word = np.array([chain.word], dtype=np.uint64)
    go_on = not control.stopped
    while chain.done < chain.proposals and go_on:
        g, _ = space.state(chain.labels)
        piece = min(PIECE, chain.proposals - chain.done)
        steps = np.array([chain.done, chain.done + piece]) / chain.proposals
        high, low = chain.hot * (COLD / chain.hot) ** steps
        loss = float(anneal_kernel(space.loss, g, space.near, space.heat, word, piece, high, low, 0, space.n))
        with STEP:
            chain.labels, chain.word, chain.done, chain.loss = g.label, int(word[0]), chain.done + piece, loss
            if chain.done > 0.8 * chain.proposals:
                chain.seen.append(chain.labels)
        go_on = control.advance(piece, loss, what)
        after_piece()
    if go_on:
        g, _ = space.state(chain.labels)
        descend(space, g, chain.word, control)
        loss = space.state(g.label)[1]
        with STEP:
            chain.labels, chain.loss, chain.finished = g.label, loss, not control.stopped
        after_piece()
