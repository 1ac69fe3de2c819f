"""Text files: what is found in them, and that untouched cells go back as they were."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from command_line import run
from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.sources.files import read_file, write_file
from shoal.sources.reading import read


def put(folder: Path, text: str | bytes, name: str = "in.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


def copied(path: Path, name: str = "out.csv") -> bytes:
    """The file read and written again with nothing touched."""
    frame, source = read_file(path)
    write_file(frame, path.with_name(name), source)
    return path.with_name(name).read_bytes()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_delimiter_and_encoding_are_found_and_kept(tmp_path: Path, delimiter: str, encoding: str, newline: str) -> None:
    rows = [["name", "zip", "rate", "age"], ["Zoë", "007", "1.50", "31"], ["Ann Ö.", "120", "2", ""]]
    text = "".join(delimiter.join(row) + newline for row in rows)
    path = put(tmp_path, text, encoding=encoding)
    frame, source = read_file(path)
    assert source.dialect is not None
    assert source.dialect.delimiter == delimiter
    assert frame["name"].to_list() == ["Zoë", "Ann Ö."]
    assert frame["zip"].to_list() == ["007", "120"]
    assert frame["rate"].to_list() == [1.5, 2.0]
    assert frame["age"].to_list() == [31, None]
    assert frame["age"].dtype == pl.Int64
    assert copied(path) == path.read_bytes()


def test_latin_1_bytes_that_cp1252_lacks(tmp_path: Path) -> None:
    path = put(tmp_path, b"a,b\n\xe9\x81,1\nx,2\n")
    frame, source = read_file(path)
    assert source.dialect is not None
    assert source.dialect.encoding == "latin-1"
    assert frame["a"][0] == "é\x81"
    assert copied(path) == path.read_bytes()


def test_an_encoding_given_is_used(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\nŁódź,1\nx,2\n", encoding="cp1250")
    frame, source = read_file(path, encoding="cp1250")
    assert frame["a"][0] == "Łódź"
    write_file(frame, tmp_path / "out.csv", source)
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("given", [None, ","])
def test_decimal_comma(tmp_path: Path, given: str | None) -> None:
    path = put(tmp_path, "rate;sum;date;n\n1,5;1.234,50;01.02.2020;1\n-2,25;12;03.04.2021;2\n;7;x;3\n")
    table = read(path, decimal=given)
    assert table.frame["rate"].to_list() == [1.5, -2.25, None]
    assert table.frame["sum"].to_list() == [1234.5, 12.0, 7.0]
    assert table.frame["date"].to_list() == ["01.02.2020", "03.04.2021", "x"]
    assert copied(path) == path.read_bytes()
    new = table.protected({"n": np.array([1.5, 2.25, 1e20])})
    write_file(new, tmp_path / "new.csv", table.source)
    lines = (tmp_path / "new.csv").read_text().split()
    assert lines == ["rate;sum;date;n", "1,5;1.234,50;01.02.2020;1,5", "-2,25;12;03.04.2021;2,25", ";7;x;1e+20"]
    assert read(tmp_path / "new.csv").frame["n"].to_list() == [1.5, 2.25, 1e20]


def test_points_win_where_commas_are_text(tmp_path: Path) -> None:
    frame, source = read_file(put(tmp_path, "a;b;c\n1.5;x,y;0.25\n2.5;1,2;3.125\n"))
    assert source.dialect is not None
    assert source.dialect.decimal == "."
    assert frame["a"].dtype == pl.Float64
    assert frame["b"].dtype == pl.String


def test_thousands_alone_are_read_by_the_files_decimal_sign(tmp_path: Path) -> None:
    frame, _ = read_file(put(tmp_path, "a;b\n1.234;0,5\n5.678;1,5\n"))
    assert frame["a"].to_list() == [1234, 5678]


def test_one_column_with_decimal_commas(tmp_path: Path) -> None:
    frame, _ = read_file(put(tmp_path, "rate\n1,5\n2,5\n,5\n-,25\n"))
    assert frame["rate"].to_list() == [1.5, 2.5, 0.5, -0.25]
    assert copied(tmp_path / "in.csv") == (tmp_path / "in.csv").read_bytes()


def test_one_column_keeps_missing_records_at_the_end(tmp_path: Path) -> None:
    path = put(tmp_path, "rate\n1.50\n\n2\n\n")
    frame, _ = read_file(path)
    assert frame["rate"].to_list() == [1.5, None, 2.0, None]
    assert copied(path) == path.read_bytes()


def test_one_column_keeps_empty_texts_apart_from_missing_ones(tmp_path: Path) -> None:
    path = put(tmp_path, 'note\nx\n\n""\n" "\n"say ""hi"""\n')
    assert read_file(path)[0]["note"].to_list() == ["x", None, "", " ", 'say "hi"']
    assert copied(path) == path.read_bytes()


def test_one_column_with_carriage_returns(tmp_path: Path) -> None:
    path = put(tmp_path, "rate\r\n1.50\r\n\r\n2\r\n")
    assert read_file(path)[0]["rate"].to_list() == [1.5, None, 2.0]
    assert copied(path) == path.read_bytes()


def test_old_mac_lines(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\r1,2\r3,4\r")
    assert read_file(path)[0].to_dict(as_series=False) == {"a": [1, 3], "b": [2, 4]}
    assert copied(path) == path.read_bytes()


def test_quoted_content_comes_back(tmp_path: Path) -> None:
    path = put(tmp_path, 'id,"a, b",text\n1,2,"line one\nline ""two"", end"\n3,,""\n4,5,\n')
    frame, _ = read_file(path)
    assert frame.columns == ["id", "a, b", "text"]
    assert frame["text"].to_list() == ['line one\nline "two", end', "", None]
    assert copied(path) == path.read_bytes()


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["007", "12"], pl.String),
        (["+0", "-12"], pl.Int64),
        (["00.5", "1"], pl.String),
        (["0.5", "1"], pl.Float64),
        (["12345678901234567890", "1"], pl.String),
        (["12345678901234567890", "1.5"], pl.Float64),
        (["1e5", ".5"], pl.Float64),
        ([" 5", "6 "], pl.Int64),
        (["1_000", "2"], pl.String),
        (["1,5", "2"], pl.String),
        (["2020-01-01", "2021-01-01"], pl.Date),
        (["2020-1-1", "2021-01-01"], pl.String),
        (["2020-01-01", "2021-02-29"], pl.String),
        (["01.02.2020", "02.02.2020"], pl.String),
        (["true", "false"], pl.String),
        (["-999", "5"], pl.Int64),
        (["", ""], pl.String),
        (["NA", "NA"], pl.String),
    ],
)
def test_types_lose_nothing(tmp_path: Path, cells: list[str], dtype: pl.DataType) -> None:
    quoted = [f'"{c}"' if "," in c else c for c in cells]
    path = put(tmp_path, f"x,y\n{quoted[0]},1\n{quoted[1]},2\n")
    assert read_file(path)[0]["x"].dtype == dtype
    assert copied(path) == path.read_bytes()


def test_minus_999_is_a_number(tmp_path: Path) -> None:
    table = read(put(tmp_path, "x,y\n-999,1\n5,2\n"))
    assert table.numbers().tolist() == [[-999.0, 1.0], [5.0, 2.0]]


@pytest.mark.parametrize("mark", ["NA", "N/A", "NaN", "nan", "null", ".", "?"])
def test_marks_are_missing_among_numbers_and_text_among_text(tmp_path: Path, mark: str) -> None:
    path = put(tmp_path, f"x,y,z\n1.0,{mark},a\n{mark},7,{mark}\n3.50,8,b\n")
    with pytest.warns(ShoalWarning, match=r"in columns of numbers of in.csv were read as missing: x \(.*\), y \("):
        table = read(path)
    assert table.frame["x"].to_list() == [1.0, None, 3.5]
    assert table.frame["y"].to_list() == [None, 7, 8]
    assert table.frame["z"].to_list() == ["a", mark, "b"]
    with pytest.raises(InputError, match=r"The column 'x' has 1 missing value .*written .*first in row 2"):
        table.numbers(["x"])
    with pytest.warns(ShoalWarning):
        assert copied(path) == path.read_bytes()


@pytest.mark.parametrize(("one", "two"), [("1,5", "2,5"), ("1.5", "2.5")])
def test_a_slip_among_numbers_is_named_itself(tmp_path: Path, one: str, two: str) -> None:
    """Not the decimal comma or the mark of a missing value before it."""
    table = read(put(tmp_path, f"x;y\n{one};a\nNA;b\n{two};c\n{two};d\nlots;e\n"), quasi="x")
    with pytest.raises(InputError, match=r"The column 'x' has text where a number is needed: 'lots' in row 5 \(1 such"):
        table.numbers()
    with pytest.raises(UsageError, match=r"'x' has text where a number is needed: 'lots' in row 5"):
        read(tmp_path / "in.csv").quasi_columns(numbers_only=True)


def test_codes_with_zeros_are_numbers_when_named(tmp_path: Path) -> None:
    table = read(put(tmp_path, "age,x\n05,1\n17,2\n"))
    assert table.kinds["age"] == "text"
    assert table.numbers(["age"])[:, 0].tolist() == [5.0, 17.0]


def test_untouched_text_is_kept_beside_protected_numbers(tmp_path: Path) -> None:
    table = read(put(tmp_path, "who,code,rate,age\nAnn,007,1.50,30\nBob,010,2.00,40\n"), identifiers="who")
    new = table.protected({"age": np.array([35.1, 35.1])})
    write_file(new, tmp_path / "new.csv", table.source)
    assert (tmp_path / "new.csv").read_text() == "code,rate,age\n007,1.50,35.1\n010,2.00,35.1\n"


def test_protected_columns_are_written_in_one_form(tmp_path: Path) -> None:
    """Records with equal values must not differ by the text that came in."""
    text = "rate,pay,kept\n1.0,+7,1.0\n1.00,7,1.00\n1, 7,1\n"
    frame, source = read_file(put(tmp_path, text))
    write_file(frame, tmp_path / "out.csv", source)
    assert (tmp_path / "out.csv").read_text() == text
    write_file(frame, tmp_path / "out.csv", source, protected=["rate", "pay"])
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len({tuple(row[:2]) for row in rows}) == 1
    assert [row[2] for row in rows] == ["1.0", "1.00", "1"]


def test_dates_in_iso_form_are_dates(tmp_path: Path) -> None:
    table = read(put(tmp_path, "iso,gap,mixed\n2020-01-31,2020-02-01,2020-01-01\n2021-12-01,,x\n"))
    assert table.kinds == {"iso": "date", "gap": "date", "mixed": "text"}
    assert table.frame["gap"].to_list() == [dt.date(2020, 2, 1), None]
    assert copied(tmp_path / "in.csv") == (tmp_path / "in.csv").read_bytes()


def test_dropped_rows_keep_the_text_of_the_others(tmp_path: Path) -> None:
    table = read(put(tmp_path, "rate,age\n1.50,30\n2.50,\n3.50,40\n"))
    with pytest.warns(ShoalWarning, match="1 of 3 rows was dropped"):
        fewer = table.with_missing("drop", ["age"])
    write_file(fewer.protected({"age": np.array([35.5, 35.5])}), tmp_path / "new.csv", fewer.source)
    assert (tmp_path / "new.csv").read_text() == "rate,age\n1.50,35.5\n3.50,35.5\n"


def test_protected_numbers_read_back_exactly(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-300, 300, 500)
    path = put(tmp_path, "x,y\n" + "".join(f"{i},{i}\n" for i in range(500)))
    table = read(path)
    write_file(table.protected({"x": values}), tmp_path / "new.csv", table.source)
    assert read(tmp_path / "new.csv").numbers(["x"])[:, 0].tolist() == values.tolist()


def test_packed_files(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1.50,x\n2.5,y\n"))
    assert read_file(path)[0]["a"].to_list() == [1.5, 2.5]
    assert gzip.decompress(copied(path, "out.csv.gz")) == b"a,b\n1.50,x\n2.5,y\n"
    assert copied(path, "one.csv.gz") == copied(path, "two.csv.gz")
    assert copied(path, "out.csv") == b"a,b\n1.50,x\n2.5,y\n"
    path.write_bytes(gzip.compress(b"a,b\n1,x\n" * 50)[:-9])
    with pytest.raises(InputError, match="Cannot unpack the file"):
        read_file(path)


def test_the_endings_delimiter(tmp_path: Path) -> None:
    path = put(tmp_path, "a;b\n1,5;x\n2,5;y\n")
    assert copied(path, "out.tsv") == b"a\tb\n1,5\tx\n2,5\ty\n"
    write_file(pl.DataFrame({"a": [1], "b": [2]}), tmp_path / "plain.tsv")
    assert (tmp_path / "plain.tsv").read_text() == "a\tb\n1\t2\n"
    assert read_file(put(tmp_path, "a\n1\n", "one.tsv"))[0].columns == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n4,5\n", "Line 3 of .* has 1 cell, but the first line has 2"),
        ("a,b\n1,2\n3,4,5\n", "Line 3 of .* has 3 cells, but the first line has 2"),
        ("a,b\n1,2\n\n4,5\n", "Line 3 of .* is empty"),
        ('a,b\n1,"x\ny"\n3\n', "Line 4 of .* has 1 cell,"),
        ('a,b\n1,"x\n3,4\n', "The last quote .* in line 2, is opened but never closed"),
        ("a,b,a\n1,2,3\n", "Several columns have the name 'a': columns 1, 3"),
        ("a,,c\n1,2,3\n", "Column 2 of .* has no name"),
        (",b\n1,2\n", "Column 1 of .* has no name .*row.names = FALSE"),
        ("a,b,\n1,2,\n", "Column 3 of .* has no name .*remove the delimiter at the end"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "has no records, only the columns a, b"),
        (b"a,b\n1,\x00\x01\n", "is not text: it has zero bytes"),
        (bytes(range(1, 256)), "is not text: it begins with .* control characters"),
        (b"PK\x03\x04rest", "a ZIP archive or Excel workbook"),
    ],
)
def test_broken_files_are_reported(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_file(put(tmp_path, text))


def test_ragged_lines_are_found_in_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.sources.csv._CHUNK", 64)
    good = "a,b\n" + '1,"x, ""\n"\n' * 40
    assert read_file(put(tmp_path, good))[0].height == 40
    with pytest.raises(InputError, match=r"Line 82 of .* has 3 cells"):
        read_file(put(tmp_path, good + "1,2,3\n" + "1,2\n" * 40))


def test_a_first_line_of_numbers_is_warned_of(tmp_path: Path) -> None:
    with pytest.warns(ShoalWarning, match="has only numbers"):
        read_file(put(tmp_path, "1,2.5\n3,4\n"))


# -- cells that programs read in different ways --------------------------------------------------

RETURN = "Line 3 of .* has a carriage return outside quotes"
QUOTE = 'Line 3 of .* has a quote ."'
ENDS = "Line 3 of .* ends in a carriage return and a line feed, unlike most lines"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x\r,1\n", RETURN),
        ("a\rb,1\n", RETURN),
        ("\r,1\n", RETURN),
        ("1,x\r\n", ENDS),
        ("1,x\r\r\n", RETURN),
        ('"a"b"a",1\n', QUOTE),
        ('1,"a"b"a"\n', QUOTE),
        ('""x"",1\n', QUOTE),
        ('"a" "b",1\n', QUOTE),
        ('"x,5"y"5",1\n', QUOTE),
        ('a"b,c"d\n', "Line 3 of .*|line 3 of .*"),
        ('1,x"\r"\n', "Line 3 of .*"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_cells_that_programs_read_in_different_ways_are_refused(
    tmp_path: Path, line: str, message: str, packed: bool
) -> None:
    text = f"a,b\ny,2\n{line}y,2\n".encode()
    path = put(tmp_path, gzip.compress(text), "in.csv.gz") if packed else put(tmp_path, text)
    with pytest.raises(InputError, match=message):
        read_file(path)
    refused = run("microaggregate", path, "-k", 2, "-o", tmp_path / "out.csv", code=2).output
    assert "ine 3 of" in refused
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("cell", ["x\r", "\r", "a\rb", "a\r\nb", "a\nb", '"', '""', '5"x5"', 'say "yes"', "x\n", "a,b"])
def test_cells_in_quotes_come_back_bit_for_bit(tmp_path: Path, newline: str, cell: str) -> None:
    quoted = '"' + cell.replace('"', '""') + '"'
    lines = ["note,age", f"{quoted},{{}}", "x,{}", f"{quoted},{{}}", ""]
    path = put(tmp_path, newline.join(lines).format(1, 2, 3))
    assert read_file(path)[0]["note"].to_list() == [cell, "x", cell]
    assert copied(path) == path.read_bytes()
    out = tmp_path / "release.csv"
    run("microaggregate", path, "-k", 3, "--quasi", "age", "--confidential", "note", "--keep-order", "-o", out)
    assert read_file(out)[0]["note"].to_list() == [cell, "x", cell]
    assert out.read_bytes() == newline.join(lines).format(2.0, 2.0, 2.0).encode()


def test_pairs_of_quotes_within_a_bare_cell_are_text(tmp_path: Path) -> None:
    frame, source = read_file(put(tmp_path, 'size,n\n5"x5",1\n2""3,2\n "a" ,3\n'))
    assert frame["size"].to_list() == ['5"x5"', '2""3', ' "a" ']
    write_file(frame, tmp_path / "out.csv", source)
    assert read_file(tmp_path / "out.csv")[0].equals(frame)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.lists(st.text('ab",\r\n5 ', max_size=4), min_size=2, max_size=2), min_size=1, max_size=3),
    quoted=st.lists(st.booleans(), min_size=6, max_size=6),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_text_is_read_as_by_python_or_refused(
    tmp_path: Path, cells: list[list[str]], quoted: list[bool], newline: str
) -> None:
    """Python's own reader is strict about quotes: what Shoal accepts means the same to both."""
    quote = iter(quoted)
    lines = [",".join('"' + cell.replace('"', '""') + '"' if next(quote) else cell for cell in row) for row in cells]
    path = put(tmp_path, newline.join(["p,q", *lines, ""]))
    try:
        frame, source = read_file(path, delimiter=",", decimal=".")
    except InputError:
        return
    expected = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True))[1:]
    while not expected[-1]:
        expected.pop()
    text = [source.cells.get(name, frame[name].cast(pl.String)) for name in frame.columns]
    assert [list(row) for row in zip(*(column.fill_null("").to_list() for column in text), strict=True)] == expected
    write_file(frame, tmp_path / "out.csv", source)
    assert read_file(tmp_path / "out.csv", delimiter=",", decimal=".")[0].equals(frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("note,age\nx\r,1\ny,2\n", "carriage return outside quotes"),
        ('note,age\n"a"b"a",1\ny,2\n', "Record 2 .* has a quote inside a quoted cell that is not doubled"),
        ('note,age\n"a,1\ny,2\n', "cannot be read|quote"),
    ],
)
def test_the_release_check_refuses_such_cells_too(tmp_path: Path, text: str, message: str) -> None:
    original = put(tmp_path, "note,age\nx,1\ny,2\n", "original.csv")
    path = put(tmp_path, text, "release.csv")
    with pytest.raises(InputError, match=message):
        shoal.check(original, path, quasi="age", confidential="note")
    run("check", original, path, "--quasi", "age", "--confidential", "note", code=2)


def test_the_release_check_finds_lines_with_other_ends(tmp_path: Path) -> None:
    """Some records could be marked by how their lines end."""
    original = put(tmp_path, "note,age\nx,1\ny,1\n", "original.csv")
    path = put(tmp_path, "note,age\nx,1\r\ny,1\n", "release.csv")
    assert "two kinds of line ends" in shoal.check(original, path, quasi="age", confidential="note")["traces"].finding
    path.write_bytes(b"note,age\r\nx,1\r\ny,1\r\n")
    assert "line ends" not in shoal.check(original, path, quasi="age", confidential="note")["traces"].finding


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("given", [False, True])
def test_zero_bytes_are_refused_with_their_line(tmp_path: Path, encoding: str, given: bool) -> None:
    path = put(tmp_path, "note,age\ny,1\nx\0z,2\nLudwig van B.,3\n", encoding=encoding)
    with pytest.raises(InputError, match="zero bytes, the first in line 3"):
        read_file(path, encoding=encoding if given else None)
    original = put(tmp_path, "note,age\ny,1\nxz,2\nLudwig van B.,3\n", "original.csv", encoding)
    with pytest.raises(InputError, match="zero byte in line 3"):
        shoal.check(original, path, quasi="age", encoding=encoding if given else None)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "sav", "dta", "xpt"])
def test_text_with_a_zero_byte_is_written_by_no_format_that_ends_it_there(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2] * 3, "note": ["a", "b", "x\0y", "d"] * 3})
    frame.write_parquet(tmp_path / "in.parquet")
    out = tmp_path / f"out.{ending}"
    roles = ["--quasi", "age", "--confidential", "note", "-o", out]
    refused = run("microaggregate", tmp_path / "in.parquet", "-k", 3, "--method", "mdav", *roles, code=2).output
    assert "The column 'note' has a zero byte in row 3" in " ".join(refused.split())
    assert not out.exists()
    roles[-1] = tmp_path / "out.parquet"
    run("microaggregate", tmp_path / "in.parquet", "-k", 3, "--method", "mdav", *roles)
    assert pl.read_parquet(tmp_path / "out.parquet")["note"].to_list() == frame["note"].to_list()


def test_long_cells_are_kept_and_checked(tmp_path: Path) -> None:
    """Python's csv module stops at 131,072 characters by default."""
    long = 'say "' + "x" * 200_000
    rows = [["note", "a;b", "age"], *([long, "5", str(i // 3)] for i in range(9))]
    file = io.StringIO()
    csv.writer(file, delimiter=";", lineterminator="\n").writerows(rows)
    path, out = put(tmp_path, file.getvalue()), tmp_path / "out.csv"
    limit = csv.field_size_limit()
    run("microaggregate", path, "-k", 3, "--method", "mdav", "--quasi", "age", "--as-is", "note,a;b", "-o", out)
    assert read_file(out)[0]["note"].to_list() == [long] * 9
    run("check", path, out, "-k", 3, "--quasi", "age", "--as-is", "note,a;b")
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("name", ["rot13", "base64", "hex", "undefined", "no such", ""])
def test_encodings_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, "a,b\n1,2\n")
    with pytest.raises(UsageError, match="Unknown encoding"):
        read_file(path, encoding=name)
    run("microaggregate", path, "-k", 2, "--encoding", name, code=2)


@pytest.mark.parametrize("name", ["idna", "IDNA", "punycode", "unicode_escape", "raw-unicode-escape"])
def test_encodings_that_no_file_has_are_refused(tmp_path: Path, name: str) -> None:
    path = put(tmp_path, "a,b\n1,2\n")
    with pytest.raises(UsageError, match=f"'{name}' is not an encoding of text files: .* Use utf-8"):
        read_file(path, encoding=name)
    run("look", path, "--encoding", name, code=2)


def test_options_are_checked(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n1,2\n")
    with pytest.raises(UsageError, match="one character"):
        read_file(path, delimiter="ab")
    with pytest.raises(UsageError, match=r"decimal must be '.' or ','"):
        read_file(path, decimal="_")
    with pytest.raises(UsageError, match="Unknown encoding 'utf-99'"):
        read_file(path, encoding="utf-99")
    with pytest.raises(InputError, match=r"Line 2 of .* is not in the encoding utf-8"):
        read_file(put(tmp_path, b"a,b\n\xff,2\n"), encoding="utf-8")
    assert read_file(put(tmp_path, "a:b\n1:2\n"), delimiter=":")[0].columns == ["a", "b"]
    assert read_file(put(tmp_path, "a\tb\n1\t2\n"), delimiter="tab")[0].columns == ["a", "b"]


def test_what_an_encoding_lacks_is_reported(tmp_path: Path) -> None:
    frame, source = read_file(put(tmp_path, b"a,b\n\xe9,1\n"))
    with pytest.raises(InputError, match="'ł' cannot be written in the encoding of the input, cp1252"):
        write_file(frame.with_columns(a=pl.lit("ł")), tmp_path / "out.csv", source)
    assert not (tmp_path / "out.csv").exists()


def test_nested_columns_are_not_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'a' .* cannot be written as text. Write a .parquet file"):
        write_file(pl.DataFrame({"a": [[1, 2]]}), tmp_path / "out.csv")


@pytest.mark.parametrize("name", ["census", "eia", "water", "adult"])
def test_benchmark_files_come_back_byte_for_byte(shared_data: Path, tmp_path: Path, name: str) -> None:
    frame, source = read_file(shared_data / f"{name}.csv")
    write_file(frame, tmp_path / "out.csv", source)
    assert (tmp_path / "out.csv").read_bytes() == (shared_data / f"{name}.csv").read_bytes()


def test_one_column_of_a_tsv_file_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "one.tsv"
    path.write_text("a,b\n1\n2\n")
    assert read(path).columns == ["a,b"]
    path.write_text("a,b\n1,2\n")
    assert read(path).columns == ["a", "b"]
    path.write_text("a,b\tc\nx\t0,5\ny\t1,5\n")
    assert read(path).columns == ["a,b", "c"]


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_a_blank_cell_of_a_single_column_is_not_a_blank_line(blank: str, tmp_path: Path) -> None:
    """Programs that skip blank lines would lose the record."""
    path, out = tmp_path / "one.csv", tmp_path / "out.csv"
    path.write_text('"a"\n' + "".join(f'"{cell}"\n' for cell in ["x", blank, "y", blank, "x", "y"]))
    shoal.microaggregate(shoal.read(path, quasi=["a"], nominal=["a"]), 2, method="mdav").save(out)
    assert all(line.strip() for line in out.read_text().removesuffix("\n").split("\n"))
