"""`shoal assess` with survey weights: the loss is weighted, the risk is not, and the command says so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import run
from shoal.errors import ShoalError
from shoal.measures.measure import declared_measures


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """40 records in pairs that are released by their means; the weights grow with the size of the change."""
    rng = np.random.default_rng(3)
    values = rng.normal(50, 9, (40, 2))
    means = values.reshape(20, 2, 2).mean(axis=1).repeat(2, axis=0)
    weights = 1.0 + np.abs(values - means).sum(axis=1).round(2)
    folder = tmp_path_factory.mktemp("weights")
    for name, table in (("before.csv", values), ("after.csv", means)):
        pl.DataFrame(table, schema=["a", "b"]).with_columns(w=weights).write_csv(folder / name)
    return folder / "before.csv", folder / "after.csv"


def weighted_loss(files: tuple[Path, Path]) -> float:
    """100 SSE / SST by hand: every square counts as often as the weight says, and each column has the variance 1."""
    before, after = (pl.read_csv(path) for path in files)
    w, share = before["w"].to_numpy(), []
    for name in ("a", "b"):
        x, y = before[name].to_numpy(), after[name].to_numpy()
        mean = (w * x).sum() / w.sum()
        share.append((w * (x - y) ** 2).sum() / (w * (x - mean) ** 2).sum())
    return 100.0 * float(np.mean(share))


def test_the_loss_is_weighted_and_the_risk_is_not(files: tuple[Path, Path]) -> None:
    plain = shoal.assess(*files, quasi=["a", "b"])
    weighted = shoal.assess(*files, quasi=["a", "b"], weight="w")
    assert weighted["information_loss"] == pytest.approx(weighted_loss(files), rel=1e-9)
    assert weighted["information_loss"] > 1.05 * plain["information_loss"]
    for measure in declared_measures():
        if measure.name in plain and not measure.weighted:
            assert weighted[measure.name] == plain[measure.name], measure.name


def test_the_command_and_python_agree_and_the_note_names_the_measures(files: tuple[Path, Path]) -> None:
    arguments = ("assess", *files, "--quasi", "a,b", "--weight", "w")
    assert json.loads(run(*arguments, "--json").stdout) == dict(shoal.assess(*files, quasi=["a", "b"], weight="w"))
    note = run(*arguments).stdout.strip().splitlines()[-1]
    counts, unchanged = note.split("They do not change")
    assert counts.startswith("The weights 'w' count in information loss, ") and "score" in counts
    assert " k, " in unchanged and "distance linkage" in unchanged and "information loss" not in unchanged
    assert "The weights" not in run(*arguments[:-2]).stdout


def test_a_weight_that_is_not_a_column_is_refused(files: tuple[Path, Path]) -> None:
    with pytest.raises(ShoalError, match="Unknown column 'weights'"):
        shoal.assess(*files, quasi=["a", "b"], weight="weights")


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@pytest.mark.parametrize("missing", ["drop", "median"])
def test_missing_values_and_weights_together(files: tuple[Path, Path], tmp_path: Path, missing: str) -> None:
    before, after = (pl.read_csv(path) for path in files)
    holed = before.with_columns(a=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("a")))
    paths = tmp_path / "before.csv", tmp_path / "after.csv"
    kept = pl.int_range(pl.len()) != 3
    for path, table in zip(paths, (holed, after.filter(kept) if missing == "drop" else after), strict=True):
        table.write_csv(path)
    filled = (
        before.filter(kept) if missing == "drop" else holed.with_columns(pl.col("a").fill_null(pl.col("a").median()))
    )
    expected = shoal.assess(filled, pl.read_csv(paths[1]), quasi=["a", "b"], weight="w")
    arguments = ("assess", *paths, "--quasi", "a,b", "--weight", "w", "--missing", missing, "--json")
    measured = json.loads(run(*arguments).stdout)
    assert measured.keys() == expected.keys()
    for name, value in expected.items():
        assert measured[name] == (value if value is None else pytest.approx(value, rel=1e-9)), name
