"""Numba's cache files with a checksum: a damaged file counts as missing.

Numba trusts its files. Damaged machine code would end the process with a segmentation fault.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core import caching


class CheckedCacheFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """A cache file with a checksum; a kernel whose file is damaged is compiled and saved again."""

    def save(self, key: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk: the kernel is compiled, but not saved
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
        """Return the content of a file; raise OSError, which Numba takes for a missing file, if it was damaged."""
        content = Path(path).read_bytes()
        checksum, packed = content[:32], content[32:]
        if hashlib.sha256(packed).digest() != checksum:
            raise OSError(f"{path} is damaged")
        return pickle.loads(packed)

    def _save(self, path: str, data: Any) -> None:
        packed = self._dump(data)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(packed).digest() + packed)
