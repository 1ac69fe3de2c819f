"""Roles, the columns chosen, and the messages on cells that cannot be used."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.sources.reading import read
from shoal.table.roles import Roles
from shoal.table.table import Table


def test_roles_are_checked_against_the_columns() -> None:
    frame = pl.DataFrame({"age": [1, 2], "income": [3, 4], "who": ["a", "b"]})
    assert read(frame, identifiers="who", quasi=["age"]).roles == Roles(("who",), ("age",))
    with pytest.raises(UsageError, match=r"Unknown column 'incme'. Did you mean 'income'\? Available columns: age"):
        read(frame, quasi=["incme"])
    with pytest.raises(UsageError, match="Unknown column 'w'"):
        read(frame, weight="w")
    with pytest.raises(UsageError, match="The column 'age' is in identifiers and in quasi"):
        read(frame, identifiers=["age"], quasi=["income", "age"])
    with pytest.raises(UsageError, match="The column 'age' is twice in quasi"):
        read(frame, quasi=["age", "age"])
    with pytest.raises(UsageError, match="The column 'age' is in confidential and in weight"):
        read(frame, confidential=["age"], weight="age")
    with pytest.raises(UsageError, match="quasi must be names of columns, not 3"):
        read(frame, quasi=[3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="weight must be the name of one column"):
        read(frame, weight=["age"])  # type: ignore[arg-type]


def test_columns_without_a_role_are_the_default_quasi_identifiers() -> None:
    frame = pl.DataFrame({"id": ["a", "b"], "x": [1, 2], "town": ["n", "s"], "y": [0.5, 1.5], "w": [1, 1]})
    table = read(frame, identifiers="id", weight="w")
    assert table.quasi_columns() == table.without_role() == ("x", "town", "y")
    assert read(frame, identifiers="id", weight="w", as_is="x", drop="town").quasi_columns() == ("y",)
    assert read(frame, quasi=["y"]).quasi_columns() == ("y",)
    assert read(frame, quasi=["y"]).without_role() == ("id", "x", "town", "w")
    with pytest.raises(UsageError, match="Every column has another role"):
        read(frame, identifiers=["id", "x", "town", "y", "w"]).quasi_columns()


def test_columns_must_be_named_where_only_numbers_will_do() -> None:
    frame = pl.DataFrame(
        {
            "town": ["A", "B", "A", None],
            "age": [31, 32, 33, 34],
            "on": [True, False, True, True],
            "day": [dt.date(2020, 1, 1)] * 4,
            "pay": ["100", "200", "3oo", "400"],
            "none": [None] * 4,
        }
    )
    assert Table(frame).quasi_columns() == tuple(frame.columns)  # a mixed file is protected as a whole
    with pytest.raises(UsageError) as caught:
        Table(frame).quasi_columns(numbers_only=True)
    message = str(caught.value)
    assert "--quasi age" in message
    assert "quasi=['age'] in Python" in message
    lines = [" ".join(line.split()) for line in message.splitlines()]
    assert "town text 2 distinct, 1 missing, such as A" in lines
    assert "age number 4 distinct, such as 31" in lines
    assert "on bool 2 distinct, such as True" in lines
    assert "day date 1 distinct, such as 2020-01-01" in lines
    assert "none empty 0 distinct, 4 missing" in lines
    assert "'pay' has text where a number is needed: '3oo' in row 3 (1 such cell)" in message
    assert "'town' has text" not in message
    assert read(frame, quasi=["town"]).quasi_columns(numbers_only=True) == ("town",)  # its cells are judged later


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["1", "x", "3"], "'x' has text where a number is needed: 'x' in row 2 .1 such cell"),
        ([1.0, None, None], "'x' has 2 missing values, the first in row 2.*--missing drop removes 2 rows"),
        ([1.0, float("nan"), 2.0], "'x' has 1 missing value, the first in row 2.*--missing median"),
        ([1.0, 2.0, float("inf")], "'x' has 1 infinite value, the first in row 3"),
        ([-float("inf")] * 3, "'x' has 3 infinite values, the first in row 1"),
        ([dt.date(2020, 1, 1)] * 3, "'x' holds dates, such as '2020-01-01' in row 1"),
        ([dt.time(1), None, None], "'x' holds times"),
        ([[1], [2], [3]], r"'x' holds values of the type List"),
        ([None, None, None], r"'x' has no values. Remove it \(--drop x\)"),
        ([5, 5, 5], r"The column 'x' is constant"),
        ([-1.7e308, 1.7e308, 0.0], "'x' are too far apart"),
    ],
)
def test_cells_that_cannot_be_used_are_named(column: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(pl.DataFrame({"x": column}), quasi="x").numbers()


def test_all_columns_that_miss_values_are_named() -> None:
    table = read(pl.DataFrame({"a": [1, None, 3], "b": [None, 2, 3], "c": [1, 2, 3]}))
    with pytest.raises(
        InputError,
        match=r"'a' has 1 missing value, the first in row 2. Other columns with missing values: 'b'.*removes 2 rows",
    ):
        table.numbers()
    with pytest.raises(InputError, match="'a' has 1 missing value"):
        table.with_missing("error")
    with pytest.raises(UsageError, match="missing must be error, drop or median, not 'dorp'. Did you mean 'drop'"):
        table.with_missing("dorp")


def test_constant_columns() -> None:
    frame = pl.DataFrame({"a": [1, 1, 1], "b": [2, 2, 2], "c": [1, 2, 3]})
    with pytest.warns(ShoalWarning, match="The columns are constant: 'a', 'b'. A constant column"):
        read(frame).numbers()
    with pytest.raises(InputError, match=r"All 2 columns to protect are constant \(a, b\)"):
        read(frame).numbers(["a", "b"])
    assert read(frame).numbers(["a", "b"], allow_constant=True).tolist() == [[1.0, 2.0]] * 3


def test_columns_asked_for_are_checked() -> None:
    table = read(pl.DataFrame({"age": [1, 2]}))
    with pytest.raises(UsageError, match="Did you mean 'age'"):
        table.numbers(["agee"])
    with pytest.raises(UsageError, match="No columns are named"):
        table.numbers([])
    with pytest.raises(UsageError, match="twice"):
        table.numbers(["age", "age"])


def test_long_whole_numbers_are_warned_of() -> None:
    with pytest.warns(ShoalWarning, match="'x' has whole numbers beyond 2"):
        read(pl.DataFrame({"x": [2**60 + 1, 1]})).numbers()


def test_booleans_are_numbers_only_when_asked() -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3], "b": [True, False, True]}))
    assert table.quasi_columns() == ("a", "b")
    with pytest.raises(UsageError, match="Some columns do not hold numbers"):
        table.quasi_columns(numbers_only=True)
    assert table.numbers(["b"])[:, 0].tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 0, 2], "Weights must be above 0, but the column 'w' has 0 in row 2 .1 such row"),
        ([1.0, -2.5, -1.0], "has -2.5 in row 2 .2 such rows"),
        ([1.0, None, 1.0], "The weight column 'w' has 1 missing value, the first in row 2"),
        ([1.0, float("inf"), 1.0], "infinite"),
        (["1", "x", "2"], "text"),
    ],
)
def test_weights_are_positive(weights: list[object], message: str) -> None:
    table = read(pl.DataFrame({"a": [1, 2, 3], "w": weights}), quasi="a", weight="w")
    with pytest.raises(InputError, match=message):
        table.weights()


def test_weights_are_given() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3], "w": [1, 2, 3]})
    weights = read(frame, weight="w").weights()
    assert weights is not None
    assert weights.tolist() == [1.0, 2.0, 3.0]
    assert weights.flags.writeable
    assert read(frame).weights() is None


@pytest.mark.parametrize(
    ("values", "weights", "median"),
    [
        ([1.0, None, 3.0, 5.0], None, 3.0),
        ([1.0, None, 3.0], None, 2.0),
        ([1.0, None, 3.0], [1, 7, 1], 2.0),
        ([1.0, None, 3.0], [1, 1, 2], 3.0),
        ([5.0, None, 1.0, 2.0], [1, 1, 5, 1], 1.0),
        ([4.0, 1.0, None, 3.0, 2.0], [1, 1, 9, 1, 1], 2.5),
    ],
)
def test_the_median_honours_weights(values: list[float], weights: list[float] | None, median: float) -> None:
    frame = pl.DataFrame({"a": values, "w": weights or [1] * len(values)})
    table = read(frame, quasi="a", weight="w" if weights else None)
    with pytest.warns(ShoalWarning, match=r"a \(1 cell"):
        filled = table.with_missing("median").numbers()[:, 0]
    gap = values.index(None)  # type: ignore[arg-type]
    assert filled[gap] == median
    assert np.delete(filled, gap).tolist() == [v for v in values if v is not None]


def test_filled_integers_stay_integers_if_the_median_is_one() -> None:
    table = read(pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.Int16), "b": [1, None, 4]}))
    with pytest.warns(ShoalWarning):
        filled = table.with_missing("median")
    assert filled.frame.schema == {"a": pl.Int16, "b": pl.Float64}
    assert table.frame["a"].to_list() == [1, None, 3]


def test_nothing_left_is_reported() -> None:
    table = read(pl.DataFrame({"a": [1, None], "b": [None, 2], "c": pl.Series([None, None], dtype=pl.Int64)}))
    with pytest.raises(InputError, match="Every row has a missing value in a, b"):
        table.with_missing("drop", ["a", "b"])
    with pytest.raises(InputError, match="'c' has no values and therefore no median"):
        table.with_missing("median", ["c"])


def test_rows_keep_their_numbers_when_others_are_dropped() -> None:
    table = read(pl.DataFrame({"a": [None, 1.0, 2.0], "b": [1.0, 2.0, float("inf")]}))
    with pytest.warns(ShoalWarning):
        fewer = table.with_missing("drop", ["a"])
    with pytest.raises(InputError, match="infinite value, the first in row 3"):
        fewer.numbers()


def test_whole_numbers_are_known_whatever_their_type() -> None:
    table = read(pl.DataFrame({"a": [1, 2], "b": [1.0, 2.0], "c": [1.5, 2.0], "d": [None, 7.0]}))
    assert table.whole() == ("a", "b", "d")


def test_new_values_are_checked() -> None:
    frame = pl.DataFrame({"id": ["x", "y"], "a": [1, 2], "left": [1, 2], "home": [7, 8]})
    table = read(frame, identifiers="id", drop="left", unit="home")
    with pytest.raises(UsageError, match="Unknown column 'b'"):
        table.protected({"b": np.zeros(2)})
    with pytest.raises(UsageError, match=r"'a' needs 2 new values, not an array of shape \(3,\)"):
        table.protected({"a": np.zeros(3)})
    for name in ("id", "left", "home"):
        with pytest.raises(UsageError, match=f"'{name}' is removed from the release and cannot get new values"):
            table.protected({name: np.zeros(2)})
    with pytest.raises(UsageError, match="'a' cannot be rounded, because it has no new values"):
        table.protected({}, round_columns=["a"])
    with pytest.raises(UsageError, match="do not fit its type"):
        table.protected({"a": np.array([1e300, 1.0])}, round_columns=["a"])
    with pytest.raises(UsageError, match="Every column is removed"):
        read(pl.DataFrame({"id": [1]}), identifiers="id").protected({})
    assert table.protected({}).columns == ["a"]


def test_describe_shows_what_columns_look_like() -> None:
    table = read(pl.DataFrame({"a": [1, None, 1], "b": ["x", "y", "z"], "c": [[1], [1], None]}))
    assert [tuple(row) for row in table.describe()] == [
        ("a", "number", 1, 1, "1"),
        ("b", "text", 3, 0, "x"),
        ("c", "other", 1, 1, "[1]"),
    ]
    assert repr(table) == "<Table of 3 rows, 3 columns: a, b, c>"
