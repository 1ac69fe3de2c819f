"""The released file, read back by a way of its own: text cells as they stand, columns straight from Parquet or Arrow.

Text becomes numbers only where numbers are expected and every cell is one. What a file says beside its values (metadata
of the format, value labels, a title) is kept for the checks.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.files import as_polars
from shoal.data.frames import wrap
from shoal.errors import InputError, UsageError

TEXT_FILES = (".csv", ".tsv", ".txt")
LABELLED = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".xpt": "read_xport"}
MISSING = ("", "na", "n/a", "nan", "null", ".", "?")  # texts that stand for a missing number
COMMA = r"^[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]*)?([eE][+-]?[0-9]+)?$"
HARMLESS = ("ARROW:schema",)  # the types of the columns, written by every Arrow library


@dataclass(frozen=True, eq=False)
class Written:
    """A released file: its cells, and what it says beside them.

    blanks: the format does not tell an empty text from a missing one. tolerance: of its numbers, relative.
    text: the cells of a text file as they stand, for readers that take every column as text.
    """

    frame: pl.DataFrame
    metadata: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    blanks: bool = False
    tolerance: float = 0.0
    text: pl.DataFrame | None = None


def read_written(
    path: Path,
    like: pl.DataFrame,
    *,
    name: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> Written:
    """The file at `path`; `like` has the columns and types that are expected, `name` the ending if the path has not."""
    ending = (name or path.name).lower().removesuffix(".gz")
    suffix = Path(ending).suffix
    try:
        if suffix in TEXT_FILES:
            packed = (name or path.name).lower().endswith(".gz")
            frame, text = _text(path, packed, like, encoding, delimiter)
            return Written(frame, text=text)
        if suffix in LABELLED:
            return _labelled(path, suffix)
        if suffix in (".parquet", ".pq"):
            with open(path, "rb") as file:
                frame = pl.read_parquet(file)
                file.seek(0)
                return Written(frame, _foreign(pl.read_parquet_metadata(file)))
        if suffix in (".arrow", ".feather", ".ipc"):
            return Written(_arrow(path), _foreign(_arrow_metadata(path)))
    except (pl.exceptions.PolarsError, OSError, csv.Error) as error:
        raise InputError(f"the release {path} cannot be read: {str(error).splitlines()[0]}") from error
    raise UsageError(f"the release {path} has an ending that tells no format that can be checked: {suffix!r}")


def frame_of(data: Any) -> pl.DataFrame:
    """A frame of any kind as one of polars; columns of mixed Python objects, which no file can hold, as text."""
    try:
        return as_polars(data)
    except InputError:
        wrapped = wrap(data)
        return pl.DataFrame([_column_of(wrapped[name]) for name in wrapped.columns])


def _column_of(column: Any) -> pl.Series:
    try:
        return column.to_polars()
    except Exception:  # the libraries have kinds of their own
        return pl.Series(column.name, [None if v is None else str(v) for v in column.to_list()], dtype=pl.String)


# -- text ----------------------------------------------------------------------------------------


def _text(
    path: Path, packed: bool, like: pl.DataFrame, encoding: str | None, delimiter: str | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The typed columns of a text file, and its cells as text."""
    raw = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    raw = _utf8(raw, encoding, path)
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")
    if not raw.strip():
        raise InputError(f"the release {path} is empty")
    delimiter, header = _header(raw, like.columns, delimiter)
    _check_shape(raw, delimiter, len(header), path)
    options: dict[str, Any] = {"separator": delimiter, "infer_schema": False, "quote_char": '"'}
    cells = pl.read_csv(raw, has_header=True, new_columns=[str(j) for j in range(len(header))], **options)
    texts = [cells.to_series(j).rename(name) for j, name in enumerate(header)]
    columns = [typed(t, like[t.name].dtype) if t.name in like.columns else _number(t, pl.Float64()) for t in texts]
    try:
        return pl.DataFrame(columns), pl.DataFrame(texts)
    except pl.exceptions.DuplicateError as error:
        raise InputError(f"the release {path} has a column name twice: {', '.join(header)}") from error


def _utf8(raw: bytes, encoding: str | None, path: Path) -> bytes:
    """The bytes in UTF-8, without a mark; the encoding is the first that fits if it is not given."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    found = next((known for mark, known in marks.items() if raw.startswith(mark)), None)
    for known in [name for name in (found or encoding, "utf-8", "cp1252", "latin-1") if name is not None]:
        try:
            return raw.decode(known).lstrip("\ufeff").encode()
        except (UnicodeDecodeError, LookupError):
            continue
    raise InputError(f"the release {path} is in no encoding that is known")


def _header(raw: bytes, expected: Iterable[str], delimiter: str | None) -> tuple[str, list[str]]:
    """The delimiter that splits the first line into the most names that are expected, and the names."""
    start = raw[: 1 << 20].decode("utf-8", errors="ignore")
    known, best = set(expected), (",", [""], -1)
    for sign in [delimiter] if delimiter else (",", ";", "\t", "|"):
        names = [name.strip() for name in next(csv.reader(io.StringIO(start, newline=""), delimiter=sign), [""])]
        hits = sum(name in known for name in names)
        if hits > best[2]:
            best = (sign, names, hits)
    return best[0], best[1]


def _check_shape(raw: bytes, delimiter: str, width: int, path: Path) -> None:
    """An error that names the line if one has more or fewer cells than the first: its columns are shifted."""
    if b'"' not in raw:
        data = np.frombuffer(raw, dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        if not raw.endswith(b"\n"):
            ends = np.append(ends, data.size)
        found = np.diff(np.searchsorted(np.flatnonzero(data == ord(delimiter)), ends), prepend=0) + 1
        wrong = np.flatnonzero(found != width)
        if wrong.size:
            raise InputError(_shifted(path, int(wrong[0]) + 1, int(found[wrong[0]]), width))
        return
    rows = csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=delimiter)
    for line, row in enumerate(rows, start=1):
        if len(row) != width and not (width == 1 and not row):
            raise InputError(_shifted(path, line, len(row), width))


def _shifted(path: Path, line: int, found: int, width: int) -> str:
    return (
        f"record {line} of the release {path} has {found} cells and the first has {width}: its columns are shifted. "
        "Write the file again with cells in quotes where they hold the delimiter"
    )


def typed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """A column of text in the type that is expected, if every cell can be; else as text."""
    if dtype.is_numeric():
        return _number(text, dtype)
    if dtype == pl.Boolean:
        words = text.str.to_lowercase()
        if bool((words.is_in(["true", "false"]) | words.is_null()).all()):
            return words == "true"
    if dtype.is_temporal():
        return _time(text, dtype)
    if dtype == pl.Null and text.null_count() == text.len():
        return text.cast(pl.Null)
    return text


def _number(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    plain = text.cast(dtype, strict=False)
    if plain.null_count() == text.null_count():
        return plain
    bare = text.str.strip_chars()
    bare = bare.set(bare.str.to_lowercase().is_in(MISSING).fill_null(True), None)
    if bool(bare.str.contains(COMMA).all()) and bool(bare.str.contains(",", literal=True).any()):
        bare = bare.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    # A mean of whole numbers is none: floats are tried where the type that is expected does not do.
    for wanted in (dtype, pl.Float64()):
        values = bare.cast(wanted, strict=False)
        if values.null_count() == bare.null_count():
            return values
    return text


def _time(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    try:
        if dtype == pl.Date:
            return text.str.to_date(strict=True)
        if dtype == pl.Time:
            return text.str.to_time(strict=True)
        if isinstance(dtype, pl.Datetime):
            zoned = dtype.time_zone is not None
            moments = text.str.to_datetime(time_unit=dtype.time_unit, time_zone="UTC" if zoned else None, strict=True)
            return moments.cast(dtype)
    except pl.exceptions.PolarsError:
        return text
    return text


# -- columns and labels --------------------------------------------------------------------------


def _arrow(path: Path) -> pl.DataFrame:
    with open(path, "rb") as file:
        try:
            return pl.read_ipc(file)
        except pl.exceptions.ComputeError:
            file.seek(0)
            return pl.read_ipc_stream(file)


def _arrow_metadata(path: Path) -> dict[str, str]:
    """What an Arrow file says beside its columns; told only where pyarrow is there to read it."""
    try:
        ipc = importlib.import_module("pyarrow.ipc")
    except ImportError:
        return {}
    with open(path, "rb") as file:
        opened = ipc.open_file(file) if file.read(6) == b"ARROW1" and not file.seek(0) else None
        metadata = (opened.schema.metadata if opened is not None else None) or {}
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in metadata.items()}


def _foreign(metadata: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in metadata.items() if key not in HARMLESS}


def _labelled(path: Path, suffix: str) -> Written:
    """SPSS, Stata and SAS files: codes that are declared missing stay values, letters for missing values do not."""
    reader = getattr(importlib.import_module("pyreadstat"), LABELLED[suffix])
    options = {"user_missing": True} if suffix in (".sav", ".zsav") else {}
    frame, meta = reader(str(path), output_format="polars", **options)
    told = {"file label": meta.file_label or "", "notes": "; ".join(meta.notes or ())}
    return Written(
        frame,
        {key: value for key, value in told.items() if value},
        {name: dict(labels) for name, labels in meta.variable_value_labels.items()},
        blanks=True,
        tolerance=1e-12 if suffix in (".por", ".xpt") else 0.0,
    )
