"""What a file says beside its values: metadata of Arrow and Parquet, attributes of SPSS and Stata, headers of gzip.

Arrow's metadata are read from the bytes (the flatbuffers of the Arrow columnar format, version 1), because polars drops
them and pyarrow is not always installed. The gzip header is that of RFC 1952 (Deutsch 1996).
"""

from __future__ import annotations

import base64
import binascii
import importlib
import itertools
import mmap
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import InputError

Metadata = dict[str, str]

SCHEMA = "ARROW:schema"  # in Parquet: the types of the columns, written by every Arrow library
# Metadata of a column that only say its type: polars' categories are checked by themselves.
TYPES = ("_PL_", "PARQUET:field_id", "ARROW:extension:name")
MAGIC = b"ARROW1"
SCHEMA_HEADER = 1  # of a message: it holds a schema
ATTRIBUTES = {17: "attributes of the file", 18: "attributes of columns"}  # subtypes of an SPSS record
ROLE = re.compile(rb"[^:/]+:\$@Role\('[0-9]'\s*\)")
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16  # flags of a gzip header


def arrow_metadata(path: Path) -> Metadata:
    """The metadata of an Arrow file or stream: of its schema, its columns, its messages and its footer."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            return _foreign(_arrow_pairs(content))
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise InputError(f"The release {path} cannot be read: its Arrow metadata are damaged.") from error


def parquet_metadata(pairs: Mapping[str, str]) -> Metadata:
    """The metadata of a Parquet file, `pairs` as the file has them: also those of its columns, inside the schema."""
    found = list(pairs.items())
    try:
        found += _arrow_pairs(base64.b64decode(pairs.get(SCHEMA, ""), validate=True))
    except (binascii.Error, struct.error, IndexError, UnicodeDecodeError):
        found.append(("an Arrow schema that cannot be read", ""))
    return _foreign(found)


def schema_metadata(schema: Any) -> Metadata:
    """The metadata of a schema of pyarrow."""
    return _foreign(_arrow_pairs(memoryview(schema.serialize())))


def categories(path: Path, suffix: str) -> dict[str, list[Any]] | None:
    """The categories that the dictionary columns of an Arrow or Parquet file declare; None without pyarrow."""
    try:
        table = _dictionaries(path, suffix)
    except ImportError:
        return None
    found: dict[str, list[Any]] = {}
    for name in table.column_names:
        found |= column_categories(name, table.column(name))
    return found


def column_categories(name: str, column: Any) -> dict[str, list[Any]]:
    """The categories of a column of pyarrow, also inside lists and records, in whichever chunk they are declared."""
    found: dict[str, list[Any]] = {}
    for chunk in column.chunks:
        for leaf, values in _dictionary_leaves(name, chunk):
            found.setdefault(leaf, []).extend(values)
    return found


def _dictionary_leaves(name: str, array: Any) -> Iterator[tuple[str, list[Any]]]:
    """The dictionaries of an array of pyarrow; a part of a record is named after it."""
    if hasattr(array, "dictionary"):
        yield name, array.dictionary.to_pylist()
    elif hasattr(array, "field"):  # a record
        for i in range(array.type.num_fields):
            yield from _dictionary_leaves(f"{name}.{array.type.field(i).name}", array.field(i))
    elif hasattr(array, "values") and hasattr(array.type, "value_type"):  # a list
        yield from _dictionary_leaves(name, array.values)


def labelled_metadata(path: Path, suffix: str) -> Metadata:
    """What SPSS and Stata files have beside values and labels, and pyreadstat does not tell: attributes of any kind."""
    if suffix == ".dta":
        return _characteristics(path.read_bytes())
    return _attributes(path.read_bytes()) if suffix in (".sav", ".zsav") else {}


def unpacked(raw: bytes) -> tuple[bytes, Metadata]:
    """The content of a gzip file, and what the headers of its members say beside it."""
    content, found = [], Metadata()
    while raw:
        found |= _gzip_header(raw)
        member = zlib.decompressobj(wbits=31)
        content.append(member.decompress(raw) + member.flush())
        if not member.eof:
            raise EOFError("the compressed file ends before its end")
        raw = member.unused_data.lstrip(b"\0")
    return b"".join(content), found


def _foreign(pairs: list[tuple[str, str]]) -> Metadata:
    return {key: value for key, value in pairs if key != SCHEMA}


# -- Arrow ---------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A table of a flatbuffer: where it begins, and in which bytes."""

    content: Any
    place: int

    def _field(self, number: int) -> int | None:
        """Where a field of the table stands; None if the table does not have it."""
        rows = self.place - _int(self.content, self.place)
        size = struct.unpack_from("<H", self.content, rows)[0]
        offset = struct.unpack_from("<H", self.content, rows + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
        return self.place + offset if offset else None

    def part(self, number: int) -> _Part | None:
        place = self._field(number)
        return None if place is None else _Part(self.content, place + _int(self.content, place))

    def parts(self, number: int) -> Iterator[_Part]:
        listed = self.part(number)
        for i in range(0 if listed is None else _int(self.content, listed.place)):
            place = listed.place + 4 + 4 * i  # type: ignore[union-attr]
            yield _Part(self.content, place + _int(self.content, place))

    def text(self, number: int) -> str:
        found = self.part(number)
        if found is None:
            return ""
        start = found.place + 4
        return bytes(self.content[start : start + _int(self.content, found.place)]).decode("utf-8", errors="replace")

    def number(self, number: int, form: str) -> int:
        place = self._field(number)
        return 0 if place is None else int(struct.unpack_from(form, self.content, place)[0])


def _arrow_pairs(content: Any) -> list[tuple[str, str]]:
    """Keys and values in the order of the file; those of a column name it."""
    found: list[tuple[str, str]] = []
    if bytes(content[:6]) == MAGIC:
        footer = _root(content, len(content) - 10 - _int(content, len(content) - 10))
        found += [*_pairs(footer, 4), *_of_schema(footer.part(1))]
        messages = _blocks(content, footer)
    else:
        messages = _stream(content, 0)
    for message in messages:
        found += _pairs(message, 4)
        if message.number(1, "<B") == SCHEMA_HEADER:
            found += _of_schema(message.part(2))
    return found


def _blocks(content: Any, footer: _Part) -> Iterator[_Part]:
    """The messages of a file: the schema before the others, then those that the footer lists."""
    if _int(content, 8) == -1:  # polars writes this schema in a form of its own, and the footer has the same one
        yield from itertools.islice(_stream(content, 8), 1)
    for number in (2, 3):  # dictionaries, then records
        listed = footer.part(number)
        for i in range(0 if listed is None else _int(content, listed.place)):
            place = struct.unpack_from("<q", content, listed.place + 4 + 24 * i)[0]  # type: ignore[union-attr]
            yield from itertools.islice(_stream(content, place), 1)


def _stream(content: Any, place: int) -> Iterator[_Part]:
    """The messages of a stream, one after another, until the mark of its end."""
    while place + 8 <= len(content):
        size = _int(content, place)
        place += 4
        if size == -1:  # since Arrow 0.15 a mark stands before the size
            size = _int(content, place)
            place += 4
        if size <= 0:
            return
        message = _root(content, place)
        yield message
        place += size + message.number(3, "<q")


def _of_schema(schema: _Part | None) -> list[tuple[str, str]]:
    if schema is None:
        return []
    return [*_pairs(schema, 2), *(pair for field in schema.parts(1) for pair in _of_field(field, ""))]


def _of_field(field: _Part, above: str) -> Iterator[tuple[str, str]]:
    name = above + field.text(0)
    for key, value in _pairs(field, 6):
        if not key.startswith(TYPES):
            yield f"{key} of the column {name}", value
    for child in field.parts(5):
        yield from _of_field(child, f"{name}.")


def _pairs(part: _Part, number: int) -> list[tuple[str, str]]:
    return [(pair.text(0), pair.text(1)) for pair in part.parts(number)]


def _root(content: Any, place: int) -> _Part:
    return _Part(content, place + _int(content, place))


def _int(content: Any, place: int) -> int:
    return int(struct.unpack_from("<i", content, place)[0])


def _dictionaries(path: Path, suffix: str) -> Any:
    """The dictionary columns of a file as a table of pyarrow."""
    arrow, ipc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.ipc")
    if suffix in (".parquet", ".pq"):
        with importlib.import_module("pyarrow.parquet").ParquetFile(path) as opened:
            return opened.read(_dictionary_columns(opened.schema_arrow))
    with arrow.memory_map(str(path)) as source:
        in_file = source.read(6) == MAGIC
        source.seek(0)
        reader = ipc.open_file(source) if in_file else ipc.open_stream(source)
        names = _dictionary_columns(reader.schema)
        return reader.read_all().select(names) if names else arrow.table({})


def _dictionary_columns(schema: Any) -> list[str]:
    return [field.name for field in schema if "dictionary<" in str(field.type)]  # also inside lists and records


# -- SPSS and Stata ------------------------------------------------------------------------------


def _characteristics(raw: bytes) -> Metadata:
    """The characteristics of a Stata file since version 13: text of any kind, of the file or of a column."""
    found = raw.partition(b"<characteristics>")[2].partition(b"</characteristics>")[0]
    return {"characteristics": f"{len(found)} bytes"} if found else {}


def _attributes(raw: bytes) -> Metadata:
    """The attributes of an SPSS file and of its columns (records of type 7), but for the role that SPSS itself adds."""
    header = raw.partition(b"\xe7\x03\0\0\0\0\0\0")[0]  # record 999 stands before the values
    found = Metadata()
    for subtype, what in ATTRIBUTES.items():
        _, mark, rest = header.partition(struct.pack("<iii", 7, subtype, 1))
        size = struct.unpack_from("<i", rest)[0] if mark and len(rest) > 4 else 0
        text = ROLE.sub(b"", rest[4 : 4 + size]).strip(b"/\n\0 ")
        if text:
            found[what] = f"{len(text)} bytes"
    return found


# -- gzip ----------------------------------------------------------------------------------------


def _gzip_header(raw: bytes) -> Metadata:
    """What the header of a gzip member names: the packed file, its time, a comment, other fields."""
    if raw[:2] != b"\x1f\x8b" or len(raw) < 10:
        raise InputError("The release is not a gzip file, or something follows its compressed part.")
    flags, time = raw[3], struct.unpack_from("<I", raw, 4)[0]
    found = {"time in the gzip header": str(time)} if time else Metadata()
    place = 10
    if flags & FEXTRA:
        size = struct.unpack_from("<H", raw, place)[0] if len(raw) > place + 1 else 0
        found["extra field in the gzip header"] = raw[place + 2 : place + 2 + size].hex()
        place += 2 + size
    for flag, what in ((FNAME, "file name in the gzip header"), (FCOMMENT, "comment in the gzip header")):
        if flags & flag:
            end = raw.find(b"\0", place)
            found[what] = raw[place:end].decode("latin-1")
            place = end + 1
    return found
