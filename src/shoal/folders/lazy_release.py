"""The release of a frame of Spark or Dask, or of a lazy frame of polars: it comes back as what it was."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.folders.release import FolderRelease, SavedFolder
from shoal.sources.lazy import LazyTable


class LazyRelease(FolderRelease):
    """A protected frame that is not in memory; see `shoal.Release` for the attributes."""

    @cached_property
    def table(self) -> Any:
        """The protected frame, of the same library. It reads files that the release check has verified.

        The files are in the folder `table` of the staging folder, and stay there. Without a staging folder they are
        temporary, and are deleted when Python ends.

        Raises:
            PromiseError: A guarantee does not hold; there is no such frame.
        """
        lazy, folder = self._lazy, self._lazy.folder
        if lazy.is_temporary:
            folder = Path(tempfile.mkdtemp(prefix="shoal-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        saved = self.save(folder / "table").path
        return lazy.read_back([saved / path.name for path in self.files.paths])

    def save(self, folder: str | os.PathLike[str], **options: Any) -> SavedFolder:
        """Write the verified release as a folder of Parquet files; see `FolderRelease.save`."""
        try:
            return super().save(folder, **options)
        finally:
            self.close()

    def discard(self) -> None:
        """Remove the staged rows and results, which hold original values, and end the workers."""
        super().discard()
        shutil.rmtree(self._lazy.folder / "frame", ignore_errors=True)

    @property
    def _lazy(self) -> LazyTable:
        lazy = self.files.lazy
        assert lazy is not None
        return lazy
