"""What the checks of classes and of single columns count in a table above ALL_ROWS records, on the workers.

    values     a column: its values over all files in ascending order, for those of float residue and of scales
    shares     a bucket: the distinct values of the confidential columns, if t is counted
    weights    a bucket: the records of each weight
    classes    a bucket: the sizes of its classes, and what the checks of one file count in them

The check of each file has staged what they need (`shoal.gate.folders.by_file.Counting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.folders.staging import Facts, StagedOutput, Staging, read_staged
from shoal.gate.folders import values as streams
from shoal.gate.folders import whole
from shoal.gate.folders.by_file import Counting
from shoal.gate.folders.classes import (
    ALL_COLUMNS,
    CountsOfAll,
    Known,
    context_of,
    counts_of_classes,
    groups_of,
    values_with_shares,
)
from shoal.gate.folders.promises import RECORDS, distinct_tuples
from shoal.gate.folders.recount import UNIT, key_name
from shoal.gate.guarantees import Guarantees
from shoal.gate.known import known_columns
from shoal.gate.policy import Policy

STAGES = ("distinct", "shares", "weights", "classes")
ORIGINALS, VALUES, WEIGHTS = "-originals", "-values", "-weights"
PIECE = 4_000_000  # values of a column in memory at once
Slices = tuple[tuple[int, int], ...]


def of_group(place: int) -> str:
    """Return the suffix of the staged classes of a column group."""
    return f"-group-{place}"


def suffixes(guarantees: Guarantees, released: Sequence[str]) -> tuple[str, ...]:
    """Return the further staged files of a file's check."""
    groups = map(of_group, range(len(groups_of(guarantees, released))))
    return (ORIGINALS, VALUES, *groups, *((WEIGHTS,) if known_columns(guarantees, released).weight else ()))


def stage(counting: Counting, output: StagedOutput) -> Facts:
    """Stage what the counts need of a file, and return the rest as facts."""
    output.write(counting.originals, ORIGINALS)
    output.write(counting.values, VALUES)
    for place, (frame, _) in enumerate(counting.groups):
        output.write(frame, of_group(place))
    if counting.weights is not None:
        output.write(counting.weights[0], WEIGHTS)
    return counting.facts


# -- values of single columns ------------------------------------------------------------------------


@dataclass(frozen=True)
class ValuesTask:
    """A column: where its values are in each staged file, by their kind, and its largest absolute value."""

    bases: tuple[Path, ...]
    slices: Mapping[str, Slices]
    largest: float


def measure_values(task: ValuesTask, output: StagedOutput) -> Facts:
    """Return the neighbours of a protected column, or the scale of a confidential number and whether it is a key."""
    if streams.CONFIDENTIAL in task.slices:
        slices = task.slices[streams.CONFIDENTIAL]
        records = 0
        for piece in _pieces(task.bases, slices):
            records += int(piece[streams.RECORDS].cast(pl.Int64).sum())
        if not records:
            return {"scale": 0.0, "is_key": False}
        number = streams.confidential_number(_pieces(task.bases, slices), records)
        return {"scale": number.scale, "is_key": number.is_key}
    old, new = (_pieces(task.bases, task.slices[which]) for which in (streams.OLD, streams.NEW))
    return {"near": streams.near_values(old, new, task.largest)}


def _pieces(bases: Sequence[Path], slices: Slices) -> Iterator[pl.DataFrame]:
    step = max(1_000, PIECE // len(bases))
    sources = []
    for base, (start, stop) in zip(bases, slices, strict=True):
        if stop > start:
            sources.append(streams.Source(partial(_read, base, start), stop - start, step))
    return streams.in_order(sources)


def _read(base: Path, first: int, start: int, stop: int) -> pl.DataFrame:
    return read_staged(base, VALUES, rows=(first + start, first + stop))


# -- buckets -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PartTask:
    """A bucket: where it is in each staged file of a suffix."""

    bases: tuple[Path, ...]
    suffix: str
    slices: Slices

    def frame(self, suffix: str | None = None) -> pl.DataFrame:
        """Return its rows; cells that are text in one file and numbers in another become text."""
        suffix = self.suffix if suffix is None else suffix
        parts = [
            read_staged(base, suffix, rows=rows)
            for base, rows in zip(self.bases, self.slices, strict=True)
            if rows[1] > rows[0]
        ]
        if not parts:
            return read_staged(self.bases[0], suffix)[:0]
        try:
            return pl.concat(parts, how="vertical_relaxed")
        except pl.exceptions.PolarsError:
            mixed = [name for name in parts[0].columns if len({part[name].dtype for part in parts}) > 1]
            return pl.concat([part.cast(dict.fromkeys(mixed, pl.String)) for part in parts])


@dataclass(frozen=True)
class SharesTask:
    """A bucket, and the staged name of a confidential column whose values are counted."""

    part: PartTask
    column: str


def count_values(task: SharesTask, output: StagedOutput) -> Facts:
    """Stage the distinct values of a column in a bucket with their records."""
    made = distinct_tuples(task.part.frame().select(task.column), [task.column])
    output.write(made)
    return {"distinct": made.height}


@dataclass(frozen=True)
class WeightsTask:
    """A bucket of weights. k: the units or records that must share a weight."""

    part: PartTask
    k: int


def count_weights(task: WeightsTask, output: StagedOutput) -> Facts:
    """Return the records with a weight that too few records or units share."""
    frame = task.part.frame()
    keys = [name for name in frame.columns if name not in (UNIT, RECORDS)]
    members = pl.col(UNIT).n_unique() if UNIT in frame.columns else pl.col(RECORDS).sum()
    classes = frame.group_by(keys).agg(members.alias("members"), pl.col(RECORDS).sum())
    return {"rare": int(classes.filter(pl.col("members") < task.k)[RECORDS].sum())}


@dataclass(frozen=True)
class ClassesTask:
    """A bucket of the set of classes at a place, and what all files say of the release."""

    part: PartTask
    known: Known
    place: int


def count_classes(task: ClassesTask, output: StagedOutput) -> Facts:
    """Return what the checks of classes count in a bucket."""
    keys = task.part.frame()
    before = task.part.frame(ORIGINALS) if task.place == ALL_COLUMNS else keys
    return counts_of_classes(context_of(keys, before, task.known, task.place))


@dataclass(frozen=True, eq=False)
class ClassCounter:
    """Counts the classes and the values of single columns of a release, from what the check of each file staged.

    Attributes:
        staging: The staged results.
        bases: The bases of the staged files.
        guarantees: The guarantees of the release.
        policy: The policy that decides which findings block.
        released: The released columns.
        facts: What the check of each file says of its columns.
        slices: Where each bucket of all protected columns lies in each staged file.
        stage: The stage whose units checked the files.
    """

    staging: Staging
    bases: tuple[Path, ...]
    guarantees: Guarantees
    policy: Policy
    released: tuple[str, ...]
    facts: Sequence[Facts]
    slices: Sequence[Slices]
    stage: str

    def counted(self, by_groups: tuple[float, float | None] | None) -> whole.CountedClasses:
        """Return the counts. by_groups: the share of people found by an intruder who knows the column groups."""
        filled = [f for f in self.facts if f["rows"]]
        confidential = known_columns(self.guarantees, self.released).confidential
        near, scales, keys = self._values(filled)
        shares, too_many = self._shares(filled, confidential)
        numbers = _in_all(filled, "numbers")
        known = Known(
            self.guarantees, self.policy, self.released, numbers, _in_all(filled, "whole"), self._domains(filled),
            {name: scales[name] for name in scales if name in numbers}, shares,
        )  # fmt: skip
        tasks = {ALL_COLUMNS: [PartTask(self.bases, "", part) for part in self.slices]}
        for place, _ in enumerate(groups_of(self.guarantees, self.released)):
            tasks[place] = self._parts(of_group(place), [f["groups"][place] for f in self.facts])
        every = [ClassesTask(part, known, place) for place, parts in tasks.items() for part in parts]
        facts = self.staging.run("classes", count_classes, every, ())
        counts = CountsOfAll({place: [f for f, t in zip(facts, every, strict=True) if t.place == place]
                              for place in tasks})  # fmt: skip
        hidden = None
        if self.guarantees.unit is not None:
            hidden = len({unit for f in self.facts for unit in f["hidden"]})
        return whole.CountedClasses(
            counts, known.domains, near, [name for name in keys if name in numbers], too_many, self._rare(), hidden,
            by_groups,
        )  # fmt: skip

    def _values(self, filled: Sequence[Facts]) -> tuple[dict[str, int], dict[str, float], list[str]]:
        """Return the near values of protected columns, and the scales and keys among the confidential numbers."""
        kinds: dict[str, set[str]] = {}
        for name, kind, _ in (stream for f in filled for stream in f["streams"]):
            kinds.setdefault(name, set()).add(kind)
        names = [name for name, of_name in kinds.items() if "near" not in of_name]
        slices = [_slices_of_streams(f["streams"]) for f in self.facts]
        tasks = [
            ValuesTask(
                self.bases,
                {kind: tuple(part.get((name, kind), (0, 0)) for part in slices) for kind in kinds[name]},
                max((f["largest"].get(name, 0.0) for f in self.facts), default=0.0),
            )
            for name in names
        ]
        facts = dict(zip(names, self.staging.run("distinct", measure_values, tasks, ()), strict=True))
        near = {name: f["near"] for name, f in facts.items() if "near" in f}
        scales = {name: f["scale"] for name, f in facts.items() if "scale" in f}
        return near, scales, [name for name, f in facts.items() if f.get("is_key")]

    def _shares(
        self, filled: Sequence[Facts], confidential: Sequence[str]
    ) -> tuple[dict[str, pl.DataFrame], list[str]]:
        """Return the values and shares of each confidential column, and the columns with too many values."""
        if self.policy.thresholds.t is None:
            return {}, []
        tasks = [
            SharesTask(PartTask(self.bases, "", part), key_name(self.released.index(name)))
            for name in confidential
            for part in self.slices
        ]
        facts = self.staging.run("shares", count_values, tasks)
        bases = self.staging.bases("shares")
        shares: dict[str, pl.DataFrame] = {}
        too_many: list[str] = []
        numbers, count = _in_all(filled, "numbers"), len(self.slices)
        for i, name in enumerate(confidential):
            of_name = slice(i * count, (i + 1) * count)
            if max(f["distinct"] for f in facts[of_name]) > whole.MOST_SHARES:
                too_many.append(name)
                continue
            parts = [read_staged(base) for base in bases[of_name]]
            merged = pl.concat([part for part in parts if part.height] or parts[:1], how="vertical_relaxed")
            shares[name] = values_with_shares(merged, name in numbers)
            if shares[name].height > whole.MOST_SHARES:
                too_many.append(name)
                del shares[name]
        return shares, too_many

    def _domains(self, filled: Sequence[Facts]) -> dict[str, tuple[float, ...]]:
        """Return the distinct original values of the columns that have two or three, all of them whole numbers."""
        made = {}
        for name in (name for name in self.released if name in _in_all(filled, "aggregated")):
            domains = [f["domains"][name] for f in filled]
            if all(domain is not None for domain in domains):
                together = tuple(sorted({value for domain in domains for value in domain}))
                if 2 <= len(together) <= whole.MAX_FEW:
                    made[name] = together
        return made

    def _rare(self) -> int:
        """Return the records with a rare weight."""
        if not known_columns(self.guarantees, self.released).weight:
            return 0
        parts = self._parts(WEIGHTS, [f["weights"] for f in self.facts])
        k = whole.wanted_k(self.guarantees, self.policy)
        facts = self.staging.run("weights", count_weights, [WeightsTask(part, k) for part in parts], ())
        return sum(f["rare"] for f in facts)

    def _parts(self, suffix: str, counts: Sequence[Sequence[int]]) -> list[PartTask]:
        """Return the buckets of the staged files of a suffix, from the rows of each bucket in each file."""
        ends = np.cumsum([[0] * len(counts), *np.array(counts).T], axis=0)
        return [
            PartTask(self.bases, suffix, tuple((int(a), int(b)) for a, b in zip(ends[i], ends[i + 1], strict=True)))
            for i in range(len(ends) - 1)
        ]


def _in_all(filled: Sequence[Facts], key: str) -> frozenset[str]:
    """Return the columns that every file names."""
    return frozenset(set.intersection(*(set(f[key]) for f in filled))) if filled else frozenset()


def _slices_of_streams(of_file: Sequence[Sequence[Any]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return where the values of each column and kind are in the staged file."""
    made, start = {}, 0
    for name, kind, rows in of_file:
        made[name, kind] = (start, start + rows)
        start += rows
    return made
