"""Suppressed rows hide every column that an intruder may know, whatever its type and the frame's library."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

COLUMNS: dict[str, list[Any]] = {
    "whole": [1] * 80,
    "large": [2**60 + 1] * 80,
    "decimal": [1.5] * 79 + [None],
    "flag": [True] * 80,
    "day": [datetime.date(2020, 1, 1)] * 80,
    "word": ["x"] * 80,
    "gaps": [1] * 40 + [None] * 40,
}


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_without_a_role_are_suppressed_too(kind: str, library: str, tmp_path: Path) -> None:
    town = ["a", "b"] * 37 + list("cdefgh")
    frame = pl.DataFrame({"town": town, "x": COLUMNS[kind]}).sample(fraction=1, shuffle=True, seed=3)
    given = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[library]
    release = shoal.generalize(shoal.read(given, quasi=["town"], unit=False), 5, suppress=0.1, effort="quick")
    for ending in ("csv", "parquet"):
        release.save(tmp_path / f"out.{ending}")
    after = pl.read_parquet(tmp_path / "out.parquet")
    rare = frame["town"].is_in(list("cdefgh"))
    assert set(after.filter(rare)["town"]) == {"*"} and set(after.filter(rare)["x"]) <= {None, "*"}
    kept, before = after.filter(~rare)["x"].to_list(), frame.filter(~rare)["x"].to_list()
    shown = [str(v)[:10] if kind == "day" else v for v in kept if v is not None and v == v]
    assert shown == [str(v) if kind == "day" else v for v in before if v is not None]


@pytest.mark.parametrize(("hidden", "status"), [(1, "block"), (4, "block"), (5, "ok")])
def test_so_few_suppressed_records_form_a_small_class(hidden: int, status: str) -> None:
    before = pl.DataFrame({"town": ["a"] * 20 + ["b"] * 20, "sex": ["f", "m"] * 20})
    stars = pl.int_range(pl.len()) < hidden
    after = before.with_columns(pl.when(stars).then(pl.lit("*")).otherwise(pl.col(c)).alias(c) for c in before.columns)
    assert shoal.check(before, after, quasi=["town", "sex"], k=5)["suppressed"].status == status
