"""The library of kernels that were compiled ahead of time (`building.py`). With it a wheel needs no compiler.

Its functions are called through ctypes. `run_time.c` checks the arguments and passes them on. The result of a kernel is
read from the same slots. A library of other sources, for another system or for a newer processor is not used.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import pickle
import platform
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

PLACE = Path(__file__).with_name("kernels.library")  # not .so, because Python would import it as a module
MACHINE = ("Linux", "x86_64", "CPython")
ARRAY, SIGNED, UNSIGNED, REAL, TRUTH, TUPLE = range(6)  # as in run_time.c
NOTHING = -1
WRONG_ARGUMENT = -100
OK = (0, -2)  # statuses of Numba's code: a value, or None


class Library:
    """The kernels of one file, by their keys."""

    def __init__(self, path: Path, level: int | None = None) -> None:
        """Load a library; `level` is the level of x86-64, by default the highest of this processor."""
        code = ctypes.PyDLL(str(path))
        contents = json.loads(ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(code, "shoal_contents"))))
        self.stamp: str = contents["stamp"]
        self.level: int = level or code.shoal_level()
        self._code = code
        self._kernels: dict[str, dict[str, Any]] = contents["kernels"]
        code.shoal_run.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
        code.shoal_release.argtypes = [ctypes.c_void_p]

    @property
    def keys(self) -> list[str]:
        return sorted(self._kernels)

    def kernel(self, key: str) -> Callable[..., Any] | None:
        """Return a kernel as a Python function, or None if the library does not have it."""
        known = self._kernels.get(key)
        return None if known is None else self._function(known)

    def _function(self, known: dict[str, Any]) -> Callable[..., Any]:
        address = ctypes.cast(getattr(self._code, f"{known['symbol']}_v{self.level}"), ctypes.c_void_p).value
        parts, arguments = known["parts"], known["arguments"]
        arrays = sum(what == ARRAY for what, *_ in parts)
        packed = struct.pack("=Qii", address, arguments, arrays)
        plan = ctypes.create_string_buffer(packed + b"".join(struct.pack("=4i", *part) for part in parts))
        result, first = known["result"], known["first"]
        slots_of = ctypes.c_int64 * max(known["slots"], 2)
        run = self._code.shoal_run

        def call(*values: Any) -> Any:
            if len(values) != arguments:
                raise TypeError(f"{known['symbol']} takes {arguments} arguments, not {len(values)}.")
            slots = slots_of()
            status = run(values, plan, slots)
            if status not in OK:
                raise _error(known, status, slots)
            return None if result[0] == NOTHING else self._read(result, slots, first)[0]

        return call

    def _read(self, kind: list[Any], slots: Any, at: int) -> tuple[Any, int]:
        """Return the result of a kernel from the slots, and the place after it."""
        what, *rest = kind
        if what == TUPLE:
            members = []
            for member in rest[0]:
                value, at = self._read(member, slots, at)
                members.append(value)
            return tuple(members), at
        if what == ARRAY:
            dtype, dimensions = np.dtype(rest[0]), rest[1]
            array = np.empty(slots[at + 2 : at + 2 + dimensions], dtype=dtype)
            ctypes.memmove(array.ctypes.data, slots[at + 1], array.nbytes)
            self._code.shoal_release(slots[at])
            return array, at + 2 + dimensions
        if what == REAL:
            return struct.unpack("d", struct.pack("q", slots[at]))[0], at + 1
        return bool(slots[at]) if what == TRUTH else slots[at] % 2**64 if what == UNSIGNED else slots[at], at + 1


def open_library(path: Path, stamp: str) -> Library | None:
    """Return the library at a path if it fits this machine and was built from the sources with this stamp."""
    if (platform.system(), platform.machine(), platform.python_implementation()) != MACHINE:
        return None
    try:
        if not is_whole(path.read_bytes()):  # loading a truncated library would crash the process
            return None
        library = Library(path)
    except OSError:  # there is no library, or the system's C library is too old for it
        return None
    return library if library.stamp == stamp and library.level else None


def sealed(code: bytes) -> bytes:
    """Return a library with its checksum, which the system's loader ignores."""
    return code + hashlib.sha256(code).digest()


def is_whole(content: bytes) -> bool:
    """Return whether this is a sealed library, unchanged since it was written."""
    return len(content) > 32 and hashlib.sha256(content[:-32]).digest() == content[-32:]


def _error(known: dict[str, Any], status: int, slots: Any) -> Exception:
    if status == WRONG_ARGUMENT:
        part = slots[0]
        wanted = _describe(known["parts"][part])
        return TypeError(f"The argument {known['names'][part]} of {known['symbol']} must be {wanted}.")
    if status > 0:
        kind, arguments, _ = pickle.loads(ctypes.string_at(slots[0], slots[1]))
        return kind(*(arguments or ()))
    return SystemError(f"{known['symbol']} ended with status {status}.")


def _describe(part: list[int]) -> str:
    what, kind, size, count = part
    if what == ARRAY:
        return f"a writable C-contiguous array of {np.dtype(f'{chr(kind)}{size}')} with {count} dimensions"
    names = {SIGNED: "a whole number", UNSIGNED: "a whole number from 0", REAL: "a number", TRUTH: "true or false"}
    return names.get(what, f"a tuple of {count}")
