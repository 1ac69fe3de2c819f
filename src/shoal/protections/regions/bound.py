"""Lower bounds of the distortion of a masked solution, and better signals on the way.

There are two bounds. The compatibility bound is the lowest distortion of any swaps that reach the compatibility; it
ignores the tau test and may be far too low. The tau-test bound is stronger: it holds for swaps that also pass the tau
test, and comes from a Lagrangian relaxation:

The last stage of the tau test passes a height x of the outlier regions only if its median and quartiles lie far enough
apart. So for every height, number of regions removed before, lower quartile a and median c there is a smallest upper
quartile b: a case. Prices on "each target record is in one place" and "each partner is used once" come from the
potentials of a flow. With them, the cost of any counts is at least a sum of convex functions, one per region. The bound
of a case is then an assignment of regions to its classes (at most a, up to c, at least c, at least b, removed), with
one more price on the total. If the bound of a case is below the cost of the best solution, its classes become bounds on
the regions and are solved as a flow. That gives better prices, or a better solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from scipy.optimize import linear_sum_assignment

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, current
from shoal.engine.progress import silent
from shoal.protections.regions.flow import Flow, Network
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.signal_search import Search, compatible_bounds, improve
from shoal.protections.regions.task import COMPATIBILITY, TAU_TEST

# With more than this the cases would take longer than the search: regions, target records in one region, cases.
MAX_REGIONS, MAX_TARGETS, MAX_CASES = 120, 400, 4000
PATIENCE = 3  # rounds over the open cases without a gain
STEPS_PER_FLOW = 20
IMPOSSIBLE = 1e12


@dataclass(frozen=True)
class StageCase:
    """One way in which the last stage of the test can pass.

    lowest, highest: bounds on the counts of the regions. low, high, number: bounds and sizes of their classes.
    """

    lowest: Ints
    highest: Ints
    low: Ints
    high: Ints
    number: Ints
    bound: float
    prices: Floats | None = None


@dataclass(frozen=True)
class Bound:
    """A lower bound of the distortion, and what it takes into account: COMPATIBILITY or TAU_TEST."""

    value: float
    kind: str


def masked_bound(search: Search, steps: int = 20_000, control: Control | None = None) -> Bound:
    """Return the tau-test bound after at most `steps` subgradient steps, or else the compatibility bound."""
    control = control or current().part(progress=silent)
    if search.best is None or not _has_cases(search):
        return compatibility_bound(search)
    places = Places.of(search.network, search.best)
    cases = list(islice(_cases(search), MAX_CASES + 1))
    if len(cases) > MAX_CASES:
        return compatibility_bound(search)
    budget, prices = steps, places.start
    starts: dict[tuple[bytes, bytes], Flow | None] = {}
    patience = PATIENCE
    while cases and budget > 0 and patience > 0:
        before = (search.ceiling, -min(c.bound for c in cases), len(cases))
        left = []
        for case in cases:
            if case.bound >= search.ceiling - 1e-9:
                continue
            if budget <= 0:
                left.append(case)
                continue
            start = prices if case.prices is None else case.prices
            bound, prices, classes, used = _case_bound(search, case, places, start, min(budget, 100))
            budget -= used + STEPS_PER_FLOW
            if bound < search.ceiling - 1e-9:
                key = (case.lowest.tobytes(), case.highest.tobytes())
                if key not in starts:
                    starts[key] = search.solve(case.lowest, case.highest)
                low, high = np.maximum(case.low[classes], case.lowest), np.minimum(case.high[classes], case.highest)
                search.solve(low, high, starts[key])
                left.append(replace(case, bound=max(bound, case.bound), prices=prices))
            control.show(steps - budget, steps, search.ceiling, "lower bound")
            control.check()
        cases = left
        after = (search.ceiling, -min((c.bound for c in cases), default=np.inf), len(cases))
        patience = patience - 1 if after >= before else PATIENCE
    improve(search)
    return Bound(min(min((c.bound for c in cases), default=np.inf), search.ceiling), TAU_TEST)


def _has_cases(search: Search) -> bool:
    """Return whether there are cases for this task: counts, outliers from above, and all of them to be masked."""
    task = search.task
    upper = bool((task.restrictions.threshold < task.restrictions.original).all())
    is_complete = search.network.nearest.targets.size == task.targets.size
    is_small = task.region_count <= MAX_REGIONS and task.signal.counts[task.outlying].max() <= MAX_TARGETS
    return upper and is_complete and is_small and task.signal.kind == "quantity" and task.unmasked_allowed == 0


def compatibility_bound(search: Search) -> Bound:
    """Return the lowest distortion that brings each outlier region to the compatibility, whatever the tau test says."""
    low, high = compatible_bounds(search.task)
    flow = search.network.solve(low, high)
    return Bound(search.ceiling if flow is None else min(flow.distortion, search.ceiling), COMPATIBILITY)


def _cases(search: Search) -> Iterator[StageCase]:
    """Yield every case that has enough target records and that the cuts do not rule out, the greatest height first.

    One of the outlier regions is the highest of them; what it leaves of the compatibility bounds the others.
    """
    task = search.task
    m, total = task.region_count, int(task.signal.counts.sum())
    taus = critical_taus(m, task.limits.alpha)
    _, widest = compatible_bounds(task)
    for x in range(int(widest[task.outlying].max()), -1, -1):
        for highest in task.outlying[widest[task.outlying] >= x]:
            compatibility = float(task.restrictions.alone(int(highest), x))
            low, high = compatible_bounds(task, task.limits.compatibility / compatibility)
            high[task.outlying] = np.minimum(high[task.outlying], x)
            low[highest] = high[highest] = x
            if (low > high).any():
                continue
            relaxed = search.cuts.lower_bound(low, high, total)
            if relaxed >= search.ceiling - 1e-9:
                continue
            if x * m <= 4 * total:
                # So low a height may pass in other ways too: the test may remove low values where the median is at
                # least x/2, and half of the regions with it. One class without levels stands for them all.
                yield StageCase(low, np.minimum(high, total), *_one_class(m, total), relaxed)
                continue
            for removed in range(min(m - 3, total // x) + 1):
                slope = taus[m - removed] / 1.349
                for classes in _levels_at(m - removed, removed, x, slope, total):
                    yield StageCase(low, np.minimum(high, total), *classes, relaxed)


def _one_class(region_count: int, total: int) -> tuple[Ints, Ints, Ints]:
    return np.zeros(1, dtype=np.int64), np.full(1, total, dtype=np.int64), np.full(1, region_count, dtype=np.int64)


def _levels_at(size: int, removed: int, x: int, slope: float, total: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the classes (low, high, number) for a height and a number of values in the last stage.

    Classes by rank: up to the lower quartile a, up to the lower median c, that median itself, from the upper median e
    on, from the upper quartile b on, removed (these are at least as high as any value that is left).
    """
    # If a quartile lies between two values, the one that makes passing easier stands for both.
    below = max(1, int(np.floor(0.25 * size + 0.5)))
    above = size - min(size, int(np.ceil(0.75 * size + 0.5))) + 1
    middle = size - size // 2
    even = 1 - size % 2
    number = np.array([below, size - middle - below - even, even, middle - above, above, removed])
    for a in range(x + 1):
        for c in range(a, x + 1):
            for e in range(c, x + 1 if even else c + 1):
                b = max(e, int(np.ceil(a + (x - 0.5 * (c + e)) / slope - 1e-9)))
                low = np.array([0, a, c, e, b, x])
                if low @ number > total or (number < 0).any():
                    break
                yield low, np.array([a, c, e, total, total, total]), number


@dataclass(frozen=True)
class Places:
    """Lower bounds of the cost of each target record in each region; `constant`: what the prices of partners add."""

    cost: Floats
    constant: float
    start: Floats

    @staticmethod
    def of(network: Network, flow: Flow) -> Places:
        """Return the bounds from the potentials of a flow, which price target records and partners."""
        flow = network.present(flow)
        table, m, n = network.nearest, network.task.region_count, network.home.size
        price = np.zeros(table.partners.size)
        held = np.flatnonzero(flow.partner >= 0)
        gap = flow.slopes(m)[flow.stand[held]] - flow.potential[held] - flow.paid[held]
        price[flow.partner[held]] = np.maximum(gap, 0.0)
        # Partners outside a list cost at least as much as its last one.
        listed = np.where(table.who >= 0, table.cost + price[table.who], np.inf).min(axis=2)
        cost = np.minimum(listed, table.cost[:, :, -1])
        cost[np.arange(n), network.home] = 0.0
        return Places(cost, float(-price.sum()), -flow.potential[:n])


def _case_bound(
    search: Search, case: StageCase, places: Places, prices: Floats, steps: int
) -> tuple[float, Floats, Ints, int]:
    """Return the best bound of a case by Polyak's subgradient steps, its prices and classes, and the steps used.

    At prices u the cost of counts q is at least sum(u) + sum over regions of the q lowest (cost - u) there.
    """
    task = search.task
    m, n = task.region_count, prices.size
    low = np.maximum(case.low[None, :], case.lowest[:, None])
    high = np.minimum(case.high[None, :], case.highest[:, None])
    closed = low > high
    if case.number.size > 1:
        closed[task.outlying, -1] = True
    classes = np.repeat(np.arange(case.number.size), case.number)
    best, best_prices, best_classes = -np.inf, prices, classes
    goal = search.ceiling - (1.0 if task.matching.is_whole else 0.0) + 1e-6
    stride, stale, step = 1.0, 0, 0
    for step in range(1, steps + 1):
        left = places.cost - prices[:, None]
        order = np.argsort(left, axis=0)
        sums = np.zeros((n + 1, m))
        np.cumsum(np.take_along_axis(left, order, axis=0), axis=0, out=sums[1:])
        take = np.clip((left < 0).sum(axis=0)[:, None], low, np.maximum(high, low))
        cost = np.where(closed, IMPOSSIBLE, sums[np.minimum(take, n), np.arange(m)[:, None]])
        rows, columns = linear_sum_assignment(cost[:, classes])
        chosen = classes[columns]
        bound = float(cost[rows, chosen].sum() + prices.sum() + places.constant)
        if bound > IMPOSSIBLE / 2:
            return np.inf, prices, chosen, step
        stale += 1
        if bound > best:
            stale = 0 if bound > best + 1e-3 * abs(best) else stale
            best, best_prices, best_classes = bound, prices, chosen
        if stale > 8:
            stride, stale = stride / 2, 0
        taken = np.arange(n)[None, :] < take[np.arange(m), chosen][:, None]
        slope = 1.0 - np.bincount(order.T[taken], minlength=n)
        if best > goal or stride < 0.05 or not slope.any():
            break
        prices = prices + stride * (search.ceiling + 0.01 * abs(search.ceiling) - bound) / float(slope @ slope) * slope
    return (
        float(np.ceil(best - 1e-6)) if task.matching.is_whole else best,
        best_prices,
        best_classes,
        step,
    )
