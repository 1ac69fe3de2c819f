"""How the column groups are found: the methods by name, and the options of each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shoal.arrays import Floats
from shoal.engine.control import current
from shoal.errors import Stopped, UsageError
from shoal.protections.grouping import SEARCHES, SIZED
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.correlation import by_correlation, dealt_out
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.front import Choice, front, non_dominated
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.grouping import Grouping, apart, together
from shoal.protections.grouping.memetic import affordable_evaluations, memetic

MOST_FIRST_EVALUATIONS = 4_000  # of the search before the enumeration of the method exact
NO_GENERATIONS = {"generations": 0}


@dataclass(frozen=True)
class Searching:
    """The method and its options. evaluations, seconds: the search budget; None for the default."""

    method: str
    size: int | None
    evaluations: int | None
    seconds: float | None
    seed: int
    gomm: GommSettings

    @property
    def is_search(self) -> bool:
        """Whether the method looks for the grouping with the best fitness."""
        return self.method in SEARCHES

    def check(self, has_groups: bool, with_front: bool) -> None:
        """Raise an error for a size that is missing, and for a budget that nothing uses."""
        if self.method in SIZED and self.size is None and not has_groups:
            raise UsageError(f"The method {self.method} needs the number of columns per group: add --size 3.")
        for name, value in (("evaluations", self.evaluations), ("seconds", self.seconds)):
            if has_groups and not with_front and value is not None:
                raise UsageError(f"{name} is the budget of a search, and --groups needs none. Remove --{name}.")


@dataclass(frozen=True)
class SearchResult:
    """The best grouping by the search's estimate, the Pareto front if it is wanted, and facts about the run."""

    grouping: Grouping
    choices: Sequence[Choice]
    facts: dict[str, Any]


def find_grouping(
    searching: Searching, cost: GroupingCost, values: Floats, fixed: Grouping | None, with_front: bool
) -> SearchResult:
    """Find the grouping, or take the fixed one, and find the front; after a stop, the best grouping so far."""
    budget = searching.evaluations or affordable_evaluations(cost)
    facts: dict[str, Any] = NO_GENERATIONS
    choices: Sequence[Choice] = ()
    grouping = fixed
    with suppress(Stopped):
        if grouping is None:
            grouping, facts = _by_method(searching, cost, values, budget)
        if with_front:
            seconds, seed = searching.seconds, searching.seed
            choices = front(cost, evaluations=budget, seconds=seconds, seed=seed, starts=[grouping])
    known = cost.known
    if grouping is None:  # the best grouping that the search had evaluated
        if not known:
            current().check()
        grouping = min(known, key=lambda one: (known[one].fitness, one), default=together(cost.d))
    if with_front and current().stopped:
        choices = non_dominated(known.items())
    return SearchResult(grouping, choices, facts)


def _by_method(
    searching: Searching, cost: GroupingCost, values: Floats, budget: int
) -> tuple[Grouping, dict[str, Any]]:
    """The grouping of a method, and facts about its run."""
    method, seed, seconds = searching.method, searching.seed, searching.seconds
    if method == "correlated":
        return by_correlation(values, searching.size or 1, together=True), NO_GENERATIONS
    if method == "uncorrelated":
        return dealt_out(values, searching.size or 1), NO_GENERATIONS
    if method == "all":
        return together(cost.d), NO_GENERATIONS
    if method == "univariate":
        return apart(cost.d), NO_GENERATIONS
    if method == "memetic":
        starts = [by_correlation(values, max(1, cost.d // m), together=False) for m in (2, 3)]
        run = memetic(cost, evaluations=budget, seconds=seconds, seed=seed, starts=starts)
        return run.best, {"generations": run.rounds, **_stopped(run.stopped)}
    if method == "exact":
        proof = exact(cost, evaluations=min(budget, MOST_FIRST_EVALUATIONS), seed=seed)
        facts = {**NO_GENERATIONS, "proved": True, "groupings": proof.groupings, "costed": proof.costed}
        return proof.best, facts
    result = gomm(cost, searching.gomm, seed=seed, seconds=seconds)
    dropped = {"dropped_operators": dict(result.dropped)} if searching.gomm.dynamic else {}
    return result.best, {"generations": result.generations, **dropped, **_stopped(result.stopped)}


def _stopped(stopped: bool) -> dict[str, bool]:
    return {"stopped": True} if stopped else {}
