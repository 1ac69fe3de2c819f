"""`shoal.assess_files`: the information loss and the risk of a release in many files, from sums over the files.

    count      a file: its rows
    compare    a file: sums of both versions, drawn records, and its tuples by bucket
    near       a file: values close to the original, and records as near to the drawn ones as their own
    classes    a bucket: the sizes of the classes, l and t

A table of up to SMALL records is read as a whole and assessed as one file is. In a larger one, the values are those of
one file, and the measures that no sum over files gives are left out (LEFT_OUT).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import Floats, Ints
from shoal.assessment import UNSHUFFLED, assess
from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress
from shoal.errors import InputError, ShoalError, UsageError, check_choice, counted, unknown
from shoal.folders.checking import released_files, temporary_staging
from shoal.folders.columns import same_columns
from shoal.folders.staging import Facts, StagedOutput, Staging, plan_of_files, read_staged
from shoal.folders.summing import ChangeOfColumn, ChangeOfNumbers, Crosstab
from shoal.gate.folders.by_file import units_in
from shoal.gate.row_order import side_by_side
from shoal.measures.anonymity import suppressed_rows
from shoal.measures.assessment import Assessment, declared_figure
from shoal.measures.compared import DATE, NUMBER, compared_as
from shoal.measures.convention import CONVENTIONS
from shoal.measures.diversity import t_closeness
from shoal.measures.evidence import column_pair, evidence_of_tables
from shoal.measures.interval import PERCENTS
from shoal.measures.linkage import SAMPLED_ABOVE, file_ties, first_columns, mean_linkage, sampled_records, tie_credits
from shoal.measures.loss import total_loss
from shoal.measures.measure import Estimate, declared_measure, declared_measures
from shoal.measures.relative_change import parts_of
from shoal.notices import notice
from shoal.sources.files import as_polars
from shoal.sources.scanning import Files
from shoal.table.kinds import labels_of
from shoal.table.roles import Roles
from shoal.table.table import Table

SMALL = SAMPLED_ABOVE  # up to so many records, one process reads both tables
BUCKET_ROWS = 500_000
MOST_VALUES = 10_000  # of a confidential column for t, which compares every class with every value
LEFT_OUT = ("probabilistic_linkage", "disclosure_risk", "score")  # they need all pairs of records at once
LABELS = "labels"
GONE, UNIT = "gone", "unit"


def assess_files(
    original: Files,
    release: str | os.PathLike[str],
    *,
    convention: str = "sound",
    missing: str = "error",
    seed: int = 0,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Assessment:
    """Measure the information loss and the disclosure risk of a release in many files.

    Args:
        original: The original files, from `shoal.scan`, with the columns' roles.
        release: The folder of the release: a file of the same name with the same rows for each original file.
        convention: How measures are computed; a table of more than 200,000 records supports sound alone.
        missing: What the protection did with missing values; a table of that size supports error (there are none).
        seed: The seed of the order in which an intruder learns columns.
        progress: A function that is called with the progress.
        control: An object for progress and stopping, instead of `progress`.

    Returns:
        The measures, by name. A notice names those that are left out.

    Raises:
        InputError: Two files do not have the same rows or columns.
        UsageError: An argument is invalid.
    """
    check_choice("convention", convention, CONVENTIONS)
    released = released_files(release, original)
    whole = control_of(control, None, progress)
    plan = {"the files": plan_of_files(original.paths), "the release": plan_of_files(released.paths)}
    with temporary_staging(original, plan) as staging:
        facts = whole.call(lambda: _counts(original, released, staging))
        total = sum(f["rows"] for f in facts)
        if total <= SMALL:
            before, after = (_one_table(files) for files in (original, released))
            return assess(before, after, convention=convention, missing=missing, seed=seed)
        if convention != "sound" or missing != "error":
            name = "--convention" if convention != "sound" else "--missing"
            raise UsageError(f"More than {SMALL:,} records in files do not support {name}. Remove it.")
        return whole.call(lambda: _Assessing(original, released, staging, facts, seed).run())


def _one_table(files: Files) -> Table:
    """Return all files as one table, with the roles of the first."""
    tables = [files.read(path) for path in files.paths]
    return Table(pl.concat([as_polars(t.frame) for t in tables], how="vertical_relaxed"), tables[0].roles)


@dataclass(frozen=True)
class CountTask:
    """An original file and its released one, whose rows are counted."""

    files: Files
    path: Path
    released: Files
    target: Path


def count(task: CountTask, output: StagedOutput) -> Facts:
    """Return the rows of a file; raise an error if the released file has others."""
    before, after = task.files.read(task.path, Roles()), task.released.read(task.target, Roles())
    if before.rows != after.rows:
        raise InputError(
            f"{task.path.name} has {counted(before.rows, 'row')} in the original and {counted(after.rows, 'row')} in "
            "the release. Both must have the same records in the same order."
        )
    return {"rows": before.rows}


def _counts(original: Files, released: Files, staging: Staging) -> list[Facts]:
    tasks = [
        CountTask(original.for_workers, path, released.for_workers, target)
        for path, target in zip(original.paths, released.paths, strict=True)
    ]
    return staging.run("count", count, tasks, ())


@dataclass(frozen=True)
class CompareTask:
    """Two files to compare. drawn: the drawn rows, counted from 0 in the file."""

    files: Files
    path: Path
    released: Files
    target: Path
    columns: tuple[str, ...]
    roles: Roles
    compared: tuple[str, ...]
    buckets: int
    drawn: tuple[int, ...]

    def tables(self) -> tuple[Table, Table]:
        """Return both versions of the file."""
        before = same_columns(self.files.read(self.path, self.roles), self)
        return before, self.released.read(self.target)


def compare(task: CompareTask, output: StagedOutput) -> Facts:
    """Return the sums of a file, and stage its tuples by bucket, its drawn records, and its confidential values."""
    before, after = task.tables()
    hidden = task.roles.confidential
    for name in (*task.compared, *hidden):
        if name not in after.columns:
            raise unknown("column", name, after.columns, InputError)
    try:
        side_by_side(before, after, task.compared, ways=UNSHUFFLED)
        kinds = {n: k if k in (NUMBER, DATE) else LABELS for n, k in compared_as(before, after, task.compared).items()}
        numeric = [name for name, kind in kinds.items() if kind == NUMBER]
        weights = before.weights()
        values = [table.numbers(numeric, allow_constant=True) for table in (before, after)] if numeric else []
    except ShoalError as error:
        raise type(error)(f"{task.path.name}: {error}") from None
    evidence = evidence_of_tables(before, after, task.compared)
    pairs = [column_pair(before, after, name, kind) for name, kind in kinds.items() if kind != LABELS]
    facts: Facts = {
        "kinds": kinds,
        "columns": {pair.name: ChangeOfColumn.of(pair).facts() for pair in pairs},
        "labels": {name: _crosstab(before, after, name).facts() for name, kind in kinds.items() if kind == LABELS},
        "changed": {name: int(cells.sum()) for name, cells in (evidence.changed or {}).items()},
        "numbers": ChangeOfNumbers.of(values[0], values[1], weights).facts() if numeric else None,
    }
    rows = np.array(task.drawn, dtype=np.int64)
    for suffix, side in zip(("-before", "-after"), values, strict=False):
        output.write(pl.DataFrame({f"x{j}": side[rows, j] for j in range(len(numeric))}), suffix)
    tuples = _tuples(before, after, task)
    keys = [name for name in tuples.columns if name.startswith("c")]
    bucket = (tuples.select(keys).hash_rows(1).to_numpy() % np.uint64(task.buckets)).astype(np.int64)
    output.write(tuples[np.argsort(bucket, kind="stable")])
    facts["counts"] = np.bincount(bucket, minlength=task.buckets).tolist()
    facts["suppressed"] = int(tuples[GONE].sum())
    facts["types"] = [str(dtype) for dtype in tuples.dtypes]
    frames = [tuples.group_by(value=f"v{i}").len("records").with_columns(
        pl.col("records").cast(pl.Int64), pl.col("value").cast(pl.String), column=pl.lit(i)
    ) for i in range(len(hidden))]  # fmt: skip
    output.write(
        pl.concat(frames) if frames else pl.DataFrame({"value": [""], "records": [0], "column": [-1]}), "-values"
    )
    return facts


def _crosstab(before: Table, after: Table, name: str) -> Crosstab:
    """Return how many records have each pair of an original and a released label, and their weight."""
    try:
        old, new = (labels_of(table, name, "nominal") for table in (before, after))
    except ShoalError:
        return Crosstab({}, None)
    weights = before.weights()
    mass = np.ones(before.rows) if weights is None else weights
    pairs: dict[tuple[str | None, str | None], float] = {}
    width = len(new.texts)
    codes = old.codes.astype(np.int64) * width + new.codes
    for code, total in enumerate(np.bincount(codes, mass, minlength=len(old.texts) * width)):
        if total:
            pairs[old.texts[code // width], new.texts[code % width]] = float(total)
    dtype = as_polars(before.frame)[name].dtype
    listed = before.roles.order.get(name) or (dtype.categories.to_list() if isinstance(dtype, pl.Enum) else None)
    return Crosstab(pairs, None if listed is None else tuple(listed))


def _tuples(before: Table, after: Table, task: CompareTask) -> pl.DataFrame:
    """Return the released tuples, whether each record is suppressed, its unit and its confidential values."""
    frame = as_polars(after.frame)
    columns = {f"c{j}": _comparable(frame[name]) for j, name in enumerate(task.compared)}
    columns[GONE] = pl.Series(suppressed_rows(after, task.compared))
    if isinstance(task.roles.unit, str):
        columns[UNIT] = units_in(as_polars(before.frame)[task.roles.unit])
    columns |= {f"v{i}": _comparable(frame[name]) for i, name in enumerate(task.roles.confidential)}
    return pl.DataFrame([series.rename(name) for name, series in columns.items()])


def _comparable(cells: pl.Series) -> pl.Series:
    """Return cells so that equal values of any two files are equal."""
    if cells.dtype.is_integer() or cells.dtype.is_float():
        return cells.cast(pl.Float64).fill_nan(None) + 0.0
    return cells.cast(pl.String)


@dataclass(frozen=True)
class NearTask:
    """A file in which values and records near to the original ones are counted.

    Attributes:
        compare: The files.
        numeric: The columns of numbers.
        origin, width: The scale of linkage: (x - origin) / width.
        spread: The standard deviation of each column; 0 for a constant one.
        drawn: The staged files with the drawn records of all files.
        sets: The sets of columns that an intruder may know.
    """

    compare: CompareTask
    numeric: tuple[str, ...]
    origin: Floats
    width: Floats
    spread: Floats
    drawn: tuple[Path, ...]
    sets: tuple[tuple[int, ...], ...]


def near(task: NearTask, output: StagedOutput) -> Facts:
    """Count the values of each column within 1 to 10 % of its deviation, and stage the ties of each drawn record."""
    before, after = (
        table.numbers(list(task.numeric), missing="keep", allow_constant=True) for table in task.compare.tables()
    )
    away = np.abs(before - after)
    close = [[int((away[:, j] <= 0.01 * p * task.spread[j]).sum()) for p in PERCENTS] for j in range(away.shape[1])]
    records, owned = (
        (drawn_numbers(task.drawn, suffix) - task.origin) / task.width for suffix in ("-before", "-after")
    )
    points = (after - task.origin) / task.width
    ties = {f"s{i}": file_ties(records, owned, points, list(columns)) for i, columns in enumerate(task.sets)}
    output.write(pl.DataFrame(ties))
    return {"close": close}


def drawn_numbers(bases: Sequence[Path], suffix: str) -> Floats:
    """Return the numbers of the drawn records of all files."""
    return np.concatenate([read_staged(base, suffix).to_numpy() for base in bases])


@dataclass(frozen=True, eq=False)
class ClassesTask:
    """A bucket of tuples: where it is in each staged file. wholes: the records of each value of each column for t."""

    bases: tuple[Path, ...]
    slices: tuple[tuple[int, int], ...]
    compared: int
    wholes: Mapping[int, pl.DataFrame]
    confidential: int


def classes(task: ClassesTask, output: StagedOutput) -> Facts:
    """Return the smallest class of a bucket, its unique records, the sum of its risks, its l and its t."""
    parts = [
        read_staged(base, rows=(start, stop))
        for base, (start, stop) in zip(task.bases, task.slices, strict=True)
        if stop > start
    ]
    nothing: Facts = {"smallest": None, "uniques": 0, "risk": 0.0, "records": 0, "l": None, "t": None}
    tuples = pl.concat(parts).filter(~pl.col(GONE)) if parts else pl.DataFrame()
    if not tuples.height:
        return nothing
    keys = [f"c{j}" for j in range(task.compared)]
    persons = pl.col(UNIT).n_unique() if UNIT in tuples.columns else pl.len()
    counts = tuples.group_by(keys).agg(
        persons.cast(pl.Int64).alias("persons"), pl.len().cast(pl.Int64).alias("records"),
        *(pl.col(f"v{i}").n_unique().cast(pl.Int64).alias(f"l{i}") for i in range(task.confidential)),
    )  # fmt: skip
    label = tuples.select(pl.struct(keys).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    farthest = []
    for i, whole in task.wholes.items():
        ranked = tuples.select(pl.col(f"v{i}").cast(pl.String).alias("value")).join(
            whole.with_row_index("rank"), on="value", how="left", nulls_equal=True, maintain_order="left"
        )
        is_number = tuples[f"v{i}"].dtype == pl.Float64 and whole["value"].null_count() == 0
        farthest.append(
            t_closeness(
                label, ranked["rank"].to_numpy().astype(np.int64), "ordered" if is_number else "equal",
                whole["records"].to_numpy().astype(np.int64),
            )
        )  # fmt: skip
    unique = counts.filter(pl.col("persons") == 1)["records"].sum()
    return {
        "smallest": int(counts["persons"].to_numpy().min()),
        "uniques": int(unique),
        "risk": float((counts["records"] / counts["persons"]).sum()),
        "records": tuples.height,
        "l": [int(counts[f"l{i}"].to_numpy().min()) for i in range(task.confidential)],
        "t": farthest,
    }


@dataclass(frozen=True, eq=False)
class _Assessing:
    original: Files
    released: Files
    staging: Staging
    counts: Sequence[Facts]
    seed: int

    @cached_property
    def rows(self) -> list[int]:
        return [f["rows"] for f in self.counts]

    def run(self) -> Assessment:
        first = self.original.read(self.original.paths[0])
        compared = tuple(dict.fromkeys((*first.quasi_columns(), *first.roles.derived)))
        total = sum(self.rows)
        chosen = sampled_records(total, self.seed)
        tasks = self._tasks(first, compared, chosen, -(-total // BUCKET_ROWS))
        facts = self.staging.run("compare", compare, tasks, ("", "-before", "-after", "-values"))
        self._same(facts, "kinds", "compares")
        self._same(facts, "types", "holds the types")
        known: dict[str, Any] = {}
        left_out = list(LEFT_OUT)
        kinds = facts[0]["kinds"]
        numeric = tuple(name for name, kind in kinds.items() if kind == NUMBER)
        losses = [ChangeOfColumn.total(f["columns"][name] for f in facts).loss for name in facts[0]["columns"]]
        tables = {name: Crosstab.total(f["labels"][name] for f in facts) for name in facts[0]["labels"]}
        losses += [loss for loss in (table.loss for table in tables.values()) if loss is not None]
        if losses:
            known["information_loss"] = total_loss(losses).information_loss
        if tables or any(f["changed"] for f in facts):
            names = facts[0]["changed"]
            known["changed"] = {name: 100.0 * sum(f["changed"][name] for f in facts) / total for name in names}
        if numeric:
            known |= self._of_numbers(tasks, facts, numeric, total)
        known |= self._of_classes(facts, len(compared), first.roles, total, left_out)
        listed = ", ".join(declared_measure(name).shown for name in left_out)
        notice(f"Measures that need all records at once are left out: {listed}. They exist for one file.")
        figures = []
        for measure in declared_measures():
            value = known.get(measure.name)
            if measure.name not in known:
                continue
            if isinstance(value, dict):
                figures += [declared_figure(measure.name, v, total, column=column) for column, v in value.items()]
            elif isinstance(value, Estimate):
                figures.append(declared_figure(measure.name, value.value, total, note=value.note))
            else:
                figures.append(declared_figure(measure.name, value, total))
        return Assessment(figures)

    def _tasks(self, first: Table, compared: tuple[str, ...], chosen: Ints, buckets: int) -> list[CompareTask]:
        ends = np.cumsum([0, *self.rows])
        drawn = [chosen[slice(*np.searchsorted(chosen, [a, b]))] - a for a, b in pairwise(ends)]
        return [
            CompareTask(
                self.original.for_workers, path, self.released.for_workers, target, tuple(first.columns), first.roles,
                compared, buckets, tuple(rows.tolist()),
            )
            for path, target, rows in zip(self.original.paths, self.released.paths, drawn, strict=True)
        ]  # fmt: skip

    def _same(self, facts: Sequence[Facts], key: str, does: str) -> None:
        for name, of_file in zip(self.original.names, facts, strict=True):
            if of_file[key] != facts[0][key]:
                raise InputError(
                    f"{name} {does} {of_file[key]}, but {self.original.names[0]} {facts[0][key]}. All files of a table "
                    "need the same types: give the columns the same type in every file."
                )

    def _of_numbers(
        self, tasks: Sequence[CompareTask], facts: Sequence[Facts], numeric: tuple[str, ...], total: int
    ) -> dict[str, Any]:
        """Return IL1 to IL5, interval disclosure and linkage."""
        sums = ChangeOfNumbers.total(f["numbers"] for f in facts)
        parts = parts_of(sums.il1, sums.before.spread, sums.after.spread)
        known: dict[str, Any] = {"il": parts.il}
        for name in ("il1", "il2", "il3", "il4", "il5"):
            left = parts.left_out.get(name)
            known[name] = Estimate(getattr(parts, name), f"{left} with the original value 0 left out" if left else "")
        constant = sums.plain.constant
        width = np.where(~constant & (sums.deviation > 0), sums.deviation, 1.0)
        sets = [*first_columns(len(numeric), self.seed), list(range(len(numeric)))]
        bases = tuple(self.staging.bases("compare"))
        work = [
            NearTask(task, numeric, sums.plain.low, width, np.where(constant, 0.0, sums.deviation), bases,
                     tuple(map(tuple, sets)))
            for task in tasks
        ]  # fmt: skip
        close = np.sum([f["close"] for f in self.staging.run("near", near, work)], axis=0)[~constant]
        known["interval_disclosure"] = 100.0 * float((close / total).mean(axis=1).mean()) if close.size else 0.0
        frames = [read_staged(base) for base in self.staging.bases("near")]
        credits = [tie_credits(ties_of_all([frame[f"s{i}"].to_numpy() for frame in frames])) for i in range(len(sets))]
        alone = len(numeric) if facts[0]["changed"] else 0
        known["distance_linkage"] = mean_linkage(credits[:-1], total).estimate(alone)
        known["distance_linkage_all_columns"] = mean_linkage(credits[-1:], total).estimate(alone)
        return known

    def _of_classes(
        self, facts: Sequence[Facts], compared: int, roles: Roles, total: int, left_out: list[str]
    ) -> dict[str, Any]:
        """Return k, unique records, the average risk, suppressed records, l and t."""
        bases = tuple(self.staging.bases("compare"))
        values = pl.concat([read_staged(base, "-values") for base in bases])
        wholes = {}
        for i in range(len(roles.confidential)):
            of_column = values.filter(pl.col("column") == i).group_by("value").agg(pl.col("records").sum())
            is_number = facts[0]["types"][-len(roles.confidential) + i] == "Float64"
            by = pl.col("value").cast(pl.Float64) if is_number else pl.col("value")
            wholes[i] = of_column.sort(by, nulls_last=True).select("value", "records")
        fits = all(whole.height <= MOST_VALUES for whole in wholes.values())
        if not fits:
            left_out.append("t")
        ends = np.cumsum([[0] * len(facts), *np.array([f["counts"] for f in facts]).T], axis=0)
        tasks = [
            ClassesTask(bases, tuple((int(a), int(b)) for a, b in zip(start, stop, strict=True)), compared,
                        wholes if fits else {}, len(roles.confidential))
            for start, stop in pairwise(ends)
        ]  # fmt: skip
        counted_ = [f for f in self.staging.run("classes", classes, tasks, ()) if f["smallest"] is not None]
        known: dict[str, Any] = {
            "k": min((f["smallest"] for f in counted_), default=0),
            "uniques": sum(f["uniques"] for f in counted_),
            "average_risk": 100.0 * sum(f["risk"] for f in counted_) / max(sum(f["records"] for f in counted_), 1),
            "suppressed": sum(f["suppressed"] for f in facts),
        }
        if roles.confidential:
            known["l"] = min((min(f["l"]) for f in counted_), default=None)
            if fits:
                known["t"] = max((max(f["t"]) for f in counted_), default=None)
        return known


def ties_of_all(of_files: Sequence[Ints]) -> Ints:
    """Return the records of all files that are as near as the own one, 0 if some record is nearer (see `file_ties`)."""
    beaten = np.any([ties == 0 for ties in of_files], axis=0)
    near_ones = np.sum([np.maximum(ties, 1) - 1 for ties in of_files], axis=0)
    return np.where(beaten, 0, near_ones).astype(np.int64)
