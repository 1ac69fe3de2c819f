"""Set partitioning over a pool of groups, by HiGHS: the linear relaxation with its duals, and the best partition.

A column is a group, its cost the group's SSE; every record is in exactly one chosen column.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_COLUMNS = 4_000  # of the integer programme
NODES = 50  # of its search


def recombine(pool: Pool, known: NDArray[Any], n: int) -> Ints:
    """A partition of groups in the pool, as good as the known one or better; an amount of work, not of time.

    relax: the duals give each group's reduced cost
    a better partition has only groups whose reduced cost is below the distance of the known one from the relaxation
    the integer programme over those, the most promising first, cut off after some nodes
    """
    pool.add_labels(known)
    relaxed = Master(pool, n).duals()
    if relaxed is None:
        return np.asarray(known, dtype=np.int64)
    bound, duals = relaxed
    reduced = np.array(pool.costs) - np.array([duals[rows].sum() for rows in pool.groups])
    own = pool.columns(known)
    room = sum(pool.costs[c] for c in own) - bound
    near = np.argsort(reduced, kind="stable")[:MOST_COLUMNS]
    part = pool.part(np.union1d(near[reduced[near] <= room * (1 + 1e-9)], own))
    return Master(part, n).best(known, nodes=NODES)[0]


class Pool:
    """Distinct groups of records with their costs, in the order they came."""

    def __init__(self, values: Floats, weights: Floats | None = None) -> None:
        self._values = values
        self._weights = weights
        self._seen: set[bytes] = set()
        self.groups: list[NDArray[np.int32]] = []
        self.costs: list[float] = []

    def add(self, groups: Iterable[NDArray[Any]]) -> int:
        """Take in the groups that are new; gives their number."""
        fresh: list[NDArray[np.int32]] = []
        for group in groups:
            rows = np.sort(group).astype(np.int32)
            key = rows.tobytes()
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(rows)
        self.costs.extend(self._cost(fresh))
        self.groups.extend(fresh)
        return len(fresh)

    def _cost(self, groups: list[NDArray[np.int32]]) -> list[float]:
        costs = np.empty(len(groups))
        sizes = np.array([g.size for g in groups], dtype=np.int64)
        for size in np.unique(sizes):
            which = np.flatnonzero(sizes == size)
            rows = np.array([groups[i] for i in which])
            x = self._values[rows]
            w = np.ones(rows.shape) if self._weights is None else self._weights[rows]
            centre = (w[:, :, None] * (x - x[:, :1])).sum(axis=1) / w.sum(axis=1)[:, None] + x[:, 0]
            costs[which] = (w * ((x - centre[:, None]) ** 2).sum(axis=2)).sum(axis=1)
        return [float(c) for c in costs]

    def columns(self, labels: NDArray[Any]) -> list[int]:
        """Where the groups of a partition are in the pool."""
        index = {g.tobytes(): c for c, g in enumerate(self.groups)}
        return [index[rows.astype(np.int32).tobytes()] for rows in members(labels)]

    def part(self, columns: NDArray[np.int64]) -> Pool:
        """A pool of some of the groups."""
        chosen = Pool(self._values, self._weights)
        chosen.groups = [self.groups[c] for c in columns]
        chosen.costs = [self.costs[c] for c in columns]
        return chosen

    def add_labels(self, labels: NDArray[Any]) -> int:
        """Take in the groups of a partition."""
        return self.add(members(labels))


def members(labels: NDArray[Any]) -> list[NDArray[np.int64]]:
    """The records of each group, in order."""
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


class Master:
    """The set-partitioning programme over the pool; grows with it."""

    def __init__(self, pool: Pool, n: int) -> None:
        self._pool, self._n, self._held = pool, n, 0
        self._solver = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("random_seed", 1), ("mip_allow_restart", False)):
            self._solver.setOptionValue(name, value)
        for _ in range(n):
            self._solver.addRow(1.0, 1.0, 0, np.empty(0, dtype=np.int32), np.empty(0))

    def _grow(self) -> None:
        groups, costs = self._pool.groups[self._held :], self._pool.costs[self._held :]
        if not groups:
            return
        sizes = np.array([g.size for g in groups])
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)
        cells = np.concatenate(groups).astype(np.int32)
        m = len(groups)
        self._solver.addCols(
            m, np.array(costs), np.zeros(m), np.ones(m), cells.size, starts, cells, np.ones(cells.size)
        )
        self._held += m

    def duals(self, seconds: float | None = None) -> tuple[float, Floats] | None:
        """The relaxation's optimum and its duals; None if time ran out."""
        self._grow()
        self._solver.setOptionValue("simplex_strategy", 4)  # primal: new columns keep the basis feasible
        if seconds is not None:
            self._solver.setOptionValue("time_limit", self._solver.getRunTime() + max(seconds, 0.1))
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return self._solver.getInfo().objective_function_value, np.array(self._solver.getSolution().row_dual)

    def best(self, known: NDArray[Any], *, nodes: int, seconds: float | None = None) -> tuple[Ints, bool]:
        """The best partition of columns, from a known one (its groups are in the pool), and whether it is proved."""
        self._grow()
        solver, m = self._solver, self._held
        start = np.zeros(m)
        start[self._pool.columns(known)] = 1.0
        solver.changeColsIntegrality(m, np.arange(m, dtype=np.int32), np.array([highspy.HighsVarType.kInteger] * m))
        options = (("mip_max_nodes", nodes), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0))
        for name, value in options:
            solver.setOptionValue(name, value)
        if seconds is not None:
            solver.setOptionValue("time_limit", solver.getRunTime() + max(seconds, 0.1))
        guess = highspy.HighsSolution()
        guess.col_value = start.tolist()
        solver.setSolution(guess)
        solver.run()
        chosen = np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5)
        labels = np.full(self._n, -1, dtype=np.int64)
        for label, column in enumerate(chosen):
            labels[self._pool.groups[column]] = label
        covered = sum(self._pool.groups[c].size for c in chosen) == self._n and labels.min() >= 0
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return (labels, proved) if covered else (np.asarray(known, dtype=np.int64), False)
