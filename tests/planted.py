"""A release made by hand, for faults to be planted in, and what the gate finds of it.

Every column has a role, so that the release itself is sound and only the planted fault can block it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal

K = 4
QUASI = ("age", "income")
AS_IS = {"town": "the town of the clinic, not of the patient", "visits": "a score that only the clinic computes"}
PARTS: dict[str, Any] = {"quasi": QUASI, "identifiers": "name", "confidential": "illness", "as_is": AS_IS}
ROLES: dict[str, Any] = PARTS | {"k": K}


def people(n: int = 60, seed: int = 3) -> pl.DataFrame:
    """People in no order: neither the names nor any other column follows the rows."""
    rng, names = np.random.default_rng(seed), np.random.default_rng(seed + 1).permutation(n)
    return pl.DataFrame(
        {
            "name": [f"Person {i}" for i in names],
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2),
            "town": rng.choice(["north", "south"], n),
            "visits": rng.normal(5, 2, n),
            "illness": [["none", "flu", "asthma", "gout"][i % 4] for i in range(n)],
        }
    )


def protected(frame: pl.DataFrame, k: int = K) -> pl.DataFrame:
    """Groups of k by the order of income, replaced by their means: a method of the tests' own."""
    order = np.argsort(frame["income"].to_numpy(), kind="stable")
    label = np.empty(frame.height, dtype=int)
    label[order] = np.minimum(np.arange(frame.height) // k, frame.height // k - 1)
    new = []
    for name in QUASI:
        values = frame[name].to_numpy().astype(float)
        new.append(pl.Series(name, np.array([values[label == g].mean() for g in range(label.max() + 1)])[label]))
    return frame.drop("name").with_columns(new)


ORIGINAL = people()
RELEASE = protected(ORIGINAL)


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    elif path.suffix == ".gz":
        import gzip

        path.write_bytes(gzip.compress(frame.write_csv().encode(), mtime=0))  # a time is a finding of its own
    else:
        frame.write_csv(path)
    return path


def found(release: Any, tmp_path: Path | None = None, ending: str = "csv", **more: Any) -> Any:
    """The findings on a release, by way of a file if a folder is given."""
    if tmp_path is not None:
        release = write(release, tmp_path / f"release.{ending}")
    return shoal.check(ORIGINAL, release, **(ROLES | more))


def cell(frame: pl.DataFrame, column: str, row: int, value: Any) -> pl.DataFrame:
    values = frame[column].to_list()
    values[row] = value
    return frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))
