"""Local search: every record tries every near group, and the best that lowers the loss is done, until nothing does.

sweep: for each record i: over its near groups b, relocate i to b | swap i with a member of b
"""

from __future__ import annotations

from typing import Any

from shoal.arrays import Indices
from shoal.engine.kernels.compiling import bare, kernel
from shoal.engine.kernels.prefetch import LARGE, ask_element, ask_row
from shoal.engine.partition.kernels.groups import Groups, ask_group, transfer
from shoal.engine.partition.kernels.losses import entering, leaving, swapping

MOST_STEPS = 50  # of one record in one pass: gains within rounding could go in a circle


@bare
def best_step(loss: Any, g: Groups, near: Indices, i: int, least: float) -> bool:
    """Do the best relocation or swap of i if it gains more than `least`."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    label, owner, mine, k = g.label, g.owner, g.mine, g.k
    a = label[i]
    if owner[a] != mine:
        return False
    best, to, partner, last = -least, -1, -1, -1
    for t in range(near.shape[1]):
        b = label[near[i, t]]
        if b == a or b == last or owner[b] != mine:  # noqa: SIM109
            continue
        last = b
        if size[a] > k and size[b] < g.most:
            delta = leaving(loss, x, w, summary, mass, member, size, a, i)
            delta += entering(loss, x, w, summary, mass, member, size, b, i)
            if delta < best:
                best, to, partner = delta, b, -1
        for s in range(size[b]):
            m = member[b, s]
            delta = swapping(loss, x, w, summary, mass, member, size, a, i, b, m)
            if delta < best:
                best, to, partner = delta, b, m
    if to < 0:
        return False
    transfer(loss, g, i, to)
    if partner >= 0:
        transfer(loss, g, partner, a)
    return True


@bare
def ask_ahead(g: Groups, near: Indices, i: int) -> None:
    """Ask for what the next three records look at: labels, then groups, then the groups' members."""
    for t in range(near.shape[1]):
        ask_element(g.label, near[i + 3, t])
        ask_group(g, g.label[near[i + 2, t]])
        b = g.label[near[i + 1, t]]
        for s in range(g.size[b]):
            ask_row(g.x, g.member[b, s])


@kernel(lambda loss, groups: ("int64", loss, groups, "int32[:, ::1]", "float64", "int64", "int64"))
def sweep(loss: Any, g: Groups, near: Indices, least: float, first: int, last: int) -> int:
    """One pass over the records first .. last - 1; gives the number of improvements."""
    gained = 0
    large = g.x.size > LARGE
    for i in range(first, last):
        if large and i + 3 < last:
            ask_ahead(g, near, i)
        for _ in range(MOST_STEPS):
            if not best_step(loss, g, near, i, least):
                break
            gained += 1
    return gained
