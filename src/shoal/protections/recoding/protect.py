"""The work of `shoal.recode`: read the columns, form the groups, and make the release."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.arrays import Bools, Ints
from shoal.engine.clock import Clock
from shoal.engine.control import current
from shoal.engine.partition.kernels.greedy import neighbours_in_order
from shoal.engine.partition.partition import KPartition, by_first_record
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.errors import Stopped, UsageError, check_k
from shoal.gate.promises import Bounds, Diversity
from shoal.measures.anonymity import class_sizes
from shoal.measures.diversity import distinct_l, t_closeness
from shoal.notices import notice
from shoal.protections.class_release import class_promises
from shoal.protections.class_rules import NOT_DIVERSE, Confidentiality, Rule, Rules, group_rules
from shoal.protections.column_sets import check_sets
from shoal.protections.recoding import RECODE
from shoal.protections.recoding.columns import ColumnOptions, Cover, OrderedColumn, RecodedColumn, column_of
from shoal.protections.recoding.front import FrontPoint, Goal, NotDiverseError, front_of, goals, place_of, points_of
from shoal.protections.recoding.losses import FULL
from shoal.protections.recoding.release import RecodedRelease
from shoal.protections.recoding.task import RecodingTask
from shoal.protections.values import check_types, is_countable, is_finer, suppressed_beside, warn_of_identifiers
from shoal.sources.reading import as_table, refuse_roles
from shoal.table.bounds import Pairs, bound_column, doubled, pairs_of
from shoal.table.coded_values import finite_codes
from shoal.table.column import ColumnCodes
from shoal.table.dates import date_text
from shoal.table.frames import with_series
from shoal.table.labels import SUPPRESSED
from shoal.table.table import Table


@dataclass(frozen=True)
class RecodingSearch:
    """The method and its options. bound: whether to compute a lower bound."""

    method: str
    effort: str
    seconds: float | None
    checkpoint: Path | None
    resume: bool
    seed: int
    bound: bool

    @property
    def settings(self) -> SearchSettings:
        return SearchSettings(self.seed, self.effort, self.checkpoint, self.resume)

    def run(self, task: RecodingTask) -> KPartition:
        """Return the groups that the method forms."""
        module = importlib.import_module(f"shoal.protections.recoding.methods.{self.method}")
        partition: KPartition = getattr(module, self.method)(task, current().part(seconds=self.seconds))
        return partition


@dataclass(frozen=True)
class CellOptions:
    """How values are written, how many records may be suppressed, and what becomes of missing values."""

    style: str
    full: bool
    suppress: float
    missing: str


@dataclass(frozen=True, eq=False)
class RecordGroups:
    """The groups of the records, over some of the columns. starred: the suppressed records."""

    columns: Sequence[RecodedColumn]
    labels: Ints
    starred: Bools
    facts: Mapping[str, Any]

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1


def protect(
    data: Any,
    k: int,
    quasi: Sequence[str],
    options: ColumnOptions,
    confidentiality: Confidentiality,
    searching: RecodingSearch,
    output: CellOptions,
    *,
    sets: Sequence[Sequence[str]] | None,
    front: bool = False,
    pick: int | None = None,
) -> RecodedRelease:
    """Form groups and return the release. front: also for a higher k and l, and with fewer suppressed records."""
    table = as_table(data, quasi=quasi)
    names = _quasi(table)
    clock = Clock()
    table = table.with_missing(output.missing, names, dict.fromkeys(names, "value"))
    k = check_k(k, table.rows)
    if not 0 <= output.suppress < 1:
        raise UsageError(f"suppress must be a share of the records: at least 0 and below 1, not {output.suppress!r}.")
    if output.suppress and output.style != "text":
        raise UsageError("Suppressed records are stars, which need text. Use --style text, or remove --suppress.")
    options.check(names)
    chosen = (names,) if sets is None else check_sets(sets, names)
    columns = _columns_of(table, names, options)
    if output.style == "bounds":
        pairs_of([name for name in names if columns[name].is_bounded], table.columns)
    shared = [[columns[name] for name in names if name in part] for part in _joined(chosen)]
    if len(shared) > 1 and searching.checkpoint is not None:
        raise UsageError("A checkpoint holds one search, but each set of columns has its own. Remove --checkpoint.")
    run = Recoding(table, shared, chosen, options.loss, confidentiality, searching, output.style)
    first = Goal(k, None if confidentiality.l is None else confidentiality.rule().l, output.suppress)
    front_facts: dict[str, Any] = {}
    if front:
        points = front_of(points_of(goals(first, table.rows, run.highest_l), run.point))
        taken = place_of(points, pick)
        solution: Solution = points[taken].solution
        front_facts = {"pick": taken + 1, "front": [point.figures() for point in points]}
    else:
        solution = run.solution(first)
    bound = _lower_bound(solution.tasks[0]) if searching.bound and not solution.goal.suppress else None
    over = chosen if sets is not None else ()
    return _release(table, solution, over, bound, searching.method, output, front_facts, clock)


@dataclass(frozen=True, eq=False)
class Solution:
    """The groups that keep the guarantees of a goal, for each part of the columns."""

    goal: Goal
    tasks: Sequence[RecodingTask]
    groups: Sequence[RecordGroups]
    confidential: Mapping[str, ColumnCodes]
    rules: Rules


@dataclass(frozen=True, eq=False)
class Recoding:
    """What all solutions of a run share. columns: those of each part. sets: the columns over which k holds."""

    table: Table
    columns: Sequence[Sequence[RecodedColumn]]
    sets: Sequence[Sequence[str]]
    loss: str
    confidentiality: Confidentiality
    searching: RecodingSearch
    style: str

    @property
    def highest_l(self) -> float:
        """The smallest number of values of a confidential column; 1 if there is none, or one that has no values."""
        names = self.table.roles.confidential
        if not all(is_countable(self.table, name) for name in names):
            return 1.0
        return float(min((len(finite_codes(self.table, name).values) for name in names), default=1))

    def solution(self, goal: Goal) -> Solution:
        """Return groups for a goal; raise an error if not even all records together keep its rules."""
        rule = self.confidentiality.rule()
        diversity = None if goal.l is None else Diversity(goal.l, rule.kind, rule.c)
        wanted = replace(self.confidentiality, l=diversity)
        confidential = wanted.values(self.table)
        rules = wanted.rules(confidential)
        of_groups = group_rules(confidential, rules, self.table.rows)
        tasks = [RecodingTask(part, goal.k, self.loss, of_groups, self.searching.settings) for part in self.columns]
        if not all(task.keeps(np.zeros(task.n, dtype=np.int64))[0] for task in tasks):
            raise NotDiverseError(NOT_DIVERSE)
        groups = [_groups(task, self.searching, goal.suppress) for task in tasks]
        return Solution(goal, tasks, groups, confidential, rules)

    def point(self, goal: Goal) -> FrontPoint:
        """Return the solution for a goal with its measures."""
        solution = self.solution(goal)
        every = [(part, column) for part in solution.groups for column in part.columns]
        covers = {column.name: column.cover(part.labels, part.count, False) for part, column in every}
        of_record = {column.name: covers[column.name].label[part.labels] for part, column in every}
        losses = [
            _bound_loss(column, covers[column.name], of_record[column.name], part)[0]
            if self.style == "bounds" and column.is_bounded
            else _mean_loss(covers[column.name], of_record[column.name], part)
            for part, column in every
        ]
        starred = solution.groups[0].starred if len(solution.groups) == 1 else np.zeros(self.table.rows, dtype=bool)
        smallest = min(
            int(class_sizes([of_record[name][~starred] for name in chosen]).min(initial=self.table.rows))
            for chosen in self.sets
        )
        loss = np.average(losses, weights=[column.weight for _, column in every])
        return FrontPoint(goal, float(loss), smallest, int(starred.sum()), solution)


def _quasi(table: Table) -> tuple[str, ...]:
    names = table.quasi_columns(to_protect=True)
    refuse_roles(table, "recode", ("derived",))
    check_types(table, names, "recode")
    warn_of_identifiers(table, names)
    return tuple(names)


def _columns_of(table: Table, names: Sequence[str], options: ColumnOptions) -> dict[str, RecodedColumn]:
    """Return the values of each column; a stop ends the work between two columns of a large file."""
    columns = {}
    for name in names:
        current().check()
        columns[name] = column_of(table, name, options)
    current().check()
    return columns


def _joined(sets: Sequence[Sequence[str]]) -> list[set[str]]:
    """Return the sets, those that share a column joined: a value of a column can be written in one way only."""
    joined: list[set[str]] = []
    for chosen in sets:
        near = [part for part in joined if part & set(chosen)]
        joined = [part for part in joined if part not in near] + [set(chosen).union(*near)]
    return joined


# -- suppression -------------------------------------------------------------------------------------------


def _groups(task: RecodingTask, searching: RecodingSearch, suppress: float) -> RecordGroups:
    """Return the groups of the records; the records far from all others are suppressed, if that costs less."""
    most = math.floor(suppress * task.n)
    if suppress > 0 and most < task.k:
        notice(
            f"--suppress {suppress:g} allows {most:,} of {task.n:,} records, fewer than k = {task.k}. Suppressed "
            "records hide among each other only if there are at least k of them, so Shoal suppresses none."
        )
    plain = searching.run(task)
    if most >= task.k and task.n - most >= 2 * task.k:
        try:
            suppressed = _with_stars(task, searching, most, plain)
        except Stopped:  # the groups without suppression are the best so far
            suppressed = None
        if suppressed is not None:
            return suppressed
    return RecordGroups(task.columns, plain.labels, np.zeros(task.n, dtype=bool), plain.facts)


def _with_stars(task: RecodingTask, searching: RecodingSearch, most: int, plain: KPartition) -> RecordGroups | None:
    """Return groups without the records far from all others; None if that does not cost less than the plain groups."""
    starred = np.zeros(task.n, dtype=bool)
    far = task.loss.neighbours(task.k + 5, seed=searching.seed, threads=1)[1]
    apart = np.where(task.keeps(task.classes)[task.classes], -1.0, far)
    starred[np.argsort(-apart, kind="stable")[:most]] = apart[np.argsort(-apart, kind="stable")[:most]] > 0
    kept = np.flatnonzero(~starred)
    part = _taken(task, kept)
    if starred.sum() < task.k or not part.keeps(np.zeros(kept.size, dtype=np.int64))[0]:
        return None
    partition = searching.run(part)
    labels = np.full(task.n, -1, dtype=np.int64)
    labels[kept] = partition.labels
    joined = _with_cheap_ones(task, labels)
    starred = joined < 0
    costs = float(task.loss.part(np.flatnonzero(~starred)).of(KPartition(joined[~starred]))) + FULL * starred.sum()
    if starred.sum() < task.k or costs >= task.loss.of(plain):
        return None
    return RecordGroups(task.columns, np.where(starred, joined.max() + 1, joined), starred, partition.facts)


def _taken(task: RecodingTask, rows: Ints) -> RecodingTask:
    """Return the task on some of the records, with the same domains."""
    columns = [column.with_codes(column.codes.codes[rows]) for column in task.columns]
    rules = task.rules._replace(confidential=np.ascontiguousarray(task.rules.confidential[rows]))
    return replace(task, columns=columns, rules=rules)


def _nearest(task: RecodingTask, record: int, labels: Ints) -> int:
    """Return the nearest record that is in a group."""
    placed = np.flatnonzero(labels >= 0)
    return int(placed[int(task.loss.distances(record, placed).argmin())])


def _with_cheap_ones(task: RecodingTask, labels: Ints) -> Ints:
    """Return the labels with each suppressed record in its nearest group, where that costs less than suppression."""
    labels = labels.copy()
    for record in np.flatnonzero(labels < 0):
        current().check()
        members = np.flatnonzero(labels == labels[_nearest(task, int(record), labels)])
        larger = np.append(members, record)
        before, after = task.loss.costs_of([members, larger])
        both = np.ones(task.n, dtype=np.int64)
        both[larger] = 0
        if after - before < FULL and (not task.rules.integers.size or task.keeps(both)[0]):
            labels[record] = labels[members[0]]
    return labels


# -- the release -------------------------------------------------------------------------------------------


def _lower_bound(task: RecodingTask) -> float | None:
    """Return the mean distance to the (k - 1)-th nearest record: a record costs at least that in any group of k.

    None if the work was stopped.
    """
    near = np.full((task.n, task.k - 1), -1, dtype=np.int32)
    far = np.full((task.n, task.k - 1), np.inf)
    control = current()
    neighbours_in_order(task.loss.marker, task.loss.state(), np.arange(task.n), task.n, near, far, control.flag)
    return None if control.stopped else float(far[:, -1].mean() / FULL)


def _mean_loss(cover: Cover, of_record: Ints, part: RecordGroups) -> float:
    """Return the mean loss of a column's cells. of_record: the text of each record."""
    return float(np.where(part.starred, 1.0, cover.losses[of_record]).mean())


def _release(
    table: Table,
    solution: Solution,
    sets: tuple[tuple[str, ...], ...],
    bound: float | None,
    method: str,
    output: CellOptions,
    front_facts: Mapping[str, Any],
    clock: Clock,
) -> RecodedRelease:
    """Return the release with its values and its measures. front_facts: the Pareto front, if there is one."""
    k, groups, confidential, rules = solution.goal.k, solution.groups, solution.confidential, solution.rules
    new: dict[str, Any] = {}
    losses: dict[str, float] = {}
    legend: dict[str, dict[str, list[str]]] = {}
    exact = np.ones(table.rows, dtype=bool)
    every = [(part, column) for part in groups for column in part.columns]
    pairs = pairs_of([c.name for _, c in every if output.style == "bounds" and c.is_bounded], table.columns)
    twice = doubled(table, pairs)
    bounds: dict[str, Any] = {}
    for part, column in every:
        cover = column.cover(part.labels, part.count, output.full)
        of_record = cover.label[part.labels]
        if column.name in pairs:
            bounds |= _bound_columns(twice, column, pairs[column.name], part)
            losses[column.name], is_exact = _bound_loss(column, cover, of_record, part)
            exact &= is_exact
            continue
        losses[column.name] = _mean_loss(cover, of_record, part)
        exact &= cover.is_exact[of_record] & ~part.starred
        legend |= _cut_labels(column.name, cover, of_record[~part.starred])
        cells = _cells(table, column, cover, part, output.style)
        if cells is not None:
            new[column.name] = cells
    starred = groups[0].starred if len(groups) == 1 and groups[0].starred.any() else None
    unassigned = table.without_role() if starred is not None and table.roles.quasi else ()
    names = [column.name for _, column in every]
    changed = _as_released(names, pairs)
    by_name = dict(zip(confidential, rules.rules, strict=True))
    weights = np.array([column.weight for _, column in every])
    per_column = np.array([losses[name] for name in names])
    counts = np.array([1.0 - 1.0 / max(1, column.leaves) for _, column in every])
    facts: dict[str, Any] = {
        "n": table.rows,
        "d": len(names),
        "k": k,
        "method": method,
        "loss": float((weights * per_column).sum() / weights.sum()),
        "granularity": 1.0 - float((counts * per_column).sum() / counts.sum()) if counts.sum() else 1.0,
        "l": None,
        "t": None,
        "groups": sum(int(np.unique(part.labels[~part.starred]).size) for part in groups),
        "unchanged_rows": int(exact.sum()),
        "suppressed": 0 if starred is None else int(starred.sum()),
        "per_column": {column.name: {"kind": column.kind, "loss": losses[column.name]} for _, column in every},
        **({"lower_bound": bound} if bound is not None else {}),
        **front_facts,
        **({"legend": legend} if legend and output.style != "mean" else {}),
        **_search_facts(groups),
        **current().facts,
    }
    partition = KPartition(by_first_record(groups[0].labels)) if len(groups) == 1 else None
    sets = tuple(_as_released(chosen, pairs) for chosen in sets)
    release = RecodedRelease(
        original=table,
        frame=suppressed_beside(with_series(twice.protected(new), bounds), unassigned, starred),
        changed=changed,
        promises=(*class_promises(changed, sets, k, by_name), *(Bounds(pair, name) for name, pair in pairs.items())),
        k=None if sets else k,
        facts=facts,
        solution=partition,
        title=RECODE.title,
        rules=by_name,
        sets=sets,
        starred_beside=tuple(unassigned),
    )
    measured = confidential or {name: finite_codes(table, name) for name in table.roles.confidential}
    facts |= diversity(groups, measured, by_name)
    facts |= {"effective_k": release.smallest_class(), **clock.read()}
    return release


def _as_released(names: Sequence[str], pairs: Pairs) -> tuple[str, ...]:
    """Return the names of the released columns: for a column with bounds, those of its pair."""
    return tuple(released for name in names for released in pairs.get(name, (name,)))


def _bound_columns(twice: Table, column: RecodedColumn, pair: tuple[str, str], part: RecordGroups) -> dict[str, Any]:
    """Return the two columns that bound a column. twice: the table that has two copies of it."""
    values, exact, labels = column.values, twice[pair[0]].is_exact, part.labels
    ends = column.bounds(labels, part.count)
    if not exact:  # float64 rounded the numbers, so the bounds go one step outward
        ends = np.nextafter(ends[0], -np.inf), np.nextafter(ends[1], np.inf)
    return {
        name: bound_column(twice[name].series, end, labels, is_date=values.is_date, unit=values.unit, exact=exact)
        for name, end in zip(pair, ends, strict=True)
    }


def _bound_loss(column: RecodedColumn, cover: Cover, of_record: Ints, part: RecordGroups) -> tuple[float, Bools]:
    """Return the mean loss of a column with bounds, and which records have a single value.

    If a group mixes values and missing ones, a pair without bounds says nothing, wherever it stands.
    """
    ends = column.bounds(part.labels, part.count)
    nothing = np.isnan(ends[0])[part.labels]
    is_mixed = bool((nothing & ~column.codes.missing).any())
    losses = np.where(nothing & is_mixed, 1.0, cover.losses[of_record])
    single = np.where(nothing, not is_mixed, ends[0][part.labels] == ends[1][part.labels])
    return float(losses.mean()), np.asarray(single, dtype=bool)


def _cut_labels(name: str, cover: Cover, used: Ints) -> dict[str, dict[str, list[str]]]:
    """Return the values of the cut labels among the used ones, by column; empty if none is cut."""
    texts = [cover.texts[i] for i in np.unique(used).tolist()]
    cut = {text: list(cover.legend[text]) for text in texts if cover.legend.get(text)}
    return {name: cut} if cut else {}


def _cells(table: Table, column: RecodedColumn, cover: Cover, part: RecordGroups, style: str) -> Any:
    """Return the new values of a column; None if it stays as it is."""
    of_record = cover.label[part.labels]
    if style == "mean":
        return group_means(column, part)
    if bool(cover.is_exact[of_record].all()) and is_kept(column) and not part.starred.any():
        if is_finer(table, column.name, column.codes):
            return np.array(column.codes.values, dtype=np.float64)[column.codes.codes] + 0.0
        return None
    cells = np.array(cover.texts, dtype=object)[of_record]
    cells[part.starred] = SUPPRESSED
    return cells


def is_kept(column: RecodedColumn) -> bool:
    """Return whether a column stays as it is if every group has a single value of it."""
    rounded = isinstance(column, OrderedColumn) and column.step > 0
    return column.values.is_exact and not rounded and not column.has_missing


def group_means(column: RecodedColumn, part: RecordGroups) -> Any:
    """Return the mean of each group's numbers or dates, or its most frequent name, the first of several."""
    codes, labels = column.codes, part.labels
    if codes.numeric:
        present = ~codes.missing
        numbers = np.array([0.0 if value is None else float(value) for value in codes.values])[codes.codes]
        sums = np.bincount(labels, np.where(present, numbers, 0.0), minlength=part.count)
        counts = np.bincount(labels, present, minlength=part.count)
        with np.errstate(invalid="ignore"):
            means = sums / counts
        if not column.values.is_date:
            return np.asarray(means[labels], dtype=np.float64)
        texts = [None if np.isnan(mean) else date_text(round(mean), "day") for mean in means]
        return np.array(texts, dtype=object)[labels]
    pairs, counts = np.unique(labels * len(codes.values) + codes.codes, return_counts=True)
    order = np.lexsort((pairs, -counts, pairs // len(codes.values)))
    owner = pairs[order] // len(codes.values)
    first = np.searchsorted(owner, np.arange(part.count))
    modes = pairs[order][first] % len(codes.values)
    texts = [None if value is None else str(value) for value in codes.values]
    return np.array(texts, dtype=object)[modes][labels]


def diversity(
    groups: Sequence[RecordGroups], columns: Mapping[str, ColumnCodes], rules: Mapping[str, Rule]
) -> dict[str, Any]:
    """Return the l and the t of the worst class and confidential column, if there are confidential columns."""
    if not columns:
        return {}
    worst_l, worst_t = math.inf, 0.0
    for part in groups:
        kept = ~part.starred
        if not kept.any():
            continue
        for name, codes in columns.items():
            distance = rules[name].distance if name in rules else "equal"
            worst_l = min(worst_l, distinct_l(part.labels[kept], codes.codes[kept]))
            worst_t = max(worst_t, t_closeness(part.labels[kept], codes.codes[kept], distance, codes.counts))
    return {"l": None if math.isinf(worst_l) else worst_l, "t": worst_t}


def _search_facts(groups: Sequence[RecordGroups]) -> dict[str, Any]:
    """Return the stages of the search, with losses as shares of the whole, if there was one search."""
    if len(groups) != 1:
        return {}
    facts = {name: value for name, value in groups[0].facts.items() if name in ("stages", "effort", "stopped")}
    if "stages" in facts:
        n = groups[0].labels.size
        facts["stages"] = [
            {**s, "loss_before": s["loss_before"] / FULL / n, "loss_after": s["loss_after"] / FULL / n}
            for s in facts["stages"]
        ]
    return facts
