"""Leaves: the records of many files in parts of near records, each of which is searched by itself.

    a tree over a sample of the records, drawn by a hash of the row number, sends each record to a leaf
    route      a batch of files: its records, sorted by leaf, in one staged file with an index of the leaves
    search     a unit (a leaf, small leaves together, or a part of a large one): its records from every batch, in groups
    rounds: whole groups go to the leaves of another tree, and are searched across the borders of the leaves before
    collect    a batch of several small files: the new values of its records, in their order

Small files are routed together, so the work per leaf depends on the number of records and not on that of the files.

A staged record has its row number (`row`), and a number that all records of its group share (`group`). Everything
depends on the rows, their numbers and the seed: never on the workers, nor on how rows are split into files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Indices, Ints
from shoal.errors import InputError, UsageError
from shoal.folders.staging import Facts, LostFile, StagedOutput, Staging, read_staged, staged_file
from shoal.table.cell_hashes import GOLDEN, finalized

FEWEST = 20  # records of a leaf, in units of k
SAMPLE_PER_LEAF, SAMPLE_AT_LEAST, SAMPLE_AT_MOST = 1_000, 20_000, 400_000
LATER_SHARE = 0.5  # of the proposals per record, in a round
ROW, GROUP = "row", "group"
SOURCE = "source"  # the staged name of the number of the unit that a collected record comes from
BATCH_ROWS = 1_000_000  # records of small files that are routed together
Slices = tuple[tuple[int, int], ...]  # where the records of a unit or a file begin and end in each staged file


def check_leaf(leaf: int, k: int) -> int:
    """Return the number of records of a leaf, if it is large enough."""
    if leaf < FEWEST * k:
        raise UsageError(f"leaf must be at least {FEWEST} k = {FEWEST * k}, not {leaf}. Use a larger --leaf.")
    return leaf


# -- the sample and the tree ------------------------------------------------------------------------


def leaves_of(rows: int, leaf: int) -> int:
    """Return the number of leaves of so many records."""
    return max(1, round(rows / leaf))


def sample_limit(rows: int, leaves: int) -> int:
    """Return the number below which the hash of a row number is that of a row of the sample."""
    size = min(max(SAMPLE_AT_LEAST, SAMPLE_PER_LEAF * leaves), SAMPLE_AT_MOST)
    return min(2**64 - 1, int(2**64 * (size / rows))) if size < rows else 2**64 - 1


def is_drawn(rows: Ints, seed: int, limit: int) -> Bools:
    """Return which rows are in the sample."""
    return np.asarray(hashed(rows, seed) < np.uint64(limit))


def hashed(rows: Ints, seed: int) -> NDArray[np.uint64]:
    """Return a random 64-bit number for each row number (the finalizer of SplitMix64)."""
    x = rows.astype(np.uint64) + np.uint64(seed % 2**64)
    return finalized((x + np.uint64(1)) * GOLDEN)


@dataclass(frozen=True, eq=False)
class LeafTree(ABC):
    """A tree that divides records into leaves. Node i sends a record to `left[i]` or to `right[i]`.

    A negative number -1 - l stands for leaf l. Leaves whose numbers are neighbours are neighbours in the tree.
    """

    left: Indices
    right: Indices
    leaves: int

    @abstractmethod
    def goes_left(self, node: int, points: NDArray[Any], rows: Ints) -> Bools:
        """Return which of the rows a node sends to the left."""

    def leaf_of(self, points: NDArray[Any]) -> Indices:
        """Return the leaf of each point."""
        leaf = np.zeros(len(points), dtype=np.int32)
        if self.leaves == 1:
            return leaf
        stack: list[tuple[int, Ints]] = [(0, np.arange(len(points)))]
        while stack:
            node, rows = stack.pop()
            goes_left = self.goes_left(node, points, rows)
            for child, chosen in ((self.left[node], rows[goes_left]), (self.right[node], rows[~goes_left])):
                if child < 0:
                    leaf[chosen] = -1 - child
                elif chosen.size:
                    stack.append((int(child), chosen))
        return leaf


# -- units ------------------------------------------------------------------------------------------


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


def slices_of(units: Sequence[LeafUnit], facts: Sequence[Facts]) -> list[Slices]:
    """Return where each unit lies in the staged files, from the records of each leaf in each of them (`counts`)."""
    counts = np.array([f["counts"] for f in facts])
    ends = np.concatenate([np.zeros((len(facts), 1), dtype=np.int64), np.cumsum(counts, axis=1)], axis=1)
    return [tuple((int(e[u.first]), int(e[u.last + 1])) for e in ends) for u in units]


def routed(frame: pl.DataFrame, rows: Ints, group: Ints, leaf: Indices, leaves: int) -> tuple[pl.DataFrame, list[int]]:
    """Return the records of a file sorted by leaf, and the number in each leaf."""
    order = np.argsort(leaf, kind="stable")
    numbers = [pl.Series(ROW, rows[order]), pl.Series(GROUP, group[order])]
    return pl.DataFrame([*numbers, *frame[order].get_columns()]), np.bincount(leaf, minlength=leaves).tolist()


def gathered(unit: LeafUnit, bases: Sequence[Path], slices: Slices, seed: int, k: int) -> pl.DataFrame:
    """Return the records of a unit in the order of their numbers. A part of a leaf has none, or k or more."""
    read = [read_staged(base, rows=rows) for base, rows in zip(bases, slices, strict=True) if rows[1] > rows[0]]
    if unit.parts > 1:
        parts = [hashed(part[GROUP].to_numpy(), seed + 1) % np.uint64(unit.parts) for part in read]
        sizes = np.bincount(np.concatenate(parts).astype(np.int64), minlength=unit.parts)
        part_of = np.where(sizes < k, sizes.argmax(), np.arange(unit.parts))
        read = [
            part.filter(pl.Series(part_of[chosen.astype(np.int64)] == unit.part))
            for part, chosen in zip(read, parts, strict=True)
        ]
    return pl.concat(read).sort(ROW)


def first_members(labels: Ints) -> Ints:
    """Return the position of the first record of each group.

    >>> first_members(np.array([1, 0, 1, 0])).tolist()
    [1, 0]
    """
    first = np.zeros(int(labels.max()) + 1, dtype=np.int64)
    first[labels[::-1]] = np.arange(labels.size - 1, -1, -1)
    return first


def sorted_by_leaf(
    frame: pl.DataFrame, labels: Ints, leaf_of_group: Indices, leaves: int
) -> tuple[pl.DataFrame, list[int]]:
    """Return the records of a unit sorted by the next leaf of their group, and the number in each leaf."""
    rows, leaf = frame[ROW].to_numpy(), leaf_of_group[labels]
    first = rows[first_members(labels)][labels]  # rows are in order, so it has the lowest number
    ranked = np.lexsort((rows, first, leaf))
    return frame.with_columns(pl.Series(GROUP, first))[ranked], np.bincount(leaf, minlength=leaves).tolist()


# -- batches of files -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Files that are routed together, from `first` to `last`, and the row numbers at which they begin and end."""

    first: int
    last: int
    start: int
    stop: int

    @property
    def files(self) -> slice:
        return slice(self.first, self.last + 1)


def batches_of(counts: Sequence[int]) -> list[Batch]:
    """Return batches of neighbouring files with at most BATCH_ROWS records, from the records of each file.

    >>> [(b.first, b.last, b.start, b.stop) for b in batches_of([600_000, 300_000, 200_000, 1_500_000])]
    [(0, 1, 0, 900000), (2, 2, 900000, 1100000), (3, 3, 1100000, 2600000)]
    """
    made: list[Batch] = []
    start = 0
    for i, count in enumerate(counts):
        open_batch = made[-1] if made else None
        if open_batch is not None and start + count - open_batch.start <= BATCH_ROWS:
            made[-1] = Batch(open_batch.first, i, open_batch.start, start + count)
        else:
            made.append(Batch(i, i, start, start + count))
        start += count
    return made


@dataclass(frozen=True)
class CollectTask:
    """A batch of files whose new values are in slices of the staged files of the last round."""

    bases: tuple[Path, ...]
    slices: Slices
    start: int
    rows: int


def collect(task: CollectTask, output: StagedOutput) -> Facts:
    """Stage the new values of the records of a batch in their order, with the unit that each comes from."""
    parts = [
        read_staged(base, rows=rows).with_columns(pl.lit(number, dtype=pl.Int32).alias(SOURCE))
        for number, (base, rows) in enumerate(zip(task.bases, task.slices, strict=True))
        if rows[1] > rows[0]
    ]
    whole = pl.concat(parts, how="vertical_relaxed").sort(ROW)
    numbers = np.arange(task.start, task.start + task.rows)
    if not np.array_equal(whole[ROW].to_numpy(), numbers):
        raise InputError(
            "The staged files lack the new values of some records. Delete the staging folder and run again."
        )
    output.write(whole)
    return {}


@dataclass(frozen=True)
class Placed:
    """Where the new values of each file are: the staged files, and the slices of each file."""

    bases: tuple[Path, ...]
    batches: tuple[Batch, ...]
    ends: Ints
    counts: tuple[int, ...]
    is_collected: bool

    def of_file(self, number: int) -> tuple[tuple[Path, ...], Slices]:
        """Return the staged files and the slices of a file."""
        place = next(i for i, batch in enumerate(self.batches) if batch.first <= number <= batch.last)
        if not self.is_collected:
            return self.bases, slices_of_file(self.ends, place)
        start = sum(self.counts[self.batches[place].first : number])
        return (self.bases[place],), ((start, start + self.counts[number]),)


def placed(staging: Staging, stage: str, facts: Sequence[Facts], counts: Sequence[int]) -> Placed:
    """Return where the new values of each file are; those of several small files are collected first.

    facts: what the last searches returned, with the `ends_of_files` of the batches in each of their staged files.
    """
    batches, bases = tuple(batches_of(counts)), tuple(staging.bases(stage))
    ends = np.array([f["ends"] for f in facts])
    if len(batches) == len(counts):
        return Placed(bases, batches, ends, tuple(counts), False)
    tasks = [
        CollectTask(bases, slices_of_file(ends, i), batch.start, batch.stop - batch.start)
        for i, batch in enumerate(batches)
    ]
    staging.run("collect", collect, tasks)
    staging.drop(stage)
    return Placed(tuple(staging.bases("collect")), batches, ends, tuple(counts), True)


# -- new values -------------------------------------------------------------------------------------


def ends_of_files(rows: Ints, first: Sequence[int], total: int) -> list[int]:
    """Return where the records of each file end among sorted row numbers; `first` has the first number of each."""
    return [int(end) for end in np.searchsorted(rows, [*first[1:], total])]


def slices_of_file(ends: Ints, number: int) -> Slices:
    """Return where the records of a file are in each staged file, from the `ends_of_files` of each."""
    starts = ends[:, number - 1].tolist() if number else [0] * len(ends)
    return tuple(zip(starts, ends[:, number].tolist(), strict=True))


def new_values(
    bases: Sequence[Path],
    slices: Slices,
    first: int,
    rows: int,
    columns: Callable[[int | Ints, pl.DataFrame], Sequence[NDArray[Any]]],
) -> list[NDArray[Any]]:
    """Return the new values of the records `first` to `first + rows - 1`, which are in these slices of staged files.

    columns: returns the new columns of a part, from the number of the unit it comes from, or of each of its records,
    and the part.
    """
    values: list[NDArray[Any]] = []
    filled: Indices = np.zeros(rows, dtype=np.int32)
    for number, (base, (start, stop)) in enumerate(zip(bases, slices, strict=True)):
        if stop == start:
            continue
        part = read_staged(base, rows=(start, stop))
        place = part[ROW].to_numpy() - first
        if place[0] < 0 or place[-1] >= rows:
            raise LostFile(str(staged_file(base)))
        filled[place] += 1
        made = columns(part[SOURCE].to_numpy() if SOURCE in part.columns else number, part)
        values = values or [np.zeros(rows, dtype=new.dtype) for new in made]
        for whole, new in zip(values, made, strict=True):
            whole[place] = new
    if not (filled == 1).all():
        raise InputError(
            f"The record {first + int((filled != 1).argmax()) + 1} has no new values in the staged files. Delete the "
            "staging folder and run again."
        )
    return values
