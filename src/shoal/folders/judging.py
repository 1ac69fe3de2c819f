"""The judgement of a release in many files: what the check of each file needs, and the findings on all of them.

    recount    a bucket: k and unique records of each set of columns
    tuples     a bucket: the distinct tuples with counts, if a guarantee needs them
    closest    a bucket: the distance of the closest tuple to each drawn person
    within     a bucket: the records at that distance
    …          a table above ALL_ROWS records: what the other checks count (`shoal.folders.counting`)

An earlier stage has checked each file and staged its tuples (`stage_checked`): `write` of a new release
(`shoal.folders.writing`), `compare` of a release that exists (`shoal.folders.checking`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Floats, Ints
from shoal.errors import InputError, PromiseError, UsageError
from shoal.folders import counting
from shoal.folders.staging import Facts, StagedOutput, Staging, read_staged
from shoal.gate.findings import Finding, Findings
from shoal.gate.folders import whole
from shoal.gate.folders.by_file import CheckedFile, FileCheck, as_facts
from shoal.gate.folders.classes import groups_of
from shoal.gate.folders.labels import Labelled, Ranked, compared, originals_of
from shoal.gate.folders.promises import RECORDS, Weighted, distinct_tuples, tuple_columns
from shoal.gate.folders.recount import (
    GONE,
    SETS,
    UNIT,
    ColumnSet,
    People,
    classes_over,
    closest,
    count_classes,
    limits_of,
    own_distance,
    records_of_unit,
    records_within,
)
from shoal.gate.folders.whole import WholeCheck, WithEarlier, drawn_rows
from shoal.gate.guarantees import Guarantees
from shoal.gate.known import KnownColumns, known_columns
from shoal.gate.policy import Policy
from shoal.gate.row_order import shuffled_order

Compared = Mapping[str, Ranked | Labelled]  # how columns of ranks and labels are compared, by name

BUCKET_ROWS = 500_000  # records per bucket of the recount
STAGES = ("recount", "tuples", "closest", "within", *counting.STAGES)
SUFFIXES = ("", "-before", "-after", "-keys", "-labels")  # what a file's check stages
GROUP = "group "  # begins the name of a set of columns that is a column group


@dataclass(frozen=True)
class Rows:
    """The rows of each file: their number, the row number of the first, and the checksum of the file."""

    counts: tuple[int, ...]
    sha256: tuple[str, ...]

    @property
    def first(self) -> tuple[int, ...]:
        return tuple(int(x) for x in np.cumsum([0, *self.counts[:-1]]))

    @property
    def total(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class FolderSaving:
    """How a release in many files is saved, and what the publisher states about it (`shoal.gate.saving.Saving`).

    shuffle: the rows of each file are in a random order; which rows a file has stays the same. previous: a folder whose
    files have the same names and the same rows, in the original's order.
    """

    shuffle: bool = False
    keep_order: bool = False
    policy: str | os.PathLike[str] | None = None
    previous: str | os.PathLike[str] | None = None
    first_release: bool = False
    accept_k: int | None = None

    @property
    def policy_name(self) -> str | Path:
        """The name or the file of the policy that decides, default if none is named."""
        policy = "default" if self.policy is None else self.policy
        return Path(policy) if isinstance(policy, os.PathLike) else policy

    def previous_of(self, name: str) -> Path | None:
        """Return the file of an earlier release that has the rows of a file of this name."""
        if self.previous is None:
            return None
        path = Path(self.previous).expanduser().absolute()
        return path if path.is_file() else path / name

    def check(self, names: Sequence[str]) -> None:
        """Raise an error, before any work, for statements that exclude each other, or an absent earlier release."""
        for first, second in (("shuffle", "keep_order"), ("previous", "first_release")):
            if getattr(self, first) and getattr(self, second):
                flags = [f"--{name.replace('_', '-')}" for name in (first, second)]
                raise UsageError(f"{flags[0]} and {flags[1]} cannot be combined. Remove one of them.")
        if self.previous is None:
            return
        path = Path(self.previous).expanduser()
        if not path.exists():
            raise InputError(f"The earlier release {path} does not exist. Check its path, or remove --previous.")
        if path.is_file() and len(names) > 1:
            raise UsageError(f"The earlier release of a folder of files is a folder, and {path} is a file.")


def of_unit(columns: ColumnSet) -> str:
    """Return the staged name of the number of records of each person's unit."""
    return f"{columns.name} of the unit"


def order_of_file(key: int | str, number: int, before: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return the original row of each row of a file whose rows are shuffled; `number` counts the files from 0."""
    if isinstance(key, str):
        key = hashlib.sha256(f"{key} {number}".encode()).hexdigest()
    return shuffled_order(key, before, columns)


def stage_checked(checked: CheckedFile, output: StagedOutput) -> Facts:
    """Stage what the check of the whole needs of a file, and return the rest as facts."""
    output.write(checked.tuples)
    output.write(checked.before, "-before")
    output.write(checked.after, "-after")
    output.write(checked.keys, "-keys")
    output.write(checked.labels, "-labels")
    more = {} if checked.counting is None else {"counting": counting.stage(checked.counting, output)}
    return {
        **more,
        "counts": list(checked.counts),
        "moments": checked.moments,
        "findings": as_facts(checked.findings),
        "new_numbers": list(checked.new_numbers),
        "suppressed": checked.suppressed,
        "exact": checked.exact,
        "earlier": list(checked.earlier),
    }


@dataclass(frozen=True)
class BucketTask:
    """A bucket of tuples: where it is in each staged file, the sets of columns, and the drawn people.

    earlier: the keys of the classes over this release and an earlier one.
    """

    bases: tuple[Path, ...]
    slices: tuple[tuple[int, int], ...]
    sets: tuple[ColumnSet, ...]
    people: People | None = None
    limits: Mapping[str, Floats] | None = None
    columns: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    def tuples(self) -> pl.DataFrame:
        parts = []
        for base, (start, stop) in zip(self.bases, self.slices, strict=True):
            if stop > start:
                parts.append(read_staged(base, rows=(start, stop)))
        return pl.concat(parts, how="vertical_relaxed") if parts else read_staged(self.bases[0])[:0]


def recount(task: BucketTask, output: StagedOutput) -> Facts:
    """Return the smallest class and the unique records of each set of columns, and the number of records."""
    tuples = task.tuples()
    both = classes_over(tuples, task.earlier, "known") if task.earlier else None
    return {"classes": count_classes(tuples, task.sets), "rows": tuples.height, "both": both}


def count_tuples(task: BucketTask, output: StagedOutput) -> Facts:
    """Stage the distinct tuples of the bucket with their numbers of records."""
    output.write(distinct_tuples(task.tuples(), task.columns))
    return {}


def find_closest(task: BucketTask, output: StagedOutput) -> Facts:
    """Stage the distance of each person to the closest tuple of the bucket, for each set of columns."""
    assert task.people is not None
    tuples = task.tuples()
    output.write(pl.DataFrame({columns.name: closest(tuples, columns, task.people) for columns in task.sets}))
    return {}


def count_within(task: BucketTask, output: StagedOutput) -> Facts:
    """Stage the records of the bucket that are as close to each person as the closest, for each set of columns."""
    assert task.people is not None and task.limits is not None
    tuples, people, limits = task.tuples(), task.people, task.limits
    records = {c.name: records_within(tuples, c, people, limits[c.name]) for c in task.sets}
    if people.units is not None:
        records |= {of_unit(c): records_of_unit(tuples, c, people, limits[c.name]) for c in task.sets}
    output.write(pl.DataFrame(records))
    return {}


@dataclass(frozen=True, eq=False)
class FolderJudge:
    """Judges a release of many files.

    Attributes:
        names: The names of the released files.
        rows: The rows of each file.
        released: The released columns.
        guarantees: The guarantees of the release.
        staging: The staged results.
        stage: The stage whose units checked the files.
    """

    names: tuple[str, ...]
    rows: Rows
    released: tuple[str, ...]
    guarantees: Guarantees
    staging: Staging
    stage: str = "write"

    @property
    def is_large(self) -> bool:
        """Whether the table is so large that only some of its records are drawn for the checks of the whole."""
        return self.rows.total > whole.ALL_ROWS

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The staged files of the check of a file."""
        return (*SUFFIXES, *(counting.suffixes(self.guarantees, self.released) if self.is_large else ()))

    def file_checks(self, policy: Policy, saving: FolderSaving, *, refuses: bool = True) -> list[FileCheck]:
        """Return what the check of each file needs."""
        drawn, _ = drawn_rows(self.rows.total)
        buckets = -(-self.rows.total // BUCKET_ROWS)
        return [
            FileCheck(
                name, self.guarantees, policy, self.released, buckets,
                _between(drawn, self.rows.first[i], self.rows.counts[i]), refuses=refuses, shuffled=saving.shuffle,
                previous=saving.previous_of(name), counts_classes=self.is_large,
            )
            for i, name in enumerate(self.names)
        ]  # fmt: skip

    def judged(self, written: Sequence[Facts], saving: FolderSaving, policy: Policy) -> Findings:
        """Return the findings on the whole release, from what the stage `write` staged of each file."""
        staging = self.staging
        drawn, people_rows = drawn_rows(self.rows.total)
        buckets = -(-self.rows.total // BUCKET_ROWS)
        columns = known_columns(self.guarantees, self.released)
        how = compared([read_staged(base, "-labels") for base in staging.bases(self.stage)])
        sets = self._sets(columns, written, how)
        bases = tuple(staging.bases(self.stage))
        ends = np.cumsum([[0] * len(written), *np.array([f["counts"] for f in written]).T], axis=0)
        slices = [tuple((int(a), int(b)) for a, b in zip(ends[i], ends[i + 1], strict=True)) for i in range(buckets)]
        known = self._set("known", columns, written, how).keys
        earlier = tuple(dict.fromkeys((*known, *self._earlier(written)))) if saving.previous is not None else ()
        tasks_of = [BucketTask(bases, part, sets, earlier=earlier) for part in slices]
        counted = staging.run("recount", recount, tasks_of, ())
        total = sum(f["rows"] for f in counted)
        if total != self.rows.total:
            raise PromiseError(
                f"Nothing was written. The files have {total:,} records in all, but the input has {self.rows.total:,}."
            )
        before, after, keys = (self._drawn(suffix) for suffix in ("-before", "-after", "-keys"))
        people = self._people(before, keys, drawn, people_rows, written, how)
        groups = self._groups(written, how) if self.is_large else ()
        linked = self._linked(tasks_of, sets, people, groups)
        counted_ones = None
        if self.is_large:
            facts = [f["counting"] for f in written]
            counted_ones = counting.ClassCounter(
                staging, bases, self.guarantees, policy, self.released, facts, slices, self.stage
            ).counted(linked.pop(GROUP, None))
        same = {
            name: next(s.name for s in sets if s.keys == self._set(name, columns, written, how).keys) for name in SETS
        }
        classes = {name: _worst([f["classes"][same[name]] for f in counted]) for name in SETS}
        return WholeCheck(
            before, after, self.rows.total, columns, classes, {name: linked[same[name]] for name in SETS},
            self.findings_by_file(written),
            self.guarantees, policy, drawn + 1, saving.accept_k, saving.first_release, saving.keep_order,
            sum(f["suppressed"] for f in written), self._weighted(bases, slices), saving.shuffle,
            WithEarlier(_worst([f["both"] for f in counted])[0], _sums(written)) if earlier else None,
            counted_ones,
        ).findings()  # fmt: skip

    def _earlier(self, written: Sequence[Facts]) -> list[str]:
        """Return the staged columns of the earlier release, which every file of it must have."""
        for name, facts in zip(self.names, written, strict=True):
            if facts["earlier"] != written[0]["earlier"]:
                raise InputError(
                    f"In the earlier release, {name} has other columns than {self.names[0]}. All files of a release "
                    "need the same columns."
                )
        earlier: list[str] = written[0]["earlier"]
        return earlier

    def findings_by_file(self, written: Sequence[Facts]) -> list[tuple[str, list[Finding]]]:
        """Return the findings of each file with its name."""
        pairs = zip(self.names, written, strict=True)
        return [(name, [Finding(**finding) for finding in facts["findings"]]) for name, facts in pairs]

    def _weighted(self, bases: tuple[Path, ...], slices: Sequence[tuple[tuple[int, int], ...]]) -> Weighted | None:
        """Return the distinct tuples of the whole release; None if no guarantee needs them."""
        wanted = tuple(tuple_columns(self.guarantees, self.released))
        if not wanted:
            return None
        self.staging.run("tuples", count_tuples, [BucketTask(bases, part, (), columns=wanted) for part in slices])
        parts = [read_staged(base) for base in self.staging.bases("tuples")]
        return Weighted(distinct_again(parts), self.released)

    def _set(self, name: str, columns: KnownColumns, written: Sequence[Facts], how: Compared) -> ColumnSet:
        return self._set_of(name, getattr(columns, name), written, how)

    def _set_of(self, name: str, chosen: Sequence[str], written: Sequence[Facts], how: Compared) -> ColumnSet:
        places = sorted(self.released.index(column) for column in chosen)
        numbers = {column for facts in written for column in facts["new_numbers"]}
        changed = tuple(p for p in places if self.released[p] in numbers and self.released[p] not in how)
        ranked = tuple(p for p in places if isinstance(how.get(self.released[p]), Ranked))
        labelled = tuple(p for p in places if isinstance(how.get(self.released[p]), Labelled))
        exact = tuple(p for p in places if p not in (*changed, *ranked, *labelled))
        return ColumnSet(name, changed, exact, ranked, labelled)

    def _sets(self, columns: KnownColumns, written: Sequence[Facts], how: Compared) -> tuple[ColumnSet, ...]:
        """Return the sets of columns, equal ones once."""
        sets: list[ColumnSet] = []
        for name in SETS:
            made = self._set(name, columns, written, how)
            if not any(made.keys == other.keys for other in sets):
                sets.append(made)
        return tuple(sets)

    def _groups(self, written: Sequence[Facts], how: Compared) -> tuple[ColumnSet, ...]:
        """Return the column groups as sets of columns, for an intruder who knows them, and all of them together."""
        groups = groups_of(self.guarantees, self.released)
        if not groups:
            return ()
        everything = tuple(sorted({self.released.index(name) for group in groups for name in group}))
        made = [self._set_of(f"{GROUP}{i}", group, written, how) for i, group in enumerate(groups)]
        return (*made, ColumnSet(GROUP, (), everything))

    def _drawn(self, suffix: str) -> pl.DataFrame:
        frames = [read_staged(base, suffix) for base in self.staging.bases(self.stage)]
        frames = [frame for frame in frames if frame.height] or frames[:1]
        try:
            return pl.concat(frames, how="vertical_relaxed")
        except pl.exceptions.PolarsError:  # a column has text in one file and numbers in another
            texts = [frame.cast(dict.fromkeys(_differing(frames), pl.String)) for frame in frames]
            return pl.concat(texts, how="vertical_relaxed")

    def _people(
        self,
        before: pl.DataFrame,
        keys: pl.DataFrame,
        drawn: Ints,
        people: Ints,
        written: Sequence[Facts],
        how: Compared,
    ) -> People:
        places = np.searchsorted(drawn, people)
        scales, originals = {}, {}
        numbers = {name for facts in written for name in facts["new_numbers"]}
        by_place: dict[int, Ranked | Labelled] = {}
        labels: dict[int, NDArray[Any]] = {}
        for place, name in enumerate(self.released):
            if name in how:
                by_place[place] = how[name]
                labels[place] = originals_of(before[name][places], how[name])
                continue
            if name not in numbers:
                continue
            scales[place] = _deviation([facts["moments"][name] for facts in written])
            originals[place] = before[name].cast(pl.Float64).to_numpy()[places] / scales[place]
        units = keys[UNIT].gather(places) if UNIT in keys.columns else None
        return People(keys[places], originals, scales, by_place, labels, units)

    def _linked(
        self,
        tasks: Sequence[BucketTask],
        sets: Sequence[ColumnSet],
        people: People,
        groups: Sequence[ColumnSet] = (),
    ) -> dict[str, tuple[float, float | None]]:
        """Return the share of people found for each set, and its standard error if people were drawn.

        groups: the column groups. An intruder who knows them finds the people whose class is the closest one in each.
        """
        sets = (*sets, *groups)
        with_people = [BucketTask(t.bases, t.slices, sets, people) for t in tasks]
        self.staging.run("closest", find_closest, with_people)
        distances = [read_staged(base) for base in self.staging.bases("closest")]
        best = {s.name: np.min([frame[s.name].to_numpy() for frame in distances], axis=0) for s in sets}
        limits = {name: limits_of(values) for name, values in best.items()}
        self.staging.run("within", count_within, [BucketTask(t.bases, t.slices, sets, people, limits) for t in tasks])
        numbers = [read_staged(base) for base in self.staging.bases("within")]
        shares: dict[str, tuple[float, float | None]] = {}
        is_closest: dict[str, Bools] = {}
        for columns in sets:
            total = np.sum([frame[columns.name].to_numpy() for frame in numbers], axis=0)
            right = own_distance(columns, people) <= limits[columns.name]
            is_closest[columns.name] = right
            if columns in groups:
                continue
            of_unit_records: Ints | float = 1.0
            if people.units is not None:
                of_unit_records = np.sum([frame[of_unit(columns)].to_numpy() for frame in numbers], axis=0)
            shares[columns.name] = self._share(np.where(right, of_unit_records / np.maximum(total, 1), 0.0))
        if groups:
            total = np.sum([frame[GROUP].to_numpy() for frame in numbers], axis=0)
            right = np.all([is_closest[columns.name] for columns in groups], axis=0)
            kept = (people.cells[GONE].to_numpy() & np.uint64(1)) == 0
            shares[GROUP] = self._share(np.where(right, 1.0 / np.maximum(total, 1), 0.0)[kept])
        return shares

    def _share(self, chance: Floats) -> tuple[float, float | None]:
        """Return the share of people found, and its standard error if people were drawn."""
        drawn = chance.size
        share = round(float(chance.mean()), 6) if drawn else 0.0
        error = None
        if 0 < drawn < self.rows.total:
            error = round(float(chance.std() / np.sqrt(drawn) * np.sqrt(1 - drawn / self.rows.total)), 6)
        return share, error


def distinct_again(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the tuples of all buckets; a tuple without some protected column may lie in several."""
    frame = pl.concat([part for part in parts if part.height] or parts[:1], how="vertical_relaxed")
    return frame.group_by([name for name in frame.columns if name != RECORDS]).agg(pl.col(RECORDS).sum())


def _sums(written: Sequence[Facts]) -> dict[str, tuple[int, int]]:
    """Return for each protected column the exact values of all files, in this release and in the earlier one."""
    names = written[0]["exact"]
    return {name: tuple(sum(facts["exact"][name][i] for facts in written) for i in (0, 1)) for name in names}


def _worst(classes: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return the smallest class of all buckets, 0 without any, and the number of unique records."""
    sizes = [smallest for smallest, _, number in classes if number]
    return min(sizes, default=0), sum(unique for _, unique, _ in classes)


def _between(rows: Ints, first: int, count: int) -> Ints:
    """Return those of the rows that are in a file, counted from its first row."""
    start, stop = np.searchsorted(rows, [first, first + count])
    return rows[start:stop] - first


def _deviation(parts: Sequence[tuple[float, float, float]]) -> float:
    """Return the standard deviation of all files, by the rule of Chan, Golub and LeVeque (1983)."""
    n, mean, squares = 0.0, 0.0, 0.0
    for count, middle, part in parts:
        if count:
            apart = middle - mean
            squares += part + apart * apart * n * count / (n + count)
            mean += apart * count / (n + count)
            n += count
    deviation = float(np.sqrt(squares / n)) if n else 0.0
    return deviation if deviation > 0 and np.isfinite(deviation) else 1.0


def _differing(frames: Sequence[pl.DataFrame]) -> list[str]:
    return [name for name in frames[0].columns if len({frame[name].dtype for frame in frames}) > 1]
