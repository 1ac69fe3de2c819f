"""The best of all groupings of up to 12 columns, proved by bounds and enumeration.

evaluate each of the 2^d - 1 column groups by itself
enumerate all groupings; drop those whose lower bound (kernels/groupings.py) is not below the best price so far
evaluate the others completely, by rising bound, until a bound reaches the best price
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Floats
from shoal.engine.control import Control, current
from shoal.errors import UsageError
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.grouping import Grouping, bell
from shoal.protections.grouping.kernels.groupings import groupings_below, least_completions
from shoal.protections.grouping.memetic import memetic

MOST_COLUMNS = 12


@dataclass(frozen=True)
class ExactResult:
    """The optimum, the number of all groupings, and how many of them had to be evaluated completely (`costed`)."""

    best: Grouping
    evaluation: Evaluation
    groupings: int
    costed: int


def exact(
    cost: GroupingCost, *, evaluations: int = 4_000, seed: int = 0, control: Control | None = None
) -> ExactResult:
    """The grouping with the lowest price that keeps the floor.

    A first search with `evaluations` evaluations gives the price that bounds are compared with. If no grouping keeps
    the floor, the result is the one of that search.
    """
    control = control or current()
    d, n = cost.d, cost.n
    if d > MOST_COLUMNS:
        raise UsageError(
            f"The method exact takes at most {MOST_COLUMNS} columns, not {d}. Use --method memetic, or fewer columns."
        )
    if cost.sampled:
        raise UsageError("The exact search needs a cost that counts the linkage of every record: sampling=False.")
    first = memetic(cost, evaluations=evaluations, seed=seed, control=control)
    best = first.best
    limit = cost.price(first.evaluation) if cost.accepts(best, first.evaluation) else math.inf
    price, labels, surely = np.zeros(1 << d), np.zeros((1 << d, n), np.int32), np.zeros((1 << d, n), np.bool_)
    for group in range(1, 1 << d):
        price[group] = cost.price_without_links((group,))
        labels[group], surely[group] = cost.nearest_own(group)
        control.show(group, 1 << d, limit, "column groups")
        control.check()
    bounds, groupings = _below(price, labels, surely, limit, cost, control)
    costed = 0
    for position in np.argsort(bounds, kind="stable"):
        if bounds[position] >= limit:
            break
        costed += 1
        grouping = tuple(int(group) for group in groupings[position] if group)
        evaluation = cost.below(grouping, limit)
        if evaluation is not None:
            best, limit = grouping, cost.price(evaluation)
        control.show(costed, len(bounds), limit, "groupings below the bound")
        control.check()
    return ExactResult(best, cost.evaluate(best), bell(d), costed)


def _below(
    price: Floats,
    labels: NDArray[np.int32],
    surely: NDArray[np.bool_],
    limit: float,
    cost: GroupingCost,
    control: Control,
) -> tuple[Floats, NDArray[np.int32]]:
    """The bounds that are below the limit, and their groupings; enumerated again if there are too many at first."""
    completions = least_completions(price)
    capacity = 100_000
    while True:
        bounds, groupings = np.empty(capacity), np.empty((capacity, cost.d), np.int32)
        # A bound that is above the limit only by rounding must not hide an equal or better grouping.
        count = groupings_below(
            *(price, completions, labels, surely, limit * (1 + 1e-12), cost.price_of_link, cost.convention.strict),
            *(bounds, groupings, control.flag),
        )
        control.check()
        if count <= capacity:
            return bounds[:count], groupings[:count]
        capacity = count
