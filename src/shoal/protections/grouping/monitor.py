"""Statistics of the operators of GOMM, per generation (GOMM thesis, ch. 4, formulas 4.1-4.3).

A `Birth` records one chromosome: the operator that made it, its cost and that of its parents, whether it became a
parent, and when it was discarded. `Monitor.table` has one row per operator and generation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.protections.grouping.cost import Evaluation
from shoal.protections.grouping.grouping import Grouping

UNPRICED = Evaluation(float("inf"), float("inf"), float("inf"))

COLUMNS = (
    "operator", "generation", "children", "discarded_unused", "lifetime", "better", "worse", "clones",
    "improvement_mean", "improvement_min", "improvement_max", "worsening_mean", "worsening_min", "worsening_max",
    "best_cost", "mean_cost", "mean_groups",
)  # fmt: skip


@dataclass(eq=False, slots=True)
class Birth:
    """One chromosome.

    reference: the fitness of its parent, or the mean fitness of its parents. clone: whether it is the same grouping as
    one of its parents. used: whether it became a parent. died: the generation in which it was discarded, or None.
    """

    grouping: Grouping
    operator: str
    born: int
    reference: float = float("nan")
    clone: bool = False
    cost: Evaluation = UNPRICED
    used: bool = False
    died: int | None = None

    def efficiency(self) -> float:
        """The improvement over the reference in percent; negative if it is worse."""
        return efficiency(self.cost.fitness, self.reference)


def efficiency(child: float, reference: float) -> float:
    """With r = child / reference: (1 - r) * 100 if r is at most 1, and (1 / r - 1) * 100 if it is larger.

    >>> efficiency(8.0, 10.0), efficiency(10.0, 8.0), efficiency(0.0, 0.0)
    (20.0, -20.0, 0.0)
    """
    if child == reference:
        return 0.0
    return 100.0 * (reference - child) / (reference if child < reference else child)


class Monitor:
    """Collects every birth of a run, and makes the table after its end."""

    def __init__(self) -> None:
        self._births: dict[tuple[str, int], list[Birth]] = defaultdict(list)
        self._population: dict[int, tuple[float, float, float]] = {}
        self._last = 0

    def generation(self, number: int, population: Sequence[Birth], children: Sequence[Birth]) -> None:
        """Record a generation: its births, its best and mean fitness, and its mean number of column groups."""
        for birth in children:
            self._births[birth.operator, number].append(birth)
        count = len(population)
        self._population[number] = (
            population[0].cost.fitness,
            sum(birth.cost.fitness for birth in population) / count,
            sum(len(birth.grouping) for birth in population) / count,
        )
        self._last = number

    def table(self) -> list[dict[str, object]]:
        """One row per operator and generation, with the columns `COLUMNS`; 'first' stands for the first population."""
        rows = []
        for (operator, number), births in self._births.items():
            best, mean, groups = self._population[number]
            rows.append(
                {
                    "operator": operator,
                    "generation": number,
                    "children": len(births),
                    # Births that never became parents, also those that were alive at the end of the run.
                    "discarded_unused": sum(not birth.used for birth in births),
                    "lifetime": sum((self._last if b.died is None else b.died) - b.born for b in births) / len(births),
                    **_efficacy(births),
                    "best_cost": best,
                    "mean_cost": mean,
                    "mean_groups": groups,
                }
            )
        return rows


def _efficacy(births: Sequence[Birth]) -> dict[str, object]:
    """The numbers of children that are better and worse than their parents, and by how much. A clone is neither.

    A child of a crossover that equals one parent is a clone too, although its fitness differs from the parents' mean.
    """
    gains = [0.0 if birth.clone else birth.efficiency() for birth in births if birth.operator != "first"]
    better = [gain for gain in gains if gain > 0]
    worse = [gain for gain in gains if gain < 0]
    row: dict[str, object] = {
        "better": len(better),
        "worse": len(worse),
        "clones": len(gains) - len(better) - len(worse),
    }
    for name, values in (("improvement", better), ("worsening", worse)):
        row[f"{name}_mean"] = sum(values) / len(values) if values else None
        row[f"{name}_min"] = min(values, key=abs) if values else None
        row[f"{name}_max"] = max(values, key=abs) if values else None
    return row
