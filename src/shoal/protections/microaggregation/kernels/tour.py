"""A short round tour through all records: 2-opt and Or-opt over lists of near neighbours.

This is the local search for the travelling salesman problem (Croes 1958, Or 1976) in the form of Johnson and McGeoch.
It tries only new edges to near neighbours, and only around records whose edges have changed. It reverses the shorter
part of the tour.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import squared_in_order
from shoal.engine.kernels.heap import sort_nearest
from shoal.protections.microaggregation.kernels.columnwise import distances_to, keep_nearest

# A move must shorten its edges by this share, which is more than rounding can cause.
WORTH = 1e-9
# The longest segment that Or-opt moves.
LONGEST = 3


@kernel("int64[:, ::1](float64[:, ::1], int64, uint8[::1])")
def neighbours(values: Any, count: int, flag: Any) -> Any:
    """Return the rows of the `count` nearest other records of each, the nearest first, lowest rows first among equals.

    It ends early, with the rest unfilled, once the flag is set.
    """
    n = values.shape[0]
    columns = np.ascontiguousarray(values.T)
    rows = np.arange(n)
    distances = np.empty(n)
    far = np.empty(count)
    near = np.empty((n, count), dtype=np.int64)
    for i in range(n):
        if flag[0] != 0:
            break
        distances_to(columns, 0, n, values[i], distances)
        distances[i] = np.inf
        sort_nearest(far, near[i], keep_nearest(distances, rows, n, far, near[i]))
    return near


class Tour(NamedTuple):
    """A round tour, and the rows whose surroundings are still to be searched."""

    values: Any
    near: Any  # rows of near neighbours, the nearest first
    stops: Any  # rows in the order of the tour
    place: Any  # the position of each row
    queue: Any  # rows to search, in a ring
    queued: Any
    ends: Any  # first place and length of the queue


@inner
def _push(t: Tour, row: int) -> None:
    """Append a row to the queue unless it is in it."""
    if not t.queued[row]:
        t.queued[row] = True
        t.queue[(t.ends[0] + t.ends[1]) % t.queue.size] = row
        t.ends[1] += 1


@inner
def _pop(t: Tour) -> int:
    """Remove the first row of the queue and return it."""
    row: int = t.queue[t.ends[0]]
    t.queued[row] = False
    t.ends[0] = (t.ends[0] + 1) % t.queue.size
    t.ends[1] -= 1
    return row


@inner
def _far(t: Tour, a: int, b: int) -> float:
    """Return the distance of two rows."""
    return sqrt(squared_in_order(t.values, a, t.values, b))


@inner
def _step(t: Tour, row: int, way: int) -> Any:
    """Return the next stop (way 1) or the one before (way -1)."""
    p = t.place[row] + way
    if p == t.stops.size:
        p = 0
    elif p < 0:
        p = t.stops.size - 1
    return t.stops[p]


@inner
def _reverse(t: Tour, a: int, b: int) -> None:
    """Reverse the segment from a to b, or all the rest, which gives the same round tour."""
    n = t.stops.size
    i, j = t.place[a], t.place[b]
    count = j - i + 1 if j >= i else j - i + 1 + n
    if 2 * count > n:
        i, j, count = j + 1, i - 1, n - count
    for _ in range(count // 2):
        i = 0 if i == n else i
        j = n - 1 if j < 0 else j
        t.stops[i], t.stops[j] = t.stops[j], t.stops[i]
        t.place[t.stops[i]] = i
        t.place[t.stops[j]] = j
        i += 1
        j -= 1


@inner
def _two_opt(t: Tour, a: int, way: int) -> bool:
    """Link a to a near neighbour b instead of its next stop, and their next stops to each other, if that pays."""
    a_next = _step(t, a, way)
    old = _far(t, a, a_next)
    for b in t.near[a]:
        new = _far(t, a, b)
        if new >= old:
            return False
        b_next = _step(t, b, way)
        removed = old + _far(t, b, b_next)
        if removed - new - _far(t, a_next, b_next) > WORTH * removed:
            if way == 1:
                _reverse(t, a_next, b)
            else:
                _reverse(t, b, a_next)
            _push(t, a)
            _push(t, a_next)
            _push(t, b)
            _push(t, b_next)
            return True
    return False


@inner
def _move(t: Tour, first: int, last: int, c: int, d: int, turned: bool) -> None:
    """Move the segment first..last between c and its next stop d; turned: with last next to c."""
    before, after = _step(t, first, -1), _step(t, last, 1)
    # before [first..last] [after..c] d  becomes  before [c..after] [last..first] d ...
    _reverse(t, first, c)
    # ... and then  before [after..c] [last..first] d. The first reversal may have turned the direction of the rest.
    if _step(t, before, 1) == c:
        _reverse(t, c, after)
    else:
        _reverse(t, after, c)
    if not turned:
        if _step(t, c, 1) == last:
            _reverse(t, last, first)
        else:
            _reverse(t, first, last)
    for row in (before, after, first, last, c, d):
        _push(t, row)


@inner
def _or_opt(t: Tour, a: int, way: int) -> bool:
    """Move a, or a and one or two stops before it (along `way`), next to a near neighbour of a, if that pays."""
    outer = _step(t, a, way)
    old = _far(t, a, outer)
    end = a
    for length in range(1, LONGEST + 1):
        if length > 1:
            end = _step(t, end, -way)
        beyond = _step(t, end, -way)
        gap = old + _far(t, end, beyond) - _far(t, outer, beyond)
        for c in t.near[a]:
            new = _far(t, a, c)
            if new >= old:
                break
            for side in (1, -1):
                other = _step(t, c, side)
                if _within(t, c, end, way, length) or _within(t, other, end, way, length):
                    continue
                removed = old + _far(t, end, beyond) + _far(t, c, other)
                if gap + _far(t, c, other) - new - _far(t, end, other) > WORTH * removed:
                    first, last = (end, a) if way == 1 else (a, end)
                    left, right = (c, other) if side == 1 else (other, c)
                    # `last` comes next to `left` where a is last and c is left, or neither.
                    _move(t, first, last, left, right, (last == a) == (left == c) if first != last else True)
                    return True
    return False


@inner
def _within(t: Tour, row: int, end: int, way: int, length: int) -> bool:
    """Return whether the row is one of the `length` stops from `end` along `way`."""
    stop = end
    for _ in range(length):
        if stop == row:
            return True
        stop = _step(t, stop, way)
    return False


@kernel("int64[::1](float64[:, ::1], int64[:, ::1], int64[::1], uint8[::1])")
def shorten(values: Any, near: Any, order: Any, flag: Any) -> Any:
    """Return the order of a round tour, shortened until no 2-opt or Or-opt move to a near neighbour pays.

    It ends early, with the tour so far, once the flag is set.
    """
    n = order.size
    t = Tour(
        values, near, order.copy(), np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_), np.zeros(2, dtype=np.int64),
    )  # fmt: skip
    for p in range(n):
        t.place[order[p]] = p
    moved = True
    while moved:  # a last round over all records finds nothing
        moved = False
        for p in range(n):
            _push(t, t.stops[p])
        while t.ends[1] > 0:
            if flag[0] != 0:
                return t.stops
            a = _pop(t)
            for way in (1, -1):
                while _two_opt(t, a, way) or _or_opt(t, a, way):
                    moved = True
    return t.stops
