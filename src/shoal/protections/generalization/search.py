"""The default search: rounds of annealing over the groups of values, seeded by NSGA-II's front and widening it.

    front = a short NSGA-II; its best point is the first start
    rounds of annealing at k: gently from there, hot from everything in one group, and at last gently from the best
    for higher and higher k: a short round from the best of the step before, so that the front shows their cost

Values that no row has are left out of the search. Long ordered columns, such as days, are searched in bins of
neighbouring values first; a last gentle round then moves the limits of the best solution's categories value by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from shoal.arrays import Ints
from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.generalization.bits import canonical
from shoal.protections.generalization.evaluate import Problem, in_bins, without_empty
from shoal.protections.generalization.front import Front, Point, front_of, points_of
from shoal.protections.generalization.kernels.generalization import anneal
from shoal.protections.generalization.nsga2 import Settings, nsga2

HOT, WARM, COLD = 0.012, 0.004, 0.0005  # temperatures, as a share of all detail
LADDER = (1.5, 2, 3, 5, 10, 20, 50)  # the higher k whose cost the front shows, as multiples of k
EFFORTS = {"quick": 2, "standard": 10, "thorough": 60}  # rounds at the asked k, half as many where values are free


LONG, BINS = 400, 128  # an ordered column with more values is searched in so many bins first
LONG_SHARE = 0.1  # of the work of a round, where columns are long: NSGA-II finds most there
MANY_VALUES = 4000  # a step looks at every value of its column: a column of so many halves the number of steps


@dataclass(frozen=True)
class Budget:
    """How much is searched: rounds of annealing, touched tuples a round, NSGA-II's evaluations."""

    rounds: int
    work: float
    evaluations: int


def budget_of(problem: Problem, effort: str = "standard") -> Budget:
    """A budget that counts work: each round touches every tuple thousands of times, up to a limit.

    Free values make a larger space: fewer and longer rounds, as one long annealing beats two short ones there.
    """
    free = any(problem.free)
    work = max(15_000.0 * problem.counts.size, 2e6)
    rounds = max(EFFORTS[effort] // 2, 2) if free else EFFORTS[effort]
    return Budget(rounds, min(work, 2e8 if free else 6e7), 20_000)


def search(problem: Problem, *, seed: int = 0, effort: str = "standard", control: Control | None = None) -> Front:
    """The best generalization found and the front around it."""
    control = control or current()
    if effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, not {effort!r}")
    fine, whole = without_empty(problem)
    binned = in_bins(fine, LONG, BINS)
    small = fine if binned is None else binned[0]
    budget = budget_of(small, effort)
    if binned is not None:
        budget = replace(budget, work=budget.work * LONG_SHARE)
    first = nsga2(small, seed=seed, settings=Settings(evaluations=budget.evaluations), control=control)
    table = _Annealing(small, control)
    points, best = list(first.points), first.best
    seeds = np.random.SeedSequence([seed, 6]).generate_state(budget.rounds + len(LADDER), np.uint64).tolist()
    turns = _turns(budget.rounds, any(problem.free))
    for turn, (gentle, in_order) in enumerate(turns):
        if not control.stopped and control.show(turn, budget.rounds, best.achievement, "rounds of annealing"):
            start = best.labels if gentle else np.zeros_like(best.labels)
            point = table.round(start, problem.k, budget.work, WARM if gentle else HOT, seeds[turn], in_order)
            points.append(point)
            best = min(best, point, key=_rank)
    if not control.stopped:
        control.show(budget.rounds, budget.rounds, best.achievement, "rounds of annealing")
        points.extend(_ladder(table, best, budget, seeds[budget.rounds :], control))
    evaluations = first.evaluations + table.steps
    if binned is not None:
        points = [points_of(fine, binned[1](point.labels)[None], point.k)[0] for point in points]
        if not control.stopped:
            table = _Annealing(fine, control)
            best, work = min(points, key=_rank), budget.work / (1 + max(fine.sizes) / MANY_VALUES)
            points.append(table.round(best.labels, problem.k, work, 2 * COLD, seeds[-1]))
            evaluations += table.steps
    points = [replace(point, labels=canonical(whole(point.labels), problem.sizes)) for point in points]
    return front_of(points, evaluations, rounds=budget.rounds, **control.facts)


def _turns(rounds: int, free: bool) -> list[tuple[bool, bool]]:
    """For each round: gently from the best or hot from one group; whether values keep their order.

    Where values are free, a quarter of the rounds first treats them as ordered (by frequency): that
    space is small, and its best is a good start for the free rounds.
    """
    ordered = max(rounds // 4, 1) if free else 0
    last = rounds - rounds // 3
    return [(turn == ordered or turn >= last, turn < ordered) for turn in range(rounds)]


def _rank(point: Point) -> tuple[float, float]:
    return point.achievement, point.deviation


def _ladder(table: _Annealing, start: Point, budget: Budget, seeds: list[int], control: Control) -> Iterator[Point]:
    """Points for higher and higher k, each found from the one before."""
    labels = start.labels
    for step, (factor, seed) in enumerate(zip(LADDER, seeds, strict=True)):
        k = int(np.ceil(factor * start.k))
        if k > table.problem.n // 2:
            break
        if not control.show(step, len(LADDER), start.achievement, "higher k"):
            return
        point = table.round(labels, k, budget.work / 8, HOT, seed)
        yield point
        labels = point.labels
    control.show(len(LADDER), len(LADDER), start.achievement, "higher k")


class _Annealing:
    """The problem's arrays as the kernel wants them: tuples sorted by each attribute's value."""

    def __init__(self, problem: Problem, control: Control) -> None:
        self.problem, self._flag = problem, control.flag
        self.steps = 0
        most = max(problem.sizes)
        start = np.zeros((len(problem.sizes), most + 2), dtype=np.int64)
        for j, codes in enumerate(problem.codes):
            start[j, 1:] = np.cumsum(np.bincount(codes, minlength=most + 1))
        self._sizes = np.array(problem.sizes, dtype=np.int64)
        self._strides, base = _strides(self._sizes + 1, problem.set_of)
        order = np.argsort(problem.codes, axis=1, kind="stable").astype(np.int32)
        self._tuples = (problem.codes, base, problem.counts, order, start, self._sizes)

    def round(self, labels: Ints, k: int, work: float, hot: float, seed: int, in_order: bool = False) -> Point:
        """One annealing from any start: the best allowed point met, or all values in one group."""
        problem = self.problem
        start = np.zeros((len(self._sizes), int(self._sizes.max()) + 1), dtype=np.int64)
        start[:, :-1] = labels
        for j, size in enumerate(self._sizes):
            start[j, size] = size  # the label of an attribute that is not in a tuple's set
        weight = problem.preference.weight
        _, best, steps = anneal(
            *self._tuples,
            np.array([f and not in_order for f in problem.free], dtype=np.int64),
            problem.positions,
            problem.rows,
            self._strides,
            start,
            k,
            problem.n,
            problem.allowed,
            (1 - weight) / weight,
            problem.confidential,
            problem.rules.integers,
            problem.rules.floats,
            problem.overall,
            work,
            hot,
            COLD,
            np.uint64(seed),
            self._flag,
        )
        self.steps += int(steps)
        merged = np.zeros_like(labels)
        return min(points_of(problem, np.array([best[:, :-1], merged]), k), key=_rank)


def _strides(radix: Ints, set_of: Ints) -> tuple[Ints, Ints]:
    """Places of the attributes in a class's key, and each tuple's own part of it.

    Exact where 62 bits hold it; odd multipliers modulo 2^64 beyond, as in kernels/classes.py.
    """
    exact = float(np.prod(radix.astype(np.float64))) * (int(set_of.max()) + 1) < 2.0**62
    if exact:
        strides = np.concatenate([[1], np.cumprod(radix)]).astype(np.int64)
    else:
        state = np.random.SeedSequence(62).generate_state(radix.size + 1, np.uint64) | np.uint64(1)
        strides = state.view(np.int64)
    with np.errstate(over="ignore"):
        return strides[:-1].copy(), set_of * strides[-1]
