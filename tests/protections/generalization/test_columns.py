"""What `shoal.generalize` makes of labels, orders, dates, taxonomies and missing values."""

from __future__ import annotations

import csv
import re
import tomllib
import warnings
from datetime import date, timedelta

import numpy as np
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.protections.generalization import apply_mapping, generalize
from shoal.protections.generalization.columns import DomainOptions, domain_of
from shoal.table.coded_values import values_of
from shoal.table.dates import days_of_texts
from shoal.table.scales import likely_order
from shoal.table.table import Table
from shoal.table.taxonomy import read_taxonomy

EDUCATION = {
    1.0: "none",
    2.0: "primary",
    3.0: "secondary",
    4.0: "master",
    5.0: "doctoral",
    6.0: "never used",
    99.0: "refused",
}


def survey(n=300, seed=4):
    rng = np.random.default_rng(seed)
    edu = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0, 99.0], n, p=[0.02, 0.4, 0.35, 0.15, 0.05, 0.03])
    return pl.DataFrame({"edu": edu, "sex": rng.choice(["f", "m"], n), "illness": rng.choice(["flu", "none"], n)})


@pytest.fixture
def spss(tmp_path):
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        survey(), str(path), variable_value_labels={"edu": EDUCATION}, missing_ranges={"edu": [99.0]},
        variable_measure={"edu": "ordinal"},
    )  # fmt: skip
    return path


@pytest.fixture
def stata(tmp_path):
    path = tmp_path / "survey.dta"
    labels = {int(code): label for code, label in EDUCATION.items()}
    pyreadstat.write_dta(survey().cast({"edu": pl.Int32}), str(path), variable_value_labels={"edu": labels})
    return path


ROLES = {"quasi": ["edu", "sex"], "confidential": "illness"}
SCALE = ["none", "primary", "secondary", "master", "doctoral"]


def parts(labels):
    return [label.replace(" or missing", "").split(" | ") for label in labels]


def test_spss_labels_are_the_names_and_an_ordinal_measure_is_the_order(spss, tmp_path):
    release = generalize(shoal.read(spss, **ROLES), 20, effort="quick")
    steps = [name for names in parts(release.facts["cuts"]["edu"]) for name in names if name != "missing"]
    assert steps == SCALE  # joined in order, and the code that is declared missing is not on the scale
    saved = release.save(tmp_path / "out.sav", keep_order=True)
    frame, meta = pyreadstat.read_sav(str(saved), output_format="polars")
    assert set(frame["edu"]) == set(release.facts["cuts"]["edu"])
    assert "edu" not in meta.variable_value_labels and "edu" not in meta.missing_ranges
    assert b"never used" not in saved.read_bytes() and b"refused" not in saved.read_bytes()


def test_codes_declared_missing_are_missing_where_missing_values_are_refused_or_dropped(spss):
    table = shoal.read(spss, **ROLES)
    gone = int((survey()["edu"] == 99.0).sum())
    with pytest.raises(InputError, match=f"'edu' has {gone} missing values .the file's missing codes 99"):
        generalize(table, 20, missing="error", effort="quick")
    with pytest.warns(ShoalWarning, match=f"{gone} of 300 rows were dropped"):
        release = generalize(table, 20, missing="drop", effort="quick")
    assert len(release.frame) == 300 - gone
    assert not any("missing" in label for label in release.facts["cuts"]["edu"])


def test_nominal_codes_without_labels_are_written_as_whole_numbers(tmp_path):
    rng = np.random.default_rng(1)
    codes = pl.DataFrame({"area": rng.integers(101, 105, 200).astype(float), "kind": rng.choice(["x", "NA!"], 200)})
    path = tmp_path / "codes.sav"
    pyreadstat.write_sav(codes, str(path), variable_measure={"area": "nominal"}, missing_ranges={"kind": ["NA!"]})
    release = generalize(shoal.read(path, quasi=["area", "kind"]), 40, effort="quick")
    names = [name for names in parts(release.facts["cuts"]["area"]) for name in names]
    assert sorted(names) == ["101", "102", "103", "104"]
    assert "NA!" not in str(release.facts["cuts"]["kind"])  # a text that the file declares missing


def test_a_text_file_is_not_said_to_hold_codes_where_labels_are_written(spss, tmp_path):
    release = generalize(shoal.read(spss, **ROLES), 20, effort="quick")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShoalWarning)
        release.save(tmp_path / "out.csv", keep_order=True)


def test_labels_of_values_that_are_gone_do_not_leak(tmp_path):
    """A column that stays as it is keeps the labels of its values, and of no other."""
    frame = survey().with_columns(
        edu=pl.col("edu").replace_strict({1.0: 2.0, 5.0: 4.0, 99.0: 3.0}, default=pl.col("edu"))
    )
    path = tmp_path / "few.sav"
    pyreadstat.write_sav(frame, str(path), variable_value_labels={"edu": EDUCATION})
    release = generalize(shoal.read(path, **ROLES), 5, order={"edu": "codes"}, effort="quick")
    saved = release.save(tmp_path / "out.sav", keep_order=True)
    _, meta = pyreadstat.read_sav(str(saved))
    assert meta.variable_value_labels["edu"] == {code: EDUCATION[code] for code in (2.0, 3.0, 4.0)}
    for name in ("doctoral", "none", "refused"):
        assert name not in meta.variable_value_labels["edu"].values()
    levels = pl.Enum(["low", "middle", "high", "nobody"])
    typed = pl.DataFrame({"level": ["low"] * 3 + ["middle"] * 9 + ["high"] * 9}, schema={"level": levels})
    written = generalize(typed, 5, quasi=["level"], effort="quick").save(tmp_path / "out.parquet", keep_order=True)
    assert b"nobody" not in written.read_bytes()


@pytest.mark.parametrize(
    "order", [[5, 4, 3, 2, 1, 6, 99], ["doctoral", "master", "secondary", "primary", "none", "refused"]]
)
def test_stata_labels_are_ordered_by_code_or_label(stata, order):
    release = generalize(shoal.read(stata, **ROLES), 20, order={"edu": order}, effort="quick")
    steps = [name for names in parts(release.facts["cuts"]["edu"]) for name in names]
    assert [name for name in steps if name in SCALE] == SCALE[::-1]


def test_codes_is_an_order(stata):
    release = generalize(shoal.read(stata, **ROLES), 20, order={"edu": "codes"}, effort="quick")
    assert [name for names in parts(release.facts["cuts"]["edu"]) for name in names] == [*SCALE, "refused"]
    with pytest.warns(ShoalWarning, match="--order edu=") as warned:
        free = generalize(shoal.read(stata, **ROLES), 20, effort="quick")
    assert not any("5.0" in label for label in free.facts["cuts"]["edu"]) and warned


def test_names_that_look_ordered_are_reported_with_what_to_type():
    names = ["primary", "secondary", "bachelor", "master"]
    frame = pl.DataFrame({"school": names * 10, "town": ["Rome", "Oslo", "Bonn", "Kyiv"] * 10})
    with pytest.warns(ShoalWarning, match="--order school=primary,secondary,bachelor,master") as warned:
        generalize(frame, 5, quasi=["school", "town"], effort="quick")
    assert not any("town" in str(w.message) for w in warned)
    for order in ({"school": "auto"}, {"school": names}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            generalize(frame, 5, quasi=["school", "town"], order=order, effort="quick")


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["often", "never", "always"], ["never", "often", "always"]),
        (["L", "S", "M"], ["S", "M", "L"]),
        (["65+", "18 to 34", "35 to 64"], ["18 to 34", "35 to 64", "65+"]),
        (["grade 10", "grade 9", "grade 11"], ["grade 9", "grade 10", "grade 11"]),
        (["1,000-4,999", "0-999", "5,000+"], ["0-999", "1,000-4,999", "5,000+"]),
        (["a1", "b2", "c3"], None),
        (["flat 01", "flat 02", "flat 03"], None),
        (["red", "green", "blue"], None),
        (["low", "high"], None),
    ],
)
def test_likely_orders(names, order):
    assert likely_order(names) == order


def dated(n=400, seed=2, form=None):
    rng = np.random.default_rng(seed)
    born = [date(1980, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 3000, n)]
    texts = born if form is None else [day.strftime(form) for day in born]
    return pl.DataFrame({"born": texts, "sex": rng.choice(["f", "m"], n)})


@pytest.mark.parametrize("form", [None, "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%d %b %Y"])
def test_dates_are_recognised_and_ordered(form):
    release = generalize(dated(form=form), 5, quasi=["born", "sex"], granularity={"born": "month"}, effort="quick")
    again = generalize(dated(), 5, quasi=["born", "sex"], granularity={"born": "month"}, effort="quick")
    assert release.facts["cuts"]["born"] == again.facts["cuts"]["born"]
    first, *inner, last = release.facts["cuts"]["born"]
    assert first.startswith("<= 19") and last.startswith(">= 19") and inner == sorted(inner)
    assert release.table["born"].to_list() == again.table["born"].to_list()


@pytest.mark.parametrize(
    ("unit", "shape"), [("day", "1980-12-3."), ("month", "198.-.."), ("quarter", "198.-Q."), ("year", "198.")]
)
def test_granularity_of_dates_is_a_unit(unit, shape):
    release = generalize(dated(), 20, quasi=["born"], granularity={"born": unit}, effort="quick")
    labels = release.facts["cuts"]["born"]
    assert all(
        len(part) == len(shape)
        for label in labels
        for part in label.replace("<= ", "").replace(">= ", "").split(" to ")
    )
    assert release.frame["born"].n_unique() == len(labels) > 3


@pytest.mark.parametrize(
    ("form", "label"),
    [("%Y-%m", "19..-.."), ("%B %Y", "19..-.."), ("%Y-%m-%d %H:%M", "19..-..-.."), ("%d.%m.%Y 08:%M:%S", "19..-..-..")],
)
@pytest.mark.filterwarnings("ignore:.*times of day")
def test_months_and_dates_with_times_in_text_are_dates(form, label):
    release = generalize(dated(form=form), 20, quasi=["born"], effort="quick")
    ends = [re.sub("^[<>]= ", "", end) for name in release.facts["cuts"]["born"] for end in name.split(" to ")]
    assert len(ends) > 5 and all(re.fullmatch(label, end) for end in ends)


def test_quarters_in_text_are_dates_that_have_no_months():
    quarters = pl.DataFrame({"q": [f"{1990 + i % 9}-Q{1 + i % 4}" for i in range(360)]})
    release = generalize(quarters, 20, quasi=["q"], effort="quick")
    assert release.facts["cuts"]["q"][0].startswith("<= 199") and "Q" in release.facts["cuts"]["q"][1]
    assert (
        generalize(quarters, 20, quasi=["q"], granularity={"q": "year"}, effort="quick").facts["cuts"]["q"][1] == "1991"
    )
    with pytest.raises(UsageError, match="'q' allow the granularity quarter, year, not 'month'"):
        generalize(quarters, 20, quasi=["q"], granularity={"q": "month"})


def test_codes_are_not_months_and_short_numbers_not_dates():
    assert days_of_texts(["4711-05", "4712-06"]) is None
    assert days_of_texts(["199011", "199012"]) is None
    assert days_of_texts(["2001-03-31 08:15", "2001-03-31 09:15"]) is None, "times of one day"


def test_one_mistake_among_dates_is_named():
    frame = dated(form="%d.%m.%Y").with_row_index()
    frame = frame.with_columns(born=pl.when(pl.col("index") == 7).then(pl.lit("31.02.1990")).otherwise("born"))
    with pytest.warns(ShoalWarning, match="'born' are dates, but not '31.02.1990' in row 8"):
        generalize(frame, 20, quasi=["born"], effort="quick")
    with pytest.raises(InputError, match="dates, but not '31.02.1990' in row 8. Correct it"):
        generalize(frame, 20, quasi=["born"], granularity={"born": "year"})


def test_years_of_two_digits_are_reported():
    with pytest.warns(ShoalWarning, match="two digits. Shoal takes 69 to 99 as 1969 to 1999"):
        generalize(dated(form="%d.%m.%y"), 20, quasi=["born"], effort="quick")


@pytest.mark.filterwarnings("ignore:Some quasi-identifiers")
def test_many_numbers_that_are_dates_get_the_hint():
    numbers = dated(600, form="%Y%m%d").with_columns(pl.col("born").cast(pl.Int64))
    with pytest.raises(UsageError, match="--granularity born=month .*They look like dates"):
        generalize(numbers, 5, quasi=["born"])


def test_text_dates_without_a_unit_join_in_order():
    release = generalize(dated(form="%d.%m.%Y"), 20, quasi=["born"], effort="quick")
    assert all(label.startswith(("<= 19", ">= 19", "19")) for label in release.facts["cuts"]["born"])
    assert len(release.facts["cuts"]["born"]) > 5


def test_dates_are_mapped_by_interval(tmp_path):
    release = generalize(dated(), 5, quasi=["born", "sex"], granularity={"born": "year"}, effort="quick")
    path = release.save_mapping(tmp_path / "m.json")
    text = path.read_text(encoding="utf-8")
    assert '"1983-01-01"' in text and '"low": "open"' in text
    again = apply_mapping(dated(form="%d.%m.%Y"), path)
    assert again.table["born"].to_list() == release.table["born"].to_list()
    older = pl.DataFrame({"born": [date(1950, 1, 1)], "sex": ["f"]})
    assert apply_mapping(older, path).table["born"][0] == release.facts["cuts"]["born"][0]


def test_units_are_for_dates():
    with pytest.raises(InputError, match="does not hold dates"):
        generalize(dated(), 5, quasi=["sex"], granularity={"sex": "month"})
    with pytest.raises(UsageError, match="'sex' must be a number, or day, month, quarter, year for dates, not 'week'"):
        generalize(dated(), 5, quasi=["sex"], granularity={"sex": "week"})
    with pytest.raises(UsageError, match="its granularity is day, month, quarter, year, not 5"):
        generalize(dated(), 5, quasi=["born"], granularity={"born": 5})


TREE = {
    "world": {
        "Europe": ["fr", "it", "de"],
        "Asia": ["jp", "cn"],
        "America": {"north": ["us", "ca"], "south": ["br", "ar"]},
    }
}
NODES = {"world", "Europe", "Asia", "America", "north", "south", "fr", "it", "de", "jp", "cn", "us", "ca", "br", "ar"}


def travellers(n=200, seed=5, gaps=0):
    rng = np.random.default_rng(seed)
    home = rng.choice(
        ["fr", "it", "jp", "cn", "us", "ca", "br", "ar"], n, p=[0.3, 0.2, 0.1, 0.02, 0.2, 0.1, 0.05, 0.03]
    ).tolist()
    home[:gaps] = [None] * gaps
    return pl.DataFrame({"home": home, "age": rng.integers(20, 60, n), "sex": rng.choice(["f", "m"], n)})


@pytest.mark.parametrize("method", ["search", "nsga2", "exact"])
def test_only_nodes_of_a_taxonomy_are_categories(method):
    quasi = ["home", "sex"] if method == "exact" else ["home", "age", "sex"]
    more = {"effort": "quick"} if method == "search" else {}
    release = generalize(travellers(), 4, quasi=quasi, taxonomy={"home": TREE}, method=method, **more)
    for point in release.facts["front"]:
        assert set(point["cuts"]["home"]) <= NODES
    assert release.frame.group_by(quasi).len()["len"].min() >= 4


def test_free_cuts_may_leave_the_nodes_and_lose_less():
    homes = ["fr"] * 30 + ["it"] * 2 + ["de"] * 2 + ["jp"] * 30 + ["cn"] * 30 + ["us", "ca", "br", "ar"] * 15
    frame = pl.DataFrame({"home": homes, "sex": ["f", "m"] * 77})
    nodes = generalize(frame, 4, quasi=["home", "sex"], taxonomy={"home": TREE}, method="exact")
    free = generalize(frame, 4, quasi=["home", "sex"], taxonomy={"home": TREE}, method="exact", free_cuts=True)
    assert free.facts["nwp"] < nodes.facts["nwp"] and not set(free.facts["cuts"]["home"]) <= NODES
    searched = generalize(frame, 4, quasi=["home", "sex"], taxonomy={"home": TREE}, effort="quick")
    assert searched.facts["nwp"] == pytest.approx(nodes.facts["nwp"])
    with pytest.raises(UsageError, match="free_cuts has no effect without taxonomy"):
        generalize(frame, 4, quasi=["home"], free_cuts=True)


def test_a_few_missing_values_do_not_close_the_taxonomy():
    release = generalize(travellers(gaps=2), 4, quasi=["home", "sex"], taxonomy={"home": TREE}, effort="quick")
    labels = release.facts["cuts"]["home"]
    assert len(labels) > 2 and any(label.endswith(" or missing") for label in labels)


def test_zip_codes_have_a_taxonomy_and_its_header_is_recognised(tmp_path):
    rng = np.random.default_rng(3)
    codes = rng.choice([1101, 1102, 1207, 90210, 90211], 100).tolist()
    path = tmp_path / "zip.csv"
    rows = ["zip;area;country", "01101;011;US", "01102;011;US", "01207;012;US", "90210;902;US", "90211;902;US"]
    path.write_text("\n".join(rows) + "\n")
    frame = pl.DataFrame({"zip": codes, "sex": rng.choice(["f", "m"], 100)})
    release = generalize(frame, 5, quasi=["zip", "sex"], taxonomy={"zip": path}, effort="quick")
    shown = {row.split(";")[i] for row in rows[1:] for i in range(3)}
    assert set(release.facts["cuts"]["zip"]) <= shown and "zip" not in shown
    assert len(release.facts["cuts"]["zip"]) > 1
    path.write_text("\n".join(rows[1:]) + "\n")  # the same without the header
    assert (
        generalize(frame, 5, quasi=["zip", "sex"], taxonomy={"zip": path}, effort="quick").facts["cuts"]
        == release.facts["cuts"]
    )


@pytest.mark.parametrize(
    ("column", "header"),
    [("native_country", "country,continent"), ("home", "Value,Level 1"), ("home", "HOME,continent")],
)
def test_a_header_is_recognised_where_the_taxonomy_has_no_common_root(tmp_path, column, header):
    path = tmp_path / "world.csv"
    rows = ["fr,Europe", "it,Europe", "jp,Asia", "cn,Asia"]
    path.write_text("\n".join([header, *rows]) + "\n")
    assert read_taxonomy(path, column, values={"fr", "jp"}).leaves == ("fr", "it", "jp", "cn")
    path.write_text("\n".join(["us,America", *rows]) + "\n")  # a leaf that is alone in its node
    assert read_taxonomy(path, column, values={"fr", "us"}).leaves == ("us", "fr", "it", "jp", "cn")


def test_a_first_row_that_may_be_a_header_is_reported(tmp_path):
    path = tmp_path / "world.csv"
    path.write_text("place,part\nfr,Europe\nit,Europe\njp,Asia\ncn,Asia\n")
    frame = pl.DataFrame({"home": ["fr", "it", "jp", "cn"] * 10})
    with pytest.warns(ShoalWarning, match="'place,part', counts as a leaf, but the column 'home' has no value 'place'"):
        generalize(frame, 5, quasi=["home"], taxonomy={"home": path}, effort="quick")


def test_labels_do_not_show_the_smallest_and_largest_value():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 90, 200), "wage": rng.integers(1, 90, 200)})
    release = generalize(frame, 9, quasi=["age", "wage"], cuts={"wage": [20, 40, 60]}, effort="quick")
    for name in ("age", "wage"):
        low, high = str(frame[name].min()), str(frame[name].max())
        first, *_, last = release.facts["cuts"][name]
        assert first.startswith("<= ") and last.startswith(">= ")
        assert not any(part in (low, high) for label in (first, last) for part in label.replace("-", " ").split())
    shown = generalize(frame, 9, quasi=["age"], show_extremes=True, effort="quick")
    assert shown.facts["cuts"]["age"][0].startswith(f"[{frame['age'].min()}-")


def test_long_labels_are_cut_and_the_legend_has_them(tmp_path):
    rng = np.random.default_rng(7)
    towns = [f"a town with a long name, number {i}" for i in range(40)]
    frame = pl.DataFrame({"town": rng.choice(towns, 200), "sex": rng.choice(["f", "m"], 200)})
    release = generalize(frame, 5, quasi=["town", "sex"], order="alphabetical", effort="quick")
    assert release.table["town"].str.len_chars().max() <= 60
    legend = release.facts["legend"]["town"]
    path = release.save_legend(tmp_path / "legend.csv")
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    written = {row["category"]: row["values"].split(" | ") for row in rows if row["column"] == "town"}
    assert set(written) == set(release.table["town"]) and {label: written[label] for label in legend} == legend
    assert sorted(value for values in written.values() for value in values) == sorted(set(frame["town"]))
    full = generalize(frame, 5, quasi=["town", "sex"], order="alphabetical", effort="quick", labels="full")
    assert full.table["town"].str.len_chars().max() > 60 and full.facts["legend"] == {}
    assert full.facts["nwp"] == release.facts["nwp"]


def with_gaps(n=300, gaps=3, seed=8):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n).tolist()
    young = [i for i, a in enumerate(age) if a < 25][:gaps]
    for i in young:
        age[i] = None
    return pl.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n)})


def test_missing_values_join_any_category_or_stay_alone():
    frame = pl.DataFrame({"age": [20] * 100 + [40] * 5 + [60] * 100 + [None] * 3})
    joined = generalize(frame, 5, quasi=["age"], effort="quick")
    assert joined.facts["cuts"]["age"] == ["20", "40 or missing", "60"]  # not only the last category
    alone = generalize(with_gaps(gaps=30), 5, quasi=["age", "sex"], missing="alone", effort="quick")
    assert alone.facts["cuts"]["age"][-1] == "missing"
    assert not any("missing" in label for label in alone.facts["cuts"]["age"][:-1])
    assert (alone.table["age"] == "missing").sum() == 30
    assert alone.table.group_by("age", "sex").len()["len"].min() == alone.facts["effective_k"] >= 5
    with pytest.raises(UsageError, match="stay alone"):
        generalize(with_gaps(), 5, quasi=["age", "sex"], missing="alone", effort="quick")


def test_missing_values_that_stay_alone_can_be_suppressed():
    release = generalize(with_gaps(gaps=4), 5, quasi=["age", "sex"], missing="alone", suppress=0.1, effort="quick")
    kept = release.table.filter(pl.col("sex") != "*")
    assert release.facts["suppressed"] == 300 - kept.height >= 5
    assert "missing" not in set(kept["age"]) and kept.group_by("age", "sex").len()["len"].min() >= 5


def test_suppression_and_l_hold_over_several_sets():
    rng = np.random.default_rng(9)
    n = 250
    frame = pl.DataFrame(
        {
            "age": [90 + i for i in range(6)] + rng.integers(20, 30, n - 6).tolist(),
            "town": rng.choice(list("abcdef"), n, p=[0.4, 0.3, 0.2, 0.06, 0.03, 0.01]),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["u", "v", "w"], n),
        }
    )
    sets = [["age", "sex"], ["town", "sex"]]
    data = shoal.read(frame, quasi=["age", "town", "sex"], confidential="illness")
    release = generalize(data, 5, sets=sets, suppress=0.1, l=2, effort="quick")
    kept = release.frame.filter(pl.col("sex") != "*")
    assert 5 <= release.facts["suppressed"] == n - kept.height <= 25
    for chosen in sets:
        assert kept.group_by(chosen).len()["len"].min() >= 5
        assert kept.group_by(chosen).agg(pl.col("illness").n_unique())["illness"].min() >= 2
    assert release.facts["effective_k"] == min(kept.group_by(chosen).len()["len"].min() for chosen in sets)
    without = generalize(data, 5, sets=sets, l=2, effort="quick")
    assert release.facts["nwp"] <= without.facts["nwp"]
    release.verify()


def test_a_recipe_holds_the_new_options(tmp_path):
    source = tmp_path / "in.csv"
    dated().write_csv(source)
    data = shoal.read(source, quasi=["born", "sex"])
    release = generalize(data, 5, granularity={"born": "quarter"}, missing="alone", labels="full", effort="quick")
    release.save(tmp_path / "out.csv", keep_order=True)
    (step,) = tomllib.loads(release.recipe.text())["steps"]
    assert step["granularity"] == {"born": "quarter"} and (step["missing"], step["labels"]) == ("alone", "full")


def test_domains_of_a_column_with_one_label_for_two_codes():
    frame = pl.DataFrame({"x": ["a", "b"]})
    values = values_of(Table(frame), "x")
    domain = domain_of("x", values, DomainOptions(), None, None)
    assert domain.free and domain.values == ("a", "b")
