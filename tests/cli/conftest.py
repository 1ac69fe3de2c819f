"""The file that most commands are tried on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    n = 240
    district = rng.integers(0, 12, n)
    job = rng.choice(["cook", "clerk"], n)
    for d in range(12):
        rows = np.flatnonzero(district == d)
        job[rows[: {3: 14, 7: 12}.get(d, int(rng.integers(1, 4)))]] = "guard"
    frame = pl.DataFrame(
        {
            "name": [f"person {7 * i % n}" for i in range(n)],  # not in the order of the rows
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["ayr", "bute", "cork", "dover"], n),
            "sex": rng.choice(["f", "m"], n),
            "job": job,
            "district": [f"D{d:02d}" for d in district],
        }
    )
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    return path
