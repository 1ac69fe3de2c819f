"""Records in blocks: column by column within a block, so that distances to a whole block vectorise.

A taken record's place goes to the last record of its block, and the place left empty holds NaN: its
distance compares false with everything, so that loops may run over full vectors without a tail.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.compiling import inner
from shoal.kernels.distance import Floats, Ints, block_distances
from shoal.kernels.nearest import offer

LANES = 16  # LLVM's vector loop takes this many doubles a turn (four vectors of four)


class Blocks(NamedTuple):
    """`cells[block, column, slot]`, the row in each slot, how many are left, and where each row is (-1: taken)."""

    cells: Floats
    rows: Ints
    counts: Ints
    places: Ints


class Nearest(NamedTuple):
    """Room for a search: the k nearest (a heap), distances to one block, and the farthest record."""

    far: Floats
    rows: Ints
    buffer: Floats


@inner
def fill_blocks(values: Floats, order: Ints, capacity: int) -> Blocks:
    """Put the records of `order` into blocks of `capacity` (a multiple of LANES), one after the other."""
    n, d = values.shape
    m = order.size
    number = (m + capacity - 1) // capacity
    cells = np.full((number, d, capacity), np.nan)
    rows = np.empty((number, capacity), np.int64)
    counts = np.empty(number, np.int64)
    places = np.full(n, -1, np.int64)
    for b in range(number):
        start = b * capacity
        counts[b] = min(capacity, m - start)
        for i in range(counts[b]):
            row = order[start + i]
            rows[b, i] = row
            places[row] = start + i
            for j in range(d):
                cells[b, j, i] = values[row, j]
    return Blocks(cells, rows, counts, places)


@inner
def take(blocks: Blocks, row: int) -> int:
    """Remove a record; gives its block."""
    capacity = blocks.rows.shape[1]
    block, slot = divmod(blocks.places[row], capacity)
    last = blocks.counts[block] - 1
    moved = blocks.rows[block, last]
    for j in range(blocks.cells.shape[1]):
        blocks.cells[block, j, slot] = blocks.cells[block, j, last]
    blocks.cells[block, 0, last] = np.nan
    blocks.rows[block, slot] = moved
    blocks.places[moved] = blocks.places[row]
    blocks.places[row] = -1
    blocks.counts[block] = last
    return int(block)


@inner
def left_in_order(blocks: Blocks) -> Ints:
    """The rows that are left, block by block."""
    order = np.empty(blocks.counts.sum(), np.int64)
    m = 0
    for b in range(blocks.counts.size):
        for i in range(blocks.counts[b]):
            order[m] = blocks.rows[b, i]
            m += 1
    return order


@inner
def scan_nearest(blocks: Blocks, block: int, point: Floats, metric: int, found: Nearest, size: int) -> int:
    """Offer a block's records to the k nearest; gives the heap's size."""
    width = (blocks.counts[block] + LANES - 1) // LANES * LANES
    block_distances(blocks.cells[block], width, point, metric, found.buffer)
    reach = found.far[0] if size == found.far.size else np.inf
    if hits_below(found.buffer, width, reach) > 0:
        size = offer_block(blocks, block, found, size)
    return size


@inner
def offer_block(blocks: Blocks, block: int, found: Nearest, size: int) -> int:
    """Offer the records of a block whose distances stand in the buffer."""
    k = found.far.size
    for i in range(blocks.counts[block]):
        if size < k or found.buffer[i] <= found.far[0]:
            size = offer(found.far, found.rows, size, found.buffer[i], blocks.rows[block, i])
    return size


@inner
def scan_farthest(
    blocks: Blocks, block: int, point: Floats, metric: int, buffer: Floats, best: float, best_row: int
) -> tuple[float, int]:
    """The farthest record so far, this block's included; the lowest row among equals."""
    width = (blocks.counts[block] + LANES - 1) // LANES * LANES
    block_distances(blocks.cells[block], width, point, metric, buffer)
    if hits_above(buffer, width, best) > 0:
        best, best_row = farthest_of_block(blocks, block, buffer, best, best_row)
    return best, best_row


@inner
def farthest_of_block(blocks: Blocks, block: int, buffer: Floats, best: float, best_row: int) -> tuple[float, int]:
    """The farthest record so far, given the block's distances in the buffer."""
    for i in range(blocks.counts[block]):
        if buffer[i] > best or (buffer[i] == best and blocks.rows[block, i] < best_row):
            best, best_row = buffer[i], blocks.rows[block, i]
    return best, best_row


@inner
def hits_below(buffer: Floats, width: int, reach: float) -> int:
    """How many distances are at most `reach` (a count vectorises, a running minimum does not)."""
    hits = 0
    for i in range(width):
        hits += buffer[i] <= reach
    return hits


@inner
def hits_above(buffer: Floats, width: int, reach: float) -> int:
    """How many distances are at least `reach`."""
    hits = 0
    for i in range(width):
        hits += buffer[i] >= reach
    return hits
