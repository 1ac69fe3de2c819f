"""The work of `shoal.suppress`: read the columns, search for the stars, and make the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.arrays import Bools, Codes, Floats, Indices
from shoal.engine.clock import Clock
from shoal.engine.control import current
from shoal.errors import InputError, UsageError, check_k, unknown
from shoal.gate.promises import EverySubset, KAnonymity, KOfStars, OnlyStars, Promise
from shoal.notices import notice
from shoal.protections.column_sets import check_sets
from shoal.protections.suppression import NEVER, SUPPRESS, class_search, every_subset, wildcard
from shoal.protections.suppression.class_search import Stars
from shoal.protections.suppression.problem import StarProblem, distinct_rows, make_problem
from shoal.protections.suppression.readings import smallest_counts
from shoal.protections.suppression.release import SuppressedRelease
from shoal.protections.suppression.tables import class_tables
from shoal.protections.values import check_types, one_zero, warn_of_identifiers
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.column import Column
from shoal.table.labels import SUPPRESSED, number
from shoal.table.table import Table

MOST_KEYS = 62  # a set of keys is a 64-bit number
MANY_KEYS = 12  # up to so many, the search may use every subset of the keys
MOST_ROUNDS = 1_000  # over the sets of keys; each adds stars


@dataclass(frozen=True)
class StarGoal:
    """What the stars must reach, and what they cost."""

    k: int
    sets: Sequence[Sequence[str]] | None
    star: str
    subsets: int | None
    within: Sequence[str]
    importance: Mapping[str, float | str]
    missing: str


def protect(data: Any, quasi: Sequence[str], goal: StarGoal, effort: str, seed: int) -> SuppressedRelease:
    """Search for the stars and return the release."""
    table = as_table(data, quasi=quasi)
    names, within = _columns(table, goal)
    clock = Clock()
    if goal.missing != "value":
        table = table.with_missing(goal.missing, names, dict.fromkeys(names, "value"))
    table = one_zero(table, (*names, *within))
    k = check_k(goal.k, table.rows)
    keys = Keys(table, names, within, goal, k)
    keys.check()
    stars = keys.search(effort, seed)
    starred = stars.starred
    new = {name: star_text(table[name], starred[:, j]) for j, name in enumerate(names) if starred[:, j].any()}
    sets = tuple(tuple(chosen) for chosen in goal.sets or ())
    facts = {**keys.facts(stars), **current().facts, **clock.read()}
    return SuppressedRelease(
        original=table,
        frame=table.protected(new),
        changed=names,
        k=kept_k(goal, k),
        facts=facts,
        solution=stars,
        title=SUPPRESS.title,
        within=within,
        promises=promises_of(names, within, goal, k, sets),
        starred=starred,
        sets=sets,
    )


def kept_k(goal: StarGoal, k: int) -> int | None:
    """Return the class size that is guaranteed; None if a star may stand for any value."""
    return k if goal.star == "value" and goal.subsets is None else None


def promises_of(
    names: tuple[str, ...], within: tuple[str, ...], goal: StarGoal, k: int, sets: Sequence[tuple[str, ...]]
) -> tuple[Promise, ...]:
    """Return the guarantees of a release."""
    only = OnlyStars(names)
    if goal.subsets is not None:
        return EverySubset(names, goal.subsets, k, within), only
    if goal.star == "wildcard":
        return KOfStars((*names, *within), k, "wildcard"), only
    promises: list[Promise] = []
    for chosen in sets or (names,):
        columns = (*chosen, *within)
        promises += [KAnonymity(columns, k, group=bool(sets)), KOfStars(columns, k)]
    return (*promises, only)


def _columns(table: Table, goal: StarGoal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns to protect, and the columns that divide the records."""
    refuse_roles(table, "suppress", ("derived",))
    names, within = chosen_columns(table, goal)
    check_types(table, (*names, *within), "suppress")
    warn_of_identifiers(table, names)
    check_options(table, names, goal)
    return names, within


def chosen_columns(table: Table, goal: StarGoal) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns to protect, and the columns that divide the records; raise an error if they cannot be."""
    within = tuple(dict.fromkeys(goal.within))
    for name in within:
        if name not in table.columns:
            raise unknown("column", name, table.columns)
        if name in table.roles.removed:
            raise UsageError(f"The column {name!r} is removed from the release, so it cannot stand in --within.")
    names = tuple(name for name in table.quasi_columns(to_protect=True) if name not in within)
    if not names:
        raise UsageError("No column may be starred: --within names every quasi-identifier. Name fewer columns there.")
    if len(names) > MOST_KEYS:
        raise UsageError(
            f"{len(names)} columns are to be protected, and cell suppression takes at most {MOST_KEYS}. Name those "
            "that an intruder may know with --quasi, and give the others another role."
        )
    return names, within


def check_options(table: Table, names: Sequence[str], goal: StarGoal) -> None:
    """Raise an error for options that do not fit, and say what they leave open."""
    for name, cost in goal.importance.items():
        if name not in names:
            raise unknown("quasi-identifier", name, names)
        if cost != NEVER and not (isinstance(cost, int | float) and 0 < cost < float("inf")):
            raise UsageError(f"The importance of {name!r} must be a number above 0 or {NEVER}, not {cost!r}.")
    if goal.star == "wildcard" and (goal.sets is not None or goal.subsets is not None):
        option = "--set" if goal.sets is not None else "--subsets"
        raise UsageError(f"--star wildcard and {option} cannot be combined. Remove one of them.")
    if goal.sets is not None:
        check_sets(goal.sets, names)
    if goal.subsets is not None and goal.subsets > len(names):
        raise UsageError(f"--subsets must be between 1 and {len(names)} (the number of columns), not {goal.subsets}.")
    for name in names:
        if SUPPRESSED in table[name].stored.values:
            notice(
                f"The column {name!r} already has cells with {SUPPRESSED!r}. They count as values, not as new stars."
            )


@dataclass(frozen=True, eq=False)
class Keys:
    """The columns as codes, with what the stars must reach.

    row_of: the row of the table that each record has, if the table has each distinct record once.
    """

    table: Table
    names: tuple[str, ...]
    within: tuple[str, ...]
    goal: StarGoal
    k: int
    row_of: Indices | None = None

    @cached_property
    def codes(self) -> list[Codes]:
        """The codes of the columns to protect: different for any two different cells."""
        return [self._of_records(self.table[name].exact_codes) for name in self.names]

    @cached_property
    def strata(self) -> list[Codes]:
        """The codes of the columns that divide the records, by --within."""
        return [self._of_records(self.table[name].exact_codes) for name in self.within]

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.table.rows if self.row_of is None else self.row_of.size

    def _of_records(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        return of_rows if self.row_of is None else of_rows[self.row_of]

    @property
    def may_star(self) -> list[bool]:
        return [self.goal.importance.get(name) != NEVER for name in self.names]

    @property
    def costs(self) -> Floats:
        """The cost of a star in each column; infinite if it must not be starred."""
        costs = [self.goal.importance.get(name, 1.0) for name in self.names]
        return np.array([np.inf if cost == NEVER else float(cost) for cost in costs])

    @property
    def by_set(self) -> list[list[int]]:
        """The places of the columns of each set; all columns are one set by default."""
        chosen = self.goal.sets or (self.names,)
        return [sorted({self.names.index(name) for name in names}) for names in chosen]

    def check(self) -> None:
        """Raise an error if the columns that must not be starred alone break k."""
        never = [name for name, may in zip(self.names, self.may_star, strict=True) if not may]
        for places in self.by_set:
            fixed = [name for name in never if self.names.index(name) in places]
            columns = [*self.strata, *(self.codes[self.names.index(name)] for name in fixed)]
            if not columns or self.goal.subsets is not None:
                continue
            sizes = np.bincount(distinct_rows([np.asarray(c, dtype=np.int64) for c in columns], self.rows)[1])
            small = int((sizes < self.k).sum())
            if small:
                listed = ", ".join((*self.within, *fixed))
                raise InputError(
                    f"{small:,} of {sizes.size:,} combinations of {listed}, which are never starred, have fewer than "
                    f"k = {self.k} records. Merge their values in the file (shoal generalize), or let them be starred."
                )

    # -- the search ------------------------------------------------------------------------------

    def problem(self, places: Sequence[int], starred: Bools | None = None) -> StarProblem:
        """Return the problem of some of the columns. Cells that are starred already have a value of their own."""
        codes = []
        for j in places:
            code = np.asarray(self.codes[j], dtype=np.int64)
            codes.append(code if starred is None else np.where(starred[:, j], int(code.max(initial=0)) + 1, code))
        may = self.may_star
        free = [code for j, code in zip(places, codes, strict=True) if may[j]]
        fixed = [code for j, code in zip(places, codes, strict=True) if not may[j]]
        cost = [float(self.costs[j]) for j in places if may[j]]
        return make_problem(free, [*self.strata, *fixed], cost, self.k)

    def search(self, effort: str, seed: int) -> Stars:
        """Return the stars of all columns."""
        if self.goal.subsets is not None:
            return self._every_subset(effort, seed)
        if self.goal.sets is not None:
            return self._set_after_set(effort, seed)
        method = class_search.search if self.goal.star == "value" else wildcard.search
        places = list(range(len(self.names)))
        stars = method(self.problem(places), seed=seed, effort=effort)
        return Stars(self._spread(stars.starred, places), stars.lower_bound, stars.facts)

    def _every_subset(self, effort: str, seed: int) -> Stars:
        may = np.array(self.may_star)
        if not may.all():
            name = self.names[int(may.argmin())]
            raise UsageError(f"--subsets cannot keep every cell of {name!r}. Give it a high importance instead.")
        missing = self._missing()
        problem = self.problem(list(range(len(self.names))))
        return every_subset.search(problem, int(self.goal.subsets or 1), missing, seed=seed, effort=effort)

    def _missing(self) -> Bools:
        """Return which cells are missing: [record, column]."""
        return np.column_stack([self._of_records(self.table[name].stored.missing) for name in self.names])

    def _set_after_set(self, effort: str, seed: int) -> Stars:
        """Return stars with which k holds over each set.

        The sets take turns. A star in a column of several sets may break another set, which then gets more stars.
        Stars only increase, so this ends.
        """
        starred = np.zeros((self.rows, len(self.names)), dtype=bool)
        bounds = [class_tables(self.problem(places)).lower_bound for places in self.by_set]
        for turn in range(MOST_ROUNDS):
            broken = [places for places in self.by_set if self._smallest_class(places, starred) < self.k]
            if not broken:
                break
            places = broken[turn % len(broken)]
            problem, first_only = self.problem(places, starred), turn > 0 and current().stopped
            stars = class_search.search(problem, seed=seed + turn, effort=effort, first_only=first_only)
            starred |= self._spread(stars.starred, places)
        return Stars(starred, max(bounds), {})

    def _smallest_class(self, places: Sequence[int], starred: Bools) -> int:
        problem = self.problem(places, starred)
        return int(problem.counts.min())

    def _spread(self, starred: Bools, places: Sequence[int]) -> Bools:
        """Return stars of some columns as stars of all columns."""
        wide = np.zeros((self.rows, len(self.names)), dtype=bool)
        may = self.may_star
        wide[:, [j for j in places if may[j]]] = starred
        return wide

    # -- facts -----------------------------------------------------------------------------------

    def facts(self, stars: Stars) -> dict[str, Any]:
        """Return the values of the release."""
        starred = stars.starred
        k_value, k_wildcard = self._k_of(starred)
        costs = np.where(np.isfinite(self.costs), self.costs, 0.0)
        facts: dict[str, Any] = {
            "n": self.rows,
            "d": len(self.names),
            "k": self.k,
            "star": self.goal.star,
            "suppressed_cells": int(starred.sum()),
            "suppressed_share": round(float(starred.mean()), 6),
            "by_column": {name: int(count) for name, count in zip(self.names, starred.sum(axis=0), strict=True)},
            "records_with_stars": int(starred.any(axis=1).sum()),
            "records_all_starred": int(starred.all(axis=1).sum()),
            "k_value": k_value,
            "k_wildcard": k_wildcard,
            "lower_bound": stars.lower_bound,
        }
        if self.goal.subsets is not None:
            facts |= {"subsets": self.goal.subsets, "rare_combinations": self._rare_combinations(starred)}
        if self.goal.importance:
            facts["cost"] = float(starred.sum(axis=0) @ costs)
        if stars.lower_bound is not None:
            paid = float(starred.sum(axis=0) @ costs)
            facts["gap"] = round(100 * (paid - stars.lower_bound) / stars.lower_bound, 4) if stars.lower_bound else 0.0
        if len(self.names) > MANY_KEYS and "all_subsets" in stars.facts:
            facts["all_subsets"] = bool(stars.facts["all_subsets"])
        return facts

    def _rare_combinations(self, starred: Bools) -> int | None:
        """Return how many combinations of columns are too rare; None if the work was stopped, as this takes long."""
        if current().stopped or self.goal.subsets is None:
            return None
        columns, strata = ([np.asarray(code, dtype=np.int64) for code in codes] for codes in (self.codes, self.strata))
        missing = self._missing()
        return every_subset.rare_combinations(columns, starred | missing, self.k, self.goal.subsets, strata)

    def _k_of(self, starred: Bools) -> tuple[int, int]:
        """Return k by both readings, the smallest over the sets."""
        every = []
        for places in self.by_set:
            columns = [np.where(starred[:, j], -1, np.asarray(self.codes[j], dtype=np.int64)) for j in places]
            every.append(smallest_counts([*columns, *(np.asarray(s, dtype=np.int64) for s in self.strata)]))
        return min(one for one, _ in every), min(two for _, two in every)


def star_text(column: Column, starred: Bools) -> NDArray[Any]:
    """Return a column as text with stars; missing cells stay missing.

    A star in a column of numbers or dates would be a missing value, which other records may truly have.
    """
    stored = column.stored
    texts = np.array(value_texts(column), dtype=object)
    cells: NDArray[Any] = texts[stored.codes]
    cells[starred] = SUPPRESSED
    return cells


def value_texts(column: Column) -> list[str | None]:
    """Return the text of each distinct value: numbers without needless decimals, codes by their labels."""
    labels = {} if column.source is None or column.source.labels is None else column.source.labels.values
    label_of = labels.get(column.name, {})
    texts: list[str | None] = []
    for value in column.stored.values:
        if value is None:
            texts.append(None)
        elif value in label_of:
            texts.append(label_of[value])
        elif isinstance(value, float):
            texts.append(number(value))
        else:
            texts.append(str(value).lower() if column.kind == "bool" else str(value))
    repeated = {text for text in texts if text is not None and texts.count(text) > 1}
    return [
        f"{text} ({value})" if text in repeated else text
        for text, value in zip(texts, column.stored.values, strict=True)
    ]
