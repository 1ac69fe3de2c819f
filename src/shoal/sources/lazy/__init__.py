"""Frames of Spark and Dask, and lazy frames of polars: tables that are not in memory.

Such a frame is written as Parquet files, protected like any folder of files, and read back as what it was. A module of
this folder knows one library. It imports the library only if a frame of it was passed.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from shoal.errors import UsageError
from shoal.places.place import Place

# The module of a frame's class begins with this, and the frame's class has this name.
LIBRARIES = {"polars": ("LazyFrame", "polars_frames"), "pyspark": ("DataFrame", "spark_frames"),
             "dask": ("DataFrame", "dask_frames")}  # fmt: skip


class LazyLibrary(Protocol):
    """What a module of this folder has.

    Attributes:
        IN_MEMORY: The call that makes a data frame in memory of a frame, for messages.
    """

    IN_MEMORY: str

    def stage(self, frame: Any, folder: Path) -> None:
        """Write the rows of the frame, in order, as Parquet files into a new folder."""

    def read_back(self, frame: Any, paths: Sequence[Path]) -> Any:
        """Return the released files as a frame like this one; columns of the same kind keep their types."""

    def place(self, frame: Any) -> str | Place:
        """Return where the frame's own work runs; an error if Shoal cannot work there."""

    def is_local(self, frame: Any) -> bool:
        """Return whether all work on the frame runs on this machine, so that a temporary folder will do."""


@dataclass(frozen=True, eq=False)
class LazyTable:
    """A frame that was staged as files, and the folder that holds them."""

    frame: Any
    library: LazyLibrary
    folder: Path
    is_temporary: bool

    def read_back(self, paths: Sequence[Path]) -> Any:
        """Return the released files as a frame like the one that was staged."""
        return self.library.read_back(self.frame, paths)


def lazy_library(data: Any) -> LazyLibrary | None:
    """Return the module for a frame of Spark or Dask or a lazy frame of polars; None for anything else."""
    kind = type(data)
    for package, (name, module) in LIBRARIES.items():
        if kind.__module__.partition(".")[0] == package and kind.__name__ == name:
            library: LazyLibrary = importlib.import_module(f"{__name__}.{module}")  # type: ignore[assignment]
            return library
    return None


def staged_paths(folder: Path) -> list[Path]:
    """Return the files of a staged frame that have rows, in order, under short names."""
    import polars as pl

    paths = sorted(folder.glob("*.parquet"))
    filled = [path for path in paths if pl.scan_parquet(path).select(pl.len()).collect().item()]
    if not filled:
        raise UsageError("The frame has no rows. Check the steps that made it.")
    renamed = []
    for number, path in enumerate(filled):
        renamed.append(path.rename(folder / f"part-{number:06d}.parquet"))
    for path in set(paths) - set(filled):
        path.unlink()
    return renamed
