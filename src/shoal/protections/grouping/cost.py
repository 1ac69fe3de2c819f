"""What a grouping of columns costs: F = (IL + DR) / 2 with DR = (ID + DLD) / 2 (GOMM thesis).

Loss and interval disclosure are sums over the column groups, each of which depends on its own columns alone: they are
kept per group for ever. Labels and tables of distances are kept per group within a memory cap, and made anew when they
were dropped; the tables in one array, so that a grouping is a few places in it. Linkage is counted from the tables of a
grouping's groups (kernels/grouping.py) and kept per grouping. Above 2,000 records it is counted for a fixed random
sample of 1,000 during the search, and for all in `exact`.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import current
from shoal.engine.kernels.distance import EUCLIDEAN, L1
from shoal.errors import check_choice, check_k
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.grouping import Grouping, columns_of
from shoal.protections.grouping.kernels.grouping import (
    INTERVALS,
    count_links,
    fill_distances,
    group_figures,
    group_labels,
)

Microaggregated = tuple[Ints, Indices, int]  # the columns of a group, the labels, and how many of them are distinct

SAMPLED_ABOVE = 2000
SAMPLE = 1000
MEMORY = 512 * 2**20
CHUNK = 64 * 2**20  # bytes of the distances that are looked at together


class Evaluation(NamedTuple):
    """The cost of a grouping and its parts, all in percent; `error` is the standard error of a sampled linkage."""

    information_loss: float
    interval_disclosure: float
    distance_linkage: float
    error: float = 0.0

    @property
    def risk(self) -> float:
        return (self.interval_disclosure + self.distance_linkage) / 2

    @property
    def fitness(self) -> float:
        """F, the mean of loss and risk."""
        return (self.information_loss + self.risk) / 2


class Spending:
    """Seconds and calls of each part of the cost, for the profile (Table 3.1 of the thesis).

    By the wall clock: asking for CPU time may take longer than what is measured.
    """

    def __init__(self) -> None:
        self.seconds = {"MDAV": 0.0, "loss and intervals": 0.0, "distance tables": 0.0, "linkage": 0.0}
        self.calls = dict.fromkeys(self.seconds, 0)

    def book(self, part: str, started: float) -> float:
        """Book the time since `started` on a part; gives the time now."""
        now = time.perf_counter()
        self.seconds[part] += now - started
        self.calls[part] += 1
        return now


class GroupingCost:
    """Costs of groupings of one data set's columns, at one k, under one convention, with what was learnt kept."""

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
    ) -> None:
        """`scaled` is n x d, on the convention's scale; `caching=False` is for measuring what caches save."""
        self.convention = CONVENTIONS[check_choice("convention", convention, CONVENTIONS)]
        self.n, self.d = scaled.shape
        self.k = check_k(k, self.n)
        self._columns = np.ascontiguousarray(scaled.T, dtype=np.float64)
        centred = self._columns - self._columns.mean(axis=1)[:, None]
        self.sst = float((centred**2).sum())
        constant = np.ptp(self._columns, axis=1) == 0
        deviations = np.sqrt((centred**2).mean(axis=1))
        self._reach = np.where(constant, np.nan, -1.0 if self.convention.relative else deviations)
        self._width = self.n // self.k + 1  # no MDAV forms more groups
        self._cells = max(1, int((~constant).sum())) * self.n * INTERVALS
        self.records = self._sample(seed) if sampling else np.arange(self.n)
        self.threads = max(1, threads)
        self._caching = caching
        self.balance = 0.5
        self._known: dict[Grouping, Evaluation] = {}
        self._figures: dict[int, tuple[float, int]] = {}
        self._labels = LruCache(memory // 4)
        self._tables = self._room(self.records, memory - memory // 4)
        self.requests = 0
        self.computed = 0
        self.subset_requests = 0
        self.subsets_computed = 0
        self.spending = Spending()

    @property
    def sampled(self) -> bool:
        """Whether linkage is counted for a sample during the search."""
        return bool(self.records.size < self.n)

    def evaluate(self, grouping: Grouping) -> Evaluation:
        """The cost of a grouping."""
        evaluation = self.below(grouping, math.inf)
        if evaluation is None:
            raise AssertionError("no cost is above infinity")
        return evaluation

    def price(self, evaluation: Evaluation) -> float:
        """What a search minimises: loss and risk weighed by `balance`; F at one half."""
        return self.balance * evaluation.information_loss + (1 - self.balance) * evaluation.risk

    @property
    def price_of_link(self) -> float:
        """What one more link adds to the price."""
        return (1 - self.balance) * 50.0 / self.records.size

    def price_without_links(self, grouping: Grouping, limit: float = math.inf) -> float:
        """What loss and interval disclosure add to the price; of some groups alone once that is not below `limit`."""
        per_sse = self.balance * 100.0 / self.sst if self.sst else 0.0
        per_hit = (1 - self.balance) * 50.0 / self._cells
        price = 0.0
        missing = []
        for group in grouping:  # what is known comes first: it may already be too much
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
        """The labels of one group of columns, and which records lie strictly nearest to their own centroid."""
        place = self._place(group, self._tables)
        return self._tables.labels[place], self._tables.surely[place]

    def below(self, grouping: Grouping, limit: float, base: float | None = None) -> Evaluation | None:
        """The cost of a grouping if its price is below `limit`; nothing, and that sooner, if it is not.

        `base` is its price without links, where the caller has it already.
        """
        self.requests += 1
        known = self._known.get(grouping)
        if known is not None:
            return known if self.price(known) < limit else None
        if base is None:
            base = self.price_without_links(grouping, limit)
        if base >= limit:
            return None
        self.computed += 1
        most = (limit - base) / self.price_of_link if self.price_of_link else math.inf
        links = self._links(grouping, self._tables, most)
        if links > most:
            return None
        # Summed in the grouping's own order, not in the order of what was known: the same bits whatever came before.
        evaluation = self._evaluation(grouping, 100.0 * links / self.records.size)
        if self._caching:
            self._known[grouping] = evaluation
        return evaluation if self.price(evaluation) < limit else None

    def prepare(self, groupings: Iterable[Grouping]) -> None:
        """Compute the figures of all groups that are not known yet, on all threads."""
        if self.threads == 1 or not self._caching:
            return
        missing = list(dict.fromkeys(g for grouping in groupings for g in grouping if g not in self._figures))
        if len(missing) > 1:
            current().part(threads=self.threads).run([partial(self.figures, group) for group in missing])

    def exact(self, grouping: Grouping) -> Evaluation:
        """The cost with linkage counted for every record, in blocks that fit into memory."""
        if not self.sampled:
            return self.evaluate(grouping)
        step = max(1, CHUNK // (8 * self._width * len(grouping)))
        blocks = [np.arange(a, min(a + step, self.n)) for a in range(0, self.n, step)]

        control = current().part(threads=self.threads)

        def count(block: Ints) -> float:
            control.check()
            return self._links(grouping, self._room(block, 0, len(grouping)), math.inf)

        links = sum(control.run([partial(count, block) for block in blocks]))
        return self._evaluation(grouping, 100.0 * links / self.n)._replace(error=0.0)

    @property
    def known(self) -> Mapping[Grouping, Evaluation]:
        """All groupings whose cost was computed in full."""
        return self._known

    def figures(self, group: int) -> tuple[float, int]:
        """SSE and interval hits of one group of columns."""
        self.subset_requests += 1
        known = self._figures.get(group)
        if known is None or not self._caching:
            known = self._microaggregate(group)[0]
        return known

    def labels(self, group: int) -> Indices:
        """The record groups of one group of columns, as MDAV forms them."""
        return self._mdav(np.array(columns_of(group)))[0]

    def _mdav(self, chosen: Ints) -> tuple[Indices, int]:
        sound = not self.convention.thesis_mdav
        least, metric = (3 * self.k, EUCLIDEAN) if sound else (2 * self.k, L1)
        control = current()
        labels: tuple[Indices, int] = group_labels(self._columns, chosen, self.k, least, sound, metric, control.flag)
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
        """MDAV on the columns of one group: its figures, and labels where groups that share a centroid are one."""
        chosen = np.array(columns_of(group))
        started = time.perf_counter()
        labels, groups = self._mdav(chosen)
        started = self.spending.book("MDAV", started)
        sse, hits, groups = group_figures(self._columns, chosen, labels, groups, self._reach)
        self.spending.book("loss and intervals", started)
        self.subsets_computed += 1
        if self._caching:
            self._figures[group] = (sse, hits)
            self._labels.put(group, (chosen, labels, groups), chosen.nbytes + labels.nbytes)
        return (sse, hits), (chosen, labels, groups)

    def _labels_of(self, group: int) -> Microaggregated:
        kept: Microaggregated | None = self._labels.get(group)
        return self._microaggregate(group)[1] if kept is None else kept

    def _room(self, records: Ints, memory: int, least: int | None = None) -> Tables:
        return Tables(records, self.n, self._width, memory, least or self.d)

    def _links(self, grouping: Grouping, tables: Tables, most: float) -> float:
        """How many of the tables' records are linked to their own protected record; above `most` it is cut short."""
        places = [self._place(group, tables) for group in grouping]
        starts = np.array([0, *itertools.accumulate(tables.widths[place] for place in places)])
        started = time.perf_counter()
        arrays = (tables.distances, tables.surely, tables.labels)
        links: float = count_links(*arrays, np.array(places), starts, tables.records, self.convention.strict, most)
        self.spending.book("linkage", started)
        return links

    def _place(self, group: int, tables: Tables) -> int:
        """Where the distances of the records to the centroids of one group of columns stand."""
        known = tables.find(group) if self._caching else None
        if known is not None:
            return known
        chosen, labels, groups = self._labels_of(group)
        place = tables.take(group, groups, labels)
        started = time.perf_counter()
        fill_distances(
            self._columns, chosen, labels, groups, tables.records, tables.distances[place], tables.surely[place]
        )
        self.spending.book("distance tables", started)
        return place


class Tables:
    """Distances of some records to the centroids of column groups: one place a group, those used last stay."""

    def __init__(self, records: Ints, n: int, width: int, memory: int, least: int) -> None:
        """As many places as the memory allows, `least` at least: so many groups a grouping may have."""
        size = records.size * (8 * width + 1) + 4 * n
        places = max(least, min(memory // size, 1 << 16))
        self.records = records
        self.distances = np.empty((places, records.size, width))
        self.surely = np.empty((places, records.size), np.bool_)
        self.labels = np.empty((places, n), np.int32)
        self.widths = [0] * places
        self._places: OrderedDict[int, int] = OrderedDict()

    def find(self, group: int) -> int | None:
        """The place of a group, or None."""
        place = self._places.get(group)
        if place is not None:
            self._places.move_to_end(group)
        return place

    def take(self, group: int, width: int, labels: Indices) -> int:
        """A place for a group, that of the one not used for longest if there is none free."""
        place = self._places.pop(group, None)
        if place is None and len(self._places) < len(self.widths):
            place = len(self._places)
        elif place is None:
            place = self._places.popitem(last=False)[1]
        self._places[group] = place
        self.widths[place] = width
        self.labels[place] = labels
        return place


class LruCache:
    """What was used last, up to a number of bytes."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._used = 0
        self._items: OrderedDict[int, tuple[Any, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: int) -> Any:
        """What is kept under a key, or None."""
        with self._lock:
            item = self._items.get(key)
            if item is None:
                return None
            self._items.move_to_end(key)
            return item[0]

    def put(self, key: int, value: Any, size: int) -> None:
        """Keep a value, and drop what was not used for longest."""
        with self._lock:
            if key in self._items:
                self._used -= self._items.pop(key)[1]
            self._items[key] = (value, size)
            self._used += size
            while self._used > self._room and len(self._items) > 1:
                self._used -= self._items.popitem(last=False)[1][1]
