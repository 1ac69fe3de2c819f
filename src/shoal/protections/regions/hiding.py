"""Hide where the target group is concentrated: random signals that show it at no alpha and in no signal.

Chertov and Tavrov 2017 require that the original outliers are ordinary at one alpha, and take the lowest distortion.
That may leave them the largest regions, makes new outliers, and can be predicted. Here the original outliers get
heights like those of ordinary regions, drawn for each of them. Their other target records go to random regions:

    for every window of heights (the upper tenth of the ordinary ones, the upper quarter, the upper half, ..., all):
        until the signal hides the group, for a limited number of tries:
            draw the heights of the original outliers from the window
            draw the regions that receive their target records, all with the same probability
            move target records at random until no alpha and no signal shows an original outlier or a new one
        the swaps with the lowest distortion for these counts are a minimum-cost flow
    keep the Pareto front of distortion and window

A wider window protects better: an intruder who knows the method must consider all regions in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.control import Control, current
from shoal.errors import Stopped, UsageError, counted
from shoal.protections.regions.bound import Bound, compatibility_bound, masked_bound
from shoal.protections.regions.flow import Network
from shoal.protections.regions.kernels import swap_targets
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.protection import ALPHAS, MeasuredProtection, measure_protection, outlier_signs
from shoal.protections.regions.signal import Signal, goal_signal
from shoal.protections.regions.signal_search import Search, compatible_bounds
from shoal.protections.regions.task import COMPATIBILITY, Answer, Solution, Task

Rng = np.random.Generator

WINDOWS = (0.9, 0.75, 0.5, 0.25, 0.0)  # the lowest quantile of the ordinary heights that an original outlier may get
EVEN_SHARES = (0.0, 0.5, 0.8, 1.0)  # share of the leaving target records that is distributed evenly; the rest is drawn
MAX_MOVES = 20_000  # random moves that may repair a drawn signal; fewer if there are many regions
DEFAULT_WINDOW = 0.5
MAX_EXTRA_COST = 1.25  # largest distortion of the default solution, relative to that of the default window


@dataclass(frozen=True, eq=False)
class Concealment:
    """The conditions on a modified signal: the signals and alphas at which there must be no outlier.

    side: of the tau test. decoys: the number of regions, drawn at random, that are made outliers.
    """

    signals: tuple[Signal, ...]
    alphas: tuple[float, ...] = ALPHAS
    side: str = "both"
    decoys: int = 0

    def measure(self, task: Task, counts: Ints) -> MeasuredProtection:
        return measure_protection(self.signals, counts, task.outlying, task.upper, self.alphas, self.side)

    def renumbered(self, number: Ints) -> Concealment:
        """Return the same conditions with region d called number[d]."""
        return replace(self, signals=tuple(signal.renumbered(number) for signal in self.signals))


def concealment(
    task: Task,
    second: Bools | None = None,
    alphas: Sequence[float] = ALPHAS,
    decoys: int = 0,
) -> Concealment:
    """Return the conditions of a task: number and share of the target records, and its difference, at these alphas."""
    values = tuple(sorted({float(a) for a in alphas}))
    if not values or not all(0.0 < a < 1.0 for a in values):
        raise UsageError(f"--alphas must be numbers between 0 and 1, such as 0.001,0.01,0.05, not {list(alphas)}.")
    if decoys < 0 or decoys >= task.region_count - task.outlying.size:
        most = task.region_count - task.outlying.size - 1
        raise UsageError(
            f"--decoys must be between 0 and {most} (the number of ordinary regions, less one), not {decoys}."
        )
    kinds = ["quantity", "concentration", *([] if second is None else ["difference"])]
    signals = [
        goal_signal(task.region, task.is_target, kind, second if kind == "difference" else None) for kind in kinds
    ]
    return Concealment(tuple(signals), values, task.limits.side, decoys)


@dataclass(frozen=True, eq=False)
class DrawnSignal:
    """A signal that hides the group, its window and its decoys; `tries`: the number of signals drawn for it."""

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
    """Return the Pareto front of distortion and protection, the lowest distortion first.

    Every solution hides the group. budget: the number of signals to draw. steps: the work on the tau-test bound;
    without it the bound is the compatibility bound (see `bound.py`).
    """
    control = control or current()
    direct = DirectSwaps(task)
    solutions: list[Solution] = []
    tried = 0
    with suppress(Stopped):
        for number, window in enumerate(reversed(WINDOWS)):
            control.show(
                number, len(WINDOWS), min((s.distortion for s in solutions), default=None), "flows over signals"
            )
            control.check()
            drawn = draw_signal(task, conditions, rng, window, max(1, budget // len(WINDOWS)))
            tried += max(1, budget // len(WINDOWS)) if drawn is None else drawn.tries
            solution = None if drawn is None else direct.solution_for(drawn.counts)
            if drawn is not None and solution is not None:
                facts = {"window": window, "candidates": float(candidate_regions(task, conditions, drawn))}
                solutions.append(replace(solution, facts=facts, decoys=drawn.decoys))
        best = min((s.distortion for s in solutions), default=None)
        control.show(len(WINDOWS), len(WINDOWS), best, "flows over signals")
    if not solutions:
        control.check()
    feasible = front([s for s in solutions if s.feasible])
    bound = Bound(0.0, COMPATIBILITY)
    with suppress(Stopped):
        if feasible and not control.stopped:
            bound = _bound(network or Network(task), feasible[0], steps)
    return Answer(
        feasible,
        candidates=tried,
        bound=bound.value,
        bound_kind=bound.kind,
        stopped=control.stopped,
        drawn_solutions=solutions,
    )


class DirectSwaps:
    """The swaps with the lowest distortion in which target records only move from regions that lose some to others.

    A minimum-cost flow over all records may move target records through a third region that has more similar records.
    Then the regions with the most similar records, not the drawn ones, would receive the most.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.networks: dict[bytes, Network] = {}

    def solution_for(self, counts: Ints) -> Solution | None:
        """Return the solution for these counts, or None if a region has too few records to swap with."""
        losing = counts < self.task.signal.counts
        key = losing.tobytes()
        if key not in self.networks:
            leaves = losing[self.task.region]
            self.networks = {
                key: Network(
                    replace(
                        self.task, is_target=self.task.is_target & leaves, is_partner=self.task.is_partner & ~leaves
                    )
                )
            }
        network = self.networks[key]
        flow = network.reach(counts)
        return None if flow is None else network.solution(flow)


def _bound(network: Network, best: Solution, steps: int) -> Bound:
    """Return the compatibility bound, or with steps the tau-test bound."""
    search = Search(network, 0)
    flow = network.reach(best.counts)
    if flow is not None:
        search.keep(flow)
    bound = masked_bound(search, steps) if steps else compatibility_bound(search)
    return replace(bound, value=min(bound.value, best.distortion))


def nearest_choices(task: Task, conditions: Concealment, answer: Answer, rng: Rng) -> str:
    """Return why no solution hides the group, and which options help: less compatibility, fewer alphas, decoys."""
    alphas = ", ".join(f"{a:g}" for a in conditions.alphas)
    if answer.drawn_solutions:
        cheapest = min(s.distortion for s in answer.drawn_solutions) / task.worst
        return (
            f"The group can be hidden at alpha {alphas}, but the distortion is at least {cheapest:.2f} of the worst, "
            f"and the limit is {task.limits.distortion:g}. Raise it (--distortion {np.ceil(100 * cheapest) / 100:g}), "
            "or name fewer matching columns (--influential)."
        )
    choices = []
    for wanted in (0.9, 0.8, 0.5):
        limits = replace(task.limits, compatibility=wanted)
        if wanted < task.limits.compatibility and _possible(replace(task, limits=limits), conditions, rng):
            choices.append(f"--compatibility {wanted:g} (lower)")
            break
    for size in range(len(conditions.alphas) - 1, 0, -1):
        fewer = conditions.alphas[:size]
        if _possible(task, replace(conditions, alphas=fewer), rng):
            shown = ",".join(f"{a:g}" for a in fewer)
            choices.append(f"--alphas {shown} (the group is hidden up to alpha {fewer[-1]:g} only)")
            break
    for decoys in (1, 2, 3, 5):
        more = conditions.decoys + decoys
        if more < task.region_count - task.outlying.size and _possible(task, replace(conditions, decoys=more), rng):
            choices.append(f"--decoys {more} ({counted(more, 'new outlier')} next to the hidden ones)")
            break
    help_text = (
        f"These options help: {'; or '.join(choices)}."
        if choices
        else "A lower compatibility, fewer alphas or 5 decoys do not help. Name fewer regions with --outliers."
    )
    return (
        f"The group cannot be hidden. Out of {counted(answer.candidates, 'signal')}, none has a compatibility of "
        f"{task.limits.compatibility:g}, no original outlier and no new one at alpha {alphas} in "
        f"{' and '.join(s.kind for s in conditions.signals)}. {help_text}"
    )


def _possible(task: Task, conditions: Concealment, rng: Rng) -> bool:
    return any(draw_signal(task, conditions, rng, window, 4) is not None for window in (0.5, 0.0))


def front(solutions: Sequence[Solution]) -> list[Solution]:
    """Return the Pareto front of distortion and window, the lowest distortion first."""
    kept: list[Solution] = []
    for solution in sorted(solutions, key=lambda s: (s.distortion, s.facts["window"])):
        if not kept or solution.facts["window"] < kept[-1].facts["window"]:
            kept.append(solution)
    return kept


def default_pick(solutions: Sequence[Solution]) -> int:
    """Return the number of the default solution: the widest window that costs little more than the upper half."""
    wide = [s.distortion for s in solutions if s.facts["window"] <= DEFAULT_WINDOW]
    if not wide:
        return len(solutions)
    return max(i + 1 for i, s in enumerate(solutions) if s.distortion <= MAX_EXTRA_COST * wide[0] + 1e-9)


def candidate_regions(task: Task, conditions: Concealment, drawn: DrawnSignal) -> int:
    """Return the number of regions that an intruder who knows the method must consider: those in the window.

    The window is the range from which the original outliers were drawn, up to the greatest height that the
    compatibility allows. The signal with the fewest such regions counts.
    """
    upper = task.outlying[task.upper]
    if upper.size == 0:
        return task.region_count
    others = np.setdiff1d(np.arange(task.region_count), [*task.outlying, *drawn.decoys])
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
    """Return the regions that cannot receive an equal share of the moved target records without becoming outliers.

    The equal share is the mean over the regions that are neither original outliers nor decoys.
    """
    others = np.setdiff1d(np.arange(task.region_count), [*task.outlying, *solution.decoys])
    share = max(0.0, float((solution.counts - task.signal.counts)[others].mean()))
    tables = _tables(task, conditions, solution.decoys)
    bad = np.zeros(task.region_count)
    limited = []
    for d in others:
        counts = solution.counts.copy()
        counts[d] = max(counts[d], int(np.ceil(task.signal.counts[d] + share)))
        swap_targets.exposure(counts, *tables, bad)
        if counts[d] > task.room[d] or bad[d] > 0.0:
            limited.append(d)
    return np.array(limited, dtype=np.int64)


def draw_signal(task: Task, conditions: Concealment, rng: Rng, window: float, tries: int) -> DrawnSignal | None:
    """Return a random signal that hides the group, with the original outliers in the window; None after all tries."""
    moves = max(5_000, min(MAX_MOVES, 1_000_000 // task.region_count))
    for number in range(tries):
        current().check()
        decoys = _decoys(task, conditions, rng)
        low, high = _count_bounds(task, conditions, decoys)
        counts = _first_draw(task, conditions, rng, window, decoys, (low, high), EVEN_SHARES[number % len(EVEN_SHARES)])
        if counts is None:
            continue
        remaining = swap_targets.settle(
            counts, task.signal.counts, low, high, *_tables(task, conditions, decoys), rng.random((moves, 4))
        )
        if remaining == 0.0 and conditions.measure(task, counts).hidden_but_for(decoys):
            return DrawnSignal(counts, window, decoys, number + 1)
    return None


def _decoys(task: Task, conditions: Concealment, rng: Rng) -> Ints:
    others = np.setdiff1d(np.arange(task.region_count), task.outlying)
    return np.sort(rng.choice(others, conditions.decoys, replace=False))


def _bounds(task: Task) -> tuple[Ints, Ints]:
    """Return bounds on the counts; each original outlier gets the same share of the compatibility."""
    return compatible_bounds(task, task.limits.compatibility ** (1.0 / task.outlying.size))


def _count_bounds(task: Task, conditions: Concealment, decoys: Ints) -> tuple[Ints, Ints]:
    """Return bounds on the counts. Other regions that were outliers from above may rise only as all others do.

    The tests do not see more target records in such a region, so a concentration that moves there would not be hidden.
    """
    low, high = _bounds(task)
    counts = task.signal.counts
    others = np.setdiff1d(np.arange(task.region_count), [*task.outlying, *decoys])
    upper = task.outlying[task.upper]
    share = max(0.0, float((counts[upper] - np.median(counts[others])).sum()) / others.size)
    peaks = np.zeros(task.region_count, dtype=bool)
    for signal in conditions.signals:
        for alpha in conditions.alphas:
            peaks |= outlier_signs(signal.values, alpha, conditions.side) > 0
    peaks = others[peaks[others]]
    high[peaks] = np.minimum(high[peaks], counts[peaks] + int(np.ceil(share + 2.0 * np.sqrt(share))))
    return low, high


def _tables(
    task: Task, conditions: Concealment, decoys: Ints
) -> tuple[Floats, Floats, Floats, bool, NDArray[np.int8], Ints]:
    """Return the conditions in the form of the kernel."""
    signals, m = conditions.signals, task.region_count
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
    """Draw heights for the original outliers and the decoys, and distribute the difference over the other regions."""
    low, high = bounds
    counts = task.signal.counts.copy()
    if (low > high).any():
        return None
    out = task.outlying
    others = np.setdiff1d(np.arange(task.region_count), [*out, *decoys])
    peaks = task.signal.counts[rng.choice(out, decoys.size)] * rng.uniform(0.5, 1.0, decoys.size)
    counts[decoys] = np.clip(peaks.astype(np.int64), task.signal.counts[decoys], high[decoys])
    drawn, blend = rng.random(out.size), rng.random(out.size)
    for _ in range(3):  # the ordinary heights rise by what the outliers lose, which depends on their heights
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
    """Return the quantile of each original outlier among the ordinary heights: in the window and within its bounds.

    If the bounds cut the window off, it moves: heights that all end at a bound could be predicted.
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
    """Return a count per original outlier at its quantile of the ordinary heights, between those of the signals."""
    counts = []
    for signal in conditions.signals:
        ordinary = signal.of(task.signal.counts)[others] + share / signal.scale[others]
        values = np.quantile(ordinary, place)
        counts.append(values * signal.scale[task.outlying] + signal.offset[task.outlying])
    least, most = np.min(counts, axis=0), np.max(counts, axis=0)
    return np.round(least + blend * (most - least)).clip(0).astype(np.int64)


def _spread(counts: Ints, original: Ints, others: Ints, high: Ints, even: float, rng: Rng) -> Ints | None:
    """Distribute the difference to the original total over the other regions, each target record to a random region."""
    over = int(original.sum() - counts.sum())
    sign = 1 if over > 0 else -1
    over = abs(over)
    dealt = int(even * over / others.size)
    for size in (dealt, None):
        while over > 0:
            room = (high[others] - counts[others]) if sign > 0 else counts[others]
            open_ = others[room > 0]
            if open_.size == 0:
                return None
            if size is None:
                step = rng.multinomial(over, np.full(open_.size, 1.0 / open_.size))
            else:
                step = np.full(open_.size, size)
            step = np.minimum(step, room[room > 0])
            counts[open_] += sign * step
            over -= int(step.sum())
            if size is not None:
                break
    return counts
