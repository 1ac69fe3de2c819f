"""The swaps with the lowest distortion for given numbers of target records per region: a minimum-cost flow.

The network holds only the nearest partners of each target record. Potentials show whether a partner outside these lists
could lower the distortion. If so, the lists grow and the flow is solved again. So the result is the optimum over all
pairs of records.
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

# Entries of the first table. If they do not suffice, it has only the target records of outlier regions at first.
TABLE_ENTRIES = 6_000_000


@dataclass(frozen=True, eq=False)
class Flow:
    """An optimal flow: the region and the partner of each target record, and the potentials that prove the optimum.

    The network may have grown since: `targets` and `size` are those of the network on which the flow was solved.
    """

    low: Ints
    high: Ints
    counts: Ints
    stand: Ints
    partner: Ints
    paid: Floats
    owner: NDArray[np.int32]
    potential: Floats
    targets: Ints
    size: int

    @property
    def distortion(self) -> float:
        return float(self.paid.sum())

    def slopes(self, region_count: int) -> Floats:
        """Return a subgradient: cost(other) >= distortion + slopes @ (other - counts), for any counts."""
        return self.potential[-region_count - 1 : -1]


class Network:
    """Target records, regions and the nearest partners between them; it grows when a flow needs more of them."""

    def __init__(self, task: Task, table: int = TABLE_ENTRIES) -> None:
        self.task = task
        self.bounds = np.concatenate([[0], np.cumsum(task.room - task.signal.counts)]).astype(np.int64)
        self.where = task.region[task.partners].astype(np.int32)
        self.solves = 0
        every = task.targets
        depth = table // max(1, every.size * task.region_count)
        targets = every
        if depth < 4:
            targets = every[np.isin(task.region[every], task.outlying)]
            depth = table // max(1, targets.size * task.region_count)
        self._grow(targets, int(min(max(depth, 4), 16)))

    def solve(self, low: Ints, high: Ints, start: Flow | None = None) -> Flow | None:
        """Return the optimal flow with counts within low..high, or None if there is none.

        It starts from `start` if the bounds of that flow were wider.
        """
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
                self._grow(self.task.targets, 2 * self.nearest.depth)
            elif not self._extend(flow):
                return flow

    def reach(self, counts: Ints, start: Flow | None = None) -> Flow | None:
        """Return the optimal flow with exactly these counts, or None if there is none."""
        return self.solve(counts, counts, start)

    def shift_costs(self, flow: Flow) -> Floats:
        """Return at [i, j] what one target record less in region i and one more in j costs (inf: not in the lists)."""
        flow = self.present(flow)
        m = self.task.region_count
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
        """Return pairs of record numbers: a target record and its partner."""
        moved = np.flatnonzero(flow.partner >= 0)
        return np.stack([flow.targets[moved], self.nearest.partners[flow.partner[moved]]], axis=1)

    def solution(self, flow: Flow) -> Solution:
        """Return the flow as checked swaps with their verdict."""
        swaps = self.swaps(flow)
        counts = self.task.check(swaps)
        if (counts != flow.counts).any():
            raise PromiseError("The swaps do not give the counts of their flow.")
        distortion = float(self.task.matching.between(swaps[:, 0], swaps[:, 1]).sum())
        return Solution(swaps, counts, distortion, self.task.judge(counts, distortion))

    def for_task(self, task: Task) -> Network:
        """Return the same network for the same file with other limits."""
        other = copy(self)
        other.task = task
        return other

    def all_nearest(self, depth: int) -> NearestPartners:
        """Return a table of nearest partners for every target record; that of this network, if it has them all."""
        if self.nearest.targets.size == self.task.targets.size and (self.nearest.targets == self.task.targets).all():
            return self.nearest
        fits = max(1, min(depth, 4 * TABLE_ENTRIES // max(1, self.task.targets.size * self.task.region_count)))
        return nearest_partners(self.task.matching, self.task.targets, self.task.partners, self.bounds, fits)

    def _run(self, low: Ints, high: Ints, start: Flow | None) -> Flow | None:
        self.solves += 1
        table = self.nearest
        n, m = table.targets.size, self.task.region_count
        if start is None or not self._holds(start) or not _wider(start, low, high):
            flow = Flow(
                low, high, self.task.signal.counts.copy(), self.home.copy(), np.full(n, -1, dtype=np.int64),
                np.zeros(n), np.full(table.partners.size, -1, dtype=np.int32), np.zeros(n + m + 1),
                table.targets, self.size,
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
        """Grow the table if a partner outside it could lower the cost; False: the flow is proved optimal."""
        table, m = self.nearest, self.task.region_count
        slopes = flow.slopes(m)
        slack = 1e-9 * max(1.0, self.task.matching.worst)
        cut_off = (table.cost[:, :, -1] < np.inf) & (np.diff(self.bounds) > table.depth)[None, :]
        cut_off[np.arange(self.home.size), self.home] = False
        gain = slopes[None, :] - flow.potential[: self.home.size, None] - table.cost[:, :, -1]
        if (cut_off & (gain > slack)).any():
            self._grow(table.targets, 2 * table.depth)
            return True
        return self._add_targets(slopes, slack)

    def _add_targets(self, slopes: Floats, slack: float) -> bool:
        """Add the target records that could lower the cost, by the potentials of the regions."""
        task = self.task
        rest = np.setdiff1d(task.targets, self.nearest.targets)
        gaps = slopes[None, :] - slopes[:, None]
        rest = rest[(gaps.max(axis=1) > slack)[task.region[rest]]]
        if rest.size == 0:
            return False
        # In blocks, so that a file with very many target records needs no huge table.
        joining = []
        for block in np.array_split(rest, max(1, rest.size * task.region_count // 2_000_000)):
            near = nearest_partners(task.matching, block, task.partners, self.bounds, 1)
            pays = near.cost[:, :, 0] < gaps[task.region[block]] - slack
            joining.append(block[pays.any(axis=1)])
        new = np.concatenate(joining)
        if new.size:
            joined = np.isin(task.targets, np.concatenate([self.nearest.targets, new]))
            self._grow(task.targets[joined], self.nearest.depth)
        return bool(new.size)

    def _holds(self, flow: Flow) -> bool:
        """Return whether the flow was solved on the network as it is now."""
        return flow.size == self.size and np.array_equal(flow.targets, self.nearest.targets)

    def present(self, flow: Flow) -> Flow:
        """Return the flow, solved again if the network has grown since; its counts and its distortion stay."""
        while not self._holds(flow):
            again = self.reach(flow.counts)
            if again is None:
                raise PromiseError("A flow that was solved once has no solution on a larger network.")
            flow = again
        return flow

    def _complete(self) -> bool:
        longest = int(np.diff(self.bounds).max())
        return self.nearest.targets.size == self.task.targets.size and self.nearest.depth >= longest

    def _grow(self, targets: Ints, depth: int) -> None:
        self.nearest: NearestPartners = nearest_partners(
            self.task.matching, targets, self.task.partners, self.bounds, depth
        )
        self.home = self.task.region[targets].astype(np.int64)
        self.size = targets.size * self.nearest.depth


def _wider(start: Flow, low: Ints, high: Ints) -> bool:
    """Return whether a flow may start from `start`: its bounds are wider, or the counts are exact."""
    inside = bool((start.low <= low).all() and (start.high >= high).all())
    return inside or bool((low == high).all())
