"""The release gate inside a save: rows in another order, what is written and what is not, and policies."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from planted import ORIGINAL, QUASI, RELEASE, ROLES, K, cell, found, people, protected, write
from shoal.data.roles import Roles
from shoal.data.table import Table
from shoal.errors import PromiseError, ShoalError, ShoalWarning, UsageError
from shoal.gate.asked import Asked
from shoal.gate.order import shuffled_order
from shoal.gate.policy import JUDGED, names, policy_named
from shoal.gate.saving import save_checked

# -- rows in another order -----------------------------------------------------------------------


def test_the_policy_public_asks_for_another_order(tmp_path: Path) -> None:
    release = protected(ORIGINAL, 12)
    roles = ROLES | {"k": 12}
    kept = shoal.check(ORIGINAL, release, **roles, policy="public")
    assert kept["rows"].status == "block" and "--shuffle" in kept["rows"].todo
    order = shuffled_order(5, ORIGINAL, QUASI)
    moved = write(release[order], tmp_path / "r.csv")
    unknown = shoal.check(ORIGINAL, moved, **roles, policy="public")
    assert unknown["rows"].status == "ok" and unknown["untouched"].status == "ok"
    assert unknown["distance-linkage"].status == "block" and "--seed" in unknown["distance-linkage"].todo
    known = shoal.check(ORIGINAL, moved, **roles, policy="public", seed=5)
    assert known["rows"].status == "ok" and "not measured" not in known["distance-linkage"].finding
    wrong = shoal.check(ORIGINAL, moved, **roles, policy="public", seed=6)
    assert not wrong.passed and wrong["untouched"].status == "block"
    plain = shoal.check(ORIGINAL, moved, **roles)
    assert plain["rows"].status == "block" and "--shuffled" in plain["rows"].todo
    assert shoal.check(ORIGINAL, moved, **roles, shuffled=True).passed
    changed = cell(release[order], "town", 0, "west")
    assert shoal.check(ORIGINAL, changed, **roles, shuffled=True)["untouched"].status == "block"


def test_a_shuffled_file_of_protected_columns_only() -> None:
    bare, release = ORIGINAL.select(QUASI), RELEASE.select(QUASI)
    order = shuffled_order(1, bare, QUASI)
    assert shoal.check(bare, release, policy="public")["rows"].status == "block"
    assert shoal.check(bare, release[order], policy="public")["rows"].status == "ok"


def test_the_order_depends_on_seed_and_original_alone() -> None:
    first = shuffled_order(1, ORIGINAL, QUASI)
    assert np.array_equal(first, shuffled_order(1, ORIGINAL, QUASI))
    assert np.array_equal(np.sort(first), np.arange(60))
    assert not np.array_equal(first, shuffled_order(2, ORIGINAL, QUASI))
    assert not np.array_equal(first, shuffled_order(1, ORIGINAL.with_columns(pl.col("age") + 1), QUASI))


# -- saving --------------------------------------------------------------------------------------


def save(table: pl.DataFrame, target: Path, **more: Any) -> Any:
    given: dict[str, Any] = {"seed": 0, "shuffle": False, "policy": None, "previous": None} | more
    original = Table(ORIGINAL, Roles("name", QUASI, "illness"))
    return save_checked(original, table, Asked(("name",), QUASI, ("illness",), None, K), target, **given)


@pytest.mark.parametrize(
    "table",
    [
        cell(RELEASE, "income", 3, 1.0),
        cell(RELEASE, "visits", 3, 1.0),
        RELEASE[1:],
        RELEASE.with_columns(ORIGINAL["name"]),
        RELEASE.with_columns(ORIGINAL["name"].alias("town")),
        RELEASE.with_row_index(),
        RELEASE.drop("town"),
    ],
    ids=["k", "untouched", "row", "identifier", "copy", "index", "column"],
)
def test_nothing_is_left_of_a_file_that_breaks_a_promise(tmp_path: Path, ending: str, table: pl.DataFrame) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_bytes(b"precious")
    with pytest.raises(PromiseError, match="nothing is written"):
        save(table, target)
    assert target.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_saving_under_a_policy(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    with pytest.raises(PromiseError, match="'public'.*joint-k"):
        save(RELEASE, target, policy="public")
    assert not list(tmp_path.iterdir())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gate = save(RELEASE, target, policy="default")
    assert gate.passed and target.exists()
    assert [str(w.message).split(":")[0] for w in told if w.category is ShoalWarning] == [
        f.check for f in gate.warnings
    ]
    assert "uniques-other" in {f.check for f in gate.warnings}


@pytest.mark.parametrize("shuffle", [False, True])
def test_saving_beside_an_earlier_release(tmp_path: Path, shuffle: bool) -> None:
    target = tmp_path / "out.csv"
    same, fewer = write(RELEASE, tmp_path / "same.csv"), write(RELEASE[3:], tmp_path / "fewer.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        beside, unlike = (save(RELEASE, target, previous=path, shuffle=shuffle)["previous"] for path in (same, fewer))
    assert beside.status == "ok" and beside.figure == K
    assert unlike.status == "warn" and "the earlier release has 57 rows and this one 60" in unlike.finding


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "dta", "xpt"])
def test_every_format_is_read_back(tmp_path: Path, ending: str) -> None:
    if ending in ("sav", "dta", "xpt"):
        pytest.importorskip("pyreadstat")
    gate = save(RELEASE, tmp_path / f"out.{ending}", shuffle=True, seed=3)
    assert gate.passed and gate["written"].status == "ok"


def test_text_of_untouched_numbers_stays_when_rows_are_shuffled(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a;b\n" + "".join(f"{i},50;{i}\n" for i in range(20)))
    release = shoal.microaggregate(shoal.read(source, quasi="b"), k=5, method="mdav", seed=9)
    release.save(tmp_path / "kept.csv")
    release.save(tmp_path / "shuffled.csv", shuffle=True)
    release.save(tmp_path / "again.csv", shuffle=True)
    kept, moved = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("kept", "shuffled"))
    assert kept != moved and sorted(kept) == sorted(moved)
    assert moved[1].split(";")[0].endswith(",50")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "shuffled.csv").read_bytes()


# -- policies ------------------------------------------------------------------------------------


def test_policies_have_a_justification_and_known_checks() -> None:
    assert names()[0] == "default" and {"public", "scientific", "clinical-0.09"} <= set(names())
    for name in names():
        policy = policy_named(name)
        assert len(policy.justification) > 100 and policy.blocks <= set(JUDGED)
    assert not policy_named("default").blocks


def test_clinical_needs_twelve() -> None:
    for k, status in ((11, "block"), (12, "ok")):
        frame = people(66 if k == 11 else 72)
        gate = shoal.check(frame, protected(frame, k), quasi=QUASI, identifiers="name", k=k, policy="clinical-0.09")
        assert gate["maximum-risk"].status == status and gate["small-counts"].status == "ok"


def test_a_policy_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('title = "Own"\njustification = "Because."\nblocks = ["dominance"]\n[thresholds]\nk = 2\n')
    assert found(RELEASE, policy=path)["dominance"].status == "block"
    for text, match in (
        ("title = 1", "needs a title"),
        ('title = "a"\njustification = "b"\nblok = []', "did you mean 'blocks'"),
        ('title = "a"\njustification = "b"\nblocks = ["dominanc"]', "did you mean 'dominance'"),
        ('title = "a"\njustification = "b"\n[thresholds]\nk = "two"', "must be a number"),
        ('title = "a"\njustification = "b"\norder = "up"', "kept or shuffled"),
        ("title =", "not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(ShoalError, match=match):
            policy_named(path)
    with pytest.raises(UsageError, match="did you mean 'public'"):
        policy_named("publik")
