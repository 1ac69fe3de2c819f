"""The columns of the files of one table: every file has the same ones in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from shoal.errors import InputError
from shoal.sources.scanning import Files
from shoal.table.roles import Roles
from shoal.table.table import Table


class OfAFile(Protocol):
    """A task on one file: the columns of the first file, which this one must have, and the roles of the run."""

    @property
    def files(self) -> Files: ...
    @property
    def path(self) -> Path: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def roles(self) -> Roles: ...


def same_columns(table: Table, task: OfAFile) -> Table:
    """Return the table with the roles of the run; raise an error if its columns are not those of the first file."""
    if tuple(table.columns) != task.columns:
        extra = [name for name in table.columns if name not in task.columns]
        absent = [name for name in task.columns if name not in table.columns]
        parts = [f"{what} {', '.join(map(repr, some))}" for what, some in (("has", extra), ("lacks", absent)) if some]
        how = " and ".join(parts) or "has the columns in another order"
        raise InputError(
            f"{task.path.name} {how}, unlike {task.files.names[0]}. All files of a table need the same columns in the "
            "same order: correct the file, or leave it out."
        )
    return table.with_roles(task.roles)


def check_checksums(files: Files, sha256: tuple[str, ...]) -> None:
    """Raise an error if a file is not the one that a recipe names."""
    if files.checksums is None:
        return
    for path, wanted, found in zip(files.paths, files.checksums, sha256, strict=True):
        if wanted != found:
            raise InputError(f"{path.name} has changed since the recipe was written: its checksum differs.")
