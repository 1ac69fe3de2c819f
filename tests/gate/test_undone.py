"""Columns that give a protected value away are found; columns that only go with it pass."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.gate import undone
from shoal.gate.undone import GivenAway, given_away

SURVEY = Path(__file__).parents[2] / "examples" / "survey.csv"
NUMBERS = ["age", "hours", "income", "expenses", "wealth"]
LABELS = ["district", "sex", "education", "diagnosis"]
RNG = np.random.default_rng(20)
REGIONS = {"Old Town": "centre", "Lakeside": "north", "Southfield": "south", "Harbour": "north"}


def grouped(frame: pl.DataFrame, names: list[str], k: int = 5) -> pl.DataFrame:
    """The frame with the means of groups of k records near each other (the farthest record first)."""
    x = np.stack([((frame[name] - frame[name].mean()) / frame[name].std()).to_numpy() for name in names], axis=1)
    left, group, count = np.arange(len(x)), np.zeros(len(x), dtype=int), 0
    while left.size:
        far = x[left][np.argmax(((x[left] - x[left].mean(axis=0)) ** 2).sum(axis=1))]
        near = np.argsort(((x[left] - far) ** 2).sum(axis=1))[: k if left.size >= 2 * k else None]
        group[left[near]] = count
        left, count = np.delete(left, near), count + 1
    means = [np.bincount(group, frame[name].to_numpy()) / np.bincount(group) for name in names]
    return frame.with_columns([pl.Series(name, mean[group]) for name, mean in zip(names, means, strict=True)])


@pytest.fixture(scope="module")
def survey() -> pl.DataFrame:
    return pl.read_csv(SURVEY).drop("name")


@pytest.fixture(scope="module")
def release(survey: pl.DataFrame) -> pl.DataFrame:
    return grouped(survey, NUMBERS)


def findings(before: pl.DataFrame, after: pl.DataFrame, added: dict[str, object], **options: object) -> list[GivenAway]:
    """What the survey's labels and some added columns give away of its numbers."""
    columns = [pl.Series(name, values) for name, values in added.items()]
    return given_away(before.with_columns(columns), after.with_columns(columns), NUMBERS, [*LABELS, *added], **options)[
        0
    ]


def income(survey: pl.DataFrame) -> np.ndarray:
    return survey["income"].to_numpy().astype(float)


def scaled(survey: pl.DataFrame) -> np.ndarray:
    return (income(survey) - income(survey).mean()) / income(survey).std()


def tax(values: np.ndarray) -> np.ndarray:
    steps = ((10_000, 0.2), (30_000, 0.2), (60_000, 0.1))
    return np.round(sum(rate * np.maximum(values - floor, 0) for floor, rate in steps))


def births(survey: pl.DataFrame) -> list[datetime.date]:
    day = datetime.date(2024, 6, 1)
    days = survey["age"].to_numpy() * 365.2425 + RNG.integers(0, 365, survey.height)
    return [day - datetime.timedelta(days=int(d)) for d in days]


GIVEN_AWAY = {
    "factor": (lambda s: {"w": 0.186 * income(s)}, "income", ("w",), 0.99),
    "rounded factor": (lambda s: {"w": np.round(0.186 * income(s))}, "income", ("w",), 0.99),
    "logarithm": (lambda s: {"w": np.log(income(s) + 1)}, "income", ("w",), 0.99),
    "falling": (lambda s: {"w": 1e6 / (income(s) + 1)}, "income", ("w",), 0.95),
    "tax": (lambda s: {"w": tax(income(s))}, "income", ("w",), 0.8),
    "copy": (lambda s: {"w": s["income"]}, "income", ("w",), 0.99),
    "copy as text": (lambda s: {"w": s["income"].cast(pl.String)}, "income", ("w",), 0.99),
    "birth date": (lambda s: {"w": births(s)}, "age", ("w",), 0.95),
    "birth date as text": (lambda s: {"w": [f"{day}" for day in births(s)]}, "age", ("w",), 0.95),
    "birth date with dots": (lambda s: {"w": [f"{day:%d.%m.%Y}" for day in births(s)]}, "age", ("w",), 0.95),
    "year of birth": (lambda s: {"w": 2024 - s["age"]}, "age", ("w",), 0.99),
    "age as a label": (lambda s: {"w": [f"a{age}" for age in s["age"]]}, "age", ("w",), 0.99),
}


@pytest.mark.parametrize("case", GIVEN_AWAY)
def test_a_column_that_gives_a_value_away_is_found(survey: pl.DataFrame, release: pl.DataFrame, case: str) -> None:
    made, column, by, share = GIVEN_AWAY[case]
    found = findings(survey, release, made(survey))
    assert [(finding.column, finding.by) for finding in found] == [(column, by)]
    assert found[0].share > share
    assert found[0].release_share < 0.2


def test_a_total_less_its_parts(survey: pl.DataFrame, release: pl.DataFrame) -> None:
    other = RNG.gamma(2, 4000, survey.height)
    noise = {f"n{j}": RNG.normal(size=survey.height) for j in range(30)}
    total = {"total": income(survey) + other}
    assert findings(survey, release, total) == []
    found = findings(survey, release, {**noise, **total, "other": other})
    assert [(f.column, set(f.by), f.attack_kind) for f in found] == [("income", {"total", "other"}, "least squares")]
    assert found[0].share > 0.99


def test_a_total_that_some_records_break(survey: pl.DataFrame, release: pl.DataFrame) -> None:
    other, error = RNG.gamma(2, 4000, survey.height), RNG.normal(0, 20_000, survey.height)
    total = income(survey) + other + np.where(RNG.random(survey.height) < 0.1, error, 0)
    found = findings(survey, release, {"total": total, "other": other})
    assert [(f.column, set(f.by)) for f in found] == [("income", {"total", "other"})]
    assert 0.85 < found[0].share < 0.95


def test_a_product(survey: pl.DataFrame, release: pl.DataFrame) -> None:
    weeks = RNG.integers(10, 53, survey.height)
    found = findings(survey, release, {"weekly": income(survey) / weeks, "weeks": weeks})
    assert [(f.column, set(f.by)) for f in found] == [("income", {"weekly", "weeks"})]


def test_a_pair_of_labels() -> None:
    n = 4_000
    one, two = RNG.integers(0, 6, n), RNG.integers(0, 6, n)
    grade = (one + 5 * two) % 6  # neither label alone goes with the grade
    before = pl.DataFrame(
        {"grade": [f"g{g}" for g in grade], "one": [f"{o}a" for o in one], "two": [f"{t}b" for t in two]}
    )
    after = before.with_columns(grade=before["grade"].shuffle(seed=1))
    found, records = given_away(before, after, ["grade"], ["one", "two"])
    assert [(f.by, f.attack_kind, f.share) for f in found] == [(("one", "two"), "labels", 1.0)]
    assert records == n


@pytest.mark.parametrize("changed", [0.03, 0.3])
def test_a_region_beside_its_district(survey: pl.DataFrame, changed: float) -> None:
    rows = np.flatnonzero(RNG.random(survey.height) < changed)
    districts = survey["district"].to_list()
    for row in rows:
        districts[row] = districts[int(RNG.integers(survey.height))]
    region = [REGIONS.get(name, "east") for name in survey["district"]]
    before = survey.with_columns(region=pl.Series(region))
    after = before.with_columns(district=pl.Series(districts))
    found, _ = given_away(before, after, ["district"], ["region", "sex", "education", "diagnosis", *NUMBERS])
    assert [(f.column, f.by, f.attack_kind) for f in found] == [("district", ("region",), "dependency")]
    moved = [r for r in rows if districts[r] != survey["district"][int(r)]]
    betrayed = [r for r in moved if REGIONS.get(districts[r], "east") != region[r]]
    assert found[0].share == pytest.approx(len(betrayed) / len(moved))
    whole = before.with_columns(pl.col("district").replace(REGIONS))  # generalized: no district is named any more
    assert given_away(before, whole, ["district"], ["region"])[0] == []


PASSED = {
    "nothing": lambda s: {},
    "noise": lambda s: {"w": RNG.normal(size=s.height)},
    "correlated at 0.8": lambda s: {"w": 0.8 * scaled(s) + 0.6 * RNG.normal(size=s.height)},
    "correlated at 0.95": lambda s: {"w": 0.95 * scaled(s) + 0.312 * RNG.normal(size=s.height)},
    "rent": lambda s: {"w": income(s) * RNG.uniform(0.2, 0.4, s.height)},
    "four together": lambda s: {f"w{j}": scaled(s) + 0.5 * RNG.normal(size=s.height) for j in range(4)},
    "many columns": lambda s: {f"w{j}": scaled(s) + 5 * RNG.normal(size=s.height) for j in range(150)},
    "shifted mean": lambda s: {"w": np.where(scaled(s) + RNG.normal(size=s.height) > 0, "high", "low")},
    "zeros and ones": lambda s: {f"w{j}": (scaled(s) + RNG.normal(size=s.height) > j).astype(int) for j in range(3)},
    "true and false": lambda s: {"w": scaled(s) > 0},
    "zeros": lambda s: {"w": np.where(RNG.random(s.height) < 0.6, 0.0, RNG.gamma(2, 100, s.height))},
    "zeros with the hours": lambda s: {"w": np.where(s["hours"] == 0, 0.0, RNG.gamma(2, 100, s.height))},
    "an identifier": lambda s: {"w": [f"p{j}" for j in RNG.permutation(s.height)]},
    "random dates": lambda s: {"w": [f"{1940 + j % 70}-03-{1 + j % 28:02}" for j in RNG.permutation(s.height)]},
    "a constant": lambda s: {"w": np.ones(s.height), "v": ["x"] * s.height, "u": [None] * s.height},
}  # fmt: skip


@pytest.mark.parametrize("case", PASSED)
def test_a_column_that_only_goes_with_a_value_passes(survey: pl.DataFrame, release: pl.DataFrame, case: str) -> None:
    assert findings(survey, release, PASSED[case](survey)) == []


def test_a_protected_column_with_many_zeros(survey: pl.DataFrame) -> None:
    """A column that goes with a common value reveals no more than guessing that value does."""
    gain = np.where(RNG.random(survey.height) < 0.6, 0.0, RNG.gamma(2, 3000, survey.height))
    before = survey.with_columns(gain=gain, other=np.where(gain == 0, 0.0, RNG.gamma(2, 100, survey.height)))
    after = grouped(before, ["gain", "income"])
    wide = before.with_columns(gain=pl.lit("[0-90000]"))  # this release reveals nothing, not even the zeros
    assert given_away(before, after, ["gain"], ["other", *LABELS])[0] == []
    assert given_away(before, wide, ["gain"], ["other", *LABELS])[0] == []
    copied = [frame.with_columns(third=gain / 3) for frame in (before, after)]
    assert given_away(*copied, ["gain"], ["third"])[0][0].share > 0.99


def test_a_little_more_than_the_most_common_value_passes() -> None:
    """A label that gives away 6 % beyond the most common value is not a finding; one that gives away 20 % is."""
    n = 3000
    common, grade = RNG.random(n) < 0.6, RNG.integers(1, 20, n)
    for share, ways in ((0.15, []), (0.5, ["label"])):
        known = RNG.random(n) < share
        label = np.where(common, "common", np.where(known, np.char.add("of ", grade.astype(str)), "other"))
        before = pl.DataFrame({"grade": np.where(common, "g0", np.char.add("g", grade.astype(str))), "label": label})
        after = before.with_columns(grade=pl.lit("any"))
        assert [f.attack_kind for f in given_away(before, after, ["grade"], ["label"])[0]] == ways


def test_the_order_of_the_file_does_not_count(survey: pl.DataFrame) -> None:
    """Records with equal values are neighbours in random order, also where the file is sorted by a protected column."""
    before = survey.sort("age").with_columns(group=RNG.integers(0, 3, survey.height))
    after = grouped(before, ["age", "income"])
    assert given_away(before, after, ["age", "income"], ["group", "sex"])[0] == []


def test_a_label_of_one_record_determines_nothing() -> None:
    grade = RNG.integers(0, 8, 1000)
    label = [f"l{10 * g + j % 3}" if j < 600 else f"u{j}" for j, g in enumerate(grade)]
    before = pl.DataFrame({"grade": [f"g{g}" for g in grade], "label": label})
    after = before.with_columns(grade=pl.lit("any"))
    assert [(f.attack_kind, f.share) for f in given_away(before, after, ["grade"], ["label"])[0]] == [("label", 0.6)]


@pytest.mark.parametrize("seed", range(10))
def test_small_files(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = {f"n{j}": rng.normal(50, 10, 20) for j in range(4)} | {f"i{j}": rng.integers(0, 3, 20) for j in range(3)}
    before = pl.DataFrame(
        {**columns, "l": [f"x{v}" for v in rng.integers(0, 4, 20)], "m": [f"y{v}" for v in range(20)]}
    )
    after = grouped(before, ["n0", "i0"])
    assert given_away(before, after, ["n0", "i0"], before.columns[1:]) == ([], 20)
    copied = [frame.with_columns(w=7 - 3 * before["n0"]) for frame in (before, after)]
    assert [f.by for f in given_away(*copied, ["n0", "i0"], [*before.columns[1:], "w"])[0]] == [("w",)]


def test_more_columns_than_records() -> None:
    x = RNG.normal(size=(60, 90))
    before = pl.DataFrame({"p": 100 + x[:, 3] + x[:, 4]} | {f"w{j}": x[:, j] for j in range(90)})
    after = grouped(before, ["p"])
    names = before.columns[1:]
    assert [set(f.by) for f in given_away(before, after, ["p"], names)[0]] == [{"w3", "w4"}]
    assert given_away(before, after, ["p"], [name for name in names if name != "w3"])[0] == []


def test_years_count_by_their_spread(survey: pl.DataFrame) -> None:
    """One per cent of a year of birth is two decades: every release would reveal it, and no column more."""
    before = survey.with_columns(born=2024 - survey["age"])
    after = grouped(before, ["born", "income", "hours"])
    found, _ = given_away(before, after, ["born"], ["age"])
    assert found[0].share > 0.99 and found[0].release_share < 0.5
    assert given_away(before, after, ["born"], ["expenses", *LABELS])[0] == []


def test_rows_of_one_household_are_not_evidence() -> None:
    """A rent finds the other persons of the household, who have the same income; it does not reveal the income."""
    income, rent = RNG.gamma(4, 10_000, 600).repeat(3), RNG.gamma(4, 200, 600).repeat(3)
    before = pl.DataFrame({"income": income, "rent": rent, "size": RNG.integers(1, 9, 600).repeat(3)})
    after = before.with_columns(pl.col("income", "size").shuffle(seed=2))
    assert given_away(before, after, ["income", "size"], ["rent"])[0] == []


def test_missing_and_suppressed_cells_are_left_out(survey: pl.DataFrame, release: pl.DataFrame) -> None:
    share = pl.Series("w", 0.186 * income(survey)).to_frame().with_row_index()
    gaps = share.select(pl.when(pl.col("index") % 3 == 0).then(None).otherwise("w").alias("w"))["w"]
    assert [f.by for f in findings(survey, release, {"w": gaps})] == [("w",)]
    before = survey.with_columns(w=gaps, income=pl.when(pl.col("age") < 40).then(None).otherwise("income"))
    starred = release.with_columns(w=gaps.cast(pl.String).fill_null("*"))
    found, _ = given_away(before, starred, ["income"], ["w"])
    assert [(f.by, round(f.share, 2)) for f in found] == [(("w",), 1.0)]
    hidden = release.with_columns(w=pl.lit("*"))
    assert given_away(before, hidden, ["income"], ["w"])[0] == []


def test_intervals_reveal_nothing_and_unchanged_values_all(survey: pl.DataFrame) -> None:
    decade = survey["age"] // 10 * 10
    after = survey.with_columns(age=pl.Series([f"[{d}-{d + 9}]" for d in decade]))
    before = survey.with_columns(born=2024 - survey["age"])
    after = after.with_columns(before["born"])
    [found] = given_away(before, after, ["age"], ["born", "sex"])[0]
    assert (found.share, found.release_share) == (pytest.approx(1, abs=0.01), 0.0)
    same = before.with_columns(pl.col("age").cast(pl.String))
    assert given_away(before, same, ["age"], ["born", "sex"])[0] == []
    labels = survey.with_columns(copy=survey["education"] + "!")
    fewer = labels.with_columns(education=labels["education"].replace({"bachelor": "academic", "master": "academic"}))
    [label] = given_away(labels, fewer, ["education"], ["copy"])[0]
    assert label.attack_kind == "label"
    assert label.release_share == pytest.approx((labels["education"] == fewer["education"]).mean())


def test_an_order_makes_a_label_a_number() -> None:
    """A score lies between those of the next grades: without the order a grade of one record reveals nothing."""
    n = 400
    rank = RNG.permutation(n)
    before = pl.DataFrame({"score": 1000.0 + 3 * rank, "grade": [f"g{(r * 7919) % 10_007}" for r in rank]})
    after = grouped(before, ["score"], k=20)
    order = [f"g{(r * 7919) % 10_007}" for r in range(n)]
    assert given_away(before, after, ["score"], ["grade"])[0] == []
    assert given_away(before, after, ["score"], ["grade"], ordered={"grade": order})[0][0].by == ("grade",)


def test_accepted_columns_and_the_three_strongest(survey: pl.DataFrame, release: pl.DataFrame) -> None:
    copies = {f"w{j}": (j + 2) * income(survey) for j in range(5)}
    found = findings(survey, release, copies)
    assert len(found) == 3
    assert {f.column for f in found} == {"income"}
    assert findings(survey, release, copies, accepted=list(copies)) == []
    with_tax = {"w": 2 * income(survey), "tax": tax(income(survey))}
    assert [f.by for f in findings(survey, release, with_tax)] == [("w",), ("tax",)]


def test_large_files_are_sampled(monkeypatch: pytest.MonkeyPatch, survey: pl.DataFrame, release: pl.DataFrame) -> None:
    for module in (undone, undone.one_column):
        monkeypatch.setattr(module, "SAMPLE", 500)
    added = {"log": np.log(income(survey) + 1), "noise": RNG.normal(size=survey.height)}
    columns = [pl.Series(name, values) for name, values in added.items()]
    runs = [
        given_away(survey.with_columns(columns), release.with_columns(columns), NUMBERS, [*LABELS, *added])
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert runs[0][1] == 500
    assert {(f.column, f.by) for f in runs[0][0]} == {("income", ("log",))}


def test_odd_frames() -> None:
    empty = pl.DataFrame({"p": [], "w": []}, schema={"p": pl.Float64, "w": pl.String})
    assert given_away(empty, empty, ["p"], ["w"]) == ([], 0)
    odd = {"p": [1.0, None, float("nan"), float("inf")], "w": [None] * 4, "v": [[1], [2], None, [1]], "t": [True] * 4}
    frame = pl.DataFrame(odd, schema_overrides={"w": pl.Null})
    assert given_away(frame, frame, ["p", "w", "v"], ["t", "v", "w"]) == ([], 4)
    assert given_away(frame, frame, [], ["t"]) == ([], 4)


KINDS = st.sampled_from(["normal", "skewed", "whole", "binary", "zeros", "label", "unique", "date", "offset"])


def column(kind: str, n: int, rng: np.random.Generator) -> pl.Series:
    values = {
        "normal": lambda: rng.normal(0, 3, n),
        "skewed": lambda: np.exp(2 * rng.normal(size=n)),
        "whole": lambda: rng.integers(0, rng.integers(2, 40), n),
        "binary": lambda: (rng.random(n) < rng.random()).astype(int),
        "zeros": lambda: np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2, 10, n)),
        "label": lambda: [f"x{v}" for v in rng.integers(0, rng.integers(2, n), n)],
        "unique": lambda: [f"x{v}" for v in rng.permutation(n)],
        "date": lambda: [f"{year}-05-01" for year in rng.integers(1940, 2010, n)],
        "offset": lambda: 1e9 + rng.normal(size=n),
    }
    return pl.Series(values[kind]())


@settings(max_examples=150)
@given(st.lists(KINDS, min_size=1, max_size=3), st.lists(KINDS, max_size=6), st.integers(3, 200), st.integers(0, 2**31))
def test_independent_columns_give_nothing_away(protected: list[str], unchanged: list[str], n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = pl.DataFrame({f"c{j}": column(kind, n, rng) for j, kind in enumerate([*protected, *unchanged])})
    names = before.columns[: len(protected)]
    after = before.with_columns([pl.col(name).shuffle(seed=seed) for name in names])
    assert given_away(before, after, names, before.columns[len(names) :]) == ([], n)


def test_two_columns_with_rare_values_are_no_copies_of_each_other() -> None:
    """They agree in nearly all records, but no more than by chance."""
    rare = ["yes" if i % 50 == 0 else "no" for i in range(400)]
    other = ["yes" if i % 60 == 7 else "no" for i in range(400)]
    original = pl.DataFrame({"rare": rare, "other": other})
    release = original.with_columns(rare=pl.lit("yes or no"))
    assert shoal.check(original, release, quasi=["rare"], as_is=["other"], k=5)["undone"].status == "ok"
    copied = release.with_columns(other=original["rare"])
    assert shoal.check(original, copied, quasi=["rare"], as_is=["other"], k=5)["undone"].status == "block"
