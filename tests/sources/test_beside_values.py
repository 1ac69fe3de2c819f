"""What a file says beside its values: value labels, categories, metadata, a header of gzip. A release has none of the
original's: only the names of the columns and the labels of values that records still have. The release check finds the
rest in files of other programs.
"""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

import shoal
from command_line import run
from shoal.errors import InputError, ShoalWarning
from shoal.gate import metadata
from shoal.gate.reading import read_written, written_of
from shoal.sources.files import read_file, write_file

K = 5
RARE = "Smallville"  # the town of one record: no group gets it
TOWNS = ["Northam", "Southam", "Eastham", RARE]
STEPS = ["low", "middle", "high", RARE]


def records() -> dict[str, Any]:
    """Sixty records; one of them has a town and a step of its own."""
    rng = np.random.default_rng(3)
    towns, steps = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    towns[7], steps[9] = 3, 3
    return {"town": towns, "step": steps, "age": rng.integers(18, 90, 60), "kept": rng.integers(0, 4, 60)}


def words() -> pl.DataFrame:
    found = records()
    return pl.DataFrame(
        {
            "town": pl.Series([TOWNS[i] for i in found["town"]], dtype=pl.Categorical),
            "step": pl.Series([STEPS[i] for i in found["step"]], dtype=pl.Enum([*STEPS, "never used"])),
            "age": found["age"],
            "kept": pl.Series(
                [["a", "b", "c", "d"][i] for i in found["kept"]], dtype=pl.Enum(["a", "b", "c", "d", "gone"])
            ),
        }
    )


def blocking_traces(folder: Path) -> Path:
    """A policy that blocks what a file discloses beside its values."""
    path = folder / "strict.toml"
    path.write_text('title = "Strict"\njustification = "A test."\nblocks = ["traces"]\n')
    return path


# -- value labels of SPSS and Stata --------------------------------------------------------------


def labelled(folder: Path, ending: str, **options: Any) -> Path:
    """A file whose codes have labels, also codes that no record has."""
    path, frame = folder / f"in.{ending}", pl.DataFrame(records()).cast(pl.Float64)
    frame = frame.with_columns(pl.col("town", "step", "kept").cast(pl.Int32))
    labels = {
        "town": dict(enumerate(TOWNS)), "step": dict(enumerate(STEPS)),
        "age": {90: "ninety and more", 18: "of age"}, "kept": {0: "a", 1: "b", 2: "c", 3: "d", 4: "never used"},
    }  # fmt: skip
    if ending != "dta":
        options |= {"missing_ranges": {"age": [99.0], "kept": [98.0]}, "variable_measure": {"age": "ordinal"}}
    else:
        frame = frame.with_columns(pl.col("age").cast(pl.Int32))
    names = {"town": "Where they live", "age": "Age in years"}
    writer = pyreadstat.write_dta if ending == "dta" else pyreadstat.write_sav
    writer(frame, str(path), column_labels=names, variable_value_labels=labels, **options)
    return path


def meta_of(path: Path) -> tuple[pl.DataFrame, Any]:
    if path.suffix == ".dta":
        return pyreadstat.read_dta(str(path), output_format="polars")
    return pyreadstat.read_sav(str(path), output_format="polars", user_missing=True)


ROLES = ["--nominal", "town", "--order", "step=codes", "--numeric", "age", "--confidential", "kept"]


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labels_of_values_that_no_record_has_any_more_are_gone(tmp_path: Path, ending: str) -> None:
    path, out = labelled(tmp_path, ending), tmp_path / f"out.{ending}"
    run("microaggregate", path, "-k", K, "--method", "mdav", *ROLES, "-o", out)
    frame, meta = meta_of(out)
    labels = meta.variable_value_labels
    for name, texts in (("town", TOWNS), ("step", STEPS), ("kept", ["a", "b", "c", "d"])):
        assert labels[name] == {code: texts[code] for code in sorted(map(int, frame[name].unique()))}
    assert "age" not in labels, "means are not codes"
    assert {"town", "age"} <= set(filter(meta.column_names_to_labels.get, frame.columns)), "column labels stay"
    assert set(meta.missing_ranges) == ({"kept"} if ending != "dta" else set())
    for text in (RARE, "ninety and more", "never used"):
        assert text.encode() not in out.read_bytes()
    found = run("check", path, out, "-k", K, *ROLES, "--policy", blocking_traces(tmp_path)).output
    assert "Blocked" not in found


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta"])
def test_labels_of_absent_values_are_found_in_files_of_other_programs(tmp_path: Path, ending: str) -> None:
    path, out = labelled(tmp_path, ending), tmp_path / f"out.{ending}"
    run("microaggregate", path, "-k", K, "--method", "mdav", *ROLES, "-o", out)
    frame, meta = meta_of(out)
    labels = {**meta.variable_value_labels, "town": dict(enumerate(TOWNS))}
    if ending == "dta":
        pyreadstat.write_dta(frame, str(out), variable_value_labels=labels)
    else:
        pyreadstat.write_sav(frame, str(out), variable_value_labels=labels, missing_ranges={"age": [99.0]})
    policy = blocking_traces(tmp_path)
    assert (
        "Blocked by 1 finding: traces." in run("check", path, out, "-k", K, *ROLES, "--policy", policy, code=1).output
    )
    roles: dict[str, Any] = {"nominal": "town", "order": {"step": ["codes"]}, "numeric": "age", "confidential": "kept"}
    told = shoal.check(path, out, k=K, **roles)["traces"]
    assert told.status == "warn"
    assert "'town' has 1 value label of values that no record has" in told.finding
    assert ("'age' has codes that are declared missing" in told.finding) == (ending != "dta")
    assert RARE not in told.finding


def test_letters_of_stata_are_values(tmp_path: Path) -> None:
    """A label of .a stays while a record has .a, and is found where none has it."""
    frame = pd.DataFrame({"sex": [1, 2, "a", 1] * 3, "age": np.arange(12.0)})
    labels = {"sex": {1: "man", 2: "woman", "a": "refused", "b": "unknown"}}
    missing = {"sex": ["a", "b"]}
    pyreadstat.write_dta(frame, str(tmp_path / "in.dta"), variable_value_labels=labels, missing_user_values=missing)
    table, source = read_file(tmp_path / "in.dta")
    write_file(table, tmp_path / "out.dta", source)
    assert read_file(tmp_path / "out.dta")[1].labels.values["sex"] == {1: "man", 2: "woman", "a": "refused"}
    for name, count in (("in", 1), ("out", 0)):
        finding = shoal.check(table, tmp_path / f"{name}.dta", quasi="age", as_is="sex")["traces"].finding
        assert ("'sex' has 1 value label of values that no record has" in finding) == bool(count)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_the_title_of_a_file_and_its_notes_stay_behind(tmp_path: Path, ending: str) -> None:
    notes = {"note": ["Written for Ann"]} if ending == "sav" else {}
    path = labelled(tmp_path, ending, file_label="Survey of Smallville", **notes)
    what = "file label and notes" if notes else "file label"
    frame, source = read_file(path)
    with pytest.warns(ShoalWarning, match=f"does not copy the {what} of the input file"):
        write_file(frame.with_columns(town=1), tmp_path / f"out.{ending}", source)
    assert b"Survey of" not in (tmp_path / f"out.{ending}").read_bytes()
    assert b"Ann" not in (tmp_path / f"out.{ending}").read_bytes()
    out = tmp_path / f"again.{ending}"
    assert "the file label" in " ".join(
        run("microaggregate", path, "-k", K, "--method", "mdav", *ROLES, "-o", out).output.split()
    )
    assert "'file label'" in shoal.check(path, path, quasi="age", unit=False)["traces"].finding


def test_labels_of_columns_that_are_gone_are_found(tmp_path: Path) -> None:
    """Stata keeps the labels of a column that was dropped."""
    frame = pd.DataFrame({"age": np.arange(12.0), "town": pd.Categorical(["a", "b", RARE] * 4)})
    frame.to_stata(tmp_path / "in.dta", write_index=False, version=117)
    start, names, rest = (tmp_path / "in.dta").read_bytes().partition(b"<value_label_names>")
    inside, end, rest = rest.partition(b"</value_label_names>")
    (tmp_path / "foreign.dta").write_bytes(start + names + bytes(len(inside)) + end + rest)
    table, source = read_file(tmp_path / "foreign.dta")
    write_file(table, tmp_path / "own.dta", source)
    for name, left in (("foreign", True), ("in", False), ("own", False)):
        told = shoal.check(table, tmp_path / f"{name}.dta", quasi="age", as_is="town", unit=False)["traces"].finding
        assert ("'value labels town of no column'" in told) == left, name
    assert RARE.encode() not in (tmp_path / "own.dta").read_bytes()


def test_attributes_of_labelled_files_are_found(tmp_path: Path) -> None:
    """Characteristics of Stata and attributes of SPSS hold any text; the role that SPSS adds to columns does not."""
    stata, spss = labelled(tmp_path, "dta"), labelled(tmp_path, "sav")
    start, mark, rest = stata.read_bytes().partition(b"<characteristics>")
    text = b"age".ljust(129, b"\0") + b"source".ljust(129, b"\0") + b"Ann's list\0"
    noted = start + mark + b"<ch>" + len(text).to_bytes(4, "little") + text + b"</ch>" + rest
    assert read_written(stata, pl.DataFrame()).metadata == {}
    stata.write_bytes(noted)
    assert set(metadata.labelled_metadata(stata, ".dta")) == {"characteristics"}
    start, mark, rest = spss.read_bytes().partition(b"\xe7\x03\0\0\0\0\0\0")
    for text, kind, found in [
        (b"town:$@Role('0'\n)/age:$@Role('0'\n)", 18, set()),
        (b"town:$@Role('0'\n)/age:source('Ann'\n)", 18, {"attributes of columns"}),
        (b"source('Ann'\n)", 17, {"attributes of the file"}),
    ]:
        record = b"".join(n.to_bytes(4, "little") for n in (7, kind, 1, len(text))) + text
        spss.write_bytes(start + record + mark + rest)
        assert set(read_written(spss, pl.DataFrame()).metadata) == found
        if found:
            told = shoal.check(spss, spss, quasi="age", numeric="age", unit=False)["traces"].finding
            assert f"the file's metadata has {found.pop()!r}" in told
            frame, source = read_file(spss)
            write_file(frame, tmp_path / "own.sav", source)
            assert b"Ann" not in (tmp_path / "own.sav").read_bytes()


# -- categories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_categories_that_no_record_has_are_not_written(tmp_path: Path, ending: str) -> None:
    path, out = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    words().write_parquet(path) if ending == "parquet" else words().write_ipc(path)
    run("microaggregate", path, "-k", K, "--method", "mdav", "--confidential", "kept", "-o", out)
    for text in (RARE, "never used", "gone"):
        assert text.encode() in path.read_bytes()
        assert text.encode() not in out.read_bytes()
    frame, _ = read_file(out)
    assert frame.schema["step"].categories.to_list() == ["low", "middle", "high"], "in their order"
    assert frame.schema["kept"].categories.to_list() == ["a", "b", "c", "d"]
    run("check", path, out, "-k", K, "--confidential", "kept", "--policy", blocking_traces(tmp_path))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "stream"])
@pytest.mark.parametrize("kind", ["Enum", "dictionary", "whole numbers"])
def test_categories_that_no_record_has_are_found(tmp_path: Path, ending: str, kind: str) -> None:
    if (ending, kind) == ("parquet", "whole numbers"):
        pytest.skip("pyarrow writes them as plain numbers")
    values = pa.array([3, 4, 5]) if kind == "whole numbers" else pa.array(["a", "b", RARE])
    town = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 6), values)
    table = pa.table({"town": town, "age": pa.array([1.0] * 12)})
    if kind == "Enum":
        frame = pl.DataFrame(
            {"town": ["a", "b"] * 6, "age": [1.0] * 12}, schema_overrides={"town": pl.Enum(["a", "b", RARE])}
        )
        frame.write_parquet(tmp_path / "r.parquet")
        frame.write_ipc(tmp_path / "r.arrow")
        frame.write_ipc_stream(tmp_path / "r.stream")
    else:
        put_arrow(table, tmp_path)
    path = (tmp_path / f"r.{ending}").rename(tmp_path / f"{ending}.{'arrow' if ending == 'stream' else ending}")
    told = shoal.check(path, path, quasi="age", as_is="town", unit=False)["traces"]
    assert told.status == "warn" and "'town' declares 1 category that no record has" in told.finding
    policy = blocking_traces(tmp_path)
    assert "traces" in run("check", path, path, "--quasi", "age", "--as-is", "town", "--policy", policy, code=1).output


def test_categories_inside_lists_and_structs(tmp_path: Path) -> None:
    kind = pl.Enum(["a", "b", RARE])
    frame = pl.DataFrame(
        {
            "tags": pl.Series([["a", "b"], [], None], dtype=pl.List(kind)),
            "place": pl.Series([{"town": "a"}, None, {"town": "b"}], dtype=pl.Struct({"town": kind})),
            "pair": pl.Series([["a", "b"], ["b", "b"], None], dtype=pl.Array(kind, 2)),
            "age": [1.0, 2.0, 3.0],
        }
    )
    frame.write_parquet(tmp_path / "foreign.parquet")
    write_file(frame, tmp_path / "own.parquet")
    assert pl.read_parquet(tmp_path / "own.parquet").to_dicts() == frame.to_dicts()
    assert RARE.encode() not in (tmp_path / "own.parquet").read_bytes()
    found = shoal.check(frame, tmp_path / "foreign.parquet", quasi="age", unit=False)["traces"].finding
    for name in ("tags", "place.town", "pair"):
        assert f"'{name}' declares 1 category that no record has" in found
    assert "declares" not in shoal.check(frame, tmp_path / "own.parquet", quasi="age", unit=False)["traces"].finding


@pytest.mark.parametrize("ending", ["parquet", "arrow", "stream"])
def test_dictionaries_inside_lists_and_records_are_found(tmp_path: Path, ending: str) -> None:
    town = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 6), pa.array(["a", "b", RARE]))
    each = pa.array(range(13), pa.int32())
    table = pa.table(
        {
            "tags": pa.ListArray.from_arrays(each, town),
            "place": pa.StructArray.from_arrays([town], ["town"]),
            "age": pa.array([1.0] * 12),
        }
    )
    put_arrow(table, tmp_path)
    path = (tmp_path / f"r.{ending}").rename(tmp_path / f"in.{'arrow' if ending == 'stream' else ending}")
    told = shoal.check(path, path, quasi="age", unit=False)["traces"]
    for name in ("tags", "place.town"):
        assert f"'{name}' declares 1 category that no record has" in told.finding
    assert set(written_of(table).categories) == {"tags", "place.town"}
    out = tmp_path / f"out{path.suffix}"
    frame, source = read_file(path)
    write_file(frame, out, source)
    assert "declares" not in shoal.check(path, out, quasi="age", unit=False)["traces"].finding
    assert RARE.encode() not in out.read_bytes()


def test_without_pyarrow_the_categories_are_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"town": ["a", "b", "a"], "age": [1.0, 2.0, 3.0]}, schema_overrides={"town": pl.Categorical})
    frame.write_parquet(tmp_path / "r.parquet")
    frame.drop("town").write_parquet(tmp_path / "plain.parquet")
    monkeypatch.setattr("shoal.gate.metadata._dictionaries", lambda *_: __import__("no_such_library"))
    found = shoal.check(frame, tmp_path / "r.parquet", quasi="age", unit=False)["traces"].finding
    assert "cannot be read without pyarrow" in found
    found = shoal.check(frame, tmp_path / "plain.parquet", quasi="age", drop="town", unit=False)["traces"].finding
    assert "pyarrow" not in found


def as_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    found = frame.to_pandas()
    found["town"] = pd.Categorical(found["town"], categories=TOWNS)
    found["step"] = pd.Categorical(found["step"], categories=[*STEPS, "never used"], ordered=True)
    return found


def as_arrow_in_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    found = as_pandas(frame)
    found["town"] = found["town"].astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    return found


def as_arrow(frame: pl.DataFrame) -> pa.Table:
    table = pa.Table.from_pandas(as_pandas(frame), preserve_index=False)
    return pa.concat_tables([table.slice(0, 20), table.slice(20)])


def categories(frame: Any, name: str) -> list[str]:
    if isinstance(frame, pl.DataFrame):
        return frame.schema[name].categories.to_list()
    if isinstance(frame, pd.DataFrame):
        column = frame[name]
        return (
            column.cat.categories.tolist() if column.dtype == "category" else categories(pa.table({name: column}), name)
        )
    return frame[name].unify_dictionaries().chunk(0).dictionary.to_pylist()


@pytest.mark.parametrize("convert", [lambda frame: frame, as_pandas, as_arrow_in_pandas, as_arrow])
def test_frames_come_back_with_the_categories_that_records_have(convert: Any) -> None:
    frame = convert(words())
    table = shoal.microaggregate(shoal.read(frame, confidential="kept", unit=False), k=K, method="mdav").table
    assert type(table) is type(frame)
    assert categories(table, "step") == ["low", "middle", "high"]
    assert categories(frame, "step") == [*STEPS, "never used"], "the input is unchanged"
    if not isinstance(frame, pl.DataFrame):  # a Categorical of polars has no list of its own
        assert sorted(categories(table, "town")) == sorted(TOWNS[:3])
    if isinstance(frame, pa.Table):
        assert table.schema.field("step").type == frame.schema.field("step").type
        table["step"].validate(full=True)


@pytest.mark.parametrize("convert", [as_pandas, as_arrow])
def test_frames_are_checked_for_categories_too(convert: Any) -> None:
    frame = convert(words())
    assert written_of(frame).categories["step"][-1] == "never used"


# -- metadata of Arrow, Parquet, pandas and gzip -------------------------------------------------


def put_arrow(table: pa.Table, folder: Path) -> None:
    """The table as a Parquet file, an Arrow file and an Arrow stream, as pyarrow writes them."""
    pa.parquet.write_table(table, folder / "r.parquet")
    with pa.ipc.new_file(folder / "r.arrow", table.schema) as writer:
        writer.write_table(table)
    with pa.ipc.new_stream(folder / "r.stream", table.schema) as writer:
        writer.write_table(table)


def annotated() -> pa.Table:
    """A table with metadata of its schema, of a column, and of a column inside a column."""
    inner = pa.field("x", pa.int64(), metadata={"unit": "secret unit"})
    schema = pa.schema(
        [
            pa.field("age", pa.float64(), metadata={"mean": "secret mean"}),
            pa.field("pay", pa.int64()),
            pa.field("place", pa.struct([inner])),
        ],
        metadata={"made by": "secret person"},
    )
    rng = np.random.default_rng(1)
    columns = {"age": rng.normal(size=20), "pay": np.arange(20) % 3, "place": [{"x": i % 2} for i in range(20)]}
    return pa.table(columns, schema=schema)


SECRETS = (b"secret", b"made by", b"c2VjcmV0", b"unit")


@pytest.mark.parametrize("ending", ["parquet", "arrow", "stream"])
def test_metadata_are_not_written_and_are_found(tmp_path: Path, ending: str) -> None:
    put_arrow(annotated(), tmp_path)
    suffix = "arrow" if ending == "stream" else ending
    path, out = (tmp_path / f"r.{ending}").rename(tmp_path / f"in.{suffix}"), tmp_path / f"out.{suffix}"
    roles = ["--quasi", "age", "--confidential", "pay", "--drop", "place"]
    run("microaggregate", path, "-k", K, "--method", "mdav", *roles, "-o", out)
    assert not [secret for secret in SECRETS if secret in out.read_bytes()]
    assert read_written(out, pl.DataFrame()).metadata == {}
    found = read_written(path, pl.DataFrame()).metadata
    assert found == {
        "made by": "secret person",
        "mean of the column age": "secret mean",
        "unit of the column place.x": "secret unit",
    }
    told = shoal.check(path, path, quasi="age", confidential="pay", as_is="place", unit=False)["traces"]
    assert told.status == "warn"
    assert all(f"the file's metadata has {key!r}" in told.finding for key in found)
    assert "secret" not in told.finding
    strict = ["--policy", blocking_traces(tmp_path)]
    assert "traces" in run("check", path, path, *roles, *strict, code=1).output


def test_metadata_of_a_batch_and_of_a_footer_are_found(tmp_path: Path) -> None:
    table = pa.table({"age": [1.0, 2.0, 3.0]})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_batch(table.to_batches()[0])
        writer.write_batch(table.to_batches()[0], custom_metadata={"who": "Ann"})
    with pa.ipc.new_file(tmp_path / "b.arrow", table.schema, metadata={"why": "test"}) as writer:
        writer.write_table(table)
    assert read_written(tmp_path / "a.arrow", pl.DataFrame()).metadata == {"who": "Ann"}
    assert read_written(tmp_path / "b.arrow", pl.DataFrame()).metadata == {"why": "test"}


@pytest.mark.parametrize("writer", ["polars", "pandas", "pyarrow, old", "pyarrow, compressed"])
def test_metadata_of_every_writer_can_be_read(tmp_path: Path, writer: str) -> None:
    """Batches, compression and the layout before Arrow 0.15 do not hide what comes after them."""
    frame = pl.DataFrame(
        {"town": ["a", "b"] * 500, "age": np.arange(1000.0)}, schema_overrides={"town": pl.Categorical}
    )
    path = tmp_path / "r.arrow"
    if writer == "polars":
        frame.write_ipc(path, compression="zstd", record_batch_size=100)
    elif writer == "pandas":
        frame.to_pandas().to_feather(path)
    else:
        options = pa.ipc.IpcWriteOptions(
            use_legacy_format="old" in writer, compression=None if "old" in writer else "lz4"
        )
        table = frame.to_arrow().replace_schema_metadata({"who": "Ann"})
        with pa.ipc.new_stream(path, table.schema, options=options) as sink:
            sink.write_table(table, max_chunksize=100)
    expected = {"polars": set(), "pandas": {"pandas"}}.get(writer, {"who"})
    assert set(read_written(path, frame).metadata) == expected


def test_damaged_metadata_are_an_error(tmp_path: Path) -> None:
    put_arrow(annotated(), tmp_path)
    content = bytearray((tmp_path / "r.arrow").read_bytes())
    content[-10:-6] = (1 << 30).to_bytes(4, "little")
    (tmp_path / "r.arrow").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        read_written(tmp_path / "r.arrow", pl.DataFrame())


def test_attributes_and_metadata_of_frames_stay_behind(tmp_path: Path) -> None:
    frame = annotated().drop_columns(["place"])
    table = shoal.microaggregate(shoal.read(frame, confidential="pay", unit=False), k=K, method="mdav").table
    assert table.schema.metadata is None
    assert not any(field.metadata for field in table.schema)
    assert set(written_of(frame).metadata) == {"made by", "mean of the column age"}
    pandas = frame.to_pandas()
    pandas.attrs["source"] = "secret folder"
    table = shoal.microaggregate(shoal.read(pandas, confidential="pay", unit=False), k=K, method="mdav").table
    assert table.attrs == {} and pandas.attrs == {"source": "secret folder"}
    assert "source" in written_of(pandas).metadata


INDEXES = [
    pd.Index([f"k{i}" for i in range(20)], name="key"),
    pd.date_range("2020-01-01", periods=20, tz="UTC"),
    pd.MultiIndex.from_product([["a", "b"], range(10)], names=["x", None]),
]


@pytest.mark.parametrize("index", INDEXES)
def test_a_table_of_pyarrow_keeps_the_index_of_pandas_and_nothing_else(index: pd.Index) -> None:
    frame = pd.DataFrame({"age": np.random.default_rng(1).normal(size=20), "pay": np.arange(20) % 3}, index=index)
    frame.attrs["source"] = "secret folder"
    frame["town"] = pd.Categorical(["a", "b"] * 10, categories=["a", "b", RARE])
    table = pa.Table.from_pandas(frame)
    read = shoal.read(table, quasi="age", confidential=[n for n in table.column_names if n != "age"], unit=False)
    out = shoal.microaggregate(read, k=K, method="mdav").table
    back = out.to_pandas()
    pd.testing.assert_index_equal(back.index, index, exact="equiv")
    assert list(back.columns) == list(frame.columns)
    told = out.schema.metadata[b"pandas"]
    assert b"secret" not in told and b"num_categories" not in told and b"stop" not in told


def test_an_index_that_names_people_is_gone_with_its_description() -> None:
    index = pd.Index([f"Person {i}" for i in range(20)], name="who")
    table = pa.Table.from_pandas(pd.DataFrame({"age": np.random.default_rng(1).normal(size=20)}, index=index))
    out = shoal.microaggregate(shoal.read(table, identifiers="who", unit=False), k=K, method="mdav").table
    assert out.column_names == ["age"] and out.schema.metadata is None
    ranged = pa.Table.from_pandas(pd.DataFrame({"age": np.random.default_rng(1).normal(size=20)}))
    assert b'"stop": 20' in ranged.schema.metadata[b"pandas"], "the number of rows that the original had"
    assert shoal.microaggregate(shoal.read(ranged, unit=False), k=K, method="mdav").table.schema.metadata is None
    odd = ranged.replace_schema_metadata({"pandas": "no JSON"})
    assert shoal.microaggregate(shoal.read(odd, unit=False), k=K, method="mdav").table.schema.metadata is None


def test_a_packed_file_names_no_other_file_and_no_time(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    text = "age;pay\n" + "".join(f"{a};{p}\n" for a, p in rng.integers(0, 50, (40, 2)))
    path, out = tmp_path / "secret name.csv.gz", tmp_path / "out.csv.gz"
    with open(path, "wb") as file, gzip.GzipFile("secret name.csv", "wb", fileobj=file, mtime=1_700_000_000) as packed:
        packed.write(text.encode())
    run("microaggregate", path, "-k", K, "--method", "mdav", "--quasi", "age,pay", "-o", out)
    assert out.read_bytes()[3:8] == bytes(5), "no flags, no time"
    assert read_written(out, pl.DataFrame()).metadata == {}
    told = shoal.check(path, path, quasi=["age", "pay"])["traces"].finding
    assert "'file name in the gzip header'" in told and "'time in the gzip header'" in told and "secret" not in told
    policy = blocking_traces(tmp_path)
    assert "traces" in run("check", path, path, "--quasi", "age,pay", "--policy", policy, code=1).output


def test_every_part_of_a_packed_file_is_read(tmp_path: Path) -> None:
    named = io.BytesIO()
    with gzip.GzipFile("inner.csv", "wb", fileobj=named, mtime=0) as packed:
        packed.write(b"3\n4\n")
    path = tmp_path / "r.csv.gz"
    path.write_bytes(gzip.compress(b"age\n1\n2\n", mtime=0) + named.getvalue())
    found = read_written(path, pl.DataFrame({"age": [1]}))
    assert found.frame["age"].to_list() == [1, 2, 3, 4]
    assert found.metadata == {"file name in the gzip header": "inner.csv"}
    for broken in (path.read_bytes()[:-9], path.read_bytes() + b"more", b"no gzip file"):
        path.write_bytes(broken)
        with pytest.raises(InputError):
            read_written(path, pl.DataFrame({"age": [1]}))
