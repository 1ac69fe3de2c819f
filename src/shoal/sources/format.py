"""A file format is declared once, in a file of its own; this file holds the declaration and the register.

Every file of this folder may declare a format as `FORMAT`. Reading, writing, the messages that list the supported
endings and the table in docs/reference/formats.md come from the declarations.
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
    """How to read text; None: detected."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None


class Read(Protocol):
    """Reads a file that exists and is not empty: its typed frame, and what the file says beyond it."""

    def __call__(self, path: Path, options: TextOptions) -> FileSource: ...


class Write(Protocol):
    """Writes a frame to `path`, a temporary file that is put in place as `target` once it is whole.

    source: what the input said beyond its frame; columns that it knows and that are unchanged are written as they were
    read. protected: columns that are written anew even where their values did not change.
    """

    def __call__(
        self, frame: pl.DataFrame, path: Path, target: Path, source: FileSource | None, protected: Collection[str]
    ) -> None: ...


@dataclass(frozen=True)
class Format:
    """A file format by its name's endings.

    write: None if files can only be read; `instead` then names endings to write. keeps, loses: what a file holds beside
    the values, and what it has no place for. options: those of TextOptions that it takes. warns_of_loss: its own writer
    warns of lost labels. is_dated: its files hold the time of writing, so two of them differ. check: called before any
    work; an error says which library is missing.
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
    """The format of a file by the ending of its name."""
    name, formats = path.name.lower(), declared_formats()
    for form in formats:
        if name.endswith(form.endings):
            return form
    known = ", ".join(ending for form in formats for ending in form.endings)
    what = f"{path.suffix!r} is not a supported format" if path.suffix else "the name has no ending that names a format"
    raise UsageError(f"{path}: {what}. Use .csv or .parquet instead. Supported endings: {known}")
