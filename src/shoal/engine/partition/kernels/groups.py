"""The state of a partition during a search: the members and the summary of each group.

`member[g, :size[g]]` are the records of group g, `place[i]` is the column of record i there, and `vacant` is a
stack of unused group numbers (its height in the last cell). A record moves in O(d).

Several workers may change one partition at once. Each has its own stack and changes only the groups g with
`owner[g] == worker`. A record stays among its owner's groups, so no worker reads what another one changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import bare, inlined, inner, kernel
from shoal.engine.kernels.prefetch import filled, prefetch_element, prefetch_row, zeros_of
from shoal.engine.partition.kernels.losses import note_entering, note_leaving, summarize


class Groups(NamedTuple):
    """The arrays of a partition during a search; groups have k to `most` records between moves."""

    x: Floats
    w: Floats
    summary: NDArray[Any]
    mass: Floats
    label: Indices
    place: Indices
    size: Indices
    member: Indices
    vacant: Indices
    owner: NDArray[np.int8]
    worker: int
    k: int
    most: int


def empty_groups(x: NDArray[Any], w: Floats, k: int, most: int, width: int, summary_type: Any = np.float64) -> Groups:
    """Return room for every partition of the rows of x into groups of k to `most`, with `width` numbers per group."""
    n = x.shape[0]
    count = max(1, n // k) + 1  # one more than can exist: a move may create a group before it empties another
    summary, mass, label, place, size, member, vacant, owner = zeros_of(
        ((count, width), summary_type),
        (count, np.float64),
        (n, np.int32),
        (n, np.int32),
        (count, np.int32),
        ((count, most + 1), np.int32),  # one extra place: a swap is two transfers
        (count + 1, np.int32),
        (count, np.int8),
    )
    return Groups(x, w, summary, mass, label, place, size, member, vacant, owner, worker=0, k=k, most=most)


def padded(values: Floats) -> Floats:
    """Return the rows with zero columns added, up to a multiple of four, as the four-lane loops expect."""
    n, d = values.shape
    x = filled((n, -(-d // 4) * 4), 0.0)
    x[:, :d] = values
    return x


@bare
def transfer(loss: Any, g: Groups, i: int, b: int) -> None:
    """Move record i to group b. An empty b must be the next vacant number; an emptied group becomes vacant."""
    x, w, summary, mass, member, size = g.x, g.w, g.summary, g.mass, g.member, g.size
    label, place, vacant = g.label, g.place, g.vacant
    a = label[i]
    note_leaving(loss, x, w, summary, mass, member, size, a, i)
    last = size[a] - 1
    mover = member[a, last]
    member[a, place[i]] = mover
    place[mover] = place[i]
    size[a] = last
    note_entering(loss, x, w, summary, mass, member, size, b, i)
    top = vacant.size - 1
    if size[b] == 0:
        vacant[top] -= 1
    if last == 0:
        vacant[vacant[top]] = a
        vacant[top] += 1
    member[b, size[b]] = i
    place[i] = size[b]
    size[b] += 1
    label[i] = b


@inlined
def prefetch_group(g: Groups, a: Any) -> None:
    """Bring a group into the cache before it is read."""
    prefetch_row(g.summary, a)
    prefetch_row(g.member, a)
    prefetch_element(g.size, a)
    prefetch_element(g.mass, a)
    prefetch_element(g.owner, a)


@bare
def next_vacant(g: Groups) -> int:
    """Return the number that a new group must take."""
    return int(g.vacant[g.vacant[g.vacant.size - 1] - 1])


@inner
def summarize_all(loss: Any, g: Groups) -> float:
    """Compute every group's summary from its members, so that rounding errors do not add up; return the loss."""
    cost = 0.0
    for a in range(g.size.size):
        if g.size[a] > 0:
            cost += summarize(loss, g.x, g.w, g.summary, g.mass, g.member, g.size, a)
    return cost


@kernel(lambda groups: ("void", groups, "int32[:, ::1]", "int64", "int64", "int64"))
def claim(g: Groups, near: Indices, reach: int, first: int, last: int) -> None:
    """Take the groups of the records first .. last - 1 and of the `reach` nearest of each, whoever owned them."""
    for i in range(first, last):
        for t in range(-1, reach):
            g.owner[g.label[i if t < 0 else near[i, t]]] = g.worker


@kernel(lambda loss, groups: ("float64", loss, groups))
def build_state(loss: Any, g: Groups) -> float:
    """Build members, places, summaries and vacant numbers from the labels; return the loss."""
    g.size[:] = 0
    for i in range(g.label.size):
        a = g.label[i]
        g.member[a, g.size[a]] = i
        g.place[i] = g.size[a]
        g.size[a] += 1
    top = g.vacant.size - 1
    g.vacant[top] = 0
    for a in range(g.size.size - 1, -1, -1):
        if g.size[a] == 0:
            g.vacant[g.vacant[top]] = a
            g.vacant[top] += 1
    return summarize_all(loss, g)


@kernel(lambda loss, groups: ("float64", loss, groups))
def refresh_state(loss: Any, g: Groups) -> float:
    """Compute every summary again; return the loss."""
    return summarize_all(loss, g)
