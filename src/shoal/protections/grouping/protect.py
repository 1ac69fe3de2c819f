"""`shoal.group_attributes`: columns into groups, each group microaggregated by itself, a checked release out.

Every record shares its values with at least k - 1 others within each group of columns. Over all columns together fewer
may look alike: Shoal measures and prints that number, the joint k, and does not promise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import cores
from shoal.engine.clock import Clock
from shoal.engine.partition.partition import KPartition
from shoal.engine.progress import Progress, silent
from shoal.engine.stopping import stoppable
from shoal.errors import PromiseError, UsageError, check_choice, check_k, unknown
from shoal.gate.asked import Asked
from shoal.measures.anonymity import k_anonymity
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.correlation import by_correlation
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.front import Choice, front, non_dominated
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.grouping import Grouping, apart, as_lists, columns_of, from_lists, together
from shoal.protections.grouping.memetic import affordable_evaluations, memetic
from shoal.protections.microaggregation.protect import replaced
from shoal.protections.recorded import recorded
from shoal.protections.values import check_types, warn_of_codes, warn_of_identifiers
from shoal.release import Release
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.scaling import scale

METHODS = ("memetic", "gomm", "d-gomm", "exact", "all", "univariate", "correlated", "uncorrelated")
SIZED = ("correlated", "uncorrelated")
SEARCHES = ("memetic", "gomm", "d-gomm", "exact")


@dataclass(frozen=True, eq=False)
class GroupedRelease(Release):
    """A release whose promise is k within each group of columns; `front` has the other choices, if asked for."""

    column_groups: tuple[tuple[str, ...], ...] = ()
    k_within: int = 0
    front: tuple[dict[str, Any], ...] = ()
    kind: ClassVar[str] = "grouping"

    def verify(self) -> None:
        """The promises of every release, and k within each group of columns of the final table."""
        super().verify()
        for names in self.column_groups:
            smallest = k_anonymity([self.protected.raw(name) for name in names])
            if smallest < self.k_within:
                raise PromiseError(
                    f"the smallest class within the columns {', '.join(names)} has {smallest} records, fewer than "
                    f"k = {self.k_within}; nothing is written. The convention 'thesis' may leave such a last group: "
                    "take the convention 'sound'"
                )

    def asked(self) -> Asked:
        """k within each group of columns."""
        return replace(super().asked(), k=self.k_within, column_groups=self.column_groups)


@recorded("group")
def group_attributes(
    data: Any,
    k: int,
    *,
    method: str | None = None,
    quasi: Sequence[str] = (),
    groups: Sequence[Sequence[str | int]] | None = None,
    size: int | None = None,
    convention: str = "sound",
    with_front: bool = False,
    evaluations: int | None = None,
    seconds: float | None = None,
    round: bool = False,
    missing: str = "error",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> GroupedRelease:
    """Find groups of columns with the best balance of loss and risk, and microaggregate each by itself.

    method: memetic (the default), gomm, d-gomm, exact; or all, univariate, correlated, uncorrelated (with `size`).
    groups: your own groups of columns instead of a method, by name or by number from 1.
    convention: sound (standardised, Euclidean) or thesis (reproduces the GOMM thesis, its last groups included).
    with_front: also the choices that no other beats in both loss and risk.
    evaluations, seconds: the budget of the memetic search, and a cap.
    """
    chosen = _method(method, groups, size, evaluations, seconds, with_front)
    check_choice("convention", convention, CONVENTIONS)
    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns(to_protect=True, numbers_only=True)
    refuse_roles(table, "group", ("derived", "nominal", "order"))
    check_types(table, columns, "group")
    warn_of_identifiers(table, table.roles.quasi)
    warn_of_codes(table, columns)
    clock = Clock()
    table = table.with_missing(missing, columns)
    k = check_k(k, table.rows)
    if table.weights() is not None:
        raise UsageError(
            "grouping columns cannot honour weights: name no weight, or microaggregate all columns together"
        )
    values = table.numbers(columns)
    cost = GroupingCost(
        scale(values, CONVENTIONS[convention].scaling),
        k,
        convention,
        threads=threads or cores(),
        seed=seed,
        sampling=chosen != "exact",
    )
    budget = evaluations or affordable_evaluations(cost)
    fixed = None if groups is None else from_lists(_numbers(groups, columns), len(columns))
    facts: dict[str, Any] = {}
    choices: list[Choice] = []
    grouping = None
    with stoppable() as stop:
        grouping, facts = _found(chosen, cost, values, fixed, size, budget, seconds, seed, progress)
        if with_front:
            choices = front(cost, evaluations=budget, seconds=seconds, seed=seed, starts=[grouping], progress=progress)
    if grouping is None:  # the best that the search had looked at in full
        if not cost.known:
            stop.again()
        grouping, facts = min(cost.known, key=lambda known: (cost.known[known].fitness, known)), {"generations": 0}
    if with_front and stop.asked:
        choices = non_dominated(cost.known.items())
    evaluation = cost.exact(grouping)
    names = tuple(tuple(columns[c] for c in group) for group in as_lists(grouping))
    protected, smallest = _protected(values, cost, grouping)
    whole = table.whole(columns) if round else ()
    for j in (columns.index(name) for name in whole):
        protected[:, j] = np.rint(protected[:, j]) + 0.0  # -0.2 is rounded to 0.0, not to -0.0
    frame = table.protected({name: protected[:, j] for j, name in enumerate(columns)}, round_columns=whole)
    return GroupedRelease(
        original=table,
        frame=frame,
        changed=tuple(columns),
        k=None,
        facts={
            "n": table.rows,
            "d": len(columns),
            "k": k,
            "method": chosen,
            "convention": convention,
            **_figures(evaluation),
            "groups": [list(group) for group in names],
            "joint_k": k_anonymity([np.ascontiguousarray(protected[:, j]) for j in range(len(columns))]),
            "smallest_group": smallest,
            "evaluations": cost.requests,
            **facts,
            **stop.facts,
            **({"front": [_choice(choice, columns) for choice in choices]} if with_front else {}),
            **clock.read(),
        },
        solution=grouping,
        title="Column groups",
        column_groups=names,
        k_within=k,
        front=tuple(_choice(choice, columns) for choice in choices),
    )


def _method(
    method: str | None,
    groups: object,
    size: int | None,
    evaluations: int | None,
    seconds: float | None,
    with_front: bool,
) -> str:
    """The method meant; whatever was given that it does not use is an error."""
    if groups is not None and method is not None:
        raise UsageError(f"either the method {method!r} or your own groups: both cannot be followed")
    chosen = "groups" if groups is not None else check_choice("method", method or "memetic", METHODS)
    if chosen in SIZED and size is None:
        raise UsageError(f"the method {chosen} needs the size of a group of columns, as in --size 3")
    if size is not None and chosen not in SIZED:
        raise UsageError(f"the size of a group belongs to the methods {' and '.join(SIZED)}, not to {chosen}")
    if chosen not in ("memetic", "exact") and not with_front:
        for name, value in (("evaluations", evaluations), ("seconds", seconds)):
            if value is not None:
                raise UsageError(f"{name} belong to the memetic search, not to {chosen}")
    if evaluations is not None and evaluations < 1:
        raise UsageError(f"the number of evaluations must be 1 or more, not {evaluations}")
    return chosen


def _found(
    method: str,
    cost: GroupingCost,
    values: np.ndarray[Any, np.dtype[np.float64]],
    fixed: Grouping | None,
    size: int | None,
    budget: int,
    seconds: float | None,
    seed: int,
    progress: Progress,
) -> tuple[Grouping, dict[str, Any]]:
    """The grouping of a method, and what it tells of its run."""
    if fixed is not None:
        return fixed, {"generations": 0}
    if method in SIZED:
        return by_correlation(values, size or 1, together=method == "correlated"), {"generations": 0}
    if method == "all":
        return together(cost.d), {"generations": 0}
    if method == "univariate":
        return apart(cost.d), {"generations": 0}
    if method == "memetic":
        hand_made = [by_correlation(values, max(1, cost.d // m), together=False) for m in (2, 3)]
        run = memetic(cost, evaluations=budget, seconds=seconds, seed=seed, starts=hand_made, progress=progress)
        return run.best, {"generations": run.rounds, **({"stopped": True} if run.stopped else {})}
    if method == "exact":
        proof = exact(cost, evaluations=min(budget, 4_000), seed=seed, progress=progress)
        return proof.best, {"generations": 0, "proved": True, "groupings": proof.groupings, "costed": proof.costed}
    settings = GommSettings(dynamic=method == "d-gomm")
    result = gomm(
        cost,
        settings,
        seed=seed,
        progress=lambda generation, best: progress(generation, settings.generations, best, "generations"),
    )
    dropped = {"dropped_operators": dict(result.dropped)} if settings.dynamic else {}
    return result.best, {"generations": result.generations, **dropped}


def _numbers(groups: Sequence[Sequence[str | int]], columns: Sequence[str]) -> list[list[int]]:
    """The groups as column numbers from 0; a number given counts from 1."""
    found = []
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence):
            raise UsageError(f"each group must be a list of columns, not {group!r}")
        for member in group:
            if not isinstance(member, int) and member not in columns:
                raise unknown("column", member, columns)
        found.append([m - 1 if isinstance(m, int) else list(columns).index(m) for m in group])
    return found


def _protected(
    values: np.ndarray[Any, np.dtype[np.float64]], cost: GroupingCost, grouping: Grouping
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
    """The protected values in their own units, and the size of the smallest group of records."""
    protected, smallest = np.empty_like(values), len(values)
    for group in grouping:
        chosen = columns_of(group)
        partition = KPartition(cost.labels(group).astype(np.int64))
        protected[:, chosen] = replaced(values[:, chosen], partition, "mean", None)
        smallest = min(smallest, int(partition.sizes.min()))
    return protected, smallest


def _choice(choice: Choice, columns: Sequence[str]) -> dict[str, Any]:
    grouping, evaluation = choice
    return {
        **_figures(evaluation),
        "risk": evaluation.risk,
        "groups": [[columns[c] for c in group] for group in as_lists(grouping)],
    }


def _figures(evaluation: Evaluation) -> dict[str, float]:
    return {
        "fitness": evaluation.fitness,
        "information_loss": evaluation.information_loss,
        "interval_disclosure": evaluation.interval_disclosure,
        "distance_linkage": evaluation.distance_linkage,
        "linkage_error": evaluation.error,
    }
