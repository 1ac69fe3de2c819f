"""The cost of a column grouping: fitness F = (IL + DR) / 2 with DR = (ID + DLD) / 2 (GOMM thesis).

The record groups inside each column group are those of MDAV. Loss and interval disclosure are sums over the column
groups, and each term depends on the columns of one group alone, so they are computed once per column group. Labels
and tables of distances are kept within a memory limit, and computed again after they were dropped (`caches`). Linkage
is counted from the tables of the column groups (kernels/grouping.py) and computed once per grouping. Above 2,000
records, the search counts it for a fixed random sample of 1,000 records, and `exact` counts it for all.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import current
from shoal.engine.kernels.distance import EUCLIDEAN, L1
from shoal.errors import check_choice, check_k
from shoal.measures.anonymity import k_anonymity
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.caches import DistanceTables, LruCache
from shoal.protections.grouping.floor import Floor
from shoal.protections.grouping.grouping import Grouping, columns_of
from shoal.protections.grouping.kernels.grouping import (
    INTERVALS,
    count_links,
    fill_distances,
    group_figures,
    group_labels,
)

Microaggregated = tuple[Ints, Indices, int]  # the columns of a group, the records' labels, the number of labels

SAMPLED_ABOVE = 2000
SAMPLE = 1000
MEMORY = 512 * 2**20
CHUNK = 64 * 2**20  # bytes of the distances that are in memory at the same time


class Evaluation(NamedTuple):
    """Loss and risk of a column grouping in percent. error: the standard error of a linkage counted on a sample."""

    information_loss: float
    interval_disclosure: float
    distance_linkage: float
    error: float = 0.0

    @property
    def risk(self) -> float:
        """The mean of interval disclosure and linkage."""
        return (self.interval_disclosure + self.distance_linkage) / 2

    @property
    def fitness(self) -> float:
        """F, the mean of information loss and risk; lower is better."""
        return (self.information_loss + self.risk) / 2


class Spending:
    """Seconds and calls of each part of the cost, for the profile (Table 3.1 of the GOMM thesis).

    The seconds are wall-clock time: reading CPU time can take longer than the part itself.
    """

    def __init__(self) -> None:
        self.seconds = {"MDAV": 0.0, "loss and intervals": 0.0, "distance tables": 0.0, "linkage": 0.0}
        self.calls = dict.fromkeys(self.seconds, 0)

    def book(self, part: str, started: float) -> float:
        """Add the time since `started` to a part, and return the time now."""
        now = time.perf_counter()
        self.seconds[part] += now - started
        self.calls[part] += 1
        return now


class GroupingCost:
    """Costs of the column groupings of one data set, for one k and one convention; results are kept."""

    def __init__(
        self,
        scaled: Floats,
        k: int,
        convention: str = "sound",
        *,
        memory: int = MEMORY,
        threads: int = 1,
        seed: int = 0,
        sampling: bool = True,
        caching: bool = True,
        floor: Floor | None = None,
    ) -> None:
        """`scaled` is n x d, on the convention's scale. `caching=False` serves to measure what the caches save.

        `below` refuses the groupings that break the floor; `evaluate` and `exact` do not.
        """
        self.convention = CONVENTIONS[check_choice("convention", convention, CONVENTIONS)]
        self.n, self.d = scaled.shape
        self.k = check_k(k, self.n)
        self._columns = np.ascontiguousarray(scaled.T, dtype=np.float64)
        centred = self._columns - self._columns.mean(axis=1)[:, None]
        self.sst = float((centred**2).sum())
        constant = np.ptp(self._columns, axis=1) == 0
        deviations = np.sqrt((centred**2).mean(axis=1))
        self._interval_widths = np.where(constant, np.nan, -1.0 if self.convention.relative else deviations)
        self._most_groups = self.n // self.k + 1  # MDAV forms no more
        self._cells = max(1, int((~constant).sum())) * self.n * INTERVALS
        self.records = self._sample(seed) if sampling else np.arange(self.n)
        self.threads = max(1, threads)
        self._caching = caching
        self.floor = floor or Floor()
        self.balance = 0.5
        self._known: dict[Grouping, Evaluation] = {}
        self._figures: dict[int, tuple[float, int]] = {}
        self._labels = LruCache(memory // 4)
        self._tables = self._new_tables(self.records, memory - memory // 4)
        self._joint_ks: dict[Grouping, int] = {}
        self.requests = 0
        self.computed = 0
        self.subset_requests = 0
        self.subsets_computed = 0
        self.spending = Spending()

    @property
    def sampled(self) -> bool:
        """Whether the search counts linkage for a sample of the records."""
        return bool(self.records.size < self.n)

    def evaluate(self, grouping: Grouping) -> Evaluation:
        """The cost of a grouping, whether or not it keeps the floor."""
        self.requests += 1
        known = self._known.get(grouping)
        if known is None:
            self.price_without_links(grouping)
            known = self._evaluate_new(grouping, math.inf)
        if known is None:
            raise AssertionError("A cost is never above infinity.")
        return known

    def price(self, evaluation: Evaluation) -> float:
        """The value that a search minimizes: loss and risk weighted by `balance`. At one half it is the fitness."""
        return self.balance * evaluation.information_loss + (1 - self.balance) * evaluation.risk

    @property
    def price_of_link(self) -> float:
        """How much one more linked record adds to the price."""
        return (1 - self.balance) * 50.0 / self.records.size

    def price_without_links(self, grouping: Grouping, limit: float = math.inf) -> float:
        """The part of the price from loss and interval disclosure; the sum stops once it is not below `limit`."""
        per_sse = self.balance * 100.0 / self.sst if self.sst else 0.0
        per_hit = (1 - self.balance) * 50.0 / self._cells
        price = 0.0
        missing = []
        for group in grouping:  # known column groups come first: their sum may already reach the limit
            known = self._figures.get(group)
            if known is None:
                missing.append(group)
            else:
                price += per_sse * known[0] + per_hit * known[1]
        self.subset_requests += len(grouping) - len(missing)
        for group in missing:
            if price >= limit:
                break
            sse, hits = self.figures(group)
            price += per_sse * sse + per_hit * hits
        return price

    def nearest_own(self, group: int) -> tuple[Indices, NDArray[np.bool_]]:
        """The labels of one column group, and the records that are strictly nearest to their own centroid."""
        slot = self._slot(group, self._tables)
        return self._tables.labels[slot], self._tables.surely[slot]

    def below(self, grouping: Grouping, limit: float, base: float | None = None) -> Evaluation | None:
        """The cost of a grouping if its price is below `limit` and it keeps the floor; otherwise None, and sooner.

        `base` is its price without links, if the caller has it already.
        """
        self.requests += 1
        known = self._known.get(grouping)
        if known is not None:
            return known if self.price(known) < limit and self.accepts(grouping, known) else None
        if base is None:
            base = self.price_without_links(grouping, limit)
        if base >= limit or not self._has_joint_k(grouping):
            return None
        max_links = (limit - base) / self.price_of_link if self.price_of_link else math.inf
        evaluation = self._evaluate_new(grouping, max_links)
        if evaluation is None or evaluation.distance_linkage > self.floor.max_percent:
            return None
        return evaluation if self.price(evaluation) < limit else None

    def accepts(self, grouping: Grouping, evaluation: Evaluation) -> bool:
        """Whether a grouping keeps the floor."""
        return evaluation.distance_linkage <= self.floor.max_percent and self._has_joint_k(grouping)

    def joint_k(self, grouping: Grouping) -> int:
        """The smallest number of records that share the values of all columns, with MDAV inside the column groups."""
        joint_k = self._joint_ks.get(grouping)
        if joint_k is None:
            joint_k = k_anonymity([self._labels_of(group)[1] for group in grouping])
            self._joint_ks[grouping] = joint_k
        return joint_k

    def _has_joint_k(self, grouping: Grouping) -> bool:
        return self.floor.min_joint_k is None or self.joint_k(grouping) >= self.floor.min_joint_k

    def _evaluate_new(self, grouping: Grouping, max_links: float) -> Evaluation | None:
        """The cost of a grouping that is not known yet; None if more than `max_links` records are linked."""
        self.computed += 1
        links = self._links(grouping, self._tables, max_links)
        if links > max_links:
            return None
        # The sum is in the grouping's own order, not in the order of evaluation: the bits never depend on the past.
        evaluation = self._evaluation(grouping, 100.0 * links / self.records.size)
        if self._caching:
            self._known[grouping] = evaluation
        return evaluation

    def prepare(self, groupings: Iterable[Grouping]) -> None:
        """Compute loss and interval hits of all column groups that are not known yet, on all threads."""
        if self.threads == 1 or not self._caching:
            return
        missing = list(dict.fromkeys(g for grouping in groupings for g in grouping if g not in self._figures))
        if len(missing) > 1:
            current().part(threads=self.threads).run([partial(self.figures, group) for group in missing])

    @property
    def known(self) -> Mapping[Grouping, Evaluation]:
        """All groupings that keep the floor and whose cost was computed completely."""
        if not self.floor.is_set:
            return self._known
        return {grouping: e for grouping, e in self._known.items() if self.accepts(grouping, e)}

    def figures(self, group: int) -> tuple[float, int]:
        """SSE and interval hits of one column group."""
        self.subset_requests += 1
        known = self._figures.get(group)
        if known is None or not self._caching:
            known = self._microaggregate(group)[0]
        return known

    def labels(self, group: int) -> Indices:
        """The record groups that MDAV forms inside one column group."""
        return self._mdav(np.array(columns_of(group)))[0]

    def _mdav(self, chosen: Ints) -> tuple[Indices, int]:
        sound = not self.convention.thesis_mdav
        min_left, metric = (3 * self.k, EUCLIDEAN) if sound else (2 * self.k, L1)
        control = current()
        labels: tuple[Indices, int] = group_labels(self._columns, chosen, self.k, min_left, sound, metric, control.flag)
        control.check()
        return labels

    def _sample(self, seed: int) -> Ints:
        if self.n <= SAMPLED_ABOVE:
            return np.arange(self.n)
        return np.sort(np.random.default_rng(seed).choice(self.n, SAMPLE, replace=False))

    def _loss(self, sse: float) -> float:
        return 100.0 * sse / self.sst if self.sst else 0.0

    def _disclosure(self, hits: int) -> float:
        return float(100.0 * hits / self._cells)

    def _evaluation(self, grouping: Grouping, linkage: float) -> Evaluation:
        figures = [self._figures[group] if self._caching else self.figures(group) for group in grouping]
        loss = self._loss(math.fsum(sse for sse, _ in figures))
        disclosure = self._disclosure(sum(hits for _, hits in figures))
        share = linkage / 100.0
        error = 100.0 * math.sqrt(max(0.0, share * (1 - share)) / self.records.size) if self.sampled else 0.0
        return Evaluation(loss, disclosure, linkage, error)

    def _microaggregate(self, group: int) -> tuple[tuple[float, int], Microaggregated]:
        """Microaggregate one column group: SSE and hits, and labels. Record groups that share a centroid are one."""
        chosen = np.array(columns_of(group))
        started = time.perf_counter()
        labels, groups = self._mdav(chosen)
        started = self.spending.book("MDAV", started)
        sse, hits, groups = group_figures(self._columns, chosen, labels, groups, self._interval_widths)
        self.spending.book("loss and intervals", started)
        self.subsets_computed += 1
        if self._caching:
            self._figures[group] = (sse, hits)
            self._labels.put(group, (chosen, labels, groups), chosen.nbytes + labels.nbytes)
        return (sse, hits), (chosen, labels, groups)

    def _labels_of(self, group: int) -> Microaggregated:
        kept: Microaggregated | None = self._labels.get(group)
        return self._microaggregate(group)[1] if kept is None else kept

    def _new_tables(self, records: Ints, memory: int, min_slots: int | None = None) -> DistanceTables:
        return DistanceTables(records, self.n, self._most_groups, memory, min_slots or self.d)

    def _links(self, grouping: Grouping, tables: DistanceTables, max_links: float) -> float:
        """The number of the tables' records that are linked to their own record; the count ends above `max_links`."""
        slots = [self._slot(group, tables) for group in grouping]
        starts = np.array([0, *itertools.accumulate(tables.widths[slot] for slot in slots)])
        started = time.perf_counter()
        arrays = (tables.distances, tables.surely, tables.labels)
        links: float = count_links(*arrays, np.array(slots), starts, tables.records, self.convention.strict, max_links)
        self.spending.book("linkage", started)
        return links

    def _slot(self, group: int, tables: DistanceTables) -> int:
        """The slot of the records' distances to the centroids of one column group."""
        known = tables.find(group) if self._caching else None
        if known is not None:
            return known
        chosen, labels, groups = self._labels_of(group)
        slot = tables.take(group, groups, labels)
        started = time.perf_counter()
        fill_distances(
            self._columns, chosen, labels, groups, tables.records, tables.distances[slot], tables.surely[slot]
        )
        self.spending.book("distance tables", started)
        return slot
