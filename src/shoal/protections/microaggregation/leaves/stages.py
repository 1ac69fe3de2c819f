"""The work of one unit of each stage, on a worker: arrays come from staged files and go to staged files.

    look       the first file: its columns, roles and kinds
    read       a file: the numbers of the protected columns, their range and type
    measure    a file: sums for the scaling, and a sample of rows by a hash of the row number
    route      a file: its records, sorted by leaf
    search     a leaf: its records from every file, in groups, sorted by the leaf of the next tree

A staged record has its row number, the row number of the first record of its group, and its values.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import Control
from shoal.engine.partition.chains import HOT
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.blocks import blocks
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.engine.partition.space import random_state_of, without_oversized
from shoal.errors import InputError, UsageError
from shoal.folders.staging import Facts, LostFile, StagedOutput, read_staged, staged_file
from shoal.protections.microaggregation.leaves.numbers import Scale, decimals, group_means, hashed, scaled, whole_sum
from shoal.protections.microaggregation.leaves.tree import Tree
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.values import check_types, warn_of_identifiers
from shoal.sources.files import checksum
from shoal.sources.scanning import Files
from shoal.table.kinds import kinds_of
from shoal.table.mixed import doubtful_codes
from shoal.table.roles import Roles
from shoal.table.table import Table

LATER_HOT = 0.12  # first temperature of a round: the groups are good already, but for the borders


LATER_SHARE = 0.5  # of the proposals per record, in a round


def column(j: int) -> str:
    """Return the staged name of protected column j."""
    return f"x{j}"


# -- files ------------------------------------------------------------------------------------------


def look(task: tuple[Files, tuple[str, ...]], output: StagedOutput) -> Facts:
    """Return the columns, the resolved roles and the protected columns of the first file."""
    files, quasi = task
    table = files.read(files.paths[0])
    roles = replace(table.roles, quasi=quasi) if quasi else table.roles
    table = table.with_roles(roles)
    names = table.quasi_columns(to_protect=True)
    check_types(table, names, "microaggregate", needs="means")
    warn_of_identifiers(table, table.roles.quasi)
    kinds = kinds_of(table, names)
    labels = [name for name in names if kinds[name] != "number"]
    if labels:
        what = "dates" if kinds[labels[0]] == "date" else "labels"
        raise UsageError(
            f"The column {labels[0]!r} holds {what}. In a folder of files, microaggregate protects numbers. Name the "
            f"columns of numbers with --quasi, and give {labels[0]!r} another role, or protect one file."
        )
    for why, columns in doubtful_codes(table, [n for n in names if n not in table.roles.numeric]).items():
        from shoal.notices import notice

        notice(f"{why} may be codes, but Shoal averages them as numbers: {', '.join(columns)}.")
    return {"columns": table.columns, "roles": table.roles.as_dict(), "names": list(names)}


@dataclass(frozen=True)
class ReadTask:
    """A file to read. columns: those of the first file, which every file must have."""

    files: Files
    path: Path
    columns: tuple[str, ...]
    roles: Roles
    names: tuple[str, ...]
    k: int


def read(task: ReadTask, output: StagedOutput) -> Facts:
    """Stage the numbers of a file, and return its rows, its checksum, and the range and type of each column."""
    sha256 = checksum(task.path)
    table = same_columns(task.files.read(task.path, Roles()), task)
    kinds = kinds_of(table, task.names)
    for name, kind in kinds.items():
        if kind != "number":
            raise InputError(
                f"{task.path.name}: the column {name!r} holds numbers in {task.files.names[0]}, but not in this file. "
                "All files of a table need the same columns."
            )
    try:
        table = table.with_missing("error", task.names, kinds)
        values = table.numbers(task.names, allow_constant=True) + 0.0
    except InputError as error:
        raise InputError(f"{task.path.name}: {error}") from None
    output.write(pl.DataFrame({column(j): values[:, j] for j in range(values.shape[1])}))
    whole = table.whole(task.names)
    series = [table[name].series for name in task.names]
    return {
        "rows": table.rows,
        "sha256": sha256,
        "lowest": values.min(axis=0).tolist(),
        "highest": values.max(axis=0).tolist(),
        "whole": [name in whole for name in task.names],
        "integers": [s.dtype.is_integer() for s in series],
        "digits": [decimals(values[:, j], task.k) for j in range(values.shape[1])],
    }


def same_columns(table: Table, task: ReadTask) -> Table:
    """Return the table with the roles of the run; raise an error if its columns are not those of the first file."""
    if tuple(table.columns) != task.columns:
        extra = [name for name in table.columns if name not in task.columns]
        absent = [name for name in task.columns if name not in table.columns]
        parts = [f"{what} {', '.join(map(repr, some))}" for what, some in (("has", extra), ("lacks", absent)) if some]
        how = " and ".join(parts) or "has the columns in another order"
        raise InputError(
            f"{task.path.name} {how}, unlike {task.files.names[0]}. All files of a table need the same columns in the "
            "same order: correct the file, or leave it out."
        )
    return table.with_roles(task.roles)


@dataclass(frozen=True)
class MeasureTask:
    """The numbers of a file, the row number of its first record, and which rows are in the sample."""

    base: Path
    first: int
    scales: tuple[Scale, ...]
    seed: int
    below: int


def measure(task: MeasureTask, output: StagedOutput) -> Facts:
    """Return sums and sums of squares of the values in the range 0 to 1, and stage a sample."""
    frame = read_staged(task.base)
    totals, squares = [], []
    for j, scale in enumerate(task.scales):
        unit = scale.to_unit(frame[column(j)].to_numpy())
        totals.append(whole_sum(unit))
        squares.append(whole_sum(unit * unit))
    rows = np.arange(task.first, task.first + frame.height)
    output.write(frame.filter(pl.Series(hashed(rows, task.seed) < np.uint64(task.below))))
    return {"totals": totals, "squares": squares}


@dataclass(frozen=True)
class RouteTask:
    """The numbers of a file, the row number of its first record, and the tree."""

    base: Path
    first: int
    scales: tuple[Scale, ...]
    tree: Tree


def route(task: RouteTask, output: StagedOutput) -> Facts:
    """Stage the records of a file sorted by leaf, and return the number in each leaf."""
    frame = read_staged(task.base)
    values = [frame[column(j)].to_numpy() for j in range(len(task.scales))]
    leaf = task.tree.leaf_of(scaled(values, task.scales))
    order = np.argsort(leaf, kind="stable")
    rows = np.arange(task.first, task.first + frame.height)[order]
    output.write(pl.DataFrame({"row": rows, "group": rows, **{column(j): v[order] for j, v in enumerate(values)}}))
    return {"counts": np.bincount(leaf, minlength=task.tree.leaves).tolist()}


# -- leaves -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeafUnit:
    """A run of leaves that are searched together, or one of `parts` parts of it, by a hash of the group."""

    first: int
    last: int
    part: int = 0
    parts: int = 1


def units_of(counts: Sequence[int], leaf: int) -> list[LeafUnit]:
    """Return units of about `leaf` records: small leaves join their neighbours, and large ones are divided.

    >>> [(u.first, u.last, u.parts) for u in units_of([100, 10, 90, 300], 100)]
    [(0, 0, 1), (1, 2, 1), (3, 3, 3), (3, 3, 3), (3, 3, 3)]
    """
    runs: list[list[int]] = []  # first leaf, last leaf, records
    open_run = False
    for i, count in enumerate(counts):
        if open_run:
            runs[-1][1], runs[-1][2] = i, runs[-1][2] + count
        else:
            runs.append([i, i, count])
        open_run = 2 * runs[-1][2] < leaf
    if open_run and len(runs) > 1:
        _, last, records = runs.pop()
        runs[-1][1], runs[-1][2] = last, runs[-1][2] + records
    units = []
    for first, last, records in runs:
        parts = 1 if 2 * records <= 3 * leaf else round(records / leaf)
        units += [LeafUnit(first, last, part, parts) for part in range(parts)]
    return units


@dataclass(frozen=True)
class SearchTask:
    """A unit to search.

    Attributes:
        unit: Its leaves.
        number: The number of the unit, on which the random numbers depend.
        bases: The staged files that hold its records.
        slices: Where its records begin and end in each of these files.
        turn: 0 for the first search, from 1 on for the rounds.
        tree: The tree of the next round; None in the last one, whose new values are staged.
        digits: The decimals of each column, or None.
        rows: The number of records of all files, on which the work per record depends.
        files: The row number of the first record of each file, by which the new values are found again.
    """

    unit: LeafUnit
    number: int
    bases: tuple[Path, ...]
    slices: tuple[tuple[int, int], ...]
    turn: int
    scales: tuple[Scale, ...]
    tree: Tree | None
    digits: tuple[int | None, ...]
    whole: tuple[bool, ...]
    k: int
    rows: int
    effort: str
    seed: int
    files: tuple[int, ...]


def search(task: SearchTask, output: StagedOutput) -> Facts:
    """Search the groups of a unit; stage its records by the next tree, or, after the last round, the new values."""
    started = time.process_time()
    frame = _gathered(task)
    rows, group = (frame[name].to_numpy() for name in ("row", "group"))
    values = [frame[column(j)].to_numpy() for j in range(len(task.scales))]
    points = scaled(values, task.scales)
    if len(rows) < task.k:
        raise InputError(f"A leaf has only {len(rows)} records. Use a larger --leaf.")
    partition = _grouped(task, points, group).check(task.k)
    order = np.argsort(partition.labels, kind="stable")
    sizes = partition.sizes
    starts = np.cumsum(sizes) - sizes
    means = [group_means(v, order, starts, sizes, d) for v, d in zip(values, task.digits, strict=True)]
    centroids = scaled(means, task.scales)
    within = ((points - centroids[partition.labels]) ** 2).sum(axis=0)
    facts: Facts = {
        "records": len(rows),
        "groups": partition.groups,
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "within": within.tolist(),
        "total": (points**2).sum(axis=0).tolist(),
    }
    if task.tree is None:
        new = [np.rint(m) + 0.0 if w else m for m, w in zip(means, task.whole, strict=True)]
        staged = pl.DataFrame({"row": rows, **{column(j): m[partition.labels] for j, m in enumerate(new)}})
        lost = sum_of_squares(values, new, partition.labels, task.scales)
        output.write(staged)
        ends = np.searchsorted(rows, [*task.files[1:], task.rows]).tolist()
        return {**facts, "ends": ends, "lost": lost, "cpu_seconds": time.process_time() - started}
    leaf = task.tree.leaf_of(centroids)[partition.labels]
    first = rows[order[starts]][partition.labels]  # rows are in order, so the first member has the lowest number
    ranked = np.lexsort((rows, first, leaf))
    output.write(
        pl.DataFrame(
            {"row": rows[ranked], "group": first[ranked], **{column(j): v[ranked] for j, v in enumerate(values)}}
        )
    )
    counts = np.bincount(leaf, minlength=task.tree.leaves).tolist()
    return {**facts, "counts": counts, "cpu_seconds": time.process_time() - started}


def sum_of_squares(values: Sequence[Any], new: Sequence[Floats], labels: Ints, scales: Sequence[Scale]) -> list[float]:
    """Return the squared differences of the released values, scaled, by column."""
    return [
        float((((v - m[labels]) / s.width * s.factor) ** 2).sum()) for v, m, s in zip(values, new, scales, strict=True)
    ]


def _gathered(task: SearchTask) -> pl.DataFrame:
    """Return the records of the unit in the order of their numbers."""
    parts = []
    for base, (start, stop) in zip(task.bases, task.slices, strict=True):
        if stop > start:
            part = read_staged(base, rows=(start, stop))
            if task.unit.parts > 1:
                chosen = hashed(part["group"].to_numpy(), task.seed + 1) % np.uint64(task.unit.parts)
                part = part.filter(pl.Series(chosen == np.uint64(task.unit.part)))
            parts.append(part)
    return pl.concat(parts).sort("row")


def _grouped(task: SearchTask, points: Floats, group: Ints) -> KPartition:
    """Return the groups of the records of a unit."""
    n = len(points)
    if n < 2 * task.k:
        return KPartition(np.zeros(n, dtype=np.int64))
    loss = LeafError(points, task.k, task.rows, LATER_SHARE if task.turn else 1.0)
    settings = SearchSettings(random_state_of(task.seed, task.turn, task.number) >> 1, task.effort)
    control = Control(threads=1)
    if task.turn == 0:
        return control.call(lambda: blocks(loss, control, settings))
    labels = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    start = without_oversized(loss, KPartition(labels))
    return control.call(lambda: blocks(loss, control, settings, start, min(HOT, LATER_HOT)))


class LeafError(SquaredError):
    """The squared error of the records of a leaf: the work per record is a share of that of the whole table."""

    def __init__(self, values: Floats, k: int, rows: int, share: float) -> None:
        super().__init__(values, k)
        self._rows, self._share = max(rows, len(values)), share

    def large_proposals(self, effort: str) -> int:
        from shoal.protections.microaggregation.effort import large_proposals

        return max(1, int(self._share * (large_proposals(self._rows, effort) // self._rows))) * self.n


# -- new values -------------------------------------------------------------------------------------


def new_values(
    bases: Sequence[Path], slices: Sequence[tuple[int, int]], first: int, rows: int, width: int
) -> list[Floats]:
    """Return the new values of the records `first` to `first + rows - 1`, which are in these slices of staged files."""
    values = [np.empty(rows) for _ in range(width)]
    filled: Indices = np.zeros(rows, dtype=np.int32)
    for base, (start, stop) in zip(bases, slices, strict=True):
        if stop == start:
            continue
        part = read_staged(base, rows=(start, stop))
        place = part["row"].to_numpy() - first
        if place[0] < 0 or place[-1] >= rows:
            raise LostFile(str(staged_file(base)))
        filled[place] += 1
        for j in range(width):
            values[j][place] = part[column(j)].to_numpy()
    if not (filled == 1).all():
        raise InputError(
            f"The record {first + int((filled != 1).argmax()) + 1} has no new values in the staged files. Delete the "
            "staging folder and run again."
        )
    return values
