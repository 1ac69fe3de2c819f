"""What tests share: the folder of benchmark files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder that SHOAL_DATA names; without it a skip, or a failure where the data are required."""
    given = os.environ.get("SHOAL_DATA")
    if given and Path(given).is_dir():
        return Path(given).resolve()
    reason = "SHOAL_DATA is not set" if not given else f"SHOAL_DATA names {given}, which is no folder"
    if os.environ.get("CI") == "true" or os.environ.get("SHOAL_REQUIRE_DATA") == "1":
        pytest.fail(f"the benchmark files are required here, and {reason}")
    pytest.skip(f"needs the benchmark files: {reason}")
