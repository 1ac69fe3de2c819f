"""The declaration of a file format, and the list of all declared formats.

Every module of this folder may declare a format as `FORMAT`. Reading, writing, the messages that list the supported
endings and the table in docs/reference/formats.md use the declarations.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

import shoal.sources
from shoal.errors import UsageError
from shoal.table.source import FileSource


@dataclass(frozen=True)
class TextOptions:
    """The delimiter, encoding and decimal separator of a text file; None means detected."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None


class Read(Protocol):
    """Reads the typed data frame of a file that is not empty, and what the file contains besides it."""

    def __call__(self, path: Path, options: TextOptions) -> FileSource: ...


class Write(Protocol):
    """Writes a data frame to `path`, a temporary file that is renamed to `target` when it is complete.

    Unchanged columns of `source` are written as they were read. The `protected` columns are always written in
    canonical form.
    """

    def __call__(
        self, frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str]
    ) -> None: ...


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes:
        title: The name of the format, for documentation.
        endings: The endings of file names.
        read: The function that reads a file.
        write: The function that writes a file; None if Shoal can only read the format.
        instead: Endings to write if `write` is None.
        keeps: What a file keeps besides the values.
        loses: What a file cannot keep.
        options: The fields of `TextOptions` that apply.
        warns_of_loss: Whether the writer warns about lost labels.
        is_dated: Whether a file contains the time of writing, so that two files of the same data differ.
        check: Called before any work; raises an error if a library is missing.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    read: Read
    write: Write | None
    keeps: str = ""
    loses: str = ""
    options: tuple[str, ...] = ()
    warns_of_loss: bool = False
    is_dated: bool = False
    check: Callable[[], Any] | None = None
    instead: tuple[str, ...] = ()


def declared_formats() -> tuple[Format, ...]:
    """Every declared format, in the order of the file names."""
    names = sorted(pkgutil.iter_modules(shoal.sources.__path__, "shoal.sources."), key=lambda module: module.name)
    modules = (importlib.import_module(module.name) for module in names if not module.ispkg)
    return tuple(module.FORMAT for module in modules if hasattr(module, "FORMAT"))


def format_of(path: Path) -> Format:
    """The format of a file, by the ending of its name."""
    name, formats = path.name.lower(), declared_formats()
    for form in formats:
        if name.endswith(form.endings):
            return form
    known = ", ".join(ending for form in formats for ending in form.endings)
    what = f"{path.suffix!r} is not a supported format" if path.suffix else "the name does not end in a format"
    raise UsageError(f"{path}: {what}. Use .csv or .parquet instead. Supported endings: {known}")
