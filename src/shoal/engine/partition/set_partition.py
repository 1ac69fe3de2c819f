"""Set partitioning over a pool of groups, by HiGHS: the linear relaxation with its duals, and the best partition.

A column is a group, and its cost is the group's loss. Every record is in exactly one chosen column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.control import Control, current
from shoal.engine.partition.loss import GroupLoss
from shoal.engine.partition.sparse import SparseTable
from shoal.engine.partition.subset_row_cuts import Cut, incidence, limits, touched

Basis = tuple[list[int], list[int]]  # the states of columns and rows, in the numbers of HiGHS


class Pool:
    """Distinct groups of records with their costs, in the order of their arrival. A 64-bit sum identifies a group."""

    def __init__(self, loss: GroupLoss) -> None:
        self.loss = loss
        self._signs = np.random.default_rng(0).integers(2**64, size=loss.n, dtype=np.uint64)
        self._place: dict[int, int] = {}
        self.groups: list[NDArray[np.int32]] = []
        self.costs: list[float] = []

    @property
    def records(self) -> int:
        return self.loss.n

    def add(self, groups: Iterable[NDArray[Any]]) -> int:
        """Add the groups that are new; return their number."""
        fresh: list[NDArray[np.int32]] = []
        for group in groups:
            sign = int(self._signs[group].sum())
            if sign not in self._place:
                self._place[sign] = len(self._place)
                fresh.append(np.sort(group).astype(np.int32))
        self.costs.extend(self.loss.costs_of(fresh).tolist())
        self.groups.extend(fresh)
        return len(fresh)

    def add_labels(self, labels: NDArray[Any]) -> int:
        """Add the groups of a partition; return the number of new ones."""
        order, starts, signs = self._signed(labels)
        ends = [*starts[1:].tolist(), order.size]
        spans = zip(starts.tolist(), ends, signs, strict=True)
        return self.add([order[start:end] for start, end, sign in spans if sign not in self._place])

    def columns(self, labels: NDArray[Any]) -> list[int]:
        """Return the places of the groups of a partition in the pool."""
        return [self._place[sign] for sign in self._signed(labels)[2]]

    def part(self, columns: NDArray[np.int64]) -> Pool:
        """Return a pool of some of the groups."""
        chosen = Pool(self.loss)
        chosen._take([self.groups[c] for c in columns], [self.costs[c] for c in columns])
        return chosen

    def within(self, region: NDArray[Any]) -> list[Pool]:
        """Return a pool of the groups inside each region 0, 1, ...; each numbers the records of its region from 0."""
        starts = np.concatenate(([0], np.cumsum([rows.size for rows in self.groups])))[:-1]
        where = region[np.concatenate(self.groups)]
        first, last = np.minimum.reduceat(where, starts), np.maximum.reduceat(where, starts)
        place = np.empty(region.size, dtype=np.int32)
        pools = []
        for r in range(int(region.max()) + 1):
            records = np.flatnonzero(region == r)
            place[records] = np.arange(records.size)
            inside = Pool(self.loss.part(records))
            columns = np.flatnonzero((first == r) & (last == r))
            inside._take([place[self.groups[c]] for c in columns], [self.costs[c] for c in columns])
            pools.append(inside)
        return pools

    def _take(self, groups: list[NDArray[np.int32]], costs: list[float]) -> None:
        self.groups, self.costs = groups, costs
        self._place = {int(self._signs[rows].sum()): c for c, rows in enumerate(groups)}

    def _signed(self, labels: NDArray[Any]) -> tuple[Ints, Ints, list[int]]:
        order, starts = in_groups(labels)
        return order, starts, np.add.reduceat(self._signs[order], starts).tolist()


def in_groups(labels: NDArray[Any]) -> tuple[Ints, Ints]:
    """Return the records group by group, and where each group starts."""
    order = np.argsort(labels, kind="stable")
    return order, np.concatenate(([0], np.flatnonzero(np.diff(labels[order])) + 1))


class SetPartitioning:
    """The set-partitioning programme over the pool; it grows with the pool."""

    def __init__(self, pool: Pool, n: int) -> None:
        self._pool, self._n = pool, n
        self._held = self._solved = 0  # columns, and those of the last relaxation
        self.cuts: list[Cut] = []
        self.looks = 0  # interrupt checks of the last integer programme, if they were limited
        self._solver = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 1), ("mip_allow_restart", False)):
            self._solver.setOptionValue(name, value)
        empty = SparseTable(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), 0)
        self._solver.addRows(n, np.ones(n), np.ones(n), 0, *_entries(empty))

    @property
    def basis(self) -> Basis:
        """The basis of the last solution."""
        basis = self._solver.getBasis()
        return [int(s) for s in basis.col_status], [int(s) for s in basis.row_status]

    def start(self, basis: Basis, cuts: Sequence[Cut]) -> None:
        """Start from the basis of another relaxation over the same pool, which had only the first of the cuts."""
        self.cut(cuts)
        columns, rows = basis
        if len(columns) != self._held or len(rows) > self._n + len(cuts):
            return  # it belongs to another pool: the solver starts without a basis
        start = highspy.HighsBasis()
        start.col_status = [highspy.HighsBasisStatus(s) for s in columns]
        fresh = [highspy.HighsBasisStatus.kBasic] * (self._n + len(cuts) - len(rows))
        start.row_status = [*(highspy.HighsBasisStatus(s) for s in rows), *fresh]
        start.valid = True
        self._solver.setBasis(start)

    def cut(self, cuts: Sequence[Cut]) -> None:
        """Add one row per cut."""
        if not cuts:
            return
        self._grow()
        rows = touched(incidence(self._pool.groups, self._n), cuts).transposed()
        least = np.full(len(cuts), -highspy.kHighsInf)
        self._solver.addRows(len(cuts), least, limits(cuts), rows.values.size, *_entries(rows))
        self.cuts.extend(cuts)

    def _grow(self) -> None:
        groups, costs = self._pool.groups[self._held :], self._pool.costs[self._held :]
        if not groups:
            return
        cells = incidence(groups, self._n)
        if self.cuts:
            cells = cells.beside(touched(cells, self.cuts))
        m = len(groups)
        # No upper bounds, because the rows imply them: their duals would be missing from the reduced costs.
        most = np.full(m, highspy.kHighsInf)
        self._solver.addCols(m, np.array(costs), np.zeros(m), most, cells.values.size, *_entries(cells))
        self._held += m

    @property
    def shares(self) -> Floats:
        """The share of each group in the last solution."""
        return np.array(self._solver.getSolution().col_value)

    @property
    def iterations(self) -> int:
        """The simplex iterations of the last programme."""
        return int(self._solver.getInfo().simplex_iteration_count)

    def duals(
        self, seconds: float | None = None, control: Control | None = None, pivots: float = np.inf
    ) -> tuple[float, Floats] | None:
        """Return the optimum of the relaxation and its duals (records, then cuts); None if it was not solved."""
        self._grow()
        grown, self._solved = 0 < self._solved < self._held, self._held
        # Dual at first, and after cuts, which leave the duals feasible; primal after new columns, which leave the
        # solution feasible.
        self._solver.setOptionValue("simplex_strategy", 4 if grown else 1)
        if seconds is not None:
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.1))
        self._solver.setOptionValue("simplex_iteration_limit", int(min(max(pivots, 0), highspy.kHighsIInf)))
        self._run(control)
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return self._solver.getInfo().objective_function_value, np.array(self._solver.getSolution().row_dual)

    def best(
        self,
        known: NDArray[Any],
        *,
        nodes: int,
        looks: int | None = None,
        seconds: float | None = None,
        control: Control | None = None,
    ) -> tuple[Ints, bool]:
        """The best partition of columns, from a known one (its groups are in the pool), and whether it is proved.

        `nodes` and `looks` limit the work, `seconds` the time.
        """
        self._grow()
        solver, m = self._solver, self._held
        start = np.zeros(m)
        start[self._pool.columns(known)] = 1.0
        solver.changeColsBounds(m, np.arange(m, dtype=np.int32), np.zeros(m), np.ones(m))
        solver.changeColsIntegrality(m, np.arange(m, dtype=np.int32), np.array([highspy.HighsVarType.kInteger] * m))
        options = (("mip_max_nodes", nodes), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0))
        for name, value in options:
            solver.setOptionValue(name, value)
        if seconds is not None:
            solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.1))
        self.looks = 0
        if looks is not None:

            def look(event: Any) -> None:
                self.looks += 1
                if self.looks > looks:
                    event.interrupt()

            solver.cbMipInterrupt += look
        guess = highspy.HighsSolution()
        guess.col_value = start.tolist()
        solver.setSolution(guess)
        self._run(control)
        chosen = np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5)
        labels = np.full(self._n, -1, dtype=np.int64)
        for label, column in enumerate(chosen):
            labels[self._pool.groups[column]] = label
        covered = sum(self._pool.groups[c].size for c in chosen) == self._n and labels.min() >= 0
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return (labels, proved) if covered else (np.asarray(known, dtype=np.int64), False)

    def _run(self, control: Control | None) -> None:
        """Solve, until the control stops it.

        A callback in every simplex iteration would take a fifth of the time. Therefore the thread that stops the work
        sets it up: HiGHS checks in every iteration whether there is one.
        """

        def interrupt() -> None:
            self._solver.cbSimplexInterrupt += lambda event: event.interrupt()
            self._solver.cbMipInterrupt += lambda event: event.interrupt()

        control = control or current()
        if not control.stopped:
            with control.when_stopped(interrupt):
                self._solver.run()


def reduced_costs(pool: Pool, duals: Floats, cuts: Sequence[Cut]) -> Floats:
    """Return the reduced cost of each group: its cost minus the duals of its records and of the cuts."""
    n = pool.records
    held = incidence(pool.groups, n)
    reduced = np.array(pool.costs) - held @ duals[:n]
    return reduced - touched(held, cuts[: duals.size - n]) @ duals[n:] if duals.size > n else reduced


def _entries(cells: SparseTable) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return where the lines of a sparse table start, their places and values, as HiGHS takes them."""
    return cells.starts[:-1].astype(np.int32), cells.columns.astype(np.int32), cells.values
