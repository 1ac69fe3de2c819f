"""A lower bound of the loss of any partition, by column generation with exact pricing (Aloise et al. 2014).

    relax: the duals of the set-partitioning relaxation over the groups so far, smoothed by the best duals so far
    price: for each record, the lowest reduced cost per record of a group with it, by branch and bound
    bound: this value, added to the dual of each record, gives duals that no group violates; their sum is a lower bound
    add the priced groups, and repeat until the bound meets the relaxation
    add cuts that the relaxation violates, and groups with a negative reduced cost; repeat while there are any
    close: the best partition of all groups whose reduced cost is at most a share of the gap; it is optimal if its own
        distance from the bound is at most that share too

The bound is certified: the violation of every group is bounded, even by a search that was cut short, and a margin for
rounding is subtracted. `proved` is set only if the bound meets the SSE to 1e-9.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.engine.partition.kernels.groups import padded
from shoal.engine.partition.neighbours import EXACT_UP_TO, neighbour_lists, runs
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.set_partition import Pool, SetPartitioning, reduced_costs
from shoal.engine.partition.space import check_start, without_oversized
from shoal.engine.partition.subset_row_cuts import Cut, incidence, limits, violated
from shoal.engine.stage import Stage
from shoal.errors import UsageError, check_k
from shoal.protections.microaggregation.kernels.pricing import Priced, price
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.microaggregation.sums_of_squares import sse_of, total_squares

MARGIN = 1e-11  # share of the sum of absolute duals: far above rounding errors, far below 1e-9
NODES = 200_000  # nodes of the branch and bound per record, before its search is cut short
MOST_COLUMNS = 300_000
COLUMNS_PER_ROUND = 2_000  # groups that a round of cuts adds at once
MIN_CLOSED, PATIENCE = 0.01, 3  # share of the gap that a round of cuts should close; rounds that may close less
SHARES = (0.02, 0.1, 0.25, 0.5, 1.0)  # largest reduced cost of a group of a better partition, as shares of the gap
DUAL_SMOOTHING = 0.6  # weight of the best duals so far in the next prices
MAX_DUAL_SMOOTHING = 0.95  # largest weight, if no new group is found


@dataclass
class Work:
    """The work that is left for a proof. It is counted, not timed, so that it is the same on every machine."""

    nodes: float = np.inf  # nodes of the branch and bound that prices groups
    pivots: float = np.inf  # pivots of the simplex method in relaxations
    columns: int = MOST_COLUMNS  # the largest number of groups in an integer programme
    programmes: float = np.inf  # the sum over integer programmes of groups times interrupt checks

    @property
    def done(self) -> bool:
        return self.nodes <= 0 or self.pivots <= 0

    def nodes_per_record(self, most: int, records: int) -> int:
        """Return the number of nodes per record, for a search around this many records."""
        return int(min(most, max(self.nodes // records, 1)))


def prove(
    values: Floats,
    k: int,
    partition: KPartition,
    *,
    pool: Pool | None = None,
    seconds: float | None = 60.0,
    work: Work | None = None,
    control: Control | None = None,
) -> KPartition:
    """Return the partition or a better one, with the facts `lower_bound` (an SSE), `gap` (percent) and `proved`.

    Args:
        values: The scaled values, one row per record.
        k: The smallest size of a group.
        partition: Groups of at least k records.
        pool: Groups that are known already.
        seconds: The proof ends after this time.
        work: The proof ends after this work; without it, only the time ends it.
    """
    cpu, clock = time.process_time(), time.monotonic()
    n = len(values)
    check_start(partition, n).check(check_k(k, n))
    if n > EXACT_UP_TO:
        raise UsageError(f"A bound supports at most {EXACT_UP_TO:,} records, not {n:,}. Remove --bound.")
    search = _Bound(values, k, without_oversized(SquaredError(values, k), partition), pool, work or Work())
    sst = total_squares(values)
    control = (control or current()).part(seconds=seconds)
    control.stage("proof", unit=100.0 / sst if sst > 0 else 1.0)
    control.advance(0.0, sse_of(search.best, values), "proof")
    until = np.inf if seconds is None else clock + seconds
    search.generate(control, until)
    if not control.stopped:
        search.tighten(control, until)
    if not control.stopped:
        search.close(control, until)
    sse, cuts = sse_of(search.best, values), len(search.master.cuts)
    proved = search.optimal or search.bound >= sse * (1 - 1e-9)
    bound = sse if proved else min(search.bound, sse)
    facts: dict[str, Any] = {
        **partition.facts,
        "lower_bound": bound,
        "gap": 100.0 * (sse - bound) / bound if bound > 0 else (0.0 if sse == 0 else None),
        "proved": proved,
        "stages": [
            *partition.facts.get("stages", []),
            Stage(
                name=f"bound, {len(search.pool.groups)} groups priced in {search.rounds} rounds, {cuts} cuts",
                loss_before=sse_of(partition, values),
                loss_after=sse,
                cpu_seconds=time.process_time() - cpu,
            ),
        ],
    }
    control.advance(1.0, sse, "proof")
    is_spent = search.work.done or search.work.programmes <= 0
    if not proved and (control.stopped or time.monotonic() >= until or is_spent):
        facts["bound_stopped"] = True  # the groups were complete before
    return KPartition(search.best.labels, facts)


class _Bound:
    """The state of a proof: groups, duals, the best partition and the best bound so far."""

    def __init__(self, values: Floats, k: int, partition: KPartition, pool: Pool | None, work: Work) -> None:
        self.values, self.k, self.best, self.n, self.work = values, k, partition, len(values), work
        self.x = padded(np.ascontiguousarray(values))
        near, far = neighbour_lists(self.x, 2 * k)
        sums = np.cumsum(far, axis=1)
        sums = np.hstack([np.zeros((self.n, 1)), sums, np.repeat(sums[:, -1:], 2 * k, axis=1)])
        self.near = np.ascontiguousarray(sums[:, : 2 * k])
        self.pool = pool or Pool(SquaredError(values, k))
        self.pool.add_labels(partition.labels)
        self.pool.add(np.append(near[i, : k - 1], i) for i in range(self.n) if near.shape[1] >= k - 1)
        self.pool.add(_variants(partition, near[:, : k + 1], k))
        # The first bound needs no duals: in a group of f records, each has at best its f - 1 nearest as neighbours.
        self.bound = float(0.5 * (self.near[:, k - 1] / k).sum()) * (1 - 1e-12)
        self.duals: Floats | None = None  # those of the records, then those of the cuts
        self.master = SetPartitioning(self.pool, self.n)
        self.rounds, self.rounds_of_cuts, self.optimal = 0, 0, False
        self._sse = sse_of(partition, values)

    def generate(self, control: Control, until: float) -> None:
        """Generate columns until the bound meets the relaxation or the partition, or the time is over."""
        sizes, costs = self.best.sizes, np.array(self._group_costs())
        centre = (costs / sizes)[self.best.labels]
        smoothing = DUAL_SMOOTHING
        while not control.stopped and not self.work.done:
            solved = self._relax(control, until)
            if solved is None:
                return
            relaxed, duals = solved
            prices = smoothing * centre + (1.0 - smoothing) * duals
            lowest, rows = self.price(prices, control)
            if lowest is None:
                return
            self.rounds += 1
            feasible = prices + lowest
            margin = MARGIN * float(np.abs(prices).sum() + np.abs(lowest).sum())
            if feasible.sum() - margin > self.bound:
                self.bound, self.duals = float(feasible.sum() - margin), feasible
                centre = feasible
            fresh = self.pool.add(rows)
            gap = relaxed - self.bound
            control.advance(0.0, self._sse, f"bound {self.bound:.6g}, relaxation {relaxed:.6g}")
            if self.bound >= self._sse * (1 - 1e-9) or gap <= 1e-7 * relaxed:
                return
            if fresh > 0:
                smoothing = DUAL_SMOOTHING if gap > 1e-3 * relaxed else DUAL_SMOOTHING / 2
            elif smoothing == 0.0:
                return
            elif DUAL_SMOOTHING <= smoothing < MAX_DUAL_SMOOTHING:  # pricing is slow far from the best duals
                smoothing = (1.0 + smoothing) / 2
            else:
                smoothing = 0.0 if smoothing < 0.1 or smoothing >= MAX_DUAL_SMOOTHING else smoothing / 4

    def price(self, prices: Floats, control: Control) -> tuple[Floats | None, list[NDArray[np.int32]]]:
        """Return bounds of the reduced cost per record, and the priced groups; no bounds if the search was stopped."""
        lowest, most = np.zeros(self.n), self.work.nodes_per_record(NODES, self.n)

        def piece(first: int, last: int) -> Priced:
            groups = Priced.with_room(40 * (last - first), 2 * self.k - 1)
            if not control.stopped:
                price(self.x, prices, self.near, self.k, 0.0, True, most, first, last, lowest, groups, control.flag)
                control.advance(0.0)
            return groups

        parts = control.run([partial(piece, *run) for run in runs(self.n, 20)])
        self.work.nodes -= sum(int(groups.filled[1]) for groups in parts)
        return None if control.stopped else lowest, [row for groups in parts for row in _rows(groups)]

    def tighten(self, control: Control, until: float) -> None:
        """Add cuts, and the groups that they price, until several rounds of cuts have closed little of the gap."""
        reached, patience = self.bound, PATIENCE
        while self.duals is not None and self.bound < self._sse * (1 - 1e-9):
            solved = self._relax(control, until)
            if solved is None:
                return
            relaxed, duals = solved
            duals[self.n :] = np.minimum(duals[self.n :], 0.0)
            fitting = self._fitting(duals, 0.0, control)
            if fitting is None:
                return
            pool, reduced = fitting
            low = min(0.0, reduced.min(initial=0.0))
            most = np.concatenate((np.ones(self.n), limits(self.master.cuts)))
            bound = duals @ most + low * (self.n // self.k) - MARGIN * (np.abs(duals) @ most)
            if bound > self.bound:
                self.bound, self.duals = float(bound), duals
            control.advance(0.0, self._sse, f"bound {self.bound:.6g}, relaxation {relaxed:.6g}")
            wanted = np.argsort(reduced)[: np.count_nonzero(reduced < -1e-9)][:COLUMNS_PER_ROUND]
            if self.pool.add(pool.groups[c] for c in wanted):
                continue
            patience -= self.rounds_of_cuts > 0 and self.bound - reached < MIN_CLOSED * (self._sse - reached)
            reached = self.bound
            cuts = violated(incidence(self.pool.groups, self.n), self.master.shares)
            if not cuts or patience == 0:
                return
            self.master.cut(cuts)
            self.rounds_of_cuts += 1

    def close(self, control: Control, until: float) -> None:
        """Find the best partition of all groups whose reduced cost is at most a share of the gap, for rising shares.

        The SSE of a partition is the bound plus the reduced costs of its groups. A partition with any other group is
        above bound + share * gap. So the best partition of these groups is optimal if its SSE is not above that.
        """
        for share in SHARES:
            if self.duals is None or control.stopped or self.work.programmes <= 0:
                return
            allowed = share * (self._sse - self.bound) * (1 + 1e-6) + 1e-9 * self._sse
            fitting = self._fitting(self.duals, allowed, control)
            if fitting is None:
                return
            proved = self._improve(fitting[0], control, until)
            if proved and self._sse - self.bound <= allowed and not control.stopped:
                self.optimal = True
                return

    def _improve(self, pool: Pool, control: Control, until: float) -> bool:
        """Take the best partition of the groups of a pool if it is better; return whether it is proved the best."""
        pool.add_labels(self.best.labels)
        left = until - time.monotonic() if np.isfinite(until) else None
        programme = SetPartitioning(pool, self.n)
        programme.cut([cut for cut, dual in self._cuts() if dual < 0.0])
        columns = len(pool.groups)
        looks = None if np.isinf(self.work.programmes) else int(max(self.work.programmes // columns, 1))
        labels, proved = programme.best(self.best.labels, nodes=1_000_000, looks=looks, seconds=left, control=control)
        self.work.programmes -= columns * programme.looks
        better = KPartition(labels)
        if sse_of(better, self.values) < self._sse:
            self.best, self._sse = better, sse_of(better, self.values)
        control.advance(0.0, self._sse, f"best of {len(pool.groups)} groups")
        return proved

    def _relax(self, control: Control, until: float) -> tuple[float, Floats] | None:
        left = until - time.monotonic() if np.isfinite(until) else None
        if left is not None and left <= 0.0:
            return None
        solved = self.master.duals(left, control, self.work.pivots)
        self.work.pivots -= self.master.iterations
        return solved

    def _fitting(self, duals: Floats, allowed: float, control: Control) -> tuple[Pool, Floats] | None:
        """Return all groups with a reduced cost up to `allowed`, and these costs; None if too many or if stopped.

        The search uses the duals of the records only. The duals of the cuts can only remove groups from its result.
        """
        records = np.ascontiguousarray(duals[: self.n])
        rows = self._search(records, allowed, control)
        if rows is None:
            return None
        pool = Pool(self.pool.loss)
        pool.add(rows)
        reduced = reduced_costs(pool, duals, self.master.cuts)
        fits = np.flatnonzero(reduced <= allowed)
        return pool.part(fits), reduced[fits]

    def _search(self, records: Floats, allowed: float, control: Control) -> list[NDArray[np.int32]] | None:
        groups = Priced.with_room(self.work.columns, 2 * self.k - 1)
        lowest = np.zeros(self.n)
        for first, last in runs(self.n, 20):
            most, before = self.work.nodes_per_record(20_000_000, last - first), groups.filled[1]
            cut = price(
                *(self.x, records, self.near, self.k, allowed, False, most),
                *(first, last, lowest, groups, control.flag),
            )
            self.work.nodes -= int(groups.filled[1] - before)
            if cut != 0 or self.work.done or not control.advance(0.0, self._sse, "groups that fit in the gap"):
                return None
        return _rows(groups)

    def _cuts(self) -> Iterator[tuple[Cut, float]]:
        """Return the cuts of the bound with their duals."""
        return zip(self.master.cuts, [] if self.duals is None else self.duals[self.n :], strict=False)

    def _group_costs(self) -> list[float]:
        pool = Pool(self.pool.loss)
        pool.add(self.best.members())
        return pool.costs


def _rows(groups: Priced) -> list[NDArray[np.int32]]:
    """Return the records of each priced group."""
    return [row[row >= 0] for row in groups.rows[: groups.filled[0]]]


def _variants(partition: KPartition, near: NDArray[np.int32], k: int) -> Iterator[NDArray[Any]]:
    """Yield the groups that one relocation or swap makes of those of the partition, for better first duals."""
    labels, groups = partition.labels, partition.members()
    for i, around in enumerate(near):
        group = groups[labels[i]]
        if group.size > k:
            yield group[group != i]
        for b in np.unique(labels[around]):
            if b != labels[i]:
                other = groups[b]
                if other.size < 2 * k - 1:
                    yield np.append(other, i)
                for t in range(other.size):
                    yield np.append(np.delete(other, t), i)
