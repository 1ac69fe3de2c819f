"""`shoal.microaggregate`: a table in, groups of at least k records in the middle, a checked release out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.reading import as_table
from shoal.data.scaling import scale
from shoal.errors import ShoalWarning, UsageError, check_choice, check_k
from shoal.evolve.clock import Clock
from shoal.evolve.progress import Progress, silent
from shoal.measure.loss import information_loss
from shoal.partition.methods import method as method_named
from shoal.partition.partition import KPartition, total_squares
from shoal.protect.recorded import recorded
from shoal.release import Release

AGGREGATES = ("mean", "median")


@recorded("microaggregate")
def microaggregate(
    data: Any,
    k: int,
    *,
    method: str = "auto",
    quasi: Sequence[str] = (),
    aggregate: str = "mean",
    round: bool = False,
    scaling: str = "standard",
    refine: bool = False,
    bound: bool = False,
    bound_seconds: float = 60.0,
    missing: str = "error",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Release:
    """Replace the quasi-identifiers of each record by the mean of its group of at least k records.

    data: a Table, a frame or a file. quasi: the columns, where the table does not name them.
    aggregate: mean, or median. round: keep integer columns integers.
    scaling: standard, minmax or none, before distances are taken. missing: error, drop or median.
    refine: go on with local search from the method's groups. bound: certify how far from the optimum they can be,
    in at most bound_seconds. options: those of the method.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "income": [10, 12, 11, 30, 29, 33]})
    >>> microaggregate(frame, k=3).table["income"].to_list()
    [11.0, 11.0, 11.0, 30.666666666666668, 30.666666666666668, 30.666666666666668]
    """
    chosen = method_named(method)
    chosen.check_options(options)
    _ = chosen.function  # compiled or loaded now, before the clock starts
    check_choice("aggregate", aggregate, AGGREGATES)
    table = as_table(data, quasi=quasi)
    columns = table.quasi_columns()
    clock = Clock()
    table = table.with_missing(missing, columns)
    k = check_k(k, table.rows)
    if table.rows < 2 * k:
        warnings.warn(
            f"{table.rows} records are fewer than 2k = {2 * k}: all form a single group, and every record gets the "
            "same values; a smaller k would keep more",
            ShoalWarning,
            stacklevel=3,
        )
    values, weights = table.numbers(columns), table.weights()
    scaled, threads = scale(values, scaling, weights), threads or cores()
    partition = chosen(scaled, k, weights=weights, seed=seed, threads=threads, progress=progress, **options).check(k)
    if refine:
        from shoal.partition.refine import refine as local_search

        partition = local_search(scaled, k, partition, weights=weights, seed=seed, threads=threads, progress=progress)
    if bound:
        from shoal.partition.bounds import prove

        if weights is not None:
            raise UsageError("a bound cannot honour weights: leave out --bound or the weight")
        partition = prove(scaled, k, partition, seconds=bound_seconds, threads=threads, progress=progress)
    partition.check(k)
    protected = replaced(values, partition, aggregate, weights)
    whole = table.whole(columns) if round else ()
    for j in (columns.index(name) for name in whole):
        protected[:, j] = np.rint(protected[:, j])
    frame = table.protected({name: protected[:, j] for j, name in enumerate(columns)}, round_columns=whole)
    loss = information_loss(values, protected, weights)
    facts: dict[str, Any] = {
        "n": table.rows,
        "d": len(columns),
        "k": k,
        "method": method,
        "sse": loss.sse,
        "sst": loss.sst,
        "information_loss": loss.information_loss,
        "groups": partition.groups,
        "smallest_group": int(partition.sizes.min()),
        "largest_group": int(partition.sizes.max()),
        **in_percent(partition.facts, total_squares(scaled, weights)),
        **clock.read(),
    }
    return Release(
        original=table,
        table=frame,
        changed=tuple(columns),
        k=k,
        facts=facts,
        solution=partition,
        title="Microaggregation",
    )


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


def cores() -> int:
    """How many threads this process may run at once."""
    return len(os.sched_getaffinity(0))


def replaced(
    values: NDArray[np.float64], partition: KPartition, aggregate: str, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Each record's group's mean or median, in the values' own units; the same bits for all members."""
    if aggregate == "median":
        return partition.medians(values)[partition.labels]
    return partition.centroids(values, weights)[partition.labels]
