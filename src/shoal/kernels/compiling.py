"""How kernels are compiled: the flags, the cache, and the account of the time it takes.

An entry point is `@kernel("signature")`: it is compiled when its module is imported, or loaded
from the cache, so a search never stops to compile, and `shoal warmup` only has to import.
A function that only kernels call is `@inner`; `@bare` or `@inlined` in the innermost loops of a
search; `@fused` where a call would cost more than the work. Fast-math is off: the engines of one
method must give the same labels, and reordered sums would change ties.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import pickle
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, event

F = TypeVar("F", bound=Callable[..., Any])

# Lanes written out by hand become vector instructions; that changes no order of operations, so no answer.
numba.config.SLP_VECTORIZE = 1

FLAGS = {"nogil": True, "fastmath": False, "error_model": "numpy", "boundscheck": False}
BARE = {**FLAGS, "_nrt": False}


def kernel(signature: str | list[str], *, parallel: bool = False) -> Callable[[F], F]:
    """Compile an entry point for its signature(s) now, or load it from the cache."""

    def decorate(function: F) -> F:
        started = time.process_time()
        inside = _account.seconds
        with _own_cache():
            try:
                compiled: F = numba.njit(signature, cache=True, parallel=parallel, **FLAGS)(function)
            except RuntimeError:  # no folder for a cache can be written: every process compiles for itself
                compiled = numba.njit(signature, parallel=parallel, **FLAGS)(function)
        # Loading from the cache is no search either; it is booked with the compilation.
        _account.seconds = inside + (time.process_time() - started)
        return compiled

    return decorate


@contextmanager
def _own_cache() -> Iterator[None]:
    """Shoal's cache folder and cache files, only while a kernel is looked up: other packages keep theirs."""
    before = numba.config.CACHE_DIR, caching.IndexDataCacheFile
    numba.config.CACHE_DIR, caching.IndexDataCacheFile = str(cache_folder()), CheckedCacheFile
    try:
        yield
    finally:
        numba.config.CACHE_DIR, caching.IndexDataCacheFile = before


class CheckedCacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A cache file with a checksum: what is damaged counts as missing, so the kernel is compiled and saved again.

    Numba trusts its files. Damaged machine code would end the process with a segmentation fault.
    """

    def save(self, key: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk: the kernel is compiled, only not kept
            super().save(key, data)

    def _load_index(self) -> Any:
        try:
            version, stamp, overloads = self._checked(self._index_path)
        except OSError:
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: Any) -> None:
        self._save(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._checked(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._save(self._data_path(name), data)

    def _checked(self, path: str) -> Any:
        """What a file holds; an OSError, which Numba takes for a missing file, if it is not what was saved."""
        content = Path(path).read_bytes()
        checksum, packed = content[:32], content[32:]
        if hashlib.sha256(packed).digest() != checksum:
            raise OSError(f"{path} is damaged")
        return pickle.loads(packed)

    def _save(self, path: str, data: Any) -> None:
        packed = self._dump(data)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(packed).digest() + packed)


def inner(function: F) -> F:
    """Compile a function that only kernels call; it becomes part of their code."""
    compiled: F = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **FLAGS)(function)
    return compiled


def bare(function: F) -> F:
    """As `inner`, but without counting references to arrays.

    The counting took 40 % of a search's time. Such a function may not make, slice or give back an array.
    """
    compiled: F = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **BARE)(function)
    return compiled


def inlined(function: F) -> F:
    """As `bare`, and never left as a call: every array handed over costs several words on the stack."""
    compiled: F = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **BARE)(function)
    return compiled


def fused(function: F) -> F:
    """Put a function's body into its callers, for loops so short that a call would cost more than the work."""
    compiled: F = numba.njit(inline="always", **FLAGS)(function)
    return compiled


def compile_seconds() -> float:
    """CPU seconds spent on compiling and loading kernels in this process so far."""
    return _account.seconds


def when_compiling(say: Callable[[str], None]) -> None:
    """Call `say` once, with the first kernel's name, if anything has to be compiled."""
    _account.say = say


def warm_up() -> int:
    """Compile every module of kernels; gives their number."""
    import shoal.kernels as room

    names = [m.name for m in pkgutil.iter_modules(room.__path__) if m.name != "compiling"]
    compile_together(*names)
    for name in names:
        importlib.import_module(f"shoal.kernels.{name}")
    return len(names)


def compile_together(*names: str) -> None:
    """Compile modules of kernels that are not in the cache yet, several at once: a process each, as many as cores.

    Numba compiles one function at a time in a process. What fails here is compiled where it is imported.
    """
    missing = [name for name in names if not (cache_folder() / f"{name}.ready").exists()]
    cores = len(os.sched_getaffinity(0))
    if len(missing) < 2 or cores < 2:
        return
    _account.announce(missing[0])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with ThreadPoolExecutor(cores) as pool:
        calls = ([sys.executable, "-c", f"from shoal.kernels.compiling import load; load({n!r})"] for n in missing)
        list(pool.map(lambda call: subprocess.run(call, env=environment, capture_output=True), calls))


def load(name: str) -> None:
    """Import a module of kernels and note that it is in the cache."""
    importlib.import_module(f"shoal.kernels.{name}")
    (cache_folder() / f"{name}.ready").touch()


def cache_folder() -> Path:
    """Where compiled kernels are kept; named after their sources, so that no stale code is ever loaded.

    Numba looks at the file of a kernel only, not at the files of the functions it calls.
    """
    global _folder
    if _folder is None:
        digest = hashlib.sha256()
        for source in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(source.read_bytes())
        root = os.environ.get("NUMBA_CACHE_DIR") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "shoal"
        )
        _folder = Path(root) / f"kernels-{digest.hexdigest()[:12]}"
    return _folder


class _Account(event.Listener):  # type: ignore[misc]
    """Hears of every compilation, to tell the user once that it takes a moment."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.say: Callable[[str], None] | None = None

    def announce(self, name: str) -> None:
        if self.say is not None:
            say, self.say = self.say, None
            say(name)

    def on_start(self, event: event.Event) -> None:
        self.announce(str(event.data["dispatcher"].py_func.__name__))

    def on_end(self, event: event.Event) -> None:
        return


_folder: Path | None = None
_account = _Account()
event.register("numba:compile", _account)
