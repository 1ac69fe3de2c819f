"""Dates, ordered and unordered labels and weights in many files: the meaning and the figures of one file."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from folders.here import Here
from shoal.errors import InputError, UsageError

ROWS = 800
LEVELS = ("low", "middle", "high")
SCAN: dict[str, Any] = {
    "quasi": ["age", "born", "level", "town", "sex"],
    "order": {"level": LEVELS},
    "confidential": ["diagnosis"],
    "unit": False,
}
LEAF = {"effort": "quick", "leaf": 250, "rounds": 1}


def records(rows: int = ROWS) -> pl.DataFrame:
    """A number, a date, ordered labels, labels with missing values, a boolean, weights and a confidential label."""
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, size=rows)
    born = [datetime.date(2020, 1, 1) - datetime.timedelta(days=int(a) * 365 + int(r)) for a, r in
            zip(age, rng.integers(365, size=rows), strict=True)]  # fmt: skip
    level = [LEVELS[min(2, int(a) // 30)] for a in age + rng.integers(-9, 10, size=rows)]
    town = [None if r < 0.02 else f"town {int(a) // 20}" for a, r in zip(age, rng.random(rows), strict=True)]
    return pl.DataFrame(
        {
            "age": age, "born": born, "level": level, "town": town, "sex": rng.random(rows) < 0.5,
            "weight": np.round(rng.uniform(1, 3, size=rows), 2),
            "diagnosis": rng.choice(["a", "b", "c", "d"], size=rows),
        }
    )  # fmt: skip


def write(frame: pl.DataFrame, folder: Path, starts: tuple[int, ...] = (0, 300, 500), ending: str = "parquet") -> Path:
    folder.mkdir()
    for number, (start, stop) in enumerate(zip(starts, (*starts[1:], frame.height), strict=True)):
        part = frame[start:stop]
        target = folder / f"part-{number}.{ending}"
        part.write_parquet(target) if ending == "parquet" else part.write_csv(target)
    return folder


def release_of(folder: Path, *, on: Any = None, scan: dict[str, Any] | None = None, **options: Any) -> Any:
    files = shoal.scan(folder, on=on or Here(), **{"drop": ["weight"], **SCAN, **(scan or {})})
    return shoal.microaggregate(files, 5, **{**LEAF, **options})


def cells(folder: Path, ending: str = "parquet") -> pl.DataFrame:
    reads = pl.read_parquet if ending == "parquet" else pl.read_csv
    return pl.concat([reads(path) for path in sorted(folder.glob(f"*.{ending}"))], how="vertical_relaxed")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, pl.DataFrame]:
    """A release in one leaf, which is that of one file with the same groups."""
    folder = tmp_path_factory.mktemp("whole")
    release = release_of(write(records(), folder / "in"))
    saved = release.save(folder / "out")
    return release, saved, cells(folder / "out")


def test_types_and_untouched_columns_are_kept(whole: Any) -> None:
    _, _, new = whole
    original = records().drop("weight")
    assert new.columns == original.columns
    assert new.schema == original.schema | {"age": pl.Float64}
    assert new["diagnosis"].equals(original["diagnosis"])
    assert new.group_by(SCAN["quasi"]).len()["len"].min() >= 5


def test_every_group_has_its_mean_median_and_mode(whole: Any) -> None:
    _, _, new = whole
    original = records()
    rank = {text: i for i, text in enumerate(LEVELS)}
    both = original.with_columns(new.select(pl.all().name.prefix("new_")).get_columns())
    for key, group in both.group_by([f"new_{name}" for name in SCAN["quasi"]]):
        if group.height > 9:  # two groups with the same values
            continue
        _, born, level, town, sex = key
        days = [day.toordinal() for day in group["born"]]
        assert abs(born.toordinal() - sum(days) / len(days)) <= 0.5
        ranks = sorted(rank[text] for text in group["level"])
        assert rank[level] == ranks[(len(ranks) - 1) // 2]
        for name, value in (("town", town), ("sex", sex)):
            counts = group.group_by(name).len()
            most = counts["len"].max()
            assert value in counts.filter(pl.col("len") == most)[name].to_list()


def test_the_figures_and_losses_are_those_of_one_file(whole: Any) -> None:
    release, saved, new = whole
    checked = shoal.check(records().drop("weight"), new, k=5, **SCAN)
    assert saved.findings.figures.facts() == checked.figures.facts()
    assert {f.check: f.status for f in checked} == {f.check: f.status for f in saved.findings if f.check != "written"}
    measured = shoal.assess(shoal.read(records().drop("weight"), **SCAN), new)
    assert release.facts["information_loss"] == pytest.approx(measured["information_loss"], rel=1e-9)


def test_the_loss_is_near_that_of_one_file(whole: Any) -> None:
    release, _, _ = whole
    table = shoal.read(records().drop("weight"), **SCAN)
    alone = shoal.microaggregate(table, 5, method="blocks", effort="quick", loss="gini")
    assert release.facts["dimensions"] == alone.facts["dimensions"]
    assert release.facts["sst"] == pytest.approx(alone.facts["sst"], rel=1e-9)
    assert release.facts["sse"] < 1.3 * alone.facts["sse"]
    for name, facts in alone.facts["per_column"].items():
        assert facts.keys() == release.facts["per_column"][name].keys()
        assert facts["kind"] == release.facts["per_column"][name]["kind"]


def test_one_leaf_gives_the_facts_of_the_same_groups(tmp_path: Path) -> None:
    """What the folder says of its loss is what one file says, for each column and each option of the scaling."""
    folder = write(records(), tmp_path / "in")
    for options in ({}, {"scaling": "minmax"}, {"importance": {"age": 3.0, "town": 0.5}}):
        release = release_of(folder, leaf=2000, **options)
        release.save(tmp_path / f"out{len(options)}{options.get('scaling', '')}")
        new = cells(tmp_path / f"out{len(options)}{options.get('scaling', '')}")
        for name, facts in release.facts["per_column"].items():
            pair = shoal.assess(shoal.read(records().select(name), quasi=[name], order={"level": LEVELS}
                                           if name == "level" else {}), new.select(name))  # fmt: skip
            assert facts["loss"] == pytest.approx(pair["information_loss"], rel=1e-9), name


def test_the_same_bits_for_other_files(whole: Any, tmp_path: Path) -> None:
    for number, starts in enumerate([(0,), (0, 3, 450, 799)]):
        release_of(write(records(), tmp_path / f"in{number}", starts)).save(tmp_path / f"out{number}")
        assert cells(tmp_path / f"out{number}").equals(whole[2])


def test_the_same_bits_on_one_two_and_four_processes(whole: Any, tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in")
    for workers in (1, 2, 4):
        files = shoal.scan(folder, workers=workers, drop=["weight"], **SCAN)
        shoal.microaggregate(files, 5, **LEAF).save(tmp_path / f"out{workers}")
        assert cells(tmp_path / f"out{workers}").equals(whole[2])


def test_weights(tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in")
    weighted = {"drop": [], "weight": "weight"}
    release = release_of(folder, scan=weighted)
    release.save(tmp_path / "out")
    new = cells(tmp_path / "out")
    w, old = records()["weight"].to_numpy(), records()
    assert np.average(new["age"], weights=w) == pytest.approx(np.average(old["age"], weights=w), rel=1e-12)
    table = shoal.read(old, **{**SCAN, **weighted})
    alone = shoal.microaggregate(table, 5, method="blocks", effort="quick", loss="gini")
    assert release.facts["sst"] == pytest.approx(alone.facts["sst"], rel=1e-9)
    assert release.facts["sse"] < 1.5 * alone.facts["sse"]
    measured = shoal.assess(table, new)["information_loss"]
    assert release.facts["information_loss"] == pytest.approx(measured, rel=1e-9)
    release_of(write(old, tmp_path / "other", (0, 11, 700)), scan=weighted).save(tmp_path / "again")
    assert cells(tmp_path / "again").equals(new)
    with pytest.raises(UsageError, match="median of a group does not support the weights"):
        release_of(folder, scan=weighted, aggregate="median")


def test_medians_instead_of_means(tmp_path: Path) -> None:
    folder = write(records().select("age", "weight", "diagnosis"), tmp_path / "in")
    files = shoal.scan(folder, on=Here(), quasi=["age", "weight"], confidential=["diagnosis"], unit=False)
    shoal.microaggregate(files, 5, aggregate="median", **LEAF).save(tmp_path / "out")
    assert set(cells(tmp_path / "out")["weight"] * 2) <= {
        a + b for a in records()["weight"] for b in records()["weight"]
    }


def test_text_files_keep_their_dates_and_labels(whole: Any, tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in", ending="csv")
    release = release_of(folder)
    saved = release.save(tmp_path / "out")
    new = cells(tmp_path / "out", "csv")
    assert new["town"].drop_nulls().str.starts_with("town ").all()
    assert new["level"].is_in(LEVELS).all()
    assert new.group_by(SCAN["quasi"]).len()["len"].min() >= 5
    assert saved.findings.figures.protected.k >= 5


def test_a_value_that_only_one_file_has(tmp_path: Path) -> None:
    """A label of one file may replace another one in a file that never had it."""
    frame = records()
    only = pl.Series(np.arange(ROWS) < 40)
    frame = frame.with_columns(town=pl.when(only).then(pl.lit("rare")).otherwise(pl.col("town").fill_null("b")))
    release_of(write(frame, tmp_path / "in")).save(tmp_path / "out")
    assert set(cells(tmp_path / "out")["town"]) <= set(frame["town"])
    again = write(frame, tmp_path / "one", (0,))
    release_of(again).save(tmp_path / "two")
    assert cells(tmp_path / "two").equals(cells(tmp_path / "out"))


def test_enums_lose_the_categories_that_no_record_has(tmp_path: Path) -> None:
    levels = pl.Enum([*LEVELS, "highest"])
    frame = records().with_columns(pl.col("level").cast(levels))
    scan = {"order": {}}
    release_of(write(frame, tmp_path / "in"), scan=scan).save(tmp_path / "out")
    parts = [pl.read_parquet(path)["level"].dtype for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert all(isinstance(part, pl.Enum) and part == parts[0] for part in parts)
    assert "highest" not in parts[0].categories.to_list()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: f.with_columns(level=pl.lit("lowest")),
            r"part-1.parquet: .*'lowest'.*which its order does not list",
        ),
        (lambda f: f.with_columns(town=pl.col("age")), r"part-1.parquet: the column 'town' holds numbers, but labels"),
        (lambda f: f.with_columns(born=pl.lit("x")), r"part-1.parquet: the column 'born' holds labels, but dates"),
        (lambda f: f.with_columns(level=pl.lit(None, pl.String)), r"part-1.parquet: .*'level' has no values"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, change: Any, message: str) -> None:
    folder = write(records(), tmp_path / "in")
    change(records()[300:500]).write_parquet(folder / "part-1.parquet")
    with pytest.raises(InputError, match=message):
        release_of(folder)


def test_labels_that_name_records_are_refused(tmp_path: Path) -> None:
    frame = records().with_columns(town=pl.Series([f"p{i}" for i in range(ROWS)]))
    with pytest.raises(InputError, match="looks like an identifier"):
        release_of(write(frame, tmp_path / "in"))


def test_categories_of_other_types_are_refused(tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in")
    part = records()[300:500].with_columns(sex=pl.col("sex").cast(pl.String))
    part.write_parquet(folder / "part-1.parquet")
    with pytest.raises(InputError, match="'sex' has the type String in part-1.parquet and the type Boolean"):
        release_of(folder)
