"""Persons and households with rows in several files: k counts them, not their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from folders.here import Here
from folders.test_folders import LEAF, cells, records, write
from shoal.errors import InputError, PromiseError
from shoal.folders import judging
from shoal.gate.folders.by_file import units_in
from shoal.protections.microaggregation.leaves import stages

QUASI = ["age", "income", "x"]
ROLES: dict[str, Any] = {"quasi": QUASI, "numeric": ["age"], "confidential": ["diagnosis"], "unit": "house"}


def households(rows: int = 900, houses: int = 250) -> pl.DataFrame:
    """Records of households; the rows of one have similar values and lie in several files."""
    rng = np.random.default_rng(4)
    house = rng.integers(0, houses, size=rows)
    frame = records(houses)[house.tolist()]
    return frame.with_columns(
        pl.Series("house", house), pl.col("x") + pl.Series(rng.normal(scale=0.001, size=rows)),
        diagnosis=pl.Series(rng.choice(["a", "b", "c"], size=rows)),
    )  # fmt: skip


def release_of(data: Path, **options: Any) -> Any:
    return shoal.microaggregate(shoal.scan(data, on=Here(), **ROLES), 5, **{**LEAF, **options})


def smallest(new: pl.DataFrame, houses: pl.Series) -> int:
    """The smallest number of households that share all protected values."""
    sizes = new.with_columns(houses).group_by(QUASI).agg(pl.col("house").n_unique())["house"]
    return int(sizes.to_numpy().min())


@pytest.mark.parametrize("bucket_rows", [500_000, 130])
def test_every_class_has_k_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_rows: int) -> None:
    monkeypatch.setattr(judging, "BUCKET_ROWS", bucket_rows)
    frame = households()
    release = release_of(write(frame, tmp_path / "in"))
    saved = release.save(tmp_path / "out")
    new = cells(tmp_path / "out")
    assert "house" not in new.columns
    assert smallest(new, frame["house"]) == release.facts["smallest_group_units"] >= 5
    one = shoal.check(frame, new, k=5, **ROLES)
    assert one.figures.unit and saved.findings.figures.facts() == one.figures.facts()
    assert "units" in saved.findings["joint-k"].finding


def test_the_same_bits_for_other_files_and_other_types(tmp_path: Path) -> None:
    frame = households()
    release_of(write(frame, tmp_path / "in")).save(tmp_path / "out")
    other = write(frame, tmp_path / "one", (0, 1, 450))
    part = pl.read_parquet(other / "part-2.parquet")
    part.with_columns(pl.col("house").cast(pl.Int16)).write_parquet(other / "part-2.parquet")
    release_of(other).save(tmp_path / "again")
    assert cells(tmp_path / "again").equals(cells(tmp_path / "out"))
    forms = [pl.Series([1, 2]), pl.Series([1.0, 2.0]), pl.Series(["1", "2"])]
    assert len({tuple(units_in(form).to_list()) for form in forms}) == 1


def test_groups_of_records_of_one_unit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "merged_for_units", lambda partition, *rest: partition)
    release = release_of(write(households(houses=60), tmp_path / "in"))
    with pytest.raises(
        PromiseError, match="the smallest class over all protected columns of all files has 1 unit|1 unit"
    ):
        release.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


# -- categories, stars and intervals ---------------------------------------------------------------

CATEGORIES: dict[str, Any] = {
    "quasi": ["age", "diagnosis"], "numeric": ["age"], "drop": ["income", "x"], "unit": "house",
    "no_confidential": True,
}  # fmt: skip


def ages(houses: int) -> pl.DataFrame:
    return households(houses=houses).with_columns(age=pl.col("age") // 10 * 10)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("name", ["generalize", "suppress"])
def test_categories_are_checked_by_units(tmp_path: Path, name: str) -> None:
    """The cells are those of one file; if its classes have too few units, both are refused."""
    options: dict[str, Any] = {"effort": "quick"} if name == "generalize" else {"effort": "quick", "star": "value"}
    for houses in (250, 12):
        frame = ages(houses)
        folder = write(frame, tmp_path / f"in{houses}")
        staged = getattr(shoal, name)(shoal.scan(folder, on=Here(), **CATEGORIES), 11, **options)
        one = getattr(shoal, name)(shoal.read(frame, **CATEGORIES), 11, **options)
        found = shoal.check(frame, one.table, k=11, **CATEGORIES)
        target = tmp_path / f"out{houses}"
        if not found.passed:
            with pytest.raises(PromiseError, match="whose groups have k units|agrees with at least"):
                staged.save(target)
            assert not target.exists()
            continue
        saved = staged.save(target, keep_order=True)
        assert cells(target).equals(one.table)
        assert saved.findings.figures.facts() == found.figures.facts() and saved.findings.figures.unit
    assert houses == 12 and not found.passed


@pytest.mark.parametrize("leaf", [5_000, 250])
def test_every_class_of_intervals_has_k_units(tmp_path: Path, leaf: int) -> None:
    roles = {**ROLES, "quasi": ["age", "income"]}
    frame = households()
    folder = write(frame, tmp_path / "in")
    release = shoal.recode(shoal.scan(folder, on=Here(), drop=["x"], **roles), 5, effort="quick", leaf=leaf, rounds=1)
    saved = release.save(tmp_path / "out", keep_order=True)
    new = cells(tmp_path / "out")
    sizes = new.with_columns(frame["house"]).group_by("age", "income").agg(pl.col("house").n_unique())["house"]
    assert sizes.to_numpy().min() >= release.facts["smallest_group_units"] >= 5
    assert saved.findings.figures.unit and saved.findings.figures.known.k == sizes.to_numpy().min()
    other = write(frame, tmp_path / "other", (0, 1, 450))
    shoal.recode(shoal.scan(other, on=Here(), drop=["x"], **roles), 5, effort="quick", leaf=leaf, rounds=1).save(
        tmp_path / "again", keep_order=True
    )
    assert cells(tmp_path / "again").equals(new)


def test_leaves_with_too_few_units(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has only \d+ units, fewer than k = 5. Use a larger --leaf"):
        release_of(write(households(houses=6), tmp_path / "in"))
    gaps = households().with_columns(house=pl.when(pl.col("house") > 3).then("house"))
    with pytest.raises(InputError, match=r"part-0.parquet: The unit column 'house' has .* missing values"):
        release_of(write(gaps, tmp_path / "gaps"))
