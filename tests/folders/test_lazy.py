"""Frames that are not in memory: a lazy frame of polars, a Dask frame and a Spark frame come back as what they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from folders.here import Here
from folders.test_folders import LEAF, ROLES, cells, records, release_of, write
from shoal.errors import PromiseError, UsageError
from shoal.sources.lazy import polars_frames

ROWS = 400
OPTIONS: dict[str, Any] = {**LEAF, "leaf": 150, "rounds": 1}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """What the folder of the same rows releases."""
    folder = tmp_path_factory.mktemp("lazy")
    release_of(write(records(ROWS), folder / "in", (0,)), Here(), leaf=150, rounds=1).save(folder / "out")
    return cells(folder / "out")


def protected(frame: Any, on: Any = None, **scan: Any) -> Any:
    """The release of a frame that has a column of names besides the records."""
    files = shoal.scan(frame, on=on, identifiers=["name"], **{**ROLES, **scan})
    return shoal.microaggregate(files, 5, **OPTIONS)


def named_records() -> pl.DataFrame:
    return records(ROWS).with_columns(name=pl.format("person {}", pl.int_range(ROWS)))


def test_a_lazy_frame_comes_back_as_a_lazy_frame(
    expected: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polars_frames, "ROWS_PER_FILE", 150)
    release = protected(named_records().lazy(), Here())
    assert isinstance(release.table, pl.LazyFrame)
    assert release.table.collect().equals(expected)
    assert len(release.files.paths) == 3
    assert release.recipe.input.files == ()
    release.save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(expected)


def test_what_was_staged_for_a_frame_is_removed(tmp_path: Path) -> None:
    release = protected(named_records().lazy(), Here())
    temporary = release.files.staging.parent
    assert temporary.exists()
    del release
    assert not temporary.exists()
    named = tmp_path / "staged"
    release = protected(named_records().lazy(), Here(), staging=named)
    table = release.table
    with pytest.raises(UsageError, match="holds the rows of an earlier frame"):
        protected(named_records().lazy(), Here(), staging=named)
    release.discard()
    assert sorted(path.name for path in named.iterdir()) == ["table"]
    assert table.collect().height == ROWS


def test_a_killed_run_of_a_frame_continues_from_its_files(expected: pl.DataFrame, tmp_path: Path) -> None:
    named = tmp_path / "staged"
    release = protected(named_records().lazy(), Here(), staging=named)
    release.close()
    place = Here()
    files = shoal.scan(named / "frame", on=place, staging=named / "work", identifiers=["name"], **ROLES)
    shoal.microaggregate(files, 5, **OPTIONS).save(tmp_path / "out")
    assert "search" not in place.units
    assert cells(tmp_path / "out").equals(expected)


def test_a_frame_that_the_check_refuses_does_not_exist(tmp_path: Path) -> None:
    frame = records(ROWS).with_columns(place=pl.int_range(ROWS)).lazy()
    files = shoal.scan(frame, on=Here(), staging=tmp_path / "staged", quasi=["age", "income", "x"], **ROLES)
    release = shoal.microaggregate(files, 5, **OPTIONS)
    with pytest.raises(PromiseError, match="looks like an identifier"):
        _ = release.table
    assert not (tmp_path / "staged" / "table").exists()


def test_messages_for_frames() -> None:
    lazy = records(ROWS).lazy()
    with pytest.raises(UsageError, match=r"shoal group needs its data in memory. Pass frame.collect\(\) instead"):
        shoal.group_attributes(lazy, 5)
    with pytest.raises(UsageError, match="The frame has no rows"):
        shoal.scan(lazy.filter(pl.col("age") > 1000))
    with pytest.raises(UsageError, match="delimiter applies to text files"):
        shoal.scan(lazy, delimiter=";")
    with pytest.raises(UsageError, match=r"use shoal.scan\(frame\) instead of shoal.read"):
        shoal.read(lazy)


def test_a_dask_frame_comes_back_as_a_dask_frame(expected: pl.DataFrame) -> None:
    pytest.importorskip("dask.dataframe", reason="Dask's data frames are not installed")
    import dask.dataframe as dd
    import pandas as pd

    pandas = named_records().to_pandas().astype({"diagnosis": "category"})
    frame = dd.from_pandas(pandas, npartitions=3)
    release = protected(frame, Here())
    table = release.table
    assert isinstance(table, dd.DataFrame) and table.npartitions == 3
    made = table.compute()
    assert isinstance(made["diagnosis"].dtype, pd.CategoricalDtype)
    assert pl.from_pandas(made.reset_index(drop=True).astype({"diagnosis": str})).equals(expected)
    with pytest.raises(UsageError, match=r"The index of the Dask frame has the name 'name'"):
        shoal.scan(frame.set_index("name"))
    with pytest.raises(UsageError, match=r"Pass frame.compute\(\) instead"):
        shoal.group_attributes(frame, 5)
