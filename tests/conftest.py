"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def shared_data() -> Path:
    """The folder of the benchmark files."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA is not set: it names the folder with the benchmark files")
    return Path(folder)
