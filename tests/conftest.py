"""What all tests share: where the benchmark sets are and that releases are read again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the benchmark sets, from SHOAL_DATA; skipped without it, a failure where it is required."""
    folder = os.environ.get("SHOAL_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    reason = f"SHOAL_DATA names no folder with the benchmark sets: {folder!r}"
    if os.environ.get("SHOAL_REQUIRE_DATA"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(autouse=True, scope="session")
def releases_read_by_others() -> Any:
    """Every release that a test of this process saves is read again by pandas and DuckDB (see `other_readers`)."""
    from other_readers import MOST_RECORDS, check_no_finer
    from shoal.gate import saving

    write_file = saving.write_file

    def write_and_read(frame: Any, path: Path, source: Any = None, *, protected: Any = (), **more: Any) -> None:
        write_file(frame, path, source, protected=protected, **more)
        names = [name for name in protected if name in frame.columns]
        dialect = getattr(source, "dialect", None)
        how = {} if dialect is None else {"delimiter": dialect.delimiter, "encoding": dialect.encoding}
        if path.name.lower().removesuffix(".gz").endswith(".tsv"):
            how["delimiter"] = "\t"
        if names and frame.height <= MOST_RECORDS:
            check_no_finer(path, frame, names, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saving, "write_file", write_and_read)
        yield


@pytest.fixture(params=["csv", "parquet", "arrow", "csv.gz"])
def ending(request: pytest.FixtureRequest) -> str:
    """The formats in which a release is written and read back."""
    return str(request.param)
