"""The work of `shoal.generalize`: a table in, categories of every quasi-identifier in the middle, a release out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shoal.engine.clock import Clock
from shoal.errors import UsageError, check_k, unknown
from shoal.gate.promises import Diversity, KAnonymity, read_diversity
from shoal.notices import notice
from shoal.protections.generalization import APPLY, GENERALIZE
from shoal.protections.generalization.bits import groups_of
from shoal.protections.generalization.branch_and_bound import exact
from shoal.protections.generalization.constraints import Rule, Rules, rules_of
from shoal.protections.generalization.evaluate import Preference, Problem, make_problem
from shoal.protections.generalization.front import Front, Point
from shoal.protections.generalization.mapping import mapping_of, read_mapping
from shoal.protections.generalization.nsga2 import Settings, nsga2
from shoal.protections.generalization.release import GeneralizedRelease, class_promises
from shoal.protections.generalization.search import search
from shoal.protections.generalization.suppression import Suppression, limited
from shoal.protections.values import check_countable, check_types, finite_codes, has_negative_zero, warn_of_identifiers
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.column import ColumnCodes
from shoal.table.domain import Domain, nominal_domain, numeric_domain
from shoal.table.frames import wrap
from shoal.table.labels import SUPPRESSED, group_names
from shoal.table.table import Table
from shoal.table.taxonomy import read_taxonomy


@dataclass(frozen=True)
class Domains:
    """What is known of the columns' values: steps, cut points, orders and taxonomies, by column."""

    granularity: Mapping[str, Any] | None
    cuts: Mapping[str, Sequence[float]] | None
    order: str | Mapping[str, Any] | None
    taxonomy: Mapping[str, Any] | None


@dataclass(frozen=True)
class Confidentiality:
    """What the confidential columns must keep."""

    l: Any  # noqa: E741
    t: float | None
    distance: str


@dataclass(frozen=True)
class Searching:
    """How the categories are found."""

    method: str
    effort: str
    settings: Settings
    seed: int

    def run(self, problem: Problem) -> Front:
        """The front of the method."""
        if self.method == "search":
            return search(problem, seed=self.seed, effort=self.effort)
        if self.method == "exact":
            return exact(problem, seed=self.seed)
        if any(problem.free):
            raise UsageError("nsga2 cuts domains in a given order: take order alphabetical, frequency or taxonomy")
        return nsga2(problem, seed=self.seed, settings=self.settings)


def protect(
    data: Any,
    k: int,
    quasi: Sequence[str],
    domains_of: Domains,
    confidentiality: Confidentiality,
    searching: Searching,
    *,
    sets: Sequence[Sequence[str]] | None,
    prefer: tuple[float, float],
    weights: Mapping[str, float] | None,
    suppress: float,
    pick: int | None,
    missing: str,
) -> GeneralizedRelease:
    """The release of a table whose categories are searched for."""
    table = as_table(data, quasi=quasi)
    columns = _quasi(table)
    clock = Clock()
    table = table.with_missing(missing, columns, dict.fromkeys(columns, "value"))
    k = check_k(k, table.rows)
    if not 0 <= suppress < 1:
        raise UsageError(f"suppress must be a share of the rows from 0 up to, not including, 1, not {suppress!r}")
    codes = {name: _coded(table, name) for name in columns}
    order = _orders(table, columns, domains_of.order, searching.method)
    domains = [_domain(name, codes[name], domains_of, order, columns) for name in columns]
    confidential = _confidential(table, confidentiality)
    rules = _rules(confidential, confidentiality)
    values = [domain.encode(codes[domain.name].values)[codes[domain.name].codes] for domain in domains]
    problem = make_problem(
        values,
        [domain.positions for domain in domains],
        k,
        free=[domain.free for domain in domains],
        weights=_weights(weights, columns),
        preference=Preference(*prefer),
        suppress=suppress,
        confidential=[c.codes for c in confidential.values()],
        rules=rules,
        sets=_sets(sets, columns),
    )
    problem = limited(problem, suppress)
    _check_reachable(problem)
    suppression = Suppression(problem, values, confidential)
    front = suppression.picked(suppression.settled(searching.run(problem), searching.run), pick)
    return _release(table, domains, codes, suppression, front, sets, searching.method, clock)


def apply(data: Any, mapping: Any) -> GeneralizedRelease:
    """The release of a table whose values become the categories of a mapping."""
    table = as_table(data)
    clock = Clock()
    categories = read_mapping(mapping)
    new = {}
    for column in categories.columns:
        if column.name not in table.columns:
            raise unknown("column", column.name, table.columns)
        check_types(table, [column.name], "generalize")
        column_codes = finite_codes(table, column.name)
        new[column.name] = np.array(column.labels_of(column_codes.values), dtype=object)[column_codes.codes]
    facts = {"n": table.rows, "d": len(new), "k": categories.k, "method": "apply"}
    release = GeneralizedRelease(
        table, table.protected(new), tuple(new), None, facts, title=APPLY.title,
        promises=(KAnonymity(tuple(new), categories.k, promised=False),),  # made for other records: measured
    )  # fmt: skip
    facts |= {"effective_k": release.smallest_class(), **clock.read()}
    return release


def _orders(
    table: Table, columns: Sequence[str], order: str | Mapping[str, Any] | None, method: str
) -> str | Mapping[str, Any]:
    """The order of names: as it was given, with the orders of ordinal columns, or the default of the method."""
    stated = {name: list(values) for name, values in table.roles.order.items() if name in columns}
    if order is None or isinstance(order, Mapping):
        order = {**stated, **(order or {})} or None
    return order if order is not None else ("auto" if method == "search" else "alphabetical")


def _quasi(table: Table) -> tuple[str, ...]:
    columns = table.quasi_columns(to_protect=True)
    refuse_roles(table, "generalize", ("derived",))
    if len(columns) < 1:
        raise UsageError("at least one quasi-identifier is needed")
    check_types(table, columns, "generalize")
    warn_of_identifiers(table, columns)
    return tuple(columns)


def _coded(table: Table, name: str) -> ColumnCodes:
    """A column's values and codes; numbers that are codes (--nominal) are names."""
    column_codes = finite_codes(table, name)
    if not column_codes.numeric or name not in table.roles.nominal:
        return column_codes
    names = [None if v is None else f"{v:g}" for v in column_codes.values]
    return ColumnCodes(names, column_codes.codes, column_codes.counts, numeric=False)


def _domain(
    name: str,
    column_codes: ColumnCodes,
    domains_of: Domains,
    order: str | Mapping[str, Any],
    columns: Sequence[str],
) -> Domain:
    """The ordered domain of a column, from the options about it."""
    granularity, cuts, taxonomy = domains_of.granularity, domains_of.cuts, domains_of.taxonomy
    for option in (granularity, cuts, taxonomy, order if isinstance(order, Mapping) else None):
        for column in option or ():
            if column not in columns:
                raise unknown("quasi-identifier", column, columns)
    step, points = (granularity or {}).get(name), (cuts or {}).get(name)
    column_order = order.get(name) if isinstance(order, Mapping) else None
    tree = read_taxonomy(taxonomy[name], name) if taxonomy and name in taxonomy else None
    values = [value for value in column_codes.values if value is not None]
    missing = len(values) < len(column_codes.values)
    if column_codes.numeric and column_order is None and tree is None:
        return numeric_domain(name, values, missing, step, points)
    if step is not None or points is not None:
        what = "is ordered by names" if column_codes.numeric else "holds no numbers"
        raise UsageError(f"the column {name!r} {what}: granularity and cut points are for numbers")
    if column_order is None:
        column_order = "taxonomy" if tree is not None else order if isinstance(order, str) else "auto"
        if column_order == "auto" and column_codes.dated:
            column_order = "alphabetical"  # dates in ISO form: their order is known
    names = [str(value) for value in values]
    counts = [int(c) for value, c in zip(column_codes.values, column_codes.counts, strict=True) if value is not None]
    if column_codes.numeric:
        raise UsageError(f"the column {name!r} holds numbers: its order is known; leave out order and taxonomy")
    return nominal_domain(name, names, counts, missing, column_order, tree)


def _confidential(table: Table, rule: Confidentiality) -> dict[str, ColumnCodes]:
    """The confidential columns, where something is asked of them."""
    if rule.l is None and rule.t is None:
        return {}
    if not table.roles.confidential:
        raise UsageError("l and t are about confidential columns: name them with confidential=[...] (--confidential)")
    check_countable(table, table.roles.confidential)
    return {name: finite_codes(table, name) for name in table.roles.confidential}


def _rules(confidential: Mapping[str, ColumnCodes], rule_options: Confidentiality) -> Rules:
    wanted = read_diversity(rule_options.l) or Diversity(1.0)
    rule = Rule(wanted.l, wanted.kind, wanted.c, rule_options.t, rule_options.distance)
    return rules_of([rule] * len(confidential), [len(c.values) for c in confidential.values()])


def _weights(weights: Mapping[str, float] | None, columns: Sequence[str]) -> list[float] | None:
    if weights is None:
        return None
    for name in weights:
        if name not in columns:
            raise unknown("quasi-identifier", name, columns)
    return [float(weights.get(name, 1.0)) for name in columns]


def _sets(sets: Sequence[Sequence[str]] | None, columns: Sequence[str]) -> list[list[int]] | None:
    if sets is None:
        return None
    for name in (name for chosen in sets for name in chosen):
        if name not in columns:
            raise unknown("quasi-identifier", name, columns)
    if not sets or not all(sets):
        raise UsageError("sets must be lists of quasi-identifiers, none of them empty")
    outside = [name for name in columns if not any(name in chosen for chosen in sets)]
    if outside:
        notice(
            f"quasi-identifiers in no --set are released as they are: {', '.join(outside)}. They count as known to an "
            "intruder, so nothing is written unless k holds with them. Add them to a set, or give them another role"
        )
    return [[columns.index(name) for name in chosen] for chosen in sets]


def _check_reachable(problem: Problem) -> None:
    """An error if not even the whole table as one class keeps what is asked."""
    merged = np.zeros((len(problem.sizes), max(problem.sizes)), dtype=np.int64)
    if problem.evaluate(merged).suppressed[0] > 0:
        raise UsageError(
            "the whole table as a single class does not keep the l that was asked for: its confidential column is not "
            "that diverse; ask for a lower l"
        )


def _release(
    table: Table,
    domains: Sequence[Domain],
    codes: Mapping[str, ColumnCodes],
    suppression: Suppression,
    front: Front,
    sets: Sequence[Sequence[str]] | None,
    method: str,
    clock: Clock,
) -> GeneralizedRelease:
    """The protected table, its figures and its front."""
    point = front.best
    mapping = mapping_of(domains, point.labels, point.k)
    starred = suppression.rows(point)
    new: dict[str, Any] = {}
    for domain, column in zip(domains, mapping.columns, strict=True):
        column_codes = codes[domain.name]
        plain = len(groups_of(point.labels[domains.index(domain)], domain.size)) == domain.size
        if plain and not domain.edges and not domain.missing and starred is None:
            if _is_finer(table, domain.name, column_codes):
                new[domain.name] = np.array(column_codes.values, dtype=np.float64)[column_codes.codes] + 0.0
            continue  # every value is its own group: the column stays as it is
        labels = np.array(column.labels_of(column_codes.values), dtype=object)[column_codes.codes]
        if starred is not None:
            labels[starred] = SUPPRESSED
        new[domain.name] = labels
    facts: dict[str, Any] = {
        "n": table.rows,
        "d": len(domains),
        "k": point.k,
        "method": method,
        **point.figures(),
        "pick": front.answer + 1,
        "front": [{**p.figures(), "cuts": _cuts(domains, p)} for p in front.points],
        "cuts": _cuts(domains, point),
        "evaluations": front.evaluations,
        **front.facts,
        **clock.read(),
    }
    beside = table.without_role() if starred is not None and table.roles.quasi else ()
    changed = tuple(d.name for d in domains)
    rules = dict(zip(suppression.confidential, suppression.problem.rules.rules, strict=True))
    column_groups = tuple(tuple(s) for s in sets) if sets is not None else ()
    return GeneralizedRelease(
        original=table,
        frame=suppressed_beside(table.protected(new), beside, starred),
        changed=changed,
        promises=class_promises(changed, column_groups, point.k, rules),
        k=point.k,
        facts=facts,
        solution=front,
        title=GENERALIZE.title,
        mapping=mapping,
        domains=tuple(domains),
        rules=rules,
        sets=column_groups,
        starred_beside=tuple(beside),
    )


def _is_finer(table: Table, name: str, column_codes: ColumnCodes) -> bool:
    """Whether numbers that are one value for the search differ in the file: -0.0 and 0.0, whole numbers beyond 2^53."""
    series = table[name].series
    if not column_codes.numeric or series.dtype == nw.Object:
        return False
    return has_negative_zero(series) or (not series.dtype.is_float() and series.n_unique() > len(column_codes.values))


def suppressed_beside(frame: Any, columns: Sequence[str], starred: Any) -> Any:
    """The frame with columns without a role suppressed in the starred rows, where an intruder would know them too.

    Text gets a star, every other type a missing value.
    """
    if not columns:
        return frame
    data = wrap(frame)
    kept = nw.new_series("kept", (~starred).tolist(), nw.Boolean, backend=data.implementation)
    new = []
    for name in columns:
        is_text = data[name].dtype == nw.String
        column = data[name].cast(nw.String) if data[name].dtype in (nw.Categorical, nw.Enum) else data[name]
        rest = nw.lit(SUPPRESSED) if is_text or column.dtype == nw.String else nw.lit(None)
        part = data.with_columns(column.alias(name), kept.alias("\x00kept"))
        new.append(part.select(nw.when(nw.col("\x00kept")).then(nw.col(name)).otherwise(rest).alias(name))[name])
    return data.with_columns(*new).to_native()


def _cuts(domains: Sequence[Domain], point: Point) -> dict[str, list[str]]:
    """The labels of each attribute's groups."""
    groups = {d: groups_of(point.labels[j], d.size) for j, d in enumerate(domains)}
    return {domain.name: group_names(domain, members) for domain, members in groups.items()}
