"""Slow twins of masking: the tau test from its definition, the metric by hand, the cheapest swaps by trying all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from scipy.stats import t as student


def quartile(ordered: Sequence[float], share: float) -> float:
    """Hazen's: the value at place share * m + 1/2, counted from 1, between its neighbours."""
    place = share * len(ordered) + 0.5
    low = min(max(math.floor(place), 1), len(ordered))
    high = min(max(math.ceil(place), 1), len(ordered))
    return ordered[low - 1] + (place - math.floor(place)) * (ordered[high - 1] - ordered[low - 1])


def tau_outliers(signal: Sequence[float], alpha: float, side: str = "both") -> list[int]:
    left = list(range(len(signal)))
    while len(left) >= 3:
        ordered = sorted(signal[i] for i in left)
        m = len(ordered)
        median = (ordered[(m - 1) // 2] + ordered[m // 2]) / 2
        spread = (quartile(ordered, 0.75) - quartile(ordered, 0.25)) / 1.349
        if spread <= 0:
            break
        t = float(student.ppf(1 - alpha / 2, m - 2))
        tau = t * (m - 1) / (math.sqrt(m) * math.sqrt(m - 2 + t * t))
        away = [signal[i] - median if side == "upper" else abs(signal[i] - median) for i in left]
        worst = max(range(m), key=lambda j: (away[j], -j))
        if away[worst] <= tau * spread:
            break
        del left[worst]
    return [i for i in range(len(signal)) if i not in left]


def metric(
    a: Sequence[float | None],
    b: Sequence[float | None],
    ordinal: Sequence[bool],
    weights: Sequence[float],
    chi: tuple[float, float] = (0.0, 1.0),
) -> float:
    """InfM of two records; None is a missing value."""
    total = 0.0
    for x, y, ordered, w in zip(a, b, ordinal, weights, strict=True):
        if not ordered:
            total += w * (chi[0] if x == y else chi[1]) ** 2
        elif (x is None) != (y is None):
            total += w
        elif x is not None and y is not None and x != y:
            total += w * ((x - y) / (x + y)) ** 2
    return total


def cheapest_swaps(
    region: Sequence[int], is_target: Sequence[bool], cost: Sequence[Sequence[float]], target: Sequence[int]
) -> float:
    """The least total metric of swaps that give the target counts, over all sets of swaps; infinite if none does."""
    return min(
        (total for counts, total in all_swaps(region, is_target, cost) if counts == list(target)), default=math.inf
    )


def all_swaps(
    region: Sequence[int], is_target: Sequence[bool], cost: Sequence[Sequence[float]]
) -> Iterator[tuple[list[int], float]]:
    """Every set of swaps as the counts it gives and its total metric."""
    targets = [i for i, v in enumerate(is_target) if v]
    others = [i for i, v in enumerate(is_target) if not v]
    m = max(region) + 1
    choices = [[None, *(u for u in others if region[u] != region[v])] for v in targets]
    for chosen in itertools.product(*choices):
        partners = [u for u in chosen if u is not None]
        if len(set(partners)) != len(partners):
            continue
        counts = [0] * m
        for v, u in zip(targets, chosen, strict=True):
            counts[region[v] if u is None else region[u]] += 1
        yield counts, sum(cost[v][u] for v, u in zip(targets, chosen, strict=True) if u is not None)
