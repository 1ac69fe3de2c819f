"""The memetic algorithm of Chertov and Tavrov 2017: sets of swaps evolve, and the feasible ones of all runs are kept.

As published: random swaps, local search to the most similar record, tournaments, one-point recombination, and swap and
resetting mutation, which rises tenfold when the population becomes uniform. The fittest of parents and offspring
survive. Two options go beyond the publication: the tau test as a factor of the fitness, and solutions of flow among the
first individuals.
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
from shoal.errors import Stopped
from shoal.protections.regions.flow import Network
from shoal.protections.regions.kernels import masking as kernels
from shoal.protections.regions.kernels import swap_memetic
from shoal.protections.regions.outliers import critical_taus
from shoal.protections.regions.task import Answer, Solution, Task

MAX_PAIRS = 40_000_000  # with more pairs of records, only the nearest partners are kept
NEAREST_PARTNERS = 16
MAX_REFINED = 200  # solutions that get the swaps with the lowest distortion, with flow seeds


@dataclass(frozen=True)
class MemeticSettings:
    """The published parameters. centre: of the penalty on the number of swaps; see `penalty_centre`."""

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


def mask_by_evolution(
    task: Task,
    settings: MemeticSettings | None = None,
    *,
    seed: int = 0,
    seeds: Sequence[Solution] = (),
    network: Network | None = None,
    control: Control | None = None,
) -> Answer:
    """Return all feasible solutions of the last populations of the runs, the lowest distortion first.

    seeds: solutions of flow that every run starts with. The feasible solutions then get the swaps with the lowest
    distortion for their signals at the end.
    """
    control = control or current()
    settings = settings or MemeticSettings()
    network = network or Network(task)
    tables = _SharedTables(task, settings, network, seeds)
    numbers = np.random.SeedSequence(seed).generate_state(settings.runs, np.uint64)
    solutions: dict[tuple[bytes, float], Solution] = {}
    runs = _Runs(tables, control)
    control.run([partial(runs.run, place, number) for place, number in enumerate(numbers)])
    ended = [runs.ended[place] for place in sorted(runs.ended)]
    for run_solutions, _ in ended:
        for solution in run_solutions:
            solutions.setdefault((solution.counts.tobytes(), round(solution.distortion, 9)), solution)
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
    """The runs that have ended, in any order; the progress shows them in the order of their numbers."""

    def __init__(self, tables: _SharedTables, control: Control) -> None:
        self.ended: dict[int, tuple[list[Solution], Floats]] = {}
        self._tables, self._control = tables, control
        self._lock, self._shown = Lock(), 0
        self._show(None)

    def run(self, place: int, number: int) -> None:
        """Do one run, unless the work is stopped; a run under way then ends with its current generation."""
        if self._control.stopped:
            return
        result = self._tables.run(number, self._control.flag)
        with self._lock:
            self.ended[place] = result
            while self._shown in self.ended and not self._control.stopped:
                self._shown += 1
                first = (self.ended[place][0] for place in range(self._shown))
                self._show(min((s.distortion for run in first for s in run if s.feasible), default=None))

    def _show(self, best: float | None) -> None:
        self._control.show(self._shown, self._tables.settings.runs, best, "runs")


def _refined(task: Task, settings: MemeticSettings, network: Network, solutions: Sequence[Solution]) -> list[Solution]:
    """Return one solution per signal, each with the swaps of the lowest distortion."""
    refined: dict[bytes, Solution] = {}
    for solution in solutions[:MAX_REFINED]:
        flow = network.reach(solution.counts)
        if flow is not None and solution.counts.tobytes() not in refined:
            better = network.solution(flow)
            facts = {"fitness": fitness(task, settings, better)}
            refined[solution.counts.tobytes()] = replace(better, facts=facts)
    return sorted(refined.values(), key=_rank)


def _rank(solution: Solution) -> tuple[float, list[int]]:
    return solution.distortion, solution.counts.tolist()


def fitness(task: Task, settings: MemeticSettings, solution: Solution) -> float:
    """Return the published fitness: the product of distortion, compatibility and penalty, each between 0 and 1."""
    kept = max(0.0, 1.0 - solution.distortion / task.worst)
    rows = len(solution.swaps)
    return kept * solution.verdict.compatibility * penalty(rows, penalty_centre(task, settings))


def penalty(rows: float, centre: float) -> float:
    """Return the penalty on the number of swaps: 1 / (1 + exp((rows - centre) / 2))."""
    return float(1.0 / (1.0 + np.exp(min((rows - centre) / 2.0, 700.0))))


def penalty_centre(task: Task, settings: MemeticSettings) -> float:
    """Return the number of swaps at which the penalty is one half; by default 0.915 of the records to move.

    In the publication it is 130 of 142 records.
    """
    return settings.centre if settings.centre is not None else max(1.0, float(np.round(0.915 * task.movable)))


class _SharedTables:
    """The tables of the task, which all runs share."""

    def __init__(self, task: Task, settings: MemeticSettings, network: Network, seeds: Sequence[Solution]) -> None:
        self.task, self.settings = task, settings
        targets, partners, m = task.targets, task.partners, task.region_count
        region = task.region[targets].astype(np.int32)
        first = np.searchsorted(region, np.arange(m + 1)).astype(np.int64)
        self.records = swap_memetic.Records(region, network.where, first, network.bounds)
        values, table = task.matching, network.all_nearest(NEAREST_PARTNERS)
        columns = np.concatenate([targets, partners])
        ordinal, nominal = values.ordinal.take(columns, axis=1), values.nominal.take(columns, axis=1)
        dense = np.empty((0, 0))
        if targets.size * partners.size <= MAX_PAIRS:
            dense = np.empty((partners.size, targets.size))
            kernels.all_metrics(ordinal, nominal, targets.size, values.weights, values.same, values.other, dense)
        self.metrics = swap_memetic.Metrics(
            table.who, table.cost, dense, ordinal, nominal, values.weights, values.same, values.other
        )
        self.goal = self._goal()
        place = np.full(task.region.size, -1, dtype=np.int64)
        place[targets], place[partners] = np.arange(targets.size), np.arange(partners.size)
        self.seeds = [place[s.swaps] for s in list(seeds)[: settings.population]]

    def run(self, seed: int, flag: Bytes) -> tuple[list[Solution], Floats]:
        """Return the last population of a run, and best, mean and standard deviation of its fitness per generation."""
        task, settings = self.task, self.settings
        size = settings.population + 2 * settings.pairs
        rows_v = np.zeros((size, task.targets.size), dtype=np.int32)
        rows_u = np.zeros_like(rows_v)
        rows_c = np.zeros(rows_v.shape)
        lengths, total, fitness = np.zeros(size, dtype=np.int64), np.zeros(size), np.full(size, -1.0)
        for i, swaps in enumerate(self.seeds):
            lengths[i] = len(swaps)
            rows_v[i, : len(swaps)], rows_u[i, : len(swaps)] = swaps[:, 0], swaps[:, 1]
        trace = np.zeros((settings.generations, 3))
        individuals = swap_memetic.Individuals(rows_v, rows_u, rows_c, lengths, total, fitness)
        random_state = np.array([seed], dtype=np.uint64)
        swap_memetic.evolve(random_state, self.records, self.metrics, self.goal, self._plan(), individuals, trace, flag)
        solutions = []
        for i in np.flatnonzero(
            fitness[: settings.population] >= 0.0
        ):  # all individuals, unless the run was stopped early
            n = lengths[i]
            swaps = np.stack([task.targets[rows_v[i, :n]], task.partners[rows_u[i, :n]]], axis=1)
            counts = task.check(swaps)
            distortion = float(rows_c[i, :n].sum())
            facts = {"fitness": float(fitness[i])}
            solutions.append(Solution(swaps, counts, distortion, task.judge(counts, distortion), facts))
        return solutions, trace

    def _plan(self) -> swap_memetic.Plan:
        """The sizes and rates of a run, as the kernel takes them."""
        s, task = self.settings, self.task
        sizes = np.bincount(task.region, minlength=task.region_count).astype(np.float64)
        return swap_memetic.Plan(
            population=s.population,
            pairs=s.pairs,
            tournament=s.tournament,
            generations=s.generations,
            seeds=len(self.seeds),
            nearest_partner=float(s.p_mem),
            crossover=float(s.recombination),
            mutation=float(s.mutation),
            uniform=float(s.uniform),
            boost=float(s.boost),
            region_sizes=sizes,
        )

    def _goal(self) -> swap_memetic.Goal:
        """What makes an individual fit, as the kernel takes it."""
        task, signal = self.task, self.task.signal
        return swap_memetic.Goal(
            counts=signal.counts,
            offset=np.array(signal.offset, dtype=np.float64),
            scale=np.array(signal.scale, dtype=np.float64),
            outlying=task.outlying,
            restriction=self._restriction_table(),
            critical=critical_taus(task.region_count, task.limits.alpha),
            worst=float(task.worst),
            centre=float(penalty_centre(task, self.settings)),
            tau=bool(self.settings.tau),
            upper_only=task.limits.side == "upper",
        )

    def _restriction_table(self) -> Floats:
        task = self.task
        counts = np.arange(int(task.room[task.outlying].max()) + 1)
        rows = [
            task.restrictions.alone(int(d), (counts - task.signal.offset[d]) / task.signal.scale[d])
            for d in task.outlying
        ]
        return np.ascontiguousarray(rows)
