"""The work of `shoal.generalize`: read the columns, search for categories, and make the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Ints
from shoal.engine.clock import Clock
from shoal.errors import UsageError, check_k, unknown
from shoal.gate.promises import KAnonymity
from shoal.protections.class_release import class_promises
from shoal.protections.class_rules import NOT_DIVERSE, Confidentiality
from shoal.protections.column_sets import check_sets
from shoal.protections.generalization import APPLY, GENERALIZE
from shoal.protections.generalization.bits import canonical, groups_of
from shoal.protections.generalization.branch_and_bound import exact
from shoal.protections.generalization.columns import DomainOptions, domain_of
from shoal.protections.generalization.evaluate import Preference, Problem, make_problem
from shoal.protections.generalization.front import Front, FrontPoint
from shoal.protections.generalization.mapping import categories, mapping_of, read_mapping
from shoal.protections.generalization.nsga2 import Nsga2Settings, nsga2
from shoal.protections.generalization.release import GeneralizedRelease
from shoal.protections.generalization.search import search
from shoal.protections.generalization.suppression import Suppression, limited
from shoal.protections.values import check_types, is_finer, suppressed_beside, warn_of_identifiers
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.coded_values import ColumnValues, matched_to_leaves, values_of
from shoal.table.domain import Domain
from shoal.table.labels import SUPPRESSED, group_names, members
from shoal.table.table import Table
from shoal.table.taxonomy import read_taxonomy

# A column with one value. It comes before the others if missing values stay alone (see make_problem).
FIRST = Domain("", False, ("",), (), np.zeros(1))


@dataclass(frozen=True)
class Searching:
    """The search method, its options and its seed."""

    method: str
    effort: str
    settings: Nsga2Settings
    seed: int

    def run(self, problem: Problem) -> Front:
        """Return the front that the method finds."""
        if self.method == "search":
            return search(problem, seed=self.seed, effort=self.effort)
        if self.method == "exact":
            return exact(problem, seed=self.seed)
        if any(problem.free):
            raise UsageError(
                "The method nsga2 needs an order of the names. Use --order alphabetical, frequency or taxonomy, or "
                "--method search."
            )
        return nsga2(problem, seed=self.seed, settings=self.settings)


@dataclass(frozen=True)
class Goal:
    """What the categories must reach, and what they cost; see the parameters of `shoal.generalize`."""

    k: int
    sets: Sequence[Sequence[str]] | None
    prefer: tuple[float, float]
    weights: Mapping[str, float] | None
    suppress: float
    pick: int | None
    full_labels: bool

    def check(self, rows: int) -> None:
        """Raise an error if k or the share of suppressed records cannot be."""
        check_k(self.k, rows)
        if not 0 <= self.suppress < 1:
            raise UsageError(f"suppress must be a share of the records: at least 0 and below 1, not {self.suppress!r}.")


@dataclass(frozen=True, eq=False)
class Answer:
    """The categories that a search found. values: those of each column. front.best has the categories."""

    domains: Sequence[Domain]
    values: Mapping[str, ColumnValues]
    suppression: Suppression
    front: Front
    labels: LabelOptions
    method: str


def protect(
    data: Any,
    quasi: Sequence[str],
    goal: Goal,
    options: DomainOptions,
    confidentiality: Confidentiality,
    searching: Searching,
) -> GeneralizedRelease:
    """Search for categories and return the release."""
    table = as_table(data, quasi=quasi)
    columns = _quasi(table)
    clock = Clock()
    table = without_gaps(table, columns, options)
    goal.check(table.rows)
    return _release(table, search_categories(table, columns, goal, options, confidentiality, searching), goal, clock)


def without_gaps(table: Table, columns: Sequence[str], options: DomainOptions) -> Table:
    """Return the table with missing values handled as the options say, before they are categories."""
    gaps = "category" if options.missing == "alone" else options.missing
    return table.with_missing(gaps, columns, dict.fromkeys(columns, "value"))


def search_categories(
    table: Table,
    columns: Sequence[str],
    goal: Goal,
    options: DomainOptions,
    confidentiality: Confidentiality,
    searching: Searching,
    repeats: Ints | None = None,
) -> Answer:
    """Search for the categories of the columns. repeats: the records that each row stands for; one by default."""
    values = {name: _values(table, name, options) for name in columns}
    if repeats is not None:
        values = {name: _counted(column, repeats) for name, column in values.items()}
    domains = _domains(table, values, options, searching.method)
    confidential = confidentiality.values(table)
    rules = confidentiality.rules(confidential)

    def coded(domains: Sequence[Domain]) -> tuple[Problem, list[Ints]]:
        codes = [domain.encode(values[domain.name].codes.values) for domain in domains]
        of_record = [code[values[domain.name].codes.codes] for code, domain in zip(codes, domains, strict=True)]
        first = [FIRST] if any(domain.alone for domain in domains) else []
        every = [*first, *domains]
        problem = make_problem(
            [*(np.zeros(table.rows, dtype=np.int64) for _ in first), *of_record],
            [domain.positions for domain in every],
            goal.k,
            free=[domain.free for domain in every],
            weights=_weights(goal.weights, columns, bool(first)),
            preference=Preference(*goal.prefer),
            suppress=goal.suppress,
            confidential=[c.codes for c in confidential.values()],
            rules=rules,
            sets=_sets(goal.sets, columns, bool(first)),
            splits=[domain.splits for domain in every],
            repeats=repeats,
        )
        return limited(problem, goal.suppress), [np.asarray(codes) for codes in problem.records]

    problem, of_record = coded(domains)
    _check_reachable(problem, any(domain.alone for domain in domains))
    suppression = Suppression(problem, of_record, confidential)
    front = suppression.settled(searching.run(problem), searching.run)
    moved = _with_moved_missing(domains, problem, front.best)
    if moved is not None:
        problem, of_record = coded(moved)
        other = Suppression(problem, of_record, confidential)
        second = other.settled(searching.run(problem), searching.run)
        if (second.best.achievement, second.best.deviation) < (front.best.achievement, front.best.deviation):
            domains, suppression, front = moved, other, second
    front = suppression.picked(front, goal.pick)
    labels = LabelOptions(goal.full_labels, len(problem.sizes) - len(domains))
    return Answer(domains, values, suppression, front, labels, searching.method)


def _counted(values: ColumnValues, repeats: Ints) -> ColumnValues:
    """Return the values with their numbers of records."""
    codes = values.codes
    counts = np.bincount(codes.codes, repeats, minlength=len(codes.values)).astype(np.int64)
    return replace(values, codes=replace(codes, counts=counts))


def apply(data: Any, mapping: Any) -> GeneralizedRelease:
    """Replace the values of a table by the categories of a mapping and return the release."""
    table = as_table(data)
    clock = Clock()
    earlier = read_mapping(mapping)
    new = {}
    for column in earlier.columns:
        if column.name not in table.columns:
            raise unknown("column", column.name, table.columns)
        check_types(table, [column.name], "generalize")
        kind = "date" if column.dates else "number" if column.numeric else "name"
        codes = values_of(table, column.name, kind).codes
        new[column.name] = np.array(column.labels_of(codes.values), dtype=object)[codes.codes]
    facts = {"n": table.rows, "d": len(new), "k": earlier.k, "method": "apply"}
    release = GeneralizedRelease(
        table, table.protected(new), tuple(new), None, facts, title=APPLY.title,
        promises=(KAnonymity(tuple(new), earlier.k, promised=False),),  # k is measured only
    )  # fmt: skip
    facts |= {"effective_k": release.smallest_class(), **clock.read()}
    return release


def _values(table: Table, name: str, options: DomainOptions) -> ColumnValues:
    """Return the values of a column; with an order or a taxonomy they are names."""
    orders = options.order if isinstance(options.order, Mapping) else {}
    is_named = name in (options.taxonomy or {}) or name in orders or name in table.roles.order
    kind = "name" if is_named and table[name].kind != "number" else ""
    if name in (options.taxonomy or {}):
        kind = "name"
    values = values_of(table, name, kind, options.unit(name))
    if name in (options.taxonomy or {}):
        return matched_to_leaves(values, read_taxonomy((options.taxonomy or {})[name], name))
    return values


def _domains(table: Table, values: Mapping[str, ColumnValues], options: DomainOptions, method: str) -> list[Domain]:
    """Return the domain of every column, from the options, the roles and the data."""
    options.check(list(values))
    default = options.order if isinstance(options.order, str) else None
    if default is None and method != "search":
        default = "alphabetical"
    domains = []
    for name, column in values.items():
        order = options.order.get(name) if isinstance(options.order, Mapping) else None
        declared = table.roles.order.get(name)
        if order is None and declared is None and not column.codes.numeric and name not in (options.taxonomy or {}):
            order = default if column.declared is None or isinstance(options.order, str) else None
        domains.append(domain_of(name, column, options, order, declared))
    return domains


def _with_moved_missing(domains: Sequence[Domain], problem: Problem, best: FrontPoint) -> list[Domain] | None:
    """Return the domains with missing values next to the category where they cost least; None if nothing changes.

    A missing value is at the end of an ordered domain, where it can only join the last category. In the best solution,
    each other category is tried, column by column.
    """
    offset, moved = len(problem.sizes) - len(domains), list(domains)
    limits = replace(problem, k=best.k)
    for j, domain in enumerate(domains, start=offset):
        if domain.free or domain.alone or not domain.missing or domain.present < 2 or domain.splits is not None:
            continue
        groups = groups_of(best.labels[j], domain.present)
        stack = np.repeat(best.labels[None], len(groups), axis=0)
        stack[:, j, domain.missing_code] = [best.labels[j, group[0]] for group in groups]
        costs = limits.evaluate(np.array([canonical(labels, problem.sizes) for labels in stack]))
        width = np.array([problem.positions[j, group[-1]] - problem.positions[j, group[0]] for group in groups])
        loss = costs.nwp + width * problem.rows[j, domain.missing_code] / problem.n
        loss[(costs.suppressed > problem.allowed) | (costs.effective_k < best.k)] = np.inf
        choice = int(loss.argmin())
        if loss[choice] < best.nwp - 1e-12:
            moved[j - offset] = domain.at(groups[choice][-1] + 1)
    return moved if any(new is not old for new, old in zip(moved, domains, strict=True)) else None


def _quasi(table: Table) -> tuple[str, ...]:
    columns = table.quasi_columns(to_protect=True)
    refuse_roles(table, "generalize", ("derived",))
    if len(columns) < 1:
        raise UsageError("No quasi-identifier is named, so there is nothing to generalize. Add --quasi A,B,…")
    check_types(table, columns, "generalize")
    warn_of_identifiers(table, columns)
    return tuple(columns)


def _weights(weights: Mapping[str, float] | None, columns: Sequence[str], has_first: bool) -> list[float] | None:
    """Return the weights of the columns. has_first: the column FIRST comes before them, with a weight of 0."""
    if weights is None and not has_first:
        return None
    for name in weights or ():
        if name not in columns:
            raise unknown("quasi-identifier", name, columns)
    return [0.0] * has_first + [float((weights or {}).get(name, 1.0)) for name in columns]


def _sets(sets: Sequence[Sequence[str]] | None, columns: Sequence[str], has_first: bool) -> list[list[int]] | None:
    """Return the positions of the columns of each set. has_first: the column FIRST comes before them."""
    if sets is None:
        return None
    return [[columns.index(name) + has_first for name in chosen] for chosen in check_sets(sets, columns)]


def _check_reachable(problem: Problem, missing_alone: bool) -> None:
    """Raise an error if not even the whole table as one class keeps k, l and t."""
    if problem.is_reachable:
        return
    if missing_alone:
        raise UsageError(
            f"Missing values stay alone, and some classes of them have fewer than k = {problem.k} records or break l "
            "or t, however wide the other categories are. Use --missing category, or allow suppression: "
            "--suppress 0.05."
        )
    raise UsageError(NOT_DIVERSE)


@dataclass(frozen=True)
class LabelOptions:
    """The labels of the categories. full: long labels are not cut. offset: the number of columns before the domains."""

    full: bool
    offset: int


def _release(table: Table, answer: Answer, goal: Goal, clock: Clock) -> GeneralizedRelease:
    """Return the release with its measures and its front."""
    domains, point, labels = answer.domains, answer.front.best, answer.labels
    mapping = mapping_of(domains, point.labels[labels.offset :], point.k, labels.full)
    starred = answer.suppression.rows(point)
    new: dict[str, Any] = {}
    for j, domain in enumerate(domains):
        codes = answer.values[domain.name].codes
        if stays(answer, j, starred is not None):
            if is_finer(table, domain.name, codes):
                new[domain.name] = np.array(codes.values, dtype=np.float64)[codes.codes] + 0.0
            continue
        cells = np.array(mapping.columns[j].labels_of(codes.values), dtype=object)[codes.codes]
        if starred is not None:
            cells[starred] = SUPPRESSED
        new[domain.name] = cells
    unassigned = table.without_role() if starred is not None and table.roles.quasi else ()
    changed = tuple(d.name for d in domains)
    rules = dict(zip(answer.suppression.confidential, answer.suppression.problem.rules.rules, strict=True))
    column_groups = tuple(tuple(s) for s in goal.sets) if goal.sets is not None else ()
    return GeneralizedRelease(
        original=table,
        frame=suppressed_beside(table.protected(new), unassigned, starred),
        changed=changed,
        promises=class_promises(changed, column_groups, point.k, rules),
        k=point.k,
        facts={"n": table.rows, **facts_of(answer), **clock.read()},
        solution=answer.front,
        title=GENERALIZE.title,
        mapping=mapping,
        domains=tuple(domains),
        rules=rules,
        sets=column_groups,
        starred_beside=tuple(unassigned),
    )


def stays(answer: Answer, j: int, some_suppressed: bool) -> bool:
    """Return whether column j stays unchanged, because every value is its own category."""
    domain, values = answer.domains[j], answer.values[answer.domains[j].name]
    labels = answer.front.best.labels[answer.labels.offset + j]
    plain = len(groups_of(labels, domain.size)) == domain.size and values.is_exact
    return plain and not domain.edges and not domain.missing and not some_suppressed


def facts_of(answer: Answer) -> dict[str, Any]:
    """Return the values of the run but for the number of records and the time."""
    front, point = answer.front, answer.front.best
    names: dict[tuple[int, bytes], list[str]] = {}
    return {
        "d": len(answer.domains),
        "k": point.k,
        "method": answer.method,
        **point.figures(),
        "pick": front.answer + 1,
        "front": [{**p.figures(), "cuts": _cuts(answer.domains, p, answer.labels, names)} for p in front.points],
        "cuts": _cuts(answer.domains, point, answer.labels, names),
        "legend": _legend(answer.domains, point, answer.labels),
        "evaluations": front.evaluations,
        **front.facts,
    }


def _cuts(
    domains: Sequence[Domain], point: FrontPoint, labels: LabelOptions, known: dict[tuple[int, bytes], list[str]]
) -> dict[str, list[str]]:
    """Return the labels of the categories, by column. known: those so far, as points share many of them."""
    cuts: dict[str, list[str]] = {}
    for j, domain in enumerate(domains, start=labels.offset):
        key = j, point.labels[j].tobytes()
        if key not in known:
            known[key] = group_names(domain, categories(domain, point.labels[j]), labels.full)
        cuts[domain.name] = list(known[key])
    return cuts


def _legend(domains: Sequence[Domain], point: FrontPoint, labels: LabelOptions) -> dict[str, dict[str, list[str]]]:
    """Return the values of the categories whose labels are cut, by column."""
    legend: dict[str, dict[str, list[str]]] = {}
    for j, domain in enumerate(domains, start=labels.offset):
        groups = categories(domain, point.labels[j])
        short, full = (group_names(domain, groups, is_full) for is_full in (labels.full, True))
        cut = {
            label: members(domain, group)
            for label, long, group in zip(short, full, groups, strict=True)
            if label != long
        }
        if cut:
            legend[domain.name] = cut
    return legend
