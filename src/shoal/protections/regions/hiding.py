"""Hide where a group is concentrated: target signals drawn at random that show the group at no alpha and in no signal.

Chertov and Tavrov 2017 ask that the original outliers are ordinary at one alpha, and take the least distortion. That
leaves them the largest regions, makes new peaks, and can be predicted. Here the original outliers get heights like
those of ordinary regions, drawn for each, and what they give away is spread evenly at random over the others:

    for every window of heights (the upper tenth of the ordinary ones, the upper quarter, the upper half, ..., all):
        until the signal hides the group, at most so often:
            draw the heights of the original outliers from the window
            draw the regions that take their vital records, all alike
            move vital records at random until no alpha and no signal shows an original outlier or a new one
        the swaps of least distortion for these counts are a minimum-cost flow
    of these solutions, keep those that no other beats in both distortion and window

A wider window is a better protection: an intruder who knows the method must consider all regions in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.control import Control, current
from shoal.errors import Stopped, UsageError
from shoal.protections.regions.bound import masked_bound, plain_bound
from shoal.protections.regions.flow import Network
from shoal.protections.regions.kernels import swap_targets
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.protection import ALPHAS, Protection, measure_protection, outlier_signs
from shoal.protections.regions.signal import Signal, goal_signal
from shoal.protections.regions.targets import Search, compatible_bounds
from shoal.protections.regions.task import Answer, Solution, Task

Rng = np.random.Generator

WINDOWS = (0.9, 0.75, 0.5, 0.25, 0.0)  # the lowest share of the ordinary heights that an original outlier may get
EVEN = (0.0, 0.5, 0.8, 1.0)  # how much of what is given away is dealt out evenly; the rest is drawn
MOVES = 20_000  # random moves that may repair a drawn signal; fewer where there are many regions
DEFAULT_WINDOW = 0.5
NEAR = 1.25  # the default solution costs at most so much more than that of the default window


@dataclass(frozen=True, eq=False)
class Concealment:
    """The conditions on a modified signal: in which signals and at which alphas nothing may stand out.

    side: of the tau test. decoys: regions, drawn at random, that are meant to stand out instead.
    """

    signals: tuple[Signal, ...]
    alphas: tuple[float, ...] = ALPHAS
    side: str = "both"
    decoys: int = 0

    def measure(self, task: Task, counts: Ints) -> Protection:
        return measure_protection(self.signals, counts, task.outlying, task.upper, self.alphas, self.side)

    def renumbered(self, number: Ints) -> Concealment:
        """The same conditions with region d called number[d]."""
        return replace(self, signals=tuple(signal.renumbered(number) for signal in self.signals))


def concealment(
    task: Task,
    second: Bools | None = None,
    alphas: Sequence[float] = ALPHAS,
    decoys: int = 0,
) -> Concealment:
    """The conditions for a task: its own signal, the number and the share of vital records, at these alphas."""
    values = tuple(sorted({float(a) for a in alphas}))
    if not values or not all(0.0 < a < 1.0 for a in values):
        raise UsageError(f"alphas must be numbers between 0 and 1, as in 0.001,0.01,0.05; not {list(alphas)}")
    if decoys < 0 or decoys >= task.districts - task.outlying.size:
        most = task.districts - task.outlying.size - 1
        raise UsageError(f"decoys must be between 0 and {most} (the regions that are not outliers, less one)")
    kinds = ["quantity", "concentration", *([] if second is None else ["difference"])]
    signals = [goal_signal(task.district, task.vital, kind, second if kind == "difference" else None) for kind in kinds]
    return Concealment(tuple(signals), values, task.limits.side, decoys)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A target signal that hides the group, its window and its decoys; `tries`: how many were drawn to get it."""

    counts: Ints
    window: float
    decoys: Ints
    tries: int


def hide_by_flow(
    task: Task,
    conditions: Concealment,
    rng: Rng,
    *,
    budget: int = 60,
    steps: int = 0,
    network: Network | None = None,
    control: Control | None = None,
) -> Answer:
    """The front of distortion against protection, the least distortion first; every solution hides the group.

    budget: target signals that may be drawn. steps: work on the lower bound, beyond what the compatibility threshold
    alone costs; it holds for every solution that the published settings would call feasible.
    """
    control = control or current()
    direct = DirectSwaps(task)
    solutions: list[Solution] = []
    tried = 0
    with suppress(Stopped):
        for number, window in enumerate(reversed(WINDOWS)):
            control.show(number, len(WINDOWS), min((s.metric for s in solutions), default=None), "flows over targets")
            control.check()
            drawn = draw_target(task, conditions, rng, window, max(1, budget // len(WINDOWS)))
            tried += max(1, budget // len(WINDOWS)) if drawn is None else drawn.tries
            solution = None if drawn is None else direct.least(drawn.counts)
            if drawn is not None and solution is not None:
                facts = {"window": window, "candidates": float(candidate_regions(task, conditions, drawn))}
                solutions.append(replace(solution, facts=facts, decoys=drawn.decoys))
        best = min((s.metric for s in solutions), default=None)
        control.show(len(WINDOWS), len(WINDOWS), best, "flows over targets")
    if not solutions:
        control.check()
    feasible = front([s for s in solutions if s.feasible])
    bound = 0.0
    with suppress(Stopped):
        if feasible and not control.stopped:
            bound = _bound(network or Network(task), feasible[0], steps)
    return Answer(feasible, candidates=tried, bound=bound, stopped=control.stopped, beyond=solutions)


class DirectSwaps:
    """The swaps of least distortion in which vital records only leave regions that lose some, for regions that gain.

    A minimum-cost flow over all records may pass vital records on over a third region where records there are more
    alike. Then the regions with the most similar records, not the drawn ones, would take the most.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.networks: dict[bytes, Network] = {}

    def least(self, counts: Ints) -> Solution | None:
        """The solution for these counts; None where a region has too few records to swap with."""
        losing = counts < self.task.signal.counts
        key = losing.tobytes()
        if key not in self.networks:
            leaves = losing[self.task.district]
            self.networks = {
                key: Network(replace(self.task, vital=self.task.vital & leaves, partner=self.task.partner & ~leaves))
            }
        network = self.networks[key]
        flow = network.target(counts)
        return None if flow is None else network.solution(flow)


def _bound(network: Network, best: Solution, steps: int) -> float:
    """A lower bound: what the compatibility threshold alone costs, or the sharper one of the published settings."""
    search = Search(network, 0)
    flow = network.target(best.counts)
    if flow is not None:
        search.keep(flow)
    return min(masked_bound(search, steps) if steps else plain_bound(search), best.metric)


def nearest_choices(task: Task, conditions: Concealment, answer: Answer, rng: Rng) -> str:
    """Why no solution hides the group, and what could be had instead: a lower compatibility, fewer alphas, decoys."""
    alphas = ", ".join(f"{a:g}" for a in conditions.alphas)
    if answer.beyond:
        cheapest = min(s.metric for s in answer.beyond) / task.worst
        return (
            f"The group can be hidden at alpha {alphas}, but the distortion is at least {cheapest:.2f} of the worst, "
            f"and the limit is {task.limits.distortion:g}. Raise it (--distortion {np.ceil(100 * cheapest) / 100:g}), "
            "or name fewer matching columns (--influential)"
        )
    choices = []
    for wanted in (0.9, 0.8, 0.5):
        limits = replace(task.limits, compatibility=wanted)
        if wanted < task.limits.compatibility and _possible(replace(task, limits=limits), conditions, rng):
            choices.append(f"a compatibility of {wanted:g} (--compatibility {wanted:g})")
            break
    for size in range(len(conditions.alphas) - 1, 0, -1):
        fewer = conditions.alphas[:size]
        if _possible(task, replace(conditions, alphas=fewer), rng):
            shown = ",".join(f"{a:g}" for a in fewer)
            choices.append(f"nothing to be seen at alpha up to {fewer[-1]:g} only (--alphas {shown})")
            break
    for decoys in (1, 2, 3, 5):
        more = conditions.decoys + decoys
        if more < task.districts - task.outlying.size and _possible(task, replace(conditions, decoys=more), rng):
            choices.append(f"{more} new outlier{'s' if more > 1 else ''} that hide the others (--decoys {more})")
            break
    offers = "; or ".join(choices) or "nothing by a lower compatibility, fewer alphas or 5 decoys; name fewer outliers"
    return (
        f"The group cannot be hidden: no signal out of {answer.candidates} drawn has a compatibility of "
        f"{task.limits.compatibility:g}, no original outlier and no new one at alpha {alphas} in "
        f"{' and '.join(s.kind for s in conditions.signals)}. What could be had: {offers}"
    )


def _possible(task: Task, conditions: Concealment, rng: Rng) -> bool:
    return any(draw_target(task, conditions, rng, window, 4) is not None for window in (0.5, 0.0))


def front(solutions: Sequence[Solution]) -> list[Solution]:
    """The solutions that no other beats in both distortion and window, the least distortion first."""
    kept: list[Solution] = []
    for solution in sorted(solutions, key=lambda s: (s.metric, s.facts["window"])):
        if not kept or solution.facts["window"] < kept[-1].facts["window"]:
            kept.append(solution)
    return kept


def default_pick(solutions: Sequence[Solution]) -> int:
    """Which of the front is taken (from 1): the widest window that costs little more than the upper half does."""
    wide = [s.metric for s in solutions if s.facts["window"] <= DEFAULT_WINDOW]
    if not wide:
        return len(solutions)
    return max(i + 1 for i, s in enumerate(solutions) if s.metric <= NEAR * wide[0] + 1e-9)


def candidate_regions(task: Task, conditions: Concealment, drawn: Drawn) -> int:
    """The regions that an intruder who knows the method must consider: those with a height in the window.

    The window is what the original outliers were drawn from, up to the greatest height that the compatibility allows.
    The signal with the fewest such regions counts.
    """
    upper = task.outlying[task.upper]
    if upper.size == 0:
        return task.districts
    others = np.setdiff1d(np.arange(task.districts), [*task.outlying, *drawn.decoys])
    highest = _bounds(task)[1]
    numbers = []
    for signal in conditions.signals:
        values = signal.of(drawn.counts)
        ceiling = signal.of(highest)[upper].max()
        reached = float((values[others] <= ceiling).mean())
        floor = np.quantile(values[others], max(0.0, reached - (1.0 - drawn.window)))
        inside = (values >= min(floor, values[upper].min())) & (values <= ceiling)
        numbers.append(int(inside.sum()))
    return min(numbers)


def limited_regions(task: Task, conditions: Concealment, solution: Solution) -> Ints:
    """The regions that cannot take their share of the moved vital records: with it they would be new outliers.

    Their share is what every region that is neither an original outlier nor a decoy gets on average.
    """
    others = np.setdiff1d(np.arange(task.districts), [*task.outlying, *solution.decoys])
    share = max(0.0, float((solution.counts - task.signal.counts)[others].mean()))
    tables = _tables(task, conditions, solution.decoys)
    bad = np.zeros(task.districts)
    limited = []
    for d in others:
        counts = solution.counts.copy()
        counts[d] = max(counts[d], int(np.ceil(task.signal.counts[d] + share)))
        swap_targets.exposure(counts, *tables, bad)
        if counts[d] > task.room[d] or bad[d] > 0.0:
            limited.append(d)
    return np.array(limited, dtype=np.int64)


def draw_target(task: Task, conditions: Concealment, rng: Rng, window: float, tries: int) -> Drawn | None:
    """A random signal that hides the group, its original outliers at heights in the window; None: not found."""
    moves = max(5_000, min(MOVES, 1_000_000 // task.districts))
    for number in range(tries):
        current().check()
        decoys = _decoys(task, conditions, rng)
        low, high = _target_bounds(task, conditions, decoys)
        counts = _first_draw(task, conditions, rng, window, decoys, (low, high), EVEN[number % len(EVEN)])
        if counts is None:
            continue
        left = swap_targets.settle(
            counts, task.signal.counts, low, high, *_tables(task, conditions, decoys), rng.random((moves, 4))
        )
        if left == 0.0 and conditions.measure(task, counts).hidden_but_for(decoys):
            return Drawn(counts, window, decoys, number + 1)
    return None


def _decoys(task: Task, conditions: Concealment, rng: Rng) -> Ints:
    others = np.setdiff1d(np.arange(task.districts), task.outlying)
    return np.sort(rng.choice(others, conditions.decoys, replace=False))


def _bounds(task: Task) -> tuple[Ints, Ints]:
    """The counts that the regions may get: the compatibility is shared out evenly among the original outliers."""
    return compatible_bounds(task, task.limits.compatibility ** (1.0 / task.outlying.size))


def _target_bounds(task: Task, conditions: Concealment, decoys: Ints) -> tuple[Ints, Ints]:
    """The bounds, and for other regions that stand out from above as before: they may rise as all others do, no more.

    Such a region would hide in plain sight whatever it took: a peak that moves there is not hidden.
    """
    low, high = _bounds(task)
    counts = task.signal.counts
    others = np.setdiff1d(np.arange(task.districts), [*task.outlying, *decoys])
    upper = task.outlying[task.upper]
    share = max(0.0, float((counts[upper] - np.median(counts[others])).sum()) / others.size)
    peaks = np.zeros(task.districts, dtype=bool)
    for signal in conditions.signals:
        for alpha in conditions.alphas:
            peaks |= outlier_signs(signal.values, alpha, conditions.side) > 0
    peaks = others[peaks[others]]
    high[peaks] = np.minimum(high[peaks], counts[peaks] + int(np.ceil(share + 2.0 * np.sqrt(share))))
    return low, high


def _tables(
    task: Task, conditions: Concealment, decoys: Ints
) -> tuple[Floats, Floats, Floats, bool, NDArray[np.int8], Ints]:
    """The conditions as the kernel takes them."""
    signals, m = conditions.signals, task.districts
    allowed = np.zeros((len(conditions.alphas), len(signals), m), dtype=np.int8)
    for a, alpha in enumerate(conditions.alphas):
        for s, signal in enumerate(signals):
            allowed[a, s] = outlier_signs(signal.values, alpha, conditions.side, ties="all")
    allowed[:, :, task.outlying] = 0
    allowed[:, :, decoys] = 2
    sign = np.zeros(m, dtype=np.int64)
    sign[task.outlying] = np.where(task.upper, 1, -1)
    return (
        np.stack([signal.offset for signal in signals]),
        np.stack([signal.scale for signal in signals]),
        np.stack([critical_taus(m, alpha) for alpha in conditions.alphas]),
        conditions.side == "upper",
        allowed,
        sign,
    )


def _first_draw(
    task: Task,
    conditions: Concealment,
    rng: Rng,
    window: float,
    decoys: Ints,
    bounds: tuple[Ints, Ints],
    even: float,
) -> Ints | None:
    """Heights for the original outliers and the decoys, and what is over or lacking spread over the other regions."""
    low, high = bounds
    counts = task.signal.counts.copy()
    if (low > high).any():
        return None
    out = task.outlying
    others = np.setdiff1d(np.arange(task.districts), [*out, *decoys])
    peaks = task.signal.counts[rng.choice(out, decoys.size)] * rng.uniform(0.5, 1.0, decoys.size)
    counts[decoys] = np.clip(peaks.astype(np.int64), task.signal.counts[decoys], high[decoys])
    drawn, blend = rng.random(out.size), rng.random(out.size)
    for _ in range(3):  # the ordinary heights rise by what the outliers give away, which depends on their heights
        share = (task.signal.counts.sum() - counts.sum()) / others.size
        place = _places(task, conditions, others, share, bounds, window, drawn)
        heights = _heights(task, conditions, others, share, place, blend)
        counts[out] = np.clip(heights, low[out], high[out])
    return _spread(counts, task.signal.counts, others, high, even, rng)


def _places(
    task: Task,
    conditions: Concealment,
    others: Ints,
    share: float,
    bounds: tuple[Ints, Ints],
    window: float,
    drawn: Floats,
) -> Floats:
    """For each original outlier its quantile among the ordinary heights: in the window, and within its bounds.

    Where the bounds cut the window off, it moves: heights that all end at a bound could be predicted.
    """
    out, low, high = task.outlying, *bounds
    least, most = np.zeros(out.size), np.ones(out.size)
    for signal in conditions.signals:
        ordinary = signal.of(task.signal.counts)[others] + share / signal.scale[others]
        floor, ceiling = (signal.of(bound)[out] for bound in (low, high))
        least = np.maximum(least, (ordinary[None, :] < floor[:, None]).mean(axis=1))
        most = np.minimum(most, (ordinary[None, :] <= ceiling[:, None]).mean(axis=1))
    width = np.minimum(1.0 - window, np.maximum(most - least, 0.0))
    return np.where(task.upper, most - drawn * width, least + drawn * width)


def _heights(task: Task, conditions: Concealment, others: Ints, share: float, place: Floats, blend: Floats) -> Ints:
    """For each original outlier a count at a quantile of the ordinary heights, between what the signals ask for."""
    counts = []
    for signal in conditions.signals:
        ordinary = signal.of(task.signal.counts)[others] + share / signal.scale[others]
        values = np.quantile(ordinary, place)
        counts.append(values * signal.scale[task.outlying] + signal.offset[task.outlying])
    least, most = np.min(counts, axis=0), np.max(counts, axis=0)
    return np.round(least + blend * (most - least)).clip(0).astype(np.int64)


def _spread(counts: Ints, original: Ints, others: Ints, high: Ints, even: float, rng: Rng) -> Ints | None:
    """Give the other regions what is over, or take from them what is lacking: each vital record to a random region."""
    over = int(original.sum() - counts.sum())
    way = 1 if over > 0 else -1
    over = abs(over)
    dealt = int(even * over / others.size)
    for size in (dealt, None):
        while over > 0:
            room = (high[others] - counts[others]) if way > 0 else counts[others]
            open_ = others[room > 0]
            if open_.size == 0:
                return None
            if size is None:
                step = rng.multinomial(over, np.full(open_.size, 1.0 / open_.size))
            else:
                step = np.full(open_.size, size)
            step = np.minimum(step, room[room > 0])
            counts[open_] += way * step
            over -= int(step.sum())
            if size is not None:
                break
    return counts
