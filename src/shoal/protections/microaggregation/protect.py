"""The work of `shoal.microaggregate`: read the columns, form groups of at least k records, and make the release.

Numbers, dates, ordinal and nominal columns are grouped together (Domingo-Ferrer and Torra 2005), by the squared
distances of the matrix that `shoal.table.mixed` makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints
from shoal.engine.clock import Clock
from shoal.engine.control import Control, current, shielded
from shoal.engine.partition.kernels.rules import GroupRules
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.refine import refine
from shoal.engine.partition.space import prepare
from shoal.engine.progress import silent
from shoal.engine.stage import rescaled
from shoal.errors import Stopped, UsageError, check_k
from shoal.measures.diversity import distinct_l, t_closeness
from shoal.measures.loss import Loss, total_loss
from shoal.notices import notice
from shoal.protections.class_release import class_promises
from shoal.protections.class_rules import Confidentiality, group_rules
from shoal.protections.microaggregation import METHODS, MICROAGGREGATE
from shoal.protections.microaggregation.changed_cells import ChangedCells, changed_cells
from shoal.protections.microaggregation.methods import function_of, group_records
from shoal.protections.microaggregation.replacement import Replacement, replacement
from shoal.protections.microaggregation.replacement import replaced as replaced
from shoal.protections.microaggregation.ruled import RuledLoss, RuledSquaredError
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.microaggregation.sums_of_squares import sse_by_column, total_squares
from shoal.protections.microaggregation.within import check_classes, check_within, classes_of, grouped_within
from shoal.protections.units import merged_for_units, units_of, units_per_group
from shoal.protections.values import check_types, one_zero, warn_of_identifiers
from shoal.release import Release
from shoal.sources.reading import as_table
from shoal.table.column import ColumnCodes
from shoal.table.frames import with_series
from shoal.table.kinds import kinds_of
from shoal.table.mixed import MixedColumns, check_size, cost_notice, mixed_columns, warn_of_codes
from shoal.table.roles import names as names_of
from shoal.table.table import Table

NEVER_ABOVE_MDAV = ("auto", "anneal", "blocks", "exact", "mdav", "memetic")  # optimal, or starting from MDAV's groups
FAR_ABOVE_MDAV = 1.5  # ratio to the squared error of MDAV above which there is a warning, not only a row in the table
FEW_FOR_MDAV = 50_000  # records that MDAV groups at once, even after the search was stopped
OF_ONE_SEARCH = ("checkpoint", "resume", "start")  # options that a search in several classes cannot have


@dataclass(frozen=True, eq=False)
class Replacing:
    """How values are replaced. within: columns constant in every group. missing: handling of missing values."""

    within: Sequence[str]
    aggregate: str
    round: bool
    scaling: str
    importance: Mapping[str, float] | None
    missing: str


@dataclass(frozen=True, eq=False)
class Objective:
    """What the search minimizes, and the rules of the confidential columns that every group keeps."""

    name: str
    confidentiality: Confidentiality

    def check(self, search: Search, replacing: Replacing, columns: MixedColumns) -> None:
        """Raise an error for options that do not fit the loss or the rules."""
        with_rules = self.confidentiality.l is not None or self.confidentiality.t is not None
        if search.bound and (with_rules or self.counts_changes(columns)):
            raise UsageError(
                "A bound is known for sums of squares without l and t only. Remove --bound; or remove -l and -t, and "
                "use --loss gini if a column has labels."
            )
        if self.counts_changes(columns) and replacing.scaling != "standard":
            raise UsageError(
                "A column of labels counts in shares of its own total, so --scaling has no effect. Remove --scaling, "
                "or use --loss gini."
            )

    def counts_changes(self, columns: MixedColumns) -> bool:
        """Return whether the search counts changed labels; columns of numbers have squares only."""
        return self.name == "changes" and bool(columns.labels)

    def loss(
        self, columns: MixedColumns, k: int, weights: Floats | None, importance: Mapping[str, float] | None, rules: Any
    ) -> ChangedCells | None:
        """Return the loss that counts changed labels; None for sums of squares."""
        if not self.counts_changes(columns):
            return None
        return changed_cells(columns, k, weights, importance, rules)


def protect(data: Any, search: Search, replacing: Replacing, quasi: Sequence[str], objective: Objective) -> Release:
    """Search for groups and return the release."""
    function_of(search.method)  # compiled or loaded now, before the clock starts
    table, within = as_table(data, quasi=quasi), names_of(replacing.within, "within")
    names, derived = protected_names(table, within), tuple(table.roles.derived)
    _check_weights(table, search, replacing.aggregate)
    check_types(table, (*names, *derived), "microaggregate", needs="means")
    check_types(table, within, "microaggregate --within")
    warn_of_identifiers(table, table.roles.quasi)
    clock = Clock()
    table = one_zero(table, (*names, *derived, *within))
    table = table.with_missing(replacing.missing, (*names, *derived), kinds_of(table, (*names, *derived)))
    k = check_k(search.k, table.rows)
    if table.rows < 2 * k:
        notice(
            f"The file has {table.rows} records, fewer than 2k = {2 * k}, so all of them form one group and get the "
            "same values. A smaller k keeps more information."
        )
    columns, weights = mixed_columns(table, names), table.weights()
    further = [mixed_columns(table, derived, allow_constant=True)] if derived else []
    objective.check(search, replacing, columns)
    for part in (columns, *further):
        check_size(part, with_matrix=not objective.counts_changes(columns))
    warn_of_codes(columns)
    confidential = objective.confidentiality.values(table)
    rules = objective.confidentiality.rules(confidential)
    of_groups = group_rules(confidential, rules, table.rows)
    changed = objective.loss(columns, k, weights, replacing.importance, of_groups)
    search = replace(search, k=k, units=units_of(table, k), rules=of_groups, changed=changed, control=current())
    scaled = columns.matrix(replacing.scaling, weights, replacing.importance) if changed is None else changed.embedded
    sst = total_squares(scaled, weights) if changed is None else changed.total
    partition = search.groups(table, scaled, weights, within).check(k)
    searched, against_mdav = None, {}
    if changed is not None:
        searched = Loss(changed.of(partition), sst)
    elif columns.labels or search.method not in NEVER_ABOVE_MDAV:
        if search.may_overwrite(table.rows, within):
            scaled = columns.matrix(replacing.scaling, weights, replacing.importance)
        searched = Loss(sse_by_column(partition, scaled, weights), sst)
        against_mdav = search.against_mdav(table, scaled, weights, within, searched)
    of_search = searched if columns.labels else None
    del scaled, changed
    search = replace(search, changed=None)
    made = [replacement(part, partition, replacing.aggregate, weights, replacing.round) for part in (columns, *further)]
    facts: dict[str, Any] = {
        "n": table.rows,
        "d": len(names),
        "k": k,
        "method": search.method,
        **losses(made, of_search),
        "groups": partition.groups,
        "smallest_group": int(partition.sizes.min()),
        "largest_group": int(partition.sizes.max()),
        **in_percent(partition.facts, sst),
        **against_mdav,
        **about_columns(table, columns, made, within, objective),
        **about_confidential(confidential, partition, objective.confidentiality.distance),
        **about_units(partition, search.units),
        **clock.read(),
    }
    return Release(
        original=table,
        frame=written(table, made),
        changed=(*names, *derived),
        k=k,
        facts=facts,
        solution=partition,
        title=MICROAGGREGATE.title,
        within=within,
        promises=class_promises((*names, *derived, *within), (), k, dict(zip(confidential, rules.rules, strict=True))),
    )


def _check_weights(table: Table, search: Search, aggregate: str) -> None:
    """Raise an error before the search if the method or an option does not support survey weights."""
    weight = table.roles.weight
    if weight is None:
        return
    if not MICROAGGREGATE.method(search.method).weights:
        able = ", ".join(method.name for method in METHODS if method.weights)
        raise UsageError(f"Method {search.method!r} does not support weights. Use one of: {able}; or remove --weight.")
    if search.bound:
        raise UsageError("A bound does not support weights. Remove --bound or --weight.")
    if aggregate == "median":
        raise UsageError(
            f"The median of a group does not support the weights in {weight!r}. Use --aggregate mean, or no --weight."
        )


@dataclass(frozen=True, eq=False)
class Search:
    """The method with its options, and the steps after it.

    units: the unit of each record as a code, or None. rules: of the confidential columns. changed: the loss, if it
    counts changed labels.
    """

    method: str
    k: int
    options: Mapping[str, Any]
    refine: bool = False
    bound: bool = False
    bound_seconds: float = 60.0
    seed: int = 0
    units: Ints | None = None
    rules: GroupRules | None = None
    changed: ChangedCells | None = None
    control: Control = field(default_factory=current)

    def groups(self, table: Table, scaled: Floats, weights: Floats | None, within: Sequence[str]) -> KPartition:
        """Return the groups of all records; with `within`, formed separately in each class of these columns."""
        if self.bound and self.units is not None:
            raise UsageError("A bound does not support units. Remove --bound or --unit.")
        if not within:
            return self._in(slice(None), scaled, weights, 1.0, self.may_overwrite(len(scaled), within))
        for option in OF_ONE_SEARCH:
            if self.options.get(option):
                raise UsageError(f"--within cannot be combined with {option}. Remove one of them.")
        classes, labels = classes_of(table, within)
        check_classes(classes, labels, self.units, self.k)
        return self._in_classes(scaled, weights, classes)

    def may_overwrite(self, rows: int, within: Sequence[str]) -> bool:
        """Whether the search may use the array of values as its memory, because no later step needs it."""
        plain = self.changed is None and (self.rules is None or not self.rules.integers.size)
        further = within or self.refine or self.bound or self.units is not None
        return rows > FEW_FOR_MDAV and self.method in ("auto", "blocks") and plain and not further

    def against_mdav(
        self, table: Table, scaled: Floats, weights: Floats | None, within: Sequence[str], searched: Loss
    ) -> dict[str, float]:
        """Return the ratio of squared errors `times_mdav` if MDAV's groups lose less; warn if it is large."""
        if self.method in NEVER_ABOVE_MDAV or (self.control.stopped and table.rows > FEW_FOR_MDAV):
            return {}
        mdav = replace(self, method="mdav", options={}, refine=False, bound=False, control=Control())
        squares = shielded(lambda: sse_by_column(mdav.groups(table, scaled, weights, within), scaled, weights))
        if searched.sse <= squares * (1 + 1e-9):
            return {}
        times = searched.sse / squares if squares > 0 else np.inf
        if times > FAR_ABOVE_MDAV:
            notice(
                f"The groups of method {self.method!r} lose {searched.information_loss:.2f} % of the information; "
                f"those of MDAV lose {Loss(squares, searched.sst).information_loss:.2f} %. Use --method auto for the "
                "least loss, or --method mdav."
            )
        return {"times_mdav": times}

    def _in_classes(self, scaled: Floats, weights: Floats | None, classes: Ints) -> KPartition:
        quiet = replace(self, control=self.control.part(progress=silent))
        plain = replace(quiet, method="mdav", options={}, refine=False, bound=False)

        def of_class(rows: Ints) -> KPartition:
            try:
                self.control.check()
                return quiet._in(rows, scaled, weights, rows.size / classes.size)
            except Stopped:
                if rows[0] == first:  # no class has groups yet
                    raise
            return shielded(lambda: plain._in(rows, scaled, weights, 1.0))  # the remaining classes need groups too

        first = np.argmin(classes)
        return grouped_within(of_class, scaled, weights, classes, self.control)

    def _in(
        self, rows: Any, scaled: Floats, weights: Floats | None, share: float, may_overwrite: bool = False
    ) -> KPartition:
        """Return the groups of these records; the search gets a share of the time."""
        options = dict(self.options)
        if share < 1.0 and options.get("seconds") is not None:
            options["seconds"] *= share
        scaled, weights = scaled[rows], None if weights is None else weights[rows]
        units = None if self.units is None else self.units[rows]
        loss = self._loss(rows, scaled, weights)
        run: dict[str, Any] = {"weights": weights, "seed": self.seed, "control": self.control, "loss": loss}
        if may_overwrite:
            run["loss"] = SquaredError(scaled, self.k, weights, may_overwrite=True)
        partition = group_records(self.method, scaled, self.k, **run, **options).check(self.k)
        if loss is not None and self.method == "mdav":  # the groups of a search that was stopped before it had any
            partition = KPartition(loss.kept(partition.labels), partition.facts)
        with suppress(Stopped):  # a stopped step leaves the groups unchanged
            partition = self._improved(partition, scaled, weights, share, loss)
        partition = KPartition(partition.labels, {**partition.facts, **self.control.facts})
        return partition if units is None else merged_for_units(partition, scaled, self.k, units, weights)

    def _loss(self, rows: Any, scaled: Floats, weights: Floats | None) -> RuledLoss | None:
        """Return the loss of these records, with first groups that keep the rules; None for plain squared errors."""
        loss: RuledLoss
        if self.changed is not None:
            loss = self.changed.part(rows)
        elif self.rules is not None and self.rules.integers.size:
            rules = self.rules._replace(confidential=np.ascontiguousarray(self.rules.confidential[rows]))
            loss = RuledSquaredError(scaled, self.k, rules, weights)
        else:
            return None
        if self.method != "mdav":
            prepare(loss)
            loss.start_from_kept()
        return loss

    def _improved(
        self, partition: KPartition, scaled: Floats, weights: Floats | None, share: float, loss: RuledLoss | None
    ) -> KPartition:
        """Return the partition after the local search and the bound, if they are on."""
        if self.refine and not self.control.stopped:
            squares = SquaredError(scaled, self.k, weights)
            partition = refine(loss or squares, partition, seed=self.seed, control=self.control)
        if self.bound and not partition.facts.get("proved"):
            from shoal.protections.microaggregation.proof import prove

            partition = prove(scaled, self.k, partition, seconds=self.bound_seconds * share, control=self.control)
        return partition


def protected_names(table: Table, within: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to protect: the quasi-identifiers, or every column without a role; never those of `within`."""
    check_within(table, within)
    names = tuple(name for name in table.quasi_columns(to_protect=True) if name not in within)
    if not names:
        raise UsageError(
            "Every column to protect is named in --within, which leaves it unchanged. Name another column with --quasi."
        )
    for column, sources in table.roles.derived.items():
        for source in sources:
            if source not in (*names, *within, *table.roles.derived):
                raise UsageError(
                    f"--derived {column}={','.join(sources)}: the column {source!r} is not protected, so {column!r} "
                    f"cannot be protected with it. Name it in --quasi, or name {column!r} there."
                )
    return names


def losses(made: Sequence[Replacement], objective: Loss | None) -> dict[str, float]:
    """Return the loss that the search minimizes (if all columns are numbers: that of the release), and that of all."""
    searched, *_ = parts = [list(part.losses.values()) for part in made]
    squares = objective or total_loss(searched)
    loss = total_loss([loss for part in parts for loss in part])
    return {"sse": squares.sse, "sst": squares.sst, "information_loss": loss.information_loss}


def about_columns(
    table: Table,
    columns: MixedColumns,
    made: Sequence[Replacement],
    within: Sequence[str],
    objective: Objective,
) -> dict[str, Any]:
    """Return facts on the columns: their names if the user named none, the loss of each, and a note on many labels."""
    per_column = {name: facts for part in made for name, facts in part.per_column.items()}
    for name, sources in table.roles.derived.items():
        per_column[name] = {**per_column[name], "derived_from": list(sources)}
    facts: dict[str, Any] = {"per_column": per_column}
    if not table.roles.quasi:
        facts["columns"] = list(columns.names)
    if within:
        facts["within"] = list(within)
    if columns.labels:
        facts["loss"] = objective.name
    if objective.counts_changes(columns):
        return facts
    if columns.labels:
        facts["dimensions"] = columns.dimensions
    notice = cost_notice(columns)
    return facts if notice is None else {**facts, "notice": notice}


def about_confidential(
    confidential: Mapping[str, ColumnCodes], partition: KPartition, distance: str
) -> dict[str, float]:
    """Return the smallest l and the largest t of the confidential columns, if l or t is required."""
    if not confidential:
        return {}
    every = [(partition.labels, column.codes) for column in confidential.values()]
    return {
        "l": min(distinct_l(*pair) for pair in every),
        "t": max(t_closeness(*pair, distance) for pair in every),
    }


def about_units(partition: KPartition, units: Ints | None) -> dict[str, int]:
    """Return the number of units, and that of the group with the fewest."""
    if units is None:
        return {}
    fewest = int(units_per_group(partition.labels, units).min())
    return {"units": int(np.unique(units).size), "smallest_group_units": fewest}


def written(table: Table, made: Sequence[Replacement]) -> Any:
    """Return the protected frame; labels and dates keep their types."""
    numbers = {name: values for part in made for name, values in part.numbers.items()}
    whole = tuple(name for part in made for name in part.whole)
    series = {name: values for part in made for name, values in part.series.items()}
    return with_series(table.protected(numbers, round_columns=whole), series)


def in_percent(facts: Mapping[str, Any], sst: float) -> dict[str, Any]:
    """Return the facts of a partition, with its bound and the losses of its stages as information losses."""
    percent = 100.0 / sst if sst > 0 else 0.0
    in_percent = dict(facts)
    if in_percent.get("lower_bound") is not None:
        in_percent["lower_bound"] *= percent
    if "stages" in in_percent:
        in_percent["stages"] = [rescaled(stage, percent) for stage in in_percent["stages"]]
    return in_percent
