"""The best partition of a pool's groups, nearly: an amount of work, not of time.

relax: the duals give each group's reduced cost; with `look_around`, first
    groups like those in use that cost less than their records' duals, until there are none; then
    cuts that the relaxation violates, and again
a better partition has only groups whose reduced cost is below the distance of the known one from the relaxation
integer programmes over more and more of those, the most promising first: small ones end at once and find most
of the gain, and every gain leaves the next one fewer groups to look at
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.pricing import Found
from shoal.kernels.variants import variants
from shoal.partition.cuts import incidence, violated
from shoal.partition.set_partition import Master, Pool, reduced_costs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Indices = NDArray[np.int32]

FIRST = 1.1  # the first programme's columns against those without a reduced cost
A_GROUP, AT_LAST = 20, 10  # variants of a group that join the pool at once; of which too in the end
FITTING = 0.05  # of the gap: how much a variant may cost in the end
ROUNDS_OF_CUTS = 6
WORK = 12  # simplex iterations a record in all the relaxations; a round counts a hundred at least


class Limits(NamedTuple):
    """How much work the programmes may be: one with more simplex iterations is the last, and each ends after so many
    nodes, or when HiGHS has looked at its limits so often (after a round of cuts, a heuristic). The next one has so
    many times the columns, while they take few iterations, and later."""

    iterations: int
    looks: int
    nodes: int = 1
    few: int = 50
    wider: float = 1.15
    careful: float = 1.06


class Around(NamedTuple):
    """The records of a pool, padded, with their neighbours (-1 for none): where to look for more groups."""

    x: Floats
    w: Floats
    near: Indices
    k: int


def recombine(
    pool: Pool,
    known: NDArray[Any],
    limits: Limits,
    around: Around | None = None,
    go_on: Callable[[], bool] = lambda: True,
) -> Ints:
    """A partition of groups in the pool, as good as the known one or better; of groups like them too if told where."""
    best, n = np.asarray(known, dtype=np.int64), len(known)
    pool.add_labels(best)
    master = Master(pool, n)
    relaxed = master.duals()
    if relaxed is None:
        return best
    if around is not None:
        relaxed = look_around(pool, master, best, around, relaxed, go_on)
    bound, duals = relaxed
    costs = np.array(pool.costs)
    reduced = reduced_costs(pool, duals, master.cuts)
    order = np.argsort(reduced, kind="stable")
    own = pool.columns(best)
    loss = costs[own].sum()
    width = FIRST * np.count_nonzero(reduced <= 1e-9 * (loss - bound))
    while True:
        hopeful = order[reduced[order] <= (loss - bound) * (1 + 1e-9)]
        programme = Master(pool.part(np.union1d(hopeful[: int(width)], own)), n)
        programme.cut([cut for cut, dual in zip(master.cuts, duals[n:], strict=False) if dual < 0.0])
        best = programme.best(best, nodes=limits.nodes, looks=limits.looks)[0]
        own = pool.columns(best)
        loss = costs[own].sum()
        spent = programme.iterations
        if width >= hopeful.size or spent > limits.iterations or not go_on():
            return best
        width *= limits.wider if spent <= limits.few else limits.careful


def look_around(
    pool: Pool, master: Master, best: Ints, around: Around, relaxed: tuple[float, Floats], go_on: Callable[[], bool]
) -> tuple[float, Floats]:
    """Add what the relaxation lacks to the pool, and cuts to the relaxation; gives its value and duals then."""
    n, left, rounds = best.size, WORK * best.size, ROUNDS_OF_CUTS
    own = pool.columns(best)
    while True:
        bound, duals = relaxed
        duals[n:] = np.minimum(duals[n:], 0.0)
        nothing = -1e-9 * abs(bound) / n
        used = np.union1d(np.flatnonzero(master.shares > 1e-9), own)
        if left <= 0 or not go_on():
            break
        found = pool.part(used[:0])
        found.add(_variants(pool, used, around, duals[:n], nothing, A_GROUP))
        cheap = np.flatnonzero(reduced_costs(found, duals, master.cuts) < nothing)
        if not pool.add(found.groups[c] for c in cheap):
            cuts = violated(incidence(pool.groups, n), master.shares) if rounds > 0 else []
            if not cuts:
                break
            master.cut(cuts)
            rounds -= 1
        again = master.duals()
        if again is None:
            break
        relaxed = again
        left -= max(100, master.iterations)
    gap = sum(pool.costs[c] for c in own) - bound
    pool.add(_variants(pool, used, around, duals[:n], FITTING * gap, AT_LAST))
    return bound, duals


def _variants(pool: Pool, used: Ints, around: Around, duals: Floats, limit: float, most: int) -> list[Indices]:
    """Groups like those in use, with a reduced cost below the limit: so many of each at most."""
    width = 2 * around.k - 1
    members = [pool.groups[c] for c in used]
    groups = np.full((used.size, width), -1, dtype=np.int32)
    groups[np.arange(width) < np.array([rows.size for rows in members])[:, None]] = np.concatenate(members)
    found = Found(np.empty((used.size * most, width), dtype=np.int32), np.zeros(1, dtype=np.int64))
    variants(around.x, around.w, groups, around.near, np.ascontiguousarray(duals), around.k, limit, most, found)
    return [row[row >= 0] for row in found.rows[: found.filled[0]]]
