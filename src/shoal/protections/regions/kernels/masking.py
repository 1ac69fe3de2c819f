"""Compiled parts that both masking methods share: the tau test, the influential metric, nearest partners.

A record's influential values are a column of `ordinal` (floats, NaN where missing) and a column of
`nominal` (codes, -1 where missing). `same` and `other` hold, for each nominal attribute, its weight times
the squared chi of equal and of different categories.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bytes, Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel


@inner
def hazen(ordered: Floats, start: int, m: int, share: float) -> float:
    """The quantile of ordered[start:start+m] at position share * m + 1/2, counted from 1."""
    place = share * m + 0.5
    below = int(np.floor(place))
    part = place - below
    low = ordered[start + max(below, 1) - 1]
    high = ordered[start + min(below + 1, m) - 1]
    return float(low + part * (high - low))


@inner
def tau_stages(values: Floats, critical: Floats, upper_only: bool, flags: NDArray[Any], last: Floats) -> int:
    """Mark the outliers of `values` in `flags`; the last stage's median, s, tau and size go to `last`.

    Gives 1 if the last stage was blind (a pseudo-deviation of 0 among values that differ), else 0.
    """
    m = values.size
    ordered = np.sort(values)
    flags[:] = 0
    start = 0
    while True:
        middle = 0.5 * (ordered[start + (m - 1) // 2] + ordered[start + m // 2])
        spread = (hazen(ordered, start, m, 0.75) - hazen(ordered, start, m, 0.25)) / 1.349
        last[0], last[1], last[2], last[3] = middle, spread, critical[m], m
        if m < 3 or not spread > 0.0:
            return 1 if m > 0 and ordered[start] != ordered[start + m - 1] else 0
        worst, most = -1, critical[m] * spread
        for i in range(values.size):
            if flags[i] == 0:
                away = values[i] - middle
                if not upper_only:
                    away = abs(away)
                if away > most:
                    worst, most = i, away
        if worst < 0:
            return 0
        flags[worst] = 1
        if values[worst] < middle:
            start += 1
        m -= 1


@kernel("i8(f8[::1], f8[::1], b1, u1[::1], f8[::1])")
def tau_test(values: Floats, critical: Floats, upper_only: bool, flags: NDArray[Any], last: Floats) -> int:
    """`tau_stages` for callers outside the kernels."""
    return tau_stages(values, critical, upper_only, flags, last)


@inner
def metric(
    ordinal: Floats, nominal: NDArray[Any], a: int, b: int, weights: Floats, same: Floats, other: Floats
) -> float:
    """The influential metric of records a and b (columns of `ordinal` and `nominal`)."""
    total = 0.0
    for j in range(nominal.shape[0]):
        total += same[j] if nominal[j, a] == nominal[j, b] else other[j]
    for j in range(ordinal.shape[0]):
        total += weights[j] * apart(ordinal[j, a], ordinal[j, b])
    return total


@inner
def apart(x: float, y: float) -> float:
    """((x - y) / (x + y))^2 of two numbers from 0; NaN is a missing value, equal to another one only."""
    if x == y:
        return 0.0
    ratio = (x - y) / (x + y)
    if ratio == ratio:
        return ratio * ratio
    return 0.0 if x != x and y != y else 1.0


@kernel("void(f8[:,::1], i4[:,::1], i8[::1], i8[::1], f8[::1], f8[::1], f8[::1], f8[::1])")
def pair_metrics(
    ordinal: Floats,
    nominal: NDArray[Any],
    left: Ints,
    right: Ints,
    weights: Floats,
    same: Floats,
    other: Floats,
    out: Floats,
) -> None:
    """The metric of record left[i] and record right[i], for every i."""
    for i in range(left.size):
        out[i] = metric(ordinal, nominal, left[i], right[i], weights, same, other)


@inner
def segment_metrics(
    ordinal: Floats,
    nominal: NDArray[Any],
    v: int,
    first: int,
    stop: int,
    weights: Floats,
    same: Floats,
    other: Floats,
    out: Floats,
) -> None:
    """The metric of record v and each of the records first..stop: attribute by attribute, a loop that vectorises."""
    size = stop - first
    out[:size] = 0.0
    for j in range(nominal.shape[0]):
        code, equal, different = nominal[j, v], same[j], other[j]
        for u in range(size):
            out[u] += equal if nominal[j, first + u] == code else different
    for j in range(ordinal.shape[0]):
        x, w = ordinal[j, v], weights[j]
        for u in range(size):
            out[u] += w * apart(x, ordinal[j, first + u])


@kernel("void(f8[:,::1], i4[:,::1], i8, i8[::1], f8[::1], f8[::1], f8[::1], i4[:,:,::1], f8[:,:,::1], u1[::1])")
def nearest_partners(
    ordinal: Floats,
    nominal: NDArray[Any],
    movers: int,
    bounds: Ints,
    weights: Floats,
    same: Floats,
    other: Floats,
    who: NDArray[Any],
    cost: Floats,
    flag: Bytes,
) -> None:
    """For each mover and district its nearest partners, nearest first, ties by position.

    The columns hold first the movers, then the partners; those of district d are bounds[d]..bounds[d+1] among the
    partners. `who` gets positions among the partners, and -1 (with an infinite cost) where a district has fewer.
    Ends early, the rest unfilled, once the flag is up.
    """
    depth = who.shape[2]
    buffer = np.empty(np.max(np.diff(bounds)))
    for d in range(bounds.size - 1):
        first, stop = movers + bounds[d], movers + bounds[d + 1]
        for v in range(movers):
            if flag[0] != 0:
                return
            segment_metrics(ordinal, nominal, v, first, stop, weights, same, other, buffer)
            kept = 0
            worst = np.inf
            for u in range(stop - first):
                c = buffer[u]
                if c >= worst:
                    continue
                at = min(kept, depth - 1)
                while at > 0 and cost[v, d, at - 1] > c:
                    cost[v, d, at] = cost[v, d, at - 1]
                    who[v, d, at] = who[v, d, at - 1]
                    at -= 1
                cost[v, d, at] = c
                who[v, d, at] = bounds[d] + u
                kept = min(kept + 1, depth)
                if kept == depth:
                    worst = cost[v, d, depth - 1]
            for at in range(kept, depth):
                cost[v, d, at] = np.inf
                who[v, d, at] = -1


@kernel("void(f8[:,::1], i4[:,::1], i8, f8[::1], f8[::1], f8[::1], f8[:,::1])")
def all_metrics(
    ordinal: Floats, nominal: NDArray[Any], movers: int, weights: Floats, same: Floats, other: Floats, out: Floats
) -> None:
    """out[u, v]: the metric of partner u and mover v; columns as for `nearest_partners`."""
    for u in range(out.shape[0]):
        segment_metrics(ordinal, nominal, movers + u, 0, movers, weights, same, other, out[u])
