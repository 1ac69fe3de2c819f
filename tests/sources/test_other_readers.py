"""Releases read again by two other programs, pandas and DuckDB: k is counted on what they see, as text and as values.

Shoal writes a protected column in one form, so that records with equal values are equal to every reader. The tables
have what makes readers differ: number formats, decimal commas, signs of zero, exponents, trailing zeros, text that
looks equal, blanks, quotes, line ends within cells, words for missing values, labels and dates.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import gzip
import io
import itertools
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyreadstat
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from command_line import run
from other_readers import check_no_finer, sights, smallest
from shoal.errors import PromiseError
from shoal.sources.csv import FORMAT
from shoal.sources.csv import write as write_text
from shoal.sources.files import read_file, write_file

K = 3
PROTECTED = ["rate", "town", "day"]
ROLES: dict[str, Any] = {
    "quasi": PROTECTED, "nominal": "town", "numeric": "rate", "confidential": "note", "unit": False,
}  # fmt: skip
# All examples of a test use its folder.
examples = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])

NUMBERS = [0.0, 1.0, -1.0, 2.5, 10.0, 1000.0, -0.125, 1e-7, 1e15]
WORDS = [
    "Zoë", unicodedata.normalize("NFD", "Zoë"), "A", "Α", "a", "Ａ", "A ", " A", "New York", "New\u00a0York", "NA",
    "null", "None", "nan", "true", "1.0", "1.00", "01", "2020-01-01", '5" x 5"', "#1", "a,b", "a;b", "a\tb", "x\ny",
    "x\r", "=1+1", "ß", "SS", "", " ", "\ufeffA", "A\u200b", "x\u2028y", "1,0", "+1", "-0", "1e0", "0x1", "\\N", "a\\",
]  # fmt: skip
DAYS = ["2020-01-31", "2020-02-29", "1999-12-31", "2024-01-01"]
DAY_FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d 00:00:00", "%Y-%m-%dT00:00:00Z", "%d %b %Y"]


TEXT_FILES = ["csv", "tsv", "txt", "csv.gz", "tsv.gz", "txt.gz"]
FORMATS = [*TEXT_FILES, "parquet", "pq", "arrow", "feather", "ipc", "sav", "zsav", "dta"]


class Table(NamedTuple):
    """Records as text, with decimal commas or points."""

    rows: list[dict[str, str]]
    decimal: str

    @property
    def delimiter(self) -> str:
        return ";" if self.decimal == "," else ","


def number_texts(value: float) -> list[str]:
    """A number as people and programs write it."""
    plain = format(value, "f").rstrip("0").rstrip(".") if abs(value) >= 1e-4 or value == 0 else format(value, "e")
    forms = [plain, repr(value), f"{value:.3e}", f"{value:E}", plain + ("0" if "." in plain else ".0"), f" {plain}"]
    forms += [] if plain.startswith("-") else [f"+{plain}"]
    forms += ["-0", "-0.0", "0e0", ".0", "0.000"] if value == 0 else []
    return [form for form in forms if float(form) == value]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Records in a few groups that agree in their values but not in how these are written, and any text beside them."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=2, max_size=4, unique=True))
    numbers = draw(st.lists(st.sampled_from(NUMBERS), min_size=2, max_size=4, unique=True))
    decimal, form, rows = draw(st.sampled_from(".,")), draw(st.sampled_from(DAY_FORMS)), []
    for group in range(draw(st.integers(2, 5))):
        number, day = draw(st.sampled_from(numbers)), draw(st.sampled_from(DAYS))
        day = dt.date.fromisoformat(day).strftime(form)
        for _ in range(draw(st.integers(K, K + 2))):
            text = draw(st.sampled_from(number_texts(number))).replace(".", decimal)
            note = draw(st.sampled_from([*WORDS, "", "1,5"]))
            rows.append({"rate": text, "town": words[group % len(words)], "day": day, "note": note})
    return Table(draw(st.permutations(rows)), decimal)


def put(path: Path, table: Table, encoding: str = "utf-8") -> Path:
    """The table as a text file, every cell in quotes."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(table.rows[0]), delimiter=table.delimiter, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(table.rows)
    path.write_bytes(file.getvalue().encode(encoding))
    return path


# -- what other programs see ---------------------------------------------------------------------


def assert_k(path: Path, count: int, columns: list[str] = PROTECTED, k: int = K, **how: str) -> None:
    """Every reader sees every record, and at least k of each kind."""
    for reader, rows in sights(path, columns, **how):
        assert len(rows) == count, reader
        assert smallest(rows) >= k, (reader, Counter(rows))


# -- any table -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("ending", FORMATS)
@examples
@given(table=tables())
def test_microaggregated_records_are_equal_to_every_reader(tmp_path: Path, ending: str, table: Table) -> None:
    read = shoal.read(put(tmp_path / "in.csv", table), decimal=table.decimal, **ROLES)
    assume(any(read.frame[name].n_unique() > 1 for name in PROTECTED))  # '+1' and '1e0' are one number
    out = shoal.microaggregate(read, k=K, method="mdav").save(tmp_path / f"out.{ending}", keep_order=True)
    delimiter = "\t" if ending.startswith("tsv") else table.delimiter
    assert_k(out, len(table.rows), delimiter=delimiter)
    if ending in TEXT_FILES:
        notes = dict(sights(out, ["note"], delimiter))["pandas, text"]
        assert [note for (note,) in notes] == [row["note"] for row in table.rows], "an unchanged column is unchanged"


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "feather", "sav", "dta"])
@examples
@given(table=tables())
def test_generalized_records_are_equal_to_every_reader(tmp_path: Path, ending: str, table: Table) -> None:
    read = shoal.read(put(tmp_path / "in.csv", table), decimal=table.decimal, confidential="note", unit=False)
    out = shoal.generalize(read, k=K, effort="quick").save(tmp_path / f"out.{ending}", keep_order=True)
    assert_k(out, len(table.rows), delimiter="\t" if ending.startswith("tsv") else table.delimiter)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav", "dta"])
@examples
@given(table=tables())
def test_grouped_columns_are_equal_to_every_reader(tmp_path: Path, ending: str, table: Table) -> None:
    """One column group of one column each: k holds for each column alone."""
    rows = [row | {"pay": table.rows[i - 1]["rate"]} for i, row in enumerate(table.rows)]
    roles: dict[str, Any] = {"quasi": ["rate", "pay"], "numeric": ["rate", "pay"], "confidential": ["town", "note"]}
    read = shoal.read(
        put(tmp_path / "in.csv", Table(rows, table.decimal)), decimal=table.decimal, unit=False, as_is="day", **roles
    )
    if read.frame["rate"].n_unique() == 1:
        return
    found = shoal.group_attributes(read, k=K, groups=[["rate"], ["pay"]])
    out = found.save(tmp_path / f"out.{ending}", keep_order=True, accept_k=1)
    for name in ("rate", "pay"):
        assert_k(out, len(rows), [name], delimiter=table.delimiter)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("ending", ["parquet", "arrow", "sav", "dta"])
@examples
@given(table=tables())
def test_numbers_that_a_file_holds_as_text(tmp_path: Path, ending: str, table: Table) -> None:
    """Formats with types may hold numbers as text; every release of them has one form per number."""
    frame = pl.DataFrame([row | {"rate": row["rate"].replace(",", ".")} for row in table.rows])
    path = tmp_path / f"in.{ending}"
    if ending in ("sav", "dta"):
        getattr(pyreadstat, f"write_{ending}")(frame, str(path))
    else:
        frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    read = shoal.read(path, **ROLES)
    assume(any(read.frame[name].n_unique() > 1 for name in PROTECTED))
    release = shoal.microaggregate(read, k=K, method="mdav")
    for target in (ending, "csv"):
        assert_k(release.save(tmp_path / f"out.{target}", keep_order=True), frame.height)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@examples
@given(table=tables(), encoding=st.sampled_from(["utf-8-sig", "utf-16", "latin-1"]))
def test_releases_of_the_command_line_in_other_encodings(tmp_path: Path, table: Table, encoding: str) -> None:
    rows = [{n: c.encode("latin-1", "replace").decode("latin-1") for n, c in row.items()} for row in table.rows]
    path, out = put(tmp_path / "in.csv", Table(rows, table.decimal), encoding), tmp_path / "out.csv"
    read = shoal.read(path, decimal=table.decimal, encoding=encoding)
    assume(any(read.frame[name].n_unique() > 1 for name in PROTECTED))
    run(
        "microaggregate", path, "-k", K, "--method", "mdav", "--quasi", "rate,town,day", "--nominal", "town",
        "--numeric", "rate", "--confidential", "note", "--decimal", table.decimal, "--encoding", encoding,
        "--keep-order", "-o", out,
    )  # fmt: skip
    assert_k(out, len(rows), delimiter=table.delimiter, encoding=encoding)


# -- one number, many texts ----------------------------------------------------------------------

ONES = ["1.0", "1.00", "+1", "1e0", "1", " 1", "1.", "10e-1", "1E+00"]
ZEROS = ["0", "-0", "0.0", "-0.0", "+0", "0e5", ".0", "-0.00", "0.000"]
SEVENS = [f"{7.25:.{digits}f}" for digits in range(2, 11)]
FORM_ROLES: dict[str, Any] = {"quasi": ["rate", "pay"], "confidential": "kept", "unit": False}


def put_forms(folder: Path, ending: str, decimal: str, encoding: str = "utf-8") -> Path:
    """Records in equal groups of nine: protection changes no value, and each text is another."""
    sign, rates = "\t" if ending.startswith("tsv") else ";", [*ONES, *ZEROS, *SEVENS]
    kept = [f"{0.5 + (7 * i) % 5:.{1 + i % 4}f}" for i in range(len(rates))]
    lines = [sign.join(row).replace(".", decimal) for row in zip(rates, rates[::-1], kept, strict=True)]
    content = "\n".join([sign.join(["rate", "pay", "kept"]), *lines]).encode(encoding)
    path = folder / f"in.{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    return path


def column(path: Path, name: str, encoding: str = "utf-8") -> list[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    sign = "\t" if ".tsv" in path.name else ";"
    return [row[name] for row in csv.DictReader(io.StringIO(raw.decode(encoding)), delimiter=sign)]


@pytest.mark.parametrize(("ending", "decimal"), list(itertools.product(TEXT_FILES, ".,")))
def test_a_number_that_protection_does_not_change_is_written_in_one_form(
    tmp_path: Path, ending: str, decimal: str
) -> None:
    path, out = put_forms(tmp_path, ending, decimal), tmp_path / f"out.{ending}"
    roles = ["--quasi", "rate,pay", "--confidential", "kept", "--decimal", decimal, "--keep-order"]
    run("microaggregate", path, "-k", 9, "--method", "mdav", *roles, "-o", out)
    assert set(column(out, "rate")) == {text.replace(".", decimal) for text in ("1.0", "0.0", "7.25")}
    assert column(out, "kept") == column(path, "kept"), "an unchanged column keeps its text"
    assert_k(out, 27, ["rate", "pay"], k=9, delimiter="\t" if ending.startswith("tsv") else ";")
    run("check", path, out, "-k", 9, *roles)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_other_encodings_are_checked_as_they_are_written(tmp_path: Path, encoding: str) -> None:
    path, out = put_forms(tmp_path, "csv", ",", encoding), tmp_path / "out.csv"
    roles = ["--quasi", "rate,pay", "--confidential", "kept", "--keep-order"]
    run("microaggregate", path, "-k", 9, "--method", "mdav", *roles, "-o", out)
    assert set(column(out, "pay", encoding)) == {"1,0", "0,0", "7,25"}
    run("check", path, out, "-k", 9, *roles)
    blocked = run("check", path, path, "-k", 9, *roles, code=1).output
    assert "Blocked by 2 findings: known-k, joint-k." in blocked


@pytest.mark.parametrize(("ending", "decimal"), list(itertools.product(TEXT_FILES, ".,")))
def test_a_file_of_another_program_with_many_texts_for_one_number_is_blocked(
    tmp_path: Path, ending: str, decimal: str
) -> None:
    """The values alone keep k = 9: the text that a reader of text sees does not."""
    path = put_forms(tmp_path, ending, decimal)
    found = shoal.check(path, path, k=9, decimal=decimal, **FORM_ROLES)
    assert found["joint-k"].status == found["known-k"].status == "block"
    assert found["joint-k"].figure == 1
    frame, source = read_file(path, decimal=decimal)
    write_file(frame, tmp_path / f"one.{ending}", source, protected=["rate", "pay"])
    found = shoal.check(path, tmp_path / f"one.{ending}", k=9, decimal=decimal, **FORM_ROLES)
    assert found["joint-k"].status == "ok"


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav", "dta"])
def test_protected_labels_have_one_text_per_value(tmp_path: Path, ending: str) -> None:
    """Words that look equal are different words, and each of those that are left is in k records to every reader."""
    words = ["Zoë", unicodedata.normalize("NFD", "Zoë"), "A", "Α", "a", " A", "Ａ", "A\u00a0"]
    frame = pl.DataFrame({"town": words * 4, "sex": [1.0, 2.0] * 16, "age": [20 + i // 2 for i in range(32)]})
    labels = {"sex": {1.0: "man", 2.0: "woman"}}
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_value_labels=labels)
    read = shoal.read(tmp_path / "in.sav", nominal=["town", "sex"], unit=False)
    out = tmp_path / f"out.{ending}"
    with pytest.warns(match="cannot keep value labels") if ending not in ("sav", "dta") else contextlib.nullcontext():
        shoal.microaggregate(read, k=K, method="mdav").save(out, keep_order=True)
    assert_k(out, 32, ["town", "sex", "age"])
    assert {row[0] for _, rows in sights(out, ["town"]) for row in rows} <= set(words)


# -- one value, two forms ------------------------------------------------------------------------

TWO_FORMS: dict[str, list[Any]] = {
    "blank": ["A", "A "], "number": ["1.0", "1.00"], "day": ["2020-01-01", "2020-1-1"], "zero": [0.0, -0.0],
    "missing": [float("nan"), None],
}  # fmt: skip
PADDED = [("sav", "blank"), ("sav", "missing"), ("dta", "missing")]  # formats with one form only


def put_two_forms(path: Path, values: list[Any], y: list[float]) -> pl.DataFrame:
    """Twelve records of which every other one has the other form; as polars and pyreadstat write them."""
    frame = pl.DataFrame({"x": values * 6, "y": y, "z": ["p", "q", "r"] * 4})
    if path.suffix in (".sav", ".dta"):
        getattr(pyreadstat, f"write_{path.suffix[1:]}")(frame, str(path))
    elif path.suffix in (".parquet", ".arrow"):
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_ipc(path)
    else:
        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return frame


@pytest.mark.parametrize("what", TWO_FORMS)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "sav", "dta"])
def test_the_release_check_counts_on_what_readers_see(tmp_path: Path, ending: str, what: str) -> None:
    """Where a reader sees two forms of a protected value, the release of another program is blocked."""
    path = tmp_path / f"r.{ending}"
    frame = put_two_forms(path, TWO_FORMS[what], [2.5] * 12)
    original = frame.with_columns(x=pl.lit("A" if frame["x"].dtype == pl.String else 0.0))
    found = shoal.check(original, path, k=12, quasi=["x", "y"], confidential="z", unit=False)
    kinds = max(len(Counter(rows)) for _, rows in sights(path, ["x"]))
    assert found["joint-k"].figure == (12 if (ending, what) in PADDED else 6) <= 12 // kinds
    assert (found["joint-k"].status == "block") == ((ending, what) not in PADDED)


@pytest.mark.parametrize("what", ["zero", "missing"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "sav", "dta"])
def test_a_column_that_no_group_crosses_has_one_form_per_value(tmp_path: Path, ending: str, what: str) -> None:
    """It is unchanged but for its form: what is written is equal to every reader."""
    path, out = tmp_path / "in.parquet", tmp_path / f"out.{ending}"
    put_two_forms(path, TWO_FORMS[what], [2.5] * 6 + [3.5] * 6)
    roles = ["--quasi", "y", "--numeric", "y", "--confidential", "z", "--within", "x", "--keep-order"]
    run("microaggregate", path, "-k", 6, "--method", "mdav", *roles, "-o", out)
    assert_k(out, 12, ["x", "y"], k=6)


def test_a_nominal_column_may_have_a_negative_zero(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [-0.0, 1.0] * 6, "z": ["p", "q", "r"] * 4})
    read = shoal.read(frame, nominal="x", confidential="z", unit=False)
    out = shoal.microaggregate(read, k=6, method="mdav").save(tmp_path / "out.csv", keep_order=True)
    assert_k(out, 12, ["x"], k=6)


@pytest.mark.parametrize("what", ["zero", "missing"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sav", "dta"])
def test_a_protected_column_is_written_in_one_form(tmp_path: Path, ending: str, what: str) -> None:
    out = tmp_path / f"out.{ending}"
    write_file(pl.DataFrame({"x": TWO_FORMS[what] * 6, "y": [2.5] * 12}), out, protected=["x"])
    assert_k(out, 12, ["x", "y"], k=12)


# -- the readers themselves ----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "dta"])
def test_the_readers_see_a_difference(tmp_path: Path, ending: str) -> None:
    """What this page counts on: a file with two forms of one value is caught, whatever its format."""
    texts = ["1.0", "1.00", "1.0"]
    frame, path = pl.DataFrame({"rate": texts, "x": [1.0, 2.0, 3.0]}), tmp_path / f"r.{ending}"
    write_file(frame, path)
    delimiter = "\t" if ending == "tsv" else ","
    check_no_finer(path, frame, ["rate"], delimiter)
    with pytest.raises(AssertionError):
        check_no_finer(path, frame.with_columns(rate=1.0), ["rate"], delimiter)
    with pytest.raises(AssertionError):
        check_no_finer(path, frame.head(2), ["rate"], delimiter)


def test_every_saved_release_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fixture of all tests is at work: without the release check too, text that came in does not pass."""
    path = tmp_path / "in.csv"
    path.write_text("rate;kept\n" + "".join(f"{text};{i % 2}\n" for i, text in enumerate([*ONES, *SEVENS])))
    release = shoal.microaggregate(shoal.read(path, quasi="rate", confidential="kept", unit=False), k=9, method="mdav")
    release.save(tmp_path / "good.csv", keep_order=True)
    monkeypatch.setattr("shoal.sources.csv.FORMAT", replace(FORMAT, write=unprotected(write_text)))
    with pytest.raises(PromiseError, match="k is 1 instead of 9"):
        release.save(tmp_path / "bad.csv", keep_order=True)
    monkeypatch.setattr("shoal.gate.saving.stop_if_blocked", lambda *_: None)
    with pytest.raises(AssertionError, match="text"):
        release.save(tmp_path / "bad.csv", keep_order=True)


def unprotected(write: Any) -> Any:
    """The writer of text files, without the names of the protected columns."""
    return lambda frame, path, target, source, _protected: write(frame, path, target, source)


# -- what a reader takes for something else ------------------------------------------------------

ONE_COLUMN: dict[str, list[Any]] = {
    "number": [1.5, None, 2.5], "label": ["a", None, "b"], "blank": ["a", None, " "],
    "date": [dt.date(2020, 1, 1), None], "category": ["a", None, "b"],
}  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
@pytest.mark.parametrize("kind", ONE_COLUMN)
def test_no_record_of_a_single_protected_column_is_a_blank_line(tmp_path: Path, kind: str, ending: str) -> None:
    """Many programs skip blank lines, and lose the records with a missing value."""
    path, out = tmp_path / "in.parquet", tmp_path / f"out.{ending}"
    frame = pl.DataFrame({"x": ONE_COLUMN[kind] * 6})
    frame = frame.cast({"x": pl.Enum(["a", "b"])}) if kind == "category" else frame
    frame.write_parquet(path)
    run("microaggregate", path, "-k", 3, "--method", "mdav", "--nominal", "x", "--no-unit", "--keep-order", "-o", out)
    assert_k(out, frame.height, ["x"], delimiter="\t" if ending == "tsv" else ",")
    text = gzip.decompress(out.read_bytes()) if ending.endswith("gz") else out.read_bytes()
    assert b"\n\n" not in text


def test_the_readers_know_the_quote_and_the_columns(tmp_path: Path) -> None:
    """DuckDB takes an apostrophe for the quote, and 'x' for 'X', by default."""
    frame = pl.DataFrame({"X": [1, 2, 3, 4] * 3, "x": ["'", "a", "b,c", "'"] * 3})
    for ending in ("csv", "parquet", "arrow"):
        write_file(frame, tmp_path / f"out.{ending}")
        found = dict(sights(tmp_path / f"out.{ending}", ["x"]))
        assert {len(rows) for rows in found.values()} == {12}
        assert {rows[0] for rows in found.values()} == {("'",)}
