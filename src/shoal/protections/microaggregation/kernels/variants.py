"""Variants of known groups that cost less than the sum of their records' duals: one record less, more, or replaced.

This search is quick, whereas `pricing.py` searches all groups. With W the mass of a group and c its centroid, a record
i that leaves lowers the SSE by w W / (W - w) |x_i - c|^2. A record that then enters adds w W / (W + w) |x - c|^2.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import Floats, Indices
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.distance import squared
from shoal.engine.kernels.heap import offer
from shoal.protections.microaggregation.kernels.pricing import NOTHING_PRICED, Priced


@inner
def around(rows: Indices, size: int, near: Indices, mark: Indices, stamp: int, others: Indices) -> int:
    """Write the near records of a group's records that are not in it, each once; return their number."""
    count = 0
    for s in range(size):
        mark[rows[s]] = stamp
    for s in range(size):
        for t in range(near.shape[1]):
            j = near[rows[s], t]
            if j >= 0 and mark[j] != stamp:
                mark[j] = stamp
                others[count] = j
                count += 1
    return count


@inner
def centre(x: Floats, w: Floats, rows: Indices, size: int, without: int, c: Floats) -> float:
    """Write the centroid of a group without one of its records (-1: of all) into c's only row; return the mass."""
    mass = 0.0
    c[0] = 0.0
    for s in range(size):
        if s != without:
            mass += w[rows[s]]
            for q in range(x.shape[1]):
                c[0, q] += w[rows[s]] * x[rows[s], q]
    c[0] /= mass
    return mass


@kernel(
    lambda: (
        *("void", "float64[:, ::1]", "float64[::1]", "int32[:, ::1]", "int32[:, ::1]", "float64[::1]"),
        *("int64", "float64", "int64", NOTHING_PRICED),
    )
)
def variants(
    x: Floats,
    w: Floats,
    groups: Indices,
    near: Indices,
    dual: Floats,
    k: int,
    limit: float,
    most: int,
    variant_groups: Priced,
) -> None:
    """Write the `most` cheapest variants of each group whose reduced cost is below the limit, padded with -1."""
    n = x.shape[0]
    mark, others = np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
    c = np.empty((1, x.shape[1]))
    cheapest, code = np.empty(most), np.empty(most, dtype=np.int64)
    for a in range(groups.shape[0]):
        rows = groups[a]
        size = 0
        while size < rows.size and rows[size] >= 0:
            size += 1
        count = around(rows, size, near, mark, a, others)
        held = 0
        for out in range(-1, size):  # the record that leaves, -1 for none
            mass = centre(x, w, rows, size, out, c)
            left = size - (out >= 0)
            rest = 0.0
            for s in range(size):
                if s != out:
                    rest += w[rows[s]] * squared(x, rows[s], c, 0) - dual[rows[s]]
            for t in range(-1, count):  # the one that enters, -1 for none
                if (out < 0 and t < 0) or not k <= left + (t >= 0) < 2 * k:
                    continue
                reduced = rest
                if t >= 0:
                    j = others[t]
                    reduced += w[j] * mass / (mass + w[j]) * squared(x, j, c, 0) - dual[j]
                if reduced < limit:
                    held = offer(cheapest, code, held, reduced, (out + 1) * (n + 1) + t + 1)
        for h in range(held):
            out, t = code[h] // (n + 1) - 1, code[h] % (n + 1) - 1
            row = variant_groups.rows[variant_groups.filled[0]]
            row[:] = -1
            end = 0
            for s in range(size):
                if s != out:
                    row[end] = rows[s]
                    end += 1
            if t >= 0:
                row[end] = others[t]
            variant_groups.filled[0] += 1
