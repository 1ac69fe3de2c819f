"""A format needs one file: that of the contributing guide is found in reading, writing, messages and the docs."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import guide
import shoal
import shoal.sources
from shoal.errors import InputError, ShoalError, UsageError
from shoal.sources.files import write_file
from shoal.sources.format import declared_formats


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "toy_format.py").write_text(guide.code("Add a source"), encoding="utf-8")
    monkeypatch.setattr(shoal.sources, "__path__", [*shoal.sources.__path__, str(folder)])
    yield
    sys.modules.pop("shoal.sources.toy_format", None)


def test_one_file_adds_a_format_everywhere(toy: None, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.0], "town": ["a", "b"]})
    path = tmp_path / "data.jsonl"
    write_file(frame, path)
    table = shoal.read(path)
    assert table.frame.equals(frame) and table.source is not None and table.source.format == "jsonl"
    with pytest.raises(UsageError, match=r"'.doc' is not a supported format.*Supported endings: .*\.jsonl"):
        shoal.read(_empty(tmp_path / "data.doc"))
    with pytest.raises(UsageError, match="delimiter=';' has no effect: only text files"):
        shoal.read(path, delimiter=";")
    with pytest.raises(InputError, match=r"empty\.jsonl is empty"):
        shoal.read(_empty(tmp_path / "empty.jsonl"))
    make = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_tables.py"))
    assert "| `.jsonl` | JSON lines | yes | numbers and text | dates |" in make["formats_table"]()


def test_a_write_that_fails_leaves_the_old_file(toy: None, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"x":1}\n', encoding="utf-8")

    def refuse(written: Path) -> None:
        assert written.read_text(encoding="utf-8") == '{"x":2}\n'
        raise InputError("no")

    with pytest.raises(InputError):
        write_file(pl.DataFrame({"x": [2]}), path, check=refuse)
    assert path.read_text(encoding="utf-8") == '{"x":1}\n'
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.jsonl", "sources"]


def test_a_release_is_not_saved_in_a_format_that_the_check_cannot_read(toy: None, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 9.0]})
    release = shoal.microaggregate(frame, k=2, method="mdav")
    with pytest.raises(ShoalError, match="not a supported format"):
        release.save(tmp_path / "release.jsonl", keep_order=True)
    assert not (tmp_path / "release.jsonl").exists()


def test_every_ending_belongs_to_one_format() -> None:
    endings = [ending for form in declared_formats() for ending in form.endings]
    assert len(endings) == len(set(endings)) and ".csv" in endings


def _empty(path: Path) -> Path:
    path.touch()
    return path
