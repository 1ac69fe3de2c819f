"""The name of a file as a path: a name is a name, whatever signs it has."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def file_named(path: str | os.PathLike[str]) -> Path:
    """The path of a file; ~ means the home folder, unless a file has exactly that name.

    >>> file_named("d[1]~.csv").name
    'd[1]~.csv'
    """
    found = Path(path)
    if not found.exists():
        with contextlib.suppress(RuntimeError):  # there is no such user: the name stays a name
            return found.expanduser()
    return found
