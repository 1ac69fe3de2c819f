"""Reading and writing files: the ending of the name decides the format (`format`), and a write is all or nothing.

Shoal writes a file under a temporary name in the same folder, flushes it to the disk and renames it in one step. If
anything goes wrong, an existing file stays unchanged and no partial file is left.
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
from shoal.errors import EmptyFileError, InputError, UsageError
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
    """Read the typed data frame of a file, and what the file contains besides it."""
    path = file_named(path)
    _check_readable(path)
    form = format_of(path)
    options = TextOptions(delimiter, encoding, decimal)
    text_options = {option: value for option, value in asdict(options).items() if value is not None}
    for option, value in text_options.items():
        if option not in form.options:
            reason = (
                f"{path.suffix} files do not use it" if option == "encoding" else "only text files such as .csv use it"
            )
            raise UsageError(f"{option}={value!r} has no effect: {reason}. Remove it.")
    if path.stat().st_size == 0:
        raise EmptyFileError(f"The file {path} is empty. It needs a header line and at least one record.")
    source = form.read(path, options)
    if source.frame.height == 0:
        raise EmptyFileError(
            f"The file {path} has no records, only the columns {', '.join(source.frame.columns)}. Add one line per "
            "record."
        )
    return source.frame, replace(source, sha256=checksum(path), text_options=text_options)


def write_file(
    frame: Any,
    path: str | os.PathLike[str],
    source: FileSource | None = None,
    *,
    protected: Collection[str] = (),
    check: Callable[[Path], None] | None = None,
) -> None:
    """Write a data frame of any library; unchanged columns of `source` are written as they were read.

    Args:
        frame: The data frame.
        path: The file to write.
        source: The file that the data were read from.
        protected: Columns that are written in canonical form even if their values did not change, because the texts
            of the input ('1.0', '1.00', '+1', '-0') would distinguish records with equal values.
        check: Called with the written file before it gets its name; if it raises an error, no file is left.
    """
    path = Path(path)
    check_target(path)
    form = format_of(path)
    table = _in_one_form(as_polars(frame), protected)
    if not form.warns_of_loss and source is not None and source.labels is not None:
        of_column = source.labels.values
        lost = [name for name in table.columns if not set(of_column.get(name, ())).isdisjoint(table[name].unique())]
        if lost:
            hold = "holds" if len(lost) == 1 else "hold"
            notice(f"{path.suffix} files cannot keep value labels: {', '.join(lost)} {hold} codes without labels.")
    with atomically(path) as temporary:
        _writer(form, path)(table, temporary, path, source, protected)
        if check is not None:
            check(temporary)


def check_target(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> Path:
    """Return the path if a file can be written there and it is not an input; otherwise raise an error at once."""
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
        raise UsageError(f"Shoal can read {path.suffix} files but not write them. Write {ways} instead.")
    return form.write


def check_place(path: str | os.PathLike[str], *inputs: str | os.PathLike[str]) -> Path:
    """Return the path if a file of any format can be written there and it is not an input; else raise an error."""
    path = Path(path)
    for source in inputs:
        if path.exists() and os.path.exists(source) and os.path.samefile(path, source):
            raise UsageError(
                f"The output {path} is the input {source}. Shoal never overwrites the original: choose another name."
            )
    if path.is_dir():
        raise UsageError(f"The output {path} is a folder. Add the name of a file, such as {path / 'release.csv'}.")
    folder = path.parent
    if not folder.exists():
        raise UsageError(f"Cannot write {path}: the folder {folder} does not exist. Create it first.")
    if not folder.is_dir():
        raise UsageError(f"Cannot write {path}: {folder} is a file, not a folder.")
    if path.exists() and not (stat.S_ISREG(path.stat().st_mode) and os.access(path, os.W_OK)):
        raise UsageError(f"Cannot write {path}: it exists and is not a regular file.")
    try:
        check_folder(path)
    except OSError as error:
        raise UsageError(f"Cannot write in the folder {folder}: {error.strerror}.") from error
    return path


def check_distinct(
    written: Mapping[str, str | os.PathLike[str] | None], read: Mapping[str, str | os.PathLike[str] | None]
) -> None:
    """Raise an error before any work if an output is also an input, or if two outputs are the same file.

    The keys say what each path is for. Links are resolved, so two names of one file count as one file.
    """
    known: list[tuple[str, Path]] = [(name, Path(path)) for name, path in read.items() if path is not None]
    for name, path in ((name, Path(path)) for name, path in written.items() if path is not None):
        for other, earlier in known:
            if _same_file(path, earlier):
                raise UsageError(f"{name} and {other} are the same file, {path}. Name two files.")
        known.append((name, path))


def _same_file(one: Path, two: Path) -> bool:
    if one.exists() and two.exists():
        return os.path.samefile(one, two)
    return os.path.realpath(file_named(one)) == os.path.realpath(file_named(two))


def checksum(path: str | os.PathLike[str]) -> str:
    """The SHA-256 checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder. Name a file.")
    if not path.exists():
        near: list[str] = []
        if path.parent.is_dir():
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1, cutoff=0.6)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
        raise InputError(f"There is no file {path}.{hint}")
    if not os.access(path, os.R_OK):
        raise InputError(f"Cannot read {path}: you do not have permission.")


def _in_one_form(table: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """The table with 0.0 for -0.0 and null for NaN in some columns, because a reader could distinguish these."""
    return pl.DataFrame([_one_form(c) if c.name in names and c.dtype.is_float() else c for c in table.get_columns()])


def _one_form(column: pl.Series) -> pl.Series:
    zeros = (column == 0).fill_null(False)
    if not zeros.any() and not column.is_nan().any():  # a large file should not be copied
        return column
    # Adding 0.0 would not work: polars treats it as no change.
    return column.set(zeros, 0.0).fill_nan(None)


def as_polars(frame: Any) -> pl.DataFrame:
    """Convert a data frame of any library to polars, for writing."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        return wrap(frame).to_polars()
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Writing this data frame needs {error.name}. Run: pip install {error.name}. Or pass a polars frame."
        ) from error
    except Exception as error:
        if type(error).__module__.startswith(("pyarrow", "polars")):
            raise InputError(f"A column cannot be written: {str(error).splitlines()[0]}.") from error
        raise
