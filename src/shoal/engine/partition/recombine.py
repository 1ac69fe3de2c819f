"""Find about the best partition into groups of a pool. Work is limited, not time.

relax: the duals give the reduced cost of each group; on request add
    variants of the groups in use that cost less than their records' duals, until there are none; then
    cuts that the relaxation violates, and relax again
solve integer programmes over more and more groups, those with the lowest reduced costs first

A better partition contains only groups whose reduced cost is below the gap between the known partition and the
relaxation. Small programmes end at once and find most of the gain, and every gain leaves fewer groups for the next one.

The search goes in short steps. A `Recombination` holds everything that the next step needs, and the solver nothing.
Therefore a search that was killed continues after its last step and has the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices, Ints
from shoal.engine.control import current
from shoal.engine.partition.set_partition import Basis, Pool, SetPartitioning, reduced_costs
from shoal.engine.partition.subset_row_cuts import incidence, violated

FIRST = 1.1  # columns of the first programme per column with a reduced cost of 0
VARIANTS_PER_GROUP, FINAL_VARIANTS = 20, 10  # variants of a group that join the pool per round, and at the end
FITTING = 0.05  # largest reduced cost of a final variant, as a share of the gap
ROUNDS_OF_CUTS = 6
WORK = 12  # simplex iterations per record in all relaxations; a round counts as at least a hundred


class SolverLimits(NamedTuple):
    """The limits of the integer programmes.

    iterations: a programme with more simplex iterations is the last one. looks: how often HiGHS may check its limits
    (after a round of cuts, or a heuristic) before a programme ends. nodes: the nodes of a programme. few, wider,
    careful: the next programme has `wider` times the columns after one of at most `few` iterations, else `careful`
    times.
    """

    iterations: int
    looks: int
    nodes: int = 1
    few: int = 50
    wider: float = 1.15
    careful: float = 1.06


class Recombination(NamedTuple):
    """The state of a recombination: the best partition so far, and what the next step needs."""

    best: Any  # labels
    groups: Sequence[Any] = ()  # groups that were added to the pool
    cuts: Sequence[Any] = ()
    basis: Basis | None = None  # of the relaxation, before the last cuts
    left: int | None = None  # simplex iterations left for the relaxations
    rounds: int = 0  # of cuts
    bound: float = 0.0
    duals: Any = ()
    width: float | None = None  # columns of the next programme; None before the last relaxation
    finished: bool = False


def recombine(
    pool: Pool,
    begun: Recombination,
    limits: SolverLimits,
    near: Indices | None = None,
    after_step: Callable[[Recombination], bool] = lambda state: True,
) -> Recombination:
    """Return the state with a partition into groups of the pool that is at least as good as the known one.

    Args:
        near: The neighbours of each record (-1 for none). With them, variants of the groups in use join the pool.
        after_step: Called after each step; returns whether to continue.
    """
    first_added, state, go_on, control = len(pool.groups), begun, True, current()
    pool.add(np.asarray(rows, dtype=np.int32) for rows in begun.groups)
    pool.add_labels(np.asarray(begun.best))
    while go_on and not state.finished:
        step = relax(pool, state, near) if state.width is None else _programme(pool, state, state.width, limits)
        if control.stopped:  # the solver may have stopped early: a resumed search repeats this step
            break
        state = step._replace(groups=pool.groups[first_added:])
        go_on = after_step(state)
    return state


def is_sound(state: Recombination, n: int, k: int, most: int) -> bool:
    """Return whether a state from a file describes a recombination of n records; solver and kernels trust it."""
    if not all(isinstance(part, list | tuple) for part in (state.groups, state.cuts, state.duals, state.basis or ())):
        return False
    try:
        best, duals = np.asarray(state.best), np.asarray(state.duals)
        numbers = np.array([part for part in (state.bound, state.width, state.left, state.rounds) if part is not None])
        basis = [np.asarray(part) for part in state.basis or ()]
        groups = [np.asarray(rows) for rows in state.groups]
        cuts = [np.asarray(cut) for cut in state.cuts]
    except (TypeError, ValueError, OverflowError):
        return False
    return (
        best.shape == (n,)
        and best.dtype.kind == "i"
        and _has_sizes(np.unique(best, return_counts=True)[1], k, most)
        and all(_are_records(rows, n) and _has_sizes(np.array([rows.size]), k, most) for rows in groups)
        and all(_are_records(cut, n) and cut.size in (3, 5) for cut in cuts)
        and len(basis) in (0, 2)
        and all(
            part.dtype.kind == "i" and part.ndim == 1 and part.size > 0 and 0 <= part.min() <= part.max() <= 4
            for part in basis
        )
        and duals.shape in ([(0,)] if state.width is None else []) + [(n + len(cuts),)]
        and duals.dtype.kind in "if"
        and numbers.dtype.kind in "if"
        and bool(np.isfinite(duals).all() and np.isfinite(numbers).all())
        and isinstance(state.rounds, int)
        and isinstance(state.left, int | None)
        and isinstance(state.finished, bool)
        and (state.width is None or state.width >= 1)
    )


def _are_records(rows: NDArray[Any], n: int) -> bool:
    """Return whether these are distinct records out of n."""
    inside = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind == "i" and 0 <= rows.min() <= rows.max() < n
    return inside and np.unique(rows).size == rows.size


def _has_sizes(sizes: Ints, k: int, most: int) -> bool:
    """Return whether all sizes are within k to `most`."""
    return bool((sizes >= k).all() and (sizes <= most).all())


def relax(pool: Pool, state: Recombination, near: Indices | None) -> Recombination:
    """Solve the relaxation. If `near` is known, add missing variants to the pool, then the next cuts to the state."""
    best, n = np.asarray(state.best, dtype=np.int64), len(state.best)
    left = WORK * n if state.left is None else state.left
    master, best_columns = SetPartitioning(pool, n), pool.columns(best)
    if state.basis is not None:
        master.start(state.basis, state.cuts)
    while True:
        relaxed = master.duals()
        if relaxed is None:
            return state._replace(finished=True)
        bound, duals = relaxed
        duals[n:] = np.minimum(duals[n:], 0.0)
        left -= max(100, master.iterations)
        if near is None or left <= 0:
            break
        used = np.union1d(np.flatnonzero(master.shares > 1e-9), best_columns)
        nothing = -1e-9 * abs(bound) / n
        variants = pool.part(used[:0])
        variants.add(pool.loss.variants([pool.groups[c] for c in used], near, duals[:n], nothing, VARIANTS_PER_GROUP))
        cheap = np.flatnonzero(reduced_costs(variants, duals, master.cuts) < nothing)
        if not pool.add(variants.groups[c] for c in cheap):
            break
    look_on = near is not None and left > 0 and state.rounds < ROUNDS_OF_CUTS
    cuts = violated(incidence(pool.groups, n), master.shares) if look_on else []
    if cuts:
        every = [*master.cuts, *cuts]
        return state._replace(cuts=every, basis=master.basis, left=left, rounds=state.rounds + 1)
    loss = sum(pool.costs[c] for c in best_columns)
    if near is not None:
        used = np.union1d(np.flatnonzero(master.shares > 1e-9), best_columns)
        in_use = [pool.groups[c] for c in used]
        pool.add(pool.loss.variants(in_use, near, duals[:n], FITTING * (loss - bound), FINAL_VARIANTS))
    reduced = reduced_costs(pool, duals, master.cuts)
    width = FIRST * float(np.count_nonzero(reduced <= 1e-9 * (loss - bound)))
    return state._replace(cuts=master.cuts, bound=bound, duals=duals, width=max(1.0, width))


def _programme(pool: Pool, state: Recombination, width: float, limits: SolverLimits) -> Recombination:
    """Find the best partition into the most promising groups."""
    best, n = np.asarray(state.best, dtype=np.int64), len(state.best)
    costs, duals = np.array(pool.costs), np.asarray(state.duals)
    reduced = reduced_costs(pool, duals, state.cuts)
    best_columns = pool.columns(best)
    hopeful = np.flatnonzero(reduced <= (costs[best_columns].sum() - state.bound) * (1 + 1e-9))
    hopeful = hopeful[np.argsort(reduced[hopeful], kind="stable")]
    programme = SetPartitioning(pool.part(np.union1d(hopeful[: int(width)], best_columns)), n)
    programme.cut([cut for cut, dual in zip(state.cuts, duals[n:], strict=True) if dual < 0.0])
    best = programme.best(best, nodes=limits.nodes, looks=limits.looks)[0]
    spent = programme.iterations
    finished = width >= hopeful.size or spent > limits.iterations
    wider = limits.wider if spent <= limits.few else limits.careful
    return state._replace(best=best, width=width * wider, finished=finished)
