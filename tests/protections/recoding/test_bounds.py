"""`shoal.recode(style="bounds")`: two columns that bound each number and date, in every type of frame and file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from odd_records import odd_columns
from shoal.errors import PromiseError, ShoalWarning, UsageError
from shoal.report.release import report_files

TREE = {"land": {"north": ["a", "b", "c"], "south": ["d", "e", "f"]}}
QUASI = ("age", "born", "income", "town")
RELEASED = ["age_lower", "age_upper", "born_lower", "born_upper", "income_lower", "income_upper", "town"]


def people(n: int = 120, seed: int = 1, gaps: bool = True) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(x)) for x in rng.integers(0, 20000, n)],
            "income": rng.normal(3e4, 1e4, n).round(2),
            "town": rng.choice(list("abcdef"), n),
            "ill": rng.choice(["x", "y", "z"], n),
        }
    )
    absent = (pl.col("age") % 17 == 0) if gaps else pl.lit(False)
    return frame.with_columns(pl.when(absent).then(None).otherwise(pl.col("age")).alias("age"))


def read(data: Any, quasi: tuple[str, ...] = QUASI, **roles: Any) -> Any:
    return shoal.read(data, quasi=quasi, confidential=["ill"], drop=[c for c in QUASI if c not in quasi], **roles)


def bounded(data: Any, k: int = 4, **options: Any) -> Any:
    return shoal.recode(read(data), k, style="bounds", **({"effort": "quick"} | options))


def assert_bounds(before: list[Any], lower: list[Any], upper: list[Any]) -> None:
    """A slow reading of the guarantee: each value is between its bounds, and both are missing or none is."""
    for value, low, high in zip(before, lower, upper, strict=True):
        assert (low is None) == (high is None)
        assert low is None or (value is not None and low <= value <= high)


@pytest.mark.parametrize("options", [{}, {"method": "mondrian", "effort": None}, {"method": "topdown", "effort": None}])
def test_every_value_is_between_the_bounds_of_its_group(options: dict[str, Any]) -> None:
    frame = people()
    options = {name: value for name, value in ({"effort": "quick"} | options).items() if value is not None}
    release = shoal.recode(read(frame), 4, style="bounds", **options)
    release.verify()
    after = release.table
    assert after.columns == [*RELEASED, "ill"]
    assert after.dtypes[:6] == [pl.Int64, pl.Int64, pl.Date, pl.Date, pl.Float64, pl.Float64]
    assert int(after.group_by(RELEASED).len()["len"].min()) >= 4
    with_gap = after["age_lower"].is_null()
    assert bool(with_gap.filter(frame["age"].is_null()).all())
    for name in ("age", "born", "income"):
        assert_bounds(frame[name].to_list(), after[f"{name}_lower"].to_list(), after[f"{name}_upper"].to_list())
    # The ends are values of the group, and the loss counts a pair that says nothing as everything.
    for name in ("age", "born", "income"):
        for key, group in pl.concat([after.select(RELEASED), frame[name].to_frame()], how="horizontal").group_by(
            RELEASED
        ):
            values = group[name].drop_nulls()
            ends = key[RELEASED.index(f"{name}_lower")], key[RELEASED.index(f"{name}_upper")]
            assert ends == ((values.min(), values.max()) if values.len() == group.height else (None, None))
    width = (after["income_upper"] - after["income_lower"]) / (frame["income"].max() - frame["income"].min())
    assert release.facts["per_column"]["income"]["loss"] == pytest.approx(width.mean())
    ages = (after["age_upper"] - after["age_lower"]) / (frame["age"].max() - frame["age"].min())
    share = max(0.05, 1 / frame["age"].drop_nulls().n_unique())  # what a missing value costs beside numbers
    lost = (ages * (1 - share)).fill_null(1.0).mean()
    assert release.facts["per_column"]["age"]["loss"] == pytest.approx(lost)
    assert release.facts["d"] == 4 and set(release.facts["per_column"]) == set(QUASI)


def test_only_missing_values_lose_nothing() -> None:
    frame = pl.DataFrame({"a": [1, 1, None, None]})
    release = shoal.recode(frame, 2, quasi=["a"], style="bounds", effort="quick")
    assert release.table.rows() == [(1, 1), (1, 1), (None, None), (None, None)]
    assert release.facts["loss"] == 0.0 and release.facts["unchanged_rows"] == 4
    mixed = shoal.recode(pl.DataFrame({"a": [1, 1, None, 3]}), 2, quasi=["a"], style="bounds", effort="quick")
    assert mixed.table.rows() == [(1, 1), (1, 1), (None, None), (None, None)]
    assert mixed.facts["loss"] == 0.5 and mixed.facts["unchanged_rows"] == 2
    with pytest.warns(ShoalWarning):
        dropped = shoal.recode(
            pl.DataFrame({"a": [1, 1, None, 3, 4]}), 2, quasi=["a"], style="bounds", missing="drop", effort="quick"
        )
    assert dropped.table.rows() == [(1, 1), (1, 1), (3, 4), (3, 4)]


def test_ends_are_rounded_outward() -> None:
    frame = people(gaps=False)
    release = bounded(frame, round_ends={"age": 5, "income": 0.1})
    release.verify()
    low, high = release.table["age_lower"].to_list(), release.table["age_upper"].to_list()
    assert_bounds(frame["age"].to_list(), low, high)
    assert all(end % 5 == 0 for end in low) and all(end % 5 == 4 for end in high)
    plain = bounded(frame)
    assert release.facts["per_column"]["age"]["loss"] > plain.facts["per_column"]["age"]["loss"]
    income = [release.table[f"income_{end}"].to_list() for end in ("lower", "upper")]
    assert_bounds(frame["income"].to_list(), *income)
    assert all(round(10 * end, 6) == round(10 * end) for ends in income for end in ends)


def test_nodes_of_steps_have_the_ends_of_their_intervals() -> None:
    frame = people()
    release = bounded(frame, taxonomy={"town": TREE}, steps={"age": (5, 10, 20)})
    release.verify()
    ages = set(zip(release.table["age_lower"], release.table["age_upper"], strict=True)) - {(None, None)}
    present = frame["age"].drop_nulls()
    whole = (present.min(), present.max())
    assert all((low, high) == whole or (high - low + 1 in (1, 5, 10, 20) and low % (high - low + 1) == 0)
               for low, high in ages)  # fmt: skip
    assert {"north", "south", "land"} >= set(release.table["town"]) - set("abcdef")
    for name in ("age", "born", "income"):
        ends = [release.table[f"{name}_{end}"].to_list() for end in ("lower", "upper")]
        assert_bounds(frame[name].to_list(), *ends)


def test_every_kind_of_frame_keeps_its_types() -> None:
    frame = people()
    expected = bounded(frame).table
    in_arrow = bounded(frame.to_arrow()).table
    assert isinstance(in_arrow, pa.Table) and pl.from_arrow(in_arrow).equals(expected)
    nullable = bounded(frame.to_pandas(use_pyarrow_extension_array=True)).table
    types = [str(nullable[f"{name}_lower"].dtype) for name in ("age", "born")]
    assert types == ["int64[pyarrow]", "date32[day][pyarrow]"]
    assert nullable["age_lower"].isna().tolist() == expected["age_lower"].is_null().to_list()
    whole = people(gaps=False).drop("born", "ill").to_pandas().set_index(pd.Index(range(7, 127)))
    numpy_types = shoal.recode(whole, 4, quasi=["age", "income", "town"], style="bounds", effort="quick")
    assert [str(t) for t in numpy_types.table.dtypes[:4]] == ["int64", "int64", "float64", "float64"]
    assert numpy_types.table.index.tolist() == list(range(7, 127))
    gaps = shoal.recode(
        pd.DataFrame({"a": [1.0, 2.0, np.nan, 4.0]}), 2, quasi=["a"], style="bounds", effort="quick"
    ).table
    assert gaps["a_lower"].tolist()[:2] == [1.0, 1.0] and gaps["a_upper"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "feather", "sav", "zsav", "dta"])
def test_files_hold_bounds_as_numbers_and_dates(tmp_path: Path, ending: str) -> None:
    frame = people()
    release = bounded(frame)
    path = release.save(tmp_path / f"out.{ending}", first_release=True, keep_order=True)
    back = shoal.read(path).frame
    assert back.columns == [*RELEASED, "ill"]
    for name in ("age", "income"):
        ends = [[None if v is None or v != v else v for v in back[f"{name}_{e}"].to_list()] for e in ("lower", "upper")]
        assert_bounds(frame[name].to_list(), *ends)
    born = [back["born_lower"].cast(pl.String).to_list(), back["born_upper"].cast(pl.String).to_list()]
    assert_bounds([str(day) for day in frame["born"]], *[[text[:10] for text in ends] for ends in born])


def test_labels_say_which_bound_it_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, 60).astype(float), "sex": rng.choice([1.0, 2.0], 60), "ill": ["x", "y"] * 30}
    ).with_columns(pl.when(pl.col("age") < 24).then(99.0).otherwise(pl.col("age")).alias("age"))
    path = tmp_path / "in.sav"
    pyreadstat.write_sav(
        frame, str(path), column_labels={"age": "Age in years"}, missing_ranges={"age": [99.0]},
        variable_value_labels={"age": {99.0: "refused"}, "sex": {1.0: "man", 2.0: "woman"}},
        variable_format={"age": "F3.0"}, variable_display_width={"age": 11}, variable_measure={"age": "scale"},
    )  # fmt: skip
    table = shoal.read(path, quasi=["age", "sex"], confidential=["ill"])
    release = shoal.recode(table, 5, style="bounds", effort="quick")
    for ending in ("sav", "dta"):
        out = release.save(tmp_path / f"out.{ending}", first_release=True, keep_order=True)
        after, meta = getattr(pyreadstat, f"read_{ending}")(str(out), user_missing=True, output_format="polars")
        assert meta.column_names_to_labels["age_lower"] == "Age in years (lower bound)"
        assert meta.column_names_to_labels["age_upper"] == "Age in years (upper bound)"
        held = [[None if v is None or v != v else v for v in after[f"age_{e}"].to_list()] for e in ("lower", "upper")]
        assert_bounds([None if age == 99 else age for age in frame["age"].to_list()], *held)
        assert 99.0 not in held[0] + held[1] and not meta.missing_ranges.get("age_lower")
        if ending == "sav":
            assert meta.original_variable_types["age_lower"] == meta.original_variable_types["age_upper"] == "F3.0"
            assert meta.variable_display_width["age_upper"] == 11 and meta.variable_measure["age_lower"] == "scale"


@pytest.mark.parametrize(
    ("written", "bound"),
    [("%d.%m.%Y", "%Y-%m-%d"), ("%m/%d/%Y", "%Y-%m-%d"), ("%Y-%m", "%Y-%m"), ("%Y-%m-%d", "%Y-%m-%d")],
)
def test_dates_in_text_become_plain_dates(written: str, bound: str) -> None:
    days = [day.replace(day=1) if "%d" not in written else day for day in people()["born"]]
    frame = pl.DataFrame({"born": [day.strftime(written) for day in days]})
    release = shoal.recode(frame, 4, quasi=["born"], style="bounds", effort="quick")
    release.verify()
    ends = [[dt.datetime.strptime(t, bound).date() for t in release.table[f"born_{e}"]] for e in ("lower", "upper")]
    assert_bounds(days, *ends)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("hours", [0, 11])
@pytest.mark.filterwarnings("ignore:The values of 'born' are dates with times")
def test_moments_are_dates(library: str, hours: int) -> None:
    days = people()["born"]
    moments = [dt.datetime.combine(day, dt.time(hours * (i % 2))) for i, day in enumerate(days)]
    frame = pl.DataFrame({"born": [None if i % 10 == 0 else moment for i, moment in enumerate(moments)]})
    native = {"pandas": frame.to_pandas, "polars": lambda: frame, "pyarrow": frame.to_arrow}[library]()
    release = shoal.recode(native, 4, quasi=["born"], style="bounds", effort="quick")
    release.verify()
    assert release.facts["per_column"]["born"]["kind"] == "date"
    after = pl.from_arrow(release.table) if library == "pyarrow" else pl.DataFrame(release.table)
    as_text = [after[f"born_{e}"].cast(pl.String).to_list() for e in ("lower", "upper")]
    assert after["born_lower"].dtype == (pl.String if hours else frame["born"].dtype)
    ends = [[None if text is None else text[:10] for text in texts] for texts in as_text]
    assert_bounds([None if i % 10 == 0 else str(day) for i, day in enumerate(days)], *ends)
    text = shoal.recode(native, 4, quasi=["born"], effort="quick").table["born"]
    assert any(" to " in str(label) for label in text)


def test_times_of_a_single_day_are_no_dates() -> None:
    frame = pl.DataFrame({"at": [dt.datetime(2001, 3, 31, hour) for hour in range(12)]})
    release = shoal.recode(frame, 4, quasi=["at"], style="bounds", effort="quick")
    assert release.facts["per_column"]["at"]["kind"] == "nominal" and release.table.columns == ["at"]


def test_numbers_beyond_float64_stay_inside() -> None:
    frame = pl.DataFrame({"a": [2**53 + 1, 2**53 + 3, 2**60 + 1, 2**60 + 7]})
    with pytest.warns(ShoalWarning, match="last digits"):
        release = shoal.recode(frame, 2, quasi=["a"], style="bounds", effort="quick")
    release.verify()
    for value, low, high in zip(frame["a"], release.table["a_lower"], release.table["a_upper"], strict=True):
        assert int(low) <= value <= int(high)


def test_a_recipe_gives_the_same_file_and_the_check_knows_the_bounds(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    release = bounded(tmp_path / "in.csv", seed=3)
    saved = release.save(tmp_path / "out.csv", first_release=True, keep_order=True)
    saved.recipe.save(tmp_path / "recipe.toml")
    assert 'style = "bounds"' in (tmp_path / "recipe.toml").read_text()
    again = shoal.run(tmp_path / "recipe.toml")
    again.save(tmp_path / "again.csv", first_release=True, keep_order=True)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    stated: dict[str, Any] = {"k": 4, "quasi": QUASI, "confidential": ["ill"], "keep_order": True}
    findings = shoal.check(tmp_path / "in.csv", tmp_path / "out.csv", bounds=True, **stated)
    assert findings.passed and "'age', 'born', 'income'" in findings["bounds"].finding
    refused = shoal.check(tmp_path / "in.csv", tmp_path / "out.csv", **stated)
    assert refused["columns"].status == "block" and "add --bounds" in refused["columns"].todo
    with pytest.raises(UsageError, match="Remove --bounds"):
        shoal.check(tmp_path / "in.csv", tmp_path / "in.csv", bounds=True, **stated)


def test_a_report_shows_both_bounds(tmp_path: Path) -> None:
    release = bounded(people())
    page = release.report(tmp_path / "r.html").read_text()
    assert "age_lower" in page and "Typical groups" in page and ">missing<" in page and ">None<" not in page
    public = release.report(tmp_path / "public.html", external=True).read_text()
    assert "age_lower" in public and "Typical groups" not in public
    assert "10 columns" not in page and "5 columns" in page  # the section on the input shows the columns of the input


def test_two_files_are_measured_and_reported_with_their_bounds(tmp_path: Path) -> None:
    people(gaps=False).write_csv(tmp_path / "in.csv")
    bounded(tmp_path / "in.csv").save(tmp_path / "out.csv", first_release=True, keep_order=True)
    measures = shoal.assess(tmp_path / "in.csv", tmp_path / "out.csv", quasi=QUASI)
    assert measures["k"] >= 4 and 0 < measures["information_loss"] < 100
    page = report_files(read(tmp_path / "in.csv"), tmp_path / "out.csv", tmp_path / "r.html").read_text()
    assert "age_lower" in page and "5 columns" in page and "do not bound" not in page
    frame = pl.read_csv(tmp_path / "out.csv")
    frame.with_columns(pl.col("age_upper") - 1).write_csv(tmp_path / "wrong.csv")
    wrong = report_files(read(tmp_path / "in.csv"), tmp_path / "wrong.csv", tmp_path / "w.html").read_text()
    assert "do not bound" in wrong


def test_sets_of_columns_keep_k_over_the_bounds() -> None:
    release = bounded(people(), sets=[["age", "town"], ["born", "income"]])
    release.verify()
    first, second = ["age_lower", "age_upper", "town"], ["born_lower", "born_upper", "income_lower", "income_upper"]
    for part in (first, second):
        assert int(release.table.group_by(part).len()["len"].min()) >= 4
    assert [promise.columns for promise in release.promises[:2]] == [tuple(first), tuple(second)]


def test_the_front_counts_the_loss_of_bounds() -> None:
    release = bounded(people(), front=True, pick=1)
    assert release.facts["front"][0]["loss"] == pytest.approx(release.facts["loss"])
    text = shoal.recode(read(people()), 4, effort="quick", front=True, pick=1)
    assert release.facts["loss"] > text.facts["loss"]  # ages of groups with a missing one are lost


def test_l_and_t_hold_over_the_bounds() -> None:
    release = bounded(people(), l=2, t=0.5)
    release.verify()
    assert int(release.table.group_by(RELEASED).agg(pl.col("ill").n_unique())["ill"].min()) >= 2


def test_a_taken_name_and_suppression_are_refused() -> None:
    frame = people().with_columns(age_upper=pl.lit(1))
    with pytest.raises(UsageError, match="'age_upper', but the data already have such a column"):
        shoal.recode(shoal.read(frame, quasi=QUASI, drop=["ill", "age_upper"]), 4, style="bounds", effort="quick")
    with pytest.raises(UsageError, match="need text"):
        bounded(people(), suppress=0.1)


def test_other_steps_cannot_follow_or_precede(tmp_path: Path) -> None:
    people().write_csv(tmp_path / "in.csv")
    bounded(tmp_path / "in.csv").recipe.save(tmp_path / "recipe.toml")
    text = (tmp_path / "recipe.toml").read_text()
    step = text[text.index("[[steps]]") :]
    step = step[: step.index("\n\n")] if "\n\n" in step else step
    (tmp_path / "two.toml").write_text(text.replace(step, f"{step}\n\n{step}", 1))
    with pytest.raises(UsageError, match="cannot be combined with other steps"):
        shoal.run(tmp_path / "two.toml")


def test_a_folder_says_what_to_do_instead(tmp_path: Path) -> None:
    for part in (1, 2):
        people(60, part).write_parquet(tmp_path / f"{part}.parquet")
    files = shoal.scan(tmp_path / "*.parquet", quasi=list(QUASI), confidential=["ill"], workers=1)
    with pytest.raises(UsageError, match="style must be text or mean, not 'bounds'. Protect one file"):
        shoal.recode(files, 4, style="bounds")


@pytest.mark.parametrize(
    "fault",
    [
        lambda frame: frame.rename({"age_lower": "age_upper", "age_upper": "age_lower"}).select(frame.columns),
        lambda frame: frame.with_columns(pl.col("age_lower") + 1),
        lambda frame: frame.with_columns(pl.col("born_upper") - pl.duration(days=1)),
        lambda frame: frame.with_columns(pl.col("income_upper").fill_null(0.0) * 0.999),
        lambda frame: frame.with_columns(pl.lit(None, dtype=pl.Int64).alias("age_upper")),
        lambda frame: frame.with_columns(pl.col("age_lower").fill_null(0), pl.col("age_upper").fill_null(200)),
    ],
)
def test_the_gate_refuses_bounds_that_are_not_true(tmp_path: Path, fault: Any) -> None:
    release = bounded(people())
    object.__setattr__(release, "frame", fault(release.frame))
    with pytest.raises(PromiseError, match="do not bound"):
        release.save(tmp_path / "out.csv", first_release=True, keep_order=True)
    assert not list(tmp_path.iterdir())
    with pytest.raises(PromiseError, match="do not bound"):
        release.verify()


def test_a_bound_of_one_record_breaks_k(tmp_path: Path) -> None:
    release = bounded(people(gaps=False))
    wider = release.frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 5).then(pl.col("age_lower") - 1).otherwise(pl.col("age_lower"))
    )
    object.__setattr__(release, "frame", wider.select(release.frame.columns))
    with pytest.raises(PromiseError, match="smallest class"):
        release.save(tmp_path / "out.csv", first_release=True, keep_order=True)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["sets", "nodes"]))
def test_odd_columns_have_true_bounds(seed: int, loss: str) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(4, 60)), int(rng.integers(2, 5))
    frame = odd_columns(rng, n)
    names = frame.columns
    rounded = {name: float(rng.choice([0.1, 0.3, 5.0, 7.0])) for name in names if name in ("small", "gaps", "bytes")}
    options: dict[str, Any] = {"round_ends": rounded} if rounded and loss == "sets" else {}
    release = shoal.recode(frame, min(k, n), quasi=names, loss=loss, style="bounds", effort="quick", **options)
    release.verify()
    after = release.table
    assert int(after.group_by(after.columns).len()["len"].min()) >= min(k, n)
    for name in names:
        if f"{name}_lower" in after.columns:
            assert_bounds(frame[name].to_list(), *(after[f"{name}_{e}"].to_list() for e in ("lower", "upper")))
        else:
            assert name == "many"
