"""MDAV's brute-force search: every record that is left is looked at, one sweep for both answers."""

from __future__ import annotations

import numpy as np

from shoal.kernels.blocks import LANES, Blocks, Nearest, farthest_of_block, hits_above, hits_below, offer_block
from shoal.kernels.compiling import inner
from shoal.kernels.distance import Floats, block_distances


@inner
def sweep(blocks: Blocks, point: Floats, metric: int, found: Nearest) -> tuple[float, int]:
    """Fill `found` with the k records nearest to `point`; gives the distance and row of the farthest."""
    size, best, best_row = 0, -1.0, -1
    for b in range(blocks.counts.size):
        width = (blocks.counts[b] + LANES - 1) // LANES * LANES
        block_distances(blocks.cells[b], width, point, metric, found.buffer)
        reach = found.far[0] if size == found.far.size else np.inf
        if hits_below(found.buffer, width, reach) > 0:
            size = offer_block(blocks, b, found, size)
        if hits_above(found.buffer, width, best) > 0:
            best, best_row = farthest_of_block(blocks, b, found.buffer, best, best_row)
    return best, best_row
