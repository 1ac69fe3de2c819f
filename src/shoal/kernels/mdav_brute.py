"""MDAV's brute-force search: every record that is left is looked at, one sweep for both answers."""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import Blocks, Nearest, farthest_of_block, filled_width, hits_above, hits_below, offer_block
from shoal.kernels.compiling import inner
from shoal.kernels.distance import Floats, block_distances


@inner
def sweep(blocks: Blocks, point: Floats, metric: int, found: Nearest) -> tuple[float, int]:
    """Fill `found` with the k records nearest to `point`; gives the distance and row of the farthest."""
    cells, rows, counts = blocks.cells, blocks.rows, blocks.counts
    buffer, far = found.buffer, found.far
    size, best, best_row = 0, -1.0, -1
    for b in range(counts.size):
        width = filled_width(blocks, b)
        block_distances(cells, b, width, point, metric, buffer)
        reach = far[0] if size == far.size else np.inf
        if hits_below(buffer, width, reach) > 0:
            size = offer_block(rows, b, counts[b], found, size)
        if hits_above(buffer, width, best) > 0:
            best, best_row = farthest_of_block(rows, b, counts[b], buffer, best, best_row)
    return best, best_row
