"""Paths of files: a file name is never interpreted as a pattern."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def file_named(path: str | os.PathLike[str]) -> Path:
    """The path of a file; ~ is the home folder, unless a file has exactly that name.

    >>> file_named("d[1]~.csv").name
    'd[1]~.csv'
    """
    named = Path(path)
    if not named.exists():
        with contextlib.suppress(RuntimeError):  # there is no such user
            return named.expanduser()
    return named
