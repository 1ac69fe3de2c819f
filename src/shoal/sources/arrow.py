"""Arrow files, in both layouts of Arrow."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import IO

import polars as pl

from shoal.sources.columnar import read_columns, with_used_categories
from shoal.sources.format import Format, TextOptions
from shoal.table.source import FileSource


def read(path: Path, options: TextOptions) -> FileSource:
    """Read the columns of a file."""
    return read_columns(path, "arrow", _of_either_layout)


def write(frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str]) -> None:
    """Write the columns, without categories that no record has."""
    with_used_categories(frame).write_ipc(path, compression="uncompressed")


def _of_either_layout(file: IO[bytes]) -> pl.DataFrame:
    try:
        return pl.read_ipc(file)
    except pl.exceptions.ComputeError:
        file.seek(0)
        return pl.read_ipc_stream(file)  # files of both layouts have the same ending


FORMAT = Format(
    name="arrow",
    title="Arrow",
    endings=(".arrow", ".feather", ".ipc"),
    read=read,
    write=write,
    keeps="the types of the columns",
    loses="value labels",
)
