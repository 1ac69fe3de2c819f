"""The work of `shoal.group_attributes`: columns into groups, each group microaggregated by itself, a release out.

Every record shares its values with at least k - 1 others within each group of columns. Over all columns together fewer
may look alike: Shoal measures and prints that number, the joint k, and does not promise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shoal.arrays import Floats
from shoal.engine.clock import Clock
from shoal.engine.control import current, shielded
from shoal.engine.partition.partition import KPartition
from shoal.errors import Stopped, UsageError, check_k, unknown
from shoal.gate.promises import KAnonymity
from shoal.measures.anonymity import k_anonymity
from shoal.measures.convention import CONVENTIONS
from shoal.measures.evidence import evidence_of_numbers
from shoal.protections.grouping import GROUP, SIZED
from shoal.protections.grouping.all_groupings import exact
from shoal.protections.grouping.correlation import by_correlation
from shoal.protections.grouping.cost import Evaluation, GroupingCost
from shoal.protections.grouping.front import Choice, front, non_dominated
from shoal.protections.grouping.gomm import GommSettings, gomm
from shoal.protections.grouping.grouping import Grouping, apart, as_lists, columns_of, from_lists, read_groups, together
from shoal.protections.grouping.memetic import affordable_evaluations, memetic
from shoal.protections.microaggregation.protect import replaced
from shoal.protections.values import check_types, warn_of_codes, warn_of_identifiers
from shoal.release import Release
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.scaling import scale


@dataclass(frozen=True, eq=False)
class GroupedRelease(Release):
    """A release whose promise is k within each group of columns; `front` has the other choices, if asked for."""

    column_groups: tuple[tuple[str, ...], ...] = ()
    k_within: int = 0
    front: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Searching:
    """How the column groups are found. evaluations, seconds: the budget of the search, None for the usual one."""

    method: str
    size: int | None
    evaluations: int | None
    seconds: float | None
    seed: int

    def check(self, has_groups: bool, with_front: bool) -> None:
        """An error for a size that is missing, and for a budget that nothing uses."""
        if self.method in SIZED and self.size is None and not has_groups:
            raise UsageError(f"the method {self.method} needs the size of a group of columns, as in --size 3")
        for name, value in (("evaluations", self.evaluations), ("seconds", self.seconds)):
            if has_groups and not with_front and value is not None:
                raise UsageError(f"{name} is for a search, and your own groups need none: leave it out.")


def protect(
    data: Any,
    k: int,
    quasi: Sequence[str],
    groups: Any,
    searching: Searching,
    convention: str,
    with_front: bool,
    round: bool,
    missing: str,
) -> GroupedRelease:
    """The release of a table whose column groups are given or searched for."""
    groups = read_groups(groups)
    searching.check(groups is not None, with_front)
    chosen = searching.method if groups is None else "groups"
    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns(to_protect=True, numbers_only=True)
    refuse_roles(table, "group", ("derived", "nominal", "order"))
    check_types(table, columns, "group")
    warn_of_identifiers(table, table.roles.quasi)
    warn_of_codes(table, columns)
    clock, control = Clock(), current()
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
        threads=control.threads,
        seed=searching.seed,
        sampling=chosen != "exact",
    )
    fixed = None if groups is None else from_lists(_numbers(groups, columns), len(columns))
    grouping, evaluation, choices, facts = _search(searching, cost, values, fixed, with_front)
    names = tuple(tuple(columns[c] for c in group) for group in as_lists(grouping))
    protected, smallest = shielded(partial(_protected, values, cost, grouping))
    whole = table.whole(columns) if round else ()
    for j in (columns.index(name) for name in whole):
        protected[:, j] = np.rint(protected[:, j]) + 0.0  # -0.2 is rounded to 0.0, not to -0.0
    frame = table.protected({name: protected[:, j] for j, name in enumerate(columns)}, round_columns=whole)
    listed = shielded(lambda: [_choice(choice, columns, values, cost) for choice in choices])
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
            **shielded(lambda: _figures(evaluation, values, protected, cost)),  # of the best so far too
            "groups": [list(group) for group in names],
            "joint_k": k_anonymity([np.ascontiguousarray(protected[:, j]) for j in range(len(columns))]),
            "smallest_group": smallest,
            "evaluations": cost.requests,
            **facts,
            **control.facts,
            **({"front": listed} if with_front else {}),
            **clock.read(),
        },
        solution=grouping,
        title=GROUP.title,
        column_groups=names,
        k_within=k,
        promises=tuple(KAnonymity(group, k, group=True) for group in names),
        front=tuple(listed),
    )


def _search(
    searching: Searching, cost: GroupingCost, values: Floats, fixed: Grouping | None, with_front: bool
) -> tuple[Grouping, Evaluation, list[Choice], dict[str, Any]]:
    """The grouping, its evaluation, the Pareto front if it is wanted, and facts; the best so far after a stop."""
    budget = searching.evaluations or affordable_evaluations(cost)
    facts: dict[str, Any] = {}
    choices: list[Choice] = []
    grouping = None
    evaluation = None
    with suppress(Stopped):
        grouping, facts = (fixed, {"generations": 0}) if fixed else _by_method(searching, cost, values, budget)
        if with_front:
            seconds, seed = searching.seconds, searching.seed
            choices = front(cost, evaluations=budget, seconds=seconds, seed=seed, starts=[grouping])
        evaluation = cost.exact(grouping)
    if grouping is None:  # the best that the search had looked at in full
        if not cost.known:
            current().check()
        grouping, facts = min(cost.known, key=lambda known: (cost.known[known].fitness, known)), {"generations": 0}
    if with_front and current().stopped:
        choices = non_dominated(cost.known.items())
    return grouping, evaluation or shielded(partial(cost.evaluate, grouping)), choices, facts


def _by_method(
    searching: Searching, cost: GroupingCost, values: Floats, budget: int
) -> tuple[Grouping, dict[str, Any]]:
    """The grouping of a method, and facts about its run."""
    method, seed = searching.method, searching.seed
    if method in SIZED:
        return by_correlation(values, searching.size or 1, together=method == "correlated"), {"generations": 0}
    if method == "all":
        return together(cost.d), {"generations": 0}
    if method == "univariate":
        return apart(cost.d), {"generations": 0}
    if method == "memetic":
        hand_made = [by_correlation(values, max(1, cost.d // m), together=False) for m in (2, 3)]
        run = memetic(cost, evaluations=budget, seconds=searching.seconds, seed=seed, starts=hand_made)
        return run.best, {"generations": run.rounds, **({"stopped": True} if run.stopped else {})}
    if method == "exact":
        proof = exact(cost, evaluations=min(budget, 4_000), seed=seed)
        return proof.best, {"generations": 0, "proved": True, "groupings": proof.groupings, "costed": proof.costed}
    settings = GommSettings(dynamic=method == "d-gomm")
    result = gomm(cost, settings, seed=seed)
    dropped = {"dropped_operators": dict(result.dropped)} if settings.dynamic else {}
    return result.best, {"generations": result.generations, **dropped}


def _numbers(groups: Sequence[Sequence[str | int]], columns: Sequence[str]) -> list[list[int]]:
    """The groups as column numbers from 0; a number given counts from 1."""
    numbered = []
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence):
            raise UsageError(f"each group must be a list of columns, not {group!r}")
        for member in group:
            if not isinstance(member, int) and member not in columns:
                raise unknown("column", member, columns)
        numbered.append([m - 1 if isinstance(m, int) else list(columns).index(m) for m in group])
    return numbered


def _protected(values: Floats, cost: GroupingCost, grouping: Grouping) -> tuple[Floats, int]:
    """The protected values in their own units, and the size of the smallest group of records."""
    protected, smallest = np.empty_like(values), len(values)
    for group in grouping:
        chosen = columns_of(group)
        partition = KPartition(cost.labels(group).astype(np.int64))
        protected[:, chosen] = replaced(values[:, chosen], partition, "mean", None)
        smallest = min(smallest, int(partition.sizes.min()))
    return protected, smallest


def _choice(choice: Choice, columns: Sequence[str], values: Floats, cost: GroupingCost) -> dict[str, Any]:
    grouping, evaluation = choice
    return {
        **_figures(evaluation, values, _protected(values, cost, grouping)[0], cost),
        "risk": evaluation.risk,
        "groups": [[columns[c] for c in group] for group in as_lists(grouping)],
    }


def _figures(evaluation: Evaluation, values: Floats, protected: Floats, cost: GroupingCost) -> dict[str, float]:
    """The parts of the cost, whose intruder holds all columns, and the linkage as `shoal assess` measures it."""
    evidence = evidence_of_numbers(values, protected, convention=cost.convention.name, threads=cost.threads)
    return {
        "fitness": evaluation.fitness,
        "information_loss": evaluation.information_loss,
        "interval_disclosure": evaluation.interval_disclosure,
        "distance_linkage": evidence.number("distance_linkage"),
        "distance_linkage_all_columns": evaluation.distance_linkage,
        "linkage_error": evaluation.error,
    }
