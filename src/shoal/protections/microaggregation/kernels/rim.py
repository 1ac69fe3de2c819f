"""Find the record farthest from a centroid that moves a little at a time.

A list holds the records farthest from an earlier centroid, the farthest first. The distance of a record to the present
centroid is at most the old one plus the distance that the centroid has moved. The search ends as soon as that bound
falls below the best distance so far. The bounds have a margin for rounding; the compared distances are exact. The list
is made again when it no longer suffices, or when its use has cost as much as a new one. If few records are left,
comparing all of them costs less than the list.
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

FEW = 1024  # with at most this many records, there is no list
SHARE = 64  # about one in SHARE is on the list
SAMPLE = 4096  # number of records, about, that decide how far the list must reach
MARGIN = 1e-9  # relative slack of the bound: far above the rounding of a distance
TINY = 1e-150  # absolute slack: squares of smaller distances underflow


class Rim(NamedTuple):
    """The list (rows and lengths), its centroid, its size, first entry and cost, and its last length."""

    rows: Ints
    lengths: Floats
    centre: Floats
    counters: Ints
    last: Floats


@inner
def empty_rim(n: int, d: int) -> Rim:
    """Return a list without records."""
    return Rim(np.empty(n, np.int64), np.empty(n), np.zeros(d), np.zeros(3, np.int64), np.full(1, np.inf))


@inner
def farthest_from_centroid(
    rim: Rim, blocks: Blocks, left: int, values: Floats, centroid: Floats, metric: int, buffer: Floats
) -> int:
    """Return the row of the record farthest from `centroid`; the lowest row among equals."""
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
    """Return the same row, by comparing every record."""
    best, best_row = -1.0, -1
    for b in range(blocks.counts.size):
        width = filled_width(blocks, b)
        block_distances(blocks.cells, b, width, centroid, metric, buffer)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(blocks.rows, b, blocks.counts[b], buffer, best, best_row)
    return best_row


@inner
def walk(rim: Rim, places: Ints, values: Floats, centroid: Floats, metric: int) -> tuple[int, bool]:
    """Return the farthest record on the list, and whether no other record can be farther."""
    size, first = rim.counters[0], rim.counters[1]
    while first < size and places[rim.rows[first]] < 0:
        first += 1
    rim.counters[1] = first
    moved = length(distance(rim.centre, centroid, metric), metric)
    best, best_row, reach = -1.0, -1, -1.0
    steps = 0
    for i in range(first, size):
        if (rim.lengths[i] + moved) * (1.0 + MARGIN) + TINY < reach:
            break
        steps += 1
        row = rim.rows[i]
        if places[row] < 0:
            continue
        far = distance(values[row], centroid, metric)
        if far > best or (far == best and row < best_row):
            best, best_row, reach = far, row, length(far, metric)
    rim.counters[2] += steps
    return best_row, (rim.last[0] + moved) * (1.0 + MARGIN) + TINY < reach


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
    """Return about the distance that one record in SHARE exceeds; another value only changes the length of the list."""
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
