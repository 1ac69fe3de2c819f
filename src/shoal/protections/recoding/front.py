"""The Pareto front of a local recoding: what a higher k, a higher l or fewer suppressed records cost.

The groups are formed anew for each goal: k and its multiples; with confidential columns, l and the next two; with
suppression, half of the share and none. A goal differs from the first one in k, in l or in the share, so each of them
can be drawn against the loss. A solution is on the front if no other one has at most its loss and its suppressed
records, and at least its k and its l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from shoal.engine.control import Control, current
from shoal.engine.nsga2 import ranked
from shoal.errors import Stopped, UsageError
from shoal.protections.picking import check_pick

K_FACTORS = (1, 2, 3, 5, 10)
MORE_L = 2


class NotDiverseError(UsageError):
    """Not even all records together keep l and t."""


@dataclass(frozen=True)
class Goal:
    """The k, the l (None: none is required) and the largest share of suppressed records of a solution."""

    k: int
    l: float | None  # noqa: E741
    suppress: float


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """The solution for a goal: its loss, its smallest class, its suppressed records and its groups."""

    goal: Goal
    loss: float
    effective_k: int
    suppressed: int
    solution: Any = field(repr=False)

    def figures(self) -> dict[str, Any]:
        """Return the measures by their JSON keys."""
        return {
            "k": self.goal.k,
            "l": self.goal.l,
            "suppress": self.goal.suppress,
            "loss": self.loss,
            "effective_k": self.effective_k,
            "suppressed": self.suppressed,
        }


def goals(first: Goal, n: int, highest_l: float) -> list[Goal]:
    """Return the goals, the first one first. highest_l: above it no groups keep l; below 2 there is no l at all.

    >>> [(goal.k, goal.l) for goal in goals(Goal(5, None, 0.0), 40, 3.0)]
    [(5, None), (10, None), (15, None), (5, 2.0), (5, 3.0)]
    """
    ks = [first.k * factor for factor in K_FACTORS if factor == 1 or 2 * first.k * factor <= n]
    start = 1.0 if first.l is None else first.l
    ls = [start + more for more in range(1, MORE_L + 1) if start + more <= highest_l]
    shares = [first.suppress / 2, 0.0] if first.suppress > 0 else []
    return [
        *(replace(first, k=k) for k in ks),
        *(replace(first, l=value) for value in ls),
        *(replace(first, suppress=share) for share in shares),
    ]


def points_of(wanted: Sequence[Goal], solve: Callable[[Goal], FrontPoint]) -> list[FrontPoint]:
    """Return a solution for the first goal, and for each other one that can be reached before the work is stopped."""
    control = current()
    points: list[FrontPoint] = []
    for number, goal in enumerate(wanted):
        try:
            point = _part(control, number, len(wanted)).call(partial(solve, goal))
        except (NotDiverseError, Stopped):
            if not points:
                raise
            continue
        if not points or not control.stopped:
            points.append(point)
    return points


def _part(control: Control, number: int, count: int) -> Control:
    """Return the control of one solution; its progress is a part of the whole, and only the first one has notices."""

    def show(done: float, total: float, best: float | None = None, what: str = "") -> None:
        control.show(number + (min(done / total, 1.0) if total else 0.0), count, best, f"solution {number + 1}")

    part = control.part(progress=show)
    if number:
        part.notices = []
    return part


def front_of(points: Iterable[FrontPoint]) -> list[FrontPoint]:
    """Return the points that no other one beats, by k, l, and suppressed records; of equal points the first."""
    every = list(points)
    distinct = {tuple(objectives): i for i, objectives in reversed(list(enumerate(map(_objectives, every))))}
    kept = [every[i] for i in sorted(distinct.values())]
    rank = ranked(np.array([_objectives(point) for point in kept])).rank
    front = [point for point, its in zip(kept, rank, strict=True) if its == 0]
    return sorted(front, key=lambda point: (point.goal.k, point.goal.l or 0.0, -point.goal.suppress))


def _objectives(point: FrontPoint) -> list[float]:
    return [point.loss, -point.goal.k, -(point.goal.l or 1.0), point.suppressed]


def place_of(front: Sequence[FrontPoint], pick: int | None) -> int:
    """Return the position of the solution to take: that of a number, from 1 on, or else the one with the least loss."""
    if pick is not None:
        return check_pick(pick, len(front)) - 1
    return min(range(len(front)), key=lambda i: (front[i].loss, -front[i].goal.k))
