"""What an internal page says of roles, loss and risk is what direct counting says of the two tables."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.measures.compared import compared_as, compared_labels
from shoal.report.figures import figure

GRADES = ["low", "middle", "high"]


def people(n: int = 240, seed: int = 8) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10, 0.6, n).round(2)
    return pl.DataFrame(
        {
            "name": [f"Person {i}" for i in rng.permutation(n)],
            "household": rng.permutation(np.repeat(np.arange(n // 2), 2)) + 1000,
            "age": rng.integers(18, 90, n),
            "income": income,
            "tax": (income * 0.2).round(2),
            "grade": rng.choice(GRADES, n, p=[0.2, 0.5, 0.3]),
            "town": rng.choice(["north", "south", "<b>east</b>"], n),
            "branch": rng.integers(1, 5, n),
            "visits": rng.normal(5, 2, n).round(3),
            "illness": rng.choice(["none", "flu", "gout"], n, p=[0.6, 0.3, 0.1]),
            "note": rng.normal(0, 1, n),
        }
    )


ROLES: dict[str, Any] = {
    "identifiers": "name",
    "quasi": ["age", "income", "grade", "town", "branch"],
    "confidential": "illness",
    "as_is": {"visits": "only the clinic has it"},
    "drop": "note",
    "derived": {"tax": ["income"]},
    "order": {"grade": GRADES},
    "nominal": "branch",
}


def page_of(release: Any, folder: Path, **more: Any) -> str:
    return release.report(folder / "page.html", **more).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """A section of a page, without tags and charts; cells are separated by bars."""
    found = re.search(rf"<h2>{title}</h2>(.*?)</section>", text, re.DOTALL)
    assert found is not None, f"there is no section {title}"
    words = re.sub(r"<figure>.*?</figure>", "", found[1], flags=re.DOTALL)
    return unescape(re.sub(r"(<[^>]*>\s*)+", "|", words))


def charts_of(text: str) -> dict[str, list[list[str]]]:
    """The table of each chart by its title: the head and the rows."""
    found = {}
    for drawn in re.findall(r"<figure>.*?</figure>", text, re.DOTALL):
        title = re.search(r"<figcaption>(.*?)</figcaption>", drawn)
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", drawn)]
        assert title is not None
        found[unescape(title[1])] = [[unescape(cell) for cell in row] for row in rows]
    return found


@pytest.fixture(scope="module")
def mixed() -> Any:
    return shoal.microaggregate(shoal.read(people(), **ROLES, unit="household"), k=4, method="mdav")


def test_every_column_stands_with_its_role_and_why(mixed: Any, tmp_path: Path) -> None:
    told = section(page_of(mixed, tmp_path), "Input data")
    for cells in (
        "|name|identifier (removed)|text|",
        "|household|unit (removed)|number|",
        "|income|quasi-identifier|number|",
        "|tax|derived|It can be computed from income and is protected together with it.|number|",
        "|grade|quasi-identifier|text, ordinal|3|",
        "|town|quasi-identifier|text, nominal|3|",
        "|branch|quasi-identifier|number, nominal|4|",
        "|visits|as-is|only the clinic has it.|number|",
        "|illness|confidential|text|",
        "|note|dropped (removed)|number|",
    ):
        assert cells in told, cells
    assert "The unit marks the rows of one person or household." in told
    assert "without a role" not in told


def test_statements_patterns_and_missing_reasons_are_reported(tmp_path: Path) -> None:
    frame = people().select("age", "income", "visits", "town", "branch")
    data = shoal.read(frame, quasi=["age", "income"], as_is=["v*", "town"], unit=False, no_confidential=True)
    release = shoal.microaggregate(data, k=3, method="mdav")
    told = section(page_of(release, tmp_path), "Input data")
    assert "|visits|as-is|No reason is recorded. A pattern assigned this role.|" in told
    assert "|town|as-is|No reason is recorded.|" in told
    assert "|branch|none|number|" in told and "without a role is released unchanged and counts as known" in told
    assert "every row is a different person" in told and "no column is confidential" in told
    left = section(page_of(release, tmp_path), "Remaining disclosure risk")
    added = release.findings.figures.added_uniques
    assert (
        "|Unique records that columns without a role add|column without a role|unique records it adds"
        f"|branch|{added['branch']}|" in left
    )
    assert "|block|known-k|1 column has no role and would be released unchanged: branch." in left
    assert left.index("|block|") < left.index("|warn|")


def test_the_loss_by_column_is_that_of_the_run(mixed: Any, tmp_path: Path) -> None:
    text = page_of(mixed, tmp_path)
    told = section(text, "Information loss")
    about = mixed.facts["per_column"]
    for name in ("age", "income"):
        assert f"|{name}|number|{figure(about[name]['loss'])}|–|–|–|–|" in told
    assert f"|tax|derived from income|number|{figure(about['tax']['loss'])}|" in told
    for name in ("town", "branch"):
        cells = f"{figure(about[name]['loss'])}|{figure(100 * about[name]['changed'])}|–|"
        assert f"|{name}|nominal|{cells}" in told
    ordinal = [about["grade"][key] for key in ("changed", "changed_by_more_than_one")]
    shares = "|".join(figure(100 * share) for share in ordinal)
    assert f"|grade|ordinal|{figure(about['grade']['loss'])}|{shares}|3|" in told
    labels = [about[name]["changed"] for name in ("grade", "town", "branch")]
    assert f"changed cells of labels<b>{100 * sum(labels) / 3:.2g} %</b>" in text


def test_labels_are_drawn_before_and_after(mixed: Any, tmp_path: Path) -> None:
    drawn = charts_of(page_of(mixed, tmp_path))
    before, after = mixed.original.frame, mixed.frame
    for name in ("grade", "town", "branch"):
        head, *rows = drawn[name]
        assert head == ["value", "before", "after"]
        for column, table in ((1, before), (2, after)):
            counts = dict(table[name].cast(pl.String).value_counts().iter_rows())
            assert {row[0]: int(row[column]) for row in rows} == {row[0]: counts.get(row[0], 0) for row in rows}
            assert set(counts) <= {row[0] for row in rows}
    assert [row[0] for row in drawn["grade"][1:]] == GRADES  # an ordinal column in its order
    town = [int(row[1]) for row in drawn["town"][1:]]
    assert town == sorted(town, reverse=True)  # others by frequency
    told = section(page_of(mixed, tmp_path), "Information loss")
    assert "|income|before|" in told and "|branch|before|" not in told  # codes have no mean


def test_many_labels_are_cut_to_the_most_frequent(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"x": rng.normal(0, 1, 400), "code": [f"c{int(v):02d}" for v in rng.exponential(6, 400)]})
    release = shoal.microaggregate(shoal.read(frame, unit=False), k=3, method="mdav")
    rows = charts_of(page_of(release, tmp_path))["code"][1:]
    assert len(rows) == 13 and all(sum(int(row[column]) for row in rows) == 400 for column in (1, 2))
    assert rows[-1][0] == f"{frame['code'].n_unique() - 12} other values"


def test_units_are_counted_as_persons(mixed: Any, tmp_path: Path) -> None:
    text = page_of(mixed, tmp_path)
    left, done = section(text, "Remaining disclosure risk"), section(text, "Result")
    columns = list(mixed.changed)
    both = mixed.frame.select(columns).with_columns(unit=mixed.original.frame["household"])
    persons = both.group_by(columns).agg(pl.col("unit").n_unique().alias("persons"), pl.len().alias("records"))
    k = int(persons["persons"].min())  # type: ignore[arg-type]
    assert k >= 4
    assert re.search(rf"\|k\|The smallest equivalence class of the protected columns\.\|\d+\|{k}\|", left)
    average = 100 * (persons["records"] / persons["persons"]).sum() / both.height
    assert f"|{figure(float(average))}|" in left
    assert "k and the unique records count persons or households, not rows." in left
    assert "120 persons or households; every group has at least" in done
    assert "records of at least 3 other persons or households" in text


def test_columns_of_within_count_as_protected(tmp_path: Path) -> None:
    frame = people().select("age", "grade", "illness")
    data = shoal.read(frame, quasi="age", confidential="illness", unit=False)
    release = shoal.microaggregate(data, k=5, method="mdav", within=["grade"])
    text = page_of(release, tmp_path)
    assert "shares its 2 protected columns with at least 4 others" in text
    assert "|grade|quasi-identifier|All records of a group have the same value; it is unchanged.|text|" in section(
        text, "Input data"
    )
    assert "|columns that are constant in every group|grade|" in section(text, "Settings")
    before = frame.select("age", "grade").is_unique().sum()
    assert re.search(rf"\|unique records\|[^|]*\|{before}\|0\|", section(text, "Remaining disclosure risk"))
    assert "columns that are constant in every group" in page_of(release, tmp_path, external=True)


def test_subgroups_slopes_and_signs_are_those_of_the_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    n = 300
    town = rng.choice(["north", "south", "east"], n)
    frame = pl.DataFrame(
        {
            "pay": rng.normal(100, 10, n).round(2),
            "rent": rng.normal(100, 10, n).round(2),
            "town": town,
            "sex": rng.choice(["f", "m"], n),
        }
    )
    east = pl.col("town") == "east"
    after = frame.with_columns(pl.when(east).then(pl.col("pay") * 1.5).otherwise(pl.col("pay")).alias("pay"))
    text = shoal.report_files(frame, after, tmp_path / "page.html", quasi=["pay", "rent"]).read_text(encoding="utf-8")
    told = section(text, "Information loss in subgroups")
    old, new = (t.filter(east)["pay"] for t in (frame, after))
    cells = [len(old), old.mean(), new.mean(), old.median(), new.median(), 100 * (new.mean() / old.mean() - 1)]
    first = told.split("|change of the mean, %|")[1]
    assert first.startswith("|".join(["pay, town = east", *(figure(c) for c in cells)]))
    rest = [t.filter(~east)["pay"].mean() for t in (frame, after)]
    slopes = [
        (t.filter(east)["pay"].mean() - r) / frame["pay"].std(ddof=0) for t, r in zip((frame, after), rest, strict=True)
    ]
    assert f"|pay, town = east|{figure(slopes[0])}|{figure(slopes[1])}|{figure(slopes[1] - slopes[0])}|" in told
    signs = [np.sign((t["pay"] - t["rent"]).to_numpy()) for t in (frame, after)]
    assert f"|pay - rent|{figure(100 * float((signs[0] != signs[1]).mean()))}|" in told
    same = shoal.report_files(frame, frame, tmp_path / "page.html", quasi=["pay", "rent"]).read_text(encoding="utf-8")
    assert "Signs of differences" not in same


def test_a_large_loss_stands_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    wealth = rng.lognormal(5, 3, 60)
    frame = pl.DataFrame({"wealth": wealth, "age": rng.normal(40, 10, 60)})
    release = shoal.microaggregate(shoal.read(frame, unit=False), k=15, method="mdav")
    lost = section(page_of(release, tmp_path), "Information loss")
    assert "|Warning: The information loss is" in lost and "|Warning: In wealth, " in lost
    assert 'class="warning"' not in page_of(release, tmp_path, external=True)


def test_what_a_column_is_compared_as() -> None:
    before = pl.DataFrame(
        {
            "number": [1.5, 2.5, 3.5],
            "code": [1, 2, 3],
            "text": ["a", "b", "c"],
            "numerals": ["10", "20", "30"],
            "grade": GRADES,
            "flag": [True, False, True],
            "day": pl.Series(["2020-01-01", "2020-01-03", "2020-01-05"]).str.to_date(),
            "rank": pl.Series(["s", "m", "l"], dtype=pl.Enum(["s", "m", "l"])),
        }
    )
    after = before.with_columns(number=2.5, code=2, text=pl.lit("a+b"), numerals=20.0, grade=pl.lit("low"), flag=True)
    data = shoal.read(before, nominal="code", order={"grade": GRADES})
    release = shoal.read(after)
    assert compared_as(data, release, before.columns) == {
        "number": "number", "code": "nominal", "text": "category", "numerals": "number", "grade": "ordinal",
        "flag": "nominal", "day": "date", "rank": "ordinal",
    }  # fmt: skip
    grades = compared_labels(data, release, "grade")
    assert grades.values == tuple(GRADES) and grades.changed == 2
    assert [counts.tolist() for counts in grades.counts()] == [[1, 1, 1], [3, 0, 0]]


def test_dates_have_a_loss_of_their_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    born = pl.Series("joined", rng.integers(10_000, 19_000, 90)).cast(pl.Date)
    frame = pl.DataFrame([born, pl.Series("pay", rng.normal(100, 9, 90))])
    release = shoal.microaggregate(shoal.read(frame, quasi=["joined", "pay"], unit=False), k=3, method="mdav")
    told = section(page_of(release, tmp_path), "Information loss")
    assert f"|joined|date|{figure(release.facts['per_column']['joined']['loss'])}|" in told
    after = shoal.read(release.frame)
    again = shoal.report_files(release.original, after, tmp_path / "files.html").read_text(encoding="utf-8")
    assert f"|joined|date|{figure(release.facts['per_column']['joined']['loss'])}|" in section(
        again, "Information loss"
    )
    done = section(page_of(release, tmp_path), "Result")
    assert "the mean of numeric columns, the mean of date columns" in done


def test_value_labels_name_the_codes(tmp_path: Path) -> None:
    import pyreadstat

    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"sex": rng.integers(1, 3, 80).astype(float), "age": rng.integers(18, 90, 80).astype(float)})
    labels = {"sex": {1.0: "man", 2.0: "woman"}}
    pyreadstat.write_sav(frame.to_pandas(), str(tmp_path / "in.sav"), variable_value_labels=labels)
    data = shoal.read(tmp_path / "in.sav", nominal="sex", unit=False)
    release = shoal.microaggregate(data, k=4, method="mdav")
    drawn = charts_of(page_of(release, tmp_path))["sex"]
    assert sorted(row[0] for row in drawn[1:]) == ["man", "woman"] and sum(int(row[2]) for row in drawn[1:]) == 80
    assert "|sex|nominal|" in section(page_of(release, tmp_path), "Information loss")
