"""A measure needs one file: that of the contributing guide is found in assess, compare, the report and the docs."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import guide
import shoal
import shoal.measures
from command_line import run


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "measures"
    folder.mkdir()
    (folder / "toy_measure.py").write_text(guide.code("Add a measure"), encoding="utf-8")
    monkeypatch.setattr(shoal.measures, "__path__", [*shoal.measures.__path__, str(folder)])
    yield
    sys.modules.pop("shoal.measures.toy_measure", None)


def test_one_file_adds_a_measure_everywhere(toy: None, tmp_path: Path) -> None:
    before = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": [10.0, 20.0, 30.0, 42.5]})
    after = pl.DataFrame({"x": [1.5, 1.5, 3.5, 3.5], "y": [15.0, 15.0, 36.25, 36.25]})
    assert shoal.assess(before, after)["largest_change"] == 6.25
    before.write_csv(tmp_path / "before.csv")
    after.write_csv(tmp_path / "after.csv")
    files = (tmp_path / "before.csv", tmp_path / "after.csv")
    assert json.loads(run("assess", *files, "--json").stdout)["largest_change"] == 6.25
    assert "largest change of any value" in run("assess", *files).stdout
    run("report", *files, "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<b>largest change</b><small>Largest change of any value.</small></td><td>6.25</td>" in page
    frame = pl.DataFrame({"x": [1.0, 2.0, 4.0, 8.0, 9.0, 11.0], "y": [3.0, 1.0, 2.0, 9.0, 7.0, 8.0]})
    compared = shoal.compare(frame, 3, effort="quick")
    heads, rows = compared.rows()
    assert [row[heads.index("change")] for row in rows] == [run.measures["largest_change"] for run in compared.ordered]
    make = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "make_tables.py"))
    row = "| `largest_change` | loss | max of \\|x − x'\\| | 0 and more | lower | largest change of any value |"
    assert row in make["measures_table"]()


def test_a_name_is_declared_once(toy: None, tmp_path: Path) -> None:
    (tmp_path / "measures" / "toy_measure_again.py").write_text(guide.code("Add a measure"), encoding="utf-8")
    try:
        with pytest.raises(ValueError, match="'largest_change' is declared twice"):
            shoal.measures.measure.declared_measures()
    finally:
        sys.modules.pop("shoal.measures.toy_measure_again", None)
