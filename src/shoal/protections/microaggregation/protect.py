"""`shoal.microaggregate`: a table in, groups of at least k records in the middle, a checked release out.

Numbers, dates, ordinal and nominal columns are grouped together (Domingo-Ferrer and Torra 2005), by the squared
distances of the matrix that `shoal.table.mixed` makes of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import Floats, Ints, cores
from shoal.engine.clock import Clock
from shoal.engine.partition.partition import KPartition, total_squares
from shoal.engine.progress import Progress, silent
from shoal.errors import ShoalWarning, UsageError, check_choice, check_k
from shoal.measures.loss import Loss
from shoal.protections.microaggregation.register import Method
from shoal.protections.microaggregation.register import method as method_named
from shoal.protections.microaggregation.replacement import Replacement, replacement
from shoal.protections.microaggregation.replacement import replaced as replaced
from shoal.protections.microaggregation.within import (
    check_classes,
    check_within,
    classes_of,
    grouped_within,
    merged_for_units,
    units_of,
    units_per_group,
)
from shoal.protections.recorded import recorded
from shoal.protections.values import check_types, one_zero, warn_of_identifiers
from shoal.release import Release
from shoal.sources.reading import as_table
from shoal.table.mixed import (
    MixedColumns,
    check_size,
    cost_notice,
    mixed_columns,
    warn_of_codes,
    with_missing,
    with_series,
)
from shoal.table.roles import names as names_of
from shoal.table.table import Table

AGGREGATES = ("mean", "median")
OF_ONE_SEARCH = ("checkpoint", "resume", "start")  # options that a search in several classes cannot have


@recorded("microaggregate")
def microaggregate(
    data: Any,
    k: int,
    *,
    method: str = "auto",
    quasi: Sequence[str] = (),
    within: Sequence[str] = (),
    aggregate: str = "mean",
    round: bool = False,
    scaling: str = "standard",
    importance: Mapping[str, float] | None = None,
    refine: bool = False,
    bound: bool = False,
    bound_seconds: float = 60.0,
    missing: str = "error",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Release:
    """Replace the quasi-identifiers of each record by the values of its group of at least k records.

    data: a Table, a frame or a file. quasi: the columns, where the table does not name them; every column without a
    role if none is named. Numbers get the group's mean, ordinal columns the median, nominal columns the mode.
    within: columns that no group crosses, and that stay as they are. aggregate: of numbers, mean or median.
    round: keep integer columns integers. scaling: standard, minmax or none, before distances are taken.
    importance: what a column's squared distances are multiplied by. missing: error, drop or median.
    refine: go on with local search from the method's groups. bound: certify how far from the optimum they can be,
    in at most bound_seconds. options: those of the method.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "sex": ["f", "f", "m", "m", "m", "m"]})
    >>> microaggregate(frame, k=3).table.rows()[2:4]
    [(26.333333333333332, 'f'), (62.333333333333336, 'm')]
    """
    chosen = method_named(method)
    chosen.check_options(options)
    _ = chosen.function  # compiled or loaded now, before the clock starts
    check_choice("aggregate", aggregate, AGGREGATES)
    table, within = as_table(data, quasi=quasi), names_of(within, "within")
    names, derived = protected_names(table, within), tuple(table.roles.derived)
    check_types(table, (*names, *derived), "microaggregate")
    check_types(table, within, "microaggregate --within")
    warn_of_identifiers(table, table.roles.quasi)
    clock = Clock()
    table = one_zero(table, (*names, *derived, *within))
    table = with_missing(table, (*names, *derived), missing)
    k = check_k(k, table.rows)
    if table.rows < 2 * k:
        warnings.warn(
            f"{table.rows} records are fewer than 2k = {2 * k}: all form a single group, and every record gets the "
            "same values; a smaller k would keep more",
            ShoalWarning,
            stacklevel=3,
        )
    columns, weights = mixed_columns(table, names), table.weights()
    beside = [mixed_columns(table, derived, allow_constant=True)] if derived else []
    for part in (columns, *beside):
        check_size(part)
    warn_of_codes(columns)
    search = Search(chosen, k, options, refine, bound, bound_seconds, seed, threads or cores(), units_of(table, k))
    scaled = columns.matrix(scaling, weights, importance)
    partition = search.groups(table, scaled, weights, within, progress).check(k)
    sst = total_squares(scaled, weights)
    objective = Loss(squares_within(scaled, partition, weights), sst) if columns.labels else None
    del scaled
    made = [replacement(part, partition, aggregate, weights, round) for part in (columns, *beside)]
    facts: dict[str, Any] = {
        "n": table.rows,
        "d": len(names),
        "k": k,
        "method": method,
        **losses(made, objective),
        "groups": partition.groups,
        "smallest_group": int(partition.sizes.min()),
        "largest_group": int(partition.sizes.max()),
        **in_percent(partition.facts, sst),
        **about_columns(table, columns, made, within),
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
        title="Microaggregation",
        within=within,
    )


@dataclass(frozen=True, eq=False)
class Search:
    """How groups are looked for: a method with its options, and what follows it. units: a code per record, or None."""

    method: Method
    k: int
    options: Mapping[str, Any]
    refine: bool
    bound: bool
    bound_seconds: float
    seed: int
    threads: int
    units: Ints | None

    def groups(
        self, table: Table, scaled: Floats, weights: Floats | None, within: Sequence[str], progress: Progress
    ) -> KPartition:
        """The partition of all records, or that of each class of the `within` columns."""
        if self.bound and weights is not None:
            raise UsageError("a bound cannot honour weights: leave out --bound or the weight")
        if self.bound and self.units is not None:
            raise UsageError("A bound cannot count units: leave out --bound or the unit.")
        if not within:
            return self._in(scaled, weights, self.units, 1.0, progress)
        for option in OF_ONE_SEARCH:
            if self.options.get(option):
                raise UsageError(f"--within searches class by class and has no {option}: leave out one of the two.")
        classes, labels = classes_of(table, within)
        check_classes(classes, labels, self.units, self.k)
        return self._in_classes(scaled, weights, classes, progress)

    def _in_classes(self, scaled: Floats, weights: Floats | None, classes: Ints, progress: Progress) -> KPartition:
        interrupted = False

        def of_class(rows: Ints) -> KPartition:
            nonlocal interrupted
            weigh = None if weights is None else weights[rows]
            units = None if self.units is None else self.units[rows]
            if interrupted:  # Ctrl-C: the classes that are left get groups without a search
                return replace(self, method=method_named("mdav"), options={}, refine=False, bound=False)._in(
                    scaled[rows], weigh, units, 1.0, silent
                )
            part = self._in(scaled[rows], weigh, units, rows.size / classes.size, silent)
            interrupted = bool(part.facts.get("stopped")) and self.options.get("seconds") is None
            return part

        return grouped_within(of_class, scaled, weights, classes, progress)

    def _in(
        self, scaled: Floats, weights: Floats | None, units: Ints | None, share: float, progress: Progress
    ) -> KPartition:
        """The groups of these records, which get a share of the time."""
        options = dict(self.options)
        common: dict[str, Any] = {"seed": self.seed, "threads": self.threads, "progress": progress}
        if share < 1.0 and options.get("seconds") is not None:
            options["seconds"] *= share
        partition = self.method(scaled, self.k, weights=weights, **common, **options).check(self.k)
        if self.refine:
            from shoal.engine.partition.refine import refine as local_search
            from shoal.protections.microaggregation.squared_error import SquaredError

            partition = local_search(SquaredError(scaled, self.k, weights), partition, **common)
        if self.bound:
            from shoal.protections.microaggregation.proof import prove

            seconds = self.bound_seconds * share
            partition = prove(scaled, self.k, partition, seconds=seconds, threads=self.threads, progress=progress)
        return partition if units is None else merged_for_units(partition, scaled, self.k, units, weights)


def protected_names(table: Table, within: Sequence[str]) -> tuple[str, ...]:
    """The columns to protect: the quasi-identifiers, or every column without a role; never those of `within`."""
    check_within(table, within)
    names = tuple(name for name in table.quasi_columns(to_protect=True) if name not in within)
    if not names:
        raise UsageError("Every column to protect is named in --within, where it stays as it is: name another one.")
    for column, sources in table.roles.derived.items():
        for source in sources:
            if source not in (*names, *within, *table.roles.derived):
                raise UsageError(
                    f"--derived {column}={','.join(sources)}: the column {source!r} is not protected, so {column!r} "
                    f"cannot be protected with it. Name it in --quasi, or name {column!r} there."
                )
    return names


def squares_within(scaled: Floats, partition: KPartition, weights: Floats | None) -> float:
    """The search's objective, dimension by dimension: a large file needs no second matrix."""
    labels, mass = partition.labels, np.bincount(partition.labels, weights)
    sse = 0.0
    for j in range(scaled.shape[1]):
        column = np.ascontiguousarray(scaled[:, j])
        mean = np.bincount(labels, column if weights is None else weights * column) / mass
        squares = (column - mean[labels]) ** 2
        sse += float(squares.sum() if weights is None else (weights * squares).sum())
    return sse


def losses(made: Sequence[Replacement], objective: Loss | None) -> dict[str, float]:
    """The search's objective (of numbers alone: the loss of the values written), and the loss of all columns."""
    searched, *_ = parts = [list(part.losses.values()) for part in made]
    squares = objective or _total(searched)
    loss = _total([loss for part in parts for loss in part])
    return {"sse": squares.sse, "sst": squares.sst, "information_loss": loss.information_loss}


def _total(parts: Sequence[Loss]) -> Loss:
    return Loss(sum((loss.sse for loss in parts), 0.0), sum((loss.sst for loss in parts), 0.0))


def about_columns(
    table: Table, columns: MixedColumns, made: Sequence[Replacement], within: Sequence[str]
) -> dict[str, Any]:
    """What was protected: its columns where nobody named them, the loss of each, and what many labels cost."""
    per_column = {name: facts for part in made for name, facts in part.per_column.items()}
    for name, sources in table.roles.derived.items():
        per_column[name] = {**per_column[name], "derived_from": list(sources)}
    facts: dict[str, Any] = {"per_column": per_column}
    if not table.roles.quasi:
        facts["columns"] = list(columns.names)
    if within:
        facts["within"] = list(within)
    if columns.labels:
        facts["dimensions"] = columns.dimensions
    notice = cost_notice(columns)
    return facts if notice is None else {**facts, "notice": notice}


def about_units(partition: KPartition, units: Ints | None) -> dict[str, int]:
    """How many units there are, and in the group with the fewest."""
    if units is None:
        return {}
    fewest = int(units_per_group(partition.labels, units).min())
    return {"units": int(np.unique(units).size), "smallest_group_units": fewest}


def written(table: Table, made: Sequence[Replacement]) -> Any:
    """The protected frame: new numbers, and labels and dates of the type they had."""
    numbers = {name: values for part in made for name, values in part.numbers.items()}
    whole = tuple(name for part in made for name in part.whole)
    series = {name: values for part in made for name, values in part.series.items()}
    return with_series(table.protected(numbers, round_columns=whole), series)


def in_percent(facts: Mapping[str, Any], sst: float) -> dict[str, Any]:
    """How a partition was found, its bound and its stages' losses as information losses."""
    percent = 100.0 / sst if sst > 0 else 0.0
    told = dict(facts)
    if told.get("lower_bound") is not None:
        told["lower_bound"] *= percent
    if "stages" in told:
        losses = ("loss_before", "loss_after")
        told["stages"] = [
            {name: value * percent if name in losses else value for name, value in stage.items()}
            for stage in told["stages"]
        ]
    return told
