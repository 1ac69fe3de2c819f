"""Target signals that hide a group: how far a signal is from that, and random moves that bring it there.

The outlier test is the modified Thompson tau technique (ASME PTC 19.1, as Chertov and Tavrov 2017 use it), at several
alphas and in several signals at once: value = (count - offset) / scale, one row of `offset` and `scale` per signal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.kernels.compiling import inner, kernel
from shoal.engine.kernels.copying import copy_first
from shoal.protections.regions.kernels.masking import hazen

Small = NDArray[Any]

FARTHEST = 10.0  # what one region counts for at most, however far out it is


@inner
def _ordinary(ordered: Floats, critical: Floats, upper_only: bool, low_first: bool, stage: Floats) -> bool:
    """The tau test on sorted values: stage gets the first and last ordinary place, the median and the reach.

    The farthest value is always the first or the last of those left. Gives whether both were once equally far: then
    `low_first` decides. Values equal to one that was thrown out count as thrown out. Where the quartiles are equal, the
    reach is 0 and only the median is ordinary.
    """
    size = ordered.size
    start, stop = 0, size
    tied = False
    while True:
        m = stop - start
        middle = 0.5 * (ordered[start + (m - 1) // 2] + ordered[start + m // 2])
        spread = (hazen(ordered, start, m, 0.75) - hazen(ordered, start, m, 0.25)) / 1.349
        reach = critical[m] * spread
        if m < 3 or not spread > 0.0:
            reach = 0.0
            break
        above, below = ordered[stop - 1] - middle, middle - ordered[start]
        if max(above, 0.0 if upper_only else below) <= reach:
            break
        tied |= above == below and not upper_only
        if upper_only or above > below or (above == below and not low_first):
            stop -= 1
        else:
            start += 1
    if reach == 0.0:
        while start < stop and ordered[start] != middle:
            start += 1
        while stop > start and ordered[stop - 1] != middle:
            stop -= 1
    while start > 0 and start < stop and ordered[start] == ordered[start - 1]:
        start += 1
    while stop < size and start < stop and ordered[stop - 1] == ordered[stop]:
        stop -= 1
    stage[0], stage[1], stage[2], stage[3] = start, stop, middle, reach
    return tied


@inner
def _add_outliers(
    ordered: Floats, rank: Ints, critical: Floats, upper_only: bool, allowed: Small, bad: Floats, stage: Floats
) -> float:
    """Add to bad[d] how far region d is out (negative: too low), unless allowed[d] says it may be; gives the sum.

    allowed[d]: 1 for a region that may be too high, -1 too low, 2 either, 0 neither. Of values that are equally far
    either may go first, by the order of the regions: whoever is an outlier in one of the two cases counts.
    """
    total = 0.0
    for low_first in range(2):
        tied = _ordinary(ordered, critical, upper_only, low_first == 1, stage)
        middle, reach = stage[2], stage[3]
        for i in range(ordered.size):
            if stage[0] <= i < stage[1]:
                continue
            away = ordered[i] - middle
            free = allowed[rank[i]]
            if (upper_only and away < 0) or free == 2 or (free == 1 and away > 0) or (free == -1 and away < 0):
                continue
            out = FARTHEST if reach == 0.0 else min(abs(away) / reach, FARTHEST)
            bad[rank[i]] += out if away > 0 else -out
            total += out
        if not tied:
            break
    return total


@inner
def _exposure(
    counts: Ints,
    offset: Floats,
    scale: Floats,
    critical: Floats,
    upper_only: bool,
    allowed: Small,
    sign: Ints,
    bad: Floats,
) -> float:
    """How far the signals are from hiding the group: 0 where they do. bad[d]: the share of region d, with its sign.

    sign[d]: 1 for an original outlier from above, -1 from below, else 0. An original outlier may be no outlier at any
    alpha, and some other region must be larger (from below: also smaller).
    """
    bad[:] = 0.0
    stage = np.empty(4)
    total = 0.0  # not the sum over `bad`: too high in one signal and too low in another may cancel there
    for s in range(scale.shape[0]):
        values = (counts - offset[s]) / scale[s]
        rank = np.argsort(values)
        ordered = values[rank]
        for a in range(critical.shape[0]):
            total += _add_outliers(ordered, rank, critical[a], upper_only, allowed[a, s], bad, stage)
        top, bottom = -np.inf, np.inf
        for d in range(values.size):
            if sign[d] == 0:
                top, bottom = max(top, values[d]), min(bottom, values[d])
        for d in range(values.size):
            if sign[d] != 0 and values[d] >= top:
                bad[d] += 1.0
                total += 1.0
            elif sign[d] < 0 and values[d] <= bottom:
                bad[d] -= 1.0
                total += 1.0
    return total


@kernel("f8(i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], b1, i1[:,:,::1], i8[::1], f8[::1])")
def exposure(
    counts: Ints,
    offset: Floats,
    scale: Floats,
    critical: Floats,
    upper_only: bool,
    allowed: Small,
    sign: Ints,
    bad: Floats,
) -> float:
    """`_exposure` for callers outside the kernels."""
    return _exposure(counts, offset, scale, critical, upper_only, allowed, sign, bad)


@inner
def _drawn(shares: Floats, at: float) -> int:
    """A region drawn in proportion to the sizes of `shares`; `at` is uniform between 0 and 1."""
    left = at * np.abs(shares).sum()
    for d in range(shares.size):
        left -= abs(shares[d])
        if left < 0:
            return d
    return int(shares.size - 1)


@kernel("f8(i8[::1], i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], b1, i1[:,:,::1], i8[::1], f8[:,::1])")
def settle(
    counts: Ints,
    original: Ints,
    low: Ints,
    high: Ints,
    offset: Floats,
    scale: Floats,
    critical: Floats,
    upper_only: bool,
    allowed: Small,
    sign: Ints,
    random: Floats,
) -> float:
    """Move vital records between regions, at random, until `counts` hide the group; gives the exposure that is left.

    for every row of `random`, until nothing is exposed:
        draw a region by its share of the exposure, or any region; another one at random
        move some vital records from the one that is too high, or to the one that is too low
        keep the move unless it exposes more
    """
    m = counts.size
    bad, other = np.zeros(m), np.zeros(m)
    now = _exposure(counts, offset, scale, critical, upper_only, allowed, sign, bad)
    for step in range(random.shape[0]):
        if now == 0.0:
            break
        free = random[step, 0] < 0.2
        one = int(random[step, 0] * 5.0 * m) % m if free else _drawn(bad, (random[step, 0] - 0.2) / 0.8)
        two = int(random[step, 1] * (m - 1))
        two += two >= one
        giver, taker = (one, two) if free or bad[one] > 0 else (two, one)
        # Whoever gives should have got some: a region below its original count is one more that changed.
        if sign[giver] == 0 and counts[giver] <= original[giver] and random[step, 2] < 0.8:
            continue
        size = 1 + int(random[step, 3] ** 3 * 0.25 * abs(counts[giver] - counts[taker]))
        size = min(size, counts[giver] - low[giver], high[taker] - counts[taker])
        if size <= 0:
            continue
        counts[giver] -= size
        counts[taker] += size
        then = _exposure(counts, offset, scale, critical, upper_only, allowed, sign, other)
        if then <= now:
            now = then
            copy_first(bad.size, other, bad)
        else:
            counts[giver] += size
            counts[taker] -= size
    return now
