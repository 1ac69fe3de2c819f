"""Which record is farthest from a centroid that moves a little at a time.

The records farthest from an earlier centroid are kept in a list, farthest first. A record's distance to the
centroid of now is at most the old one plus the way the centroid has gone, so the search ends as soon as that
bound falls below the best distance found; the bounds carry a margin for rounding, the distances compared are
exact. The list is drawn up anew when it no longer suffices or when it has cost as much as a new one. Where few records
are left, looking at all of them costs less than the list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.distance import block_distances, distance, length
from shoal.engine.kernels.heap import offer, sort_nearest
from shoal.protections.microaggregation.kernels.packed_records import (
    LANES,
    Blocks,
    farthest_of_block,
    filled_width,
    hits_above,
)

FEW = 1024  # with this many records or fewer, there is no list
SHARE = 64  # about one in SHARE is on the list
SAMPLE = 4096  # about as many records tell how far the list must reach
MARGIN = 1e-9  # relative slack of the bound: far above the rounding of a distance
TINY = 1e-150  # absolute slack: squares of smaller distances underflow


class Rim(NamedTuple):
    """The list (rows and lengths), the centroid it was made for, and counters: size, first, cost, last length."""

    rows: Ints
    lengths: Floats
    centre: Floats
    counters: Ints
    last: Floats


@inner
def empty_rim(n: int, d: int) -> Rim:
    return Rim(np.empty(n, np.int64), np.empty(n), np.zeros(d), np.zeros(3, np.int64), np.full(1, np.inf))


@inner
def farthest_from_centroid(
    rim: Rim, blocks: Blocks, left: int, values: Floats, centroid: Floats, metric: int, buffer: Floats
) -> int:
    """The row of the record farthest from `centroid`; the lowest row among equals."""
    if left <= FEW:
        return farthest_of_all(blocks, centroid, metric, buffer)
    if rim.counters[2] <= left // 2:
        row, certain = walk(rim, blocks.places, values, centroid, metric)
        if certain:
            return row
    draw_rim(rim, blocks, centroid, metric, buffer)
    return walk(rim, blocks.places, values, centroid, metric)[0]


@inner
def farthest_of_all(blocks: Blocks, centroid: Floats, metric: int, buffer: Floats) -> int:
    """As above, by a look at every record."""
    best, best_row = -1.0, -1
    for b in range(blocks.counts.size):
        width = filled_width(blocks, b)
        block_distances(blocks.cells, b, width, centroid, metric, buffer)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(blocks.rows, b, blocks.counts[b], buffer, best, best_row)
    return best_row


@inner
def walk(rim: Rim, places: Ints, values: Floats, centroid: Floats, metric: int) -> tuple[int, bool]:
    """The farthest record on the list, and whether none that is not on it can be farther."""
    size, first = rim.counters[0], rim.counters[1]
    while first < size and places[rim.rows[first]] < 0:
        first += 1
    rim.counters[1] = first
    way = length(distance(rim.centre, centroid, metric), metric)
    best, best_row, reach = -1.0, -1, -1.0
    steps = 0
    for i in range(first, size):
        if (rim.lengths[i] + way) * (1.0 + MARGIN) + TINY < reach:
            break
        steps += 1
        row = rim.rows[i]
        if places[row] < 0:
            continue
        far = distance(values[row], centroid, metric)
        if far > best or (far == best and row < best_row):
            best, best_row, reach = far, row, length(far, metric)
    rim.counters[2] += steps
    return best_row, (rim.last[0] + way) * (1.0 + MARGIN) + TINY < reach


@inner
def draw_rim(rim: Rim, blocks: Blocks, centroid: Floats, metric: int, buffer: Floats) -> None:
    """Put the records farthest from `centroid` on the list."""
    cutoff = sampled_cutoff(blocks, centroid, metric, buffer)
    size = 0
    for b in range(blocks.counts.size):
        width = filled_width(blocks, b)
        block_distances(blocks.cells, b, width, centroid, metric, buffer)
        if hits_above(buffer, width, cutoff) > 0:
            for i in range(blocks.counts[b]):
                if buffer[i] >= cutoff:
                    rim.rows[size], rim.lengths[size] = blocks.rows[b, i], -length(buffer[i], metric)
                    size += 1
    rows, lengths = rim.rows[:size], rim.lengths[:size]
    for i in range(size):
        offer(lengths, rows, i, lengths[i], rows[i])
    sort_nearest(lengths, rows, size)
    for i in range(size):
        lengths[i] = -lengths[i]
    copy_first(centroid.size, centroid, rim.centre)
    rim.counters[0], rim.counters[1], rim.counters[2] = size, 0, 0
    rim.last[0] = -np.inf if cutoff < 0.0 else length(cutoff, metric)


@inner
def sampled_cutoff(blocks: Blocks, centroid: Floats, metric: int, buffer: Floats) -> float:
    """About the distance that one record in SHARE exceeds; any value would do, the list is only longer or shorter."""
    number = blocks.counts.size
    stride = max(1, number // (SAMPLE // LANES))
    top = np.empty(max(1, SAMPLE // SHARE))
    rows = np.empty(top.size, np.int64)
    size = 0
    for b in range(0, number, stride):
        block_distances(blocks.cells, b, LANES, centroid, metric, buffer)
        for i in range(min(LANES, blocks.counts[b])):
            size = offer(top, rows, size, -buffer[i], b)
    return -float(top[0]) if size > 0 else -1.0
