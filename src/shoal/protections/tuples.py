"""The distinct tuples of some columns over all files, with their numbers of records.

    look       the first file: its columns, its roles and the protected columns
    group      a file: its distinct tuples, counted, and the type of each column
    joined     the driver: the tuples of all files, counted, in the order of the first record that has each

What only depends on the tuples and their counts is then the same as for one file with all records, and the driver never
holds the records. The new cells go back to the files by value, file by file (`cells_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.arrays import Bools, Ints
from shoal.errors import InputError, PromiseError, UsageError
from shoal.folders.columns import check_checksums, same_columns
from shoal.folders.staging import Facts, StagedOutput, Staging, read_staged
from shoal.folders.writing import Rows
from shoal.protections.units import UNIT, hashed_units
from shoal.protections.values import check_types, has_negative_zero, warn_of_identifiers
from shoal.sources.files import as_polars, checksum
from shoal.sources.reading import refuse_roles
from shoal.sources.scanning import Files
from shoal.table.frames import wrap
from shoal.table.roles import Roles
from shoal.table.table import Table

RECORDS, ROW, TUPLE = "records", "row", "tuple"
SCHEMA = "-schema"  # the suffix of an empty file with the types of the cells, which stays when the cells are removed
MOST_TUPLES = 5_000_000
MERGED = 2_000_000  # tuples that are collected before they are counted together
Kinds = dict[str, pl.DataType]


def column(j: int) -> str:
    """Return the staged name of column j."""
    return f"x{j}"


@dataclass(frozen=True)
class LookTask:
    """What the first file is looked at for: the protected columns of a command."""

    files: Files
    quasi: tuple[str, ...]
    command: str


def look(task: LookTask, output: StagedOutput) -> Facts:
    """Return the columns, the resolved roles and the protected columns of the first file."""
    table = task.files.read(task.files.paths[0])
    table = table.with_roles(replace(table.roles, quasi=task.quasi) if task.quasi else table.roles)
    if table.source is not None and table.source.labels is not None:
        raise UsageError(
            f"{task.files.names[0]} may have value labels, which a folder of files does not support. Convert the files "
            "to Parquet or CSV first."
        )
    names = table.quasi_columns(to_protect=True)
    refuse_roles(table, task.command, ("derived",))
    check_types(table, names, task.command)
    warn_of_identifiers(table, names)
    return {"columns": table.columns, "roles": table.roles.as_dict(), "names": list(names)}


@dataclass(frozen=True)
class GroupTask:
    """A file whose tuples are counted.

    Attributes:
        files: The files.
        path: The file.
        columns: The columns of the first file.
        roles: The roles of the run.
        names: The columns of the tuples.
        quasi: Those of them that must not have missing values, unless `gaps` is "category".
        gaps: How missing values are handled: error or category.
        by_row: Whether the tuple of each row is staged too.
        units: Whether the unit of each row is staged too, if there is a unit column.
    """

    files: Files
    path: Path
    columns: tuple[str, ...]
    roles: Roles
    names: tuple[str, ...]
    quasi: tuple[str, ...]
    gaps: str
    by_row: bool = False
    units: bool = False


def group(task: GroupTask, output: StagedOutput) -> Facts:
    """Stage the distinct tuples of a file with their counts, and return its rows, its checksum and its types."""
    cells, facts = cells_of_file(task)
    keys = cells.columns
    counted = cells.with_row_index(ROW).group_by(keys).agg(pl.len().cast(pl.Int64).alias(RECORDS), pl.col(ROW).min())
    counted = counted.sort(ROW).with_columns(pl.col(ROW).cast(pl.Int64))
    output.write(counted)
    if task.by_row:
        numbered = counted.select(*keys, pl.int_range(pl.len(), dtype=pl.Int32).alias(TUPLE))
        of_row = cells.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
        output.write(of_row.select(TUPLE), "-rows")
    return {**facts, "tuples": counted.height}


def read(task: GroupTask, output: StagedOutput) -> Facts:
    """Stage the cells of a file, and return its rows, its checksum and its types."""
    cells, facts = cells_of_file(task)
    output.write(cells)
    output.write(cells[:0], SCHEMA)
    return facts


def cells_of_file(task: GroupTask) -> tuple[pl.DataFrame, Facts]:
    """Return the cells of the columns of a file, with its rows, its checksum and its types."""
    sha256 = checksum(task.path)
    table = same_columns(task.files.read(task.path, Roles()), task)
    try:
        table.with_missing(task.gaps, task.quasi, dict.fromkeys(task.quasi, "value"))
        for name in task.names:
            if table[name].kind == "number":
                table[name].check_finite()
    except InputError as error:
        raise InputError(f"{task.path.name}: {error}") from None
    raw = [as_polars(table.frame)[name] for name in task.names]
    units = hashed_units(table) if task.units else None
    return staged_cells(table, task.names).with_columns(*([] if units is None else [pl.Series(UNIT, units)])), {
        "rows": table.rows,
        "sha256": sha256,
        "empty": [series.null_count() == series.len() for series in raw],
        "negative_zero": [has_negative_zero(wrap(table.frame)[name]) for name in task.names],
        "nan": [s.dtype.is_float() and bool(s.is_nan().any()) for s in raw],
        "null": [s.null_count() > 0 for s in raw],
        "kinds": [kind_of(series.dtype) for series in raw],
    }


def kind_of(dtype: pl.DataType) -> str:
    """Return what the values of a type have in common with those of others: number, text, or the type itself."""
    if dtype.is_float() or dtype.is_integer():
        return "number"
    return "text" if dtype == pl.String else str(dtype)


def staged_cells(table: Table, names: Sequence[str]) -> pl.DataFrame:
    """Return the cells of some columns so that equal values are equal: one zero, one missing number."""
    frame = as_polars(table.frame)
    cells = []
    for j, name in enumerate(names):
        series = frame[name]
        if series.dtype.is_float():
            series = series.cast(pl.Float64).fill_nan(None) + 0.0
        elif series.dtype == pl.Categorical:
            series = series.cast(pl.String)
        cells.append(series.rename(column(j)))
    return pl.DataFrame(cells)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The tuples or the cells of every file, staged, and what the files have in common.

    Attributes:
        files: The files.
        staging: The staged results.
        columns: The columns of the files.
        roles: Their roles.
        names: The protected columns.
        all_names: The columns of the tuples: the protected and further ones.
        rows: The rows of each file.
        facts: What the stage of the files returned for each file.
        kinds: The type of each column of the tuples in all files.
    """

    files: Files
    staging: Staging
    columns: tuple[str, ...]
    roles: Roles
    names: tuple[str, ...]
    all_names: tuple[str, ...]
    rows: Rows
    facts: list[Facts]
    kinds: tuple[pl.DataType, ...]

    def any(self, flag: str, name: str) -> bool:
        """Return whether a fact holds for a column in some file."""
        place = self.all_names.index(name)
        return any(facts[flag][place] for facts in self.facts)


def grouped(
    files: Files,
    staging: Staging,
    command: str,
    quasi: Sequence[str],
    *,
    also: str = "",
    gaps: str,
    by_row: bool = False,
    within: Sequence[str] = (),
    by: Callable[[GroupTask, StagedOutput], Facts] = group,
) -> Grouped:
    """Count the tuples of each file.

    Args:
        also: The role whose columns are part of the tuples, too.
        by: The stage of the files: `group` counts the tuples, `read` stages the cells.
    """
    [first] = staging.run("look", look, [LookTask(files.for_workers, tuple(quasi), command)], ())
    roles, names = Roles(**first["roles"]), tuple(first["names"])
    names = tuple(name for name in names if name not in within)
    more = [*within, *(getattr(roles, also) if also else ())]
    all_names = (*names, *(name for name in more if name in first["columns"]))
    tasks = [
        GroupTask(files.for_workers, path, tuple(first["columns"]), roles, all_names, names, gaps, by_row, by is read)
        for path in files.paths
    ]
    stage = by.__name__
    schema = SCHEMA if by is read else ""
    facts = staging.run(stage, by, tasks, ("", "-rows") if by_row else tuple(dict.fromkeys(("", schema))))
    rows = Rows(tuple(f["rows"] for f in facts), tuple(f["sha256"] for f in facts))
    check_checksums(files, rows.sha256)
    schemas = [read_staged(base, schema, rows=(0, 0)).schema for base in staging.bases(stage)]
    kinds = _common(files, all_names, facts, schemas)
    return Grouped(files, staging, tuple(first["columns"]), roles, names, all_names, rows, facts, kinds)


def _common(
    files: Files, names: Sequence[str], facts: Sequence[Facts], schemas: Sequence[pl.Schema]
) -> tuple[pl.DataType, ...]:
    """Return the type of each column in all files; raise an error if a column holds values of different kinds."""
    common = []
    for j, name in enumerate(names):
        filled = [i for i, f in enumerate(facts) if not f["empty"][j]] or [0]
        kinds = [facts[i]["kinds"][j] for i in filled]
        for i, kind in zip(filled, kinds, strict=True):
            if kind != kinds[0]:
                raise InputError(
                    f"{files.names[i]}: the column {name!r} holds values of the type {kind}, but {kinds[0]} in "
                    f"{files.names[filled[0]]}. All files of a table need the same types: correct the file, or give "
                    "the column the same type in every file."
                )
        types = [schemas[i][column(j)] for i in filled]
        if kinds[0] != "number" or len(set(types)) == 1:
            common.append(types[0])
        else:
            common.append(pl.Int64() if all(t.is_integer() for t in types) else pl.Float64())
    return tuple(common)


def typed(frame: pl.DataFrame, kinds: Sequence[pl.DataType]) -> pl.DataFrame:
    """Return staged cells in the types that all files have in common."""
    empty = [frame[column(j)].null_count() == frame.height for j in range(len(kinds))]
    return frame.with_columns(
        pl.lit(None, dtype=kind).alias(column(j)) if gone else pl.col(column(j)).cast(kind)
        for j, (kind, gone) in enumerate(zip(kinds, empty, strict=True))
    )


@dataclass(frozen=True)
class TuplesTask:
    """Where the tuples of each file are, and how they become those of all files; a part of it is picklable."""

    bases: tuple[Path, ...]
    first: tuple[int, ...]
    kinds: tuple[pl.DataType, ...]

    @property
    def keys(self) -> list[str]:
        return [column(j) for j in range(len(self.kinds))]

    def of_file(self, number: int) -> pl.DataFrame:
        """Return the tuples of a file; its rows are counted from those of the first file."""
        frame = typed(read_staged(self.bases[number]), self.kinds)
        return frame.with_columns(pl.col(ROW) + self.first[number])

    def joined(self) -> pl.DataFrame:
        """Return the tuples of all files with their counts, in the order of their first records."""
        whole = pl.concat(self._counted()) if self.bases else pl.DataFrame()
        whole = self._together(whole).sort(ROW)
        if whole.height > MOST_TUPLES:
            raise UsageError(
                f"The columns have {whole.height:,} distinct tuples, and a search holds {MOST_TUPLES:,}. "
                "Name fewer quasi-identifiers, or make their values coarser first: ages in years, dates in months."
            )
        return whole

    def _counted(self) -> Iterator[pl.DataFrame]:
        """Yield tuples, those of several files counted together."""
        parts: list[pl.DataFrame] = []
        for number in range(len(self.bases)):
            parts.append(self.of_file(number))
            if sum(part.height for part in parts) > MERGED:
                parts = [self._together(pl.concat(parts))]
        yield from parts

    def _together(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.group_by(self.keys).agg(pl.col(RECORDS).sum(), pl.col(ROW).min())


def tuples_task(grouped_files: Grouped) -> TuplesTask:
    """Return where the tuples of each file are."""
    bases = tuple(grouped_files.staging.bases("group"))
    return TuplesTask(bases, grouped_files.rows.first, grouped_files.kinds)


def table_of(tuples: pl.DataFrame, names: Sequence[str], quasi: Sequence[str], roles: Roles) -> tuple[Table, Ints]:
    """Return a table with one row per tuple, and the number of records that each row stands for."""
    frame = tuples.select(pl.col(column(j)).alias(name) for j, name in enumerate(names))
    kept = Roles(
        quasi=tuple(quasi),
        confidential=tuple(name for name in roles.confidential if name in names),
        order={name: values for name, values in roles.order.items() if name in names},
        nominal=tuple(name for name in roles.nominal if name in names),
        numeric=tuple(name for name in roles.numeric if name in names),
    )
    numbering = tuples[ROW].to_numpy().astype(np.int64) + 1
    return Table(frame, kept, numbering=numbering), tuples[RECORDS].to_numpy().astype(np.int64)


def of_values(tuples: pl.DataFrame, j: int, cells: NDArray[Any]) -> pl.DataFrame:
    """Return each value of a column with its new cell, from the new cell of each tuple."""
    return pl.DataFrame([tuples[column(j)].rename("value"), pl.Series("cell", cells, dtype=pl.String)]).unique("value")


def cells_of(values: pl.Series, new: pl.DataFrame, name: str) -> NDArray[Any]:
    """Return the new cell of each value of a file. A value that no other stage has seen is an error."""
    return np.array(looked_up(values, new, "cell", name).to_list(), dtype=object)


def looked_up(values: pl.Series, known: pl.DataFrame, what: str, name: str) -> pl.Series:
    """Return what is known of each value of a column. A value that no other stage has seen is an error."""
    joined = pl.DataFrame([values.rename("value")]).join(
        known.with_columns(seen=pl.lit(True)), on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    if joined["seen"].null_count():
        raise PromiseError(
            f"Nothing was written. The staged categories lack a value of the column {name!r}. Delete the staging "
            "folder, find out what writes into it, and run again."
        )
    return joined[what]


def among(cells: pl.DataFrame, tuples: pl.DataFrame) -> Bools:
    """Return which rows have one of the tuples."""
    marked = cells.join(
        tuples.with_columns(inside=pl.lit(True)), on=tuples.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return np.asarray(marked["inside"].fill_null(False).to_numpy(), dtype=bool)
