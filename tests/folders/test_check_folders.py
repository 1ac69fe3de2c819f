"""`shoal check` on folders: what one file with all records gives, and nothing that was tampered with passes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from command_line import attempt, run
from folders.here import Here
from folders.test_folders import LEAF, ROLES, ROWS, cells, records, release_of, write
from shoal.errors import InputError, PromiseError, UsageError
from shoal.folders import judging
from shoal.gate.folders import whole
from shoal.gate.policy import policy_named

QUASI = ["age", "income", "x"]
OF_FOLDERS = {"files", "drawn"}  # findings that one file does not have


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The original folder and its release."""
    folder = tmp_path_factory.mktemp("released")
    data = write(records(), folder / "claims")
    release_of(data, Here()).save(folder / "out").recipe.save(folder / "run.toml")
    return data, folder / "out"


def checked(data: Path, release: Path, **options: Any) -> Any:
    files = shoal.scan(data, on=Here(), quasi=QUASI, **ROLES)
    return shoal.check_files(files, release, **{"k": 5, **options})


def draw(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Draw so many records for the checks that otherwise see all of them."""
    for name, value in {"ALL_ROWS": rows, "ALL": rows - 100, "SAMPLE": rows - 100}.items():
        monkeypatch.setattr(whole, name, value)


def copy(release: Path, target: Path, change: Callable[[pl.DataFrame], pl.DataFrame], name: str = "part-1") -> Path:
    """A copy of a release in which one file is changed."""
    shutil.copytree(release, target)
    path = target / f"{name}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    return target


@pytest.mark.parametrize("bucket_rows", [500_000, 130])
@pytest.mark.parametrize("policy", ["default", "public"])
def test_the_findings_are_those_of_one_file(
    released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, bucket_rows: int, policy: str
) -> None:
    monkeypatch.setattr(judging, "BUCKET_ROWS", bucket_rows)
    one = shoal.check(records(), cells(released[1]), quasi=QUASI, k=5, policy=policy, **ROLES)
    many = checked(*released, policy=policy)
    assert many.figures.facts() == one.figures.facts()
    assert {f.check: f.status for f in many if f.check not in OF_FOLDERS} == {f.check: f.status for f in one}
    assert many["files"].status == "ok"
    assert many.passed is (policy == "default")


def test_a_large_release_is_judged_by_counts(released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    one = checked(*released).figures
    draw(monkeypatch, 400)
    many = checked(*released)
    assert many.passed and 400 < many["drawn"].figure < ROWS
    assert [(f.k, f.uniques) for f in (many.figures.known, many.figures.released)] == [
        (f.k, f.uniques) for f in (one.known, one.released)
    ]


def test_a_policy_blocks_on_checks_that_were_not_made(
    released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With too many values for their shares t is not counted, and a policy that asks for it blocks."""
    text = 'title = "t"\njustification = "j"\nblocks = ["t"]\n[thresholds]\nt = 0.99\n[sources]\nt = "decided here"'
    (tmp_path / "own.toml").write_text(text)
    options: dict[str, Any] = {"policy": tmp_path / "own.toml", "first_release": True}
    draw(monkeypatch, 400)
    assert checked(*released, **options).passed
    monkeypatch.setattr(whole, "MOST_SHARES", 3)
    findings = checked(*released, **options)
    assert not findings.passed and "has more than 3 distinct values" in findings["t"].finding
    monkeypatch.setattr(whole.content, "of_keys", lambda *given: whole.Finding("other", "ok", ""))
    monkeypatch.setattr(whole.members, "of_dominated", lambda *given: whole.Finding("other", "ok", ""))
    policy = whole.replace(policy_named("default"), blocks=frozenset({"dominance"}))
    monkeypatch.setattr("shoal.folders.checking.policy_named", lambda name: policy)
    findings = checked(*released, first_release=True)
    assert not findings.passed and "not made: dominance" in findings["drawn"].finding


TAMPERED: list[tuple[str, Callable[[pl.DataFrame], pl.DataFrame], str]] = [
    ("joint-k", lambda f: f.with_columns(age=pl.when(pl.int_range(pl.len()) == 7).then(1.5).otherwise("age")), "1 rec"),
    ("untouched", lambda f: f.with_columns(diagnosis=pl.lit("a")), "part-1.parquet: "),
    ("rows", lambda f: f[:-1], "part-1.parquet: 1 row is missing"),
    ("rows", lambda f: f.with_columns(f.select(QUASI)[::-1].get_columns()), "part-1.parquet: the protected values do"),
    ("columns", lambda f: f.with_columns(name=pl.lit("x")), "part-1.parquet: "),
    ("columns", lambda f: f.drop("x"), "part-1.parquet: "),
]


@pytest.mark.parametrize(("check", "change", "text"), TAMPERED)
@pytest.mark.parametrize("all_rows", [100_000, 400])
def test_a_tampered_release_is_refused(
    released: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, all_rows: int,
    check: str, change: Callable[[pl.DataFrame], pl.DataFrame], text: str,
) -> None:  # fmt: skip
    draw(monkeypatch, all_rows)
    findings = checked(released[0], copy(released[1], tmp_path / "out", change))
    assert not findings.passed
    assert findings[check].status == "block" and text in findings[check].finding


def test_files_that_are_missing_or_strange_are_refused(released: tuple[Path, Path], tmp_path: Path) -> None:
    folder = copy(released[1], tmp_path / "out", lambda frame: frame)
    (folder / "_SUCCESS").unlink()
    assert checked(released[0], folder)["files"].status == "warn"
    shutil.copy(folder / "part-0.parquet", folder / "part-9.parquet")
    assert "1 file that no original file has, such as part-9" in checked(released[0], folder)["files"].finding
    (folder / "part-1.parquet").unlink()
    findings = checked(released[0], folder)
    assert not findings.passed and "1 file missing, such as part-1.parquet" in findings["files"].finding


def test_the_command(released: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.places.place_named", lambda name, workers: Here())
    monkeypatch.setattr("shoal.folders.checking.place_named", lambda name, workers: Here())
    data, release = released
    roles = ["--confidential", "diagnosis", "--no-unit"]
    facts = json.loads(run("check", f"{data}/*.parquet", release, "-k", 5, *roles, "--json").stdout)
    assert facts["passed"] is True and facts["figures"]["known"]["k"] == 5
    again = run("check", data, release, "--recipe", release.parent / "run.toml", "--workers", 1)
    assert "all 3 files are there" in again.stdout
    broken = copy(release, tmp_path / "broken", lambda frame: frame.with_columns(age=pl.int_range(pl.len())))
    refused = attempt("check", data, broken, "-k", 5, *roles)
    assert refused.exit_code == 1 and "Blocked by" in refused.output
    for more, text in (
        (["--swapped", "age"], "--swapped is about a protection that takes one file"),
        (["--missing", "drop"], "Remove --missing"),
        (["--shuffled"], "--recipe FILE"),
        (["--previous", "nowhere"], "The earlier release nowhere does not exist"),
    ):
        wrong = attempt("check", data, release, "-k", 5, *roles, *more)
        assert wrong.exit_code == 2 and text in wrong.output
    assert "is not a folder" in attempt("check", data, release / "part-0.parquet", "-k", 5, *roles).output


# -- the order of the rows --------------------------------------------------------------------------


def test_rows_are_shuffled_within_each_file(tmp_path: Path) -> None:
    data = write(records().with_columns(id=pl.int_range(pl.len())), tmp_path / "in")
    files = {"on": Here(), "quasi": QUASI, "as_is": ["id"], **ROLES}
    release = shoal.microaggregate(shoal.scan(data, **files), 5, **LEAF)
    saved = release.save(tmp_path / "out", shuffle=True)
    saved.recipe.save(tmp_path / "run.toml")
    new, secret = cells(tmp_path / "out"), saved.recipe.secret
    assert secret is not None
    for start, stop in ((0, 300), (300, 500), (500, 900)):
        part = new["id"][start:stop]
        assert sorted(part) == list(range(start, stop)) and part.to_list() != sorted(part)
    plain = shoal.microaggregate(shoal.scan(data, **files), 5, **LEAF)
    plain.save(tmp_path / "plain", keep_order=True)
    assert new.sort("id").equals(cells(tmp_path / "plain"))
    findings = shoal.check_files(shoal.scan(data, **files), tmp_path / "out", k=5, seed=secret)
    assert findings.passed and "shuffled within each file" in findings["rows"].finding
    assert not shoal.check_files(shoal.scan(data, **files), tmp_path / "out", k=5).passed
    again = shoal.run_files(tmp_path / "run.toml", on=Here())
    again.save(tmp_path / "again", shuffle=True)
    assert cells(tmp_path / "again").equals(new)


def test_files_in_order_disclose_values_although_their_rows_are_shuffled(tmp_path: Path) -> None:
    data = write(records().sort("income"), tmp_path / "in", tuple(range(0, 900, 60)))
    with pytest.raises(PromiseError, match=r"row order follows 'income'.*Divide the records at random among the files"):
        release_of(data, Here()).save(tmp_path / "out", shuffle=True)
    with pytest.raises(UsageError, match="cannot be combined"):
        release_of(data, Here()).save(tmp_path / "out", shuffle=True, keep_order=True)


# -- an earlier release -----------------------------------------------------------------------------


def test_an_earlier_release_is_joined_by_file(
    released: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, release = released
    other = release_of(data, Here(), k=7)
    with pytest.warns(shoal.errors.ShoalWarning, match="the smallest class over both has"):
        finding = other.save(tmp_path / "other", previous=release).findings["previous"]
    one = shoal.check(records(), cells(tmp_path / "other"), quasi=QUASI, k=7, previous=cells(release), **ROLES)
    assert (finding.status, finding.figure) == (one["previous"].status, one["previous"].figure) == ("warn", 1)
    for rows in (100_000, 400):
        draw(monkeypatch, rows)
        same = checked(data, release, previous=release)["previous"]
        assert (same.status, same.figure) == ("ok", 5)
        assert checked(data, tmp_path / "other", k=7, previous=release)["previous"].figure == 1
    exact = checked(data, release, previous=data)["previous"]
    assert exact.status == "warn" and "holds the original 'age' of 100 %" in exact.finding


def test_an_earlier_release_that_does_not_fit(released: tuple[Path, Path], tmp_path: Path) -> None:
    data, release = released
    short = copy(release, tmp_path / "short", lambda frame: frame[:-1])
    with pytest.raises(InputError, match=r"has 199 rows, and the original 200"):
        checked(data, release, previous=short)
    turned = copy(release, tmp_path / "turned", lambda frame: frame[::-1])
    with pytest.raises(InputError, match=r"rows in another order than the original \(see 'diagnosis'\)"):
        checked(data, release, previous=turned)
    (short / "part-1.parquet").unlink()
    with pytest.raises(InputError, match=r"no file part-1.parquet"):
        checked(data, release, previous=short)
    fewer = copy(release, tmp_path / "fewer", lambda frame: frame.drop("x"))
    with pytest.raises(InputError, match=r"part-1.parquet has other columns than part-0.parquet"):
        checked(data, release, previous=fewer)
