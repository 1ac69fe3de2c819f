"""The search over signals: the masked signal with the lowest distortion, with the tau test as a hard condition.

For fixed counts the lowest distortion is a flow; here the counts are searched. The verdict of the test depends on three
order statistics. So signals come as profiles: a number of regions at or above the level of the upper quartile, a number
at the median, a number at or below the lower quartile, and the outlier regions no higher than the test allows. Each
profile is a flow with bounds on the regions.

    find the approximate greatest height of the outlier regions that the test passes, by bisection
    for every height x of the outlier regions, from the original down: solve the flow with only that bound
    for every profile, the most promising first, until the budget is used:
        skip it if the linear bounds of earlier flows show that it cannot be the best
        solve its flow; keep it if its signal is feasible
    improve the best by moving single target records between regions, at exact costs
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, current
from shoal.engine.progress import silent
from shoal.errors import Stopped
from shoal.protections.regions.flow import Flow, Network
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.task import Task

HEIGHTS = 48  # heights to try between the ordinary and the original value of the outlier regions


@dataclass
class Cuts:
    """Linear lower bounds of the cost of any counts, one per flow: cost + slopes @ (counts - counts of the flow)."""

    base: list[float] = field(default_factory=list)
    slopes: list[Floats] = field(default_factory=list)

    def add(self, flow: Flow, region_count: int) -> None:
        slopes = flow.slopes(region_count)
        self.base.append(flow.distortion - float(slopes @ flow.counts))
        self.slopes.append(slopes)

    def lower_bound(self, low: Ints, high: Ints, total: int, last: int = 60) -> float:
        """Return a lower bound of the cost over all counts within low..high with this total, by the latest cuts."""
        best = 0.0
        for base, slopes in zip(self.base[-last:], self.slopes[-last:], strict=True):
            order = np.argsort(slopes)
            room = np.cumsum((high - low)[order])
            taken = np.minimum(room, total - low.sum())
            steps = np.diff(taken, prepend=0)
            best = max(best, base + float(slopes @ low) + float(slopes[order] @ steps))
        return best


@dataclass(frozen=True)
class Profile:
    """Bounds on the counts of the regions, the flow they were made from, and a lower bound of their cost."""

    low: Ints
    high: Ints
    start: Flow
    bound: float


@dataclass
class Search:
    """The state of a search: the network, the remaining budget, the cuts, and the feasible flows by their counts."""

    network: Network
    budget: int
    cuts: Cuts = field(default_factory=Cuts)
    flows: dict[bytes, Flow] = field(default_factory=dict)
    best: Flow | None = None
    control: Control = field(default_factory=lambda: current().part(progress=silent))

    def __post_init__(self) -> None:
        self.total_budget = self.budget

    def show(self, done: int) -> None:
        """Show how many flows of the budget were solved and the best so far; raise `Stopped` if the work is stopped."""
        self.control.show(done, self.total_budget, self.best.distortion if self.best else None, "flows over signals")
        self.control.check()

    @property
    def task(self) -> Task:
        return self.network.task

    @property
    def ceiling(self) -> float:
        """The cost below which a flow is an improvement: that of the best flow, or at first the limit on distortion."""
        allowed = self.task.limits.distortion * self.task.worst * (1 + 1e-9) + 1e-6
        return allowed if self.best is None else min(allowed, self.best.distortion)

    def solve(self, low: Ints, high: Ints, start: Flow | None = None) -> Flow | None:
        """Solve a flow, keep its cut, and keep the flow if it is feasible."""
        if self.budget > 0:
            self.show(self.total_budget - self.budget)
        self.budget -= 1
        flow = self.network.solve(low, high, start)
        if flow is not None:
            self.cuts.add(flow, self.task.region_count)
            self.keep(flow)
        return flow

    def keep(self, flow: Flow) -> bool:
        feasible = self.task.judge(flow.counts, flow.distortion).feasible
        if feasible:
            self.flows.setdefault(flow.counts.tobytes(), flow)
            if flow.distortion < self.ceiling - 1e-9:
                self.best = flow
        return feasible


def search_signals(network: Network, budget: int = 400, control: Control | None = None) -> Search:
    """Search for feasible signals with their optimal flows; the one with the lowest distortion is `best`.

    A search that is stopped has the results so far.
    """
    control = control or current()
    search = Search(network, budget, control=control)
    with suppress(Stopped):
        profiles = sorted(_profiles(search), key=lambda p: p.bound)
        total = int(search.task.signal.counts.sum())
        for profile in profiles:
            if search.budget <= budget // 4:
                break
            if profile.bound >= search.ceiling:
                continue
            if search.cuts.lower_bound(profile.low, profile.high, total) >= search.ceiling - 1e-9:
                continue
            search.solve(profile.low, profile.high, profile.start)
        improve(search)
        search.show(search.total_budget)
    if search.best is None:
        control.check()
    return search


def _profiles(search: Search) -> Iterator[Profile]:
    """Yield bounds under which the test would pass the outlier regions, made from the flow of each height."""
    task = search.task
    low, widest = compatible_bounds(task)
    upper = task.outlying[task.restrictions.threshold < task.restrictions.original]
    lower = np.setdiff1d(task.outlying, upper)
    goal = task.restrictions.threshold[np.isin(task.outlying, lower)]
    full = np.maximum(count_at_least(task, lower, goal), low[lower])
    least = low[lower]

    def bounds(x: float, share: float) -> tuple[Ints, Ints] | None:
        at_least, at_most = low.copy(), widest.copy()
        at_least[lower] = np.ceil(least + share * (full - least)).astype(np.int64)
        at_most[upper] = np.minimum(at_most[upper], count_at_most(task, upper, x))
        return (at_least, at_most) if _make_compatible(task, at_least, at_most) else None

    fine = [bounds(x, 1.0) for x in _heights(task, upper, 16 * HEIGHTS)]
    _lower_until_masked(search, [both for both in fine if both is not None])
    heights = _heights(task, upper, HEIGHTS)
    flow: Flow | None = None
    steps = [(x, share) for share in np.linspace(1.0, 0.0, 7 if lower.size else 1) for x in heights]
    thin = max(1, int(np.ceil(4 * len(steps) / max(search.budget, 32))))
    for x, share in steps[::thin]:
        within = bounds(x, share)
        if within is None:
            continue
        flow = search.solve(*within, flow)
        if flow is None or flow.distortion >= search.ceiling:
            continue
        yield Profile(*within, flow, flow.distortion)
        yield from _quantile_profiles(search, flow, *within, x)


def _lower_until_masked(search: Search, falling: list[tuple[Ints, Ints]]) -> None:
    """Find the approximate greatest height whose flow is feasible, by bisection.

    A lower height costs more and is nearly always safer. A first solution makes the rest of the search shorter.
    """
    first, last = 0, len(falling) - 1
    while first <= last and search.budget > 0:
        middle = (first + last) // 2
        flow = search.solve(*falling[middle])
        if flow is None or search.task.judge(flow.counts, 0.0).feasible:
            last = middle - 1
        else:
            first = middle + 1


def _heights(task: Task, upper: Ints, most: int) -> Floats:
    """Return about `most` signal values for the outlier regions, from the original value down."""
    values = task.signal.values
    bottom = float(np.median(np.delete(values, task.outlying)))
    if upper.size == 0:
        return np.array([float(values.max())])
    top = float(values[upper].max())
    if task.signal.kind == "quantity" and top - bottom <= 4 * most:
        return np.arange(top, np.floor(bottom) - 1.0, -1.0)
    return np.linspace(top, bottom, most)


def _make_compatible(task: Task, low: Ints, high: Ints) -> bool:
    """Lower the upper bounds of outlier regions in turn until the compatibility is reached; False: it never is."""
    wanted = np.where(task.restrictions.threshold < task.restrictions.original, 1, 0)
    while True:
        at = high.copy()
        at[task.outlying[wanted == 0]] = low[task.outlying[wanted == 0]]
        alone = np.array([float(task.restrictions.alone(int(d), task.signal.of(at)[d])) for d in task.outlying])
        if alone.prod() >= task.limits.compatibility:
            return True
        worst = int(np.argmin(np.where(wanted == 1, alone, np.inf)))
        if wanted[worst] == 0 or high[task.outlying[worst]] <= 0:
            return False
        high[task.outlying[worst]] -= 1


def _quantile_profiles(search: Search, flow: Flow, low0: Ints, high0: Ints, x: float) -> Iterator[Profile]:
    task = search.task
    m = task.region_count
    taus = critical_taus(m, task.limits.alpha)
    values = task.signal.of(flow.counts)
    level = _levels(task, values, x)
    total = int(task.signal.counts.sum())
    free = np.setdiff1d(np.arange(m), task.outlying)
    for removed in range(0, min(7, free.size, m - 4), 1 if m <= 120 else 3):
        # The test may remove the regions with the most target records first.
        ranked = np.argsort(-values, kind="stable")
        out = ranked[np.isin(ranked, free)][:removed]
        left = ranked[~np.isin(ranked, out)]
        size = left.size
        above = size - int(np.floor(0.75 * size + 0.5)) + 1
        below = int(np.ceil(0.25 * size + 0.5))
        half = size - (size + 1) // 2 + 1
        for y25 in level[:4]:
            for median in level[(level >= y25)][:8]:
                need = y25 + (x - median) * 1.349 / taus[size]
                fits = level[level >= max(need - 1e-9, median)]
                if fits.size == 0:
                    continue
                low, high = low0.copy(), high0.copy()
                low[left[:half]] = np.maximum(low[left[:half]], count_at_least(task, left[:half], median))
                low[left[:above]] = np.maximum(low[left[:above]], count_at_least(task, left[:above], fits[0]))
                high[left[-below:]] = np.minimum(high[left[-below:]], count_at_most(task, left[-below:], y25))
                if (low > high).any() or low.sum() > total or high.sum() < total:
                    continue
                yield Profile(low, high, flow, search.cuts.lower_bound(low, high, total, 1))


def _levels(task: Task, values: Floats, x: float) -> Floats:
    """Return values that a quartile may take, the lowest first."""
    if task.signal.kind == "quantity":
        return np.arange(0.0, np.floor(x) + 1.0)
    least = float(min(values.min(), task.signal.of(np.zeros(task.region_count, dtype=np.int64)).min()))
    return np.unique(np.concatenate([np.quantile(values, np.linspace(0, 0.9, 12)), np.linspace(least, x, 24)]))


def compatible_bounds(task: Task, threshold: float | None = None) -> tuple[Ints, Ints]:
    """Return the bounds on the counts that the compatibility (or another threshold) requires of each outlier alone."""
    threshold = task.limits.compatibility if threshold is None else threshold
    low, high = np.zeros(task.region_count, dtype=np.int64), task.room.copy()
    for d in task.outlying:
        counts = np.arange(task.room[d] + 1)
        fits = task.restrictions.alone(int(d), (counts - task.signal.offset[d]) / task.signal.scale[d])
        allowed = counts[fits >= threshold - 1e-12]
        low[d], high[d] = (allowed.min(), allowed.max()) if allowed.size else (1, 0)
    return low, high


def count_at_least(task: Task, where: Ints, value: float | Floats) -> Ints:
    """Return the smallest counts that give the regions at least this value."""
    return np.ceil(value * task.signal.scale[where] + task.signal.offset[where] - 1e-9).clip(0).astype(np.int64)


def count_at_most(task: Task, where: Ints, value: float | Floats) -> Ints:
    """Return the largest counts that give the regions at most this value."""
    return np.floor(value * task.signal.scale[where] + task.signal.offset[where] + 1e-9).clip(0).astype(np.int64)


def improve(search: Search) -> None:
    """Move single target records between regions while that lowers the cost of the best flow and keeps it feasible."""
    while search.best is not None and search.budget > 0:
        best = search.best
        costs = search.network.shift_costs(best)
        pairs = np.argwhere(costs < -1e-9)
        order = np.argsort(costs[pairs[:, 0], pairs[:, 1]], kind="stable")
        for i, j in pairs[order]:
            counts = best.counts.copy()
            counts[i] -= 1
            counts[j] += 1
            if search.task.judge(counts, best.distortion + costs[i, j]).feasible:
                search.solve(counts, counts, best)
                break
        if search.best is best:
            return
