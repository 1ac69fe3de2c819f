"""Exact search, by branch and bound, for groups that could still lower the loss, given the dual of each record.

The reduced cost of a group is SSE - sum of its records' duals, with SSE = (sum of squared distances of its
pairs) / size. A partial group S of s records that ends with f has, for the records T still to come,

    reduced cost >= pairs(S) / f - duals(S) + sum over u in T of (pairs(u, S) + near(u, f - s - 1) / 2) / f - dual(u)

where near(u, m) is the sum of the m smallest squared distances of u to any record: the pairs within T cost at
least half of that for each. The f - s smallest terms bound every completion.

The first group is formed greedily: the better it is, the fewer records can be in a better one. The search visits sets
in a fixed order of the candidates, the most promising first, so that each set is visited once. A set that begins with a
candidate otherwise contains only later candidates, which bounds it (`first_bounds`). The search stops at `most` nodes.
The bounds of the open nodes then bound the sets that were not visited, so the result stays valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Indices
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.engine.kernels.distance import squared

WIDEST = 2000  # candidates around one record; if there are more, they are bounded, not searched


class Priced(NamedTuple):
    """The priced groups: a row of records each, padded with -1; `filled`: how many, and the nodes visited."""

    rows: Indices
    filled: NDArray[np.int64]

    @staticmethod
    def with_room(groups: int, most: int) -> Priced:
        """Nothing yet, and room for so many groups of at most `most` records."""
        return Priced(np.empty((groups, most), dtype=np.int32), np.zeros(2, dtype=np.int64))


NOTHING_PRICED = Priced.with_room(1, 1)


@inner
def smallest_sums(terms: Floats, count: int, most: int, low: Floats) -> None:
    """Write low[m] = the sum of the m smallest of the first `count` terms (infinite if there are fewer)."""
    held = 0
    for q in range(count):
        value = terms[q]
        if held == most and value >= low[most]:
            continue
        t = held + 1 if held < most else most
        held = min(held + 1, most)
        while t > 1 and low[t - 1] > value:
            low[t] = low[t - 1]
            t -= 1
        low[t] = value
    for m in range(held + 1, most + 1):
        low[m] = np.inf
    low[0] = 0.0
    for m in range(1, most + 1):
        low[m] += low[m - 1]


@inner
def greedy_group(
    x: Floats, dual: Floats, k: int, i: int, m: int, rows: Indices, apart: Floats, sums: Floats, chosen: Indices
) -> tuple[float, int]:
    """Form a group around record i greedily, in `chosen`; return its reduced cost per record, and its size."""
    best, size = np.inf, 0
    pairs, duals = 0.0, dual[i]
    chosen[0] = i
    copy_first(m, apart, sums)
    for s in range(2, min(2 * k - 1, m + 1) + 1):
        f = max(s, k)
        least, at = np.inf, -1
        for q in range(m):
            value = sums[q] / f - dual[rows[q]]
            if value < least:
                least, at = value, q
        u = rows[at]
        pairs += sums[at]
        duals += dual[u]
        chosen[s - 1] = u
        if s >= k and (pairs / s - duals) / s < best:
            best, size = (pairs / s - duals) / s, s
        for q in range(m):
            sums[q] += squared(x, u, x, rows[q])
        sums[at] = np.inf
    return best, size


@inner
def write_group(priced: Priced, chosen: Indices, size: int) -> bool:
    """Add a group to the priced ones; return False if there is no room."""
    if priced.filled[0] >= priced.rows.shape[0]:
        return False
    row = priced.rows[priced.filled[0]]
    for c in range(row.size):
        row[c] = chosen[c] if c < size else -1
    priced.filled[0] += 1
    return True


@inner
def keep_useful(
    s: int,
    k: int,
    pairs: float,
    duals: float,
    count: int,
    rows: Indices,
    apart: Floats,
    dual: Floats,
    near: Floats,
    limit: float,
    per_record: bool,
    terms: Floats,
    low: Floats,
    useful: NDArray[np.bool_],
) -> float:
    """Mark the candidates that may be in a completion of S below the limit; return the bound of all completions."""
    useful[:count] = False
    best = np.inf
    for f in range(max(k, s + 1), 2 * k):
        for q in range(count):
            u = rows[q]
            terms[q] = (apart[q] + 0.5 * near[u, f - s - 1]) / f - dual[u]
        smallest_sums(terms, count, f - s, low)
        base = pairs / f - duals
        bar = limit * f if per_record else limit
        bound = base + low[f - s]
        best = min(best, bound / f if per_record else bound)
        if bound < bar:
            others = base + low[f - s - 1]
            for q in range(count):
                if others + terms[q] < bar:
                    useful[q] = True
    return best


@inner
def first_bounds(
    k: int,
    own_dual: float,
    count: int,
    rows: Indices,
    apart: Floats,
    dual: Floats,
    near: Floats,
    per_record: bool,
    bounds: Floats,
) -> None:
    """Write, for each candidate, the bound of the groups of it and of later candidates only."""
    bounds[:count] = np.inf
    for f in range(k, 2 * k):
        least = np.inf  # of the terms of all later candidates
        for q in range(count - 1, -1, -1):
            u = rows[q]
            term = (apart[q] + 0.5 * near[u, f - 2]) / f - dual[u]
            bound = term - own_dual + (f - 2) * least if f > 2 else term - own_dual
            bounds[q] = min(bounds[q], bound / f if per_record else bound)
            least = min(least, term)


@inner
def fill_row(x: Floats, rows: Indices, count: int, a: int, table: Floats, ready: NDArray[np.bool_]) -> None:
    """Write the distances of candidate a to all later ones, once."""
    if not ready[a]:
        for q in range(a + 1, count):
            table[a, q] = squared(x, rows[a], x, rows[q])
        ready[a] = True


@kernel(
    lambda: (
        *("int64", "float64[:, ::1]", "float64[::1]", "float64[:, ::1]", "int64", "float64", "boolean"),
        *("int64", "int64", "int64", "float64[::1]", NOTHING_PRICED, "uint8[::1]"),
    )
)
def price(
    x: Floats,
    dual: Floats,
    near: Floats,
    k: int,
    limit: float,
    cheapest: bool,
    most: int,
    first: int,
    last: int,
    lowest: Floats,
    priced: Priced,
    flag: Bytes,
) -> int:
    """Search the groups of each record in first .. last - 1; return the number of searches that were cut short.

    If `cheapest`, lowest[i] becomes a lower bound of reduced cost / size of i's groups, at most `limit`, and every
    group that lowered it is written to `priced`. Otherwise all groups with i as the first record and a reduced cost up
    to `limit` are written, and the result is -1 if there is no room. The result is also -1, with `lowest` unfinished,
    once the flag is set.
    """
    n, top = x.shape[0], 2 * k - 1
    rows = np.empty((top, n), dtype=np.int32)
    slot = np.empty((top, n), dtype=np.int32)
    apart = np.empty((top, n))
    count = np.zeros(top, dtype=np.int64)
    pointer = np.zeros(top, dtype=np.int64)
    pairs, duals, bounds = np.zeros(top), np.zeros(top), np.zeros(top)
    chosen = np.empty(top, dtype=np.int32)
    terms, low = np.empty(n), np.empty(top + 1)
    useful, ready = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    starts = np.empty(n)
    table = np.empty((min(n, WIDEST), min(n, WIDEST)))
    cut_short = 0
    for i in range(first, last):
        if flag[0] != 0:
            return -1
        best = limit
        m = 0
        for t in range(0 if cheapest else i + 1, n):
            if t != i:
                rows[0, m] = t
                apart[0, m] = squared(x, i, x, t)
                m += 1
        if cheapest:
            start, size = greedy_group(x, dual, k, i, m, rows[0], apart[0], terms, chosen)
            if start < best:
                best = start
                write_group(priced, chosen, size)
        bounds[0] = keep_useful(
            1, k, 0.0, dual[i], m, rows[0], apart[0], dual, near, best, cheapest, terms, low, useful
        )
        kept = 0
        for q in range(m):
            if useful[q]:
                rows[0, kept], apart[0, kept] = rows[0, q], apart[0, q]
                terms[kept] = apart[0, q] / k - dual[rows[0, q]]
                kept += 1
        if kept > WIDEST:
            lowest[i] = min(best, bounds[0])
            cut_short += 1
            continue
        order = np.argsort(terms[:kept])
        copy_first(kept, rows[0], rows[1])
        copy_first(kept, apart[0], apart[1])
        for q in range(kept):
            rows[0, q], apart[0, q], slot[0, q] = rows[1, order[q]], apart[1, order[q]], q
        first_bounds(k, dual[i], kept, rows[0], apart[0], dual, near, cheapest, starts)
        ready[:kept] = False
        width = kept
        count[0], pointer[0], pairs[0], duals[0], chosen[0] = kept, 0, 0.0, dual[i], i
        depth, nodes, opened = 0, 0, np.inf
        while depth >= 0:
            if pointer[depth] >= count[depth]:
                depth -= 1
                continue
            if nodes >= most:
                for level in range(depth + 1):
                    opened = min(opened, bounds[level])
                cut_short += 1
                break
            p = pointer[depth]
            pointer[depth] += 1
            if depth == 0 and starts[p] >= (best if cheapest else limit):
                continue
            nodes += 1
            if nodes % 256 == 0 and flag[0] != 0:
                return -1
            u = rows[depth, p]
            s = depth + 2
            p_new = pairs[depth] + apart[depth, p]
            d_new = duals[depth] + dual[u]
            chosen[depth + 1] = u
            if s >= k:
                cost = p_new / s - d_new
                if cost < (best * s if cheapest else limit):
                    if not write_group(priced, chosen, s) and not cheapest:
                        return -1
                    if cheapest:
                        best = cost / s
            if s == top:
                continue
            level = depth + 1
            m = 0
            a = slot[depth, p]
            fill_row(x, rows[0], width, a, table, ready)
            for q in range(p + 1, count[depth]):
                rows[level, m] = rows[depth, q]
                slot[level, m] = slot[depth, q]
                apart[level, m] = apart[depth, q] + table[a, slot[depth, q]]
                m += 1
            bounds[level] = keep_useful(
                s, k, p_new, d_new, m, rows[level], apart[level], dual, near, best, cheapest, terms, low, useful
            )
            kept = 0
            for q in range(m):
                if useful[q]:
                    rows[level, kept] = rows[level, q]
                    slot[level, kept] = slot[level, q]
                    apart[level, kept] = apart[level, q]
                    kept += 1
            if kept > 0:
                count[level], pointer[level], pairs[level], duals[level] = kept, 0, p_new, d_new
                depth = level
        lowest[i] = min(best, opened)
        priced.filled[1] += nodes
    return cut_short
