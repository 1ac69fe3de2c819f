"""SPSS, Stata and SAS: value labels, column labels and missing codes survive the round trip."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyreadstat
import pytest

import shoal
from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.sources.files import check_target, read_file, write_file
from shoal.sources.reading import read
from shoal.table.table import Table

DATES = [dt.date(2020, 1, 1), None, dt.date(2021, 5, 5), dt.date(1950, 1, 1)]


@pytest.fixture
def spss(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {
            "id": ["p1", "p2", "p3", "p4"],
            "sex": [1.0, 2.0, 9.0, None],
            "age": [30.0, 99.0, 50.0, 41.0],
            "income": [1.5, -8.0, 99.0, 2.0],
            "town": ["A", "zz", "", "B"],
            "when": DATES,
        }
    )
    path = tmp_path / "in.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"sex": "Sex of respondent", "age": "Age in years"},
        variable_value_labels={"sex": {1.0: "man", 2.0: "woman", 9.0: "refused"}, "age": {99.0: "unknown"}},
        missing_ranges={"sex": [9.0], "age": [99.0], "income": [{"lo": -9.0, "hi": -1.0}, 99.0], "town": ["zz"]},
        variable_measure={"sex": "nominal", "income": "scale"},
        variable_format={"income": "F10.2", "age": "F3.0"},
        variable_display_width={"income": 14},
    )
    return path


def meta_of(path: Path) -> tuple[pl.DataFrame, Any]:
    return pyreadstat.read_sav(str(path), user_missing=True, output_format="polars")


@pytest.mark.parametrize("ending", ["sav", "zsav"])
def test_spss_round_trip(spss: Path, ending: str) -> None:
    frame, source = read_file(spss)
    out = spss.with_name(f"out.{ending}")
    write_file(frame, out, source)
    (old, before), (new, after) = meta_of(spss), meta_of(out)
    assert new.equals(old)
    for fact in (
        "column_names_to_labels", "variable_value_labels", "missing_ranges", "variable_measure",
        "original_variable_types", "variable_display_width",
    ):  # fmt: skip
        assert getattr(after, fact) == getattr(before, fact), fact


def test_spss_codes_count_as_missing_only_in_protected_columns(spss: Path) -> None:
    table = read(spss, identifiers="id", quasi=["age", "income"])
    with pytest.raises(InputError, match=r"'age' has 1 missing value \(the file's missing codes 99\), .* row 2"):
        table.numbers()
    with pytest.raises(InputError, match=r"'income' has 2 .* \(the file's missing codes -9.0 to -1.0, 99\)"):
        table.numbers(["income"])
    with pytest.warns(ShoalWarning, match="median of the column: age .*41.*income .*1.75"):
        filled = table.with_missing("median")
    assert filled.numbers().tolist() == [[30.0, 1.5], [41.0, 1.75], [50.0, 1.75], [41.0, 2.0]]
    with pytest.warns(ShoalWarning, match="2 of 4 rows were dropped"):
        assert table.with_missing("drop").numbers().tolist() == [[30.0, 1.5], [41.0, 2.0]]


def test_labelled_codes_are_categories_unless_named(spss: Path) -> None:
    table = read(spss, identifiers="id")
    assert table.kinds["sex"] == "category"
    assert table.kinds["age"] == "number"  # only the missing code has a label
    assert Table(table.protected({"sex": np.full(4, 1.25)}), source=table.source).kinds["sex"] == "number"
    frame = table.frame.select("sex", "age", "income")
    write_file(frame, spss.with_name("numbers.sav"), table.source)
    with pytest.raises(UsageError, match=r"sex +category"):
        read(spss.with_name("numbers.sav")).quasi_columns(numbers_only=True)
    whole = read(spss.with_name("numbers.sav"), quasi=["sex"]).numbers(missing="keep")[:, 0]
    assert whole[:2].tolist() == [1.0, 2.0]


def test_stata_labels_make_categories(stata: Path) -> None:
    assert read(stata).kinds == {"sex": "category", "rate": "number", "age": "number", "town": "text", "when": "date"}


def test_spss_protected_columns_lose_their_codes_and_others_keep_them(spss: Path) -> None:
    table = read(spss, identifiers="id")
    new = table.protected({"age": np.array([99.0, 99.0, 45.5, 45.5])})
    assert Table(new, source=table.source).numbers(["age"])[:, 0].tolist() == [99.0, 99.0, 45.5, 45.5]
    out = spss.with_name("out.sav")
    write_file(new, out, table.source)
    frame, meta = meta_of(out)
    assert frame["age"].to_list() == [99.0, 99.0, 45.5, 45.5]
    assert "id" not in frame.columns
    assert set(meta.missing_ranges) == {"sex", "income", "town"}
    assert meta.variable_value_labels == {"sex": {1.0: "man", 2.0: "woman", 9.0: "refused"}}
    assert meta.column_names_to_labels["age"] == "Age in years"
    assert meta.original_variable_types["age"] != "F3.0"
    assert frame["sex"].to_list() == [1.0, 2.0, 9.0, None]
    plain = pyreadstat.read_sav(str(out), output_format="polars")[0]
    assert plain["age"].to_list() == [99.0, 99.0, 45.5, 45.5], "a mean must not be read as a missing code"


@pytest.fixture
def stata(tmp_path: Path) -> Path:
    frame = pd.DataFrame(
        {
            "sex": [1, 2, "a", 1],
            "rate": [1.5, "b", 0.1, "z"],
            "age": pd.array([30, 40, 50, 60], dtype="int32"),
            "town": ["A", "B", "", "longer"],
            "when": DATES,
        }
    )
    path = tmp_path / "in.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        column_labels={"sex": "Sex"},
        variable_value_labels={"sex": {1: "man", 2: "woman", "a": "refused"}},
        missing_user_values={"sex": ["a"], "rate": ["b", "z"]},
    )
    return path


def test_stata_round_trip(stata: Path) -> None:
    frame, source = read_file(stata)
    assert frame["sex"].to_list() == [1, 2, None, 1]
    assert frame["rate"].to_list() == [1.5, None, 0.1, None]
    out = stata.with_name("out.dta")
    write_file(frame, out, source)
    (old, before) = pyreadstat.read_dta(str(stata), user_missing=True, output_format="dict")
    (new, after) = pyreadstat.read_dta(str(out), user_missing=True, output_format="dict")
    assert {k: list(v) for k, v in new.items()} == {k: list(v) for k, v in old.items()}
    for fact in ("column_names_to_labels", "variable_value_labels", "missing_user_values", "original_variable_types"):
        assert getattr(after, fact) == getattr(before, fact), fact
    assert after.readstat_variable_types["age"] == "int32"


def test_stata_protected(stata: Path) -> None:
    table = read(stata, quasi=["age"])
    with pytest.raises(InputError, match="'rate' has 2 missing values, the first in row 2"):
        table.numbers(["rate"])
    out = stata.with_name("out.dta")
    write_file(table.protected({"age": np.full(4, 45.25)}), out, table.source)
    back, source = read_file(out)
    assert back["age"].to_list() == [45.25] * 4
    assert source.cells["sex"].to_list() == [None, None, "a", None]
    rounded = table.protected({"age": np.full(4, 45.25)}, round_columns=["age"])
    assert rounded["age"].dtype == pl.Int64
    with pytest.warns(ShoalWarning, match="replaced by the median"):
        filled = table.with_missing("median", ["sex"])
    write_file(filled.frame, out, filled.source)
    _, source = read_file(out)
    assert source.labels is not None
    assert source.labels.values["sex"] == {1: "man", 2: "woman"}
    assert list(source.cells) == ["rate"]


def test_stata_rows_dropped_keep_their_letters(stata: Path) -> None:
    table = read(stata)
    with pytest.warns(ShoalWarning, match="2 of 4 rows were dropped"):
        fewer = table.with_missing("drop", ["rate"])
    write_file(fewer.frame, stata.with_name("out.dta"), fewer.source)
    assert read_file(stata.with_name("out.dta"))[1].cells["sex"].to_list() == [None, "a"]


@pytest.mark.filterwarnings("ignore:Shoal reads codes that .*por declares")
@pytest.mark.parametrize("ending", ["xpt", "por"])
def test_sas_and_portable_round_trip(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"AGE": [30.0, None, 50.5], "TOWN": ["A", "", "C"], "D": DATES[1:]})
    write_file(frame, tmp_path / f"a.{ending}")
    table = read(tmp_path / f"a.{ending}")
    assert table.frame.equals(frame)
    write_file(table.frame, tmp_path / f"b.{ending}", table.source)
    again = read(tmp_path / f"b.{ending}")
    assert again.frame.equals(frame)
    assert again.source is not None
    assert table.source is not None
    assert again.source.labels == table.source.labels


def test_sas_column_labels(tmp_path: Path) -> None:
    pyreadstat.write_xport(pl.DataFrame({"AGE": [1.0, 2.0]}), str(tmp_path / "a.xpt"), column_labels={"AGE": "Age"})
    frame, source = read_file(tmp_path / "a.xpt")
    write_file(frame, tmp_path / "b.xpt", source)
    assert pyreadstat.read_xport(str(tmp_path / "b.xpt"))[1].column_names_to_labels == {"AGE": "Age"}


def test_sas7bdat_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Shoal can read .sas7bdat files but not write them. Write a.xpt or a.sav"):
        check_target(tmp_path / "a.sas7bdat")


def test_from_spss_to_stata_keeps_labels(spss: Path) -> None:
    frame, source = read_file(spss)
    out = spss.with_name("out.dta")
    with pytest.warns(ShoalWarning, match="Only .sav files declare missing codes"):
        write_file(frame, out, source)
    back, now = read_file(out)
    assert back["sex"].to_list() == [1, 2, 9, None]
    assert now.labels is not None
    assert now.labels.values["sex"] == {1: "man", 2: "woman", 9: "refused"}
    assert now.labels.columns["sex"] == "Sex of respondent"


def test_from_stata_to_spss_keeps_labels(stata: Path) -> None:
    frame, source = read_file(stata)
    out = stata.with_name("out.sav")
    with pytest.warns(ShoalWarning, match=r"with a letter \(.a\) are written without the letter in sex, rate"):
        write_file(frame, out, source)
    back, now = read_file(out)
    assert back["sex"].to_list() == [1.0, 2.0, None, 1.0]
    assert now.labels is not None
    assert now.labels.values["sex"] == {1.0: "man", 2.0: "woman"}


@pytest.mark.filterwarnings("ignore:Only .sav files")
@pytest.mark.parametrize("ending", ["csv", "parquet", "xpt", "por"])
def test_lost_labels_are_reported(spss: Path, ending: str) -> None:
    frame, source = read_file(spss)
    with pytest.warns(ShoalWarning, match="cannot keep value labels.* sex, age"):
        write_file(frame, spss.with_name(f"out.{ending}"), source)


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_any_frame_is_written(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "a": pl.Series([1, 2, None], dtype=pl.UInt16),
            "b": pl.Series([True, None, False]),
            "c": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "d": pl.Series([None, None, None]),
            "e": pl.Series([0.1, 1e-300, -1e20]),
            "f": pl.Series([1, 2, 3], dtype=pl.Int64),
        }
    )
    write_file(frame, tmp_path / f"a.{ending}")
    back = read(tmp_path / f"a.{ending}").frame
    assert back["a"].to_list() == [1, 2, None]
    assert back["c"].to_list() == ["x", "y", "x"]
    assert back["d"].to_list() == [None] * 3
    assert back["f"].to_list() == [1, 2, 3]
    if ending != "xpt":  # SAS transport files have IBM's smaller exponents
        assert back["e"].to_list() == frame["e"].to_list()
    with pytest.raises(InputError, match="cannot be written in this format"):
        write_file(pl.DataFrame({"a": [[1]]}), tmp_path / f"b.{ending}")
    with pytest.raises(InputError, match="Cannot write the table"):
        write_file(pl.DataFrame({"not a name!": [1.0]}), tmp_path / f"b.{ending}")
    assert not (tmp_path / f"b.{ending}").exists()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("ending", ["sav", "dta", "por", "xpt", "sas7bdat"])
def test_broken_files_are_reported(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{ending}").write_bytes(b"nothing of the kind" * 50)
    with pytest.raises(InputError, match=f"Cannot read .*a.{ending} as .{ending}"):
        read(tmp_path / f"a.{ending}")


def test_the_extra_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch, spss: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    for act in (lambda: read(spss), lambda: check_target(spss.with_name("out.dta"))):
        with pytest.raises(UsageError, match=r"pip install pyreadstat"):
            act()


def test_the_extra_is_not_imported_unasked(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    code = (
        "import sys; from shoal.sources.reading import read; read(sys.argv[1]).numbers();"
        "print([m for m in ('pyreadstat', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "a.csv"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_protected_labels_keep_the_names_of_their_codes(tmp_path: Path, ending: str) -> None:
    """A group's most frequent code is still a code, and a reader must know what it means."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"sex": rng.integers(1, 3, 80), "school": rng.integers(1, 4, 80), "age": rng.integers(18, 90, 80)}
    )
    labels = {"sex": {1: "man", 2: "woman"}, "school": {1: "low", 2: "middle", 3: "high"}}
    writer, reader = (getattr(pyreadstat, f"{what}_{ending}") for what in ("write", "read"))
    writer(frame.astype(float), str(tmp_path / f"in.{ending}"), variable_value_labels=labels)
    with pytest.raises(InputError, match=r"'sex' holds codes with value labels.*--nominal sex"):
        shoal.microaggregate(shoal.read(tmp_path / f"in.{ending}", unit=False), k=4, method="mdav")
    roles: dict[str, Any] = {"nominal": "sex", "order": {"school": ["low", "middle", "high"]}, "unit": False}
    release = shoal.microaggregate(shoal.read(tmp_path / f"in.{ending}", **roles), k=4, method="mdav")
    release.save(tmp_path / f"out.{ending}")
    written, meta = reader(str(tmp_path / f"out.{ending}"))
    assert meta.variable_value_labels == labels
    assert set(written["sex"]) <= {1, 2} and set(written["school"]) <= {1, 2, 3}
    assert written.groupby(["sex", "school", "age"]).size().min() >= 4


# -- what a format cannot hold -------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "size"), [("sav", 32_768), ("zsav", 32_768), ("xpt", 32_768), ("por", 256)])
def test_a_text_that_the_format_would_cut_is_refused_with_its_row(tmp_path: Path, ending: str, size: int) -> None:
    frame = pl.DataFrame({"AGE": [1.0, 2.0, 3.0], "NOTE": ["a", "é" * (size // 2), "b"]})
    with pytest.raises(InputError, match=rf"'NOTE' has a text of {size:,} bytes in row 2, .* at most {size - 1:,}"):
        write_file(frame, tmp_path / f"out.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["sav", "zsav", "xpt"])
def test_blanks_that_the_format_drops_are_reported(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"age": [1.0, 2.0, 3.0], "note": ["a", " b ", "c "], "plain": [" a", None, ""]})
    with pytest.warns(ShoalWarning, match=r"lost in note \(2, the first in row 2\)\.$"):
        write_file(frame, tmp_path / f"out.{ending}")
    assert read_file(tmp_path / f"out.{ending}")[0]["note"].to_list() == ["a", " b", "c"]


def test_stata_keeps_blanks_at_the_end_of_a_text(tmp_path: Path) -> None:
    write_file(pl.DataFrame({"note": ["a", " b ", "c "]}), tmp_path / "out.dta")
    assert pd.read_stata(tmp_path / "out.dta")["note"].tolist() == ["a", " b ", "c "]


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "por"])
def test_a_release_that_is_not_such_a_file_is_reported(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r.{ending}"
    path.write_bytes(b"no such thing" * 100)
    with pytest.raises(InputError, match="The release .* cannot be read"):
        shoal.check(pl.DataFrame({"age": [1.0, 2.0]}), path, quasi="age")
