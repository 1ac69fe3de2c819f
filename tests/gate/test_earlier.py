"""An earlier release joined to the current one: the right rows, the finest values, and true reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import shoal
from shoal.errors import UsageError
from shoal.gate.cells import classes
from shoal.gate.earlier import Joined, exact_again, join_earlier, smallest_intersection

NUMBERS = ("age", "income")
LABELS = ("town", "school")
K = 5


def survey(n: int = 200, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {
            "age": age,
            "income": (rng.lognormal(10, 0.6, n) + 50 * age).round(2),
            "town": rng.choice(["north", "east", "south", "west"], n),
            "school": rng.choice(["primary", "secondary", "college"], n),
            "illness": rng.choice(["none", "flu", "gout", "asthma"], n),
            "weight": rng.permutation(n) / 7 + 1,
        }
    )


def averaged(frame: pl.DataFrame, by: str, k: int = K, columns: tuple[str, ...] = NUMBERS) -> pl.DataFrame:
    """Groups of k in the order of one column, replaced by their means."""
    label = np.empty(frame.height, dtype=np.int64)
    label[np.argsort(frame[by].to_numpy(), kind="stable")] = np.minimum(
        np.arange(frame.height) // k, max(frame.height // k - 1, 0)
    )
    means = {name: np.bincount(label, frame[name].to_numpy()) / np.bincount(label) for name in columns}
    return frame.with_columns([pl.Series(name, values[label]) for name, values in means.items()])


def coarse(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.col("town").replace({"north": "{north, east}", "east": "{north, east}"}).replace({"west": "{south, west}"}),
        pl.when(pl.col("school") == "college").then(pl.lit("college")).otherwise(pl.lit("{school}")).alias("school"),
    ).with_columns(pl.col("town").replace({"south": "{south, west}"}))


def mixed(n: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the rows, and for each row its place in that order."""
    order = np.random.default_rng(seed).permutation(n)
    return order, np.argsort(order)


def k_of(joined: Joined, names: tuple[str, ...]) -> int:
    assert joined.frame is not None
    return classes(joined.frame, joined.versions(names)).smallest


def rows_of(joined: Joined) -> NDArray[np.int64]:
    assert joined.rows is not None, joined.why
    return joined.rows


SURVEY = survey()
FIRST, SECOND = averaged(SURVEY, "age"), averaged(SURVEY, "income")


# -- by the order of the rows --------------------------------------------------------------------


def test_the_same_order_is_seen_by_unchanged_columns() -> None:
    joined = join_earlier(SURVEY, SECOND, FIRST, NUMBERS)
    assert (joined.how, joined.why, joined.records) == ("order", "", SURVEY.height)
    assert (rows_of(joined) == np.arange(SURVEY.height)).all()
    assert joined.shared_exact == ("town", "school", "illness", "weight")
    assert joined.columns == ("age (earlier)", "income (earlier)")
    both = SECOND.select(NUMBERS).hstack(FIRST.select(pl.col(NUMBERS).name.suffix(" (earlier)")))
    assert k_of(joined, NUMBERS) == classes(both, tuple(both.columns)).smallest < K
    assert smallest_intersection(SECOND, joined, NUMBERS) == k_of(joined, NUMBERS)


def test_the_same_order_is_seen_by_values_that_go_together() -> None:
    """All columns are protected in both releases."""
    one = coarse(SECOND).select(*NUMBERS, *LABELS)
    two = averaged(SURVEY, "age", 7).select(NUMBERS)
    assert join_earlier(SURVEY, one, two, NUMBERS).how == "order"
    labels = (
        SURVEY.select(LABELS),
        coarse(SURVEY).select("town"),
        pl.DataFrame({"town": SURVEY["town"].str.slice(1, 3)}),
    )
    assert join_earlier(labels[0], labels[1], labels[2].with_columns(pl.col("town").replace({"ort": "x"})), LABELS).how
    order, _ = mixed(SURVEY.height)
    assert join_earlier(SURVEY, one, two[order], NUMBERS).how == ""
    assert join_earlier(labels[0], labels[1], coarse(SURVEY)[order].select("school"), LABELS).how == ""


@pytest.mark.parametrize("by", ["town", "income"])
def test_two_files_sorted_alike_are_not_in_the_same_order(by: str) -> None:
    """Only the sorting agrees; within equal values the rows are shuffled."""
    original = SURVEY.select("town", *NUMBERS).with_columns(visits=pl.Series(mixed(200, 5)[0])).sort(by)
    release, other = (averaged(original, by, k, (*NUMBERS, "visits")) for by, k in (("income", 5), ("age", 3)))
    if by == "income":
        rounded = [(original["income"] / width).round() * width for width in (100, 2000)]
        release, other = release.with_columns(rounded[0]).drop("town"), other.with_columns(rounded[1]).drop("town")
    assert join_earlier(original, release, other, NUMBERS).how == "order"
    order = np.lexsort((np.random.default_rng(2).random(other.height), other[by].rank("dense").to_numpy()))
    shuffled = join_earlier(original, release, other[order], NUMBERS)
    assert shuffled.how == "" and "no column shows that the rows" in shuffled.why


def test_a_file_sorted_by_the_number_that_is_averaged() -> None:
    """Rows of one group are equal, so that their order makes no difference."""
    original = SURVEY.select(NUMBERS).sort("income")
    release, other = averaged(original, "income"), averaged(original, "income", 9)
    joined = join_earlier(original, release, other, NUMBERS)
    assert joined.how == "order" and k_of(joined, NUMBERS) < K
    again = averaged(original, "age", 9).sort("income")
    assert join_earlier(original, release, again, NUMBERS).how == ""


def test_records_appended_since_the_earlier_release_keep_the_order() -> None:
    joined = join_earlier(SURVEY, SECOND.drop("weight"), averaged(SURVEY[:150], "age").drop("weight"), NUMBERS)
    assert joined.how == "order" and joined.records == 150
    assert (rows_of(joined) == np.where(np.arange(200) < 150, np.arange(200), -1)).all()


def test_swapped_values_and_moved_rows_leave_the_order_of_the_others() -> None:
    swap = np.arange(200)
    swap[[3, 90]] = 90, 3
    differs = SURVEY["town"][3] != SURVEY["town"][90]
    past = FIRST.with_columns(FIRST["town"][swap], FIRST["weight"][swap])
    joined = join_earlier(SURVEY, SECOND, past, NUMBERS)
    assert differs and joined.how == "order"
    assert np.flatnonzero(rows_of(joined) < 0).tolist() == [3, 90] and joined.records == 198


def test_two_files_that_are_both_sorted_show_nothing() -> None:
    """Columns go with income over the whole file, but not from row to row."""
    original = SURVEY.select("income").with_columns(wealth=pl.col("income") * pl.Series(1 + mixed(200, 3)[0] / 200))
    original = original.sort("income")
    release = averaged(original, "income", columns=("income", "wealth"))
    earlier = averaged(original, "wealth", columns=("income", "wealth"))
    assert join_earlier(original, release, earlier, original.columns).how == "order"
    assert join_earlier(original, release, earlier.sort("income"), original.columns).how == ""
    noisy = pl.DataFrame({"income": original["income"] * pl.Series(0.8 + mixed(200, 4)[0] / 500)}).sort("income")
    assert join_earlier(original, release.select("income"), noisy, ["income"]).how == ""


def test_a_file_sorted_by_a_nearly_unique_column() -> None:
    """Records with the same code may have changed places."""
    code = np.sort(np.append(np.arange(195), [10, 20, 30, 40, 50]))
    original = SURVEY.select(NUMBERS).with_columns(code=pl.Series(code))
    release, earlier = (averaged(original, by) for by in NUMBERS)
    joined = join_earlier(original, release, earlier, NUMBERS)
    several = np.isin(code, [10, 20, 30, 40, 50])
    assert joined.how == "shared columns"
    assert (rows_of(joined) == np.where(several, -1, np.arange(200))).all()


def test_a_file_sorted_by_a_column_that_is_left_out() -> None:
    """The schools stand in the same rows of both files, since both were sorted by town and school."""
    original = SURVEY.select(*LABELS, *NUMBERS).sort(LABELS)
    release, earlier = (averaged(original, by).drop("town") for by in NUMBERS)
    order = np.lexsort((mixed(200)[0], original["school"].rank("dense"), original["town"].rank("dense")))
    assert earlier["school"].equals(earlier["school"][order])
    assert join_earlier(original, release, earlier, NUMBERS).how == "order"
    assert join_earlier(original, release, earlier[order], NUMBERS).how == ""


def test_close_values_do_not_order_few_appended_records() -> None:
    for n, how in ((60, ""), (200, "order")):
        original = SURVEY[:n].select(NUMBERS)
        earlier = original[: n * 3 // 4].select(pl.col(NUMBERS) * (1.01 + 0.01 * pl.int_range(pl.len()).mod(3)))
        assert join_earlier(original, averaged(original, "income"), earlier, NUMBERS).how == how


def test_one_column_that_goes_together_is_not_enough() -> None:
    original = SURVEY.select(NUMBERS).with_columns(visits=pl.Series(mixed(200, 5)[0]))
    release, earlier = (averaged(original, by, 5, (*NUMBERS, "visits")) for by in NUMBERS)
    moved = earlier[mixed(200)[0]].with_columns(earlier["income"])
    assert join_earlier(original, release, earlier, NUMBERS).how == "order"
    assert join_earlier(original, release, moved, NUMBERS).how == ""


def test_few_equal_values_do_not_outweigh_an_unchanged_column_in_other_rows() -> None:
    original = pl.DataFrame({"id": ["x", "y"], "p": [0, 2]})
    earlier = pl.DataFrame({"id": ["y", "x"], "p": [0, 2]})
    joined = join_earlier(original, original.with_columns(p=pl.lit(1)), earlier, ["p"])
    assert joined.how == "shared columns" and rows_of(joined).tolist() == [1, 0]


def test_the_order_of_a_shuffled_file_is_not_used() -> None:
    plain = [frame.select(*NUMBERS, "town") for frame in (SURVEY, SECOND, FIRST)]
    assert join_earlier(*plain, NUMBERS).how == "order"
    joined = join_earlier(*plain, NUMBERS, keeps_order=False)
    assert joined.frame is None and joined.why == (
        "the rows of this release are in a random order, and no combination of the values in 'town' occurs exactly "
        "once in both releases"
    )


def test_numbers_of_the_rows_do_not_join_files() -> None:
    order, _ = mixed(SURVEY.height)
    frames = [f.select(NUMBERS) for f in (SECOND, FIRST[order])]
    one, two = (f.with_row_index("index", offset=1) for f in frames)
    assert join_earlier(SURVEY.select(NUMBERS), one, two, NUMBERS).how == ""


# -- by shared columns ---------------------------------------------------------------------------


def test_shuffled_rows_are_joined_by_a_unique_unchanged_column() -> None:
    order, place = mixed(SURVEY.height)
    joined = join_earlier(SURVEY, SECOND, FIRST[order], NUMBERS)
    assert joined.how == "shared columns" and joined.records == SURVEY.height
    assert (rows_of(joined) == place).all()
    assert "weight" in joined.shared_exact and joined.frame is not None
    assert joined.frame["age (earlier)"].equals(FIRST["age"], check_names=False)
    assert k_of(joined, NUMBERS) == k_of(join_earlier(SURVEY, SECOND, FIRST, NUMBERS), NUMBERS)


def test_the_truth_removes_wrong_pairs_and_finds_the_order() -> None:
    order, place = mixed(SURVEY.height)
    assert (rows_of(join_earlier(SURVEY, SECOND, FIRST[order], NUMBERS, truth=place)) == place).all()
    only_numbers = [f.select(NUMBERS) for f in (SURVEY, SECOND)]
    known = join_earlier(*only_numbers, FIRST.select(NUMBERS), NUMBERS, truth=np.arange(200))
    assert known.how == "order"
    nobody = join_earlier(SURVEY, SECOND, FIRST[order], NUMBERS, truth=np.full(200, -1))
    assert nobody.why == "the two releases have no record in common"
    # Two records of different people with the same key: only the truth can tell.
    original = pl.DataFrame({"id": [1, 2, 3], "x": [1.0, 2.0, 3.0]})
    earlier = pl.DataFrame({"id": [3, 1, 9], "x": [5.0, 5.0, 5.0]})
    joined = join_earlier(original, original, earlier, ["x"], truth=np.array([-1, -1, 0]))
    assert rows_of(joined).tolist() == [-1, -1, 0]
    # Both earlier records "b" have the same value, but one of them is somebody else.
    original = pl.DataFrame({"key": ["a", "b", "b", "c"], "x": [1, 2, 3, 4], "y": [1, 1, 1, 1]})
    earlier = pl.DataFrame({"key": ["b", "a", "b", "c"], "x": [2, 1, 2, 5], "y": [7, 8, 9, 9]})
    release, truth = original.with_columns(x=pl.lit(2.5)), np.array([1, 0, -1, -1])
    joined = join_earlier(original, release, earlier, ["x"], truth=truth)
    assert rows_of(joined).tolist() == [1, -1, -1, -1] and joined.earlier is not None
    assert joined.earlier["x"].to_list() == [1, 2, None, None]


def test_reasons_are_true() -> None:
    order, _ = mixed(SURVEY.height)
    bare = [f.select(NUMBERS) for f in (SURVEY, SECOND)]
    cases: list[tuple[Any, str]] = [
        (
            (*bare, FIRST[order].select(NUMBERS)),
            "no column shows that the rows of the two releases are in the same order, and no column in common holds "
            "the same values in both",
        ),
        (
            (*bare, averaged(SURVEY[10:90], "age").select(NUMBERS)),
            "the earlier release has 80 rows and this one 200, and no column in common holds the same values in both",
        ),
        (
            (SURVEY, SECOND.select(NUMBERS), SURVEY[order].select("town")),
            "no column shows that the rows of the two releases are in the same order, and they have no column in "
            "common",
        ),
        (
            (SURVEY, SECOND.select("age", *LABELS), FIRST[order].select("age", *LABELS)),
            "no column shows that the rows of the two releases are in the same order, and no combination of the values "
            "in 'town', 'school' occurs exactly once in both releases",
        ),
        ((SURVEY, SECOND, FIRST[:0]), "the earlier release has no rows"),
        ((SURVEY[:0], SECOND[:0], FIRST), "this release has no rows"),
    ]
    for frames, why in cases:
        joined = join_earlier(*frames, NUMBERS)
        assert joined.why == why
        assert (joined.frame, joined.rows, joined.how, joined.columns, joined.records) == (None, None, "", (), 0)
        assert exact_again(frames[0], joined, NUMBERS) == {}
        assert smallest_intersection(frames[1], joined, NUMBERS) is None


def test_fewer_and_more_rows() -> None:
    order, place = mixed(SURVEY.height)
    some = np.sort(order[:150])
    fewer = averaged(SURVEY, "age")[some]
    joined = join_earlier(SURVEY, SECOND, fewer, NUMBERS)
    truth = np.full(200, -1)
    truth[some] = np.arange(150)
    assert joined.how == "shared columns" and joined.records == 150
    assert (rows_of(joined) == truth).all()
    more = join_earlier(SURVEY[some], averaged(SURVEY[some], "income"), FIRST[order], NUMBERS)
    assert (rows_of(more) == place[some]).all()


def test_a_key_must_be_unique_in_both_files() -> None:
    """Ten codes occur twice in the larger file; the smaller one has only one record of each."""
    original = SURVEY.select(NUMBERS).with_columns(code=pl.Series(np.append(np.arange(190), np.arange(10))))
    large, small = averaged(original, "income"), averaged(original, "age")[:190][::-1]
    truth = np.where(np.arange(200) < 190, 189 - np.arange(200), -1)
    joined = join_earlier(original, large, small, NUMBERS)
    assert joined.records == 180 and (rows_of(joined)[10:190] == truth[10:190]).all()
    turned = join_earlier(original[:190][::-1], small, large, NUMBERS)
    assert turned.records == 180 and (rows_of(turned)[:180] == 189 - np.arange(180)).all()


def test_files_that_share_some_records() -> None:
    """Another year's sample: 60 records of 130 are in both."""
    original = survey(260, 4)
    now, then = np.arange(130), np.random.default_rng(5).permutation(np.arange(70, 200))
    joined = join_earlier(original[now], averaged(original[now], "income"), averaged(original[then], "age"), NUMBERS)
    assert joined.how == "shared columns" and joined.records == 60
    assert (then[rows_of(joined)[70:]] == now[70:]).all() and (rows_of(joined)[:70] == -1).all()


def test_different_records_are_not_joined() -> None:
    """No record is in both files, and the values of few labels agree by chance."""
    original = (
        survey(300, 6).with_columns(pl.Series("code", np.random.default_rng(7).integers(0, 30, 300))).drop("weight")
    )
    now, then = original[:150], original[150:]
    joined = join_earlier(now, averaged(now, "income"), averaged(then, "age"), NUMBERS)
    assert joined.frame is None and "are expected to agree there by chance" in joined.why


def test_swapped_values_join_no_rows() -> None:
    """The current release swapped the only column whose values the earlier one shares."""
    order, place = mixed(SURVEY.height)
    columns = ["weight", *NUMBERS]
    swapped = SECOND.with_columns(SECOND["weight"][place]).select(columns)
    assert join_earlier(SURVEY.select(columns), swapped, FIRST[order].select(columns), NUMBERS).how == ""
    labels = [
        frame.select("weight", "town") for frame in (SURVEY, coarse(swapped.hstack([SURVEY["town"], SURVEY["school"]])))
    ]
    past = SURVEY[order].select("weight", pl.col("town").str.slice(1, 1))
    assert join_earlier(*labels, past, ["town"], keeps_order=False).how == ""
    sick = [frame.with_columns(SURVEY["illness"]) for frame in labels]
    joined = join_earlier(*sick, past.with_columns(SURVEY["illness"][order]), ["town"], keeps_order=False)
    assert joined.how == "" and "the values in 'illness' occurs" in joined.why
    # Swapped in the earlier release: the other numbers contradict.
    past = FIRST.with_columns(FIRST["weight"][place])[order[::-1]].select(columns)
    joined = join_earlier(SURVEY.select(columns), SECOND.select(columns), past, NUMBERS)
    assert joined.how == "" and "would join are not correlated" in joined.why


def test_ambiguous_keys_are_not_joined() -> None:
    original = pl.DataFrame({"key": ["a", "b", "b", "c", "c"], "x": [1, 2, 3, 4, 4], "y": [1, 2, 3, 4, 5]})
    release = original.with_columns(x=pl.lit(2.8), y=pl.lit(3.0))
    joined = join_earlier(original, release, original[[4, 2, 0, 1, 3]], ["x", "y"])
    assert joined.how == "shared columns" and joined.shared_exact == ("key",)
    assert rows_of(joined).tolist() == [2, -1, -1, -1, -1] and joined.records == 1
    assert joined.frame is not None
    # x of both records "c" is 4, whichever is which; of the records "b" nothing is certain.
    assert joined.frame["x"].to_list() == [1.0, 2.8, 2.8, 4.0, 4.0]
    assert joined.frame["y"].to_list() == [1.0, 3.0, 3.0, 3.0, 3.0]
    assert exact_again(original, joined, ["x", "y"]) == {"x": 0.6, "y": 0.2}
    # The intruder knows the record of "a", and can tell none of the other four apart by their class.
    assert smallest_intersection(release, joined, ["x", "y"]) == 4
    assert smallest_intersection(release, joined, ["x"], np.array([False, False, True, True, True])) == 3


# -- what both releases disclose -----------------------------------------------------------------


@pytest.mark.parametrize("shuffled", [False, True])
def test_two_releases_side_by_side_give_the_original(shuffled: bool) -> None:
    """One release protects the numbers, the other generalizes the labels."""
    order, _ = mixed(SURVEY.height)
    labels = coarse(SURVEY)[order] if shuffled else coarse(SURVEY)
    joined = join_earlier(SURVEY, SECOND, labels, (*NUMBERS, *LABELS))
    assert joined.how == ("shared columns" if shuffled else "order")
    assert exact_again(SURVEY, joined, NUMBERS) == {"age": 1.0, "income": 1.0}
    assert joined.columns == NUMBERS and joined.frame is not None
    for name in (*NUMBERS, *LABELS):
        assert joined.frame[name].equals(SURVEY[name])
    assert classes(SECOND, NUMBERS).smallest >= K and k_of(joined, NUMBERS) == 1
    assert smallest_intersection(SECOND, joined, NUMBERS) == 1
    turned = join_earlier(SURVEY, coarse(SURVEY), SECOND[order] if shuffled else SECOND, LABELS)
    assert exact_again(SURVEY, turned, LABELS) == {"town": 1.0, "school": 1.0}


def test_exact_values_of_an_earlier_release_are_found_in_large_classes() -> None:
    """The classes of both releases together are large, but the earlier one holds the original ages."""
    original = SURVEY.with_columns(age=pl.Series([30, 40] * 100))
    release = original.with_columns(age=pl.lit(35.0))
    finding = shoal.check(original, release, quasi=["age"], as_is=original.columns[1:], k=K, previous=original)[
        "previous"
    ]
    assert finding.status == "warn" and finding.figure == 100
    assert "holds the original 'age' of 100 % of the records" in finding.finding


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("drop", [[], ["weight"], ["weight", "illness", *LABELS]])
def test_an_identical_release_adds_nothing(shuffled: bool, drop: list[str]) -> None:
    release = SECOND.drop(drop)
    order, _ = mixed(SURVEY.height)
    joined = join_earlier(SURVEY, release, release[order] if shuffled else release, NUMBERS)
    assert joined.records == SURVEY.height and joined.columns == () and joined.frame is not None
    assert joined.frame.equals(release) and k_of(joined, NUMBERS) == classes(release, NUMBERS).smallest == K
    assert smallest_intersection(release, joined, NUMBERS) == K
    assert (joined.earlier is not None) and joined.earlier.select(release.columns).equals(release)


def test_columns_of_the_earlier_release_alone_and_taken_names() -> None:
    release = SECOND.drop("town").with_columns(pl.lit(1).alias("age (earlier)"))
    joined = join_earlier(SURVEY, release, FIRST, NUMBERS)
    assert joined.frame is not None
    assert joined.columns == ("age (earlier 2)", "income (earlier)", "town")
    assert joined.frame["town"].equals(SURVEY["town"]) and joined.frame["age (earlier)"].to_list() == [1] * 200
    assert joined.versions(["age"]) == ("age", "age (earlier 2)")
    assert exact_again(SURVEY, joined, ["town", "absent"]) == {"town": 1.0, "absent": 0.0}


# -- types, missing values, size -----------------------------------------------------------------


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32, pl.Int16, pl.String, pl.Categorical])
def test_types_that_differ_between_the_files(kind: Any) -> None:
    order, place = mixed(SURVEY.height)
    original = SURVEY.with_columns(pl.Series("code", np.random.default_rng(8).permutation(200))).drop("weight")
    release = averaged(original, "income")
    text = kind in (pl.String, pl.Categorical)
    earlier = averaged(original, "age").with_columns(
        (pl.format(" {} ", "code") if text else pl.col("code")).cast(kind), pl.col("town").cast(pl.Categorical)
    )
    for one, two in ((release, earlier), (release.with_columns(earlier["code"]), averaged(original, "age"))):
        joined = join_earlier(original, one, two[order], NUMBERS)
        assert "code" in joined.shared_exact and "town" in joined.shared_exact
        assert (rows_of(joined) == place).all()
    exact = original.with_columns(pl.col("age").cast(pl.String), pl.col("income").cast(pl.Float32))
    assert exact_again(original, join_earlier(original, release, exact, NUMBERS), NUMBERS) == {
        "age": 1.0,
        "income": 1.0,
    }


def test_long_codes_and_dates() -> None:
    order, place = mixed(50)
    code = 10**17 + np.arange(50)
    day = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 2, 19), eager=True)
    base = averaged(survey(50), "income").select(NUMBERS)
    one = base.with_columns(pl.Series("code", code))
    assert (rows_of(join_earlier(one, one, one[order].cast({"code": pl.UInt64}), NUMBERS)) == place).all()
    two = base.with_columns(day.alias("day"))
    for kind in (pl.String, pl.Datetime("ms")):
        assert (rows_of(join_earlier(two, two, two[order].cast({"day": kind}), NUMBERS)) == place).all()


def test_missing_values() -> None:
    nan, none = float("nan"), None
    original = pl.DataFrame({"id": [1.5, nan, 3.5, 4.5], "x": [1.0, none, 3.0, nan], "t": ["a", "", none, "d"]})
    release = original.with_columns(x=pl.lit(2.0))
    earlier = pl.DataFrame({"id": [4.5, 3.5, none, 1.5], "x": [nan, 3.0, none, 1.0], "t": ["d", "", none, "a "]})
    joined = join_earlier(original, release, earlier, ["x"])
    assert rows_of(joined).tolist() == [3, 2, 1, 0] and set(joined.shared_exact) == {"id", "t"}
    assert exact_again(original, joined, ["x"]) == {"x": 1.0}
    # In files with different records, two records may both have a missing key: they are not joined.
    fewer = pl.DataFrame({"id": [none, 3.5], "x": [9.0, 3.0]})
    joined = join_earlier(original, release, fewer, ["x"])
    assert rows_of(joined).tolist() == [-1, -1, 1, -1]
    # A null of a record that is not joined does not count as a missing original value.
    assert exact_again(original, joined, ["x"]) == {"x": 0.25}


def test_files_of_another_shape_are_refused() -> None:
    with pytest.raises(UsageError, match="The original has 199 rows and the release has 200"):
        join_earlier(SURVEY[1:], SECOND, FIRST, NUMBERS)
    with pytest.raises(UsageError, match="truth must have one row number per row"):
        join_earlier(SURVEY, SECOND, FIRST, NUMBERS, truth=np.arange(3))


def test_a_hundred_thousand_rows() -> None:
    original = survey(100_000, 9)
    order, place = mixed(100_000)
    joined = join_earlier(original, averaged(original, "income"), averaged(original, "age")[order], NUMBERS)
    assert (rows_of(joined) == place).all()
    plain = original.drop("weight")
    beside = join_earlier(plain, averaged(plain, "income"), averaged(plain, "age"), NUMBERS)
    assert beside.how == "order" and k_of(beside, NUMBERS) == 1


# -- properties ----------------------------------------------------------------------------------


@st.composite
def releases(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, NDArray[np.int64]]:
    """An original, its release, an earlier release of some rows in some order, and the true rows.

    The unchanged columns a and b together are unique in the original, with missing values among them.
    """
    cells = st.tuples(st.sampled_from([None, 0, 1, 2, 3]), st.sampled_from(["x", "y", "z", None, "w"]))
    keys = draw(st.lists(cells, min_size=1, max_size=14, unique=True))
    n = len(keys)
    numbers = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    original = pl.DataFrame(
        {"a": [k[0] for k in keys], "b": [k[1] for k in keys], "p": draw(numbers), "q": draw(numbers)},
        schema={"a": pl.Int64, "b": pl.String, "p": pl.Int64, "q": pl.Int64},
    )
    release = original.with_columns(pl.Series("p", draw(numbers)), pl.Series("q", draw(numbers)))
    past = original.with_columns(pl.Series("p", draw(st.one_of(numbers, st.just(original["p"].to_list())))))
    order = np.array(draw(st.permutations(range(n)))[: draw(st.integers(1, n))], dtype=np.int64)
    truth = np.full(n, -1)
    truth[order] = np.arange(order.size)
    kind = draw(st.sampled_from([pl.Int64, pl.Float64, pl.String]))
    return original, release, past[order].with_columns(pl.col("a").cast(kind)), truth


@given(releases(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_no_row_is_joined_with_another_record(given_: Any, known: bool) -> None:
    original, release, earlier, truth = given_
    joined = join_earlier(original, release, earlier, ["p", "q"], truth=truth if known else None)
    if joined.rows is None:
        assert joined.why and joined.frame is None
        return
    found = joined.rows >= 0
    assert (joined.rows[found] == truth[found]).all()
    assert joined.frame is not None and joined.earlier is not None and not joined.why
    assert joined.frame.height == release.height and set(joined.columns) <= set(joined.frame.columns)
    for name in earlier.columns:
        there = earlier[name].gather(joined.rows[found])
        assert joined.earlier[name].filter(pl.Series(found)).equals(there, check_names=False)
    if earlier.height == release.height and not known:
        assert (joined.rows == truth).all()


@given(releases())
@settings(max_examples=100, deadline=None)
def test_the_smallest_intersection_counts_candidates(given_: Any) -> None:
    original, release, earlier, truth = given_
    joined = join_earlier(original, release, earlier, ["p", "q"], truth=truth)
    if joined.rows is None or joined.earlier is None:
        return
    here = release.select("p", "q").rows()
    past = [row if joined.rows[i] >= 0 else None for i, row in enumerate(joined.earlier.select("p", "q").rows())]
    people = range(release.height)
    fits = [sum(here[i] == here[j] and past[j] in (None, past[i]) for j in people) for i in people]
    assert smallest_intersection(release, joined, ["p", "q"]) == min(fits)
