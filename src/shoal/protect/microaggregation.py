"""`shoal.microaggregate`: a table in, groups of at least k records in the middle, a checked release out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.reading import as_table
from shoal.data.scaling import scale
from shoal.errors import ShoalWarning, check_choice, check_k
from shoal.evolve.clock import Clock
from shoal.evolve.progress import Progress, silent
from shoal.measure.loss import information_loss
from shoal.partition.methods import method as method_named
from shoal.partition.partition import KPartition
from shoal.release import Release

AGGREGATES = ("mean", "median")


def microaggregate(
    data: Any,
    k: int,
    *,
    method: str = "auto",
    quasi: Sequence[str] = (),
    aggregate: str = "mean",
    round: bool = False,
    scaling: str = "standard",
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
    options: those of the method.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [23, 25, 31, 60, 62, 65], "income": [10, 12, 11, 30, 29, 33]})
    >>> microaggregate(frame, k=3).table["income"].to_list()
    [11.0, 11.0, 11.0, 30.666666666666668, 30.666666666666668, 30.666666666666668]
    """
    chosen = method_named(method)
    chosen.check_options(options)
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
            stacklevel=2,
        )
    values, weights = table.numbers(columns), table.weights()
    partition = chosen(
        scale(values, scaling, weights),
        k,
        weights=weights,
        seed=seed,
        threads=threads or cores(),
        progress=progress,
        **options,
    ).check(k)
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
        **partition.facts,
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
