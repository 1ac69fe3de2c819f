"""Columns: numbers and codes made once, shared by tables of the same data, taken with rows; missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from command_line import run
from shoal.errors import InputError, ShoalWarning
from shoal.sources.reading import read
from shoal.table.column import Column
from shoal.table.roles import Roles
from shoal.table.table import Table

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
FRAMES = [pl.DataFrame, pd.DataFrame, pa.table]
DATA: dict[str, list[Any]] = {
    "age": [30, 41, 30, 17],
    "rate": [1.5, None, -0.0, 0.0],
    "town": ["b", "a", None, "b"],
    "flag": [True, False, True, True],
}


@pytest.mark.parametrize("make", FRAMES)
def test_numbers_and_codes(make: Any) -> None:
    table = Table(make(DATA))
    assert table["age"].numbers.tolist() == [30.0, 41.0, 30.0, 17.0]
    assert np.isnan(table["rate"].numbers).tolist() == table["rate"].missing.tolist() == [False, True, False, False]
    with pytest.raises(InputError, match="'town' has text where a number is needed: 'b' in row 1"):
        _ = table["town"].numbers
    codes = {name: table[name].codes for name in DATA}
    assert {name: c.values for name, c in codes.items()} == {
        "age": [17.0, 30.0, 41.0],
        "rate": [0.0, 1.5, None],
        "town": ["a", "b", None],
        "flag": ["False", "True"],
    }
    assert {name: c.codes.tolist() for name, c in codes.items()} == {
        "age": [1, 2, 1, 0],
        "rate": [1, 2, 0, 0],
        "town": [1, 0, 2, 1],
        "flag": [1, 0, 1, 1],
    }
    assert codes["town"].counts.tolist() == [1, 2, 1] and codes["town"].missing.tolist() == [False, False, True, False]
    assert codes["town"].first_rows().tolist() == [1, 0, 2]
    assert all(c.codes.dtype == np.int32 for c in codes.values())
    assert [name for name in DATA if table[name].ordered] == ["age", "rate"]


def test_values_that_a_reader_can_tell_apart_have_different_exact_codes() -> None:
    big = 2**53
    frame = pl.DataFrame(
        {
            "zero": [0.0, -0.0, 1.0, 0.0],
            "gap": [None, float("nan"), 1.0, None],
            "big": [big, big + 1, big, 1],
            "plain": [3.0, 1.0, 2.0, 3.0],
        }
    )
    table = Table(frame)
    assert {name: len(set(table[name].exact_codes.tolist())) for name in frame.columns} == {
        "zero": 3,
        "gap": 3,
        "big": 3,
        "plain": 3,
    }
    assert {name: len(table[name].codes.values) for name in frame.columns} == {
        "zero": 2,
        "gap": 2,
        "big": 2,
        "plain": 3,
    }
    assert table["plain"].exact_codes is table["plain"].stored.codes


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame])
def test_floats_are_the_memory_of_the_frame_and_read_only(make: Any) -> None:
    frame = make({"x": np.array([1.0, 2.0, 3.0])})
    numbers = Table(frame)["x"].numbers
    assert np.shares_memory(numbers, frame["x"].to_numpy())
    with pytest.raises(ValueError, match="read-only"):
        numbers[0] = 5.0


def test_tables_of_the_same_data_share_their_columns() -> None:
    table = Table(pl.DataFrame(DATA))
    assert table.with_roles(Roles(quasi=("age",)))["age"] is table["age"]
    other = table.with_frame(table.frame.with_columns(age=pl.Series([1, 2, 3, 4])))
    assert other["town"] is table["town"] and other["age"] is not table["age"]
    assert other["age"].numbers.tolist() == [1.0, 2.0, 3.0, 4.0]
    # A NaN is not a null, and 0.0 is not -0.0, though they are missing or equal alike.
    for rate in ([1.5, float("nan"), -0.0, 0.0], [1.5, None, 0.0, 0.0]):
        changed = table.with_frame(table.frame.with_columns(rate=pl.Series(rate)))
        assert changed["rate"] is not table["rate"]


@pytest.mark.parametrize("make", FRAMES)
def test_rows_are_taken_from_what_was_made(make: Any, conversions: Counter[str]) -> None:
    table = Table(make(DATA))
    for name in DATA:
        _ = table[name].codes, table[name].cells
    before = conversions.copy()
    rows = np.array([False, True, True, True])
    fewer = table.take(rows)
    fresh = Table(make({name: values[1:] for name, values in DATA.items()}))
    assert fewer.numbering.tolist() == [2, 3, 4]
    for name in ("age", "rate", "flag"):
        assert np.array_equal(fewer[name].numbers, fresh[name].numbers, equal_nan=True)
        assert np.array_equal(table[name].take(np.flatnonzero(rows)).numbers, fewer[name].numbers, equal_nan=True)
    taken = {name: fewer[name].codes for name in DATA}
    assert conversions - before == conversions_of(fresh, ("age", "rate", "flag"))
    for name, codes in taken.items():
        expected = fresh[name].codes
        assert (codes.values, codes.codes.tolist(), codes.counts.tolist()) == (
            expected.values,
            expected.codes.tolist(),
            expected.counts.tolist(),
        )


def conversions_of(table: Table, names: tuple[str, ...]) -> Counter[str]:
    """One conversion to floats per column: of the table that is made anew to compare with."""
    return Counter(_key("cells", table[name]) for name in names)


# -- missing values --------------------------------------------------------------------------------


def test_rows_in_messages_are_those_of_the_file_after_rows_were_dropped() -> None:
    frame = pl.DataFrame({"a": [None, 1, 2, 3, 4], "b": ["x", "y", None, "x", "y"], "c": [1.0, 2.0, 3.0, None, 5.0]})
    with pytest.warns(ShoalWarning, match="1 of 5 rows was dropped because of missing values in a"):
        fewer = read(frame, quasi=["a", "b"]).with_missing("drop", ["a"])
    with pytest.raises(InputError, match="'b' has 1 missing value, the first in row 3"):
        shoal.generalize(fewer, 2, missing="error")
    with pytest.raises(InputError, match="'c' has 1 missing value, the first in row 4"):
        fewer.with_missing("error", ["c"])


def test_numbers_dates_ranks_and_names_lose_their_missing_values_in_one_go() -> None:
    frame = pl.DataFrame({"n": [1.0, None, 3.0], "d": pl.Series(["2020-01-01", "2020-01-03", None]).str.to_date()})
    table, kinds = Table(frame), {"n": "number", "d": "date"}
    with pytest.warns(ShoalWarning, match=r"n \(1 cell: 2\), d \(1 cell: 2020-01-01\)"):
        filled = table.with_missing("median", ["n", "d"], kinds)
    assert filled.frame["n"].to_list() == [1.0, 2.0, 3.0] and filled["d"].days.tolist() == [18262.0, 18264.0, 18262.0]
    with pytest.warns(ShoalWarning, match="2 of 3 rows were dropped because of missing values in n, d"):
        assert table.with_missing("drop", ["n", "d"], kinds).numbering.tolist() == [1]
    assert table.with_missing("category", ["n"], {"n": "value"}) is table


# -- once per column -------------------------------------------------------------------------------


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each column, by its name and values, was converted to floats, days or codes."""
    counter: Counter[str] = Counter()
    for name in ("cells", "days", "stored"):
        made = Column.__dict__[name]

        def counted(self: Column, convert: Any = made.func, name: str = name) -> Any:
            counter[_key(name, self)] += 1
            return convert(self)

        monkeypatch.setattr(made, "func", counted)
    yield counter


def _key(name: str, column: Column) -> str:
    series = column.series.to_polars()
    return f"{name} {column.name} {series.dtype} {series.to_list()}"


def test_a_run_converts_each_column_once(tmp_path: Path, conversions: Counter[str]) -> None:
    survey, release = EXAMPLES / "survey.csv", tmp_path / "release.csv"
    common = [survey, "-k", 5, "--roles", EXAMPLES / "roles.toml", "--effort", "quick", "--seed", 1]
    steps = ("expenses=5000", "income=5000", "wealth=20000")
    runs: list[list[object]] = [
        ["microaggregate", *common, "-o", release, "--report", tmp_path / "report.html"],
        ["generalize", *common, *(a for s in steps for a in ("--granularity", s)), "-o", tmp_path / "categories.csv"],
        ["assess", survey, release, "--quasi", "age,hours,income,expenses,wealth"],
    ]
    for arguments in runs:
        conversions.clear()
        run(*arguments)
        assert conversions, arguments
        twice = {key[:60]: count for key, count in conversions.items() if count > 1}
        assert not twice, arguments[0]
