"""Odd frames and files: the input is unchanged, untouched columns are equal bit for bit, rows keep their order."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ShoalError
from shoal.sources.files import read_file, write_file
from shoal.table.roles import Roles
from shoal.table.table import Table

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6).filter(
    lambda name: not (name.startswith("^") and name.endswith("$"))  # refused: see the test of names
)
CELLS = {
    "int": st.none() | st.integers(-(2**63), 2**63 - 1),
    "float": st.none() | st.floats(allow_nan=True, allow_infinity=True),
    "text": st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
    "bool": st.none() | st.booleans(),
    "date": st.none() | st.dates(),
}


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    """A frame with a text column, a number column and any others."""
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(NAMES, min_size=3, max_size=6, unique=True))
    dtypes = {"int": pl.Int64, "float": pl.Float64, "text": pl.String, "bool": pl.Boolean, "date": pl.Date}
    kinds = ["text", "int", *(draw(st.sampled_from(list(CELLS))) for _ in names[2:])]
    columns = []
    for name, kind in zip(names, kinds, strict=True):
        cells = draw(st.lists(CELLS[kind], min_size=rows, max_size=rows))
        columns.append(pl.Series(name, cells, dtype=dtypes[kind]))
    frame = pl.DataFrame(columns)
    if draw(st.booleans()):
        frame = frame.with_columns(frame[names[0]].cast(pl.Categorical))  # pl.col may take a name for a pattern
    return frame


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    out = frame.to_pandas(use_pyarrow_extension_array=frame.height % 2 == 0)
    out.index = pd.Index([i // 2 for i in range(frame.height)][::-1], name="key")  # unsorted, with duplicates
    return out


def as_arrow(frame: pl.DataFrame) -> pa.Table:
    table = frame.to_arrow()
    return pa.concat_tables([table.slice(0, 1), table.slice(1)])  # more than one chunk


def same(one: Any, two: Any) -> bool:
    """Equal in type, values, missing cells, and for pandas in the index."""
    if isinstance(one, pl.DataFrame):
        return one.schema == two.schema and one.equals(two, null_equal=True)
    if isinstance(one, pa.Table):
        # By their text: NaN is not equal to itself in Arrow's own comparison.
        alike = bool(one.schema.equals(two.schema, check_metadata=True))
        return alike and repr(one.to_pylist()) == repr(two.to_pylist())
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    return True


def picked(frame: Any, names: list[str]) -> Any:
    if isinstance(frame, pl.DataFrame):
        return pl.DataFrame([frame.get_column(name) for name in names])
    return frame[names] if isinstance(frame, pd.DataFrame) else frame.select(names)


@settings(max_examples=60)
@given(
    frame=polars_frames(),
    convert=st.sampled_from([lambda f: f, as_pandas, as_arrow]),
    seed=st.integers(0, 99),
    role=st.sampled_from(["identifiers", "drop", "unit"]),
)
def test_only_the_new_columns_change(frame: pl.DataFrame, convert: Any, seed: int, role: str) -> None:
    names = frame.columns
    native, twin = convert(frame), convert(frame)
    removed: dict[str, Any] = {role: names[0]}
    table = Table(native, Roles(quasi=(names[1],), **removed))
    values = np.random.default_rng(seed).normal(size=frame.height) * 1e6
    out = table.protected({names[1]: values})
    assert same(native, twin), "the input is unchanged"
    assert type(out) is type(native)
    kept = names[2:]
    assert list(Table(out).columns) == names[1:]
    assert same(picked(out, kept), picked(native, kept)), "untouched columns are equal bit for bit"
    assert Table(out).numbers([names[1]], allow_constant=True)[:, 0].tolist() == values.tolist()
    rounded = table.protected({names[1]: values}, round_columns=[names[1]])
    assert Table(rounded).numbers([names[1]], allow_constant=True)[:, 0].tolist() == np.rint(values).tolist()


@settings(max_examples=60)
@given(frame=polars_frames(), convert=st.sampled_from([lambda f: f, as_pandas, as_arrow]))
def test_numbers_are_exact_or_refused(frame: pl.DataFrame, convert: Any) -> None:
    table = Table(convert(frame))
    for name in frame.columns:
        column = frame[name]
        try:
            found = table.numbers([name], allow_constant=True)[:, 0].tolist()
        except ShoalError as error:
            assert repr(name) in str(error)
            continue
        assert column.null_count() == 0
        if column.dtype.is_numeric():
            assert found == [float(v) for v in column]
            assert np.isfinite(found).all()


NUMERALS = ["", "0", "7", "007", "-1", "-0", "1.50", "1,5", "1.234,5", "1e5", " 3", "12345678901234567890"]
WORDS = ["NA", "nan", ".", "x", "é", '"', "a,b", "a;b", "l\nm"]


@settings(max_examples=150)
@given(
    header=st.lists(st.text("abcdefg", min_size=1, max_size=3), min_size=1, max_size=4, unique=True),
    body=st.data(),
    delimiter=st.sampled_from(",;\t|"),
    newline=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]),
)
def test_text_files_come_back(header: list[str], body: Any, delimiter: str, newline: str, encoding: str) -> None:
    cell = st.sampled_from(NUMERALS + WORDS) | st.text(
        st.characters(codec="cp1252", categories=("L", "N", "P", "S", "Zs")), max_size=6
    )
    rows = body.draw(st.lists(st.lists(cell, min_size=len(header), max_size=len(header)), min_size=1, max_size=6))
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=newline)
    writer.writerows([header, *rows])
    raw = buffer.getvalue().encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(raw)
        # Bytes of a cp1252 file that happen to be UTF-8 are read as such; the file comes back all the same.
        frame, source = read_file(path, delimiter=delimiter)
        assert frame.height == len(rows)
        write_file(frame, Path(folder) / "out.csv", source)
        written = (Path(folder) / "out.csv").read_bytes()
        back = list(csv.reader(io.StringIO(written.decode(encoding), newline=""), delimiter=delimiter))
    assert back == list(csv.reader(io.StringIO(buffer.getvalue(), newline=""), delimiter=delimiter))


@settings(max_examples=40)
@given(frame=polars_frames(), ending=st.sampled_from(["parquet", "arrow"]))
def test_column_files_come_back_bit_for_bit(frame: pl.DataFrame, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_file(frame, Path(folder) / f"x.{ending}")
        back, _ = read_file(Path(folder) / f"x.{ending}")
        assert same(back, frame)


@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(CELLS["text"], CELLS["text"]), min_size=1, max_size=6),
    ending=st.sampled_from(["csv", "tsv"]),
)
def test_text_of_frames_survives_text_files(rows: list[tuple[str | None, str | None]], ending: str) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
    with tempfile.TemporaryDirectory() as folder:
        write_file(frame, Path(folder) / f"x.{ending}")
        written = (Path(folder) / f"x.{ending}").read_bytes().decode()
    cells = list(csv.reader(io.StringIO(written, newline=""), delimiter="," if ending == "csv" else "\t"))
    assert cells == [["a", "b"], *[[cell or "" for cell in row] for row in rows]]


@pytest.mark.parametrize("convert", [lambda f: f, as_pandas, as_arrow])
def test_a_name_that_is_a_pattern_for_others_is_refused(convert: Any) -> None:
    for name in ("^x$", "^.*$", "^$"):
        with pytest.raises(InputError, match=re.escape(f"The column name {name!r} begins with ^ and ends with $")):
            Table(convert(pl.DataFrame({name: [1, 2], "x": [3, 4]})))
    for name in ("^x", "x$", "^", "$", "*", "[a]", "x*"):  # a column of exactly that name is meant
        table = Table(convert(pl.DataFrame({name: [1, 2], "xa": [3, 4]})), Roles(quasi=(name,)))
        assert table.roles.quasi == (name,) and table.numbers()[:, 0].tolist() == [1.0, 2.0]
