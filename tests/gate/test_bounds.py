"""Two columns bound a column of the original: the release check compares them with the values, record by record."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import PromiseError, UsageError
from shoal.gate.checks.bounds import wrong_pairs
from shoal.gate.context import CheckContext
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.promises import Bounds, KAnonymity
from shoal.gate.reading import Written
from shoal.gate.saving import examine_unsaved, verify_unsaved

AGES = pl.DataFrame({"age": [20, 21, 30, 31], "town": list("aabb")})
PAIR = ("age_lower", "age_upper")
TRUE = pl.DataFrame({"age_lower": [20, 20, 30, 30], "age_upper": [21, 21, 31, 31], "town": list("aabb")})


def guarantees(table: Any) -> Guarantees:
    promises = (KAnonymity((*PAIR, "town"), 2), Bounds(PAIR, "age"))
    return Guarantees(replace(table.roles, quasi=(*PAIR, "town")), (*PAIR, "town"), promises)


def verify(released: pl.DataFrame) -> None:
    table = shoal.read(AGES, quasi=["age", "town"], unit=False)
    verify_unsaved(table, released, guarantees(table))


def wrong(before: pl.Series, lower: pl.Series, upper: pl.Series, **more: Any) -> list[int]:
    """The records with a wrong pair, in a table in which both names of the original hold the column."""
    doubled = pl.DataFrame({"x_lower": before, "x_upper": before})
    after = Written(pl.DataFrame({"x_lower": lower, "x_upper": upper}))
    context = CheckContext(doubled, after, Guarantees(), policy_named("default"), **more)
    return np.flatnonzero(wrong_pairs(context, "x_lower", "x_upper")).tolist()


def test_true_bounds_pass_and_the_column_itself_need_not_be_there() -> None:
    verify(TRUE)


@pytest.mark.parametrize(
    ("lower", "upper", "records"),
    [
        ([21, 21, 31, 31], [20, 20, 30, 30], "4 records"),  # swapped
        ([21, 21, 30, 30], [21, 21, 31, 31], "1 record, the first in row 1"),  # shifted by one
        ([20, 20, 30, 30], [21, 21, 30, 30], "1 record, the first in row 4"),
        ([30, 30, 20, 20], [31, 31, 21, 21], "4 records"),  # those of other records
        ([None, None, 30, 30], [21, 21, 31, 31], "2 records"),  # half a pair
    ],
)
def test_bounds_that_are_not_true_are_refused(lower: list[Any], upper: list[Any], records: str) -> None:
    spoiled = TRUE.with_columns(pl.Series("age_lower", lower), pl.Series("age_upper", upper))
    with pytest.raises(PromiseError, match=f"do not bound 'age' in {records}"):
        verify(spoiled)


def test_text_is_no_bound_and_the_pair_keeps_k() -> None:
    with pytest.raises(PromiseError, match="do not bound 'age' in 4 records"):
        verify(TRUE.with_columns(pl.col("age_lower").cast(pl.String) + " or so"))
    with pytest.raises(PromiseError, match="smallest class over all protected columns has 1 record"):
        verify(TRUE.with_columns(pl.Series("age_lower", [19, 20, 30, 30])))


def test_a_pair_without_bounds_says_nothing_and_a_missing_value_has_none() -> None:
    value = pl.Series([1.0, None, 3.0, float("nan")])
    assert wrong(value, pl.Series([1.0, None, None, None]), pl.Series([1.0, None, None, None])) == []
    assert wrong(value, pl.Series([1.0] * 4), pl.Series([3.0] * 4)) == [1, 3]


@pytest.mark.parametrize("form", [None, "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_are_compared_as_days_however_they_are_written(form: str | None) -> None:
    days = pl.Series([dt.date(2001, 12, 31), dt.date(2002, 1, 13), dt.date(1999, 2, 1), None])
    before = days if form is None else days.dt.strftime(form)
    lower = pl.Series([dt.date(2001, 12, 31), dt.date(2001, 12, 31), dt.date(1999, 2, 2), None])
    upper = pl.Series([dt.date(2002, 1, 13), dt.date(2002, 1, 12), dt.date(2002, 1, 1), None])
    if form is not None:
        lower, upper = lower.cast(pl.String), upper.cast(pl.String)
    assert wrong(before, lower, upper) == [1, 2]


def test_shuffled_bounds_must_not_cross() -> None:
    low, high = pl.Series([5, 1, None, None]), pl.Series([6, 0, 1, None])
    assert wrong(pl.Series([1, 2, 3, 4]), low, high, aligned=False) == [1, 2]


def test_the_copies_of_a_column_are_no_unit() -> None:
    """A code of four rows each looks like a household if another column is constant within it; its copy is not one."""
    codes = np.repeat(np.arange(40) * 7 + 1000, 4)
    table = shoal.read(pl.DataFrame({"age": codes, "town": np.tile(list("abcd"), 40)}), quasi=["age", "town"])
    released = pl.DataFrame({"age_lower": codes, "age_upper": codes, "town": ["a | b | c | d"] * 160})
    assert examine_unsaved(table, released, guarantees(table))["unit"].status != "block"


def test_a_pair_has_two_columns() -> None:
    with pytest.raises(UsageError, match="need two columns, not 1"):
        Bounds(("age_lower",), "age")


@given(st.lists(st.tuples(*[st.one_of(st.none(), st.integers(-3, 3))] * 3), min_size=1, max_size=12))
def test_the_check_agrees_with_its_definition(rows: list[tuple[int | None, int | None, int | None]]) -> None:
    columns = [pl.Series([row[j] for row in rows], dtype=pl.Int64) for j in range(3)]
    expected = [
        i
        for i, (value, low, high) in enumerate(rows)
        if (low is None) != (high is None)
        or (low is not None and high is not None and not (value is not None and low <= value <= high))
    ]
    assert wrong(*columns) == expected
