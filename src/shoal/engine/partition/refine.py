"""Local search from any partition to one that no single move improves; the result is never worse than the start.

It splits groups that are too large. Then it makes random moves of all kinds (relocate, swap, rotate, create, dissolve,
resplit) at temperature zero while a round of them pays. At last it sweeps over all relocations and swaps until none
pays (in a large file: until fewer than one in a thousand records gains).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.engine.control import Control, current
from shoal.engine.partition.kernels.anneal import anneal as anneal_kernel
from shoal.engine.partition.kernels.groups import Groups, build_state
from shoal.engine.partition.kernels.local_search import sweep
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.space import (
    SearchSpace,
    check_start,
    random_state_of,
    search_space,
    visits_of,
    without_oversized,
)
from shoal.engine.partition.windows import at_once, in_windows
from shoal.engine.stage import Stage
from shoal.errors import check_k

PROPOSALS_PER_ROUND = 30  # per record, between two checks of the gain
MAX_ROUNDS = 200  # gains within rounding could repeat forever
FROZEN = 1e-12  # a temperature at which no move that costs anything is accepted


def refine(
    loss: GroupLoss,
    partition: KPartition,
    *,
    seed: int = 0,
    control: Control | None = None,
) -> KPartition:
    """Return the local optimum below a partition."""
    started = time.process_time()
    check_start(partition, loss.n).check(check_k(loss.k, loss.n))
    whole = without_oversized(loss, partition)
    control = (control or current()).part()
    space = search_space(loss, seed=seed, threads=control.threads)
    g, _ = space.state(whole.labels)
    control.run([lambda: to_local_optimum(space, g, seed, control)])
    refined = KPartition(g.label.astype(np.int64))
    before, after = loss.of(partition), loss.of(refined)
    if after > before:
        refined, after = partition, before
    cpu = time.process_time() - started
    stage = Stage(name="local search", loss_before=before, loss_after=after, cpu_seconds=cpu)
    facts: dict[str, Any] = {**partition.facts, "stages": [*partition.facts.get("stages", []), stage]}
    facts |= control.facts
    return KPartition(refined.labels, facts)


def to_local_optimum(space: SearchSpace, g: Groups, seed: int, control: Control) -> None:
    """Take the state to a local optimum: random moves of all kinds while they pay, then sweeps."""
    random_state = np.array([seed], dtype=np.uint64)
    before = np.inf
    for _ in range(MAX_ROUNDS):
        loss = anneal_windows(space, g, random_state, PROPOSALS_PER_ROUND, FROZEN, FROZEN, control)
        if control.stopped or not loss < (1 - 1e-4) * before:  # also if the loss is NaN
            break
        before = loss
    sweep_windows(space, g, control, space.n // 1000)


def sweep_windows(
    space: SearchSpace,
    g: Groups,
    control: Control,
    few: int,
    done: int = 0,
    after_sweep: Callable[[int], None] = lambda done: None,
) -> None:
    """Sweep until at most `few` records gain; `done` sweeps were done before."""
    for turn in range(done, MAX_ROUNDS):
        gained = [0] * at_once(space.n)

        def window(worker: int, state: Groups, first: int, last: int, gained: list[int] = gained) -> None:
            gained[worker] += sweep(space.marker, state, space.near, space.smallest_gain, first, last)
            control.advance(0.0)

        in_windows(space, g, control, turn, window)
        build_state(space.marker, g)
        if control.stopped or sum(gained) <= few:
            break
        after_sweep(turn + 1)


def anneal_windows(
    space: SearchSpace,
    g: Groups,
    random_state: NDArray[np.uint64],
    proposals: float,
    hot: float,
    cold: float,
    control: Control,
    what: str = "",
) -> float:
    """Make so many proposals per record on average, window by window; return the loss, or NaN if stopped."""
    random_states = [
        random_state,
        *(np.array([random_state_of(random_state[0], p)], np.uint64) for p in range(1, at_once(space.n))),
    ]

    def window(worker: int, state: Groups, first: int, last: int) -> None:
        visits = visits_of(space.visits, first, last)
        number = max(1, int(proposals * space.n * visits.size / space.visits.size))
        anneal_kernel(
            space.marker, state, space.near, space.local_scale, visits, random_states[worker], number, hot, cold
        )
        control.advance(number if what else 0.0, None, what)

    in_windows(space, g, control, int(random_state[0]), window)
    if control.stopped:
        return float("nan")
    loss = float(build_state(space.marker, g))  # a function of the labels from here on
    control.advance(0.0, loss, what)
    return loss
