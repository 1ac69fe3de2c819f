"""`shoal.generalize`: a table in, one generalization of every quasi-identifier in the middle, a checked release out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from shoal.engine.clock import Clock
from shoal.engine.progress import Progress, silent
from shoal.errors import ShoalWarning, UsageError, check_choice, check_k, unknown
from shoal.protections.generalization.bits import groups_of
from shoal.protections.generalization.branch_and_bound import exact
from shoal.protections.generalization.constraints import Rule, Rules, read_l, rules_of
from shoal.protections.generalization.evaluate import Preference, Problem, make_problem
from shoal.protections.generalization.front import Front, Point
from shoal.protections.generalization.mapping import mapping_of, read_mapping
from shoal.protections.generalization.nsga2 import Settings, nsga2
from shoal.protections.generalization.release import GeneralizedRelease
from shoal.protections.generalization.search import search
from shoal.protections.generalization.suppression import Suppression, limited
from shoal.protections.recorded import recorded
from shoal.protections.values import check_countable, check_types, coded_column, has_negative_zero, warn_of_identifiers
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.columns import Coded, without_missing
from shoal.table.domain import Domain, nominal_domain, numeric_domain
from shoal.table.frames import wrap
from shoal.table.labels import SUPPRESSED, group_names
from shoal.table.table import Table
from shoal.table.taxonomy import nested, read_taxonomy

METHODS = ("search", "nsga2", "exact")
MISSING = ("category", "drop", "error")


def _trees(taxonomy: Mapping[str, Any]) -> dict[str, Any]:
    """The taxonomies as nested tables, those in files read: a recipe holds them itself."""
    return {column: nested(tree, column) for column, tree in taxonomy.items()}


@recorded("generalize", taxonomy=_trees)
def generalize(
    data: Any,
    k: int,
    *,
    quasi: Sequence[str] = (),
    sets: Sequence[Sequence[str]] | None = None,
    granularity: Mapping[str, Any] | None = None,
    cuts: Mapping[str, Sequence[float]] | None = None,
    order: str | Mapping[str, Any] | None = None,
    taxonomy: Mapping[str, Any] | None = None,
    prefer: tuple[float, float] = (0.2, 1.0),
    weights: Mapping[str, float] | None = None,
    suppress: float = 0.0,
    l: Any = None,  # noqa: E741
    t: float | None = None,
    distance: str = "equal",
    method: str = "search",
    effort: str | None = None,
    population: int | None = None,
    evaluations: int | None = None,
    pick: int | None = None,
    missing: str = "category",
    seed: int = 0,
    progress: Progress = silent,
) -> GeneralizedRelease:
    """Replace the values of the quasi-identifiers by groups of values, so that every class has at least k records.

    sets: lists of quasi-identifiers that must each be k-anonymous (all of them together by default). A column in no
    list is not generalized, and still counts as known to an intruder.
    granularity: a number's step, or (step, low, high). cuts: its cut points. Else numbers are taken as they are.
    order: auto (any values may join), alphabetical, frequency, taxonomy or a list of values, for all or by column.
    taxonomy: by column, a file or nested dictionaries. prefer: the preferred loss and bias.
    weights: of columns in the loss. suppress: the share of rows that may be starred out: none are, or at least k.
    l, t, distance: what the confidential columns must keep; l may be ("entropy", l) or ("recursive", c, l).
    pick: the number of the front's point to take instead of the best. missing: category, drop or error.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "town": ["a", "a", "b", "c", "c", "c"]})
    >>> generalize(frame, k=3, quasi=["age", "town"]).table["age"].to_list()
    ['[23-31]', '[23-31]', '[23-31]', '[60-65]', '[60-65]', '[60-65]']
    """
    check_choice("method", method, METHODS)
    _check_options(method, effort, population, evaluations)
    table = as_table(data, quasi=quasi)
    columns = _quasi(table)
    clock = Clock()
    check_choice("way with missing cells", missing, MISSING)
    if missing != "category":
        table = without_missing(table, columns, missing)
    k = check_k(k, table.rows)
    if not 0 <= suppress < 1:
        raise UsageError(f"suppress must be a share of the rows from 0 up to, not including, 1, not {suppress!r}")
    codes = {name: _coded(table, name) for name in columns}
    stated = {name: list(values) for name, values in table.roles.order.items() if name in columns}
    if order is None or isinstance(order, Mapping):
        order = {**stated, **(order or {})} or None
    default = order if order is not None else ("auto" if method == "search" else "alphabetical")
    domains = [_domain(name, codes[name], granularity, cuts, default, taxonomy, columns) for name in columns]
    confidential = _confidential(table, l, t)
    rules = _rules(confidential, l, t, distance)
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

    def searched(problem: Problem) -> Front:
        return _searched(problem, method, seed, effort, population, evaluations, progress)

    suppression = Suppression(problem, values, confidential)
    front = suppression.picked(suppression.settled(searched(problem), searched), pick)
    return _release(table, domains, codes, suppression, front, sets, method, clock)


def _told(mapping: Any) -> dict[str, Any]:
    """The mapping itself, read if it is in a file: a recipe holds it."""
    return read_mapping(mapping).as_dict()


@recorded("apply", mapping=_told)
def apply_mapping(data: Any, mapping: Any, *, seed: int = 0, progress: Progress = silent) -> GeneralizedRelease:
    """Generalize new data by the mapping of an earlier release; its k is measured, not promised.

    mapping: the JSON file that `save_mapping` wrote, or what it holds. seed: of the rows' order, if it is shuffled.
    """
    table = as_table(data)
    clock = Clock()
    given = read_mapping(mapping)
    new = {}
    for column in given.columns:
        if column.name not in table.columns:
            raise unknown("column", column.name, table.columns)
        check_types(table, [column.name], "generalize")
        found = coded_column(table, column.name)
        new[column.name] = np.array(column.labels_of(found.values), dtype=object)[found.codes]
    facts = {"n": table.rows, "d": len(new), "k": given.k, "method": "apply"}
    release = GeneralizedRelease(
        table, table.protected(new), tuple(new), None, facts, title="Generalization by a given mapping"
    )
    facts |= {"effective_k": release.smallest_class(), **clock.read()}
    return release


def _check_options(method: str, effort: str | None, population: int | None, evaluations: int | None) -> None:
    if effort is not None and method != "search":
        raise UsageError(f"effort is an option of method search, not of {method}")
    for name, value in (("population", population), ("evaluations", evaluations)):
        if value is not None and method != "nsga2":
            raise UsageError(f"{name} is an option of method nsga2, not of {method}")
        if value is not None and value < 2:
            raise UsageError(f"{name} must be 2 or more, not {value}")


def _quasi(table: Table) -> tuple[str, ...]:
    columns = table.quasi_columns(to_protect=True)
    refuse_roles(table, "generalize", ("derived",))
    if len(columns) < 1:
        raise UsageError("at least one quasi-identifier is needed")
    check_types(table, columns, "generalize")
    warn_of_identifiers(table, columns)
    return tuple(columns)


def _coded(table: Table, name: str) -> Coded:
    """A column's values and codes; numbers that are codes (--nominal) are names."""
    found = coded_column(table, name)
    if not found.numeric or name not in table.roles.nominal:
        return found
    names = [None if v is None else f"{v:g}" for v in found.values]
    return Coded(names, found.codes, found.counts, numeric=False)


def _domain(
    name: str,
    found: Coded,
    granularity: Mapping[str, Any] | None,
    cuts: Mapping[str, Sequence[float]] | None,
    order: str | Mapping[str, Any],
    taxonomy: Mapping[str, Any] | None,
    columns: Sequence[str],
) -> Domain:
    """The ordered domain of a column, from what was said about it."""
    for given in (granularity, cuts, taxonomy, order if isinstance(order, Mapping) else None):
        for column in given or ():
            if column not in columns:
                raise unknown("quasi-identifier", column, columns)
    step, points = (granularity or {}).get(name), (cuts or {}).get(name)
    own = order.get(name) if isinstance(order, Mapping) else None
    tree = read_taxonomy(taxonomy[name], name) if taxonomy and name in taxonomy else None
    values = [value for value in found.values if value is not None]
    missing = len(values) < len(found.values)
    if found.numeric and own is None and tree is None:
        return numeric_domain(name, values, missing, step, points)
    if step is not None or points is not None:
        what = "is ordered by names" if found.numeric else "holds no numbers"
        raise UsageError(f"the column {name!r} {what}: granularity and cut points are for numbers")
    if own is None:
        own = "taxonomy" if tree is not None else order if isinstance(order, str) else "auto"
        if own == "auto" and found.dated:
            own = "alphabetical"  # dates in ISO form: their order is known
    names = [str(value) for value in values]
    counts = [int(c) for value, c in zip(found.values, found.counts, strict=True) if value is not None]
    if found.numeric:
        raise UsageError(f"the column {name!r} holds numbers: its order is known; leave out order and taxonomy")
    return nominal_domain(name, names, counts, missing, own, tree)


def _confidential(table: Table, asked_l: Any, t: float | None) -> dict[str, Coded]:
    """The confidential columns, where something is asked of them."""
    if asked_l is None and t is None:
        return {}
    if not table.roles.confidential:
        raise UsageError("l and t are about confidential columns: name them with confidential=[...] (--confidential)")
    check_countable(table, table.roles.confidential)
    return {name: coded_column(table, name) for name in table.roles.confidential}


def _rules(confidential: Mapping[str, Coded], asked_l: Any, t: float | None, distance: str) -> Rules:
    if t is None and distance != "equal":
        raise UsageError("distance is about t-closeness: give t as well")
    rule = Rule(**read_l(asked_l), t=t, distance=distance)
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
        warnings.warn(
            f"quasi-identifiers in no --set are released as they are: {', '.join(outside)}. They count as known to an "
            "intruder, so nothing is written unless k holds with them. Add them to a set, or give them another role",
            ShoalWarning,
            stacklevel=4,
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


def _searched(
    problem: Problem,
    method: str,
    seed: int,
    effort: str | None,
    population: int | None,
    evaluations: int | None,
    progress: Progress,
) -> Front:
    if method == "search":
        return search(problem, seed=seed, effort=effort or "standard", progress=progress)
    if method == "exact":
        return exact(problem, seed=seed, progress=progress)
    if any(problem.free):
        raise UsageError("nsga2 cuts domains in a given order: take order alphabetical, frequency or taxonomy")
    default = Settings()
    settings = Settings(population or default.population, evaluations or default.evaluations)
    return nsga2(problem, seed=seed, settings=settings, progress=progress)


def _release(
    table: Table,
    domains: Sequence[Domain],
    codes: Mapping[str, Coded],
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
        found = codes[domain.name]
        plain = len(groups_of(point.labels[domains.index(domain)], domain.size)) == domain.size
        if plain and not domain.edges and not domain.missing and starred is None:
            if _is_finer(table, domain.name, found):
                new[domain.name] = np.array(found.values, dtype=np.float64)[found.codes] + 0.0
            continue  # every value is its own group: the column stays as it is
        labels = np.array(column.labels_of(found.values), dtype=object)[found.codes]
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
    return GeneralizedRelease(
        original=table,
        frame=suppressed_beside(table.protected(new), beside, starred),
        changed=tuple(d.name for d in domains),
        k=point.k,
        facts=facts,
        solution=front,
        title="Generalization",
        mapping=mapping,
        domains=tuple(domains),
        rules=dict(zip(suppression.confidential, suppression.problem.rules.rules, strict=True)),
        sets=tuple(tuple(s) for s in sets) if sets is not None else (),
        starred_beside=tuple(beside),
    )


def _is_finer(table: Table, name: str, found: Coded) -> bool:
    """Whether numbers that are one value for the search differ in the file: -0.0 and 0.0, whole numbers beyond 2^53."""
    series = wrap(table.frame)[name]
    if not found.numeric or series.dtype == nw.Object:
        return False
    return has_negative_zero(series) or (not series.dtype.is_float() and series.n_unique() > len(found.values))


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
    return {domain.name: group_names(domain, own) for domain, own in groups.items()}
