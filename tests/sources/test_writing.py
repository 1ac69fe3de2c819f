"""Targets are checked before any work, and a write is all or nothing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import polars as pl
import pytest

from shoal.errors import InputError, UsageError, WriteError
from shoal.sources.files import atomically, check_distinct, check_place, check_target, read_file, write_file

FRAME = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "survey.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"There is no file .*surve.csv. Did you mean .*survey.csv\?"):
        read_file(tmp_path / "surve.csv")
    with pytest.raises(InputError, match=r"There is no file .*y.csv\.$"):
        read_file(tmp_path / "nowhere" / "y.csv")
    with pytest.raises(InputError, match="is a folder. Name a file"):
        read_file(tmp_path)
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(UsageError, match=r"'.doc' is not a supported format.* .csv, .*\.parquet"):
        read_file(tmp_path / "a.doc")
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(UsageError, match="Use .csv or .parquet instead"):
        read_file(tmp_path / "a.xlsx")
    (tmp_path / "plain").write_text("x")
    with pytest.raises(UsageError, match="the name does not end in a format"):
        read_file(tmp_path / "plain")
    for ending in ("csv", "parquet", "sav"):
        (tmp_path / f"none.{ending}").touch()
        with pytest.raises(InputError, match=f"none.{ending} is empty"):
            read_file(tmp_path / f"none.{ending}")


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder.csv").mkdir()
    for target, message in [
        (tmp_path / "none" / "a.csv", "the folder .*none does not exist. Create it first"),
        (tmp_path / "file" / "a.csv", "is a file, not a folder"),
        (tmp_path / "folder.csv", "is a folder. Add the name of a file"),
        (tmp_path / "a.doc", "is not a supported format"),
        (Path("/proc/self/a.csv"), "Cannot write in the folder /proc/self"),
        (Path("/dev/null.csv/a.csv"), "does not exist"),
    ]:
        with pytest.raises(UsageError, match=message):
            check_target(target)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"], "nothing is left by the check"
    assert check_target(tmp_path / "a.csv") == tmp_path / "a.csv"
    assert check_place(tmp_path / "report.html") == tmp_path / "report.html"


def test_a_device_is_not_a_target(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(UsageError, match="exists and is not a regular file"):
        check_target(tmp_path / "pipe.csv")


def test_the_input_is_not_a_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n1,2\n")
    (tmp_path / "soft.csv").symlink_to(path)
    os.link(path, tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    around = Path("..") / tmp_path.name / "in.csv"
    for target in (path, tmp_path / "soft.csv", tmp_path / "hard.csv", Path("in.csv"), around):
        with pytest.raises(UsageError, match=r"is the input .*. Shoal never overwrites the original"):
            check_target(target, tmp_path / "other.csv", path)
    assert path.read_text() == "a,b\n1,2\n"


def test_no_file_is_named_for_two_purposes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("a\n1\n")
    Path("link.csv").symlink_to("in.csv")
    check_distinct({"--output": "out.csv", "--report": "page.html", "--save-recipe": None}, {"FILE": "in.csv"})
    for written, read, named in [
        ({"--output": "in.csv"}, {"FILE": "in.csv"}, "--output and FILE"),
        ({"--output": "link.csv"}, {"FILE": "in.csv"}, "--output and FILE"),
        ({"--output": "x.csv", "--report": f"../{tmp_path.name}/x.csv"}, {}, "--report and --output"),
    ]:
        with pytest.raises(UsageError, match=f"{named} are the same file"):
            check_distinct(written, read)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "arrow", "sav", "dta", "xpt"])
def test_a_failed_write_leaves_all_as_it_was(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"out.{ending}"
    path.write_bytes(b"precious")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match=rf"Cannot write .*out\.{ending}: No space left on device\."):
        write_file(FRAME, path)
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == [path.name]


def test_an_interrupt_leaves_all_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")

    def stop() -> None:
        with atomically(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_file(FRAME, path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(path)
    write_file(FRAME.reverse(), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert path.read_text() == "a,b\n2,y\n1,x\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link.csv", "out.csv"]


def test_no_metadata_of_the_frame_is_written(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow.parquet as pq

    write_file(pd.DataFrame({"a": [1, 2]}, index=pd.Index(["secret", "rows"], name="who")), tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").column_names == ["a"]
    assert b"secret" not in (tmp_path / "x.parquet").read_bytes()
    assert b"who" not in (tmp_path / "x.parquet").read_bytes()
