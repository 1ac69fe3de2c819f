"""Writes a file completely or not at all, also when two processes write the same file or one is ended while it writes.

A file is written under a temporary name in the same folder, flushed to the disk, and renamed in one step. It is locked
until then. A temporary file of a killed process has no lock, and the next writer of the same file removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from shoal.errors import WriteError


@contextlib.contextmanager
def atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that replaces the target when the block succeeds, and is removed when it fails."""
    target = Path(os.path.realpath(path))  # a link stays a link; the file it points to is replaced
    try:
        _remove_leftovers(target)
        temporary, held = _locked_file(target)
    except OSError as error:
        raise WriteError(f"Cannot write {path}: {error.strerror}.") from error
    with held:
        try:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            yield temporary
            with open(temporary, "rb") as written:
                os.fsync(written.fileno())
            with _lock:  # rename and record together: a process that is ended now can list what it wrote
                os.replace(temporary, target)
                _finished.append(Path(path))
        except BaseException as error:
            temporary.unlink(missing_ok=True)
            refusal = _refusal(error, temporary, target)
            if refusal is None:
                raise
            raise WriteError(f"Cannot write {path}: {refusal}.") from error
        finally:
            with _lock:
                _unfinished.discard(temporary)
    _flush_folder(target.parent)


def check_folder(path: Path) -> None:
    """Raise an OSError if no file can be created in the folder of `path`."""
    trial = _new_file(path)
    trial.unlink(missing_ok=True)  # another process may have removed it as a leftover
    with _lock:
        _unfinished.discard(trial)


def finished() -> tuple[Path, ...]:
    """Return the files that this process has written since `forget` and that still exist, in order."""
    return tuple(path for path in _finished if path.exists())


def forget() -> None:
    """Clear the list of written files."""
    _finished.clear()


def remove_unfinished() -> None:
    """Remove every file that is being written. No file can be started or finished after this: the process must end."""
    _lock.acquire()  # never released: other threads wait until the process has ended
    for temporary in _unfinished:
        with contextlib.suppress(OSError):  # it may have been renamed in the meantime
            os.unlink(temporary)


_lock = threading.Lock()
_unfinished: set[Path] = set()
_finished: list[Path] = []


def _refusal(error: BaseException, *paths: Path) -> str | None:
    """Return why the system did not write one of these files, or None for any other error."""
    if isinstance(error, OSError) and error.errno is not None:
        named = error.filename is None or str(error.filename) in map(str, paths)
        return error.strerror if named else None
    number = re.search(r"\(os error (\d+)\)", str(error))  # the wording of polars, in errors of several types
    return None if number is None else os.strerror(int(number[1]))


def _locked_file(target: Path) -> tuple[Path, IO[bytes]]:
    """Create an empty temporary file, and return it with the handle that locks it.

    Before it is locked, another process may remove it as a leftover: then it is created again.
    """
    while True:
        path = _new_file(target)
        with contextlib.suppress(FileNotFoundError):
            held = open(path, "rb")  # noqa: SIM115 -- the caller closes it, which unlocks it
            fcntl.flock(held, fcntl.LOCK_EX)
            if path.exists():
                return path, held
            held.close()
        with _lock:
            _unfinished.discard(path)


def _new_file(target: Path) -> Path:
    """Create an empty temporary file in the folder of the target, with the permissions of a new file."""
    path = target.with_name(f".{target.name[:50]}.{uuid.uuid4().hex[:8]}.part")
    with _lock:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        _unfinished.add(path)
    return path


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary files of killed processes; a file that is being written is locked and stays."""
    pattern = re.compile(re.escape(f".{target.name[:50]}.") + r"[0-9a-f]{8}\.part")
    for name in filter(pattern.fullmatch, os.listdir(target.parent)):
        with contextlib.suppress(OSError), open(target.parent / name, "rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(target.parent / name)


def _flush_folder(folder: Path) -> None:
    """Flush the folder, so that the new name survives a crash; not every system supports this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
