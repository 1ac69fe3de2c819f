"""The memetic algorithm of Chertov and Tavrov 2017: swaps evolve, the feasible ones of several runs are kept.

As published: random swaps, local search to the most similar record, tournaments, one-point recombination, swap
and resetting mutation that rises tenfold when the population gets uniform, the fittest of parents and offspring
survive. Two options go beyond the paper: the tau test as a factor of the fitness, which the published one lacks,
and flow solutions among the first individuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

import numpy as np

from shoal.arrays import Bytes, Floats
from shoal.engine.control import Control, current
from shoal.errors import Stopped, UsageError
from shoal.protections.regions.flow import Network
from shoal.protections.regions.kernels import masking as kernels
from shoal.protections.regions.kernels import swap_memetic
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.task import Answer, Solution, Task

ALL_PAIRS = 40_000_000  # metrics kept at most; beyond, only the nearest partners are looked up
NEAREST = 16
REFINED = 200  # solutions that flow seeding brings to the optimum of their signals


@dataclass(frozen=True)
class Settings:
    """The paper's parameters. `centre` is that of the penalty on rows; by default 0.915 of the movable records."""

    runs: int = 10
    generations: int = 1000
    population: int = 100
    pairs: int = 40
    tournament: int = 5
    recombination: float = 1.0
    mutation: float = 0.001
    p_mem: float = 0.75
    uniform: float = 0.03
    boost: float = 10.0
    centre: float | None = None
    tau: bool = False

    def __post_init__(self) -> None:
        for name in ("runs", "generations", "population", "pairs", "tournament"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("recombination", "mutation", "p_mem"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name} must be between 0 and 1, not {getattr(self, name)}")


def mask_by_evolution(
    task: Task,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    seeds: Sequence[Solution] = (),
    network: Network | None = None,
    control: Control | None = None,
) -> Answer:
    """All feasible solutions of the runs' last populations, the least distortion first.

    seeds: solutions that every run starts with (flow seeding); in the end the feasible solutions then get the
    swaps of least distortion for their signals.
    """
    control = control or current()
    settings = settings or Settings()
    network = network or Network(task)
    tables = _SharedTables(task, settings, network, seeds)
    numbers = np.random.SeedSequence(seed).generate_state(settings.runs, np.uint64)
    solutions: dict[tuple[bytes, float], Solution] = {}
    runs = _Runs(tables, control)
    control.run([partial(runs.run, place, number) for place, number in enumerate(numbers)])
    ended = [runs.ended[place] for place in sorted(runs.ended)]
    for run_solutions, _ in ended:
        for solution in run_solutions:
            solutions.setdefault((solution.counts.tobytes(), round(solution.metric, 9)), solution)
    if not solutions:
        control.check()
    ranked = sorted(solutions.values(), key=_rank)
    feasible = [s for s in ranked if s.feasible]
    with suppress(Stopped):  # then they stay as they are
        feasible = _refined(task, settings, network, feasible) if seeds else feasible
    return Answer(
        solutions=feasible,
        candidates=sum(len(run_solutions) for run_solutions, _ in ended),
        fittest=max(ranked, key=lambda s: s.facts["fitness"]),
        traces=[trace for _, trace in ended],
        stopped=control.stopped,
    )


class _Runs:
    """The runs that have ended, in any order; progress shows them in theirs."""

    def __init__(self, tables: _SharedTables, control: Control) -> None:
        self.ended: dict[int, tuple[list[Solution], Floats]] = {}
        self._tables, self._control = tables, control
        self._lock, self._shown = Lock(), 0
        self._show(None)

    def run(self, place: int, number: int) -> None:
        """Do one run, unless the work is stopped; the one that is under way then ends with its last generation."""
        if self._control.stopped:
            return
        result = self._tables.run(number, self._control.flag)
        with self._lock:
            self.ended[place] = result
            while self._shown in self.ended and not self._control.stopped:
                self._shown += 1
                first = (self.ended[place][0] for place in range(self._shown))
                self._show(min((s.metric for run in first for s in run if s.feasible), default=None))

    def _show(self, best: float | None) -> None:
        self._control.show(self._shown, self._tables.settings.runs, best, "runs")


def _refined(task: Task, settings: Settings, network: Network, solutions: Sequence[Solution]) -> list[Solution]:
    """The same signals, each once, reached by the swaps of least distortion."""
    refined: dict[bytes, Solution] = {}
    for solution in solutions[:REFINED]:
        flow = network.target(solution.counts)
        if flow is not None and solution.counts.tobytes() not in refined:
            better = network.solution(flow)
            facts = {"fitness": fitness(task, settings, better)}
            refined[solution.counts.tobytes()] = replace(better, facts=facts)
    return sorted(refined.values(), key=_rank)


def _rank(solution: Solution) -> tuple[float, list[int]]:
    return solution.metric, solution.counts.tolist()


def fitness(task: Task, settings: Settings, solution: Solution) -> float:
    """The published fitness of a solution: distortion, compatibility and penalty, each between 0 and 1."""
    left = max(0.0, 1.0 - solution.metric / task.worst)
    rows = len(solution.swaps)
    return left * solution.verdict.compatibility * penalty(rows, penalty_centre(task, settings))


def penalty(rows: float, centre: float) -> float:
    """The factor against ever more rows: 1 / (1 + exp((rows - centre) / 2))."""
    return float(1.0 / (1.0 + np.exp(min((rows - centre) / 2.0, 700.0))))


def penalty_centre(task: Task, settings: Settings) -> float:
    """Where the penalty is one half: given, or 0.915 times the movable vital records (130 of the paper's 142)."""
    return settings.centre if settings.centre is not None else max(1.0, float(np.round(0.915 * task.movable)))


class _SharedTables:
    """What all runs share: the tables of the task."""

    def __init__(self, task: Task, settings: Settings, network: Network, seeds: Sequence[Solution]) -> None:
        self.task, self.settings = task, settings
        vitals, partners, m = task.vitals, task.partners, task.districts
        self.where_v = task.district[vitals].astype(np.int32)
        self.where_u = network.where
        self.bounds_v = np.searchsorted(self.where_v, np.arange(m + 1)).astype(np.int64)
        self.bounds_u = network.bounds
        table = network.all_nearest(NEAREST)
        self.who, self.near = table.who, table.cost
        values = task.influential
        columns = np.concatenate([vitals, partners])
        self.ordinal, self.nominal = values.ordinal.take(columns, axis=1), values.nominal.take(columns, axis=1)
        self.dense = np.empty((0, 0))
        if vitals.size * partners.size <= ALL_PAIRS:
            self.dense = np.empty((partners.size, vitals.size))
            kernels.all_metrics(
                self.ordinal, self.nominal, vitals.size, values.weights, values.same, values.other, self.dense
            )
        self.prices = np.zeros((4, max(1, values.weights.size, values.same.size)))
        self.prices[0, 0] = vitals.size
        for row, array in ((1, values.weights), (2, values.same), (3, values.other)):
            self.prices[row, : array.size] = array
        self.shape = np.stack([task.signal.offset, task.signal.scale, np.bincount(task.district, minlength=m)])
        self.restriction = self._restriction_table()
        place = np.full(task.district.size, -1, dtype=np.int64)
        place[vitals], place[partners] = np.arange(vitals.size), np.arange(partners.size)
        self.seeds = [place[s.swaps] for s in list(seeds)[: settings.population]]

    def run(self, seed: int, flag: Bytes) -> tuple[list[Solution], Floats]:
        """One run's last population, and its best, mean and deviation by generation."""
        task, settings = self.task, self.settings
        size = settings.population + 2 * settings.pairs
        rows_v = np.zeros((size, task.vitals.size), dtype=np.int32)
        rows_u = np.zeros_like(rows_v)
        rows_c = np.zeros(rows_v.shape)
        lengths, total, fitness = np.zeros(size, dtype=np.int64), np.zeros(size), np.full(size, -1.0)
        for i, swaps in enumerate(self.seeds):
            lengths[i] = len(swaps)
            rows_v[i, : len(swaps)], rows_u[i, : len(swaps)] = swaps[:, 0], swaps[:, 1]
        trace = np.zeros((settings.generations, 3))
        sizes = [settings.population, settings.pairs, settings.tournament, settings.generations, len(self.seeds)]
        swap_memetic.evolve(
            np.array([seed], dtype=np.uint64), np.array(sizes, dtype=np.int64), self._numbers(),
            self.where_v, self.where_u, self.bounds_v, self.bounds_u, self.who, self.near,
            self.dense, self.ordinal, self.nominal, self.prices,
            task.signal.counts, self.shape, task.outlying, self.restriction,
            critical_taus(task.districts, task.limits.alpha), rows_v, rows_u, rows_c, lengths, total, fitness,
            trace, flag,
        )  # fmt: skip
        solutions = []
        for i in np.flatnonzero(fitness[: settings.population] >= 0.0):  # all of them, unless it was stopped early
            n = lengths[i]
            swaps = np.stack([task.vitals[rows_v[i, :n]], task.partners[rows_u[i, :n]]], axis=1)
            counts = task.check(swaps)
            metric = float(rows_c[i, :n].sum())
            facts = {"fitness": float(fitness[i])}
            solutions.append(Solution(swaps, counts, metric, task.judge(counts, metric), facts))
        return solutions, trace

    def _numbers(self) -> Floats:
        s = self.settings
        upper = float(self.task.limits.side == "upper")
        return np.array(
            [
                self.task.worst,
                penalty_centre(self.task, s),
                s.p_mem,
                s.recombination,
                s.mutation,
                s.uniform,
                s.boost,
                float(s.tau),
                upper,
            ]
        )

    def _restriction_table(self) -> Floats:
        task = self.task
        counts = np.arange(int(task.room[task.outlying].max()) + 1)
        rows = [
            task.restrictions.alone(int(d), (counts - task.signal.offset[d]) / task.signal.scale[d])
            for d in task.outlying
        ]
        return np.ascontiguousarray(rows)
