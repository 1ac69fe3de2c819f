"""Mixed microaggregation: numbers, dates, ranks and labels together, against a slow reference."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference import mixed as slow
from shoal.engine.control import Control
from shoal.engine.partition.partition import KPartition
from shoal.errors import InputError, PromiseError, ShoalWarning, UsageError
from shoal.measures.loss import information_loss
from shoal.protections.microaggregation import microaggregate
from shoal.protections.microaggregation.methods import group_records
from shoal.protections.microaggregation.protect import Search
from shoal.protections.microaggregation.replacement import lower_medians, modes
from shoal.protections.microaggregation.sums_of_squares import sse_by_column
from shoal.protections.units import merged_for_units, units_per_group
from shoal.sources.reading import read
from shoal.table.kinds import kind_of, labels_of
from shoal.table.mixed import mixed_columns
from shoal.table.table import Table

SURVEY = Path(__file__).parents[3] / "examples" / "survey.csv"
LEVELS = ("primary", "secondary", "vocational", "bachelor", "master", "doctorate")
NUMBERS = ("age", "hours", "income", "expenses", "wealth")
TEXTS = ("a", "b", "Ä", "ß", "", " x", "日本", None)


@st.composite
def grouped_codes(draw, most=5):
    """(groups, codes, weights or None): weights from a small set, so that ties are common."""
    n = draw(st.integers(1, 30))
    groups = np.unique(draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), return_inverse=True)[1].reshape(-1)
    codes = np.array(draw(st.lists(st.integers(0, most - 1), min_size=n, max_size=n)))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.0]), min_size=n, max_size=n))
    return groups, codes, None if weights is None else np.array(weights)


def members(groups):
    return [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]


def ones(codes, weights):
    return [1.0] * len(codes) if weights is None else weights.tolist()


@given(grouped_codes())
def test_modes_are_those_of_the_reference(case):
    groups, codes, weights = case
    expected = [slow.mode(codes.tolist(), ones(codes, weights), rows) for rows in members(groups)]
    assert modes(groups, codes, 5, weights).tolist() == expected


@given(grouped_codes())
def test_lower_medians_are_those_of_the_reference(case):
    groups, codes, weights = case
    expected = [slow.lower_median(codes.tolist(), ones(codes, weights), rows) for rows in members(groups)]
    assert lower_medians(groups, codes, 5, weights).tolist() == expected
    if weights is None:
        assert expected == [sorted(codes[rows].tolist())[(len(rows) - 1) // 2] for rows in members(groups)]


def test_a_tie_goes_to_the_value_that_is_frequent_in_the_file_and_then_to_the_first():
    groups = np.array([0, 0, 1, 1, 1])
    assert modes(groups, np.array([0, 2, 2, 2, 1]), 3).tolist() == [2, 2]
    assert modes(groups, np.array([0, 2, 0, 2, 1]), 3).tolist() == [0, 0]


@settings(max_examples=60)
@given(st.data())
def test_the_matrix_is_that_of_the_reference(data):
    n = data.draw(st.integers(2, 20))
    labels = data.draw(st.lists(st.sampled_from(TEXTS), min_size=n, max_size=n))
    ranks = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    weights = data.draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    assume(len(set(labels)) > 1 and any(labels) and len(set(ranks)) > 1)
    frame = pl.DataFrame(
        {"label": labels, "rank": [f"r{r}" for r in ranks]}, schema={"label": pl.String, "rank": pl.String}
    )
    table = read(frame, nominal="label", order={"rank": ["r0", "r1", "r2", "r3"]})
    heavy = None if weights is None else np.array(weights)
    matrix = mixed_columns(table, ["label", "rank"]).matrix(weights=heavy)
    each = ones(ranks, heavy)
    assert matrix[:, 0] == pytest.approx(slow.standardized(ranks, each))
    assert matrix[:, 1:] == pytest.approx(np.array(slow.indicators(labels, each)))
    centred = matrix - np.average(matrix, axis=0, weights=heavy)
    variance = np.average(centred**2, axis=0, weights=heavy)
    assert variance[0] == pytest.approx(1.0) and variance[1:].sum() == pytest.approx(1.0)
    column = labels_of(table, "label", "nominal")
    assert column.gini(heavy) == pytest.approx(slow.gini(labels, each))
    assert [column.texts[c] for c in column.codes] == labels


@settings(max_examples=60)
@given(st.data())
def test_the_sum_of_squares_of_a_nominal_column_is_its_impurity(data):
    n = data.draw(st.integers(4, 20))
    labels = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    assume(len(set(labels)) > 1)
    weights = data.draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    heavy = None if weights is None else np.array(weights)
    each = ones(labels, heavy)
    frame = pl.DataFrame({"x": labels, "w": each})
    matrix = mixed_columns(read(frame, quasi="x", weight="w"), ["x"]).matrix(weights=heavy)
    partition = KPartition(np.arange(n) // 2 if n % 2 == 0 else np.minimum(np.arange(n) // 2, n // 2 - 1))
    groups = [rows.tolist() for rows in partition.members()]
    sse = sse_by_column(partition, matrix, heavy)
    assert sse == pytest.approx(slow.squares(matrix.tolist(), each, groups))
    assert sse / sum(each) == pytest.approx(slow.impurity(labels, each, groups))
    release = microaggregate(
        read(frame, quasi="x", weight="w") if weights else read(frame, quasi="x"), 2, method="mdav"
    )
    facts, found = release.facts["per_column"]["x"], [rows.tolist() for rows in release.solution.members()]
    assert facts["impurity"] == pytest.approx(100 * slow.impurity(labels, each, found))


# -- the release ---------------------------------------------------------------------------------------


@st.composite
def mixed_frames(draw):
    """(frame, order, k): columns of all kinds, n from k on, constant columns and missing labels among them."""
    k = draw(st.integers(2, 4))
    n = draw(st.sampled_from([k, 2 * k - 1, 2 * k, 3 * k + 1, 20]))

    def column(values):
        return draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))

    made = {
        "number": pl.Series(column([0.0, 1.5, 2.0, -3.0, 1e9])),
        "text": pl.Series(
            column(draw(st.sampled_from([["a", "Ä"], ["a", "b", None], ["same"], ["日本", "", "x"]]))), dtype=pl.String
        ),
        "flag": pl.Series(column([True, False, None]), dtype=pl.Boolean),
        "category": pl.Series(column(["p", "q", None]), dtype=pl.Categorical),
        "enum": pl.Series(column(["low", "mid", "high"]), dtype=pl.Enum(["low", "mid", "high"])),
        "level": pl.Series(column(["one", "two", "three"])),
        "day": pl.Series(column([date(1960, 1, 1), date(1999, 12, 31), date(2024, 2, 29)])),
    }
    names = draw(st.lists(st.sampled_from(sorted(made)), min_size=1, unique=True))
    return pl.DataFrame({name: made[name] for name in names}), {"level": ["one", "two", "three"]}, k


@settings(max_examples=80)
@given(mixed_frames(), st.sampled_from(["mdav", "vmdav", "auto"]), st.sampled_from(["standard", "minmax"]))
def test_the_group_is_the_class_over_all_written_columns(case, method, scaling):
    frame, order, k = case
    order = {name: values for name, values in order.items() if name in frame.columns}
    table = read(frame, quasi=frame.columns, order=order, nominal=[c for c in ("text",) if c in frame.columns])
    assume(any(frame[name].n_unique() > 1 for name in frame.columns))
    loss = "changes" if scaling == "standard" else "gini"
    options = {"effort": "quick", "loss": loss} if method == "auto" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)  # single groups, constant columns
        try:
            release = microaggregate(table, k, method=method, scaling=scaling, **options)
        except InputError as error:
            assert "looks like an identifier" in str(error)
            return
    after, labels = release.frame, release.solution.labels
    assert min(Counter(after.rows()).values()) >= k
    assert after.columns == frame.columns
    for name in frame.columns:
        assert after[name].dtype.base_type() == frame[name].dtype.base_type()  # an Enum lists only what is released
        for rows in members(labels):
            written = set(after[name].gather(rows).to_list())
            assert len(written) == 1
            inside = frame[name].gather(rows).to_list()
            if name in ("text", "flag", "category"):
                plain = [None if v is None else str(v) for v in frame[name].to_list()]
                value = next(iter(written))
                assert slow.mode(plain, [1.0] * len(plain), rows) == (None if value is None else str(value))
            elif name in ("enum", "level"):
                levels = ["low", "mid", "high"] if name == "enum" else order["level"]
                ranks = sorted(map(levels.index, inside))
                assert written == {levels[ranks[(len(ranks) - 1) // 2]]}
            elif name == "day":
                mean = sum(day.toordinal() for day in inside) / len(inside)
                assert abs(next(iter(written)).toordinal() - mean) <= 0.5
            else:
                assert next(iter(written)) == pytest.approx(np.mean(inside))
    changed = [name for name in frame.columns if "changed" in release.facts["per_column"][name]]
    for name in changed:
        differs = frame[name].cast(pl.String).ne_missing(after[name].cast(pl.String)).mean()
        assert release.facts["per_column"][name]["changed"] == pytest.approx(differs)


def survey(rows=3000, **roles):
    frame = pl.read_csv(SURVEY).head(rows)
    return read(frame, identifiers="name", confidential="diagnosis", order={"education": LEVELS}, **roles)


def test_the_survey_of_eight_columns():
    columns = (*NUMBERS, "district", "sex", "education")
    release = microaggregate(survey(quasi=columns), 5, effort="quick", loss="gini")
    facts, by_column = release.facts, release.facts["per_column"]
    assert facts["smallest_group"] == 5 and facts["dimensions"] == 16
    assert min(Counter(release.frame.select(columns).rows()).values()) == 5
    assert by_column["sex"]["changed"] == pytest.approx(0.001, abs=5e-4)
    assert by_column["district"]["changed"] == pytest.approx(0.027, abs=5e-3)
    assert by_column["education"]["changed"] == pytest.approx(0.167, abs=1e-2)
    assert by_column["education"]["changed_by_more_than_one"] < 0.005
    assert facts["information_loss"] == pytest.approx(np.mean([c["loss"] for c in by_column.values()]))
    assert 100 * facts["sse"] / facts["sst"] == pytest.approx(5.69, abs=0.1)
    assert facts["information_loss"] == pytest.approx(6.44, abs=0.15)
    sexes = pl.read_csv(SURVEY)["sex"].to_list()
    gini = slow.gini(sexes, [1.0] * 3000)
    mismatches = sum(a != b for a, b in zip(sexes, release.frame["sex"], strict=True))
    assert by_column["sex"]["loss"] == pytest.approx(100 * 2 / gini * mismatches / 3000)


def test_labels_and_numbers_share_the_loss_by_default():
    """Changed labels cost about as much as with indicators, and no kind of column pays for another."""
    columns = (*NUMBERS, "district", "sex", "education")
    facts = microaggregate(survey(quasi=columns), 5, effort="quick").facts
    changed = {name: 100 * facts["per_column"][name]["changed"] for name in ("sex", "district", "education")}
    assert facts["loss"] == "changes" and facts["smallest_group"] == 5
    assert changed == {"sex": pytest.approx(0.2, abs=0.2), "district": pytest.approx(3.0, abs=0.6),
                       "education": pytest.approx(14.0, abs=1.5)}  # fmt: skip
    assert facts["information_loss"] == pytest.approx(6.57, abs=0.15)


def test_without_named_columns_all_without_a_role_are_protected():
    release = microaggregate(survey(), 5, method="mdav")
    assert release.facts["columns"] == ["district", "age", "sex", "education", *NUMBERS[1:]]
    assert set(release.changed) == set(release.facts["columns"])


def test_an_identifier_without_a_role_is_refused():
    with pytest.raises(UsageError, match=r"'name' has no role and looks like an identifier.*--identifiers name"):
        microaggregate(read(SURVEY, confidential="diagnosis", order={"education": LEVELS}), 5, method="mdav")


def test_numbers_alone_are_measured_as_before():
    release = microaggregate(survey(quasi=NUMBERS), 5, method="mdav")
    before, after = release.original.numbers(NUMBERS), Table(release.frame).numbers(NUMBERS)
    loss = information_loss(before, after)
    assert (release.facts["sse"], release.facts["sst"]) == (loss.sse, loss.sst)
    assert release.facts["information_loss"] == loss.information_loss


def test_a_file_of_rare_labels():
    """Every rare label is gone or shared by k records; the common ones are hardly touched."""
    rng = np.random.default_rng(3)
    labels = np.where(rng.random(2000) < 0.98, rng.choice(["a", "b"], 2000), [f"rare {i % 37}" for i in range(2000)])
    frame = pl.DataFrame({"x": rng.normal(size=2000), "y": rng.normal(size=2000), "label": labels})
    release = microaggregate(read(frame, quasi=frame.columns), 5, effort="quick")
    assert min(Counter(release.frame.rows()).values()) >= 5
    counts = Counter(release.frame["label"].to_list())
    assert min(counts.values()) >= 5
    common = frame["label"].is_in(["a", "b"])
    kept = (frame["label"] == release.frame["label"]).filter(common).mean()
    assert kept > 0.99


def test_a_domain_of_300_values():
    rng = np.random.default_rng(4)
    town = rng.zipf(1.5, 3000) % 300
    frame = pl.DataFrame({"x": rng.normal(size=3000), "town": [f"town {t}" for t in town]})
    release = microaggregate(read(frame, quasi=frame.columns), 3, method="mdav")
    assert min(Counter(release.frame.rows()).values()) >= 3
    distinct = frame["town"].n_unique()
    assert release.facts["dimensions"] == distinct + 1 and f"town ({distinct})" in release.facts["notice"]
    assert (
        "notice"
        not in microaggregate(
            read(frame.with_columns(town=pl.col("town").str.head(6)), quasi=frame.columns), 3, method="mdav"
        ).facts
    )


def test_too_large_domains_are_refused_with_the_ways_out():
    n = 3000
    frame = pl.DataFrame({"x": np.arange(n) % 50, "town": [f"t{i % 1200}" for i in range(n)]})
    with pytest.raises(
        InputError, match=r"1,200 different values; at most 1,000.*generalize.*--drop town.*--confidential"
    ):
        microaggregate(read(frame, quasi=["x", "town"]), 3, loss="gini")
    unique = pl.DataFrame({"x": np.arange(n) % 50, "town": [f"t{i}" for i in range(n)]})
    with pytest.raises(InputError, match="'town' has 3,000 different values in 3,000 records and looks like an ident"):
        microaggregate(read(unique, quasi=["x", "town"]), 3)
    few = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "town": list("abcd")})
    with pytest.raises(InputError, match="looks like an identifier"):
        microaggregate(read(few, quasi=["x", "town"]), 2)


def test_a_matrix_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("shoal.table.mixed.MOST_BYTES", 8 * 300 * 40)
    frame = pl.DataFrame({"x": np.arange(300.0), "town": [f"t{i % 50}" for i in range(300)]})
    with pytest.raises(InputError, match=r"51 dimensions.*'town' has the most values \(50\)"):
        microaggregate(read(frame, quasi=["x", "town"], numeric="x"), 3, loss="gini")


# -- kinds ---------------------------------------------------------------------------------------------


def test_kinds_by_type_and_by_role():
    frame = pl.DataFrame(
        {
            "number": [1.5, 2.0], "text": ["a", "b"], "flag": [True, False], "digits": ["1", "2"], "zeros": ["01", "2"],
            "enum": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"])), "day": [date(2000, 1, 1), None],
            "cat": pl.Series(["x", "y"], dtype=pl.Categorical), "marks": ["NA", "yes"],
        }
    )  # fmt: skip
    table = read(frame)
    found = {name: kind_of(table, name) for name in frame.columns}
    assert found == {
        "number": "number", "text": "nominal", "flag": "nominal", "digits": "number", "zeros": "nominal",
        "enum": "ordinal", "day": "date", "cat": "nominal", "marks": "nominal",
    }  # fmt: skip
    told = read(frame, nominal=["number", "enum", "digits"], numeric=["flag"], order={"text": ["b", "a"]})
    assert [kind_of(told, c) for c in ("number", "enum", "digits")] == ["nominal"] * 3
    assert kind_of(told, "flag") == "number" and kind_of(told, "text") == "ordinal"
    with pytest.raises(UsageError, match="'text' is named in --order and --nominal"):
        kind_of(read(frame, nominal="text", order={"text": ["a", "b"]}), "text")


def test_numbers_with_a_typing_error_are_not_labels():
    table = read(pl.DataFrame({"x": ["1", "2", "3", "many"]}))
    with pytest.raises(InputError, match="'x' holds mostly numbers.*'many' in row 4.*--nominal x.*--order x="):
        kind_of(table, "x")


def test_objects_that_cannot_be_compared_are_refused():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "o": pl.Series([object() for _ in range(4)], dtype=pl.Object)})
    with pytest.raises(InputError, match="'o' holds Python objects"):
        microaggregate(read(frame, quasi=["x", "o"]), 2)


def test_times_and_time_zones_are_refused():
    stamps = pl.Series([datetime(2000, 1, 1), datetime(2001, 1, 1)] * 3)
    frame = pl.DataFrame({"zone": stamps.dt.replace_time_zone("Europe/Rome"), "time": stamps.dt.time()})
    with pytest.raises(InputError, match="time zone.*--drop zone.*--as-is zone"):
        microaggregate(read(frame, quasi="zone"), 2)
    with pytest.raises(InputError, match="'time' holds times"):
        microaggregate(read(frame, quasi="time"), 2)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labelled_codes_need_an_answer(tmp_path, ending):
    pyreadstat = pytest.importorskip("pyreadstat")
    codes = pl.DataFrame({"area": [1, 2, 3, 1, 2, 3] * 3, "age": [20.0, 31.5, 44.0, 52.0, 60.5, 71.0] * 3})
    path = tmp_path / f"in.{ending}"
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(codes, path, variable_value_labels={"area": {1: "north", 2: "middle", 3: "south"}})
    columns = ["area", "age"]
    with pytest.raises(InputError, match=r"1 = 'north'.*--nominal area.*--order area=.*--numeric area"):
        microaggregate(read(path, quasi=columns), 3, method="mdav")
    kinds = {}
    for way in ({"nominal": "area"}, {"numeric": "area"}, {"order": {"area": ["1", "2", "3"]}},
                {"order": {"area": ["north", "middle", "south"]}}):  # fmt: skip
        release = microaggregate(read(path, quasi=columns, **way), 3, method="mdav")
        kinds[str(way)] = release.facts["per_column"]["area"]["kind"]
        if "numeric" not in way:
            assert set(release.frame["area"].unique()) <= {1, 2, 3}
            assert release.frame["area"].dtype == release.original.frame["area"].dtype
    assert list(kinds.values()) == ["nominal", "number", "ordinal", "ordinal"]


def test_few_whole_numbers_may_be_codes():
    frame = pl.DataFrame({"code": np.arange(120) % 12, "count": np.arange(120) % 13, "half": np.arange(120) % 4 / 2})
    with pytest.warns(ShoalWarning, match=r"code\. Use --nominal code .*--numeric code") as seen:
        microaggregate(read(frame, quasi=frame.columns), 3, method="mdav")
    assert len(seen) == 1
    microaggregate(read(frame, quasi=frame.columns, numeric="code"), 3, method="mdav")
    microaggregate(read(frame, quasi=frame.columns, nominal="code"), 3, method="mdav")
    microaggregate(read(frame.head(99), quasi=frame.columns), 3, method="mdav")


def test_a_value_that_is_not_in_the_order_is_named():
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "edu": ["low", "high", "phd", "low"]})
    with pytest.raises(InputError, match=r"'edu' has the value 'phd' \(1 records, the first in row 3\).*low, high"):
        microaggregate(read(frame, quasi=["x", "edu"], order={"edu": ["low", "high"]}), 2)
    with pytest.raises(UsageError, match="'low' twice"):
        microaggregate(read(frame, quasi=["x", "edu"], order={"edu": ["low", "high", "low"]}), 2)


def test_options_that_do_not_exist_are_refused_for_labels_alone():
    table = survey(quasi="sex")
    with pytest.raises(UsageError, match="'standart'"):
        microaggregate(table, 5, scaling="standart")
    with pytest.raises(UsageError, match="'mean'"):
        microaggregate(table, 5, missing="mean")


def test_labels_have_no_unit_without_a_scale():
    for loss, message in (("gini", "sex hold labels, which must be scaled"), ("changes", "--scaling has no effect")):
        with pytest.raises(UsageError, match=message):
            microaggregate(survey(quasi=["age", "sex"]), 5, scaling="none", loss=loss)


def test_two_values_of_a_label_are_one_apart_by_minmax():
    frame = pl.DataFrame({"x": [0.0, 5.0, 10.0, 0.0], "sex": ["f", "m", "f", "m"], "edu": ["a", "b", "c", "c"]})
    table = read(frame, order={"edu": ["a", "b", "c"]})
    matrix = mixed_columns(table, frame.columns).matrix("minmax")
    assert matrix[:, 0].tolist() == [0.0, 0.5, 1.0, 0.0] and matrix[:, 1].tolist() == [0.0, 0.5, 1.0, 1.0]
    assert ((matrix[0, 2:] - matrix[1, 2:]) ** 2).sum() == pytest.approx(1.0)


def test_importance_multiplies_squared_distances():
    columns = mixed_columns(survey(), ["age", "sex", "education"])
    plain, weighed = columns.matrix(), columns.matrix(importance={"sex": 4.0, "age": 9.0})
    assert weighed[:, 0] == pytest.approx(3 * plain[:, 0]) and weighed[:, 1] == pytest.approx(plain[:, 1])
    assert weighed[:, 2:] == pytest.approx(2 * plain[:, 2:])
    numbers = mixed_columns(survey(), NUMBERS)
    assert numbers.matrix(importance={"age": 4.0})[:, 0] == pytest.approx(2 * numbers.matrix()[:, 0])
    for wrong in ({"sexx": 1.0}, {"sex": 0.0}, {"sex": float("nan")}):
        with pytest.raises(UsageError, match="importance"):
            columns.matrix(importance=wrong)
    often = microaggregate(survey(quasi=["age", "income", "education"]), 5, method="mdav").facts["per_column"]
    seldom = microaggregate(
        survey(quasi=["age", "income", "education"]), 5, method="mdav", importance={"education": 100}
    ).facts["per_column"]
    assert seldom["education"]["changed"] < often["education"]["changed"]


# -- missing values ------------------------------------------------------------------------------------


def test_missing_labels_are_a_value_and_missing_ranks_are_not():
    frame = pl.DataFrame(
        {
            "x": [1.0, 1.1, 1.2, 9.0, 9.1, 9.2, 9.3],
            "town": [None, None, "b", "b", "b", "b", None],
            "edu": ["low", "low", "mid", None, "high", "high", "mid"],
            "day": [date(2000, 1, d) for d in (1, 2, 3, 4, 5, 6)] + [None],
        }
    )
    order = {"edu": ["low", "mid", "high"]}
    labels = microaggregate(read(frame, quasi=["x", "town"]), 3, method="mdav").frame["town"]
    assert labels.to_list() == [None] * 3 + ["b"] * 4
    table = read(frame, quasi=frame.columns, order=order)
    with pytest.raises(
        InputError,
        match="'edu' has 1 missing value, the first in row 4. Other columns with missing values: 'day'.*--missing drop",
    ):
        microaggregate(table, 2)
    with pytest.warns(ShoalWarning) as noticed:
        dropped = microaggregate(table, 2, method="mdav", missing="drop")
    assert "4 of 7 rows were dropped because of missing values in town, edu, day." in str(noticed[0].message)
    assert dropped.frame.height == 3 and dropped.frame["town"].null_count() == 0
    with pytest.warns(ShoalWarning, match=r"edu \(1 cell: mid\), day \(1 cell: 2000-01-03\)"):
        filled = microaggregate(table, 2, method="mdav", missing="median")
    assert filled.original.frame["edu"][3] == "mid" and filled.original.frame["day"][6] == date(2000, 1, 3)
    assert filled.frame.height == 7
    filled.verify()


# -- frames ----------------------------------------------------------------------------------------------


def frame_of_all_kinds():
    rng = np.random.default_rng(0)
    town = rng.choice(["ä", "b", "c"], 24).tolist()
    town[3] = None
    levels = ["low", "mid", "high"]
    days = [date.fromordinal(720_000 + int(d)) for d in rng.integers(0, 20_000, 24)]
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, 24), "town": town, "cat": pl.Series(town, dtype=pl.Categorical),
            "edu": pl.Series(rng.choice(levels, 24).tolist(), dtype=pl.Enum(levels)), "flag": rng.random(24) < 0.5,
            "code": rng.integers(1, 4, 24), "day": days, "when": pl.Series(days).cast(pl.Datetime("ms")),
        }
    )  # fmt: skip


def protected(frame, columns):
    return microaggregate(read(frame, quasi=columns, nominal="code"), 3, method="mdav")


def test_polars_frames_keep_their_types():
    frame = frame_of_all_kinds()
    after = protected(frame, frame.columns).frame
    assert {**after.schema, "age": pl.Int64()} == dict(frame.schema)


def test_pandas_frames_keep_their_types_and_index():
    plain = frame_of_all_kinds()
    frame = plain.to_pandas()
    frame.index = frame.index[::-1] + 100
    frame["edu"] = pd.Categorical(plain["edu"].to_list(), ["low", "mid", "high"], ordered=True)
    frame["nullable"] = pd.array(plain["flag"].to_list(), dtype="boolean")
    frame["string"] = pd.array(plain["town"].to_list(), dtype="string")
    frame["arrow"] = pd.array(plain["town"].to_list(), dtype=pd.ArrowDtype(pa.string()))
    frame["arrow_day"] = pd.array(plain["day"].to_list(), dtype=pd.ArrowDtype(pa.date32()))
    frame["numbers"] = pd.Categorical(plain["code"].to_list())
    before = frame.copy()
    release = protected(frame, list(frame.columns))
    after = release.frame
    assert after.index.equals(frame.index) and frame.equals(before)
    assert after.dtypes.drop("age").equals(frame.dtypes.drop("age"))
    assert release.facts["per_column"]["edu"]["kind"] == "ordinal"
    assert min(Counter(map(str, after.itertuples(index=False))).values()) >= 3
    expected = protected(plain, plain.columns).frame
    same = microaggregate(
        read(frame[list(plain.columns)], quasi=list(plain.columns), nominal="code"), 3, method="mdav"
    ).frame
    assert same["cat"].astype(object).where(same["cat"].notna(), None).tolist() == expected["cat"].to_list()
    assert same["day"].dt.date.tolist() == expected["day"].to_list()


def test_pyarrow_tables_keep_their_types():
    frame = frame_of_all_kinds().to_arrow()
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 8), ["low", "mid", "high"], ordered=True)
    frame = frame.append_column("ordered", pa.chunked_array([ordered[:10], ordered[10:]]))
    release = protected(frame, frame.column_names)
    for name in frame.column_names[1:]:
        assert release.frame.schema.field(name).type == frame.schema.field(name).type
    assert release.facts["per_column"]["ordered"]["kind"] == "ordinal"
    rows = zip(*(release.frame[name].to_pylist() for name in frame.column_names), strict=True)
    assert min(Counter(rows).values()) >= 3


# -- within ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"method": "mdav"}, {"effort": "quick"}, {"method": "mdav", "refine": True}])
def test_groups_never_cross_the_columns_of_within(options):
    table = survey(600, quasi=[*NUMBERS, "education"])
    release = microaggregate(table, 5, within=["district", "sex"], **options)
    frame = release.original.frame
    assert release.within == ("district", "sex") and release.facts["classes"] == 16
    for name in release.within:
        assert release.frame[name].equals(frame[name])
        assert all(frame[name].gather(rows).n_unique() == 1 for rows in release.solution.members())
    together = [*NUMBERS, "education", "district", "sex"]
    assert min(Counter(release.frame.select(together).rows()).values()) >= 5
    assert release.changed == (*NUMBERS, "education") and release.facts["d"] == 6
    again = microaggregate(table, 5, within=["district", "sex"], **options)
    assert again.solution.labels.tolist() == release.solution.labels.tolist()


def test_the_columns_of_within_need_not_be_named_twice():
    implicit = microaggregate(survey(), 5, within=["sex"], method="mdav")
    named = microaggregate(survey(quasi=implicit.changed), 5, within=["sex"], method="mdav")
    both = microaggregate(survey(quasi=[*implicit.changed, "sex"]), 5, within=["sex"], method="mdav")
    assert "sex" not in implicit.changed and implicit.frame.equals(named.frame) and both.frame.equals(named.frame)


def test_classes_that_are_too_small_are_listed_with_what_to_merge():
    frame = pl.DataFrame(
        {
            "x": np.arange(20.0),
            "town": ["a"] * 9 + ["b"] * 11,
            "edu": ["low"] * 4 + ["mid"] * 4 + ["high"] + ["low"] * 5 + ["mid"] * 6,
        }
    )
    table = read(frame, quasi="x", order={"edu": ["low", "mid", "high"]})
    with pytest.raises(InputError, match=r"1 of 5 classes of --within town,edu have fewer than k = 3 records") as seen:
        microaggregate(table, 3, within=["town", "edu"])
    assert "town=a, edu=high: 1 (nearest: edu=mid with 4)" in str(seen.value)
    many = pl.DataFrame({"x": np.arange(40.0), "c": [f"c{i // 2}" for i in range(40)]})
    with pytest.raises(InputError, match=r"20 of 20 classes[\s\S]*and 10 more"):
        microaggregate(read(many, quasi="x", numeric="x"), 3, within=["c"])


def test_within_refuses_what_it_cannot_have(tmp_path):
    with pytest.raises(UsageError, match="--within cannot be combined with"):
        microaggregate(survey(quasi=NUMBERS), 5, within=["sex"], effort="quick", checkpoint=tmp_path / "state.npz")
    with pytest.raises(UsageError, match="'diagnosis' is named in --within and has the role confidential"):
        microaggregate(survey(quasi=NUMBERS), 5, within=["diagnosis"])
    with pytest.raises(UsageError, match="Unknown column 'sexx'"):
        microaggregate(survey(quasi=NUMBERS), 5, within=["sexx"])
    with pytest.raises(UsageError, match="Every column to protect is named in --within"):
        microaggregate(survey(quasi=["sex"]), 5, within=["sex"])


def test_after_an_interruption_the_other_classes_get_groups_without_a_search(monkeypatch):
    calls, control = [], Control()

    def stopped(name, values, k, **options):
        if name != "anneal":
            return group_records(name, values, k, **options)
        calls.append(len(values))
        control.stop()
        return KPartition(np.zeros(len(values), dtype=int))

    monkeypatch.setattr("shoal.protections.microaggregation.protect.group_records", stopped)
    table = survey(200, quasi=NUMBERS)
    search = Search("anneal", 5, {}, control=control)
    found = search.groups(table, mixed_columns(table, NUMBERS).matrix(), None, ["sex"]).check(5)
    assert len(calls) == 1 and found.facts["stopped"] and found.groups > 10


def test_bounds_of_classes_add_up():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.normal(size=24), "y": rng.normal(size=24), "c": ["a", "b"] * 12})
    whole = microaggregate(read(frame, quasi=["x", "y"]), 3, within=["c"], method="mdav", bound=True).facts
    assert whole["proved"] and whole["gap"] == pytest.approx(0.0, abs=1e-6)
    exact = microaggregate(read(frame, quasi=["x", "y"]), 3, within=["c"], method="exact").facts
    assert exact["information_loss"] == pytest.approx(whole["information_loss"]) == pytest.approx(whole["lower_bound"])


# -- units -----------------------------------------------------------------------------------------------


def test_five_rows_of_one_person_are_not_a_group_of_five():
    frame = pl.DataFrame(
        {"pid": np.repeat(np.arange(8), 5), "x": np.repeat(np.arange(8.0), 5) + np.tile(np.arange(5) / 50, 8)}
    )
    plain = microaggregate(read(frame, quasi="x"), 5, method="mdav")
    assert units_per_group(plain.solution.labels, frame["pid"].to_numpy()).min() == 1
    release = microaggregate(read(frame, quasi="x", unit="pid"), 5, method="mdav")
    assert release.facts["units"] == 8 and release.facts["smallest_group_units"] >= 5
    assert release.frame.columns == ["x"]
    with pytest.raises(InputError, match=r"8 units \(values of 'pid'\), fewer than k = 9"):
        microaggregate(read(frame, quasi="x", unit="pid"), 9)
    with pytest.raises(UsageError, match="does not support units"):
        microaggregate(read(frame, quasi="x", unit="pid"), 5, bound=True)
    gaps = frame.with_columns(pid=pl.when(pl.int_range(40) == 7).then(None).otherwise("pid"))
    with pytest.raises(InputError, match="unit column 'pid' has 1 missing values, the first in row 8"):
        microaggregate(read(gaps, quasi="x", unit="pid"), 5)


@settings(max_examples=40)
@given(st.integers(2, 4), st.integers(2, 6), st.integers(0, 2**32 - 1), st.booleans())
def test_every_group_holds_k_units(k, rows, seed, weighted):
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.repeat(np.arange(int(rng.integers(k, 5 * k))), rng.integers(1, rows + 1)))
    assume(units.size >= 2 * k)
    values = rng.normal(size=(units.size, 2)) + units[:, None]
    weights = rng.uniform(0.5, 2.0, units.size) if weighted else None
    start = KPartition(np.minimum(np.arange(units.size) // k, units.size // k - 1))
    merged = merged_for_units(start, values, k, units, weights)
    assert all(np.unique(units[group]).size >= k for group in merged.members())
    for group in start.members():  # groups are merged, never split
        assert np.unique(merged.labels[group]).size == 1


def test_units_within_classes():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"pid": np.arange(120) // 3, "x": rng.normal(size=120), "c": np.repeat(["a", "b"], 60)})
    release = microaggregate(read(frame, quasi="x", unit="pid"), 4, within=["c"], method="mdav")
    for group in release.solution.members():
        assert frame["c"].gather(group).n_unique() == 1 and frame["pid"].gather(group).n_unique() >= 4
    with pytest.raises(InputError, match="2 of 2 classes of --within c have fewer than k = 21 units"):
        microaggregate(read(frame, quasi="x", unit="pid"), 21, within=["c"])


def test_a_group_that_was_merged_is_not_a_proved_optimum():
    frame = pl.DataFrame({"pid": [0, 0, 1, 1, 2, 2], "x": [0.0, 0.1, 5.0, 5.1, 9.0, 9.1]})
    facts = microaggregate(read(frame, quasi="x", unit="pid"), 2, method="exact").facts
    assert "proved" not in facts and "gap" not in facts


# -- derived columns ---------------------------------------------------------------------------------------


def test_derived_columns_follow_their_group_and_take_no_part():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"income": rng.lognormal(10, 1, 200), "age": rng.normal(40, 10, 200)})
    frame = frame.with_columns(
        tax=pl.col("income") * 0.2,
        band=pl.when(pl.col("income") > 30_000).then(pl.lit("high")).otherwise(pl.lit("low")),
    )
    roles = {"quasi": ["income", "age"], "derived": {"tax": ["income"], "band": "income"}}
    release = microaggregate(read(frame, **roles), 5, method="mdav")
    alone = microaggregate(read(frame.select("income", "age"), quasi=["income", "age"]), 5, method="mdav")
    assert release.solution.labels.tolist() == alone.solution.labels.tolist()
    assert release.changed == ("income", "age", "tax", "band") and release.facts["d"] == 2
    assert release.frame["tax"].to_numpy() == pytest.approx(0.2 * release.frame["income"].to_numpy())
    for group in release.solution.members():
        assert release.frame["band"].gather(group).n_unique() == 1
    assert release.facts["per_column"]["tax"]["derived_from"] == ["income"]
    assert release.facts["per_column"]["band"]["kind"] == "nominal"
    assert (release.facts["sse"], release.facts["sst"]) == (alone.facts["sse"], alone.facts["sst"])
    assert min(Counter(release.frame.rows()).values()) >= 5


def test_the_sources_of_a_derived_column_are_protected():
    frame = pl.DataFrame({"income": np.arange(20.0), "age": np.arange(20.0) % 7, "tax": np.arange(20.0) / 5})
    table = read(frame, quasi="age", derived={"tax": ["income"]})
    with pytest.raises(UsageError, match="--derived tax=income: the column 'income' is not protected"):
        microaggregate(table, 5)


# -- the rest ------------------------------------------------------------------------------------------------


def test_weights_decide_the_mode_the_median_and_the_loss():
    frame = pl.DataFrame(
        {
            "x": [0.0] * 3 + [9.0] * 3,
            "town": ["a", "a", "b", "b", "b", "a"],
            "edu": ["lo", "lo", "hi"] * 2,
            "w": [1.0, 1.0, 5.0, 1.0, 1.0, 1.0],
        }
    )
    table = read(frame, quasi=["x", "town", "edu"], weight="w", order={"edu": ["lo", "hi"]})
    release = microaggregate(table, 3, method="mdav")
    assert release.frame["town"].to_list() == ["b"] * 6
    assert release.frame["edu"].to_list() == ["hi"] * 3 + ["lo"] * 3
    gini = slow.gini(frame["town"].to_list(), frame["w"].to_list())
    assert release.facts["per_column"]["town"]["loss"] == pytest.approx(100 * 2 / gini * 3.0 / 10.0)


def test_a_broken_group_is_found_in_the_written_frame():
    release = microaggregate(survey(quasi=["age", "sex"]), 5, method="mdav")
    release.verify()
    broken = release.frame.with_columns(sex=pl.when(pl.int_range(3000) == 0).then(pl.lit("x")).otherwise("sex"))
    object.__setattr__(release, "frame", broken)
    release.__dict__.pop("protected", None)
    with pytest.raises(PromiseError, match="smallest class"):
        release.verify()


def test_mixed_releases_are_repeatable_and_leave_the_input_alone():
    frame = pl.read_csv(SURVEY).head(500)
    before = frame.clone()
    one, two = (
        microaggregate(read(frame, quasi=["age", "sex", "district"]), 5, effort="quick", seed=7, threads=t)
        for t in (1, 2)
    )
    assert one.frame.equals(two.frame) and frame.equals(before)
    assert one.recipe is not None and "within" not in one.recipe.steps[0].arguments
