"""What all tests share: where the benchmark sets are, and how hypothesis runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A kernel's first call may load it from disk: no deadline for a single example.
settings.register_profile("shoal", deadline=None, print_blob=True, derandomize=bool(os.environ.get("CI")))
settings.load_profile("shoal")


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
