"""The solutions of a search and their Pareto front, which shows the cost of a higher k.

A point is on the front if no other point has a lower achievement at the same or a higher effective k. The answer is the
feasible point with the lowest achievement. Among equals the lower preference deviation wins (Dewri et al. 2009).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.engine.nsga2 import ranked
from shoal.protections.generalization.bits import canonical
from shoal.protections.generalization.evaluate import Problem
from shoal.protections.picking import check_pick


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """One generalization with its measures. The records of classes that break k, l or t are suppressed.

    completed: the smallest other class is suppressed too, because fewer than k suppressed records would not hide among
    each other.
    """

    labels: Ints
    k: int
    nwp: float
    necd: float
    effective_k: int
    achievement: float
    deviation: float
    suppressed: int
    completed: bool = False

    def figures(self) -> dict[str, Any]:
        """Return the measures by their JSON keys."""
        return {
            "nwp": self.nwp,
            "necd": self.necd,
            "effective_k": self.effective_k,
            "achievement": self.achievement,
            "preference_deviation": self.deviation,
            "suppressed": self.suppressed,
        }


@dataclass(frozen=True, eq=False)
class Front:
    """The feasible points by rising effective k, the position of the answer, and facts about the search.

    infeasible: the non-dominated points of NSGA-II's last population that do not reach k.
    """

    points: tuple[FrontPoint, ...]
    answer: int
    evaluations: int
    facts: dict[str, Any] = field(default_factory=dict)
    infeasible: tuple[FrontPoint, ...] = ()

    @property
    def best(self) -> FrontPoint:
        return self.points[self.answer]

    def picked(self, number: int | None) -> Front:
        """Return the same front with another point as the answer; numbers start at 1."""
        if number is None:
            return self
        return replace(self, answer=check_pick(number, len(self.points)) - 1)


def points_of(problem: Problem, stack: Ints, k: int | None = None, *, feasible: bool = True) -> list[FrontPoint]:
    """Return the points of the generalizations that keep every guarantee; with feasible=False, those that do not."""
    limited = problem if k is None else replace(problem, k=k)
    stack = np.array([canonical(labels, problem.sizes) for labels in stack])
    costs = limited.evaluate(stack)
    allowed = (costs.suppressed <= limited.allowed) & (costs.effective_k >= limited.k)
    return [
        FrontPoint(
            stack[i],
            limited.k,
            float(costs.nwp[i]),
            float(costs.necd[i]),
            int(costs.effective_k[i]),
            float(costs.achievement[i]),
            float(costs.deviation[i]),
            int(costs.suppressed[i]),
        )
        for i in np.flatnonzero(allowed == feasible)
    ]


def front_of(points: Iterable[FrontPoint], evaluations: int, **facts: Any) -> Front:
    """Return the Pareto front of the points; of equal points it has one."""
    distinct: dict[tuple[float, int], FrontPoint] = {}
    for point in points:
        key = (round(point.achievement, 12), point.effective_k)
        if key not in distinct or point.deviation < distinct[key].deviation:
            distinct[key] = point
    candidates = list(distinct.values())
    if not candidates:
        raise ValueError("A front needs at least one feasible point.")
    order = ranked(np.array([[p.achievement, -p.effective_k] for p in candidates], dtype=np.float64))
    kept = sorted((p for p, rank in zip(candidates, order.rank, strict=True) if rank == 0), key=lambda p: p.effective_k)
    answer = min(range(len(kept)), key=lambda i: (kept[i].achievement, kept[i].deviation))
    return Front(tuple(kept), answer, evaluations, facts)
