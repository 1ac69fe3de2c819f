"""MDAV's pruned search: a wide tree of blocks with boxes, for few columns or many records.

Records are cut at the median of the widest column, again and again, down to blocks; a fixed number of
neighbouring blocks forms a family. Blocks and families have boxes, which shrink as records are taken.
Bounds on the distance to a box are summed in the same order as distances; rounding is monotone, so a bound
holds for the computed distances bit for bit, and a box is passed over only if it certainly holds no record
that is better, or equal with a lower row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.blocks import Blocks, Nearest, fill_blocks, scan_farthest, scan_nearest, take
from shoal.kernels.compiling import inner
from shoal.kernels.distance import L1, Floats, Ints

FAMILY = 32  # blocks in a family


class Boxes(NamedTuple):
    """Per column (rows) and box (columns) the least and greatest value, and room for the boxes' bounds."""

    low: Floats
    high: Floats
    bound: Floats


class Tree(NamedTuple):
    """Blocks in the tree's order, with the boxes of the blocks and of their families."""

    blocks: Blocks
    leaves: Boxes
    families: Boxes


@inner
def grow(values: Floats, order: Ints, capacity: int) -> Tree:
    """A tree over the records of `order`, which is put into the tree's order."""
    cut(values, order, capacity)
    blocks = fill_blocks(values, order, capacity)
    d = values.shape[1]
    number = blocks.counts.size
    leaves = empty_boxes(d, number)
    families = empty_boxes(d, (number + FAMILY - 1) // FAMILY)
    for b in range(number):
        fit_leaf(blocks, leaves, b)
    for f in range(families.bound.size):
        fit_family(leaves, families, f)
    return Tree(blocks, leaves, families)


@inner
def empty_boxes(d: int, number: int) -> Boxes:
    return Boxes(np.empty((d, number)), np.empty((d, number)), np.empty(number))


@inner
def cut(values: Floats, order: Ints, capacity: int) -> None:
    """Sort `order` so that each run of `capacity` rows is a box of the tree.

    A node of many leaves is cut between families, so that a family is a node of its own.
    """
    d = values.shape[1]
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
        widest, width = 0, -1.0
        for j in range(d):
            low, high = np.inf, -np.inf
            for i in range(begin, end):
                x = values[order[i], j]
                low, high = min(low, x), max(high, x)
            if high - low > width:
                widest, width = j, high - low
        if width == 0.0:
            continue
        for i in range(begin, end):
            keys[i] = values[order[i], widest]
        split(keys, order, begin, end - 1, middle * capacity)
        starts[depth], ends[depth] = first, middle
        starts[depth + 1], ends[depth + 1] = middle, last
        depth += 2


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
def fit_leaf(blocks: Blocks, leaves: Boxes, block: int) -> None:
    """Draw a block's box tightly around what is left in it; an empty block's box is inside out."""
    count = blocks.counts[block]
    for j in range(leaves.low.shape[0]):
        column = blocks.cells[block, j]
        low, high = np.inf, -np.inf
        for i in range(count):
            low, high = min(low, column[i]), max(high, column[i])
        leaves.low[j, block], leaves.high[j, block] = low, high


@inner
def fit_family(leaves: Boxes, families: Boxes, family: int) -> None:
    """Draw a family's box tightly around its blocks' boxes."""
    first = family * FAMILY
    last = min(first + FAMILY, leaves.bound.size)
    for j in range(leaves.low.shape[0]):
        low, high = np.inf, -np.inf
        for b in range(first, last):
            low, high = min(low, leaves.low[j, b]), max(high, leaves.high[j, b])
        families.low[j, family], families.high[j, family] = low, high


@inner
def prune(tree: Tree, row: int, values: Floats) -> None:
    """Remove a record and shrink the boxes whose border it was."""
    block = take(tree.blocks, row)
    if on_border(tree.leaves, block, values[row]):
        fit_leaf(tree.blocks, tree.leaves, block)
        family = block // FAMILY
        if on_border(tree.families, family, values[row]):
            fit_family(tree.leaves, tree.families, family)


@inner
def on_border(boxes: Boxes, box: int, record: Floats) -> bool:
    for j in range(record.size):
        if record[j] <= boxes.low[j, box] or record[j] >= boxes.high[j, box]:
            return True
    return False


@inner
def near_bounds(boxes: Boxes, first: int, last: int, point: Floats, metric: int) -> None:
    """The least distance that a record in each of the boxes can have."""
    bound = boxes.bound[first:last]
    for j in range(point.size):
        low, high, p = boxes.low[j, first:last], boxes.high[j, first:last], point[j]
        if j == 0:
            bound[:] = 0.0
        if metric == L1:
            for b in range(last - first):
                bound[b] += max(max(low[b] - p, p - high[b]), 0.0)
        else:
            for b in range(last - first):
                gap = max(max(low[b] - p, p - high[b]), 0.0)
                bound[b] += gap * gap


@inner
def far_bounds(boxes: Boxes, first: int, last: int, point: Floats, metric: int) -> None:
    """The greatest distance that a record in each of the boxes can have."""
    bound = boxes.bound[first:last]
    for j in range(point.size):
        low, high, p = boxes.low[j, first:last], boxes.high[j, first:last], point[j]
        if j == 0:
            bound[:] = 0.0
        if metric == L1:
            for b in range(last - first):
                bound[b] += max(max(p - low[b], high[b] - p), 0.0)
        else:
            for b in range(last - first):
                reach = max(max(p - low[b], high[b] - p), 0.0)
                bound[b] += reach * reach


@inner
def nearest(tree: Tree, point: Floats, row: int, metric: int, found: Nearest) -> None:
    """Fill `found` with the k records nearest to `point`, which is record `row`.

    Its own block and family come first: they leave little for the others.
    """
    own = tree.blocks.places[row] // tree.blocks.rows.shape[1]
    size = scan_nearest(tree.blocks, own, point, metric, found, 0)
    size = nearest_in_family(tree, own // FAMILY, own, point, metric, found, size)
    families = tree.families.bound.size
    near_bounds(tree.families, 0, families, point, metric)
    for f in range(families):
        if f != own // FAMILY and (size < found.far.size or tree.families.bound[f] <= found.far[0]):
            size = nearest_in_family(tree, f, own, point, metric, found, size)


@inner
def nearest_in_family(tree: Tree, family: int, own: int, point: Floats, metric: int, found: Nearest, size: int) -> int:
    first = family * FAMILY
    last = min(first + FAMILY, tree.leaves.bound.size)
    near_bounds(tree.leaves, first, last, point, metric)
    for b in range(first, last):
        if b != own and tree.blocks.counts[b] > 0 and (size < found.far.size or tree.leaves.bound[b] <= found.far[0]):
            size = scan_nearest(tree.blocks, b, point, metric, found, size)
    return size


@inner
def farthest(tree: Tree, point: Floats, metric: int, buffer: Floats) -> tuple[float, int]:
    """The distance and row of the record farthest from `point`; the most promising family comes first."""
    families = tree.families.bound.size
    far_bounds(tree.families, 0, families, point, metric)
    bounds = tree.families.bound
    first = 0
    for f in range(families):
        if bounds[f] > bounds[first]:
            first = f
    best, best_row = farthest_in_family(tree, first, point, metric, buffer, -1.0, -1)
    for f in range(families):
        if f != first and bounds[f] >= best:
            best, best_row = farthest_in_family(tree, f, point, metric, buffer, best, best_row)
    return best, best_row


@inner
def farthest_in_family(
    tree: Tree, family: int, point: Floats, metric: int, buffer: Floats, best: float, best_row: int
) -> tuple[float, int]:
    first = family * FAMILY
    last = min(first + FAMILY, tree.leaves.bound.size)
    far_bounds(tree.leaves, first, last, point, metric)
    for b in range(first, last):
        if tree.leaves.bound[b] >= best and tree.blocks.counts[b] > 0:
            best, best_row = scan_farthest(tree.blocks, b, point, metric, buffer, best, best_row)
    return best, best_row
