"""Parquet files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from shoal.sources.columnar import read_columns, with_used_categories
from shoal.sources.format import Format, TextOptions
from shoal.table.source import FileSource


def read(path: Path, options: TextOptions) -> FileSource:
    """Read the columns of a file."""
    return read_columns(path, "parquet", pl.read_parquet)


def write(frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str]) -> None:
    """Write the columns, without categories that no record has."""
    with_used_categories(frame).write_parquet(path)


FORMAT = Format(
    name="parquet",
    title="Parquet",
    endings=(".parquet", ".pq"),
    read=read,
    write=write,
    keeps="the types of the columns",
    loses="value labels",
)
