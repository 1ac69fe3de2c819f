"""MDAV's pruned search: a wide tree of blocks with boxes, for few columns or many records.

Records are cut at the median of a wide column, again and again, down to blocks. Up to FAN neighbouring boxes form
the next larger box, up to a single root. Bounds on the distance to a box are summed in the same order as distances, and
rounding is monotone. Therefore a lower bound holds for the computed distances bit for bit; an upper bound has a margin.
A box is skipped only if it certainly contains no record that is better, or equal with a lower row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.kernels.compiling import fused, inner
from shoal.engine.kernels.distance import EUCLIDEAN, L1, block_distances
from shoal.engine.kernels.quickselect import select_middle
from shoal.protections.microaggregation.kernels.packed_records import (
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

FAN = 16  # boxes in the next larger box
SAMPLE = 256  # records that are used to find a node's widest column
ROUNDING = 1e-15  # a few units in the last place of a double, per step of a sum
TINY = 1e-300  # where squares underflow


class Boxes(NamedTuple):
    """All boxes, the root first, those of the blocks last.

    `sides[box]`: the smallest value of each column, then the largest of each. Per box: the largest distance to the
    centre, whether records were removed since it was fitted, its first and last child (none for a block), its parent,
    and room for a bound.
    """

    sides: Floats
    norm: Floats
    loose: Bools
    first: Ints
    last: Ints
    parent: Ints
    bound: Floats


class Tree(NamedTuple):
    """Blocks in the order of the tree, the boxes, the index of the first block's box, the centroid and extent when the
    tree was built, and room for a search.
    """

    blocks: Blocks
    boxes: Boxes
    leaf: int
    centre: Floats
    radius: float
    stack: Ints
    slope: Floats
    corner: Ints


@inner
def grow(values: Floats, order: Ints, capacity: int, centroid: Floats, buffer: Floats) -> Tree:
    """Return a tree over the records of `order`, which is put into the order of the tree."""
    cut(values, order, capacity)
    blocks = fill_blocks(values, order, capacity)
    boxes, leaf = stack_boxes(values.shape[1], blocks.counts.size)
    centre = centroid.copy()
    for b in range(blocks.counts.size):
        fit_leaf(blocks, boxes, leaf, b, centre, buffer)
    for box in range(leaf - 1, -1, -1):
        fit_box(boxes, box)
    stack = np.empty(32 * FAN, np.int64)
    slope, corner = np.empty(centre.size), np.empty(centre.size, np.int64)
    return Tree(blocks, boxes, leaf, centre, math.sqrt(boxes.norm[0]), stack, slope, corner)


@inner
def stack_boxes(d: int, blocks: int) -> tuple[Boxes, int]:
    """Return boxes for so many blocks, with their parents and children, and the index of the first block's box."""
    total, level = blocks, blocks
    while level > 1:
        level = (level + FAN - 1) // FAN
        total += level
    loose = np.zeros(total, np.bool_)
    first, last, parent = np.zeros(total, np.int64), np.zeros(total, np.int64), np.full(total, -1, np.int64)
    boxes = Boxes(np.empty((total, 2 * d)), np.empty(total), loose, first, last, parent, np.empty(total))
    start, level = total - blocks, blocks
    while level > 1:
        above = (level + FAN - 1) // FAN
        for i in range(above):
            box = start - above + i
            first[box] = start + i * FAN
            last[box] = min(first[box] + FAN, start + level)
            parent[first[box] : last[box]] = box
        start, level = start - above, above
    return boxes, total - blocks


@inner
def cut(values: Floats, order: Ints, capacity: int) -> None:
    """Sort `order` so that each run of `capacity` rows is a box of the tree, and so is each run of FAN such boxes."""
    m = order.size
    keys = np.empty(m)
    starts = np.empty(128, np.int64)
    ends = np.empty(128, np.int64)
    starts[0], ends[0] = 0, (m + capacity - 1) // capacity
    depth = 1
    while depth > 0:
        depth -= 1
        first, last = starts[depth], ends[depth]
        if last - first < 2:
            continue
        whole = 1  # cut between boxes of the largest size of which the node has several
        while whole * FAN < last - first:
            whole *= FAN
        middle = first + (last - first + whole - 1) // whole // 2 * whole
        begin, end = first * capacity, min(last * capacity, m)
        widest = widest_column(values, order, begin, end)
        for i in range(begin, end):
            keys[i] = values[order[i], widest]
        select_middle(keys, order, begin, end, middle * capacity)
        starts[depth], ends[depth] = first, middle
        starts[depth + 1], ends[depth + 1] = middle, last
        depth += 2


@inner
def widest_column(values: Floats, order: Ints, begin: int, end: int) -> int:
    """Return the column with the widest range in a sample of the node's records."""
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
def fit_leaf(blocks: Blocks, boxes: Boxes, leaf: int, block: int, centre: Floats, buffer: Floats) -> None:
    """Fit the box of a block to its remaining records; the box of an empty block has low > high."""
    cells, count, box = blocks.cells, blocks.counts[block], leaf + block
    for j in range(centre.size):
        low, high = np.inf, -np.inf
        for i in range(count):
            x = cells[block, j, i]
            low = x if x < low else low
            high = x if x > high else high
        boxes.sides[box, j], boxes.sides[box, centre.size + j] = low, high
    block_distances(cells, block, filled_width(blocks, block), centre, EUCLIDEAN, buffer)
    norm = -np.inf
    for i in range(count):
        norm = buffer[i] if buffer[i] > norm else norm
    boxes.norm[box] = norm
    boxes.loose[box] = False


@inner
def fit_box(boxes: Boxes, box: int) -> bool:
    """Fit a box to its children; return whether that changed it."""
    sides, first, last = boxes.sides, boxes.first[box], boxes.last[box]
    d = sides.shape[1] // 2
    changed = False
    for j in range(d):
        low, high = np.inf, -np.inf
        for b in range(first, last):
            low = sides[b, j] if sides[b, j] < low else low
            high = sides[b, d + j] if sides[b, d + j] > high else high
        changed |= low != sides[box, j] or high != sides[box, d + j]
        sides[box, j], sides[box, d + j] = low, high
    norm = -np.inf
    for b in range(first, last):
        norm = boxes.norm[b] if boxes.norm[b] > norm else norm
    changed |= norm != boxes.norm[box]
    boxes.norm[box] = norm
    return bool(changed)


@inner
def tighten(tree: Tree, block: int, buffer: Floats) -> None:
    """Fit the box of a block again, and those above it as far as they change."""
    fit_leaf(tree.blocks, tree.boxes, tree.leaf, block, tree.centre, buffer)
    box = tree.boxes.parent[tree.leaf + block]
    while box >= 0 and fit_box(tree.boxes, box):
        box = tree.boxes.parent[box]


@inner
def prune(tree: Tree, rows: Ints) -> None:
    """Remove the records of a group."""
    for row in rows:
        tree.boxes.loose[tree.leaf + take(tree.blocks, row)] = True


@fused
def near_bound(sides: Floats, box: int, point: Floats, metric: int) -> float:
    """Return the smallest distance that a record in the box can have."""
    d = point.size
    bound = 0.0
    for j in range(d):
        below, above = sides[box, j] - point[j], point[j] - sides[box, d + j]
        gap = below if below > above else above
        gap = gap if gap > 0.0 else 0.0
        bound += gap if metric == L1 else gap * gap
    return bound


@fused
def far_bound(sides: Floats, box: int, point: Floats) -> float:
    """Return the largest L1 distance that a record in the box can have."""
    d = point.size
    bound = 0.0
    for j in range(d):
        below, above = point[j] - sides[box, j], sides[box, d + j] - point[j]
        bound += below if below > above else above
    return bound


@inner
def face(tree: Tree, point: Floats) -> float:
    """Prepare `tree.slope` and `tree.corner` for `far_bound_by_norm`; return the part that all boxes share.

    With y = x - centre and q = point - centre: |x - point|^2 = |y|^2 - 2 q.x + 2 q.centre + |q|^2, where |y| is at most
    the box's norm and q.x at least that of a corner. This bound is tighter than the distance to the farthest corner,
    which lies outside the ball of the remaining records.
    """
    d = point.size
    square, shared, origin = 0.0, 0.0, 0.0
    for j in range(d):
        q = point[j] - tree.centre[j]
        tree.slope[j] = 2.0 * q
        tree.corner[j] = j if q > 0.0 else d + j
        square += q * q
        shared += 2.0 * q * tree.centre[j]
        origin += tree.centre[j] * tree.centre[j]
    span = math.sqrt(square) + math.sqrt(origin) + tree.radius
    return float(square + shared + ROUNDING * (d + 8) ** 2 * span * span + TINY)


@fused
def far_bound_by_norm(tree: Tree, box: int, shared: float) -> float:
    """Return the largest squared distance that a record in the box can have."""
    bound: float = tree.boxes.norm[box] + shared
    for j in range(tree.slope.size):
        bound -= tree.slope[j] * tree.boxes.sides[box, tree.corner[j]]
    return bound


@inner
def nearest(tree: Tree, point: Floats, metric: int, group_rows: Nearest) -> None:
    """Fill `group_rows` with the k records nearest to `point`; near boxes come first."""
    blocks, boxes, stack, leaf = tree.blocks, tree.boxes, tree.stack, tree.leaf
    cells, rows, counts, bound = blocks.cells, blocks.rows, blocks.counts, boxes.bound
    buffer, far = group_rows.buffer, group_rows.far
    size, reach = 0, np.inf
    stack[0], bound[0] = 0, 0.0
    waiting = 1
    while waiting > 0:
        waiting -= 1
        box = stack[waiting]
        if bound[box] > reach:
            continue
        if box >= leaf:
            b = box - leaf
            width = filled_width(blocks, b)
            block_distances(cells, b, width, point, metric, buffer)
            if hits_below(buffer, width, reach) > 0:
                size = offer_block(rows, b, counts[b], group_rows, size)
                reach = far[0] if size == far.size else np.inf
            continue
        nearest_bound = np.inf
        for child in range(boxes.first[box], boxes.last[box]):
            near = near_bound(boxes.sides, child, point, metric)
            if near <= reach:
                bound[child] = near
                stack[waiting] = child
                if near > nearest_bound:  # the nearest child stays on top
                    stack[waiting - 1], stack[waiting] = child, stack[waiting - 1]
                nearest_bound = near if near < nearest_bound else nearest_bound
                waiting += 1


@inner
def farthest(tree: Tree, point: Floats, metric: int, buffer: Floats) -> int:
    """Return the row of the record farthest from `point`; the most promising boxes come first.

    A block that was searched in vain gets a tighter box if it has lost records: boxes shrink where it matters.
    """
    blocks, boxes, stack, leaf = tree.blocks, tree.boxes, tree.stack, tree.leaf
    cells, rows, counts, bound = blocks.cells, blocks.rows, blocks.counts, boxes.bound
    reach, row = -1.0, -1
    shared = face(tree, point)
    stack[0], bound[0] = 0, np.inf
    waiting = 1
    while waiting > 0:
        waiting -= 1
        box = stack[waiting]
        if bound[box] < reach:
            continue
        if box >= leaf:
            b = box - leaf
            width = filled_width(blocks, b)
            block_distances(cells, b, width, point, metric, buffer)
            if hits_above(buffer, width, reach) > 0:
                reach, row = farthest_of_block(rows, b, counts[b], buffer, reach, row)
            elif boxes.loose[box]:
                tighten(tree, b, buffer)
            continue
        farthest_bound = -np.inf
        for child in range(boxes.first[box], boxes.last[box]):
            far = far_bound(boxes.sides, child, point) if metric == L1 else far_bound_by_norm(tree, child, shared)
            if far >= reach:
                bound[child] = far
                stack[waiting] = child
                if far < farthest_bound:  # the farthest child stays on top
                    stack[waiting - 1], stack[waiting] = child, stack[waiting - 1]
                farthest_bound = far if far > farthest_bound else farthest_bound
                waiting += 1
    return row
