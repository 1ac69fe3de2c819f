"""The work of one unit of each stage, on a worker: arrays come from staged files and go to staged files.

    read       a file: its cells (`shoal.protections.tuples`)
    values     a column: its distinct values in all files (`domains`)
    code       a file: the codes of its cells, and a sample of its records
    route      a file: its records, sorted by leaf
    search     a leaf: its records from every file, in groups, sorted by the leaf of the next tree
    label      a column: the text of what each group covers

A staged record has its row number, a number that all records of its group share, and its codes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.engine.partition.search.prepared import SearchSettings
from shoal.engine.partition.space import random_state_of
from shoal.engine.warming import prepare_node
from shoal.errors import InputError
from shoal.folders.leaves import (
    GROUP,
    LATER_SHARE,
    ROW,
    LeafUnit,
    Slices,
    ends_of_files,
    first_members,
    gathered,
    hashed,
    is_drawn,
    routed,
    sorted_by_leaf,
)
from shoal.folders.staging import Facts, StagedOutput, read_staged
from shoal.protections import generic_kernels
from shoal.protections.class_rules import Rules, group_rules
from shoal.protections.recoding.columns import OrderedColumn, RecodedColumn
from shoal.protections.recoding.leaves.domains import Domains
from shoal.protections.recoding.leaves.tree import CutTree
from shoal.protections.recoding.methods.search import improve
from shoal.protections.recoding.methods.search import search as search_groups
from shoal.protections.recoding.protect import RecordGroups, diversity, group_means
from shoal.protections.recoding.task import RecodingTask
from shoal.protections.tuples import column
from shoal.protections.units import UNIT, check_leaf_units, merged_for_units, staged_units, units_per_group

SAMPLE = "-sample"
COVER, CODE = "cover", "code"
FULL = 1 << 30  # what a record costs that loses everything, as in the losses


def cover_suffix(j: int) -> str:
    """Return the suffix of the staged file with what the groups of a leaf cover in column j."""
    return f"-{column(j)}"


# -- files ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeTask:
    """The staged cells of a file, the row number of its first record, and which rows are in the sample."""

    base: Path
    first: int
    domains: Domains
    seed: int
    limit: int


def code(task: CodeTask, output: StagedOutput) -> Facts:
    """Stage the codes of the cells of a file, and those of its rows in the sample."""
    frame = task.domains.codes_of(read_staged(task.base))
    output.write(frame)
    rows = np.arange(task.first, task.first + frame.height)
    output.write(frame.filter(pl.Series(is_drawn(rows, task.seed, task.limit))), SAMPLE)
    return {}


@dataclass(frozen=True)
class RouteTask:
    """The staged codes of a batch of files, and the tree.

    is_counted: whether the confidential values are counted by leaf.
    """

    bases: tuple[Path, ...]
    first: int
    domains: Domains
    tree: CutTree
    is_counted: bool


def route(task: RouteTask, output: StagedOutput) -> Facts:
    """Stage the records of the files sorted by leaf, and return the number in each leaf.

    Records with the same tuple begin as one group, so that a part of a large leaf holds all records of a tuple.
    """
    frame, leaves = pl.concat([read_staged(base) for base in task.bases]), task.tree.leaves
    points = task.domains.points(frame)
    leaf = task.tree.leaf_of(points)
    rows = np.arange(task.first, task.first + frame.height)
    ranked, counts = routed(frame, rows, _tuple_numbers(points), leaf, leaves)
    output.write(ranked)
    facts: Facts = {"counts": counts}
    if task.is_counted:
        facts["values"] = [
            np.bincount(leaf * len(one.values) + one.codes, minlength=leaves * len(one.values)).tolist()
            for one in task.domains.confidential_of(frame).values()
        ]
    return facts


def _tuple_numbers(points: NDArray[Any]) -> Ints:
    """Return a number for each record that is the same for equal tuples."""
    number = np.zeros(len(points), dtype=np.uint64)
    for codes in points.T:
        number = hashed((number + codes.astype(np.uint64)).view(np.int64), 0)
    return np.asarray((number >> np.uint64(1)).astype(np.int64))


# -- leaves -----------------------------------------------------------------------------------------


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
        rules: The required l and t.
        loss: The loss, sets or nodes.
        style: How the new values are written.
        rows: The number of records of all files, on which the work per record depends.
        files: The row number of the first record of each batch of files, by which the new values are found again.
    """

    unit: LeafUnit
    number: int
    bases: tuple[Path, ...]
    slices: Slices
    turn: int
    domains: Domains
    tree: CutTree | None
    rules: Rules
    loss: str
    style: str
    k: int
    rows: int
    effort: str
    seed: int
    files: tuple[int, ...]


def search(task: SearchTask, output: StagedOutput) -> Facts:
    """Search the groups of a unit; stage its records by the next tree, or, after the last round, the new values."""
    prepare_node(generic_kernels)
    started = time.process_time()
    frame = gathered(task.unit, task.bases, task.slices, task.seed, task.k)
    if not frame.height:  # all records of the leaf are in its other parts
        return _nothing(task, frame, output)
    if frame.height < task.k:
        raise InputError(f"A leaf has only {frame.height} records. Use a larger --leaf.")
    recoding = _recoding(task, frame)
    partition = _grouped(task, recoding, frame[GROUP].to_numpy()).check(task.k)
    units = staged_units(frame[UNIT].to_numpy()) if UNIT in frame.columns else None
    if units is not None and task.tree is None:  # after the last round, so that no later round breaks the groups
        check_leaf_units(frame.height, units, task.k)
        partition = merged_for_units(partition, _in_ranges(recoding), task.k, units)
    facts: Facts = {
        "records": frame.height,
        "groups": partition.groups,
        "smallest": int(partition.sizes.min()),
        "largest": int(partition.sizes.max()),
        "loss": recoding.loss.of(partition) / FULL,
    }
    if task.tree is None:
        facts |= _staged_values(task, frame, recoding.columns, partition, output)
        if units is not None:
            facts["smallest_units"] = int(units_per_group(partition.labels, units).min())
        return {**facts, "cpu_seconds": time.process_time() - started}
    next_leaf = task.tree.leaf_of(task.domains.points(frame[first_members(partition.labels)]))
    ranked, counts = sorted_by_leaf(frame, partition.labels, next_leaf, task.tree.leaves)
    output.write(ranked)
    return {**facts, "counts": counts, "cpu_seconds": time.process_time() - started}


def _in_ranges(recoding: RecodingTask) -> Floats:
    """Return the records as points, each column in the range 0 to 1, by which near groups are found."""
    values = recoding.cut_values()[0]
    width = np.ptp(values, axis=0)
    return np.asarray((values - values.min(axis=0)) / np.where(width > 0, width, 1.0))


def _nothing(task: SearchTask, frame: pl.DataFrame, output: StagedOutput) -> Facts:
    """Stage and return what a unit without records has."""
    output.write(frame if task.tree is not None else frame.select(ROW))
    facts: Facts = {"records": 0, "groups": 0, "loss": 0.0, "cpu_seconds": 0.0}
    if task.tree is not None:
        return {**facts, "counts": [0] * task.tree.leaves}
    d = len(task.domains.names)
    for j in range(d if task.style == "text" else 0):
        output.write(pl.DataFrame(schema={COVER: pl.Int32, CODE: pl.Int32}), cover_suffix(j))
    nothing = {"lost": [0.0] * d, "all_exact": [True] * d, "covers": [0] * d, "unchanged": 0}
    return {**facts, **nothing, "ends": [0] * len(task.files)}


def _recoding(task: SearchTask, frame: pl.DataFrame) -> RecodingTask:
    """Return what the search of the unit gets."""
    is_first = task.turn == task.number == 0  # a single leaf gets the answer of one file
    seed = task.seed if is_first else random_state_of(task.seed, task.turn, task.number) >> 1
    confidential = task.domains.confidential_of(frame) if len(task.rules.rules) else {}
    return RecodingTask(
        task.domains.columns_of(frame), task.k, task.loss, group_rules(confidential, task.rules, frame.height),
        SearchSettings(seed, task.effort), task.rows, LATER_SHARE if task.turn else 1.0,
    )  # fmt: skip


def _grouped(task: SearchTask, recoding: RecodingTask, group: Ints) -> KPartition:
    """Return the groups of the records of a unit."""
    control = Control(threads=1)
    if task.turn > 0:
        before = KPartition(np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64))
        return control.call(lambda: improve(recoding, before, control))
    if not recoding.keeps(np.zeros(recoding.n, dtype=np.int64))[0]:
        raise InputError(f"A leaf of {recoding.n:,} records does not reach l or t. Use a larger --leaf.")
    return control.call(lambda: search_groups(recoding, control))


def _staged_values(
    task: SearchTask, frame: pl.DataFrame, columns: Sequence[RecodedColumn], partition: KPartition, output: StagedOutput
) -> Facts:
    """Stage what each record's group covers, or its mean, and return what the columns lost."""
    labels, rows = partition.labels, frame[ROW].to_numpy()
    part = RecordGroups(columns, labels, np.zeros(labels.size, dtype=bool), {})
    exact = np.ones(labels.size, dtype=bool)
    staged, lost, all_exact, covers = [], [], [], []
    for j, one in enumerate(columns):
        cover = one.cover(labels, part.count, False)
        of_record = cover.label[labels]
        here = cover.is_exact[of_record]
        lost.append(float(cover.losses[of_record].sum()))
        all_exact.append(bool(here.all()))
        exact &= here
        covers.append(len(cover.texts))
        if task.style == "mean":
            staged.append(pl.Series(column(j), group_means(one, part)))
        else:
            staged.append(pl.Series(column(j), of_record, dtype=pl.Int32))
            output.write(_covered(one, of_record), cover_suffix(j))
    output.write(pl.DataFrame([pl.Series(ROW, rows), *staged]))
    confidential = task.domains.confidential_of(frame)
    by_name = dict(zip(confidential, task.rules.rules, strict=False))
    return {
        "ends": ends_of_files(rows, task.files, task.rows),
        "lost": lost,
        "all_exact": all_exact,
        "unchanged": int(exact.sum()),
        "covers": covers,
        **diversity([part], confidential, by_name),
    }


def _covered(one: RecodedColumn, of_record: Ints) -> pl.DataFrame:
    """Return the codes of each cover; of an interval, its ends and the missing value."""
    count = len(one.codes.values)
    pairs = np.unique(of_record.astype(np.int64) * count + one.codes.codes)
    owner, codes = pairs // count, pairs % count
    if isinstance(one, OrderedColumn):
        kept = _ends(owner)
        kept[:-1] |= kept[1:] & (codes[1:] == one.present)  # the value before a missing one
        owner, codes = owner[kept], codes[kept]
    return pl.DataFrame([pl.Series(COVER, owner, dtype=pl.Int32), pl.Series(CODE, codes, dtype=pl.Int32)])


def _ends(owner: Ints) -> Bools:
    """Return which of the sorted numbers are the first or the last of their kind."""
    changes = np.flatnonzero(np.diff(owner))
    ends = np.zeros(owner.size, dtype=bool)
    ends[np.concatenate([[0], changes, changes + 1, [owner.size - 1]])] = True
    return ends


# -- labels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTask:
    """A column, the staged files with what the groups cover, and the covers in each. full: long texts in full."""

    column: int
    bases: tuple[Path, ...]
    covers: tuple[int, ...]
    domains: Domains
    full: bool


def label(task: LabelTask, output: StagedOutput) -> Facts:
    """Stage the text of each cover of a column, leaf by leaf, and return the values of texts that were cut."""
    parts = [read_staged(base, cover_suffix(task.column)) for base in task.bases]
    first = np.cumsum([0, *task.covers[:-1]])
    covers = np.concatenate([part[COVER].to_numpy() + start for part, start in zip(parts, first, strict=True)])
    codes = np.concatenate([part[CODE].to_numpy() for part in parts])
    one = task.domains.columns[task.column].with_codes(codes)
    cover = one.cover(covers.astype(np.int64), sum(task.covers), task.full)
    texts = pl.Series("text", cover.texts, dtype=pl.String)
    output.write(pl.DataFrame([texts.gather(cover.label)]))
    return {"legend": {text: list(values) for text, values in cover.legend.items()}}
