"""Minimum-cost flow for swaps: shortest augmenting paths on a network of movers and districts.

The method is that of successive shortest paths with potentials (Edmonds and Karp 1972, Tomizawa 1971).
A mover (a vital record that may move) stands at home for nothing or in another district at the cost of its
partner there. Partners are not nodes: a free partner is an arc from a mover to a district, a taken one an arc
to the mover that holds it. Nodes are the movers, then the districts, then the sink, which every district
feeds with at least `low` and at most `high` vital records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel

Small = NDArray[Any]


@inner
def _sift_up(heap: Ints, place: Ints, key: Floats, at: int) -> None:
    node = heap[at]
    while at > 0:
        parent = (at - 1) // 2
        if key[heap[parent]] < key[node] or (key[heap[parent]] == key[node] and heap[parent] > node):
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = node
    place[node] = at


@inner
def _pop(heap: Ints, place: Ints, key: Floats, size: int) -> int:
    """Take the node of the least key from a heap of `size`; of equal ones the sink and districts come first."""
    top = heap[0]
    place[top] = -2
    node = heap[size - 1]
    size -= 1
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if key[b] < key[a] or (key[b] == key[a] and b > a):
                child += 1
        c = heap[child]
        if key[node] < key[c] or (key[node] == key[c] and node > c):
            break
        heap[at] = c
        place[c] = at
        at = child
    if size > 0:
        heap[at] = node
        place[node] = at
    return int(top)


@inner
def _relax(x: int, y: int, step: float, via: int, size: int, dist: Floats, work: Ints) -> int:
    """Offer node y the way over x; `via` is the partner used (-1: none). Gives the heap's size."""
    came, by, heap, place = work[0], work[1], work[2], work[3]
    if place[y] == -2:
        return size
    length = dist[x] + max(step, 0.0)  # rounding may leave -1e-16 where the reduced cost is 0
    if length < dist[y]:
        dist[y] = length
        came[y] = x
        by[y] = via
        if place[y] == -1:
            heap[size] = y
            place[y] = size
            size += 1
        _sift_up(heap, place, dist, place[y])
    return size


@inner
def _shortest(
    home: Ints,
    who: Small,
    cost: Floats,
    flow: Ints,
    stand: Ints,
    paid: Floats,
    owner: Small,
    potential: Floats,
    excess: Ints,
    dist: Floats,
    work: Ints,
) -> int:
    """Dijkstra on reduced costs from all nodes with an excess to the first one with a deficit (-1: none)."""
    n, m, depth = home.size, flow.shape[1], who.shape[2]
    low, high, counts = flow[0], flow[1], flow[2]
    heap, place = work[2], work[3]
    sink = n + m
    dist[:] = np.inf
    place[:] = -1
    size = 0
    for s in range(n, sink + 1):
        if excess[s - n] > 0:
            dist[s] = 0.0
            work[0, s] = -1
            heap[size] = s
            place[s] = size
            size += 1
    while size > 0:
        x = _pop(heap, place, dist, size)
        size -= 1
        here = potential[x]
        if x < n:
            if stand[x] != home[x]:
                size = _relax(x, n + home[x], here - potential[n + home[x]], -1, size, dist, work)
            for d in range(m):
                if d == home[x]:
                    continue
                for k in range(depth):
                    u = who[x, d, k]
                    if u < 0:
                        break
                    holder = owner[u]
                    if holder < 0:
                        size = _relax(x, n + d, cost[x, d, k] + here - potential[n + d], u, size, dist, work)
                        break
                    if holder != x:
                        step = cost[x, d, k] - paid[holder] + here - potential[holder]
                        size = _relax(x, holder, step, u, size, dist, work)
            continue
        if excess[x - n] < 0:
            return x
        if x < sink:
            for v in range(n):
                if stand[v] == x - n:
                    size = _relax(x, v, here - paid[v] - potential[v], -1, size, dist, work)
            if counts[x - n] < high[x - n]:
                size = _relax(x, sink, here - potential[sink], -1, size, dist, work)
        else:
            for d in range(m):
                if counts[d] > low[d]:
                    size = _relax(x, n + d, here - potential[n + d], -1, size, dist, work)
    return -1


@inner
def _send(
    end: int,
    n: int,
    home: Ints,
    where: Small,
    who: Small,
    cost: Floats,
    counts: Ints,
    stand: Ints,
    partner: Ints,
    paid: Floats,
    owner: Small,
    work: Ints,
) -> None:
    """Walk the way that ends in `end`, from its start, and move what it says."""
    came, by, way = work[0], work[1], work[2]
    length = 0
    y = end
    while y >= 0:
        way[length] = y
        length += 1
        y = came[y]
    for step in range(length - 1, 0, -1):
        x, y = way[step], way[step - 1]
        via = by[y]
        if x >= n:
            if y < n:
                counts[x - n] -= 1
                if partner[y] >= 0:
                    owner[partner[y]] = -1
        elif via < 0:
            stand[x], partner[x], paid[x] = home[x], -1, 0.0
            counts[home[x]] += 1
        else:
            d = where[via]
            k = 0
            while who[x, d, k] != via:
                k += 1
            stand[x], partner[x], paid[x] = d, via, cost[x, d, k]
            owner[via] = x
            if y >= n:
                counts[d] += 1


@kernel(
    "i8(i8[::1], i4[::1], i4[:,:,::1], f8[:,:,::1], i8[:,::1], i8[::1], i8[::1], f8[::1], i4[::1], f8[::1], u1[::1])"
)
def solve(
    home: Ints,
    where: Small,
    who: Small,
    cost: Floats,
    flow: Ints,
    stand: Ints,
    partner: Ints,
    paid: Floats,
    owner: Small,
    potential: Floats,
    flag: Bytes,
) -> int:
    """Bring the counts flow[2] within flow[0]..flow[1] at least cost, from a state that is optimal for wider bounds.

    home[v] and stand[v]: a mover's own and present district; partner[v]: with whom it swaps (-1: at home) for
    paid[v]; who[v, d] and cost[v, d]: its nearest partners in d; owner[u]: who holds partner u; where[u]: its
    district. Gives the number of paths used, or -1 if the bounds cannot be met or the flag
    is up.

        while a count is out of its bounds:
            find the shortest way, by reduced costs, from a node with too much to one with too little
            add the distances to the potentials; send one vital record along the way
    """
    n, m = home.size, flow.shape[1]
    low, high, counts = flow[0], flow[1], flow[2]
    excess = np.zeros(m + 1, dtype=np.int64)
    dist = np.empty(n + m + 1)
    work = np.empty((4, n + m + 1), dtype=np.int64)
    paths = 0
    while True:
        out_of_bounds = False
        excess[m] = 0
        for d in range(m):
            excess[d] = counts[d] - min(max(counts[d], low[d]), high[d])
            excess[m] -= excess[d]
            out_of_bounds |= excess[d] != 0
        if not out_of_bounds:
            return paths
        end = _shortest(home, who, cost, flow, stand, paid, owner, potential, excess, dist, work)
        if end < 0 or flag[0] != 0:
            return -1
        for x in range(n + m + 1):
            potential[x] += min(dist[x], dist[end])
        _send(end, n, home, where, who, cost, counts, stand, partner, paid, owner, work)
        paths += 1


@kernel("i8(i8[::1], i4[:,:,::1], f8[:,:,::1], i8[:,::1], i8[::1], f8[::1], i4[::1], f8[::1], f8[:,::1], u1[::1])")
def shift_costs(
    home: Ints,
    who: Small,
    cost: Floats,
    flow: Ints,
    stand: Ints,
    paid: Floats,
    owner: Small,
    potential: Floats,
    out: Floats,
    flag: Bytes,
) -> int:
    """out[i, j]: the exact cost of one vital record less in district i and one more in j (infinite: impossible).

    Ends early, the rest unfilled, once the flag is up.
    """
    n, m = home.size, flow.shape[1]
    fixed = flow.copy()
    fixed[0] = fixed[1] = fixed[2]
    excess = np.zeros(m + 1, dtype=np.int64)
    dist = np.empty(n + m + 1)
    work = np.empty((4, n + m + 1), dtype=np.int64)
    for i in range(m):
        if flag[0] != 0:
            break
        excess[i] = 1
        _shortest(home, who, cost, fixed, stand, paid, owner, potential, excess, dist, work)
        excess[i] = 0
        for j in range(m):
            out[i, j] = dist[n + j] + potential[n + j] - potential[n + i]
    return 0
