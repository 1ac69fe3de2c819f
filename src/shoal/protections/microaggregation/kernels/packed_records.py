"""Records in blocks, column by column within a block, so that the distances to a whole block vectorize.

When a record is removed, the last record of its block takes its slot, and the empty slot holds NaN. Every comparison
with its distance is false, so that loops can run over full vectors without a remainder.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import fused, inner
from shoal.engine.kernels.heap import offer

LANES = 16  # doubles that LLVM's vector loop takes per iteration (four vectors of four)


class Blocks(NamedTuple):
    """`cells[block, column, slot]`, the row in each slot, the number left, and the place of each row (-1: removed)."""

    cells: Floats
    rows: Ints
    counts: Ints
    places: Ints


class Nearest(NamedTuple):
    """Room for a search: the k nearest (a heap) and the distances to one block."""

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
    """Remove a record; return its block."""
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
    """Return the rows that are left, block by block."""
    order = np.empty(blocks.counts.sum(), np.int64)
    m = 0
    for b in range(blocks.counts.size):
        for i in range(blocks.counts[b]):
            order[m] = blocks.rows[b, i]
            m += 1
    return order


@fused
def filled_width(blocks: Blocks, block: int) -> int:
    """Return the number of slots to compute: those in use, rounded up to a whole vector."""
    width: int = (blocks.counts[block] + LANES - 1) // LANES * LANES
    return width


@inner
def offer_block(rows: Ints, block: int, count: int, nearest: Nearest, size: int) -> int:
    """Offer the records of a block, with distances in the buffer, to the k nearest; return the size of the heap."""
    k = nearest.far.size
    for i in range(count):
        if size < k or nearest.buffer[i] <= nearest.far[0]:
            size = offer(nearest.far, nearest.rows, size, nearest.buffer[i], rows[block, i])
    return size


@inner
def farthest_of_block(
    rows: Ints, block: int, count: int, buffer: Floats, best: float, best_row: int
) -> tuple[float, int]:
    """Return the farthest record so far, with a block's distances in the buffer; the lowest row among equals."""
    for i in range(count):
        if buffer[i] > best or (buffer[i] == best and rows[block, i] < best_row):
            best, best_row = buffer[i], rows[block, i]
    return best, best_row


@fused
def hits_below(buffer: Floats, width: int, reach: float) -> int:
    """Return how many distances are at most `reach` (a count vectorizes, a running minimum does not)."""
    hits = 0
    for i in range(width):
        hits += buffer[i] <= reach
    return hits


@fused
def hits_above(buffer: Floats, width: int, reach: float) -> int:
    """Return how many distances are at least `reach`."""
    hits = 0
    for i in range(width):
        hits += buffer[i] >= reach
    return hits
