"""Delimited text files: detects delimiter, encoding and decimal separator, and writes unchanged cells as they were.

Every cell is read as text. A column holds numbers only if all its cells are numbers, except for empty cells and the
usual markers for missing values. A column with leading zeros holds codes and stays text. Shoal keeps the text of
numbers, so that an unchanged '1.50' is written as '1.50'.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, UsageError, counted
from shoal.notices import notice
from shoal.sources.format import Format, TextOptions
from shoal.table.cells import MARKERS, NUMBERS
from shoal.table.frames import check_names
from shoal.table.source import Dialect, FileSource

ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
DELIMITERS = (",", ";", "\t", "|")
_GROUPED = f"^{NUMBERS[',']}$"
_CHUNK = 1 << 24


def read(path: Path, options: TextOptions) -> FileSource:
    """Read a text file into a typed data frame, and keep the text that the types lose."""
    delimiter, decimal = options.delimiter, options.decimal
    raw, encoding = _decoded(_bytes(path), options.encoding, path)
    raw, newline = _lines(raw, path)
    if not raw.strip():
        raise InputError(f"The file {path} is empty. It needs a header line and at least one record.")
    delimiter = _delimiter(raw, path) if delimiter is None else _named(delimiter)
    if decimal not in (None, ".", ","):
        raise UsageError(f"decimal must be '.' or ',', not {decimal!r}.")
    header = _header(raw, delimiter, path)
    if len(header) > 1:  # in a file of one column, an empty line is a missing value
        raw = raw.rstrip(b"\r\n")
    records = _check_shape(raw, delimiter, len(header), path)
    _check_quotes(raw, delimiter, path)
    text = _cells(raw, delimiter, header, records, path)
    decimal, columns = _typed(text, decimal, delimiter)
    _tell_markers({c.values.name: c.markers for c in columns if c.markers}, path)
    return FileSource(
        path,
        "csv",
        pl.DataFrame([c.values for c in columns]),
        cells={c.values.name: text[c.values.name] for c in columns if c.keep},
        markers={c.values.name: c.markers for c in columns if c.markers},
        dialect=Dialect(delimiter, encoding, decimal, newline),
    )


def write(
    frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str] = ()
) -> None:
    """Write a data frame as text, in the format of the input if that was a text file too.

    Unchanged columns keep their text. The `protected` columns get the canonical text of their values.
    """
    dialect = _dialect(target.name.lower(), source)
    columns = []
    for column in frame.get_columns():
        if column.name not in protected and source is not None and source.has_text(column):
            column = source.cells[column.name]
        elif column.dtype.is_float() and dialect.decimal == ",":
            column = column.cast(pl.String).str.replace(".", ",", literal=True)
        elif column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
            raise InputError(
                f"The column {column.name!r} ({column.dtype}) cannot be written as text. Write a .parquet file."
            )
        check_no_zeros(column, "text")
        columns.append(column)
    if len(columns) == 1:
        content = _lines_of_one(columns[0], dialect, columns[0].name in protected)
    else:
        buffer = io.BytesIO()
        pl.DataFrame(columns).write_csv(buffer, separator=dialect.delimiter, line_terminator=dialect.newline)
        content = buffer.getvalue()
    encoded = content if dialect.encoding == "utf-8" else _encoded(content, dialect.encoding)
    with open(path, "wb") as file:
        if target.name.lower().endswith(".gz"):
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
                packed.write(encoded)
        else:
            file.write(encoded)


def _lines_of_one(column: pl.Series, dialect: Dialect, is_protected: bool) -> bytes:
    """The lines of a file of one column, with quotes around a cell that would be a blank line.

    Many programs skip a blank line. A missing value is a blank line in an unchanged column, and an empty text in quotes
    in a protected column.
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    elif column.dtype != pl.String:  # as polars writes them; only an unusual delimiter needs quotes
        texts = column.to_frame().write_csv(include_header=False, quote_style="never").split("\n")[:-1]
        column = pl.Series(column.name, texts).set(column.is_null(), None)
    cells = pl.concat([pl.Series([column.name]), column.alias("")])
    odd = cells.str.contains_any([dialect.delimiter, '"', "\n", "\r"]) | (cells.str.strip_chars() == "")
    quoted = '"' + cells.str.replace_all('"', '""', literal=True) + '"'
    lines = quoted.zip_with(odd.fill_null(False), cells).fill_null('""' if is_protected else "")
    return "".join(f"{line}{dialect.newline}" for line in lines).encode()


def check_no_zeros(column: pl.Series, form: str) -> None:
    """Raise an error that names the row if a text has a zero byte, which files of this format cannot hold."""
    if column.dtype != pl.String:
        return
    has_zero = column.str.contains("\0", literal=True).fill_null(False)
    if has_zero.any():
        raise InputError(
            f"The column {column.name!r} has a zero byte in row {int(has_zero.arg_max() or 0) + 1}, which {form} files "
            "cannot hold. Remove it, or write a .parquet file."
        )


# -- bytes to lines ------------------------------------------------------------------------------


def _bytes(path: Path) -> bytes:
    raw = path.read_bytes()
    if not path.name.lower().endswith(".gz"):
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError) as error:
        raise InputError(f"Cannot unpack the file {path}: {error}.") from error


def _decoded(raw: bytes, encoding: str | None, path: Path) -> tuple[bytes, str]:
    """The file in UTF-8, and its original encoding."""
    if encoding is not None:
        name = _encoding_named(encoding)
        try:
            text = raw.decode(name).lstrip("\ufeff").encode()
        except UnicodeDecodeError as error:
            line = _line(raw, error.start)
            raise InputError(f"Line {line} of {path} is not in the encoding {encoding}: {error.reason}.") from error
        except UnicodeError as error:  # such as half of a surrogate pair, or the codec 'undefined'
            raise InputError(f"The file {path} is not in the encoding {encoding}: {error}.") from error
        _check_zeros(text, path)
        return text, name
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if raw.startswith(mark):
            return _decoded(raw, name, path)[0], name
    for known, what in ((b"PK\x03\x04", "a ZIP archive or Excel workbook"), (b"PAR1", "a Parquet file")):
        if raw.startswith(known):
            raise InputError(
                f"The file {path} is {what}, although its name ends in {path.suffix!r}. Rename it or save it as CSV."
            )
    wide = _wide(raw[:4096])
    if wide:
        return _decoded(raw, wide, path)[0], wide
    _check_zeros(raw, path)
    for name in ("utf-8", "cp1252", "latin-1"):
        try:
            decoded = raw.decode(name)
        except UnicodeDecodeError:
            continue
        break
    if name == "utf-8":
        return raw, name
    strange = sum(c < " " and c not in "\t\r\n\f" for c in decoded[:65536])
    if strange:
        raise InputError(f"The file {path} is not text: it begins with {counted(strange, 'control character')}.")
    return decoded.encode(), name


def _check_zeros(raw: bytes, path: Path) -> None:
    """Raise an error that names the line of a zero byte, because some programs end a text there."""
    if b"\0" in raw:
        line = _line(raw, raw.index(0))
        raise InputError(f"The file {path} is not text: it has zero bytes, the first in line {line}.")


NOT_FOR_FILES = {
    "idna": "it is for names of internet domains",
    "punycode": "it is for names of internet domains",
    "unicode-escape": "it is for source code of Python",
    "raw-unicode-escape": "it is for source code of Python",
}


def _encoding_named(encoding: str) -> str:
    """Return the standard name of the encoding of a text file. Python also has codecs that no file is written in."""
    try:
        name = codecs.lookup(encoding).name
        "a".encode(name)
    except (LookupError, UnicodeError, ValueError) as error:
        raise UsageError(f"Unknown encoding {encoding!r}. Use utf-8, utf-16, cp1252 or latin-1.") from error
    if name in NOT_FOR_FILES:
        raise UsageError(
            f"{encoding!r} is not an encoding of text files: {NOT_FOR_FILES[name]}. Use utf-8, utf-16, cp1252 or "
            "latin-1."
        )
    return name


def _wide(start: bytes) -> str | None:
    """The kind of UTF-16 without a byte order mark, in which every second byte of plain letters and digits is zero."""
    half = len(start) // 2
    first, second = start[::2].count(0), start[1::2].count(0)
    if half and second > 0.7 * half and first < 0.1 * half:
        return "utf-16-le"
    if half and first > 0.7 * half and second < 0.1 * half:
        return "utf-16-be"
    return None


def _lines(raw: bytes, path: Path) -> tuple[bytes, str]:
    """The lines without leading empty lines and without the last line end, and the line end of the file."""
    raw, newline = _line_ends(raw, path) if b"\r" in raw else (raw, "\n")
    return raw.lstrip(b"\r\n").removesuffix(b"\n").removesuffix(b"\r"), newline


def _line_ends(raw: bytes, path: Path) -> tuple[bytes, str]:
    """The lines and their common line end; an error that names the line if a carriage return may be part of a cell.

    Within quotes, it is part of the cell. Outside of quotes, some programs drop it and some end the line there.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    returns, feeds = (_outside(np.flatnonzero(data == ord(sign)), quotes) for sign in "\r\n")
    if not returns.size:
        return raw, "\n"
    if not feeds.size:  # old Mac files
        lines = data.copy()
        lines[returns] = ord("\n")
        return lines.tobytes(), "\r"
    lone = returns[(returns == data.size - 1) | (data[np.minimum(returns + 1, data.size - 1)] != ord("\n"))]
    if lone.size:
        raise InputError(
            f"Line {_line(raw, lone[0])} of {path} has a carriage return outside quotes that does not end the line. "
            "Programs read it in different ways. Remove it, or put the cell in quotes."
        )
    bare = feeds[(feeds == 0) | (data[np.maximum(feeds - 1, 0)] != ord("\r"))]
    if bare.size:
        few = returns.size <= bare.size
        place, ends = (returns[0], "a carriage return and a line feed") if few else (bare[0], "a line feed alone")
        raise InputError(
            f"Line {_line(raw, place)} of {path} ends in {ends}, unlike most lines. If the carriage return is part of "
            "a cell, put the cell in quotes; if not, give all lines the same end (dos2unix does)."
        )
    return raw, "\r\n"


def _outside(places: NDArray[np.int64], quotes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions that are not inside quotes."""
    return places[np.searchsorted(quotes, places) % 2 == 0] if quotes.size else places


def _line(raw: bytes, place: int) -> int:
    return raw.count(b"\n", 0, place) + 1


def _named(delimiter: str) -> str:
    delimiter = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(delimiter, delimiter)
    if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
        raise UsageError(f"The delimiter must be one character such as , ; | or tab, not {delimiter!r}.")
    return delimiter


def _delimiter(raw: bytes, path: Path) -> str:
    """The character that splits the first lines into the same number of cells, more than one."""
    start = raw[: 1 << 18].decode("utf-8", errors="ignore")
    # The delimiter of a file of one column must not occur in it: its numbers may have a decimal comma.
    best, score = next((sign for sign in DELIMITERS if sign not in start), ","), (False, 0)
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    for sign in ("\t", *DELIMITERS) if tabs else DELIMITERS:
        rows = _first_rows(start, sign, 200)
        rows = rows[:-1] if len(start) < len(raw) and len(rows) > 1 else rows
        width = len(rows[0])
        sign_score = (width > 1 and all(len(row) == width for row in rows), width)
        if sign_score > score and width > 1:
            best, score = sign, sign_score
    return "\t" if tabs and not score[0] else best


@contextlib.contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Let Python's csv module read cells of more than 131,072 characters."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _first_rows(text: str, delimiter: str, most: int) -> list[list[str]]:
    try:
        with cells_of_any_length():
            return list(itertools.islice(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), most))
    except csv.Error:  # a cell without an end: the check of all lines names it
        return [text.split("\n", 1)[0].split(delimiter)]


def _header(raw: bytes, delimiter: str, path: Path) -> list[str]:
    names = [name.strip() for name in _first_rows(raw[: 1 << 20].decode("utf-8", errors="ignore"), delimiter, 1)[0]]
    if "" in names:
        place = names.index("") + 1
        ways = {
            len(names): "remove the delimiter at the end of each line",
            1: "write the file without row names (R: row.names = FALSE, pandas: index=False)",
        }
        hint = f", or {ways[place]}" if place in ways else ""
        raise InputError(f"Column {place} of {path} has no name in the first line. Give it one{hint}.")
    check_names(names)
    if all(name.replace(".", "", 1).replace("-", "", 1).isdigit() for name in names):
        notice(
            f"The first line of {path} has only numbers, but Shoal reads it as the names of the columns. "
            "If it is a record, add a line of names above it."
        )
    return names


def _check_shape(raw: bytes, delimiter: str, width: int, path: Path) -> int:
    """The number of records; an error that names the line if one does not have as many cells as the first line.

    A quote opens or closes a quoted cell. Delimiters and line ends between two quotes are part of the cell.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    open_quote, carried, records = 0, 0, 0
    for start in range(0, data.size, _CHUNK):
        part = data[start : start + _CHUNK]
        split, ends = part == ord(delimiter), part == ord("\n")
        quotes = part == ord('"')
        if open_quote or quotes.any():
            inside = (np.cumsum(quotes, dtype=np.int32) + open_quote) & 1
            split &= inside == 0
            ends &= inside == 0
            open_quote = int(inside[-1])
        places = np.flatnonzero(ends)
        before = np.searchsorted(np.flatnonzero(split), places)
        counts = np.diff(before, prepend=-carried)
        wrong = np.flatnonzero(counts != width - 1)
        if wrong.size:
            _ragged(raw, start + int(places[wrong[0]]), int(counts[wrong[0]]) + 1, width, path)
        records += places.size
        carried = int(split.sum()) - (int(before[-1]) if places.size else -carried)
    if open_quote:
        line = raw[: raw.rfind(b'"')].count(b"\n") + 1
        raise InputError(f'The last quote (") of {path}, in line {line}, is opened but never closed.')
    if carried != width - 1:
        _ragged(raw, len(raw), carried + 1, width, path)
    return records


def _check_quotes(raw: bytes, delimiter: str, path: Path) -> None:
    """Raise an error that names the line if programs differ in how they interpret a quote.

    A cell that begins with a quote is quoted as a whole, and quotes within it are doubled. Another cell may contain
    pairs of quotes, which are text.
    """
    data = np.frombuffer(raw, dtype=np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    if not quotes.size:
        return
    opening, closing = quotes[::2], quotes[1::2]
    edge = np.zeros(256, dtype=bool)
    edge[[ord(delimiter), ord("\n"), ord("\r"), ord('"')]] = True
    is_start = (opening == 0) | edge[data[np.maximum(opening - 1, 0)]]
    is_end = (closing == data.size - 1) | edge[data[np.minimum(closing + 1, data.size - 1)]]
    odd = np.sort(np.concatenate([opening[~is_start], closing[~is_end]]))
    if not odd.size:
        return
    splits = np.flatnonzero((data == ord(delimiter)) | (data == ord("\n")) | (data == ord("\r")))
    splits = np.concatenate([[-1], splits, [data.size]])
    after = np.searchsorted(splits, odd)
    start, end = splits[after - 1] + 1, splits[after]
    whole = (np.searchsorted(quotes, start) % 2 == 0) & (np.searchsorted(quotes, end) % 2 == 0)
    wrong = np.flatnonzero(~whole | (data[start] == ord('"')))
    if wrong.size:
        raise InputError(
            f'Line {_line(raw, odd[wrong[0]])} of {path} has a quote (") inside a cell in quotes that is not doubled, '
            'or text beside the quotes. Write such a cell as "say ""yes"" here", with every inner quote twice.'
        )


def _ragged(raw: bytes, end: int, cell_count: int, width: int, path: Path) -> None:
    start = raw.rfind(b"\n", 0, end) + 1
    line = raw[:start].count(b"\n") + 1
    what = "is empty" if not raw[start:end].strip() else f"has {counted(cell_count, 'cell')}"
    raise InputError(
        f"Line {line} of {path} {what}, but the first line has {width}. Correct a missing or extra delimiter or quote "
        "in this line, or set another delimiter (--delimiter)."
    )


def _cells(raw: bytes, delimiter: str, header: list[str], records: int, path: Path) -> pl.DataFrame:
    if records == 0:
        return pl.DataFrame({name: pl.Series([], dtype=pl.String) for name in header})
    try:
        ended = raw if len(header) > 1 else raw + b"\n"
        text = pl.read_csv(ended, separator=delimiter, infer_schema=False, new_columns=header, quote_char='"')
    except pl.exceptions.PolarsError as error:
        raise InputError(f"Cannot read the cells of {path}: {str(error).splitlines()[0]}.") from error
    if text.height != records or text.width != len(header):
        raise InputError(
            f"The quotes in {path} are not balanced in each cell: {records} records, but {text.height} were read."
        )
    return text


# -- text to numbers -----------------------------------------------------------------------------


class _Typed(NamedTuple):
    values: pl.Series
    keep: bool = False  # the text contains more than the values
    markers: tuple[str, ...] = ()


def _typed(text: pl.DataFrame, decimal: str | None, delimiter: str) -> tuple[str, list[_Typed]]:
    """The typed columns, and the decimal separator: a comma if more columns need it than need the point."""
    if decimal == ",":
        return ",", [_column(c, ",") for c in text.get_columns()]
    columns = [_column(c, ".") for c in text.get_columns()]
    if decimal == "." or delimiter == ",":
        return ".", columns
    words = [c.values for c in columns if c.values.dtype == pl.String]
    by_comma = sum(map(_mostly_by_comma, words))
    by_point = sum(
        c.values.dtype == pl.Float64 and not text[c.values.name].str.contains(_GROUPED).all() for c in columns
    )
    if by_comma > by_point:
        return ",", [_column(c, ",") for c in text.get_columns()]
    return ".", columns


def _mostly_by_comma(text: pl.Series) -> bool:
    """Whether most cells are numbers if the decimal separator is a comma; a later check reports the other cells."""
    bare = text.str.strip_chars()
    fits = bare.str.contains(_GROUPED)
    commas = fits & bare.str.contains(",", literal=True)
    return bool(commas.any()) and 2 * int(fits.sum()) > text.len() - text.null_count()


def _column(text: pl.Series, decimal: str) -> _Typed:
    """A text column as whole numbers or as numbers, if possible; otherwise unchanged."""
    clean, markers = text, tuple[str, ...]()
    if decimal == ",":
        clean = _with_point(text)
    values = _cast(clean)
    if values is None:
        clean, markers = _without_markers(clean)
        values = _cast(clean)
    if values is None or values.null_count() == values.len():
        return _Typed(_dates(text))
    if values.dtype == pl.Int64 and bool(values.cast(pl.String).eq_missing(text).all()):
        return _Typed(values)
    if clean.str.contains(r"^\s*[+-]?0[0-9]").any():
        return _Typed(text)  # leading zeros: a code
    if values.dtype == pl.Float64 and clean.str.contains(r"^\s*[+-]?[0-9]+\s*$").all():
        return _Typed(text)  # whole numbers too long for 64 bits: a code
    return _Typed(values, True, markers)


def _dates(text: pl.Series) -> pl.Series:
    """A text column as dates if all its cells are ISO dates, which is also how dates are written."""
    if text.null_count() == text.len() or not bool(text.str.contains(ISO_DATE).fill_null(True).all()):
        return text
    dates = text.str.to_date("%Y-%m-%d", strict=False)
    return dates if dates.null_count() == text.null_count() else text


def _cast(text: pl.Series) -> pl.Series | None:
    """The column as Int64 or Float64 if every cell that is not missing is a number."""
    for dtype in (pl.Int64, pl.Float64):
        values = text.cast(dtype, strict=False)
        if values.null_count() == text.null_count() and not (dtype == pl.Float64 and values.is_nan().any()):
            return values
    return None


def _without_markers(text: pl.Series) -> tuple[pl.Series, tuple[str, ...]]:
    """The cells without surrounding blanks and with null for markers of missing values, and the markers that occur."""
    bare = text.str.strip_chars()
    marked = bare.str.to_lowercase().is_in(MARKERS)
    markers = tuple(sorted(bare.filter(marked).unique().drop_nulls().to_list()))
    missing = (marked | (bare == "")).fill_null(True)
    return bare.set(missing, None), markers


def _with_point(text: pl.Series) -> pl.Series:
    """Numbers with a decimal comma (and points between thousands) as numbers with a point; other cells unchanged."""
    bare = text.str.strip_chars()
    point = bare.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    fits = bare.str.contains(_GROUPED)
    # A cell with a decimal point is not a number here, but would be read as one later.
    other = bare.str.replace(r"^[+-]?[0-9]*\.[0-9]+.*$", "text: $0")
    return pl.DataFrame({"fits": fits, "point": point, "other": other}).select(
        pl.when("fits").then("point").otherwise("other").alias(text.name)
    )[text.name]


def _tell_markers(markers: dict[str, tuple[str, ...]], path: Path) -> None:
    if markers:
        columns = ", ".join(f"{name} ({', '.join(marks)})" for name, marks in markers.items())
        notice(f"Some texts in columns of numbers of {path.name} were read as missing: {columns}.")


# -- writing -------------------------------------------------------------------------------------


def _dialect(name: str, source: FileSource | None) -> Dialect:
    dialect = source.dialect if source is not None and source.dialect is not None else None
    tabs = name.removesuffix(".gz").endswith(".tsv")
    if dialect is None:
        return Dialect("\t" if tabs else ",")
    if tabs and dialect.delimiter != "\t":
        return Dialect("\t", dialect.encoding, dialect.decimal, dialect.newline)
    return dialect


def _encoded(content: bytes, encoding: str) -> bytes:
    try:
        return content.decode().encode(encoding)
    except UnicodeEncodeError as error:
        sign = error.object[error.start : error.end]
        raise InputError(
            f"The text {sign!r} cannot be written in the encoding of the input, {encoding}. Write a .parquet file."
        ) from error
    except UnicodeError as error:
        raise InputError(f"The table cannot be written in the encoding of the input, {encoding}: {error}.") from error


FORMAT = Format(
    name="csv",
    title="text",
    endings=(".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
    read=read,
    write=write,
    keeps="the text of unchanged columns; delimiter, encoding and decimal separator, which are detected or set with "
    "`--delimiter`, `--encoding`, `--decimal`",
    loses="value labels; types beyond text and numbers",
    options=("delimiter", "encoding", "decimal"),
)
