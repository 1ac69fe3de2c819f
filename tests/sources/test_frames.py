"""Frames of three libraries: the same kind comes back, with its types, index and order."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.errors import InputError, ShoalWarning, UsageError
from shoal.sources.files import read_file, write_file
from shoal.sources.reading import read
from shoal.table.roles import Roles
from shoal.table.table import Table

NEW = np.array([1.5, 1.5, 3.0])


def a_pandas_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": ["a", "b", "c"],
            "age": [1, 2, 3],
            "nullable": pd.array([1, 2, 3], dtype="Int64"),
            "arrow": pd.array([1, 2, 3], dtype="int64[pyarrow]"),
            "small": np.array([1, 2, 3], dtype=np.int8),
            "single": np.array([1, 2, 3], dtype=np.float32),
            "place": pd.Categorical(["x", "y", "x"], categories=["z", "y", "x"], ordered=True),
            "gaps": pd.array([None, 5, 7], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "when": pd.to_datetime(["2020-01-01", None, "2022-05-05"]),
            "mixed": [1, "x", None],
        },
        index=pd.Index([7, 7, 3], name="key"),
    )


def test_pandas_comes_back_with_index_and_types() -> None:
    frame = a_pandas_frame()
    before = frame.copy(deep=True)
    columns = ["age", "nullable", "arrow", "small", "single"]
    out = Table(frame, Roles(identifiers=("name",))).protected(dict.fromkeys(columns, NEW))
    pd.testing.assert_frame_equal(frame, before)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(frame.columns[1:])
    assert out.index.equals(frame.index)
    assert out.index.name == "key"
    types = [str(out[c].dtype) for c in columns]
    assert types == ["float64", "Float64", "double[pyarrow]", "float64", "float64"]
    assert all(out[c].tolist() == NEW.tolist() for c in columns)
    for c in ("place", "gaps", "flag", "when", "mixed"):
        pd.testing.assert_series_equal(out[c], frame[c])
    out.loc[3, "gaps"] = 0  # what is done to the release is not done to the data
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_integers_stay_when_rounded() -> None:
    frame = a_pandas_frame()
    columns = ["age", "nullable", "arrow", "small"]
    out = Table(frame).protected(dict.fromkeys(columns, NEW), round_columns=columns)
    assert [out[c].dtype for c in columns] == [frame[c].dtype for c in columns]
    assert all(out[c].tolist() == [2, 2, 3] for c in columns)


def test_polars_comes_back_with_types() -> None:
    frame = pl.DataFrame(
        {
            "age": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "level": pl.Series(["lo", "hi", "lo"], dtype=pl.Enum(["lo", "hi"])),
            "place": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "price": pl.Series([Decimal("1.50"), None, Decimal("2.25")]),
            "tags": [[1], [2, 3], None],
            "when": [dt.date(2020, 1, 1), None, dt.date(1900, 1, 1)],
        }
    )
    before = frame.clone()
    table = Table(frame, Roles(quasi=("age", "price")))
    out = table.protected({"age": NEW})
    assert frame.equals(before)
    assert isinstance(out, pl.DataFrame)
    assert out.schema == frame.schema | {"age": pl.Float64}
    assert out.drop("age").equals(frame.drop("age"))
    assert table.protected({"age": NEW}, round_columns=["age"]).schema == frame.schema
    assert table.numbers(["age", "price"], missing="keep")[:, 1].tolist()[0] == 1.5
    assert table.kinds == {
        "age": "number", "level": "category", "place": "category", "price": "number", "tags": "other", "when": "date",
    }  # fmt: skip


def test_pyarrow_comes_back_with_types_and_without_metadata() -> None:
    frame = pa.table(
        {
            "age": pa.chunked_array([[1, 2], [3]], type=pa.int16()),
            "place": pa.array(["x", "y", "x"]).dictionary_encode(),
            "note": pa.array(["a", None, "c"], type=pa.large_string()),
        },
        metadata={"made": "by hand"},
    )
    out = Table(frame).protected({"age": NEW})
    assert isinstance(out, pa.Table)
    assert out.schema.names == ["age", "place", "note"]
    assert out.schema.field("age").type == pa.float64()
    assert out.schema.metadata is None, "they may tell of the original"
    assert out.select(["place", "note"]).equals(frame.select(["place", "note"]))
    rounded = Table(frame).protected({"age": NEW}, round_columns=["age"])
    assert rounded.schema.equals(frame.schema, check_metadata=False)
    assert frame.schema.metadata == {b"made": b"by hand"}
    assert rounded["age"].to_pylist() == [2, 2, 3]
    assert frame["age"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_gives_the_same_numbers(make: Any) -> None:
    frame = make({"a": [1, 2, 3], "b": [1.5, float("nan"), 2.5], "c": ["1", " 2.5", "-3e2"]})
    table = Table(frame)
    assert table.frame is frame
    assert table.numbers(["a", "c"]).tolist() == [[1.0, 1.0], [2.0, 2.5], [3.0, -300.0]]
    with pytest.raises(InputError, match="'b' has 1 missing value, the first in row 2"):
        table.numbers(["a", "b"])
    values = table.numbers(["b"], missing="keep")[:, 0]
    assert np.isnan(values[1])
    assert values.flags.writeable
    with pytest.warns(ShoalWarning, match=r"replaced by the median of the column: b \(1 cell: 2\)"):
        filled = table.with_missing("median", ["b"])
    assert type(filled.frame) is type(table.frame)
    assert filled.numbers(["b"])[:, 0].tolist() == [1.5, 2.0, 2.5]
    with pytest.warns(ShoalWarning, match="1 of 3 rows was dropped"):
        fewer = table.with_missing("drop", ["b"])
    assert type(fewer.frame) is type(table.frame)
    assert fewer.numbers(["a"])[:, 0].tolist() == [1.0, 3.0]
    assert table.with_missing("drop", ["a"]) is table


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_new_text_takes_a_columns_place(make: Any) -> None:
    table = Table(make({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    out = table.protected({"a": np.array(["1-2", "1-2", "3"]), "b": np.array(["u", None, "v"], dtype=object)})
    back = Table(out)
    assert back.kinds == {"a": "text", "b": "text"}
    assert [c.missing for c in back.describe()] == [0, 1]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_every_kind_is_written(make: Any, ending: str, tmp_path: Path) -> None:
    frame = make({"a": [1, 2, 3], "b": [1.5, None, 2.5], "c": ["x", None, "z"]})
    write_file(frame, tmp_path / f"out.{ending}")
    back, _ = read_file(tmp_path / f"out.{ending}")
    assert back.to_dict(as_series=False) == {"a": [1, 2, 3], "b": [1.5, None, 2.5], "c": ["x", None, "z"]}


@pytest.mark.parametrize("ending", ["parquet", "pq", "arrow", "feather", "ipc"])
def test_column_files_keep_types(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "age": pl.Series([1, 2, None], dtype=pl.Int16),
            "level": pl.Series(["lo", "hi", "lo"], dtype=pl.Enum(["lo", "hi"])),
            "rate": pl.Series([0.1, float("nan"), None], dtype=pl.Float32),
            "when": [dt.datetime(2020, 1, 1, 12), None, dt.datetime(1900, 1, 1)],
            "tags": [["a"], [], None],
        }
    )
    write_file(frame, tmp_path / f"x.{ending}")
    table = read(tmp_path / f"x.{ending}")
    assert table.frame.equals(frame)
    assert table.frame.schema == frame.schema


def test_other_writers_column_files(tmp_path: Path) -> None:
    import pyarrow.feather
    import pyarrow.parquet

    frame = pd.DataFrame({"a": [1, 2], "c": pd.Categorical(["x", "y"])}, index=[5, 9])
    frame.to_parquet(tmp_path / "x.parquet")
    with pytest.warns(ShoalWarning, match="Shoal does not use the index that pandas stored in x.parquet"):
        assert read(tmp_path / "x.parquet").columns == ["a", "c"]
    table = pa.table({"a": [1, 2], "c": pa.array(["x", "y"]).dictionary_encode()})
    pyarrow.feather.write_feather(table, tmp_path / "x.feather", compression="lz4")
    assert read(tmp_path / "x.feather").frame["c"].to_list() == ["x", "y"]
    with pa.ipc.new_stream(tmp_path / "x.arrow", table.schema) as stream:
        stream.write_table(table)
    assert read(tmp_path / "x.arrow").frame["a"].to_list() == [1, 2]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_broken_column_files_are_reported(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(b"no such thing" * 20)
    with pytest.raises(InputError, match=f"Cannot read .*x.{ending} as {ending}"):
        read(path)
    pl.DataFrame({"a": list(range(1000))}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="Cannot read"):
        read(path)
    with pytest.raises(UsageError, match="delimiter=';' has no effect: only text files"):
        read(path, delimiter=";")
    with pytest.raises(UsageError, match=f"encoding='utf-8' has no effect: .{ending} files do not use it"):
        read(path, encoding="utf-8")


@pytest.mark.parametrize(
    ("frame", "error", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), InputError, "have the name 'a': columns 1, 2"),
        (
            pa.table([[1], [2], [3], [4]], names=["a", "b", "a", "b"]),
            InputError,
            "'a': columns 1, 3. The same is true of 1 other name",
        ),
        (pd.DataFrame([[1, 2]]), InputError, "must be text, not 0"),
        (pl.DataFrame({"a": []}), InputError, "no rows, only the columns a"),
        (pd.DataFrame(index=[1, 2]), InputError, "no columns"),
        (pl.LazyFrame({"a": [1]}), UsageError, "collect"),
        (np.zeros((3, 2)), UsageError, "not numpy.ndarray"),
        ([1, 2], UsageError, "not builtins.list"),
        (pd.Series([1, 2]), UsageError, "not pandas"),
        (None, UsageError, "not builtins.NoneType"),
    ],
)
def test_what_is_not_a_table_is_reported(frame: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read(frame)


def test_options_for_text_files_are_refused_for_frames() -> None:
    with pytest.raises(UsageError, match="decimal=',' applies to text files"):
        read(pl.DataFrame({"a": [1]}), decimal=",")
