"""The checks of classes in a release of many files: counted bucket by bucket, and added up.

A bucket holds whole classes, so the checks of one file (`shoal.gate.checks`) count in it what they need, and judge the
sums over all buckets. The classes of a column group have buckets of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import Bools, Ints
from shoal.gate.cells import Classes, codes, comparable, numbers
from shoal.gate.checks import members
from shoal.gate.context import CheckContext, ClassSizes
from shoal.gate.diversity import diversity, farthest_from
from shoal.gate.folders.recount import GONE, SETS, UNIT, key_name, released_numbers
from shoal.gate.guarantees import Guarantees
from shoal.gate.inside import FewValued, spread
from shoal.gate.policy import Policy
from shoal.gate.promises import LDiversity
from shoal.gate.reading import Written

SAME = "same:"  # whether a cell of a protected column has the original value
ALL_COLUMNS = -1  # the place of the classes over all protected columns; column groups count from 0
Facts = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """What all files together say of a release before its classes are counted.

    Attributes:
        guarantees: The guarantees of the release.
        policy: The policy that decides which findings block.
        released: The released columns.
        numbers: Those that hold numbers in every file.
        whole: The protected columns that hold whole numbers before and after.
        domains: The distinct original values of each protected column that has two or three.
        scales: The scale of each confidential number.
        shares: The values and shares of each confidential column, if t is counted.
    """

    guarantees: Guarantees
    policy: Policy
    released: tuple[str, ...]
    numbers: frozenset[str]
    whole: frozenset[str]
    domains: Mapping[str, tuple[float, ...]]
    scales: Mapping[str, float]
    shares: Mapping[str, pl.DataFrame]


def groups_of(guarantees: Guarantees, released: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the column groups of a release, with those of their columns that it has."""
    quasi = {*guarantees.quasi, *guarantees.within}
    groups = [tuple(n for n in group if n in released and n in quasi) for group in guarantees.column_groups]
    return [group for group in groups if group]


def originals(context: CheckContext) -> pl.DataFrame:
    """Return what the check of a file stages for its classes: original values, and where the release has them."""
    names = [name for name in context.quasi if name in context.before.columns]
    weight = [name for name in (context.guarantees.weight,) if name in context.before.columns and name is not None]
    same = [pl.Series(f"{SAME}{name}", context.same_cells(name)) for name in names]
    return pl.DataFrame([*(context.before[name] for name in dict.fromkeys((*names, *weight))), *same])


@dataclass(frozen=True, eq=False)
class ClassesOfBucket(CheckContext):
    """Whole classes of a release: their records as they are staged. place: that of the set of classes."""

    keys: pl.DataFrame = field(default_factory=pl.DataFrame)
    known_of_all: Known | None = None
    place: int = ALL_COLUMNS

    @property
    def is_part(self) -> bool:
        return True

    @property
    def all_files(self) -> Known:
        assert self.known_of_all is not None
        return self.known_of_all

    @cached_property
    def seen(self) -> pl.DataFrame:
        """The canonical cells, by which classes of all files are counted."""
        names = {key_name(i): name for i, name in enumerate(self.all_files.released)}
        return self.keys.select(name for name in self.keys.columns if name in names).rename(names, strict=False)

    @cached_property
    def units(self) -> Ints | None:  # type: ignore[override]
        if UNIT not in self.keys.columns:
            return None
        return np.unique(self.keys[UNIT].to_numpy(), return_inverse=True)[1].reshape(-1).astype(np.int64)

    def kept_over(self, columns: tuple[str, ...]) -> Bools:
        """Return the records that are not suppressed, from the bit that the check of their file staged."""
        named = {frozenset(getattr(self.columns, name)): i for i, name in reversed(list(enumerate(SETS)))}
        groups = groups_of(self.guarantees, self.all_files.released)
        bits = {frozenset(group): len(SETS) + i for i, group in enumerate(groups)} | named
        bit = bits.get(frozenset(columns))
        if bit is None:
            return np.ones(self.rows, dtype=bool)
        return np.asarray((self.keys[GONE].to_numpy() >> np.uint64(bit)) & np.uint64(1) == 0)

    @cached_property
    def class_sets(self) -> list[Classes]:
        """The set of classes that these buckets hold, if k is guaranteed in it."""
        groups = groups_of(self.guarantees, self.all_files.released)
        if self.place == ALL_COLUMNS:
            return [self.joint] if self.quasi and not groups else []
        return [self.over(groups[self.place])]

    def is_whole(self, name: str) -> bool:
        return name in self.all_files.whole

    def same_cells(self, name: str) -> Bools:
        return np.asarray(self.before[f"{SAME}{name}"].to_numpy(), dtype=bool)


def context_of(keys: pl.DataFrame, before: pl.DataFrame, known: Known, place: int) -> ClassesOfBucket:
    """Return some whole classes as an input of checks."""
    after = {}
    for i, name in enumerate(known.released):
        if key_name(i) not in keys.columns:
            continue
        cells = keys[key_name(i)]
        after[name] = _numbers(cells) if name in known.numbers else cells.cast(pl.String)
    return ClassesOfBucket(
        before, Written(pl.DataFrame(after)), known.guarantees, known.policy, keys=keys, known_of_all=known, place=place
    )


def _numbers(cells: pl.Series) -> pl.Series:
    """Return the numbers that canonical cells stand for, null for a missing one."""
    if cells.dtype != pl.String and cells.null_count():
        nan = int(np.array(np.nan).view(np.int64))
        cells = cells.fill_null(nan)
    return pl.Series(released_numbers(cells)).fill_nan(None)


# -- counts ------------------------------------------------------------------------------------------


class NarrowClasses(NamedTuple):
    """The records in narrow classes, and the narrowest class: its range in units of the scale, its ends, its size."""

    narrow_records: int
    spread: float
    low: float
    high: float
    size: int


def counts_of_classes(context: ClassesOfBucket) -> Facts:
    """Return what the checks of classes count in these buckets, as plain values that can be added up."""
    known = context.all_files
    facts: Facts = {
        "small": members.small_groups(context),
        "dominated": [list(one) for one in members.dominated_totals(context)],
        "cells": list(members.cells_kept(context)),
        "solvable": members.solvable_groups(context),
        "fitting": [list(one) for one in members.fitting_classes(context)],
        "spread": {name: _spread(context, name) for name in known.scales},
        "l": {name: _least_diverse(context, name) for name in context.columns.confidential},
        "t": {name: _farthest(context, name) for name in known.shares},
    }
    if context.place != ALL_COLUMNS:
        return facts
    weight = context.columns.weight
    with_weight = context.unit_counts(context.over((*context.columns.known, *weight))) if weight else np.empty(0)
    groups = bool(known.guarantees.column_groups)
    return {
        **facts,
        "known": [part.tolist() for part in context.known_sizes],
        "rows_kept": _rows_kept(context) if groups else members.rows_kept(context),
        "extremes": {name: _extremes(context, name, domain) for name, domain in known.domains.items()},
        "with_weight": int(with_weight.min()) if with_weight.size else None,
    }


def _rows_kept(context: ClassesOfBucket) -> int | None:
    """Return the records with the original values in a class smaller than k, of a release with column groups.

    Whether the members of their groups differ is not known here, so every such record counts.
    """
    if not context.quasi:
        return None
    small = np.ones(context.rows, dtype=bool)
    inside = context.known.labels >= 0
    small[inside] = (context.unit_counts(context.known) < context.promised_k)[context.known.labels[inside]]
    groups = groups_of(context.guarantees, context.all_files.released)
    grouped = dict.fromkeys(name for group in groups for name in group)
    same = [context.same_cells(name) for name in grouped if name in context.before.columns]
    return int((np.all(same, axis=0) & context.kept & small).sum()) if same else None


def _spread(context: ClassesOfBucket, name: str) -> list[float] | None:
    if not context.class_sets or name not in context.after.columns:
        return None
    scale = context.all_files.scales[name]
    measured = spread(context.class_sets[0], numbers(context.after[name]), units=context.units, scale=scale)
    return (
        None if measured is None else list(NarrowClasses(*(getattr(measured, name) for name in NarrowClasses._fields)))
    )


def _least_diverse(context: ClassesOfBucket, name: str) -> float | None:
    """Return the number of distinct values of the least diverse class, if no other l is guaranteed."""
    if context.guarantees.of(LDiversity) or not context.class_sets:
        return None
    least = diversity(context.class_sets[0], context.after[name], "distinct", 1.0)
    return least if np.isfinite(least) else None


def _farthest(context: ClassesOfBucket, name: str) -> float:
    """Return the largest distance of a class from the whole table."""
    if not context.class_sets:
        return 0.0
    whole = context.all_files.shares[name]
    return farthest_from(
        context.class_sets[0], ranks_in(context.after[name], whole), whole["share"].to_numpy(), "equal"
    )


def values_with_shares(keys: pl.DataFrame, is_number: bool) -> pl.DataFrame:
    """Return the values of a column with their shares of the records, in the order of `codes`."""
    cells = keys.to_series(0)
    frame = pl.DataFrame(
        [(_numbers(cells) if is_number else cells.cast(pl.String)).alias("value"), keys["records"].alias("records")]
    )
    frame = frame.group_by("value").agg(pl.col("records").sum())
    ranked = frame.sort(pl.Series(codes(frame["value"])))
    return ranked.with_columns(share=pl.col("records") / pl.col("records").sum()).select("value", "share")


def ranks_in(column: pl.Series, whole: pl.DataFrame) -> Ints:
    """Return the rank of each cell among the values of a column."""
    numbered = pl.DataFrame(
        [comparable(whole["value"]).alias("value"), pl.Series("rank", np.arange(whole.height), dtype=pl.Int64)]
    )
    cells = pl.DataFrame([comparable(column).alias("value")])
    joined = cells.join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")
    return np.asarray(joined["rank"].to_numpy(), dtype=np.int64)


def _extremes(context: ClassesOfBucket, name: str, domain: tuple[float, ...]) -> list[Any]:
    """Return whether any cell has changed, and the records of both extremes, in all and given away."""
    before, after = numbers(context.before[name]), numbers(context.after[name])
    both = np.isfinite(before) & np.isfinite(after)
    slack = 1e-9 * (domain[-1] - domain[0])
    counts = []
    for value in (domain[-1], domain[0]):
        shown = both & (np.abs(after - value) <= slack)
        counts.append([int((before == value).sum()), int((shown & (before == value)).sum()), int(shown.sum())])
    return [bool((np.abs(before - after)[both] > slack).any()), *counts]


# -- sums --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountsOfAll:
    """The counts of all buckets, by the place of the set of classes."""

    parts: Mapping[int, Sequence[Facts]]

    def of(self, key: str) -> list[Any]:
        """Return the counts of every bucket of every set."""
        return [facts[key] for facts in self._all if key in facts]

    @property
    def _all(self) -> list[Facts]:
        return [facts for parts in self.parts.values() for facts in parts]

    @property
    def known_sizes(self) -> ClassSizes:
        """The sizes of the classes over all columns that an intruder may know."""
        parts = [np.array(part, dtype=np.int64).reshape(3, -1) for part in self.of("known")]
        whole = np.concatenate(parts, axis=1)
        size, place = np.unique(whole[0], return_inverse=True)
        classes, records = (
            np.bincount(place.reshape(-1), weights=row, minlength=size.size).astype(np.int64) for row in whole[1:]
        )
        return ClassSizes(size, classes, records)

    @property
    def dominated(self) -> list[members.Dominated]:
        made: dict[tuple[int, str], members.Dominated] = {}
        for place, parts in self.parts.items():
            for column in (members.Dominated(*one) for facts in parts for one in facts["dominated"]):
                key = place, column.name
                made[key] = made[key].plus(column) if key in made else column
        return list(made.values())

    @property
    def solvable(self) -> int:
        return max((max(_by_column([facts["solvable"] for facts in parts]), default=0)
                    for parts in self.parts.values()), default=0)  # fmt: skip

    @property
    def misplaced(self) -> int:
        columns: list[members.Fitting] = []
        for parts in self.parts.values():
            of_set: list[members.Fitting] = []
            for facts in parts:
                here = [members.Fitting(tuple(one[0]), tuple(one[1]), *one[2:]) for one in facts["fitting"]]
                of_set = [a.plus(b) for a, b in zip(of_set, here, strict=True)] if of_set and here else of_set or here
            columns += of_set
        return members.misplaced_classes(columns)

    @property
    def rows_kept(self) -> int | None:
        numbers_ = [number for number in self.of("rows_kept") if number is not None]
        return sum(numbers_) if numbers_ else None

    @property
    def narrow(self) -> dict[str, list[NarrowClasses | None]]:
        """For each confidential number the narrow classes of each set."""
        names = {name for facts in self._all for name in facts["spread"]}
        made: dict[str, list[NarrowClasses | None]] = {}
        for name in sorted(names):
            for parts in self.parts.values():
                classes_of_set = [NarrowClasses(*facts["spread"][name]) for facts in parts if facts["spread"].get(name)]
                worst = min(classes_of_set, key=lambda one: (one.spread, -one.size), default=None)
                total = sum(one.narrow_records for one in classes_of_set)
                made.setdefault(name, []).append(None if worst is None else worst._replace(narrow_records=total))
        return made

    @property
    def least_diverse(self) -> tuple[float, str] | None:
        """The l of the least diverse class, and its column."""
        pairs = [(value, name) for part in self.of("l") for name, value in part.items() if value is not None]
        return min(pairs, default=None)

    @property
    def farthest(self) -> tuple[float, str] | None:
        """The t of the class that is furthest from the whole table, and its column."""
        return max(((value, name) for part in self.of("t") for name, value in part.items()), default=None)

    def extremes(self, domains: Mapping[str, tuple[float, ...]]) -> dict[str, FewValued | None]:
        """For each column with few values the rarer of its extremes, counted in records."""
        made: dict[str, FewValued | None] = {}
        for name, domain in domains.items():
            parts = [part[name] for part in self.of("extremes")]
            made[name] = None
            if any(part[0] for part in parts):
                sums = [np.sum([part[1 + i] for part in parts], axis=0) for i in (0, 1)]
                i = 1 if sums[1][0] < sums[0][0] else 0
                made[name] = FewValued((domain[-1], domain[0])[i], *(int(x) for x in sums[i]))
        return made

    @property
    def with_weight(self) -> int:
        return min((value for value in self.of("with_weight") if value is not None), default=0)


def _by_column(parts: Sequence[Sequence[int]]) -> list[int]:
    """Return the sums of each column; a bucket without any class has no columns."""
    filled = [part for part in parts if part]
    return [int(x) for x in np.sum(filled, axis=0)] if filled else []
