"""A name is a name: no sign in the name of a file or a column makes it a pattern for others."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest

import shoal
from command_line import run
from shoal.errors import InputError, UsageError
from shoal.sources.files import check_distinct, read_file
from shoal.table.roles import Roles
from shoal.table.table import Table

FORMATS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "dta"]
NAMES = ["d[1]", "s*", "q?", "{s1,s2}", "[!a]", "**", "~", "~nobody", "a%20b", "file:x", "hive=1", "$HOME", "s s"]
DECOYS = ["d1", "s1", "s2", "qq"]  # what the names would match as patterns
PATTERNS = ["^x$", "^.*$", "^$", "^x|y$"]


def a_frame(low: int) -> pl.DataFrame:
    rng = np.random.default_rng(low)
    return pl.DataFrame({"x": rng.integers(low, low + 30, 40), "y": rng.integers(low, low + 30, 40)}).cast(pl.Float64)


def put(frame: pl.DataFrame, path: Path) -> None:
    """Write by a handle: other libraries would take the name for a pattern."""
    if path.suffix in (".sav", ".dta"):
        getattr(pyreadstat, f"write_{path.suffix[1:]}")(frame, str(path))
        return
    with open(path, "wb") as file:
        if path.suffix == ".parquet":
            frame.write_parquet(file)
        elif path.suffix == ".arrow":
            frame.write_ipc(file)
        elif path.suffix == ".gz":
            file.write(gzip.compress(frame.write_csv().encode()))
        else:
            frame.write_csv(file, separator="\t" if path.suffix == ".tsv" else ",")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_is_opened_by_its_name(here: Path, ending: str) -> None:
    for decoy in DECOYS:
        put(a_frame(1000), here / f"{decoy}.{ending}")
    for name in NAMES:
        put(a_frame(0), here / f"{name}.{ending}")
        frame, _ = read_file(f"{name}.{ending}")
        assert frame.equals(a_frame(0)), name
        path = here / f"{name}.{ending}"
        assert shoal.check(frame, path, quasi=["x", "y"], k=1)["untouched"].status == "ok"


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", ["d[1]", "s*"])
def test_a_file_is_protected_and_checked_by_its_name(here: Path, ending: str, name: str) -> None:
    for decoy in DECOYS:
        put(a_frame(1000), here / f"{decoy}.{ending}")
        put(a_frame(1000), here / f"out {decoy}.{ending}")
    path, out = f"{name}.{ending}", f"out {name}.{ending}"
    put(a_frame(0), here / path)
    run("microaggregate", path, "-k", 3, "--method", "mdav", "-o", out)
    assert read_file(out)[0]["x"].max() < 100
    run("check", path, out, "-k", 3, "--quasi", "x,y", "--previous", out)
    before = run("look", path, "--json").output
    assert "1000" not in before and "1001" not in before


@pytest.mark.parametrize("ending", FORMATS)
def test_a_pattern_without_a_file_of_that_name_is_not_a_file(here: Path, ending: str) -> None:
    put(a_frame(0), here / f"s1.{ending}")
    put(a_frame(0), here / f"s2.{ending}")
    for name in ("s*", "s[12]", "s?"):
        with pytest.raises(InputError, match="There is no file"):
            read_file(f"{name}.{ending}")
        assert "There is no file" in run("look", f"{name}.{ending}", code=2).output
        message = run("microaggregate", f"{name}.{ending}", "-k", 3, code=2).output  # a pattern stands for a folder
        assert "A folder of files needs an output folder" in message


def test_the_home_folder_is_meant_only_where_no_file_has_the_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = here / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    put(a_frame(1000), home / "a.csv")
    assert read_file("~/a.csv")[0].equals(a_frame(1000))
    os.mkdir("~")
    put(a_frame(0), Path("~/a.csv"))
    assert read_file("~/a.csv")[0].equals(a_frame(0))
    with pytest.raises(InputError, match="There is no file ~nobody.csv"):
        read_file("~nobody.csv")
    check_distinct({"--output": "~nobody.csv"}, {"FILE": "~/a.csv"})
    with pytest.raises(UsageError, match="are the same file"):
        check_distinct({"--output": "~nobody.csv"}, {"FILE": "./~nobody.csv"})


def test_roles_files_are_opened_by_their_name(here: Path) -> None:
    put(a_frame(0), here / "in.csv")
    Path("r1.toml").write_text('[identifiers]\ncolumns = ["x"]\n')
    Path("r[1].toml").write_text('[drop]\ncolumns = ["y"]\n')
    assert shoal.read("in.csv", roles="r[1].toml").roles.drop == ("y",)
    with pytest.raises(InputError, match="Cannot read the roles file ~nobody.toml"):
        shoal.read("in.csv", roles="~nobody.toml")
    assert "Cannot read the roles file r*.toml" in run("look", "in.csv", "--roles", "r*.toml", code=2).output


# -- columns -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow"])
def test_a_column_that_polars_takes_for_a_pattern_is_refused(here: Path, name: str, ending: str) -> None:
    path = here / f"in.{ending}"
    put(a_frame(0).rename({"x": name}).with_columns(x=pl.lit(1.0)), path)
    for command in (["microaggregate", path, "-k", 3], ["look", path], ["check", path, path], ["assess", path, path]):
        assert f"The column name {name!r} begins with ^ and ends with $" in " ".join(
            run(*command, code=2).output.split()
        )
    good = here / f"good.{ending}"
    put(a_frame(0), good)
    with pytest.raises(InputError, match="Rename the column"):
        shoal.check(good, path)


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize("name", PATTERNS)
def test_frames_with_such_a_column_are_refused(make: object, name: str) -> None:
    with pytest.raises(InputError, match="Rename the column"):
        shoal.microaggregate(make({name: [1.0, 2.0], "x": [1.0, 2.0]}), k=2)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("name", ["*", "^x", "x$", "[x]", "x*", "row", "0", "value", "{x}", "[/b]", "%s"])
def test_other_names_are_names(here: Path, name: str, ending: str) -> None:
    path, out = here / f"in.{ending}", here / f"out.{ending}"
    frame = a_frame(0).rename({"y": name}).with_columns(z=pl.int_range(40) % 7, x1=pl.int_range(40) % 5)
    put(frame, path)
    roles = ["--quasi", f"x,{name}", "--confidential", "z", "--as-is", "x1"]
    run("microaggregate", path, "-k", 3, "--method", "mdav", *roles, "-o", out)
    back, _ = read_file(out)
    assert back.columns == ["x", name, "z", "x1"]
    assert back.group_by(pl.nth(0, 1)).len()["len"].min() >= 3
    assert back["z"].to_list() == frame["z"].to_list() and back["x1"].to_list() == frame["x1"].to_list()
    run("check", path, out, "-k", 3, *roles)


def test_a_column_without_a_name_is_refused() -> None:
    for make in (pl.DataFrame, pd.DataFrame, pa.table):
        with pytest.raises(InputError, match="Column 2 has no name"):
            shoal.read(make({"x": [1.0, 2.0], "": [1.0, 2.0]}))


def test_frames_keep_names_that_look_like_patterns() -> None:
    frame = pl.DataFrame({"^.*": [1, 2], "*": [3, 4], "a": [5, 6]})
    out = Table(frame, Roles(identifiers=("a",))).protected({"*": np.array([0.5, 0.5])})
    assert out.to_dict(as_series=False) == {"^.*": [1, 2], "*": [0.5, 0.5]}
