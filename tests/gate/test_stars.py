"""The guarantees of cell suppression: only stars, k by both readings, and every combination of up to m columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from reference import suppression as slow
from shoal.errors import PromiseError, ShoalError, UsageError
from shoal.gate.checks.every_subset import check as every_subset
from shoal.gate.checks.k_of_stars import compatible
from shoal.gate.checks.only_stars import check as only_stars
from shoal.gate.checks.only_stars import wrong_cells
from shoal.gate.context import CheckContext
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.promises import EverySubset, KOfStars, OnlyStars, Promise
from shoal.gate.reading import Written
from shoal.gate.saving import verify_unsaved

FRAME = pl.DataFrame(
    {
        "age": [30, 30, 41, 41, 52, 52],
        "town": ["a", "a", "b", "b", "b", "b"],
        "born": pl.Series(["2001-03-31"] * 6).str.to_date(),
        "member": [True, True, False, False, False, None],
        "rate": [1.5, 1.5, 2.25, 2.25, 3.0, 3.0],
    }
)
COLUMNS = ("age", "town")


def starred(frame: pl.DataFrame, **cells: list[Any]) -> pl.DataFrame:
    return frame.with_columns(pl.Series(name, values, dtype=pl.String) for name, values in cells.items())


def verify(released: pl.DataFrame, *promises: Promise, columns: tuple[str, ...] = COLUMNS) -> None:
    table = shoal.read(FRAME, quasi=list(columns), unit=False, drop=[n for n in FRAME.columns if n not in columns])
    verify_unsaved(table, released.select(columns), Guarantees(table.roles, columns, promises))


def test_stars_are_no_other_value() -> None:
    verify(starred(FRAME, age=["30", "*", "41", "41", "*", "52"]), OnlyStars(COLUMNS))
    with pytest.raises(PromiseError, match="'age' has 1 cell with another value, the first in row 2"):
        verify(starred(FRAME, age=["30", "31", "41", "41", "*", "52"]), OnlyStars(COLUMNS))
    with pytest.raises(PromiseError, match="'town' has 1 cell with another value, the first in row 6"):
        verify(starred(FRAME, town=["a", "a", "b", "b", "*", "c"]), OnlyStars(COLUMNS))
    with pytest.raises(PromiseError, match="'age' has 1 cell"):  # a star is text: a number without one must stay
        verify(FRAME.with_columns(age=pl.Series([30, 30, 41, 41, 52, 53])), OnlyStars(COLUMNS))
    with pytest.raises(PromiseError, match="'age' has 1 cell"):  # a missing cell is not a star
        verify(starred(FRAME, age=["30", None, "41", "41", "52", "52"]), OnlyStars(COLUMNS))


@pytest.mark.parametrize(
    "name, cells, wrong",
    [
        ("born", ["2001-03-31"] * 5 + ["*"], 0),
        ("born", ["2001-03-31"] * 5 + ["2001-03-30"], 1),
        ("member", ["true", "True", "*", "false", "false", None], 0),
        ("member", ["true", "false", "*", "false", "false", "false"], 2),
        ("age", ["30", "30.0", "41", "x", "52", "52"], 2),
        ("rate", ["1.5", "1.50", "*", "2.25", "3", "3.0"], 0),
        ("rate", ["1.5", "1.6", "*", "2.0", "3", "3.4"], 3),
    ],
)
def test_text_names_the_original_value(name: str, cells: list[Any], wrong: int) -> None:
    after = starred(FRAME, **{name: cells})
    context = CheckContext(FRAME, Written(after), Guarantees(), policy_named("default"))
    assert int(wrong_cells(context, name).sum()) == wrong


def test_value_labels_name_the_original_code() -> None:
    after = starred(FRAME, age=["young", "*", "middle", "old", "52", "52"])
    labels = {"age": {30: "young", 41: "middle"}}
    context = CheckContext(FRAME, Written(after), Guarantees(), policy_named("default"), labels=labels)
    assert wrong_cells(context, "age").tolist() == [False, False, False, True, False, False]
    swapped = starred(FRAME, age=["middle", "young (30)", "young", "middle", "52", "52"])
    context = CheckContext(FRAME, Written(swapped), Guarantees(), policy_named("default"), labels=labels)
    assert wrong_cells(context, "age").tolist() == [True, False, True, False, False, False]


@pytest.mark.parametrize(
    "ages, found",
    [
        (["52", "*", "41", "30", "52", "30"], "ok"),
        (["52", "*", "41", "30", "52", "31"], "block"),  # a value that no record has
        (["30", "*", "41", "30", "52", "30"], "block"),  # a value of two records in three
    ],
)
def test_rows_in_another_order_hold_no_value_more_often(ages: list[str], found: str) -> None:
    promises = Guarantees(columns=("age",), promises=(OnlyStars(("age",)),))
    after = Written(starred(FRAME, age=ages).select("age"))
    context = CheckContext(FRAME, after, promises, policy_named("default"), aligned=False)
    assert only_stars(context).status == found


def test_k_is_counted_as_promised() -> None:
    released = starred(FRAME, age=["30", "30", "*", "41", "52", "52"])
    verify(released, KOfStars(COLUMNS, 2, "wildcard"))
    with pytest.raises(PromiseError, match="at least 1 record if a star is read as a value and 2 records"):
        verify(released, KOfStars(COLUMNS, 2))
    with pytest.raises(PromiseError, match="guaranteed are 3, read as a wildcard"):
        verify(released, KOfStars(COLUMNS, 3, "wildcard"))
    verify(released, KOfStars(COLUMNS, 2, promised=False))


def test_records_with_stars_only_are_a_class() -> None:
    released = starred(FRAME, age=["30", "30", "*", "41", "41", "41"], town=["a", "a", "*", "b", "b", "b"])
    with pytest.raises(PromiseError, match="at least 1 record if a star is read as a value"):
        verify(released, KOfStars(COLUMNS, 2))


def test_a_combination_that_occurs_is_not_rare() -> None:
    verify(FRAME, EverySubset(COLUMNS, 2, 2))
    verify(starred(FRAME, age=["*", "*", "41", "41", "52", "52"]), EverySubset(COLUMNS, 2, 2))
    released = starred(FRAME, age=["*", "30", "41", "41", "52", "52"])
    with pytest.raises(PromiseError, match="2 combinations of up to 2 columns have fewer than 2 records; the rarest"):
        verify(released, EverySubset(COLUMNS, 2, 2))
    with pytest.raises(PromiseError, match="1 combination of up to 1 columns has fewer than 2 records"):
        verify(released, EverySubset(COLUMNS, 1, 2))


def test_a_combination_is_counted_within_its_stratum() -> None:
    """Each age occurs twice, and once with each town that it has."""
    released = FRAME.with_columns(age=pl.Series([30, 41, 30, 41, 52, 52]))
    context = CheckContext(
        FRAME, Written(released), Guarantees(promises=(EverySubset(("age",), 1, 2),)), policy_named("default")
    )
    assert [finding.status for finding in every_subset(context)] == ["ok"]
    within = Guarantees(promises=(EverySubset(("age",), 1, 2, within=("town",)),))
    context = CheckContext(FRAME, Written(released), within, policy_named("default"))
    assert [(finding.status, finding.figure) for finding in every_subset(context)] == [("block", 4)]


@given(st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=20))
def test_the_check_counts_compatible_records_as_the_slow_implementation(cells: list[slow.Record]) -> None:
    distinct, sizes = np.unique(np.array(cells, dtype=np.int64), axis=0, return_counts=True)
    counts = compatible(distinct + 1, distinct < 0, sizes)
    assert counts.tolist() == [slow.as_wildcard(cells)[cells.index(tuple(row))] for row in distinct.tolist()]


def test_promises_refuse_what_has_no_meaning() -> None:
    for make in (
        lambda: KOfStars(COLUMNS, 0),
        lambda: KOfStars(COLUMNS, 2, "star"),
        lambda: EverySubset(COLUMNS, 0, 2),
    ):
        with pytest.raises(UsageError):
            make()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".sav", ".dta"])
def test_a_file_with_stars_is_checked_as_it_is_written(ending: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, 200).astype(float),
            "town": rng.choice(list("abcdef"), 200),
            "sex": rng.choice(["f", "m"], 200),
        }
    )
    release = shoal.suppress(shoal.read(frame, quasi=frame.columns), 4, effort="quick", seed=1)
    saved = release.save(tmp_path / f"release{ending}")
    assert saved.findings["k-of-stars"].figure >= 4 and saved.findings["only-stars"].status == "ok"
    spoiled = release.table.with_columns(age=pl.lit("33"))
    with pytest.raises(ShoalError):
        verify_unsaved(release.original, spoiled, release.guarantees)


def test_the_check_of_two_files_takes_the_reading_of_a_star() -> None:
    released = starred(FRAME, age=["30", "30", "*", "41", "52", "52"]).select(COLUMNS)
    original = FRAME.select(COLUMNS)
    by_wildcard = shoal.check(original, released, quasi=COLUMNS, k=2, star="wildcard", accept_k=1)
    assert by_wildcard["k-of-stars"].status == by_wildcard["only-stars"].status == "ok"
    by_value = shoal.check(original, released, quasi=COLUMNS, k=2, star="value", accept_k=1)
    assert by_value["k-of-stars"].status == "block"
    combinations = shoal.check(original, released, quasi=COLUMNS, k=2, subsets=1, accept_k=1)
    assert combinations["every-subset"].status == "block" and combinations["every-subset"].figure == 1
    measured = shoal.check(original, released, quasi=COLUMNS, subsets=1, accept_k=1)
    assert measured["every-subset"].status == "warn"
