"""Files in and out: the format is told by the name's ending, and a write is all or nothing.

A file is written under another name in the same folder, flushed to the disk, and put in place in
one step; whatever goes wrong, an existing file stays as it was and nothing half-written is left.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import stat
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.atomic import atomically as atomically
from shoal.atomic import check_folder
from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.sources import csv as delimited
from shoal.sources import labelled
from shoal.sources.paths import file_named
from shoal.table.frames import check_names, wrap
from shoal.table.source import FileSource


@dataclass(frozen=True)
class Format:
    """A file format by its name's endings."""

    name: str
    endings: tuple[str, ...]
    family: str
    writable: bool = True


FORMATS = (
    Format("csv", (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), "text"),
    Format("parquet", (".parquet", ".pq"), "columns"),
    Format("arrow", (".arrow", ".feather", ".ipc"), "columns"),
    Format("sav", (".sav", ".zsav"), "labelled"),
    Format("por", (".por",), "labelled"),
    Format("dta", (".dta",), "labelled"),
    Format("xpt", (".xpt",), "labelled"),
    Format("sas7bdat", (".sas7bdat",), "labelled", writable=False),
)


def read_file(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
) -> tuple[pl.DataFrame, FileSource]:
    """The typed frame of a file, and what the file said beyond it."""
    path = file_named(path)
    _check_readable(path)
    form = format_of(path)
    for option, value in (("delimiter", delimiter), ("decimal", decimal)):
        if value is not None and form.family != "text":
            raise UsageError(
                f"{option}={value!r} is for text files such as .csv, and {path.name} is none: leave it out"
            )
    if encoding is not None and form.family == "columns":
        raise UsageError(f"encoding={encoding!r} is not used for {path.suffix} files: leave it out")
    if path.stat().st_size == 0:
        raise InputError(f"the file {path} is empty: a line of column names and a line a record are needed")
    if form.family == "text":
        source = delimited.read(path, delimiter=delimiter, encoding=encoding, decimal=decimal)
    elif form.family == "labelled":
        source = labelled.read(path, form.name, encoding)
    else:
        frame = _read_columns(path, form)
        check_names(frame.columns)
        source = FileSource(path, form.name, _without_index(frame, path))
    if source.frame.height == 0:
        raise InputError(
            f"the file {path} has no rows, only the columns {', '.join(source.frame.columns)}: a line a record is "
            "needed"
        )
    given = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    asked = {option: value for option, value in given.items() if value is not None}
    return source.frame, replace(source, sha256=checksum(path), asked=asked)


def write_file(
    frame: Any,
    path: str | os.PathLike[str],
    source: FileSource | None = None,
    *,
    protected: Collection[str] = (),
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write a frame of any kind; columns that `source` knows and that are unchanged are written as they were read.

    protected: columns that are written in one canonical form even where their values did not change, since the text
    that came in ('1.0', '1.00', '+1', '-0') would distinguish records with equal values.
    check: called with the written file before it is put in place; if it raises, nothing is left behind.
    """
    path = Path(path)
    check_target(path)
    form = format_of(path)
    table = _in_one_form(as_polars(frame), protected)
    if form.family != "labelled" and source is not None and source.labels is not None:
        lost = [name for name in table.columns if name in source.labels.values]
        if lost:
            warnings.warn(
                f"{path.suffix} keeps no value labels: {', '.join(lost)} hold codes", ShoalWarning, stacklevel=3
            )
    with atomically(path) as temporary:
        if form.family == "text":
            delimited.write(table, temporary, path.name, source, protected)
        elif form.family == "labelled":
            labelled.write(table, temporary, path, form.name, source, protected)
        elif form.name == "parquet":
            _with_used_categories(table).write_parquet(temporary)
        else:
            _with_used_categories(table).write_ipc(temporary, compression="uncompressed")
        if check is not None:
            check(temporary)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> Path:
    """The path if a file can be written there and it is none of the inputs; an error otherwise, before any work."""
    path = Path(path)
    form = format_of(path)
    if not form.writable:
        raise UsageError(f"{path.suffix} files can be read but not written: write {path.stem}.xpt or {path.stem}.sav")
    if form.family == "labelled":
        labelled.library()
    check_place(path, *inputs)
    return path


def check_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> Path:
    """The path if any file, whatever its format, can be written there and it is none of the inputs."""
    path = Path(path)
    for given in inputs:
        if path.exists() and os.path.exists(given) and os.path.samefile(path, given):
            raise UsageError(f"the output {path} is the input {given} itself: the original is never overwritten")
    if path.is_dir():
        raise UsageError(f"the output {path} is a folder: add the name of a file, such as {path / 'release.csv'}")
    folder = path.parent
    if not folder.exists():
        raise UsageError(f"cannot write {path}: there is no folder {folder}; create it first")
    if not folder.is_dir():
        raise UsageError(f"cannot write {path}: {folder} is a file, not a folder")
    if path.exists() and not (stat.S_ISREG(path.stat().st_mode) and os.access(path, os.W_OK)):
        raise UsageError(f"cannot write {path}: it is no file that may be replaced")
    try:
        check_folder(path)
    except OSError as error:
        raise UsageError(f"cannot write in the folder {folder}: {error.strerror}") from error
    return path


def check_distinct(
    written: Mapping[str, str | os.PathLike[str] | None], read: Mapping[str, str | os.PathLike[str] | None]
) -> None:
    """An error now, before any work, if a file that is to be written is also read, or is named twice.

    The keys say what each path is for. Links are resolved: two names of one file are one file.
    """
    known: list[tuple[str, Path]] = [(name, Path(path)) for name, path in read.items() if path is not None]
    for name, path in ((name, Path(path)) for name, path in written.items() if path is not None):
        for other, earlier in known:
            if _same_file(path, earlier):
                raise UsageError(f"{name} and {other} are the same file, {path}: name two files.")
        known.append((name, path))


def _same_file(one: Path, two: Path) -> bool:
    if one.exists() and two.exists():
        return os.path.samefile(one, two)
    return os.path.realpath(file_named(one)) == os.path.realpath(file_named(two))


def checksum(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def format_of(path: Path) -> Format:
    """The format that a file's name tells."""
    name = path.name.lower()
    for form in FORMATS:
        if name.endswith(form.endings):
            return form
    known = ", ".join(ending for form in FORMATS for ending in form.endings)
    hint = " Save the workbook's sheet as CSV first." if name.endswith((".xlsx", ".xls", ".ods")) else ""
    what = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
    raise UsageError(f"{path}: {what} tells no format that is known.{hint} Known endings are {known}")


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file")
    if not path.exists():
        near: list[str] = []
        if path.parent.is_dir():
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1, cutoff=0.6)
        hint = f"; did you mean {path.parent / near[0]}?" if near else ""
        raise InputError(f"there is no file {path}{hint}")
    if not os.access(path, os.R_OK):
        raise InputError(f"the file {path} may not be read: its permissions forbid it")


def _read_columns(path: Path, form: Format) -> pl.DataFrame:
    try:
        with open(path, "rb") as file:  # not by its name, which polars would take for a pattern or an address
            if form.name == "parquet":
                return pl.read_parquet(file)
            try:
                return pl.read_ipc(file)
            except pl.exceptions.ComputeError:
                file.seek(0)
                return pl.read_ipc_stream(file)  # the same ending is used for both of Arrow's layouts
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"the file {path} cannot be read as {form.name}: {first}") from error


def _without_index(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The frame without an index that pandas stored as a column: row numbers are no data to protect or release."""
    index = [name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)]
    if index:
        warnings.warn(f"the index that pandas stored in {path.name} is left out", ShoalWarning, stacklevel=4)
    return frame.drop(index)


def _in_one_form(table: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """The table with 0.0 for -0.0 and null for NaN in some columns: they are equal, and readers tell them apart."""
    return pl.DataFrame([_one_form(c) if c.name in names and c.dtype.is_float() else c for c in table.get_columns()])


def _one_form(column: pl.Series) -> pl.Series:
    # Not by adding 0.0, which polars takes for no change.
    return column.set((column == 0).fill_null(False), 0.0).fill_nan(None)


def _with_used_categories(table: pl.DataFrame) -> pl.DataFrame:
    """The table with the categories that records have: a file would list the others too, original values among them."""
    types = {column.name: _used_type(column) for column in table.get_columns()}
    return pl.DataFrame([c if c.dtype == types[c.name] else _cast(c, types[c.name]) for c in table.get_columns()])


def _cast(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    try:
        return column.cast(dtype)
    except pl.exceptions.InvalidOperationError:  # polars casts no Enum inside an Array
        return pl.Series(column.name, column.to_list(), dtype=dtype)


def _used_type(column: pl.Series) -> pl.DataType:
    """The type of a column, its Enums without the categories that no record has."""
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        return pl.Enum(column.unique().sort().drop_nulls().to_list())
    if isinstance(dtype, pl.List):
        return pl.List(_used_type(column.explode()))
    if isinstance(dtype, pl.Array):
        return pl.Array(_used_type(column.explode()), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct([pl.Field(part.name, _used_type(column.struct.field(part.name))) for part in dtype.fields])
    return dtype


def as_polars(frame: Any) -> pl.DataFrame:
    """A frame of any kind as one of polars, for writing."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        return wrap(frame).to_polars()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"writing this kind of frame needs {error.name}: pip install {error.name}, or pass a polars frame"
        ) from error
    except Exception as error:
        if type(error).__module__.startswith(("pyarrow", "polars")):
            raise InputError(f"a column cannot be written: {str(error).splitlines()[0]}") from error
        raise
