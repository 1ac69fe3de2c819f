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
from numpy.typing import NDArray

from shoal.arrays import Floats, Indices, Ints
from shoal.engine.control import Control
from shoal.engine.partition.chains import HOT
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.blocks import blocks
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.engine.partition.space import random_state_of, without_oversized
from shoal.engine.warming import prepare_node
from shoal.errors import InputError
from shoal.folders.columns import same_columns
from shoal.folders.leaves import (
    GROUP,
    LATER_SHARE,
    ROW,
    LeafUnit,
    Slices,
    ends_of_files,
    gathered,
    is_drawn,
    routed,
    sorted_by_leaf,
)
from shoal.folders.staging import Facts, StagedOutput, read_staged
from shoal.notices import notice
from shoal.protections import generic_kernels
from shoal.protections.microaggregation.leaves.labels import staged_values
from shoal.protections.microaggregation.leaves.numbers import (
    Indicators,
    Scaling,
    decimals,
    group_means,
    scaled,
    weighted_means,
    whole_sum,
    whole_sums,
    width_of,
)
from shoal.protections.microaggregation.leaves.tree import Tree
from shoal.protections.microaggregation.replacement import lower_medians, modes
from shoal.protections.microaggregation.squared_error import SquaredError
from shoal.protections.units import (
    UNIT,
    check_leaf_units,
    hashed_units,
    merged_for_units,
    staged_units,
    units_per_group,
)
from shoal.protections.values import check_types, warn_of_identifiers
from shoal.sources.files import checksum
from shoal.sources.scanning import Files
from shoal.table.kinds import kinds_of, labels_of
from shoal.table.mixed import doubtful_codes
from shoal.table.roles import Roles
from shoal.table.table import Table

MEASURED = ("number", "date")
WEIGHT = "weight"  # the staged name of the weights
LATER_HOT = 0.12  # first temperature of a round: the groups are good already, but for the borders


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
    for why, columns in doubtful_codes(table, [n for n in names if kinds[n] == "number"]).items():
        listed = ",".join(columns)
        notice(
            f"{why} may be codes, but Shoal averages them as numbers: {', '.join(columns)}. Use --nominal {listed} if "
            f"they are codes, --numeric {listed} if they are quantities."
        )
    return {
        "columns": table.columns,
        "roles": table.roles.as_dict(),
        "names": list(names),
        "kinds": [kinds[name] for name in names],
        "is_text": table.source is not None and table.source.dialect is not None,
    }


@dataclass(frozen=True)
class ReadTask:
    """A file to read. columns, kinds: those of the first file, which every file must have."""

    files: Files
    path: Path
    columns: tuple[str, ...]
    roles: Roles
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    k: int


def read(task: ReadTask, output: StagedOutput) -> Facts:
    """Stage the numbers and codes of a file, and return its rows, its checksum, and the range of each column."""
    sha256 = checksum(task.path)
    table = same_columns(task.files.read(task.path, Roles()), task)
    columns: dict[str, Any] = {}
    facts: dict[str, list[Any]] = {name: [] for name in ("lowest", "highest", "whole", "integers", "digits")}
    try:
        kinds = _same_kinds(table, task)
        check_types(table, task.names, "microaggregate", needs="means")
        table = table.with_missing("error", task.names, kinds)
        weights, units = table.weights(), hashed_units(table)
        for j, (name, kind) in enumerate(kinds.items()):
            whole, digits = False, None
            if kind in MEASURED:
                values = table[name].days if kind == "date" else table.numbers([name], allow_constant=True)[:, 0]
                columns[column(j)] = values = values + 0.0
                whole = kind == "number" and name in table.whole([name])
                digits = decimals(values, task.k)
            else:
                labels = labels_of(table, name, kind)
                columns[column(j)] = labels.codes
                values = labels.codes.astype(np.float64)
                output.write(staged_values(table, labels), label_suffix(j))
            facts["lowest"].append(float(values.min()))
            facts["highest"].append(float(values.max()))
            facts["whole"].append(whole)
            facts["integers"].append(table[name].series.dtype.is_integer())
            facts["digits"].append(digits)
    except InputError as error:
        raise InputError(f"{task.path.name}: {error}") from None
    if weights is not None:
        columns[WEIGHT] = weights
    if units is not None:
        columns[UNIT] = units
    output.write(pl.DataFrame(columns))
    largest = 1.0 if weights is None else float(weights.max())
    return {"rows": table.rows, "sha256": sha256, "largest_weight": largest, **facts}


def label_suffix(j: int) -> str:
    """Return the suffix of the staged file with the values of column j."""
    return f"-{column(j)}"


KIND_IN_WORDS = {"number": "numbers", "date": "dates", "ordinal": "ordered labels", "nominal": "labels"}


def _same_kinds(table: Table, task: ReadTask) -> dict[str, str]:
    """Return the kind of each column; raise an error if it is not that of the first file."""
    kinds = kinds_of(table, task.names)
    for wanted, (name, kind) in zip(task.kinds, kinds.items(), strict=True):
        if kind != wanted:
            raise InputError(
                f"the column {name!r} holds {KIND_IN_WORDS[kind]}, but {KIND_IN_WORDS[wanted]} in "
                f"{task.files.names[0]}. A column needs the same kind of values in all files: correct the file, or "
                f"use --nominal {name} if the values are labels in every file."
            )
    return kinds


@dataclass(frozen=True)
class StagedFile:
    """The staged numbers and codes of a file.

    Attributes:
        base: The staged file.
        first: The row number of its first record.
        maps: For each column of labels, the common code of each of the codes of the file.
    """

    base: Path
    first: int
    maps: tuple[Indices | None, ...]

    def frame(self) -> pl.DataFrame:
        """Return the numbers and the common codes."""
        frame = read_staged(self.base)
        new = {column(j): codes[frame[column(j)].to_numpy()] for j, codes in enumerate(self.maps) if codes is not None}
        return frame.with_columns(pl.Series(name, values) for name, values in new.items())


@dataclass(frozen=True)
class MeasureTask:
    """What is to be measured of a file, and which of its rows are in the sample.

    Attributes:
        scales: The range of each column of numbers, dates or ranks; the number of values of each nominal column.
        largest: The largest weight of all files.
    """

    file: StagedFile
    scales: tuple[Scaling, ...]
    largest: float
    seed: int
    limit: int


def measure(task: MeasureTask, output: StagedOutput) -> Facts:
    """Return sums and sums of squares of the values in the range 0 to 1, and stage a sample."""
    frame = task.file.frame()
    weights = frame[WEIGHT].to_numpy() / task.largest if WEIGHT in frame.columns else None
    totals, squares, masses = [], [], []
    for j, scale in enumerate(task.scales):
        values = frame[column(j)].to_numpy()
        if isinstance(scale, Indicators):
            counts = np.bincount(values, minlength=scale.count).tolist()
            masses.append(counts if weights is None else whole_sums(values, weights, scale.count))
            totals.append(0)
            squares.append(0)
            continue
        unit = scale.to_unit(values)
        totals.append(whole_sum(unit if weights is None else weights * unit))
        squares.append(whole_sum(unit * unit if weights is None else weights * unit * unit))
        masses.append([])
    rows = np.arange(task.file.first, task.file.first + frame.height)
    output.write(frame.filter(pl.Series(is_drawn(rows, task.seed, task.limit))))
    mass = None if weights is None else whole_sum(weights)
    return {"totals": totals, "squares": squares, "masses": masses, "mass": mass}


@dataclass(frozen=True)
class RouteTask:
    """The numbers and codes of a batch of files, and the tree."""

    files: tuple[StagedFile, ...]
    scales: tuple[Scaling, ...]
    tree: Tree


def route(task: RouteTask, output: StagedOutput) -> Facts:
    """Stage the records of the files sorted by leaf, and return the number in each leaf."""
    frame = pl.concat([file.frame() for file in task.files])
    leaf = task.tree.leaf_of(scaled([frame[column(j)].to_numpy() for j in range(len(task.scales))], task.scales))
    first = task.files[0].first
    rows = np.arange(first, first + frame.height)
    ranked, counts = routed(frame, rows, rows, leaf, task.tree.leaves)
    output.write(ranked)
    return {"counts": counts}


# -- leaves -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Columns:
    """The protected columns as the search sees them.

    Attributes:
        kinds: The kind of each.
        scales: The scaling of each.
        digits: The decimals of each column of numbers, or None.
        whole: Whether the new values are rounded.
        masses: For each nominal column, the records of each code in all files, or their weight.
        aggregate: mean or median.
    """

    kinds: tuple[str, ...]
    scales: tuple[Scaling, ...]
    digits: tuple[int | None, ...]
    whole: tuple[bool, ...]
    masses: tuple[Floats | None, ...]
    aggregate: str = "mean"


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
        rows: The number of records of all files, on which the work per record depends.
        files: The row number of the first record of each batch of files, by which the new values are found again.
    """

    unit: LeafUnit
    number: int
    bases: tuple[Path, ...]
    slices: Slices
    turn: int
    columns: Columns
    tree: Tree | None
    k: int
    rows: int
    effort: str
    seed: int
    files: tuple[int, ...]


def search(task: SearchTask, output: StagedOutput) -> Facts:
    """Search the groups of a unit; stage its records by the next tree, or, after the last round, the new values."""
    prepare_node(generic_kernels)
    started = time.process_time()
    frame, scales = gathered(task.unit, task.bases, task.slices, task.seed, task.k), task.columns.scales
    rows, group = (frame[name].to_numpy() for name in (ROW, GROUP))
    values = [frame[column(j)].to_numpy() for j in range(len(scales))]
    weights = frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None
    points = scaled(values, scales)
    if len(rows) < task.k:
        raise InputError(f"A leaf has only {len(rows)} records. Use a larger --leaf.")
    partition = _grouped(task, points, weights, group).check(task.k)
    units = staged_units(frame[UNIT].to_numpy()) if UNIT in frame.columns else None
    if units is not None and task.tree is None:  # after the last round, so that no later round breaks the groups
        check_leaf_units(len(rows), units, task.k)
        partition = merged_for_units(partition, points, task.k, units, weights)
    centroids = partition.centroids(points, weights)
    facts: Facts = {
        "records": len(rows),
        "groups": partition.groups,
        "smallest": int(partition.sizes.min()),
        "largest": int(partition.sizes.max()),
        "within": _by_column(np.square(points - centroids[partition.labels]), scales, weights),
        "total": _by_column(np.square(points), scales, weights),
    }
    if task.tree is None:
        new = _new_values(task.columns, values, weights, partition)
        staged = {column(j): made[partition.labels] for j, made in enumerate(new)}
        output.write(pl.DataFrame({ROW: rows, **staged}))
        ends = ends_of_files(rows, task.files, task.rows)
        facts |= {"ends": ends, "used": [sorted(set(made.tolist())) if made.dtype.kind == "i" else [] for made in new]}
        facts |= lost_by_column(task.columns, values, new, partition.labels, weights)
        if units is not None:
            facts["smallest_units"] = int(units_per_group(partition.labels, units).min())
        return {**facts, "cpu_seconds": time.process_time() - started}
    next_leaf = task.tree.leaf_of(centroids)
    ranked, counts = sorted_by_leaf(frame, partition.labels, next_leaf, task.tree.leaves)
    output.write(ranked)
    return {**facts, "counts": counts, "cpu_seconds": time.process_time() - started}


def _by_column(squares: Floats, scales: Sequence[Scaling], weights: Floats | None) -> list[float]:
    """Return the sums of squares of the dimensions of each column."""
    sums = (squares if weights is None else weights[:, None] * squares).sum(axis=0)
    starts = np.cumsum([0, *(width_of([scale]) for scale in scales[:-1])])
    return [float(x) for x in np.add.reduceat(sums, starts)]


def _new_values(
    columns: Columns, values: Sequence[NDArray[Any]], weights: Floats | None, partition: KPartition
) -> list[NDArray[Any]]:
    """Return the new value of each group in each column: a number, a day, or a code."""
    labels, sizes = partition.labels, partition.sizes
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    new: list[NDArray[Any]] = []
    for j, (kind, old) in enumerate(zip(columns.kinds, values, strict=True)):
        if kind == "nominal":
            overall = columns.masses[j]
            assert overall is not None
            new.append(modes(labels, old, overall.size, weights, overall))
            continue
        if kind == "ordinal":
            new.append(lower_medians(labels, old, int(old.max()) + 1, weights))
            continue
        if columns.aggregate == "median":
            made = partition.medians(old[:, None])[:, 0] + 0.0
        elif weights is not None:
            made = weighted_means(old, weights, labels, starts, sizes)
        else:
            made = group_means(old, order, starts, sizes, columns.digits[j])
        new.append(np.rint(made) + 0.0 if kind == "date" or columns.whole[j] else made)
    return new


def lost_by_column(
    columns: Columns, values: Sequence[Any], new: Sequence[Any], labels: Ints, weights: Floats | None
) -> Facts:
    """Return what each column lost: squared differences of scaled values, or the weight of the changed labels.

    Also the number of records with another label or rank, and with one more than a rank away.
    """
    lost, moved, far = [], [], []
    for old, made, scale, kind in zip(values, new, columns.scales, columns.kinds, strict=True):
        apart = np.abs(old - made[labels])
        if isinstance(scale, Indicators):
            squares = (apart > 0).astype(np.float64)
        else:
            squares = (apart / scale.width * scale.factor) ** 2
        lost.append(float(squares.sum() if weights is None else (weights * squares).sum()))
        moved.append(0 if kind in MEASURED else int((apart > 0).sum()))
        far.append(int((apart > 1).sum()) if kind == "ordinal" else 0)
    return {"lost": lost, "moved": moved, "far": far}


def _grouped(task: SearchTask, points: Floats, weights: Floats | None, group: Ints) -> KPartition:
    """Return the groups of the records of a unit."""
    n = len(points)
    if n < 2 * task.k:
        return KPartition(np.zeros(n, dtype=np.int64))
    loss = LeafError(points, task.k, weights, task.rows, LATER_SHARE if task.turn else 1.0)
    settings = SearchSettings(random_state_of(task.seed, task.turn, task.number) >> 1, task.effort)
    control = Control(threads=1)
    if task.turn == 0:
        return control.call(lambda: blocks(loss, control, settings))
    labels = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    start = without_oversized(loss, KPartition(labels))
    return control.call(lambda: blocks(loss, control, settings, start, min(HOT, LATER_HOT)))


class LeafError(SquaredError):
    """The squared error of the records of a leaf: the work per record is a share of that of the whole table."""

    def __init__(self, values: Floats, k: int, weights: Floats | None, rows: int, share: float) -> None:
        super().__init__(values, k, weights)
        self._rows, self._share = max(rows, len(values)), share

    def large_proposals(self, effort: str) -> int:
        from shoal.protections.microaggregation.effort import large_proposals

        return max(1, int(self._share * (large_proposals(self._rows, effort) // self._rows))) * self.n
