"""Notices: data on the table and on the release, shown once as a warning to the thread that called."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ShoalWarning
from shoal.notices import collecting, notice


@pytest.fixture
def gaps(tmp_path: Path) -> Path:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.normal(size=30).round(3), "b": rng.normal(size=30).round(3), "c": ["NA"] * 30})
    lines = frame.write_csv().splitlines()
    lines[3] = "NA," + lines[3].split(",", 1)[1]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_has_the_notices_of_reading_and_a_release_those_and_its_own(gaps: Path) -> None:
    with pytest.warns(ShoalWarning) as shown:
        table = shoal.read(gaps, quasi=["a", "b"])
    assert _texts(shown) == list(table.notices) and "read as missing" in table.notices[0]
    with pytest.warns(ShoalWarning) as shown:
        release = shoal.microaggregate(table, 3, method="mdav", missing="drop")
    assert _texts(shown) == list(release.notices[1:])
    assert release.notices[0] == table.notices[0] and "1 of 30 rows was dropped" in release.notices[1]
    lines = [w.filename for w in shown if w.category is ShoalWarning]
    assert lines == [__file__]  # the line that called, not a worker thread's


def _texts(shown: pytest.WarningsRecorder) -> list[str]:
    """The texts of Shoal's warnings: Python may warn meanwhile of files that an earlier test left open."""
    return [str(w.message) for w in shown if w.category is ShoalWarning]


def test_a_notice_is_kept_once_and_shown_where_nobody_collects() -> None:
    kept: list[str] = []
    with warnings.catch_warnings(), collecting(kept):
        warnings.simplefilter("error")
        notice("one")
        notice("one")
    assert kept == ["one"]
    with pytest.warns(ShoalWarning, match="alone"):
        notice("alone")


def test_a_control_that_is_used_twice_gives_each_release_its_own_notices(gaps: Path) -> None:
    frame = pl.read_csv(gaps, null_values="NA").select("a", "b")
    control = shoal.Control()
    with pytest.warns(ShoalWarning):
        first = shoal.microaggregate(frame, 3, quasi=["a", "b"], method="mdav", missing="drop", control=control)
    second = shoal.microaggregate(frame.drop_nulls(), 3, quasi=["a", "b"], method="mdav", control=control)
    assert len(first.notices) == 1 and second.notices == () and control.notices == list(first.notices)


def test_searches_at_once_do_not_mix_their_notices(gaps: Path) -> None:
    frame = pl.read_csv(gaps, null_values="NA").select("a", "b")
    found: dict[str, tuple[str, ...]] = {}

    def protect(missing: str) -> None:
        found[missing] = shoal.microaggregate(frame, 3, quasi=["a", "b"], method="mdav", missing=missing).notices

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = [threading.Thread(target=protect, args=(missing,)) for missing in ("drop", "median")]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    assert len(found["drop"]) == len(found["median"]) == 1 and found["drop"] != found["median"]
