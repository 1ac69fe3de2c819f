"""Files in and out: the ending of the name decides the format (`format`), and a write is all or nothing.

A file is written under another name in the same folder, flushed to the disk, and put in place in
one step; whatever goes wrong, an existing file stays as it was and nothing half-written is left.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.atomic import atomically as atomically
from shoal.atomic import check_folder
from shoal.errors import InputError, UsageError
from shoal.notices import notice
from shoal.sources.format import Format, TextOptions, Write
from shoal.sources.format import format_of as format_of
from shoal.sources.paths import file_named
from shoal.table.frames import wrap
from shoal.table.source import FileSource


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
    options = TextOptions(delimiter, encoding, decimal)
    given = {option: value for option, value in asdict(options).items() if value is not None}
    for option, value in given.items():
        if option not in form.options:
            why = f"is not used for {path.suffix} files" if option == "encoding" else "is for text files such as .csv"
            raise UsageError(f"{option}={value!r} {why}: leave it out")
    if path.stat().st_size == 0:
        raise InputError(f"The file {path} is empty. It needs a header line and at least one record.")
    source = form.read(path, options)
    if source.frame.height == 0:
        raise InputError(
            f"the file {path} has no rows, only the columns {', '.join(source.frame.columns)}: a line a record is "
            "needed"
        )
    return source.frame, replace(source, sha256=checksum(path), asked=given)


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
    if not form.warns_of_loss and source is not None and source.labels is not None:
        lost = [name for name in table.columns if name in source.labels.values]
        if lost:
            notice(f"{path.suffix} keeps no value labels: {', '.join(lost)} hold codes")
    with atomically(path) as temporary:
        _writer(form, path)(table, temporary, path, source, protected)
        if check is not None:
            check(temporary)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> Path:
    """The path if a file can be written there and it is none of the inputs; an error otherwise, before any work."""
    path = Path(path)
    form = format_of(path)
    _writer(form, path)
    if form.check is not None:
        form.check()
    check_place(path, *inputs)
    return path


def _writer(form: Format, path: Path) -> Write:
    if form.write is None:
        ways = " or ".join(f"{path.stem}{ending}" for ending in form.instead or (".csv", ".parquet"))
        raise UsageError(f"{path.suffix} files can be read but not written: write {ways}")
    return form.write


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


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file.")
    if not path.exists():
        near: list[str] = []
        if path.parent.is_dir():
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1, cutoff=0.6)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
        raise InputError(f"There is no file {path}.{hint}")
    if not os.access(path, os.R_OK):
        raise InputError(f"Cannot read {path}: its permissions forbid it.")


def _in_one_form(table: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """The table with 0.0 for -0.0 and null for NaN in some columns: they are equal, and readers tell them apart."""
    return pl.DataFrame([_one_form(c) if c.name in names and c.dtype.is_float() else c for c in table.get_columns()])


def _one_form(column: pl.Series) -> pl.Series:
    # Not by adding 0.0, which polars takes for no change.
    return column.set((column == 0).fill_null(False), 0.0).fill_nan(None)


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
