"""What a file stores besides its values: metadata of Arrow and Parquet, attributes of SPSS and Stata, gzip headers.

Arrow's metadata are read from the bytes (the flatbuffers of the Arrow columnar format, version 1), because polars drops
them and pyarrow is not always installed. The gzip header follows RFC 1952 (Deutsch 1996).
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
# Metadata that only describe the type of a column. The categories of polars are checked elsewhere.
TYPES = ("_PL_", "PARQUET:field_id", "ARROW:extension:name")
MAGIC = b"ARROW1"
SCHEMA_HEADER = 1  # the type of a message with a schema
ATTRIBUTES = {17: "attributes of the file", 18: "attributes of columns"}  # subtypes of an SPSS record
ROLE = re.compile(rb"[^:/]+:\$@Role\('[0-9]'\s*\)")
FHCRC, FEXTRA, FNAME, FCOMMENT = 2, 4, 8, 16  # flags of a gzip header


def arrow_metadata(path: Path) -> Metadata:
    """Return the metadata of an Arrow file or stream: of its schema, columns, messages and footer."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            return _foreign(_arrow_pairs(content))
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise InputError(f"The release {path} cannot be read: its Arrow metadata are damaged.") from error


def parquet_metadata(pairs: Mapping[str, str]) -> Metadata:
    """Return the metadata of a Parquet file from its key-value pairs, with those of the columns inside the schema."""
    entries = list(pairs.items())
    try:
        entries += _arrow_pairs(base64.b64decode(pairs.get(SCHEMA, ""), validate=True))
    except (binascii.Error, struct.error, IndexError, UnicodeDecodeError):
        entries.append(("an Arrow schema that cannot be read", ""))
    return _foreign(entries)


def schema_metadata(schema: Any) -> Metadata:
    """Return the metadata of a pyarrow schema."""
    return _foreign(_arrow_pairs(memoryview(schema.serialize())))


def categories(path: Path, suffix: str) -> dict[str, list[Any]] | None:
    """Return the categories that dictionary columns of an Arrow or Parquet file declare; None without pyarrow."""
    try:
        table = _dictionaries(path, suffix)
    except ImportError:
        return None
    declared: dict[str, list[Any]] = {}
    for name in table.column_names:
        declared |= column_categories(name, table.column(name))
    return declared


def column_categories(name: str, column: Any) -> dict[str, list[Any]]:
    """Return the categories of a pyarrow column from all its chunks, also those inside lists and structs."""
    declared: dict[str, list[Any]] = {}
    for chunk in column.chunks:
        for leaf, values in _dictionary_leaves(name, chunk):
            declared.setdefault(leaf, []).extend(values)
    return declared


def _dictionary_leaves(name: str, array: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the dictionaries of a pyarrow array; a field of a struct is named struct.field."""
    if hasattr(array, "dictionary"):
        yield name, array.dictionary.to_pylist()
    elif hasattr(array, "field"):  # a struct
        for i in range(array.type.num_fields):
            yield from _dictionary_leaves(f"{name}.{array.type.field(i).name}", array.field(i))
    elif hasattr(array, "values") and hasattr(array.type, "value_type"):  # a list
        yield from _dictionary_leaves(name, array.values)


def labelled_metadata(path: Path, suffix: str) -> Metadata:
    """Return the attributes of SPSS and Stata files, which pyreadstat does not read."""
    if suffix == ".dta":
        return _characteristics(path.read_bytes())
    return _attributes(path.read_bytes()) if suffix in (".sav", ".zsav") else {}


def unpacked(raw: bytes) -> tuple[bytes, Metadata]:
    """Return the content of a gzip file, and the metadata in the headers of its members."""
    content, metadata = [], Metadata()
    while raw:
        metadata |= _gzip_header(raw)
        member = zlib.decompressobj(wbits=31)
        content.append(member.decompress(raw) + member.flush())
        if not member.eof:
            raise EOFError("the compressed file is truncated")
        raw = member.unused_data.lstrip(b"\0")
    return b"".join(content), metadata


def _foreign(pairs: list[tuple[str, str]]) -> Metadata:
    return {key: value for key, value in pairs if key != SCHEMA}


# -- Arrow ---------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A table of a flatbuffer: the bytes, and the position at which it begins."""

    content: Any
    position: int

    def _field(self, number: int) -> int | None:
        """Return the position of a field; None if the table does not have it."""
        rows = self.position - _int(self.content, self.position)
        size = struct.unpack_from("<H", self.content, rows)[0]
        offset = struct.unpack_from("<H", self.content, rows + 4 + 2 * number)[0] if 4 + 2 * number < size else 0
        return self.position + offset if offset else None

    def part(self, number: int) -> _Part | None:
        position = self._field(number)
        return None if position is None else _Part(self.content, position + _int(self.content, position))

    def parts(self, number: int) -> Iterator[_Part]:
        listed = self.part(number)
        for i in range(0 if listed is None else _int(self.content, listed.position)):
            position = listed.position + 4 + 4 * i  # type: ignore[union-attr]
            yield _Part(self.content, position + _int(self.content, position))

    def text(self, number: int) -> str:
        text = self.part(number)
        if text is None:
            return ""
        start = text.position + 4
        return bytes(self.content[start : start + _int(self.content, text.position)]).decode("utf-8", errors="replace")

    def number(self, number: int, form: str) -> int:
        position = self._field(number)
        return 0 if position is None else int(struct.unpack_from(form, self.content, position)[0])


def _arrow_pairs(content: Any) -> list[tuple[str, str]]:
    """Return keys and values in the order of the file; the key of a column's entry names the column."""
    pairs: list[tuple[str, str]] = []
    if bytes(content[:6]) == MAGIC:
        footer = _root(content, len(content) - 10 - _int(content, len(content) - 10))
        pairs += [*_pairs(footer, 4), *_of_schema(footer.part(1))]
        messages = _blocks(content, footer)
    else:
        messages = _stream(content, 0)
    for message in messages:
        pairs += _pairs(message, 4)
        if message.number(1, "<B") == SCHEMA_HEADER:
            pairs += _of_schema(message.part(2))
    return pairs


def _blocks(content: Any, footer: _Part) -> Iterator[_Part]:
    """Yield the messages of a file: first the schema, then those that the footer lists."""
    if _int(content, 8) == -1:  # polars writes this schema in another form, and the footer has the same schema
        yield from itertools.islice(_stream(content, 8), 1)
    for number in (2, 3):  # dictionaries, then records
        listed = footer.part(number)
        for i in range(0 if listed is None else _int(content, listed.position)):
            position = struct.unpack_from("<q", content, listed.position + 4 + 24 * i)[0]  # type: ignore[union-attr]
            yield from itertools.islice(_stream(content, position), 1)


def _stream(content: Any, position: int) -> Iterator[_Part]:
    """Yield the messages of a stream up to the end-of-stream mark."""
    while position + 8 <= len(content):
        size = _int(content, position)
        position += 4
        if size == -1:  # since Arrow 0.15, a mark precedes the size
            size = _int(content, position)
            position += 4
        if size <= 0:
            return
        message = _root(content, position)
        yield message
        position += size + message.number(3, "<q")


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


def _root(content: Any, position: int) -> _Part:
    return _Part(content, position + _int(content, position))


def _int(content: Any, position: int) -> int:
    return int(struct.unpack_from("<i", content, position)[0])


def _dictionaries(path: Path, suffix: str) -> Any:
    """Return the dictionary columns of a file as a pyarrow table."""
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
    return [field.name for field in schema if "dictionary<" in str(field.type)]  # also inside lists and structs


# -- SPSS and Stata ------------------------------------------------------------------------------


def _characteristics(raw: bytes) -> Metadata:
    """Return the characteristics of a Stata file since version 13: any text on the file or a column."""
    content = raw.partition(b"<characteristics>")[2].partition(b"</characteristics>")[0]
    return {"characteristics": f"{len(content)} bytes"} if content else {}


def _attributes(raw: bytes) -> Metadata:
    """Return the attributes of an SPSS file and its columns (records of type 7), without the role that SPSS adds."""
    header = raw.partition(b"\xe7\x03\0\0\0\0\0\0")[0]  # record 999 precedes the values
    attributes = Metadata()
    for subtype, what in ATTRIBUTES.items():
        _, mark, rest = header.partition(struct.pack("<iii", 7, subtype, 1))
        size = struct.unpack_from("<i", rest)[0] if mark and len(rest) > 4 else 0
        text = ROLE.sub(b"", rest[4 : 4 + size]).strip(b"/\n\0 ")
        if text:
            attributes[what] = f"{len(text)} bytes"
    return attributes


# -- gzip ----------------------------------------------------------------------------------------


def _gzip_header(raw: bytes) -> Metadata:
    """Return what the header of a gzip member contains: the file name, its time, a comment and other fields."""
    if raw[:2] != b"\x1f\x8b" or len(raw) < 10:
        raise InputError("The release is not a gzip file, or other bytes follow its compressed part. Write it again.")
    flags, time = raw[3], struct.unpack_from("<I", raw, 4)[0]
    metadata = {"time in the gzip header": str(time)} if time else Metadata()
    position = 10
    if flags & FEXTRA:
        size = struct.unpack_from("<H", raw, position)[0] if len(raw) > position + 1 else 0
        metadata["extra field in the gzip header"] = raw[position + 2 : position + 2 + size].hex()
        position += 2 + size
    for flag, what in ((FNAME, "file name in the gzip header"), (FCOMMENT, "comment in the gzip header")):
        if flags & flag:
            end = raw.find(b"\0", position)
            metadata[what] = raw[position:end].decode("latin-1")
            position = end + 1
    return metadata
