"""`shoal.scan`: many files as one table that is never in memory as a whole."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import EmptyFileError, InputError, ShoalError, UsageError, unknown
from shoal.places.place import Place
from shoal.sources.format import declared_formats, format_of
from shoal.sources.lazy import LazyLibrary, LazyTable, lazy_library, staged_paths
from shoal.sources.reading import read
from shoal.sources.roles_file import read_roles
from shoal.table.roles import Roles
from shoal.table.table import Table

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
TEXT_OPTIONS = ("delimiter", "encoding", "decimal")
ROLE_ARGUMENTS = (
    *("identifiers", "quasi", "confidential", "weight", "unit", "drop", "as_is", "derived", "no_confidential"),
    *("reasons", "order", "nominal", "numeric", "accept_derived"),
)


@dataclass(frozen=True)
class Files:
    """The files of one table, in the order of their rows, and how to read them.

    Attributes:
        paths: The files.
        named_roles: The roles as the caller named them; they are resolved with the columns of the first file.
        roles: The roles of a roles file, or None; `named_roles` take precedence.
        text_options: The delimiter, encoding and decimal separator that the caller specified.
        on: Where the work runs: processes, the address of a cluster, or a `Place`.
        workers: The number of units that run at once; None for one per core.
        staging: The folder of staged results; None for a temporary one.
        checksums: The SHA-256 checksum that each file must have, if a recipe names them.
        lazy: The frame of Spark, Dask or polars that the files hold, if there is one.
    """

    paths: tuple[Path, ...]
    named_roles: Mapping[str, Any] = field(default_factory=dict)
    roles: Roles | None = None
    text_options: Mapping[str, str] = field(default_factory=dict)
    on: str | Place = "processes"
    workers: int | None = None
    staging: Path | None = None
    checksums: tuple[str, ...] | None = None
    lazy: LazyTable | None = None

    def read(self, path: Path, roles: Roles | None = None) -> Table:
        """Read one of the files; with resolved `roles`, these are its roles."""
        try:
            text_options: dict[str, Any] = dict(self.text_options)
            if roles is not None:
                return read(path, roles=roles, **text_options)
            return read(path, roles=self.roles, **self.named_roles, **text_options)
        except EmptyFileError as error:
            if len(self.paths) == 1:
                raise
            raise InputError(
                f"{path.name} has no records. Each file of a folder is released as a file: move this one elsewhere, or "
                "name the others."
            ) from error
        except ShoalError as error:
            raise type(error)(f"{path.name}: {error}") from None

    @property
    def stated(self) -> Roles:
        """The roles that the caller named, without those of a roles file; patterns are not resolved."""
        named = {name: value for name, value in self.named_roles.items() if value is not None}
        if isinstance(named.get("as_is"), Mapping):
            named["reasons"] = {**named["as_is"], **(named.get("reasons") or {})}
        return Roles(**named)

    @property
    def for_workers(self) -> Files:
        """The files without what only the driver needs, so that a place need not be picklable."""
        return replace(self, on="processes", staging=None, lazy=None)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each file, which its released file gets too."""
        return tuple(path.name for path in self.paths)


def scan(
    data: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Any,
    *,
    on: str | Place | None = None,
    workers: int | None = None,
    staging: str | os.PathLike[str] | None = None,
    roles: str | os.PathLike[str] | Roles | None = None,
    **options: Any,
) -> Files:
    """Name the files of one table that may be larger than memory, and assign roles to their columns.

    Args:
        data: A folder, a pattern such as 'claims/*.parquet', or a list of files in the order of their rows. Or a frame
            of Spark or Dask or a lazy frame of polars, whose rows are first written as Parquet files to `staging`.
        on: Where the work runs: processes (on this machine), dask://HOST:PORT, spark://HOST:PORT, or a `Place`, which
            stays open. By default processes, for a frame of Spark or Dask its own cluster.
        workers: The number of units that run at once; one per core by default.
        staging: The folder of intermediate results, which hold original values. A run that was killed continues from
            them. By default a temporary folder.
        roles: A roles file, or `Roles`; the other arguments take precedence over it.
        options: The roles of the columns, and how text files are read, as in `shoal.read`.

    Returns:
        The files. `shoal.microaggregate` protects them, and `save` of its release writes one file for each.

    Raises:
        InputError: A file does not exist, or no file matches.
        UsageError: Two files have the same name or different formats, or a cluster needs a shared staging folder.
    """
    for name in options:
        if name not in (*ROLE_ARGUMENTS, *TEXT_OPTIONS):
            raise unknown("argument", name, (*ROLE_ARGUMENTS, *TEXT_OPTIONS))
    text_options = {name: options.pop(name) for name in TEXT_OPTIONS if name in options}
    filed = roles if roles is None or isinstance(roles, Roles) else read_roles(roles)
    folder = None if staging is None else Path(staging).expanduser().absolute()
    typed = {name: value for name, value in text_options.items() if value is not None}
    library = lazy_library(data)
    if library is not None:
        if typed:
            raise UsageError(f"{next(iter(typed))} applies to text files. Remove it.")
        return _staged(data, library, Files((), options, filed, {}, on or library.place(data), workers, folder))
    return Files(_checked(_paths(data)), options, filed, typed, on or "processes", workers, folder)


def _staged(frame: Any, library: LazyLibrary, files: Files) -> Files:
    """Return the files with the rows of a frame, which are written to the staging folder."""
    if files.staging is None and not library.is_local(frame):
        raise UsageError(
            "The cluster of this frame has several machines. Name a folder that all of them share under the same path, "
            "for the intermediate results: shoal.scan(frame, staging=DIR)."
        )
    folder = files.staging or Path(tempfile.mkdtemp(prefix="shoal-"))
    table = LazyTable(frame, library, folder, files.staging is None)
    rows = folder / "frame"
    if rows.exists():
        raise UsageError(
            f"The staging folder {folder} holds the rows of an earlier frame. Delete it, or continue the earlier run "
            f"with shoal.scan({str(rows)!r}, staging={str(folder / 'work')!r})."
        )
    if files.staging is None:
        weakref.finalize(table, shutil.rmtree, folder, ignore_errors=True)  # it holds original values
    library.stage(frame, rows)
    return replace(files, paths=_checked(staged_paths(rows)), staging=folder / "work", lazy=table)


def names_folder(data: Any) -> bool:
    """Whether an argument names a folder or a pattern of files, not one file."""
    if not isinstance(data, str | os.PathLike):
        return False
    text = os.fspath(data)
    return os.path.isdir(text) or (glob.has_magic(text) and not os.path.exists(text))


def is_one_file(data: Any, target: Path) -> bool:
    """Whether the data are one file and its release gets the name of a file in the same format, not of a folder."""
    if not isinstance(data, str | os.PathLike):
        return False
    path = Path(os.fspath(data)).expanduser()
    return path.is_file() and path.suffix != "" and path.suffix.lower() == target.suffix.lower()


def cells_of(data: Any, limit: int) -> int:
    """Return the number of cells of a file, rows times columns; 0 if it cannot be above the limit, or is not known."""
    if not isinstance(data, str | os.PathLike) or not os.path.isfile(os.path.expanduser(os.fspath(data))):
        return 0
    path = Path(data).expanduser()
    if path.suffix.lower() == ".parquet":
        lazy = pl.scan_parquet(path)
        return int(lazy.select(pl.len()).collect().item()) * len(lazy.collect_schema())
    if path.suffix.lower() not in TEXT_ENDINGS or path.stat().st_size < 2 * limit:  # a cell and what ends it
        return 0
    with open(path, "rb") as file:
        header = file.readline()
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 22), b""))
    return lines * (1 + max(header.count(mark) for mark in (b",", b";", b"\t", b"|")))


def _paths(data: Any) -> list[Path]:
    if isinstance(data, str | os.PathLike):
        text = os.path.expanduser(os.fspath(data))
        if os.path.isdir(text):
            paths = [Path(text, name) for name in sorted(os.listdir(text)) if _is_data(name)]
            if not paths:
                raise InputError(f"The folder {data} has no data files, such as .parquet or .csv files.")
            return paths
        if glob.has_magic(text) and not os.path.exists(text):
            paths = [Path(name) for name in sorted(glob.glob(text)) if os.path.isfile(name)]
            if not paths:
                raise InputError(f"No file matches {data}. Put the pattern in quotes, such as 'claims/*.parquet'.")
            return paths
        return [Path(text)]
    return [Path(path).expanduser() for path in data]


def _is_data(name: str) -> bool:
    """Whether a file of a folder holds data: not a hidden file or a mark such as _SUCCESS."""
    endings = tuple(ending for form in declared_formats() for ending in form.endings)
    return not name.startswith((".", "_")) and name.lower().endswith(endings)


def _checked(paths: list[Path]) -> tuple[Path, ...]:
    if not paths:
        raise UsageError("No files are named. Name a folder, a pattern or a list of files.")
    for path in paths:
        if not path.is_file():
            raise InputError(f"There is no file {path}. Check the path.")
    first = format_of(paths[0])
    if first.write is None:
        raise UsageError(f"Shoal can read {paths[0].suffix} files but not write them. Convert them to Parquet first.")
    by_name: dict[str, Path] = {}
    for path in paths:
        if format_of(path).name != first.name:
            raise UsageError(
                f"{paths[0].name} and {path.name} have different formats. The files of one table need one format: "
                f"name them with a pattern such as '*{paths[0].suffix}'."
            )
        if path.name in by_name:
            raise UsageError(
                f"{by_name[path.name]} and {path} have the same name, and so would their released files. Rename one."
            )
        by_name[path.name] = path
    return tuple(path.absolute() for path in paths)
