"""Read a released file back with independent code: text cells unchanged, columns directly from Parquet or Arrow.

Text becomes numbers only if numbers are expected and every cell is a number. The metadata, the value labels and the
title of a file are kept for the checks.
"""

from __future__ import annotations

import csv
import importlib
import io
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl

from shoal.errors import InputError, UsageError, counted
from shoal.gate import metadata as file_metadata
from shoal.gate.cells import MANY
from shoal.sources.csv import cells_of_any_length
from shoal.sources.files import as_polars
from shoal.table.frames import check_names, wrap

TEXT_FILES = (".csv", ".tsv", ".txt")
LABELLED = {".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta", ".xpt": "read_xport"}
MISSING = ("", "na", "n/a", "nan", "null", ".", "?")  # texts that stand for a missing number
COMMA = r"^[+-]?(([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?$"
QUOTED = rb'"[^"]*"'


@dataclass(frozen=True, eq=False)
class Written:
    """A released file: its cells, and what it stores besides them.

    Attributes:
        frame: The columns.
        metadata: The metadata by name.
        labels: The value labels of each column.
        letters: The letters for missing values in Stata columns that records have.
        categories: The categories that dictionary columns declare; None if they could not be read.
        missing: The columns with codes that the file declares missing.
        blanks: Whether the format does not distinguish empty text from missing text.
        tolerance: The relative tolerance of numbers in the format.
        text: The cells as other programs see them: of a text file, and Stata texts with trailing blanks.
    """

    frame: pl.DataFrame
    metadata: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    letters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    categories: Mapping[str, Sequence[Any]] | None = field(default_factory=dict)
    missing: tuple[str, ...] = ()
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
    """Read a released file.

    Args:
        path: The file.
        like: A frame with the expected columns and types.
        name: The final name, whose ending gives the format, if `path` is a temporary file.
        encoding: The encoding of a text file; detected if it is None.
        delimiter: The delimiter of a text file; detected if it is None.

    Raises:
        InputError: The file cannot be read.
        UsageError: Its format cannot be checked.
    """
    ending = (name or path.name).lower()
    suffix = Path(ending.removesuffix(".gz")).suffix
    try:
        if suffix in TEXT_FILES:
            return _text(path, ending.endswith(".gz"), like, encoding, delimiter)
        if suffix in LABELLED:
            return _labelled(path, suffix)
        if suffix in (".parquet", ".pq"):
            with open(path, "rb") as file:
                frame = _by_column(file, like) if like.height >= MANY else pl.read_parquet(file)
                file.seek(0)
                metadata = file_metadata.parquet_metadata(pl.read_parquet_metadata(file))
            return _columns(path, suffix, frame, metadata)
        if suffix in (".arrow", ".feather", ".ipc"):
            return _columns(path, suffix, _arrow(path), file_metadata.arrow_metadata(path))
    except (pl.exceptions.PolarsError, OSError, EOFError, zlib.error, csv.Error) as error:
        raise InputError(f"The release {path} cannot be read: {str(error).splitlines()[0]}") from error
    raise UsageError(
        f"Cannot check the release {path}: {suffix!r} is not a supported format. Supported: "
        f"{', '.join((*TEXT_FILES, '.parquet', '.pq', '.arrow', '.feather', '.ipc', *LABELLED))}."
    )


def written_of(data: Any) -> Written:
    """Return a data frame as if it had been written: its values, and the metadata that its library stores."""
    index = getattr(data, "index", None)
    has_index = index is not None and type(index).__name__ != "RangeIndex"
    metadata = {"index": "of pandas"} if has_index else {}
    metadata |= {str(key): str(value) for key, value in (getattr(data, "attrs", None) or {}).items()}
    schema = getattr(data, "schema", None)
    if hasattr(schema, "metadata"):  # pyarrow
        metadata |= file_metadata.schema_metadata(schema)
    return Written(frame_of(data), metadata, categories=_categories_of(wrap(data)))


def _categories_of(data: Any) -> dict[str, list[Any]]:
    """Return the categories that columns of pandas and pyarrow declare; those of polars are in the types."""
    categories: dict[str, list[Any]] = {}
    for name in data.columns:
        native = data[name].to_native()
        if data.implementation.is_pandas() and native.dtype == "category":
            categories[name] = native.cat.categories.tolist()
        elif data.implementation.is_pyarrow():
            categories |= file_metadata.column_categories(name, native)
    return categories


def frame_of(data: Any) -> pl.DataFrame:
    """Return any data frame as a polars frame; columns of mixed Python objects become text, as no file stores them."""
    try:
        return as_polars(data)
    except InputError:
        wrapped = wrap(data)
        return pl.DataFrame([_column_of(wrapped[name]) for name in wrapped.columns])


def _column_of(column: Any) -> pl.Series:
    try:
        return column.to_polars()
    except Exception:  # each library raises its own exceptions
        return pl.Series(column.name, [None if v is None else str(v) for v in column.to_list()], dtype=pl.String)


# -- text ----------------------------------------------------------------------------------------


def _text(path: Path, packed: bool, like: pl.DataFrame, encoding: str | None, delimiter: str | None) -> Written:
    """Return the typed columns of a text file, and its cells as text."""
    raw, metadata = file_metadata.unpacked(path.read_bytes()) if packed else (path.read_bytes(), {})
    raw = _utf8(raw, encoding, path)
    if b"\r" in raw:
        raw, ends = _line_ends(raw, path)
        metadata |= ends
    if not raw.strip():
        raise InputError(f"The release {path} is empty. Write it again.")
    delimiter, header = _header(raw, like.columns, delimiter)
    check_names([name for name in header if name])  # a pandas index has no name; the check `columns` reports it
    _check_shape(raw, delimiter, len(header), path)
    options: dict[str, Any] = {"separator": delimiter, "infer_schema": False, "quote_char": '"'}
    cells = pl.read_csv(raw, has_header=True, new_columns=[str(j) for j in range(len(header))], **options)
    texts = [cells.to_series(j).rename(name) for j, name in enumerate(header)]
    filled = texts if len(texts) > 1 else [_missing_in_quotes(texts[0], like)]
    columns = [typed(t, like[t.name].dtype) if t.name in like.columns else _number(t, pl.Float64()) for t in filled]
    return Written(pl.DataFrame(columns), metadata, text=pl.DataFrame(texts))


def _missing_in_quotes(text: pl.Series, like: pl.DataFrame) -> pl.Series:
    """Return a single column with null for empty text, unless empty text is expected.

    In a file with one column, a missing value is written in quotes, because a blank line would be skipped.
    """
    expected = like[text.name] if text.name in like.columns else pl.Series([""])
    is_text = expected.dtype in (pl.String, pl.Categorical, pl.Enum)
    return text if is_text and (expected.cast(pl.String) == "").any() else text.set(text == "", None)


def _line_ends(raw: bytes, path: Path) -> tuple[bytes, dict[str, str]]:
    """Return the file with line feeds between its lines, and a note if its lines have different ends."""
    outside = re.sub(QUOTED, b"", raw)
    returns, both, feeds = (outside.count(sign) for sign in (b"\r", b"\r\n", b"\n"))
    if not feeds:  # old Mac files; within quotes a carriage return is part of a cell
        return re.sub(QUOTED + rb"|\r", lambda match: match[0] if match[0] != b"\r" else b"\n", raw), {}
    if returns > both:
        raise InputError(
            f"The release {path} has a carriage return outside quotes that does not end a line: programs read it in "
            "different ways. Write the file again with such cells in quotes."
        )
    return raw, {"two kinds of line ends": ""} if 0 < both < feeds else {}


def _utf8(raw: bytes, encoding: str | None, path: Path) -> bytes:
    """Return the bytes in UTF-8 without a byte order mark; without an encoding, the first that fits is used."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    marked = next((known for mark, known in marks.items() if raw.startswith(mark)), None)
    start = raw[:4096]
    if marked is None and encoding is None and 3 * start.count(0) > len(start):  # Latin letters in UTF-16 have a zero
        marked = "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
    for known in [name for name in (marked or encoding, "utf-8", "cp1252", "latin-1") if name is not None]:
        try:
            text = raw.decode(known).lstrip("\ufeff").encode()
        except (UnicodeError, LookupError):
            continue
        if b"\0" in text:
            line = text.count(b"\n", 0, text.index(0)) + 1
            raise InputError(
                f"The release {path} has a zero byte in line {line}, where some programs end a text. Write it again."
            )
        return text
    raise InputError(f"The release {path} is not in UTF-8, UTF-16 or Windows-1252. Write it again in UTF-8.")


def _header(raw: bytes, expected: Iterable[str], delimiter: str | None) -> tuple[str, list[str]]:
    """Return the delimiter that splits the first line into most expected names, and the names."""
    start = raw[: 1 << 20].decode("utf-8", errors="ignore")
    known, best = set(expected), (",", [""], -1)
    for sign in [delimiter] if delimiter else (",", ";", "\t", "|"):
        with cells_of_any_length():
            names = [name.strip() for name in next(csv.reader(io.StringIO(start, newline=""), delimiter=sign), [""])]
        hits = sum(name in known for name in names)
        if hits > best[2]:
            best = (sign, names, hits)
    return best[0], best[1]


def _check_shape(raw: bytes, delimiter: str, width: int, path: Path) -> None:
    """Raise an error if a line has more or fewer cells than the first, because its columns are then shifted."""
    if b'"' not in raw:
        data = np.frombuffer(raw, dtype=np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        if not raw.endswith(b"\n"):
            ends = np.append(ends, data.size)
        cells = np.diff(np.searchsorted(np.flatnonzero(data == ord(delimiter)), ends), prepend=0) + 1
        wrong = np.flatnonzero(cells != width)
        if wrong.size:
            raise InputError(_shifted(path, int(wrong[0]) + 1, int(cells[wrong[0]]), width))
        return
    line, rows = 0, csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=delimiter, strict=True)
    try:
        with cells_of_any_length():
            for line, row in enumerate(rows, start=1):
                if len(row) != width and not (width == 1 and not row):
                    raise InputError(_shifted(path, line, len(row), width))
    except csv.Error as error:
        raise InputError(
            f"Record {line + 1} of the release {path} has a quote inside a quoted cell that is not doubled. Programs "
            f"read it in different ways ({error}). Write the file again."
        ) from error


def _shifted(path: Path, line: int, cells: int, width: int) -> str:
    return (
        f"Record {line} of the release {path} has {counted(cells, 'cell')}, but the first one has {width}, so its "
        "columns are shifted. Write the file again, and put cells that contain the delimiter in quotes."
    )


def typed(text: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return a text column in the expected type if every cell can be read in this type, else as text."""
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
    # The mean of whole numbers may be fractional, so floats are tried after the expected type.
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


def _by_column(file: IO[bytes], like: pl.DataFrame) -> pl.DataFrame:
    """Return a Parquet file, read column by column: one that equals the expected column takes no further memory."""
    names = pl.read_parquet(file, n_rows=0).columns
    columns = []
    for place, name in enumerate(names):
        file.seek(0)
        column = pl.read_parquet(file, columns=[place]).to_series()
        expected = like[name] if name in like.columns else None
        columns.append(column if expected is None or not _identical(column, expected) else expected)
    return pl.DataFrame(columns)


def _identical(column: pl.Series, expected: pl.Series) -> bool:
    """Whether two columns have the same type and bits; floats with missing cells and nested types are not compared."""
    dtype = column.dtype
    if dtype != expected.dtype or column.len() != expected.len():
        return False
    if dtype.is_float():
        if column.null_count() or expected.null_count():
            return False
        bits = np.int64 if dtype == pl.Float64 else np.int32
        return np.array_equal(column.to_numpy().view(bits), expected.to_numpy().view(bits))
    plain = dtype.is_integer() or dtype.is_temporal() or dtype in (pl.String, pl.Boolean)
    return plain and column.equals(expected, null_equal=True)


def _arrow(path: Path) -> pl.DataFrame:
    with open(path, "rb") as file:
        try:
            return pl.read_ipc(file)
        except pl.exceptions.ComputeError:
            file.seek(0)
            return pl.read_ipc_stream(file)


def _columns(path: Path, suffix: str, frame: pl.DataFrame, metadata: Mapping[str, str]) -> Written:
    """Return a Parquet or Arrow file. The categories of an Enum are in its type; those of a dictionary need pyarrow."""
    check_names(frame.columns)
    categories = file_metadata.categories(path, suffix)
    if categories is None and pl.Categorical not in frame.dtypes:
        categories = {}
    return Written(frame, metadata, categories=categories)


def _labelled(path: Path, suffix: str) -> Written:
    """Read an SPSS, Stata or SAS file. Codes that are declared missing stay values; letters for missing do not."""
    reader = getattr(importlib.import_module("pyreadstat"), LABELLED[suffix])
    options = {"user_missing": True} if suffix in (".sav", ".zsav") else {}
    try:
        frame, meta = reader(str(path), output_format="polars", **options)
    except Exception as error:  # the library raises its own exceptions and those of decoders
        first = str(error).strip()[:200].splitlines()
        raise InputError(f"The release {path} cannot be read: {''.join(first[:1]) or type(error).__name__}.") from error
    check_names(frame.columns)
    labels = {name: dict(labels) for name, labels in meta.variable_value_labels.items()}
    return Written(
        frame,
        _labelled_metadata(meta) | file_metadata.labelled_metadata(path, suffix),
        labels,
        letters=_letters(path, reader, frame, labels) if suffix == ".dta" else {},
        text=_with_blanks(path, frame) if suffix == ".dta" else None,
        missing=tuple(meta.missing_ranges),
        blanks=True,
        tolerance=1e-12 if suffix in (".por", ".xpt") else 0.0,
    )


def _with_blanks(path: Path, frame: pl.DataFrame) -> pl.DataFrame | None:
    """Return the texts of a Stata file with trailing blanks, which pyreadstat removes; None without pandas."""
    names = [name for name in frame.columns if frame[name].dtype == pl.String]
    try:
        texts = importlib.import_module("pandas").read_stata(path, columns=names, convert_categoricals=False)
        return pl.DataFrame([pl.Series(name, texts[name].tolist(), dtype=pl.String) for name in names])
    except Exception:  # pandas is not installed, or cannot read this version of the format
        return None


def _labelled_metadata(meta: Any) -> dict[str, str]:
    """Return what a labelled file stores besides its columns. Stata keeps value labels of removed columns."""
    used = set(meta.variable_to_label.values())
    described = {"file label": meta.file_label, "notes": "; ".join(meta.notes or ())}
    described |= {"sets of multiple responses": ", ".join(getattr(meta, "mr_sets", None) or ())}
    described |= {f"value labels {name} of no column": "labels" for name in meta.value_labels if name not in used}
    return {key: value for key, value in described.items() if value}


def _letters(
    path: Path, reader: Any, frame: pl.DataFrame, labels: Mapping[str, Mapping[Any, str]]
) -> dict[str, frozenset[str]]:
    """Return the letters for missing values (.a) that records of a Stata file have, in columns that label letters.

    In the frame, these cells are missing.
    """
    numeric = [name for name in labels if frame[name].dtype.is_numeric()]
    names = [name for name in numeric if any(isinstance(value, str) for value in labels[name])]
    if not names:
        return {}
    cells, _ = reader(str(path), output_format="dict", user_missing=True, usecols=names)
    return {name: frozenset(value for value in set(cells[name]) if isinstance(value, str)) for name in names}
