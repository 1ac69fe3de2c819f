"""Local search: every record tries every near group and makes the best move, until no move lowers the loss.

sweep: for each record i: over its near groups b, relocate i to b | swap i with a member of b
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import Indices, Ints
from shoal.engine.kernels.compiling import bare, kernel
from shoal.engine.kernels.prefetch import LARGE, prefetch_element, prefetch_row
from shoal.engine.partition.kernels.groups import Groups, prefetch_group, transfer
from shoal.engine.partition.kernels.losses import entering, leaving, rule_room, swapping
from shoal.engine.partition.kernels.moves import exchange

MOST_STEPS = 50  # of one record in one sweep: gains within rounding could repeat forever


@bare
def best_step(loss: Any, g: Groups, near: Indices, i: int, smallest_gain: float, counts: Ints) -> bool:
    """Make the best relocation or swap of i if it gains more than `smallest_gain`; return whether it does.

    With rules, a move is tried before it counts: if it is allowed, it is taken back until the best one is known.
    """
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    label, owner, worker, k = g.label, g.owner, g.worker, g.k
    a = label[i]
    if owner[a] != worker:
        return False
    best, to, partner, last = -smallest_gain, -1, -1, -1
    for t in range(near.shape[1]):
        b = label[near[i, t]]
        if b == a or b == last or owner[b] != worker:  # noqa: SIM109
            continue
        last = b
        if size[a] > k and size[b] < g.most:
            delta = leaving(loss, x, w, summary, mass, member, size, a, i)
            delta += entering(loss, x, w, summary, mass, member, size, b, i)
            if delta < best and (counts.size == 0 or is_possible(loss, g, i, b, -1, counts)):
                best, to, partner = delta, b, -1
        for s in range(size[b]):
            m = member[b, s]
            delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
            if delta < best and (counts.size == 0 or is_possible(loss, g, i, b, m, counts)):
                best, to, partner = delta, b, m
    if to < 0:
        return False
    transfer(loss, g, i, to)
    if partner >= 0:
        transfer(loss, g, partner, a)
    return True


@bare
def is_possible(loss: Any, g: Groups, i: int, b: int, m: int, counts: Ints) -> bool:
    """Return whether the rules of the loss allow a relocation or swap; the records stay where they are."""
    a = g.label[i]
    if not exchange(loss, g, i, b, m, counts):
        return False
    if m >= 0:
        transfer(loss, g, m, b)
    transfer(loss, g, i, a)
    return True


@bare
def prefetch_ahead(g: Groups, near: Indices, i: int) -> None:
    """Prefetch what the next three records read: labels, then groups, then the members of the groups."""
    for t in range(near.shape[1]):
        prefetch_element(g.label, near[i + 3, t])
        prefetch_group(g, g.label[near[i + 2, t]])
        b = g.label[near[i + 1, t]]
        for s in range(g.size[b]):
            prefetch_row(g.x, g.member[b, s])


@kernel(lambda loss, groups: ("int64", loss, groups, "int32[:, ::1]", "float64", "int64", "int64"))
def sweep(loss: Any, g: Groups, near: Indices, smallest_gain: float, first: int, last: int) -> int:
    """Sweep over the records first .. last - 1; return the number of improvements."""
    gained = 0
    counts = np.zeros(rule_room(loss), dtype=np.int64)
    large = g.x.size > LARGE
    for i in range(first, last):
        if large and i + 3 < last:
            prefetch_ahead(g, near, i)
        for _ in range(MOST_STEPS):
            if not best_step(loss, g, near, i, smallest_gain, counts):
                break
            gained += 1
    return gained
