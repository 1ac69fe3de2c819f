"""Memetic search: a population of annealed partitions, children that inherit whole groups, and recombination
of all groups met by set partitioning: the modern answer to what Solanas et al. left open (spec/1, spec/5).

    parents: annealing chains from MDAV with their own random numbers
    pool: the groups of all partitions met while the chains were cold
    repeat: the best partition of groups in the pool (a small integer programme) joins the population
        children: of the best and a random one, take groups by loss a record, least first, while they do not overlap;
        what is left over forms groups or joins the nearest; then a short annealing from a low temperature
    the best partition met
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import check_choice, check_k
from shoal.evolve.control import Control
from shoal.evolve.progress import Progress
from shoal.partition.chains import Chain, random_word, run_chains
from shoal.partition.checkpoint import Checkpoint
from shoal.partition.effort import EFFORTS, proposals
from shoal.partition.mdav import mdav
from shoal.partition.partition import KPartition, by_first_record, total_squares
from shoal.partition.set_partition import Pool, recombine
from shoal.partition.space import Space, survey, without_oversized

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]

# parents, their share of the work, generations, children a generation, the share of the effort's proposals: many
# short chains for small groups, which recombine well, and time for the integer programme; for large groups, which
# hardly ever fit together, few long chains
SMALL_K = 4
PLANS = {
    True: {"quick": (2, 0.7, 1, 1, 0.5), "standard": (4, 0.6, 2, 2, 0.5), "thorough": (8, 0.6, 6, 4, 0.6)},
    False: {"quick": (1, 0.7, 1, 1, 1.0), "standard": (1, 0.7, 3, 1, 1.0), "thorough": (3, 0.7, 6, 2, 1.0)},
}
WARM = 0.08  # where a child's temperature starts, in units of the local scale
MOST_COLUMNS = 60_000


def memetic(
    values: Floats,
    k: int,
    *,
    weights: Floats | None = None,
    seed: int = 0,
    effort: str = "standard",
    threads: int | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
    checkpoint: Path | None = None,
    resume: bool = False,
) -> KPartition:
    """The best partition of a population of annealed ones and of their groups."""
    clock = time.process_time()
    check_k(k, len(values))
    check_choice("effort", effort, EFFORTS)
    first = mdav(values, k, weights=weights)
    before = first.sse(values, weights)
    if len(values) < 2 * k or before == 0.0:
        return first
    space = survey(values, k, weights, seed=seed, threads=threads)
    sst = total_squares(values, weights)
    plan = PLANS[k <= SMALL_K][effort]
    work = int(plan[-1] * proposals(space.n, effort))
    store = Checkpoint(checkpoint, values, weights, k, ("memetic", effort, seed), work)
    run = _Run(values, weights, space, seed, plan, work, store)
    run.note("mdav", sst, before, time.process_time() - clock)
    run.control = Control(threads=threads, progress=progress, total=work, seconds=seconds, unit=100.0 / sst)
    run.go(first, resume)
    facts: dict[str, Any] = {"stages": run.stages, "effort": effort, "proposals": run.proposals}
    if run.control.stopped:
        facts["stopped"] = True
    return KPartition(run.best.astype(np.int64), facts)


class _Run:
    """The population, the pool of groups and the stages done so far."""

    control: Control

    def __init__(
        self,
        values: Floats,
        weights: Floats | None,
        space: Space,
        seed: int,
        plan: tuple[int, float, int, int, float],
        work: int,
        store: Checkpoint,
    ) -> None:
        self.values, self.weights, self.space, self.seed, self.store = values, weights, space, seed, store
        self.parents, share, self.generations, self.children, _ = plan
        self.parent_work = int(work * share / self.parents)
        self.child_work = int(work * (1 - share) / (self.generations * self.children))
        self.population: list[Indices] = []
        self.losses: list[float] = []
        self.kept: list[Indices] = []
        self.pool = Pool(values, weights)
        self.stages: list[dict[str, Any]] = []
        self.done_before = 0  # by the search that this one resumes

    @property
    def proposals(self) -> int:
        """Those of this search alone."""
        return int(self.control.done) - self.done_before

    @property
    def best(self) -> Indices:
        return self.population[int(np.argmin(self.losses))]

    def go(self, first: KPartition, resume: bool) -> None:
        """All stages, from the first or from the checkpoint's."""
        self.admit(first.labels.astype(np.int32))
        chains, stage, kept = self.store.load() if resume else ([], 0, [])
        for labels in kept:
            self.admit(labels)
        earlier = self.parents * self.parent_work + (stage - 1) * self.children * self.child_work if stage else 0
        self.done_before = earlier + sum(chain.done for chain in chains)
        self.control.done = float(self.done_before)
        while stage <= self.generations and not self.control.stopped:
            clock, before = time.process_time(), min(self.losses)
            if not chains:
                chains = [self.chain(stage, c, first) for c in range(self.children if stage else self.parents)]
            self.store.save(chains, stage=stage, kept=self.kept)
            run_chains(
                self.space,
                chains,
                self.control,
                f"generation {stage}" if stage else "parents",
                partial(self.store.save, chains, stage=stage, kept=self.kept),
            )
            if self.control.stopped:
                self.store.save(chains, stage=stage, kept=self.kept, now=True)
            for chain in chains:
                for labels in [*chain.seen, chain.labels] if not self.control.stopped else [chain.labels]:
                    self.admit(labels)
            name = f"{len(chains)} {'children' if stage else 'parents'} of {chains[0].proposals} proposals"
            self.note(name, before, min(self.losses), time.process_time() - clock)
            if not self.control.stopped:
                self.recombine()
            chains, stage = [], stage + 1

    def chain(self, stage: int, c: int, first: KPartition) -> Chain:
        """The c-th chain of a stage: a parent from the start, a child of two of the population later."""
        word = random_word(self.seed, stage, c)
        if stage == 0:
            return Chain(first.labels.astype(np.int32), word, self.parent_work)
        rng = np.random.default_rng([self.seed, stage, c])
        one = int(np.argmin(self.losses))
        other = int(rng.integers(len(self.population)))
        child = inherit(self.values, self.space, self.population[one], self.population[other], self.weights)
        return Chain(child, word, self.child_work, WARM)

    def admit(self, labels: Indices) -> None:
        """Take a partition into the population and its groups into the pool."""
        labels = by_first_record(labels).astype(np.int32)
        loss = self.space.state(labels)[1]
        if loss in self.losses:
            return
        self.population.append(labels)
        self.losses.append(loss)
        self.kept.append(self.population[-1])
        if len(self.pool.groups) < MOST_COLUMNS:
            self.pool.add_labels(self.population[-1])

    def recombine(self) -> None:
        """The best partition of the pool's groups joins the population."""
        clock, before = time.process_time(), min(self.losses)
        if len(self.pool.groups) >= MOST_COLUMNS:
            return
        [labels] = self.control.run([lambda: recombine(self.pool, self.best, self.space.n)])
        self.admit(labels.astype(np.int32))
        self.note(
            f"set partitioning of {len(self.pool.groups)} groups", before, min(self.losses), time.process_time() - clock
        )

    def note(self, name: str, before: float, after: float, cpu: float) -> None:
        self.stages.append({"name": name, "loss_before": before, "loss_after": after, "cpu_seconds": cpu})


def inherit(values: Floats, space: Space, one: Indices, other: Indices, weights: Floats | None) -> Indices:
    """A child of whole groups of two parents, the cheapest a record first, repaired to groups of k to 2k - 1."""
    pool = Pool(values, weights)
    pool.add_labels(one)
    pool.add_labels(other)
    sizes = np.array([g.size for g in pool.groups])
    labels = np.full(space.n, -1, dtype=np.int64)
    count = 0
    for c in np.argsort(np.array(pool.costs) / sizes, kind="stable"):
        rows = pool.groups[c]
        if (labels[rows] < 0).all():
            labels[rows] = count
            count += 1
    return repair(values, space, labels, weights)


def repair(values: Floats, space: Space, labels: NDArray[np.int64], weights: Floats | None) -> Indices:
    """Records without a group form groups of their own if they are k or more, else each joins the nearest group."""
    left, placed = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    if left.size >= space.k:
        part = mdav(values[left], space.k, weights=None if weights is None else weights[left])
        labels[left] = labels.max() + 1 + part.labels
    else:
        for i in left:
            labels[i] = labels[placed[((values[placed] - values[i]) ** 2).sum(axis=1).argmin()]]
    return without_oversized(values, space.k, KPartition(labels), weights).labels.astype(np.int32)
