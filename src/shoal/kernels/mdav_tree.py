"""MDAV's pruned search: a wide tree of blocks with boxes, for few columns or many records.

Records are cut at the median of the widest column, again and again, down to blocks; a fixed number of
neighbouring blocks forms a family. Blocks and families have boxes, which shrink as records are taken.
Bounds on the distance to a box are summed in the same order as distances; rounding is monotone, so a bound
holds for the computed distances bit for bit, and a box is passed over only if it certainly holds no record
that is better, or equal with a lower row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.blocks import (
    Blocks,
    Nearest,
    farthest_of_block,
    fill_blocks,
    filled_width,
    hits_above,
    hits_below,
    offer_block,
    take,
)
from shoal.kernels.compiling import fused, inner
from shoal.kernels.distance import EUCLIDEAN, L1, Bools, Floats, Ints, block_distances

FAMILY = 32  # blocks in a family
ROUNDING = 1e-15  # a few units in the last place of a double, for each step of a sum
SAMPLE = 256  # records that tell a node's widest column
TINY = 1e-300  # where squares underflow


class Boxes(NamedTuple):
    """Per column and box the least and greatest value, the greatest distance to the centre, whether records
    have been taken since, and room for bounds.
    """

    low: Floats
    high: Floats
    norm: Floats
    loose: Bools
    bound: Floats


class Tree(NamedTuple):
    """Blocks in the tree's order, the boxes of the blocks and of their families, the centre at the time of growth."""

    blocks: Blocks
    leaves: Boxes
    families: Boxes
    centre: Floats
    radius: float


@inner
def grow(values: Floats, order: Ints, capacity: int, centroid: Floats, buffer: Floats) -> Tree:
    """A tree over the records of `order`, which is put into the tree's order."""
    cut(values, order, capacity)
    blocks = fill_blocks(values, order, capacity)
    d = values.shape[1]
    number = blocks.counts.size
    leaves = empty_boxes(d, number)
    families = empty_boxes(d, (number + FAMILY - 1) // FAMILY)
    centre = centroid.copy()
    for b in range(number):
        fit_leaf(blocks, leaves, b, centre, buffer)
    radius = 0.0
    for f in range(families.bound.size):
        fit_family(leaves, families, f)
        radius = max(radius, families.norm[f])
    return Tree(blocks, leaves, families, centre, math.sqrt(radius))


@inner
def empty_boxes(d: int, number: int) -> Boxes:
    loose = np.zeros(number, np.bool_)
    return Boxes(np.empty((d, number)), np.empty((d, number)), np.empty(number), loose, np.empty(number))


@inner
def cut(values: Floats, order: Ints, capacity: int) -> None:
    """Sort `order` so that each run of `capacity` rows is a box of the tree.

    A node of many leaves is cut between families, so that a family is a node of its own.
    """
    m = order.size
    keys = np.empty(m)
    starts = np.empty(128, np.int64)
    ends = np.empty(128, np.int64)
    starts[0], ends[0] = 0, (m + capacity - 1) // capacity
    depth = 1
    while depth > 0:
        depth -= 1
        first, last = starts[depth], ends[depth]
        leaves = last - first
        if leaves < 2:
            continue
        if leaves > FAMILY:
            middle = first + (leaves + FAMILY - 1) // FAMILY // 2 * FAMILY
        else:
            middle = first + leaves // 2
        begin, end = first * capacity, min(last * capacity, m)
        widest = widest_column(values, order, begin, end)
        for i in range(begin, end):
            keys[i] = values[order[i], widest]
        split(keys, order, begin, end - 1, middle * capacity)
        starts[depth], ends[depth] = first, middle
        starts[depth + 1], ends[depth + 1] = middle, last
        depth += 2


@inner
def widest_column(values: Floats, order: Ints, begin: int, end: int) -> int:
    """The column with the widest range, by a sample of the node's records."""
    step = max(1, (end - begin) // SAMPLE)
    widest, width = 0, -1.0
    for j in range(values.shape[1]):
        low = high = values[order[begin], j]
        for i in range(begin + step, end, step):
            x = values[order[i], j]
            low = x if x < low else low
            high = x if x > high else high
        if high - low > width:
            widest, width = j, high - low
    return widest


@inner
def split(keys: Floats, order: Ints, begin: int, end: int, middle: int) -> None:
    """Hoare's selection: what stands before `middle` is at most, what stands after at least its key."""
    while begin < end:
        a, b, c = keys[begin], keys[(begin + end) // 2], keys[end]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = begin, end
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            end = j
        elif middle >= i:
            begin = i
        else:
            return


@inner
def fit_leaf(blocks: Blocks, leaves: Boxes, block: int, centre: Floats, buffer: Floats) -> None:
    """Draw a block's box tightly around what is left in it; an empty block's box is inside out."""
    cells, count = blocks.cells, blocks.counts[block]
    for j in range(centre.size):
        low, high = np.inf, -np.inf
        for i in range(count):
            x = cells[block, j, i]
            low = x if x < low else low
            high = x if x > high else high
        leaves.low[j, block], leaves.high[j, block] = low, high
    block_distances(cells, block, filled_width(blocks, block), centre, EUCLIDEAN, buffer)
    norm = -np.inf
    for i in range(count):
        norm = buffer[i] if buffer[i] > norm else norm
    leaves.norm[block] = norm
    leaves.loose[block] = False


@inner
def fit_family(leaves: Boxes, families: Boxes, family: int) -> None:
    """Draw a family's box tightly around its blocks' boxes."""
    first = family * FAMILY
    last = min(first + FAMILY, leaves.bound.size)
    for j in range(leaves.low.shape[0]):
        low, high = np.inf, -np.inf
        for b in range(first, last):
            low = leaves.low[j, b] if leaves.low[j, b] < low else low
            high = leaves.high[j, b] if leaves.high[j, b] > high else high
        families.low[j, family], families.high[j, family] = low, high
    families.norm[family] = leaves.norm[first:last].max()
    families.loose[family] = False


@inner
def prune(tree: Tree, rows: Ints) -> None:
    """Remove the records of a group."""
    for row in rows:
        block = take(tree.blocks, row)
        tree.leaves.loose[block] = True


@fused
def near_bounds(boxes: Boxes, first: int, last: int, point: Floats, metric: int) -> None:
    """The least distance that a record in each of the boxes can have."""
    low, high, bound = boxes.low, boxes.high, boxes.bound
    for b in range(first, last):
        bound[b] = 0.0
    for j in range(point.size):
        p = point[j]
        for b in range(first, last):
            gap = max(max(low[j, b] - p, p - high[j, b]), 0.0)
            bound[b] += gap if metric == L1 else gap * gap


@fused
def far_bounds(boxes: Boxes, first: int, last: int, point: Floats, metric: int, centre: Floats, radius: float) -> None:
    """The greatest distance that a record in each of the boxes can have.

    Euclidean, with y = x - centre and q = point - centre: |x - point|^2 = |y|^2 + |q|^2 - 2 q.y, where |y| is at most
    the box's greatest and q.y at least that of a corner. That is tighter than the box's farthest corner, which
    sticks out of the ball that MDAV leaves.
    """
    low, high, norm, bound = boxes.low, boxes.high, boxes.norm, boxes.bound
    if metric == L1:
        for b in range(first, last):
            bound[b] = 0.0
        for j in range(point.size):
            p = point[j]
            for b in range(first, last):
                bound[b] += max(max(p - low[j, b], high[j, b] - p), 0.0)
        return
    square = 0.0
    for j in range(point.size):
        square += (point[j] - centre[j]) * (point[j] - centre[j])
    span = math.sqrt(square) + radius
    square += ROUNDING * (point.size + 8) ** 2 * span * span + TINY
    for b in range(first, last):
        bound[b] = norm[b] + square
    for j in range(point.size):
        c = centre[j]
        q = 2.0 * (point[j] - c)
        corner = low if q > 0.0 else high
        for b in range(first, last):
            bound[b] -= q * (corner[j, b] - c)


@inner
def nearest(tree: Tree, point: Floats, row: int, metric: int, found: Nearest) -> None:
    """Fill `found` with the k records nearest to `point`, which is record `row`.

    Its own block and family come first: they leave little for the others.
    """
    blocks, leaves, families = tree.blocks, tree.leaves, tree.families
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    buffer, far = found.buffer, found.far
    own = blocks.places[row] // rows.shape[1]
    own_family = own // FAMILY
    near_bounds(families, 0, families.bound.size, point, metric)
    size, reach = 0, np.inf
    for turn in range(families.bound.size):
        family = (own_family + turn) % families.bound.size
        if families.bound[family] > reach:
            continue
        first = family * FAMILY
        last = min(first + FAMILY, counts.size)
        near_bounds(leaves, first, last, point, metric)
        start = own if turn == 0 else first
        for step in range(last - first):
            b = start + step if start + step < last else start + step - (last - first)
            if leaves.bound[b] > reach or counts[b] == 0:
                continue
            width = filled_width(blocks, b)
            block_distances(cells, b, width, point, metric, buffer)
            if hits_below(buffer, width, reach) > 0:
                size = offer_block(rows, b, counts[b], found, size)
                reach = far[0] if size == far.size else np.inf


@inner
def farthest(tree: Tree, point: Floats, metric: int, buffer: Floats) -> tuple[float, int]:
    """The distance and row of the record farthest from `point`; the most promising family and block come first.

    A block that was looked at in vain gets a tighter box if it has lost records: boxes shrink where it matters.
    """
    blocks, leaves, families = tree.blocks, tree.leaves, tree.families
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    far_bounds(families, 0, families.bound.size, point, metric, tree.centre, tree.radius)
    best, best_row = -1.0, -1
    start_family = np.argmax(families.bound)
    for turn in range(families.bound.size):
        family = (start_family + turn) % families.bound.size
        if not families.bound[family] >= best:
            continue
        first = family * FAMILY
        last = min(first + FAMILY, counts.size)
        far_bounds(leaves, first, last, point, metric, tree.centre, tree.radius)
        start = first + np.argmax(leaves.bound[first:last])
        for step in range(last - first):
            b = start + step if start + step < last else start + step - (last - first)
            if not leaves.bound[b] >= best:
                continue
            width = filled_width(blocks, b)
            block_distances(cells, b, width, point, metric, buffer)
            if hits_above(buffer, width, best) > 0:
                best, best_row = farthest_of_block(rows, b, counts[b], buffer, best, best_row)
            elif leaves.loose[b]:
                fit_leaf(blocks, leaves, b, tree.centre, buffer)
                families.loose[family] = True
        if families.loose[family]:
            fit_family(leaves, families, family)
    return best, best_row
