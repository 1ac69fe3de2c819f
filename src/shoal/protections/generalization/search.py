"""The default search: rounds of annealing over the categories, which start from the front of a short NSGA-II.

    front = that of a short NSGA-II; its best point is the first start
    rounds of annealing at k: some at a low temperature from the best point so far, the others at a high temperature
        from one category per column; the last ones start from the best point
    for each of several higher k: a short round from the best point of the k before, so that the front shows its cost

The search leaves out values that no record has. Long ordered columns, such as days, are first searched in bins of
neighbouring values. A last round at a low temperature then moves the bounds of the best categories value by value. If
categories must be nodes of a taxonomy, a round anneals the other columns while these are fixed. Then nodes are split
and joined, alone or in pairs, as long as that helps.
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
from shoal.protections.generalization.front import Front, FrontPoint, front_of, points_of
from shoal.protections.generalization.kernels.classes import Rules
from shoal.protections.generalization.kernels.generalization import Goal, Schedule, Tuples, Values, anneal
from shoal.protections.generalization.nsga2 import Nsga2Settings, nsga2

HOT, WARM, COLD = 0.012, 0.004, 0.0005  # temperatures of the annealing, in units of NWP
LADDER = (1.5, 2, 3, 5, 10, 20, 50)  # the higher k of the front, as multiples of k
EFFORTS = {"quick": 2, "standard": 10, "thorough": 60}  # rounds at k; half as many if values are free
LONG, BINS = 400, 128  # an ordered column with more than LONG values is first searched in BINS bins
LONG_SHARE = 0.1  # share of the work per round if a column is long: NSGA-II finds most of the gain there
CASCADE_EVALUATIONS = 2_000  # evaluations of NSGA-II if suppression cascades, because each of them is slow then
MOST_PAIRS = 500  # largest number of pairs of nodes, one split and one joined, to try at once
MANY_VALUES = 4000  # a column of this many values halves the number of steps: a step reads every value of its column


@dataclass(frozen=True)
class AnnealingBudget:
    """The search budget: rounds of annealing, changed tuples per round, and evaluations of NSGA-II."""

    rounds: int
    work: float
    evaluations: int


def budget_of(problem: Problem, effort: str = "standard") -> AnnealingBudget:
    """Return the search budget of an effort: each round changes every tuple thousands of times, up to a limit.

    If values are free, the search space is larger. Fewer and longer rounds are better there.
    """
    free = any(problem.free)
    evaluations = CASCADE_EVALUATIONS if problem.cascades else 20_000
    work = max(15_000.0 * problem.counts.size, 2e6)
    rounds = max(EFFORTS[effort] // 2, 2) if free else EFFORTS[effort]
    return AnnealingBudget(rounds, min(work, 2e8 if free else 6e7), evaluations)


def search(problem: Problem, *, seed: int = 0, effort: str = "standard", control: Control | None = None) -> Front:
    """Return the front with the best generalization."""
    control = control or current()
    if effort not in EFFORTS:
        raise UsageError(f"effort must be one of {', '.join(EFFORTS)}, not {effort!r}.")
    fine, whole = without_empty(problem)
    binned = in_bins(fine, LONG, BINS)
    small = fine if binned is None else binned[0]
    budget = budget_of(small, effort)
    if binned is not None:
        budget = replace(budget, work=budget.work * LONG_SHARE)
    first = nsga2(small, seed=seed, settings=Nsga2Settings(evaluations=budget.evaluations), control=control)
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
    if any(nodes is not None for nodes in problem.splits):  # nodes are wider with the leaves that no record has
        points = [points_of(problem, whole(point.labels)[None], point.k)[0] for point in points]
        return front_of(points, evaluations, rounds=budget.rounds, **control.facts)
    points = [replace(point, labels=canonical(whole(point.labels), problem.sizes)) for point in points]
    return front_of(points, evaluations, rounds=budget.rounds, **control.facts)


def _turns(rounds: int, free: bool) -> list[tuple[bool, bool]]:
    """Return for each round whether it starts from the best point, and whether values keep their order.

    If values are free, the first quarter of the rounds treats them as ordered (by frequency). That search space is
    small, and its best point is a good start for the other rounds.
    """
    ordered = max(rounds // 4, 1) if free else 0
    last = rounds - rounds // 3
    return [(turn == ordered or turn >= last, turn < ordered) for turn in range(rounds)]


def _rank(point: FrontPoint) -> tuple[float, float]:
    return point.achievement, point.deviation


def _ladder(
    table: _Annealing, start: FrontPoint, budget: AnnealingBudget, seeds: list[int], control: Control
) -> Iterator[FrontPoint]:
    """Yield a point for each of several higher k, each from the point before."""
    labels = start.labels
    for step, (factor, seed) in enumerate(zip(LADDER, seeds, strict=True)):
        k = int(np.ceil(factor * start.k))
        if k > table.problem.n // 2 or not replace(table.problem, k=k).is_reachable:
            break
        if not control.show(step, len(LADDER), start.achievement, "higher k"):
            return
        point = table.round(labels, k, budget.work / 8, HOT, seed)
        yield point
        labels = point.labels
    control.show(len(LADDER), len(LADDER), start.achievement, "higher k")


class _Annealing:
    """The arrays of the problem in the form of the kernel: for each column, the tuples sorted by value."""

    def __init__(self, problem: Problem, control: Control) -> None:
        self.problem, self._control = problem, control
        self.steps = 0
        self._nodes = [j for j, nodes in enumerate(problem.splits) if nodes is not None]
        self._others = [j for j in range(len(problem.sizes)) if j not in self._nodes]
        most = max(problem.sizes)
        start = np.zeros((len(problem.sizes), most + 2), dtype=np.int64)
        for j, codes in enumerate(problem.codes):
            start[j, 1:] = np.cumsum(np.bincount(codes, minlength=most + 1))
        self._sizes = np.array(problem.sizes, dtype=np.int64)
        self._strides, base = _strides(self._sizes + 1, problem.set_of)
        order = np.argsort(problem.codes, axis=1, kind="stable").astype(np.int32)
        self._tuples = Tuples(problem.codes, base, problem.counts, order, start, problem.confidential)
        self._rules = Rules(problem.rules.integers, problem.rules.floats, problem.overall)

    def round(self, labels: Ints, k: int, work: float, hot: float, seed: int, in_order: bool = False) -> FrontPoint:
        """Anneal from a start; return the best feasible point, or that of one category per column."""
        best = self._annealed(labels, k, work, hot, seed, in_order) if not self._nodes else labels
        if self._nodes:
            best = self._with_nodes(labels, k)
            if any(self.problem.sizes[j] > 1 for j in self._others):
                rest = _Annealing(_with_fixed(self.problem, best, self._others), self._control)
                width = max(rest.problem.sizes)
                trial = rest._annealed(best[self._others, :width], k, work, hot, seed, in_order)
                self.steps += rest.steps
                best = best.copy()
                best[self._others, :width] = trial
                best = self._with_nodes(best, k)
        return min(points_of(self.problem, np.array([best, np.zeros_like(labels)]), k), key=_rank)

    def _with_nodes(self, labels: Ints, k: int) -> Ints:
        """Split and join nodes, alone or in pairs, as long as that helps; return the best labels."""
        problem = replace(self.problem, k=k)
        best, best_rank = labels, _infeasibility_rank(problem, labels[None])[0]
        while not self._control.stopped:
            single = _neighbours(problem, best, self._nodes)
            ranks = _infeasibility_rank(problem, single)
            self.steps += len(single)
            if len(single) and min(ranks) >= best_rank:
                order = sorted(range(len(single)), key=ranks.__getitem__)
                pairs = [
                    _neighbours(problem, single[i], self._nodes) for i in order[: max(1, MOST_PAIRS // len(single))]
                ]
                single = np.concatenate(pairs)
                ranks = _infeasibility_rank(problem, single)
                self.steps += len(single)
            if not len(single) or min(ranks) >= best_rank:
                break
            best_rank = min(ranks)
            best = single[ranks.index(best_rank)]
        return best

    def _annealed(self, labels: Ints, k: int, work: float, hot: float, seed: int, in_order: bool) -> Ints:
        """Return the best labels of an annealing that starts from these."""
        problem = self.problem
        start = np.zeros((len(self._sizes), int(self._sizes.max()) + 1), dtype=np.int64)
        start[:, :-1] = labels
        for j, size in enumerate(self._sizes):
            start[j, size] = size  # the label of a column that is not in the set of a tuple
        weight = problem.preference.weight
        free = np.array([f and not in_order for f in problem.free], dtype=np.int64)
        _, best, steps = anneal(
            self._tuples,
            Values(self._sizes, free, problem.positions, problem.rows, self._strides),
            self._rules,
            Goal(k, problem.n, problem.allowed, (1 - weight) / weight),
            Schedule(work, hot, COLD),
            start,
            np.uint64(seed),
            self._control.flag,
        )
        self.steps += int(steps)
        return np.asarray(best[:, :-1])


def _neighbours(problem: Problem, labels: Ints, columns: list[int]) -> Ints:
    """Return copies of the labels in which one node of these columns is split or joined."""
    stack = []
    for j in columns:
        nodes, size = problem.splits[j], problem.sizes[j]
        if nodes is None or size < 2:
            continue
        now = nodes.split_nodes(np.arange(size), labels[j, :size])
        seen = {labels[j, :size].tobytes()}
        for node in np.unique(nodes.node_at):
            flipped = now.copy()
            flipped[node] ^= 1
            trial = np.concatenate([[0], np.cumsum(nodes.cuts(flipped))])
            if trial.tobytes() not in seen:
                seen.add(trial.tobytes())
                candidate = labels.copy()
                candidate[j, :size] = trial
                stack.append(candidate)
    return np.array(stack) if stack else labels[None][:0]


def _infeasibility_rank(problem: Problem, stack: Ints) -> list[tuple[float, float, float]]:
    """Return per candidate: suppressed records beyond those allowed, achievement, preference deviation."""
    if not len(stack):
        return []
    costs = problem.evaluate(np.array([canonical(labels, problem.sizes) for labels in stack]))
    excess = np.maximum(costs.suppressed - problem.allowed, 0).astype(np.float64)
    return list(zip(excess.tolist(), costs.achievement.tolist(), costs.deviation.tolist(), strict=True))


def _with_fixed(problem: Problem, labels: Ints, columns: list[int]) -> Problem:
    """Return the problem of these columns; the fixed categories of the others become part of the set of a tuple."""
    others = [j for j in range(len(problem.sizes)) if j not in columns]
    fixed = [np.append(labels[j, : problem.sizes[j]], problem.sizes[j])[problem.codes[j]] for j in others]
    _, set_of = np.unique(np.vstack([problem.set_of, *fixed]), axis=1, return_inverse=True)
    sizes = tuple(problem.sizes[j] for j in columns)
    return replace(
        problem,
        codes=np.ascontiguousarray(problem.codes[columns]),
        set_of=set_of.reshape(-1).astype(np.int64),
        sizes=sizes,
        positions=np.ascontiguousarray(problem.positions[columns, : max(sizes)]),
        rows=np.ascontiguousarray(problem.rows[columns, : max(sizes)]),
        free=tuple(problem.free[j] for j in columns),
        splits=tuple(problem.splits[j] for j in columns),
    )


def _strides(radix: Ints, set_of: Ints) -> tuple[Ints, Ints]:
    """Return the multiplier of each column in the key of a class, and the part of the set of each tuple.

    The keys are exact if 62 bits suffice. Otherwise the multipliers are odd numbers modulo 2^64 (kernels/classes.py).
    """
    exact = float(np.prod(radix.astype(np.float64))) * (int(set_of.max()) + 1) < 2.0**62
    if exact:
        strides = np.concatenate([[1], np.cumprod(radix)]).astype(np.int64)
    else:
        state = np.random.SeedSequence(62).generate_state(radix.size + 1, np.uint64) | np.uint64(1)
        strides = state.view(np.int64)
    with np.errstate(over="ignore"):
        return strides[:-1].copy(), set_of * strides[-1]
