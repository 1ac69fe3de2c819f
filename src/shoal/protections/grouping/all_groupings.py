"""The best of all groupings of up to 12 columns, proved by bounds and enumeration.

cost every one of the 2^d - 1 groups of columns by itself
walk through all groupings; drop those whose lower bound (kernels/groupings.py) is not below the best known one
cost what is left in full, by rising bound, until a bound reaches the best
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, bell
from shoal.protections.grouping.kernels.groupings import groupings_below, least_completions
from shoal.protections.grouping.memetic import memetic

MOST_COLUMNS = 12


@dataclass(frozen=True)
class ExactResult:
    """The optimum, the number of all groupings, and how many of them the bounds could not settle."""

    best: Grouping
    evaluation: Evaluation
    groupings: int
    costed: int


def exact(
    cost: GroupingCost, *, evaluations: int = 4_000, seed: int = 0, control: Control | None = None
) -> ExactResult:
    """The grouping of the least price; `evaluations` go into a first search that gives the bounds something to cut."""
    control = control or current()
    d, n = cost.d, cost.n
    if d > MOST_COLUMNS:
        raise UsageError(
            f"the exact search takes at most {MOST_COLUMNS} columns, not {d}: take the memetic search, or fewer columns"
        )
    if cost.sampled:
        raise UsageError("the exact search needs a cost that counts the linkage of every record")
    best = memetic(cost, evaluations=evaluations, seed=seed, control=control).best
    limit = cost.price(cost.evaluate(best))
    price, labels, surely = np.zeros(1 << d), np.zeros((1 << d, n), np.int32), np.zeros((1 << d, n), np.bool_)
    for group in range(1, 1 << d):
        price[group] = cost.price_without_links((group,))
        labels[group], surely[group] = cost.nearest_own(group)
        control.show(group, 1 << d, limit, "groups of columns")
        control.check()
    bounds, groupings = _below(price, labels, surely, limit, cost, control)
    costed = 0
    for place in np.argsort(bounds, kind="stable"):
        if bounds[place] >= limit:
            break
        costed += 1
        grouping = tuple(int(group) for group in groupings[place] if group)
        evaluation = cost.below(grouping, limit)
        if evaluation is not None:
            best, limit = grouping, cost.price(evaluation)
        control.show(costed, len(bounds), limit, "groupings that the bounds leave")
        control.check()
    return ExactResult(best, cost.evaluate(best), bell(d), costed)


def _below(
    price: np.ndarray[tuple[int], np.dtype[np.float64]],
    labels: np.ndarray[tuple[int, int], np.dtype[np.int32]],
    surely: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    limit: float,
    cost: GroupingCost,
    control: Control,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int, int], np.dtype[np.int32]]]:
    """The groupings whose bound is below the limit, and the bounds; a second walk if the room did not suffice."""
    least = least_completions(price)
    room = 100_000
    while True:
        bounds, groupings = np.empty(room), np.empty((room, cost.d), np.int32)
        # A bound that is above by rounding alone must not hide an equal or better grouping.
        count = groupings_below(
            *(price, least, labels, surely, limit * (1 + 1e-12), cost.price_of_link, cost.convention.strict),
            *(bounds, groupings, control.flag),
        )
        control.check()
        if count <= room:
            return bounds[:count], groupings[:count]
        room = count
