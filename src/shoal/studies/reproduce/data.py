"""The benchmark data sets of the reproductions."""

from __future__ import annotations

from pathlib import Path

from shoal.arrays import Floats
from shoal.errors import InputError
from shoal.sources.reading import read
from shoal.studies import datasets


def known_folder(name: str, folder: Path | None) -> Path:
    """The folder with the file of a known data set."""
    if folder is not None:
        return folder
    path = datasets.find(name)
    if path is None:
        raise InputError(datasets.missing(name))
    return path.parent


def numbers(name: str, folder: Path | None, seed: int = 0) -> Floats:
    """The used columns of a known data set, from the folder if one is given, else from the usual folders.

    Shoal generates a set that has a generator, unless the folder has a file of its name.
    """
    about = datasets.known(name)
    if folder is None or (about.generator is not None and not (folder / f"{name}.csv").exists()):
        return datasets.numbers(name, seed)
    table = read(folder / f"{name}.csv")
    return table.numbers(about.used or tuple(table.columns))
