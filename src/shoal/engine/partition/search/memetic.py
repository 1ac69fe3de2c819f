"""Memetic search: set partitioning recombines the groups of annealed partitions, again and again. It continues the
genetic approach of Solanas 2008.

    parents: annealing chains from the loss's first partition (MDAV's for squared errors), with different random numbers
    pool: the groups of all local optima of the cold chains; each optimum is crossed with the best partition: of every
        set of records that both divide into whole groups, the groups of the cheaper one
    repeat: the best partition into groups of the pool (small integer programmes) joins the population
        children, each annealed: the best partition from a low temperature; and in turn
            a cross of the best and a random one, also from a low temperature: their groups by loss per record, the
            cheapest first, while they do not overlap; the other records form groups or join the nearest
            a newcomer like the parents, but with fewer proposals
        in some stages, for small groups: the best partition into groups of the pool and their variants
    result: the best partition so far
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Indices, Ints
from shoal.engine.control import Control
from shoal.engine.partition.chains import Chain, run_chains
from shoal.engine.partition.kernels.trees import cut
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.partition import KPartition, by_first_record
from shoal.engine.partition.recombine import Recombination, SolverLimits, is_sound, recombine
from shoal.engine.partition.search.prepared import PreparedSearch, SearchSettings
from shoal.engine.partition.set_partition import Pool
from shoal.engine.partition.space import SearchSpace, random_state_of, without_oversized
from shoal.errors import Stopped

# Chains of the first generation, times k, up to 2,000 records. Larger groups and files need longer chains, and
# therefore fewer. In a large file the snapshots of one chain contain many groupings of every region.
PARENTS = {"quick": 6, "standard": 18, "thorough": 40}
MOST_PARENTS = 10
PARENTS_SHARE = {"quick": 1.0, "standard": 0.6, "thorough": 0.5}  # share of the work; the rest is for the children
GENERATIONS = {"quick": 0, "standard": 3, "thorough": 8}
LIMITS = {"quick": SolverLimits(300, 10), "standard": SolverLimits(200, 20), "thorough": SolverLimits(2_000, 100)}
CHILDREN = 2  # per generation: one of the best alone; then in turn one of two parents, or a newcomer
WARM = 0.11  # first temperature of a child, in units of the local scale
SNAPSHOTS = {
    "quick": 16,
    "standard": 40,
    "thorough": 40,
}  # of all parents, at least a quarter per parent; half per child
MOST_COLUMNS = 400_000
REGION = 2_000  # records per integer programme


class ColumnGenerationPlan(NamedTuple):
    """When to run column generation: after which stages, up to which k, and with which solver limits."""

    stages: tuple[int, ...]
    largest: int
    annealing: float  # share of the work for annealing, if column generation runs
    limits: SolverLimits


# For large groups the relaxation takes longer than additional annealing and gains less.
CLOSING = {
    "quick": ColumnGenerationPlan((), 0, 1.0, SolverLimits(0, 0)),
    "standard": ColumnGenerationPlan((3,), 3, 0.75, SolverLimits(500, 60, few=200, wider=1.4, careful=1.15)),
    "thorough": ColumnGenerationPlan((4, 8), 6, 1.0, SolverLimits(8_000, 100, 20, few=300, wider=1.15, careful=1.08)),
}


def memetic(loss: GroupLoss, control: Control, settings: SearchSettings) -> KPartition:
    """Return the best partition of a population of annealed ones and of their groups."""
    closing = CLOSING[settings.effort]
    work = int(loss.proposals(settings.effort) * (closing.annealing if looks_around(loss, closing) else 1.0))
    search = PreparedSearch(loss, control, settings, method="memetic", proposals=work)
    if search.has_nothing_to_improve:
        return search.result(search.first.labels, search.first.facts)
    run = _Run(search)
    with suppress(Stopped):  # the first groups of a child may be stopped: the population exists already
        run.go()
    facts: dict[str, Any] = {"stages": run.stages, "effort": settings.effort, "proposals": run.proposals}
    return search.result(run.best, facts | control.facts)


def looks_around(loss: GroupLoss, closing: ColumnGenerationPlan) -> bool:
    """Return whether column generation runs at all."""
    return loss.looks_around and loss.k <= closing.largest


class _Run:
    """The population, the pool of groups and the stages done so far."""

    def __init__(self, search: PreparedSearch) -> None:
        effort, work, space = search.settings.effort, search.proposals, search.space
        self.search, self.space, self.control, self.seed = search, space, search.control, search.settings.seed
        self.limits, self.closing, self.snapshots = LIMITS[effort], CLOSING[effort], SNAPSHOTS[effort]
        share, self.generations = PARENTS_SHARE[effort], GENERATIONS[effort]
        wished = PARENTS[effort] / space.k / max(1.0, space.n / 2000)
        self.parents = int(min(MOST_PARENTS, max(1.0, wished)))
        self.parent_work = int(work * share / self.parents)
        self.child_work = int(work * (1 - share) / max(1, self.generations * CHILDREN))
        self.population: list[Indices] = []
        self.losses: list[float] = []
        self.pool = Pool(space.loss)
        self.stages = [search.stage(search.loss.first_name, search.total, search.first_loss)]
        self.done_before = 0  # by the search that this one resumes

    @property
    def proposals(self) -> int:
        """The proposals of this search, without those of the search that it resumes."""
        return int(self.control.done) - self.done_before

    @property
    def best(self) -> Indices:
        return self.population[int(np.argmin(self.losses))]

    def go(self) -> None:
        """Run all stages, from the first one or from that of the checkpoint."""
        self.admit(self.search.first.labels.astype(np.int32))
        checkpoint = self.search.checkpoint
        resumed = checkpoint.load(self.fits) if self.search.settings.resume else ([], 0, [], [])
        chains, stage, kept, recombined = resumed
        for labels in kept:
            self.admit(labels, crossed=True)
        earlier = self.parents * self.parent_work + (stage - 1) * CHILDREN * self.child_work if stage else 0
        self.done_before = earlier + sum(chain.done for chain in chains)
        self.control.done = float(self.done_before)
        while stage <= self.generations and not self.control.stopped:
            before = min(self.losses)
            if not chains:
                chains = [self.chain(stage, c) for c in range(CHILDREN if stage else self.parents)]
            save = partial(checkpoint.save, chains, stage=stage, kept=list(self.population))
            save()
            run_chains(self.space, chains, self.control, f"generation {stage}" if stage else "parents", save)
            if self.control.stopped:
                save(now=True)
            for chain in chains:
                for labels in [*chain.seen, chain.labels] if not self.control.stopped else [chain.labels]:
                    self.admit(labels)
            name = f"{len(chains)} {'children' if stage else 'parents'} of {chains[0].proposals:,} proposals"
            self.stages.append(self.search.stage(name, before, min(self.losses)))
            if not self.control.stopped:
                self.recombine(stage, recombined, partial(save, kept=self.population))
            chains, recombined, stage = [], [], stage + 1

    def fits(self, chains: list[Chain], stage: int, *_: Any) -> bool:
        """Return whether a checkpoint has the chains of its stage."""
        return stage <= self.generations and len(chains) == (CHILDREN if stage else self.parents)

    def chain(self, stage: int, c: int) -> Chain:
        """Return the c-th chain of a stage: a parent in the first stage, a child or a newcomer later."""
        random_state = random_state_of(self.seed, stage, c)
        looks = self.snapshots // 2 if stage else max(self.snapshots // 4, self.snapshots // self.parents)
        if stage == 0 or (c == 1 and stage % 2 == 0):
            work = self.child_work if stage else self.parent_work
            return Chain(self.search.first.labels.astype(np.int32), random_state, work, snapshots=looks)
        labels = self.best
        if c > 0:
            other = int(np.random.default_rng([self.seed, stage, c]).integers(len(self.population)))
            labels = inherit(self.space.loss, self.best, self.population[other])
        return Chain(labels, random_state, self.child_work, WARM, looks)

    def admit(self, labels: NDArray[Any], crossed: bool = False) -> None:
        """Add a partition to the population, its groups to the pool, and its cross with the best one."""
        labels = by_first_record(labels).astype(np.int32)
        loss = self.space.state(labels)[1]
        if loss in self.losses:
            return
        self.population.append(labels)
        self.losses.append(loss)
        if len(self.pool.groups) < MOST_COLUMNS:
            self.pool.add_labels(self.population[-1])
        if len(self.population) > 1 and not crossed:
            self.admit(cross(self.space, self.best, labels))

    def recombine(self, stage: int, begun: list[Recombination], save: Callable[..., None]) -> None:
        """Add the best partition into groups of the pool to the population, in some stages also of their variants.

        A large file is recombined region by region.
        """
        before = min(self.losses)
        if len(self.pool.groups) >= MOST_COLUMNS:
            return
        self.control.advance(0.0, None, f"best of {len(self.pool.groups)} groups")
        region = regions(self.space, self.best, random_state_of(self.seed, stage))
        inside = [region == r for r in range(int(region.max()) + 1)]
        look_around = stage in self.closing.stages and looks_around(self.space.loss, self.closing)
        limits = self.closing.limits if look_around else self.limits
        sizes = [int(records.sum()) for records in inside]
        if begun and (len(begun) != len(sizes) or not all(map(self.is_sound, begun, sizes))):
            raise self.search.checkpoint.damaged()
        states = begun or [Recombination(self.best[records]) for records in inside]

        def after_step(r: int, state: Recombination) -> bool:
            states[r] = state
            save(recombined=states)
            return self.control.advance(0.0)

        def in_region(r: int, pool: Pool) -> Recombination:
            near = self.near(inside[r]) if look_around else None
            return recombine(pool, states[r], limits, near, partial(after_step, r))

        labels = np.empty(self.space.n, dtype=np.int64)
        pools = self.pool.within(region)
        for r, result in enumerate(self.control.run([partial(in_region, *both) for both in enumerate(pools)])):
            labels[inside[r]] = np.asarray(result.best) + r * self.space.n  # numbers that no other region has
        if self.control.stopped:
            save(recombined=states, now=True)
        self.admit(labels)
        like = " and groups like them" if look_around else ""
        name = f"set partitioning of {len(self.pool.groups)} groups{like}"
        self.stages.append(self.search.stage(name, before, min(self.losses)))

    def is_sound(self, state: Recombination, n: int) -> bool:
        """Return whether a recombination of n records from a checkpoint can continue."""
        return is_sound(state, n, self.space.k, self.space.loss.most)

    def near(self, inside: NDArray[np.bool_]) -> Indices:
        """Return the neighbours of the records inside a region, numbered as in the region."""
        near, place = self.space.near, np.cumsum(inside) - 1
        return np.where(inside[near], place[near], -1)[inside].astype(np.int32)


def regions(space: SearchSpace, labels: Indices, random_state: int) -> NDArray[np.int64]:
    """Return the region of each record: near groups form regions of about REGION records, cut along a random tree."""
    count = max(1, round(space.n / REGION))
    if count == 1:
        return np.zeros(space.n, dtype=np.int64)
    g, _ = space.state(labels)
    used = int(labels.max()) + 1
    order = np.arange(used, dtype=np.int32)
    cut(np.ascontiguousarray(space.loss.points(g)[:used]), order, 8, np.array([random_state], dtype=np.uint64))
    before = np.cumsum(g.size[order]) - g.size[order]
    number = np.empty(used, dtype=np.int64)
    number[order] = before * count // space.n
    return number[labels]


def cross(space: SearchSpace, one: Indices, other: Indices) -> Indices:
    """Return a cross: of every set of records that both divide into whole groups, the groups of the cheaper one."""
    island = islands(one, other)
    dearer = np.zeros(island.size)
    np.add.at(dearer, island, space.loss.costs(one))
    np.add.at(dearer, _first_of(other, island[one]), -space.loss.costs(other))
    return np.where(dearer[island[one]] > space.smallest_gain, other + island.size, one).astype(np.int32)


def islands(one: Indices, other: Indices) -> Ints:
    """Return, per group of one, the first group of its island: a set of records that both divide into whole groups."""
    island = np.arange(int(one.max()) + 1)
    while True:
        joined = island.copy()
        np.minimum.at(joined, one, _first_of(other, island[one])[other])
        joined = joined[joined]  # halves long chains of groups
        if np.array_equal(joined, island):
            return island
        island = joined


def _first_of(labels: Indices, values: Ints) -> Ints:
    """Return the smallest value in each group."""
    first = np.full(int(labels.max()) + 1, values.max(initial=0))
    np.minimum.at(first, labels, values)
    return first


def inherit(loss: GroupLoss, one: Indices, other: Indices) -> Indices:
    """Return a child of whole groups of two parents, the cheapest per record first, with groups of k to `most`."""
    pool = Pool(loss)
    pool.add_labels(one)
    pool.add_labels(other)
    sizes = np.array([g.size for g in pool.groups])
    labels = np.full(loss.n, -1, dtype=np.int64)
    count = 0
    for c in np.argsort(np.array(pool.costs) / sizes, kind="stable"):
        rows = pool.groups[c]
        if (labels[rows] < 0).all():
            labels[rows] = count
            count += 1
    child = repair(loss, labels)
    forbidden = np.isposinf(loss.costs(child)).any() and np.isfinite(loss.costs(one)).all()
    return one if forbidden else child


def repair(loss: GroupLoss, labels: NDArray[np.int64]) -> Indices:
    """Put the records without a group into new groups if there are at least k, else into the nearest groups."""
    left, placed = np.flatnonzero(labels < 0), np.flatnonzero(labels >= 0)
    if left.size >= loss.k:
        labels[left] = labels.max() + 1 + loss.part(left).first().labels
    else:
        for i in left:
            labels[i] = labels[placed[loss.distances(i, placed).argmin()]]
    return without_oversized(loss, KPartition(labels)).labels.astype(np.int32)
