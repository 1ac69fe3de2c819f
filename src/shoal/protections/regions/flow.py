"""The swaps of least distortion for given numbers of vital records in the districts: a minimum-cost flow.

The network holds each mover's nearest partners only. Potentials tell whether a partner that was left out could
help; if so the lists grow and the flow is solved again, so the answer is the optimum over all pairs of records.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats, Ints
from shoal.engine.control import current
from shoal.errors import PromiseError
from shoal.protections.regions.kernels import swap_flow
from shoal.protections.regions.similarity import NearestPartners, nearest_partners
from shoal.protections.regions.task import Solution, Task

# Entries of the first table: beyond this only the vital records of outlying districts are movers at first.
TABLE = 6_000_000


@dataclass(frozen=True, eq=False)
class Flow:
    """An optimal flow: where each mover stands, with whom it swapped, and the potentials that prove it.

    The network may have grown since: `movers` and `size` tell of the one it was solved on.
    """

    low: Ints
    high: Ints
    counts: Ints
    stand: Ints
    partner: Ints
    paid: Floats
    owner: NDArray[np.int32]
    potential: Floats
    movers: Ints
    size: int

    @property
    def metric(self) -> float:
        return float(self.paid.sum())

    def slopes(self, districts: int) -> Floats:
        """A subgradient: cost(other) >= metric + slopes @ (other - counts), for any counts."""
        return self.potential[-districts - 1 : -1]


class Network:
    """Movers, districts and the nearest partners between them, grown when a flow asks for it."""

    def __init__(self, task: Task, table: int = TABLE) -> None:
        self.task = task
        self.bounds = np.concatenate([[0], np.cumsum(task.room - task.signal.counts)]).astype(np.int64)
        self.where = task.district[task.partners].astype(np.int32)
        self.solves = 0
        every = task.vitals
        depth = table // max(1, every.size * task.districts)
        movers = every
        if depth < 4:
            movers = every[np.isin(task.district[every], task.outlying)]
            depth = table // max(1, movers.size * task.districts)
        self._grow(movers, int(min(max(depth, 4), 16)))

    def solve(self, low: Ints, high: Ints, start: Flow | None = None) -> Flow | None:
        """The optimal flow with counts within low..high, from `start` if its bounds were wider; None: impossible."""
        high = np.minimum(high, self.task.room)
        low = np.maximum(low, 0)
        total = int(self.task.signal.counts.sum())
        if (low > high).any() or low.sum() > total or high.sum() < total:
            return None
        while True:
            flow = self._run(low, high, start)
            start = None
            if flow is None:
                if self._complete():
                    return None
                self._grow(self.task.vitals, 2 * self.nearest.depth)
            elif not self._extend(flow):
                return flow

    def target(self, counts: Ints, start: Flow | None = None) -> Flow | None:
        """The optimal flow that reaches exactly these counts."""
        return self.solve(counts, counts, start)

    def shift_costs(self, flow: Flow) -> Floats:
        """[i, j]: what one vital record less in district i and one more in j costs exactly (inf: not in the lists)."""
        flow = self.present(flow)
        m = self.task.districts
        out = np.empty((m, m))
        table = self.nearest
        bounds = np.stack([flow.counts, flow.counts, flow.counts])
        control = current()
        swap_flow.shift_costs(
            self.home,
            table.who,
            table.cost,
            bounds,
            flow.stand,
            flow.paid,
            flow.owner,
            flow.potential,
            out,
            control.flag,
        )
        control.check()
        return out

    def swaps(self, flow: Flow) -> Ints:
        """Pairs of record numbers: a vital record and its partner."""
        moved = np.flatnonzero(flow.partner >= 0)
        return np.stack([flow.movers[moved], self.nearest.partners[flow.partner[moved]]], axis=1)

    def solution(self, flow: Flow) -> Solution:
        """The flow as checked swaps with their verdict."""
        swaps = self.swaps(flow)
        counts = self.task.check(swaps)
        if (counts != flow.counts).any():
            raise PromiseError("the swaps do not give the counts of their flow")
        metric = float(self.task.influential.between(swaps[:, 0], swaps[:, 1]).sum())
        return Solution(swaps, counts, metric, self.task.judge(counts, metric))

    def for_task(self, task: Task) -> Network:
        """The same network for the same file under other limits."""
        other = copy(self)
        other.task = task
        return other

    def all_nearest(self, depth: int) -> NearestPartners:
        """A table of nearest partners for every vital record: this network's own if it has them all."""
        if self.nearest.movers.size == self.task.vitals.size and (self.nearest.movers == self.task.vitals).all():
            return self.nearest
        fits = max(1, min(depth, 4 * TABLE // max(1, self.task.vitals.size * self.task.districts)))
        return nearest_partners(self.task.influential, self.task.vitals, self.task.partners, self.bounds, fits)

    def _run(self, low: Ints, high: Ints, start: Flow | None) -> Flow | None:
        self.solves += 1
        table = self.nearest
        n, m = table.movers.size, self.task.districts
        if start is None or not self._holds(start) or not _wider(start, low, high):
            flow = Flow(
                low, high, self.task.signal.counts.copy(), self.home.copy(), np.full(n, -1, dtype=np.int64),
                np.zeros(n), np.full(table.partners.size, -1, dtype=np.int32), np.zeros(n + m + 1),
                table.movers, self.size,
            )  # fmt: skip
        else:
            flow = replace(
                start, low=low, high=high, counts=start.counts.copy(), stand=start.stand.copy(),
                partner=start.partner.copy(), paid=start.paid.copy(), owner=start.owner.copy(),
                potential=start.potential.copy(),
            )  # fmt: skip
        bounds = np.stack([low, high, flow.counts]).astype(np.int64)
        control = current()
        done = swap_flow.solve(
            self.home, self.where, table.who, table.cost, bounds,
            flow.stand, flow.partner, flow.paid, flow.owner, flow.potential, control.flag,
        )  # fmt: skip
        control.check()
        return None if done < 0 else replace(flow, counts=bounds[2].copy())

    def _extend(self, flow: Flow) -> bool:
        """Grow the table if a partner outside it might lower the cost; False: the flow is proven optimal."""
        table, m = self.nearest, self.task.districts
        districts = flow.slopes(m)
        slack = 1e-9 * max(1.0, self.task.influential.worst)
        cut_off = (table.cost[:, :, -1] < np.inf) & (np.diff(self.bounds) > table.depth)[None, :]
        cut_off[np.arange(self.home.size), self.home] = False
        gain = districts[None, :] - flow.potential[: self.home.size, None] - table.cost[:, :, -1]
        if (cut_off & (gain > slack)).any():
            self._grow(table.movers, 2 * table.depth)
            return True
        return self._new_movers(districts, slack)

    def _new_movers(self, districts: Floats, slack: float) -> bool:
        """Vital records outside the table join it where a move would pay at the districts' potentials."""
        task = self.task
        rest = np.setdiff1d(task.vitals, self.nearest.movers)
        gaps = districts[None, :] - districts[:, None]
        rest = rest[(gaps.max(axis=1) > slack)[task.district[rest]]]
        if rest.size == 0:
            return False
        # In blocks, so that a file with very many vital records does not need one huge table to ask this.
        joining = []
        for block in np.array_split(rest, max(1, rest.size * task.districts // 2_000_000)):
            near = nearest_partners(task.influential, block, task.partners, self.bounds, 1)
            pays = near.cost[:, :, 0] < gaps[task.district[block]] - slack
            joining.append(block[pays.any(axis=1)])
        new = np.concatenate(joining)
        if new.size:
            joined = np.isin(task.vitals, np.concatenate([self.nearest.movers, new]))
            self._grow(task.vitals[joined], self.nearest.depth)
        return bool(new.size)

    def _holds(self, flow: Flow) -> bool:
        """Was the flow solved on the network as it is now?"""
        return flow.size == self.size and np.array_equal(flow.movers, self.nearest.movers)

    def present(self, flow: Flow) -> Flow:
        """The flow, solved again if the network has grown since; its counts and its cost stay."""
        while not self._holds(flow):
            again = self.target(flow.counts)
            if again is None:
                raise PromiseError("a flow that was solved once has no solution on a larger network")
            flow = again
        return flow

    def _complete(self) -> bool:
        longest = int(np.diff(self.bounds).max())
        return self.nearest.movers.size == self.task.vitals.size and self.nearest.depth >= longest

    def _grow(self, movers: Ints, depth: int) -> None:
        self.nearest: NearestPartners = nearest_partners(
            self.task.influential, movers, self.task.partners, self.bounds, depth
        )
        self.home = self.task.district[movers].astype(np.int64)
        self.size = movers.size * self.nearest.depth


def _wider(start: Flow, low: Ints, high: Ints) -> bool:
    """May a flow go on from `start`? Its bounds must hold the new ones; an exact target needs none."""
    inside = bool((start.low <= low).all() and (start.high >= high).all())
    return inside or bool((low == high).all())
