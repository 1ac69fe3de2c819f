"""A lower bound of every masked solution's distortion by Lagrangian relaxation, and better targets on the way.

The tau test's last stage passes a height x of the outlying districts only if its median and quartiles lie far
enough apart. So for every height, number of districts thrown out before, lower quartile a and median c there is a
least upper quartile b: a case. With prices on "each vital record is in one place" and "each partner is used once",
taken from a flow's potentials, the cost of any counts is at least a sum of convex functions, one a district. A
case's bound is then an assignment of districts to its classes (at most a, up to c, at least c, at least b, thrown
out), with one more price on the total. Where a case's bound is below the best solution's cost, the classes are
turned into bounds on the districts and solved as a flow, which gives better prices, or a better solution.
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
from shoal.protections.regions.targets import Search, compatible_bounds, improve

LARGEST = 120  # districts, and
HIGHEST = 400  # vital records in one of them: beyond these the cases would take longer than the search
MOST = 4000  # cases
PATIENCE = 3  # rounds over the open cases without any gain
FLOW = 20  # steps that a flow counts for
IMPOSSIBLE = 1e12


@dataclass(frozen=True)
class StageCase:
    """One way in which the test's last stage can pass.

    least, most: bounds on the districts' counts. low, high, number: of the classes they are spread over.
    """

    least: Ints
    most: Ints
    low: Ints
    high: Ints
    number: Ints
    bound: float
    prices: Floats | None = None


def masked_bound(search: Search, steps: int = 20_000, control: Control | None = None) -> float:
    """The least distortion that any masked solution can have, as far as `steps` subgradient steps can tell."""
    control = control or current().part(progress=silent)
    if search.best is None or not _sharp(search):
        return plain_bound(search)
    places = Places.of(search.network, search.best)
    cases = list(islice(_cases(search), MOST + 1))
    if len(cases) > MOST:
        return plain_bound(search)
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
            budget -= used + FLOW
            if bound < search.ceiling - 1e-9:
                key = (case.least.tobytes(), case.most.tobytes())
                if key not in starts:
                    starts[key] = search.solve(case.least, case.most)
                low, high = np.maximum(case.low[classes], case.least), np.minimum(case.high[classes], case.most)
                search.solve(low, high, starts[key])
                left.append(replace(case, bound=max(bound, case.bound), prices=prices))
            control.show(steps - budget, steps, search.ceiling, "lower bound")
            control.check()
        cases = left
        after = (search.ceiling, -min((c.bound for c in cases), default=np.inf), len(cases))
        patience = patience - 1 if after >= before else PATIENCE
    improve(search)
    return min(min((c.bound for c in cases), default=np.inf), search.ceiling)


def _sharp(search: Search) -> bool:
    """Are cases drawn up for this task? For counts, districts outlying from above, and all of them to be masked."""
    task = search.task
    upper = bool((task.restrictions.threshold < task.restrictions.original).all())
    movers = search.network.nearest.movers.size == task.vitals.size
    small = task.districts <= LARGEST and task.signal.counts[task.outlying].max() <= HIGHEST
    return upper and movers and small and task.signal.kind == "quantity" and task.unmasked_allowed == 0


def plain_bound(search: Search) -> float:
    """The cost of bringing the outlying districts to what the compatibility threshold asks of each, and no more."""
    low, high = compatible_bounds(search.task)
    flow = search.network.solve(low, high)
    return search.ceiling if flow is None else min(flow.metric, search.ceiling)


def _cases(search: Search) -> Iterator[StageCase]:
    """Every case whose counts could suffice and which the cuts do not rule out, the greatest height first.

    One of the outlying districts is the highest of them; what it leaves of the compatibility bounds the others.
    """
    task = search.task
    m, total = task.districts, int(task.signal.counts.sum())
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
            relaxed = search.cuts.least(low, high, total)
            if relaxed >= search.ceiling - 1e-9:
                continue
            if x * m <= 4 * total:
                # So low a height may pass in other ways too: the test may throw out low values where the median
                # is at least x/2, and half of the districts with it. One class without levels stands for them all.
                yield StageCase(low, np.minimum(high, total), *_one_class(m, total), relaxed)
                continue
            for thrown in range(min(m - 3, total // x) + 1):
                slope = taus[m - thrown] / 1.349
                for classes in _levels_at(m - thrown, thrown, x, slope, total):
                    yield StageCase(low, np.minimum(high, total), *classes, relaxed)


def _one_class(districts: int, total: int) -> tuple[Ints, Ints, Ints]:
    return np.zeros(1, dtype=np.int64), np.full(1, total, dtype=np.int64), np.full(1, districts, dtype=np.int64)


def _levels_at(size: int, thrown: int, x: int, slope: float, total: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """The classes (low, high, number) of a height and a number of values left in the last stage.

    Classes by rank: up to the lower quartile a, up to the lower median c, that median itself, from the upper
    median e on, from the upper quartile b on, thrown out (these are at least as high as any that is left).
    """
    # Where a quartile lies between two values, the one that makes passing easier stands for both.
    below = max(1, int(np.floor(0.25 * size + 0.5)))
    above = size - min(size, int(np.ceil(0.75 * size + 0.5))) + 1
    middle = size - size // 2
    even = 1 - size % 2
    number = np.array([below, size - middle - below - even, even, middle - above, above, thrown])
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
    """What it costs at least to have a mover in a district; `constant` is what the prices of partners bring."""

    cost: Floats
    constant: float
    start: Floats

    @staticmethod
    def of(network: Network, flow: Flow) -> Places:
        """Priced by a flow's potentials: a mover at minus its own, a partner at what its district's exceeds it by."""
        flow = network.present(flow)
        table, m, n = network.nearest, network.task.districts, network.home.size
        price = np.zeros(table.partners.size)
        held = np.flatnonzero(flow.partner >= 0)
        gap = flow.slopes(m)[flow.stand[held]] - flow.potential[held] - flow.paid[held]
        price[flow.partner[held]] = np.maximum(gap, 0.0)
        # Partners beyond a list cost at least as much as its last one.
        listed = np.where(table.who >= 0, table.cost + price[table.who], np.inf).min(axis=2)
        cost = np.minimum(listed, table.cost[:, :, -1])
        cost[np.arange(n), network.home] = 0.0
        return Places(cost, float(-price.sum()), -flow.potential[:n])


def _case_bound(
    search: Search, case: StageCase, places: Places, prices: Floats, steps: int
) -> tuple[float, Floats, Ints, int]:
    """The best bound of a case found by Polyak's subgradient steps, its prices of movers, the classes, the steps used.

    At prices u the cost of counts q is at least sum(u) + sum over districts of the q least (cost - u) there.
    """
    task = search.task
    m, n = task.districts, prices.size
    low = np.maximum(case.low[None, :], case.least[:, None])
    high = np.minimum(case.high[None, :], case.most[:, None])
    closed = low > high
    if case.number.size > 1:
        closed[task.outlying, -1] = True
    classes = np.repeat(np.arange(case.number.size), case.number)
    best, best_prices, best_classes = -np.inf, prices, classes
    goal = search.ceiling - (1.0 if task.influential.whole else 0.0) + 1e-6
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
        float(np.ceil(best - 1e-6)) if task.influential.whole else best,
        best_prices,
        best_classes,
        step,
    )
