"""The release gate inside a save: rows in another order, what is written and what is not, and policies."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from planted import AS_IS, ORIGINAL, PARTS, QUASI, RELEASE, ROLES, K, cell, found, people, protected, write
from shoal.errors import PromiseError, ShoalError, ShoalWarning, UsageError
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import FOLDER, JUDGED, names, policy_named
from shoal.gate.promises import KAnonymity
from shoal.gate.row_order import shuffled_order
from shoal.gate.saving import Saving, save_checked

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


def save(table: pl.DataFrame, target: Path, key: int | str = 0, **saving: Any) -> Any:
    original = shoal.read(ORIGINAL, **PARTS)
    return save_checked(
        original, table, Guarantees(original.roles, QUASI, (KAnonymity(QUASI, K),)), target, Saving(**saving), key
    )


@pytest.mark.parametrize(
    ("table", "check"),
    [
        (cell(RELEASE, "income", 3, 1.0), "joint-k"),
        (cell(RELEASE, "visits", 3, 1.0), "untouched"),
        (RELEASE[1:], "rows"),
        (RELEASE.with_columns(ORIGINAL["name"]), "identifiers"),
        (RELEASE.with_columns(ORIGINAL["name"].alias("town")), "identifiers"),
        (RELEASE.with_row_index(), "columns"),
        (RELEASE.drop("town"), "columns"),
    ],
    ids=["k", "untouched", "row", "identifier", "copy", "index", "column"],
)
def test_nothing_is_left_of_a_file_that_breaks_a_guarantee(
    tmp_path: Path, ending: str, table: pl.DataFrame, check: str
) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_bytes(b"precious")
    with pytest.raises(PromiseError, match="^Nothing was written") as refused:
        save(table, target)
    assert refused.value.findings[check].status == "block"
    assert target.read_bytes() == b"precious"
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_a_file_that_lost_one_value_on_its_way_is_not_released(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that changes one value of a column that no promise is about."""
    from shoal.gate import saving

    write, target = saving.write_file, tmp_path / f"out.{ending}"

    def careless(frame: Any, *args: Any, **options: Any) -> Any:
        return write(cell(frame, "illness", 3, "none at all"), *args, **options)

    monkeypatch.setattr(saving, "write_file", careless)
    with pytest.raises(PromiseError, match="^Nothing was written") as refused:
        save(RELEASE, target)
    assert "differs from the protected table in illness" in refused.value.findings["written"].finding
    assert not target.exists()


def test_saving_under_a_policy(tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    with pytest.raises(PromiseError, match="the policy 'public' blocks it.* k is 4 instead of 11") as refused:
        save(RELEASE, target, policy="public", accept_k=K)  # what is accepted never overrides a policy
    assert {"known-k", "joint-k"} <= {f.check for f in refused.value.findings.blocking}
    assert not list(tmp_path.iterdir())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gate = save(RELEASE, target, policy="default")
    assert gate.passed and target.exists()
    assert [str(w.message).split(":")[0] for w in told if w.category is ShoalWarning] == [
        f.check for f in gate.warnings
    ]
    assert {f.check for f in gate.warnings} == {"dominance", "released-linkage"}
    assert gate.figures.known.k == K and gate.figures.released.uniques == RELEASE.height


def test_a_column_without_a_role_is_refused_without_a_policy(tmp_path: Path, ending: str) -> None:
    original = shoal.read(ORIGINAL, **(PARTS | {"as_is": "visits"}))
    target, guarantees = tmp_path / f"out.{ending}", Guarantees(original.roles, QUASI, (KAnonymity(QUASI, K),))
    with pytest.raises(PromiseError, match="1 column has no role and would be released unchanged: town") as refused:
        save_checked(original, RELEASE, guarantees, target, Saving(), 0)
    least = refused.value.findings.figures.known.k
    assert not list(tmp_path.iterdir()) and least < K
    with pytest.raises(PromiseError, match=f"k is {least} instead of {least + 1}"):
        save_checked(original, RELEASE, guarantees, target, Saving(accept_k=least + 1), 0)
    assert save_checked(original, RELEASE, guarantees, target, Saving(accept_k=least), 0).passed and target.exists()


@pytest.mark.parametrize("shuffle", [False, True])
def test_saving_beside_an_earlier_release(tmp_path: Path, shuffle: bool) -> None:
    groups = (ORIGINAL["visits"].rank("ordinal") - 1) // K
    other = RELEASE.with_columns(ORIGINAL.select(pl.col(QUASI).mean().over(groups)))
    earlier = {"same": RELEASE, "fewer": RELEASE[3:], "other": other, "apart": other.select(QUASI)[3:]}
    paths = {name: write(frame, tmp_path / f"{name}.csv") for name, frame in earlier.items()}
    target = tmp_path / "out.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShoalWarning)
        told = {name: save(RELEASE, target, previous=path, shuffle=shuffle)["previous"] for name, path in paths.items()}
    assert told["same"].status == "ok" and told["same"].figure == K
    # The earlier release does not hold three records: they hide only behind each other.
    assert told["fewer"].status == "warn" and "can join 57 records" in told["fewer"].finding
    assert told["fewer"].figure == RELEASE[:3].group_by(QUASI).len()["len"].min()
    assert told["other"].status == "warn" and told["other"].figure == 1
    assert told["apart"].status == "warn" and "not measured" in told["apart"].finding
    target.unlink()
    with pytest.raises(PromiseError, match="over both releases, the smallest class has 1 record"):
        save(RELEASE, target, previous=paths["other"], shuffle=shuffle, policy="scientific")
    assert not target.exists()


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet", "arrow", "sav", "dta", "xpt"])
def test_every_format_is_read_back(tmp_path: Path, ending: str) -> None:
    if ending in ("sav", "dta", "xpt"):
        pytest.importorskip("pyreadstat")
    gate = save(RELEASE, tmp_path / f"out.{ending}", key=3, shuffle=True)
    assert gate.passed and gate["written"].status == "ok"


@pytest.fixture
def decimals(tmp_path: Path) -> Any:
    """A file with decimal commas, whose protected column follows neither the rows nor the other column."""
    source = tmp_path / "in.csv"
    places = np.random.default_rng(2).permutation(20)
    source.write_text("a;b\n" + "".join(f"{i},50;{j}\n" for i, j in enumerate(places)))
    return shoal.read(source, quasi="b", as_is="a")


def test_text_of_untouched_numbers_stays_when_rows_are_shuffled(tmp_path: Path, decimals: Any) -> None:
    release = shoal.microaggregate(decimals, k=5, method="mdav")
    release.save(tmp_path / "kept.csv")
    release.save(tmp_path / "shuffled.csv", shuffle=True)
    release.save(tmp_path / "again.csv", shuffle=True)
    kept, moved = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("kept", "shuffled"))
    assert kept != moved and sorted(kept) == sorted(moved)
    assert moved[1].split(";")[0].endswith(",50")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "shuffled.csv").read_bytes()
    told = shoal.check(decimals, tmp_path / "shuffled.csv", k=5, seed=release.secret)
    assert told.passed and "not measured" not in told["distance-linkage"].finding
    other = shoal.microaggregate(decimals, k=5, method="mdav")  # another run, another secret
    other.save(tmp_path / "other.csv", shuffle=True)
    assert other.secret != release.secret
    assert (tmp_path / "other.csv").read_bytes() != (tmp_path / "shuffled.csv").read_bytes()


def test_a_typed_seed_repeats_the_order_with_a_warning(tmp_path: Path, decimals: Any) -> None:
    for name in ("one", "two"):
        release = shoal.microaggregate(decimals, k=5, method="mdav", seed=9)
        assert release.secret is None
        with pytest.warns(ShoalWarning, match="depend on a seed"):
            release.save(tmp_path / f"{name}.csv", shuffle=True)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert shoal.check(decimals, tmp_path / "one.csv", k=5, seed=9).passed


# -- policies ------------------------------------------------------------------------------------


def test_policies_have_a_justification_and_known_checks() -> None:
    assert names()[0] == "default" and {"public", "scientific", "clinical-0.09"} <= set(names())
    for name in names():
        policy = policy_named(name)
        assert len(policy.justification) > 100 and policy.blocks <= set(JUDGED)
        given = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        assert set(policy.sources) == set(given["thresholds"]) and all(map(str.strip, policy.sources.values()))
    assert not policy_named("default").blocks


def test_clinical_needs_twelve() -> None:
    roles = PARTS | {"as_is": {"town": AS_IS["town"]}, "confidential": ["illness", "visits"]}
    for k, status in ((11, "block"), (12, "ok")):
        frame = people(66 if k == 11 else 72)
        gate = shoal.check(frame, protected(frame, k), **roles, k=k, policy="clinical-0.09", first_release=True)
        assert gate["maximum-risk"].status == gate["known-k"].status == status and gate["small-counts"].status == "ok"
        assert gate.passed == (k == 12)


def test_what_a_policy_blocks_on_must_have_been_stated() -> None:
    frame = people(72)
    sound = PARTS | {"as_is": {"town": AS_IS["town"]}, "confidential": ["illness", "visits"], "first_release": True}
    for without, check in (("first_release", "previous"), ("confidential", "l"), ("as_is", "roles")):
        roles = {name: value for name, value in sound.items() if name != without}
        gate = shoal.check(frame, protected(frame, 12), **roles, k=12, policy="clinical-0.09")
        assert gate[check].status == "block", without
    for wordless in (["town"], "to*"):
        gate = shoal.check(frame, protected(frame, 12), **(sound | {"as_is": wordless}), k=12, policy="clinical-0.09")
        assert [f.check for f in gate.blocking] == ["as-is"]


def test_a_policy_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    own = 'title = "Own"\njustification = "Because."\nblocks = ["dominance"]\n[thresholds]\nk = 2\n'
    path.write_text(own + '[sources]\nk = "Decision 3 of our board"\n')
    assert found(RELEASE, policy=path)["dominance"].status == "block"
    for text, match in (
        ("title = 1", "has no title"),
        ('title = "a"\njustification = "b"\nblok = []', "Did you mean 'blocks'"),
        ('title = "a"\njustification = "b"\nblocks = ["dominanc"]', "Did you mean 'dominance'"),
        (
            'title = "a"\njustification = "b"\n[thresholds]\nk = "two"',
            "threshold k must be a number, 0 or more,.* not 'two'",
        ),
        ('title = "a"\njustification = "b"\norder = "up"', "kept or shuffled"),
        ("title =", "not valid TOML"),
        (own, "The threshold k of the policy .* has no source"),
        (own + '[sources]\nk = " "', "has no source"),
        (own + '[sources]\nk = "a"\nkk = "b"', "Unknown threshold with a source 'kk'"),
        ('title = "a"\njustification = "b"\nexplicit = 1', "explicit must be true or false"),
    ):
        path.write_text(text)
        with pytest.raises(ShoalError, match=match):
            policy_named(path)
    with pytest.raises(UsageError, match="Did you mean 'public'"):
        policy_named("publik")
