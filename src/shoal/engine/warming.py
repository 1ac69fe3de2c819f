"""Compiled kernels on a node of a cluster: from the library that travels with the package, or compiled once there."""

from __future__ import annotations

import fcntl
import functools
import platform
from collections.abc import Callable, Iterable
from typing import Any

from shoal.engine.kernels.compiling import cache_folder, load_library, shipped_kernels, warm_up
from shoal.notices import notice


def kernels_of_node(_: Any = None) -> str:
    """Return where this process gets its kernels: ahead (the library of the package) or jit (Numba)."""
    return "ahead" if load_library() else "jit"


def prepare_node(generic: Callable[[], Iterable[tuple[Any, ...]]]) -> None:
    """Compile all kernels if the library does not fit this node; other processes of the node wait, and do not compile.

    The first process of a node shows a notice. `generic` returns the kernels whose form depends on arguments.
    """
    if not load_library():
        _compile_once(generic, cache_folder())


@functools.cache
def _compile_once(generic: Callable[[], Iterable[tuple[Any, ...]]], folder: Any) -> None:
    calls = tuple(generic())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(folder / "warmup.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if any(not kernel.is_ready(*first) for kernel, first in shipped_kernels(calls)):
                notice(
                    f"The node {platform.node()} has no compiled kernels that fit it, so Shoal compiled them there "
                    "once. To save that time, install Shoal's wheel for its system, or run shoal warmup in its image."
                )
                warm_up(calls)
    except OSError:  # no folder for a cache is writable: every process compiles what it needs
        return
