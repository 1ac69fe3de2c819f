"""The work of `shoal.group_attributes`: find column groups, microaggregate each by itself, and make the release.

Every record shares its values with at least k - 1 others within each column group. Over all columns together a class
may be smaller. Shoal measures and prints that number, the joint k, and does not guarantee it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shoal.arrays import Floats
from shoal.engine.clock import Clock
from shoal.engine.control import current, shielded
from shoal.errors import UsageError, check_k, unknown
from shoal.gate.promises import KAnonymity
from shoal.measures.convention import CONVENTIONS
from shoal.protections.grouping import GROUP
from shoal.protections.grouping.cost import GroupingCost
from shoal.protections.grouping.floor import Floor
from shoal.protections.grouping.front import Choice
from shoal.protections.grouping.grouping import Grouping, apart, as_lists, from_lists, read_groups, together
from shoal.protections.grouping.measured import Measured, Measuring
from shoal.protections.grouping.record_groups import RecordGroups
from shoal.protections.grouping.searching import Searching, SearchResult, find_grouping
from shoal.protections.picking import check_pick
from shoal.protections.values import check_types, warn_of_codes, warn_of_identifiers
from shoal.release import Release
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.scaling import scale
from shoal.table.table import Table

MOST_FINALISTS = 20  # groupings that are tried if the values of the best one break the floor


@dataclass(frozen=True, eq=False)
class GroupedRelease(Release):
    """A release that guarantees k within each column group; `front` has the Pareto front, if it was wanted."""

    column_groups: tuple[tuple[str, ...], ...] = ()
    k_within: int = 0
    front: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The results that are wanted besides the column groups.

    with_front, pick: the Pareto front, and the number of its point to take. baselines: also measure one group of all
    columns, and each column alone. intruder: columns that an intruder holds, for a linkage of its own.
    """

    with_front: bool
    pick: int | None
    baselines: bool
    intruder: Sequence[str]


@dataclass(frozen=True)
class Replacing:
    """How values are replaced inside a column group: by the record groups of a search, of MDAV, or the better ones."""

    within_groups: str
    effort: str | None
    round: bool
    missing: str

    def check(self, convention: str) -> None:
        """Raise an error for an effort that nothing uses."""
        if self.effort is not None and self.efforts(convention) == (None,):
            raise UsageError(
                "effort is the budget of the search inside the column groups, and MDAV has none. Remove --effort, or "
                "add --within-groups search."
            )

    def efforts(self, convention: str) -> tuple[str | None, ...]:
        """The budgets of the ways to group records inside a column group; None for MDAV.

        auto has both ways, because the search minimizes the loss alone: its record groups may have a higher risk. The
        thesis convention has MDAV alone, as published.
        """
        search = self.effort or "standard"
        if self.within_groups == "auto":
            return (None,) if CONVENTIONS[convention].thesis_mdav else (search, None)
        return (search,) if self.within_groups == "search" else (None,)


@dataclass(frozen=True, eq=False)
class Run:
    """One call: the table, its protected columns as numbers, and the cost of column groupings.

    whole: the columns that are written as integers. intruder: the numbers of the columns that an intruder holds.
    """

    table: Table
    columns: tuple[str, ...]
    values: Floats
    scaled: Floats
    cost: GroupingCost
    whole: tuple[str, ...]
    intruder: Sequence[int]

    def measuring(self, *record_groups: RecordGroups) -> Measuring:
        """What measures groupings with the best of these record groups."""
        rounded = [self.columns.index(name) for name in self.whole]
        return Measuring(self.values, self.cost, record_groups, rounded, self.intruder)

    def names(self, grouping: Grouping) -> list[list[str]]:
        """The names of the columns of each group."""
        return [[self.columns[c] for c in group] for group in as_lists(grouping)]


def protect(
    data: Any,
    k: int,
    quasi: Sequence[str],
    groups: Any,
    searching: Searching,
    convention: str,
    replacing: Replacing,
    floor: Floor,
    outcome: Outcome,
) -> GroupedRelease:
    """Find the column groups, or take those of the user, and return the release."""
    groups = read_groups(groups)
    searching.check(groups is not None, outcome.with_front)
    replacing.check(convention)
    table = _table(data, quasi)
    columns = tuple(table.quasi_columns(to_protect=True, numbers_only=True))
    clock, control = Clock(), current()
    table = table.with_missing(replacing.missing, columns)
    k = check_k(k, table.rows)
    values = table.numbers(columns)
    scaled = scale(values, CONVENTIONS[convention].scaling)
    cost = GroupingCost(
        scaled,
        k,
        convention,
        threads=control.threads,
        seed=searching.seed,
        sampling=groups is not None or searching.method != "exact",
        floor=floor,
    )
    whole = tuple(table.whole(columns)) if replacing.round else ()
    intruder = _numbers([outcome.intruder], columns)[0] if outcome.intruder else []
    if len(set(intruder)) < len(intruder):
        raise UsageError("--intruder names a column twice, which would count twice in the distance. Name it once.")
    run = Run(table, columns, values, scaled, cost, whole, intruder)
    fixed = None if groups is None else from_lists(_numbers(groups, columns), len(columns))
    result = find_grouping(searching, cost, values, fixed, outcome.with_front)
    facts = {
        "n": table.rows,
        "d": len(columns),
        "k": cost.k,
        "method": searching.method if fixed is None else "groups",
        "convention": convention,
    }
    release = _release(run, result, searching, replacing.efforts(convention), outcome, fixed is not None)
    return replace(release, facts={**facts, **release.facts, **control.facts, **clock.read()})


def _release(
    run: Run,
    result: SearchResult,
    searching: Searching,
    efforts: Sequence[str | None],
    outcome: Outcome,
    is_fixed: bool,
) -> GroupedRelease:
    """The release of the grouping that is taken, with its loss and risk."""
    cost, evaluations = run.cost, run.cost.requests
    record_groups = [RecordGroups(cost, run.scaled, effort, searching.seed) for effort in efforts]
    measuring = run.measuring(*record_groups)
    is_search = not is_fixed and searching.is_search and outcome.pick is None
    grouping = _final(result, cost, measuring, outcome.pick, is_search, searching.method)
    measured = measuring.measured(grouping)
    baselines = {} if not outcome.baselines or current().stopped else _baselines(measuring, cost.d)
    names = run.names(grouping)
    facts: dict[str, Any] = {
        "within_groups": measured.within_groups,
        **measured.facts(),
        "groups": names,
        "joint_k": measured.joint_k,
    }
    facts |= {"smallest_group": measured.smallest_group, "evaluations": evaluations}
    if measured.within_groups == "search" or run.whole:
        facts["fitness_estimate"] = shielded(partial(cost.evaluate, grouping)).fitness
    unsearched = sum(groups.unsearched for groups in record_groups)
    if unsearched:
        facts["unsearched_groups"] = unsearched
    if run.intruder:
        facts["intruder_columns"] = [run.columns[j] for j in run.intruder]
    if is_search and (len(grouping) == 1 or "all" in baselines):
        facts["split_pays"] = _split_pays(grouping, measured, baselines)
    if baselines:
        facts["baselines"] = {name: one.baseline() for name, one in baselines.items()}
    facts |= {**cost.floor.facts(), **result.facts}
    points = _points(run, result.choices)
    if outcome.with_front:
        taken = [number for number, choice in enumerate(result.choices, start=1) if choice[0] == grouping]
        facts |= {"front": points, "pick": taken[0] if taken else None}
    return GroupedRelease(
        original=run.table,
        frame=run.table.protected(
            {name: measured.values[:, j] for j, name in enumerate(run.columns)}, round_columns=run.whole
        ),
        changed=run.columns,
        k=None,
        facts=facts,
        solution=grouping,
        title=GROUP.title,
        column_groups=tuple(tuple(group) for group in names),
        k_within=cost.k,
        promises=tuple(KAnonymity(tuple(group), cost.k, group=True) for group in names),
        front=tuple(points),
    )


def _table(data: Any, quasi: Sequence[str]) -> Table:
    """The table, whose quasi-identifiers are numbers and which has no weights."""
    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns(to_protect=True, numbers_only=True)
    refuse_roles(table, "group", ("derived", "nominal", "order"))
    check_types(table, columns, "group", needs="numbers")
    warn_of_identifiers(table, table.roles.quasi)
    warn_of_codes(table, columns)
    if table.roles.weight is not None:
        raise UsageError(
            "shoal group does not support weights. Remove --weight, or protect all columns together with "
            "shoal microaggregate."
        )
    return table


def _final(
    result: SearchResult, cost: GroupingCost, measuring: Measuring, pick: int | None, is_search: bool, method: str
) -> Grouping:
    """The grouping whose values are written: of those that keep the floor the one with the lowest fitness.

    A search has estimated the fitness with MDAV. The default search therefore also measures one group of all columns
    and each column alone. If the values of the best grouping break the floor, the next best ones are tried.
    """
    grouping = result.grouping if pick is None else result.choices[check_pick(pick, len(result.choices)) - 1][0]
    extremes = [together(cost.d), apart(cost.d)] if is_search and method == "memetic" and not current().stopped else []
    finalists = {one: measuring.measured(one) for one in dict.fromkeys([grouping, *extremes])}
    accepted = [one for one, measured in finalists.items() if measuring.keeps_floor(measured)]
    if accepted:
        return min(accepted, key=lambda one: finalists[one].evaluation.fitness)
    if not is_search:
        broken = finalists[grouping]
        raise cost.floor.broken("This grouping", broken.joint_k, broken.evaluation.distance_linkage)
    known = cost.known
    others = sorted((one for one in known if one not in finalists), key=lambda one: (known[one].fitness, one))
    for one in others[:MOST_FINALISTS]:
        if measuring.keeps_floor(measuring.measured(one)):
            return one
    all_together = measuring.measured(together(cost.d))
    raise cost.floor.broken("One group of all columns", all_together.joint_k, all_together.evaluation.distance_linkage)


def _baselines(measuring: Measuring, d: int) -> dict[str, Measured]:
    """The two extremes: one group of all columns, and each column alone."""
    return {"all": measuring.measured(together(d)), "univariate": measuring.measured(apart(d))}


def _split_pays(grouping: Grouping, measured: Measured, baselines: dict[str, Measured]) -> bool:
    """Whether several column groups have a lower fitness than one group of all columns."""
    return len(grouping) > 1 and measured.evaluation.fitness < baselines["all"].evaluation.fitness


def _numbers(groups: Sequence[Sequence[str | int]], columns: Sequence[str]) -> list[list[int]]:
    """The groups as column numbers from 0; a number in `groups` counts from 1."""
    numbered = []
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Sequence):
            raise UsageError(f"Each column group must be a list of columns, not {group!r}.")
        for member in group:
            if not isinstance(member, int) and member not in columns:
                raise unknown("column", member, columns)
        numbered.append([m - 1 if isinstance(m, int) else list(columns).index(m) for m in group])
    return numbered


def _points(run: Run, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """The points of the front with MDAV inside the column groups, measured on their values."""
    measuring = run.measuring(RecordGroups(run.cost, run.scaled, None))
    points = []
    for number, (grouping, _) in enumerate(choices, start=1):
        measured = measuring.measured(grouping)
        others = {"risk": measured.evaluation.risk, "groups": run.names(grouping)}
        points.append({**measured.facts(), **others, "joint_k": measured.joint_k, "pick": number})
    return points
