"""All groupings of a few columns, walked through with a lower bound of their cost.

Loss and interval disclosure are sums over the groups. Linkage has a bound of its own: a record whose own centroid is
strictly the nearest in every column group is linked, one in m where m records share its protected values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.hashing import GOLDEN, slot_of


class Table(NamedTuple):
    """A hash table of protected values, and the records that share each of them."""

    keys: NDArray[np.uint64]
    used: NDArray[np.uint8]
    sizes: Ints


@kernel("float64[::1](float64[::1])")
def least_completions(price: Floats) -> Floats:
    """For every set of columns, the least sum of prices over its groupings (loss and intervals alone)."""
    least = np.empty(price.size)
    least[0] = 0.0
    for columns in range(1, price.size):
        low = columns & -columns
        rest = columns ^ low
        least[columns] = np.inf
        part = rest
        while True:
            least[columns] = min(least[columns], price[low | part] + least[rest ^ part])
            if part == 0:
                break
            part = (part - 1) & rest
    return least


@inner
def _sure_links(keys: NDArray[np.uint64], sure: NDArray[np.bool_], strict: bool, table: Table) -> float:
    """A lower bound of the links: what the sure records give; records with equal keys share their protected values."""
    sizes = table.sizes
    table.used[:] = 0
    place = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        slot = slot_of(table.keys, table.used, keys[i])
        if table.used[slot] == 0:
            table.used[slot], table.keys[slot], sizes[slot] = 1, keys[i], 0
        sizes[slot] += 1
        place[i] = slot
    links = 0.0
    for i in range(keys.size):
        if sure[i] and (sizes[place[i]] == 1 or not strict):
            links += 1.0 / sizes[place[i]]
    return links


@kernel(
    "int64(float64[::1], float64[::1], int32[:,::1], boolean[:,::1], float64, float64, boolean, float64[::1],"
    " int32[:,::1], uint8[::1])"
)
def groupings_below(
    price: Floats,
    least: Floats,
    labels: NDArray[np.int32],
    surely: NDArray[np.bool_],
    limit: float,
    per_link: float,
    strict: bool,
    bounds: Floats,
    groupings: NDArray[np.int32],
    flag: Bytes,
) -> int:
    """Write the groupings whose bound is below `limit`, as far as there is room; return how many there are.

    Depth first: the next group holds the lowest column that is left and any set of the others; a branch ends where its
    groups and the cheapest grouping of the rest are already too much. It ends early once the flag is set.
    """
    n = labels.shape[1]
    everything = price.size - 1
    depth_room = groupings.shape[1] + 1
    rest = np.zeros(depth_room, np.int64)  # columns left before the group of this depth
    part = np.zeros(depth_room, np.int64)  # what goes with the lowest of them
    chosen = np.zeros(depth_room, np.int64)
    spent = np.zeros(depth_room)
    keys = np.zeros((depth_room, n), np.uint64)
    sure = np.ones((depth_room, n), np.bool_)
    room = 16
    while room < 2 * n:
        room *= 2
    table = Table(np.empty(room, np.uint64), np.empty(room, np.uint8), np.empty(room, np.int64))
    count, depth = 0, 0
    rest[0] = everything
    part[0] = everything & (everything - 1)
    while depth >= 0:
        if part[depth] < 0:
            depth -= 1
            continue
        low = rest[depth] & -rest[depth]
        others = rest[depth] ^ low
        group = low | part[depth]
        left = rest[depth] ^ group
        part[depth] = (part[depth] - 1) & others if part[depth] > 0 else -1
        cost = spent[depth] + price[group]
        if cost + least[left] >= limit:
            continue
        if flag[0] != 0:
            break
        chosen[depth] = group
        above, below = keys[depth], keys[depth + 1]
        for i in range(n):
            below[i] = (above[i] ^ np.uint64(labels[group, i] + 1)) * GOLDEN
            below[i] ^= below[i] >> np.uint64(29)
            sure[depth + 1, i] = sure[depth, i] & surely[group, i]
        if left:
            depth += 1
            rest[depth], part[depth], spent[depth] = left, left & (left - 1), cost
            continue
        bound = cost + per_link * _sure_links(below, sure[depth + 1], strict, table)
        if bound < limit:
            if count < bounds.size:
                bounds[count] = bound
                groupings[count, :] = 0
                for j in range(depth + 1):
                    groupings[count, j] = chosen[j]
            count += 1
    return count
