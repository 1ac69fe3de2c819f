"""The best of all groupings of up to 12 columns, proved by bounds and enumeration.

cost every one of the 2^d - 1 groups of columns by itself
walk through all groupings; drop those whose lower bound (kernels/groupings.py) is not below the best known one
cost what is left in full, by rising bound, until a bound reaches the best
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.errors import UsageError
from shoal.evolve.progress import Progress, silent
from shoal.grouping.cost import Evaluation, GroupingCost
from shoal.grouping.grouping import Grouping, bell
from shoal.grouping.memetic import memetic
from shoal.kernels.groupings import groupings_below, least_completions

MOST_COLUMNS = 12


@dataclass(frozen=True)
class ExactResult:
    """The optimum if `proved`, the number of all groupings, and how many of them the bounds could not settle.

    Without proof, for Ctrl-C came first, it is the best that was found by then.
    """

    best: Grouping
    evaluation: Evaluation
    groupings: int
    costed: int
    proved: bool


def exact(cost: GroupingCost, *, evaluations: int = 4_000, seed: int = 0, progress: Progress = silent) -> ExactResult:
    """The grouping of the least price; `evaluations` go into a first search that gives the bounds something to cut."""
    d = cost.d
    if d > MOST_COLUMNS:
        raise UsageError(
            f"the exact search takes at most {MOST_COLUMNS} columns, not {d}: take the memetic search, or fewer columns"
        )
    if cost.sampled:
        raise UsageError("the exact search needs a cost that counts the linkage of every record")
    first = memetic(cost, evaluations=evaluations, seed=seed, progress=progress)
    run = _Run(cost, first.best, cost.price(first.evaluation), progress)
    proved = False
    try:
        if not first.stopped:
            run.settle()
            proved = True
    except KeyboardInterrupt:
        pass
    return ExactResult(run.best, cost.evaluate(run.best), bell(d), run.costed, proved)


class _Run:
    """The best so far, and the work on what the bounds leave."""

    def __init__(self, cost: GroupingCost, best: Grouping, limit: float, progress: Progress) -> None:
        self.cost = cost
        self.best = best
        self.limit = limit
        self.costed = 0
        self._progress = progress

    def settle(self) -> None:
        """Bound all groupings, and cost those that the bounds leave."""
        cost, d, n = self.cost, self.cost.d, self.cost.n
        price, labels, surely = np.zeros(1 << d), np.zeros((1 << d, n), np.int32), np.zeros((1 << d, n), np.bool_)
        for group in range(1, 1 << d):
            price[group] = cost.price_without_links(group)
            labels[group], surely[group] = cost.nearest_own(group)
            self._progress(group, 1 << d, self.limit, "groups of columns")
        bounds, found = _below(price, labels, surely, self.limit, cost)
        for place in np.argsort(bounds, kind="stable"):
            if bounds[place] >= self.limit:
                break
            self.costed += 1
            grouping = tuple(int(group) for group in found[place] if group)
            evaluation = cost.below(grouping, self.limit)
            if evaluation is not None:
                self.best, self.limit = grouping, cost.price(evaluation)
            self._progress(self.costed, len(bounds), self.limit, "groupings that the bounds leave")


def _below(
    price: np.ndarray[tuple[int], np.dtype[np.float64]],
    labels: np.ndarray[tuple[int, int], np.dtype[np.int32]],
    surely: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    limit: float,
    cost: GroupingCost,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int, int], np.dtype[np.int32]]]:
    """The groupings whose bound is below the limit, and the bounds; a second walk if the room did not suffice."""
    least = least_completions(price)
    room = 100_000
    while True:
        bounds, found = np.empty(room), np.empty((room, cost.d), np.int32)
        # A bound that is above by rounding alone must not hide an equal or better grouping.
        count = groupings_below(
            price, least, labels, surely, limit * (1 + 1e-12), cost.price_of_link, cost.convention.strict, bounds, found
        )
        if count <= room:
            return bounds[:count], found[:count]
        room = count
