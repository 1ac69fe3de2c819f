"""Reading and writing that Parquet and Arrow files, which have typed columns, have in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

import polars as pl

from shoal.errors import InputError
from shoal.notices import notice
from shoal.table.frames import check_names
from shoal.table.source import FileSource


def read_columns(path: Path, name: str, read: Callable[[IO[bytes]], pl.DataFrame]) -> FileSource:
    """Read a columnar file, without an index that pandas stored as a column."""
    try:
        with open(path, "rb") as file:  # polars may interpret a file name as a pattern or an address
            frame = read(file).rechunk()  # a column in several pieces would be copied for every array made of it
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"Cannot read {path} as {name}: {first}.") from error
    check_names(frame.columns)
    return FileSource(path, name, _without_index(frame, path))


def with_used_categories(table: pl.DataFrame) -> pl.DataFrame:
    """The table without unused categories: a file would list them, and they may be original values."""
    types = {column.name: _used_type(column) for column in table.get_columns()}
    return pl.DataFrame([c if c.dtype == types[c.name] else _cast(c, types[c.name]) for c in table.get_columns()])


def _cast(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    try:
        return column.cast(dtype)
    except pl.exceptions.InvalidOperationError:  # polars cannot cast an Enum inside an Array
        return pl.Series(column.name, column.to_list(), dtype=dtype)


def _used_type(column: pl.Series) -> pl.DataType:
    """The type of a column, with Enums that have only the used categories."""
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


def _without_index(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The frame without an index that pandas stored as a column, because row numbers must not be released."""
    index = [name for name in frame.columns if re.fullmatch(r"__index_level_\d+__", name)]
    if index:
        notice(f"Shoal does not use the index that pandas stored in {path.name}.")
    return frame.drop(index)
