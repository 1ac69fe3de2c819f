"""The formats in which a release is written and read back."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["csv", "parquet", "arrow", "csv.gz"])
def ending(request: pytest.FixtureRequest) -> str:
    return str(request.param)
