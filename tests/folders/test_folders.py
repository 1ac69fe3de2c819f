"""A release of many files: the same bits wherever it runs, every check, and every way in which a run can break."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import attempt, run
from folders.here import Here, Killing
from shoal.errors import InputError, PromiseError, UsageError, WriteError
from shoal.folders import judging, leaves
from shoal.folders import staging as staging_module
from shoal.gate.folders import whole
from shoal.sources.scanning import cells_of

ROWS = 900
LEAF = {"effort": "quick", "leaf": 250, "rounds": 2}
ROLES: dict[str, Any] = {"confidential": ["diagnosis"], "unit": False}


def records(rows: int = ROWS) -> pl.DataFrame:
    """Numbers of three kinds (whole, two decimals, any), and a confidential label."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, size=rows)
    income = np.round(rng.lognormal(3, 0.5, size=rows) + age / 10, 2)
    x = rng.normal(size=rows) + age / 20
    return pl.DataFrame(
        {"age": age, "income": income, "x": x, "diagnosis": rng.choice(["a", "b", "c", "d"], size=rows)}
    )


def write(frame: pl.DataFrame, folder: Path, starts: tuple[int, ...] = (0, 300, 500), ending: str = "parquet") -> Path:
    """Write the rows into files that begin at these rows."""
    folder.mkdir()
    for number, (start, stop) in enumerate(zip(starts, (*starts[1:], frame.height), strict=True)):
        part = frame[start:stop]
        target = folder / f"part-{number}.{ending}"
        part.write_parquet(target) if ending == "parquet" else part.write_csv(target)
    return folder


def release_of(data: Any, on: Any, k: int = 5, **options: Any) -> Any:
    """A release of some files, staged."""
    scan = {name: options.pop(name) for name in ("staging", "quasi") if name in options}
    return shoal.microaggregate(shoal.scan(data, on=on, **ROLES, **scan), k, **{**LEAF, **options})


def cells(folder: Path) -> pl.DataFrame:
    """The records of a released folder, in order."""
    assert (folder / "_SUCCESS").exists()
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(records(), tmp_path_factory.mktemp("data") / "claims")


@pytest.fixture(scope="module")
def expected(data: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """What one worker without any trouble releases."""
    target = tmp_path_factory.mktemp("expected") / "out"
    release_of(data, Here()).save(target)
    return cells(target)


@pytest.fixture
def one_file_per_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is routed by itself, as a file of a million records is."""
    monkeypatch.setattr(leaves, "BATCH_ROWS", 1)


def nothing_left(folder: Path) -> bool:
    """Whether neither the release nor an unfinished folder of it is there."""
    return not (folder / "out").exists() and not (folder / ".out.part").exists()


# -- the result ------------------------------------------------------------------------------------


def test_every_record_is_there_and_k_holds(data: Path, expected: pl.DataFrame) -> None:
    original = records()
    assert expected["diagnosis"].equals(original["diagnosis"])
    assert expected.group_by("age", "income", "x").len()["len"].min() >= 5
    for name in ("age", "income", "x"):
        assert expected[name].mean() == pytest.approx(float(original[name].mean()), rel=1e-12)


def test_means_are_exact(expected: pl.DataFrame) -> None:
    sums = records().with_columns(new=expected["income"]).group_by("new").agg(pl.col("income"), pl.len())
    for new, values, size in sums.iter_rows():
        assert new == sum(round(v * 100) for v in values) / (size * 100)


def test_the_loss_is_near_that_of_one_machine(data: Path, expected: pl.DataFrame) -> None:
    alone = shoal.microaggregate(shoal.read(records(), **ROLES), 5, method="blocks", effort="quick")
    together = release_of(data, Here())
    assert together.facts["information_loss"] < 1.1 * alone.facts["information_loss"]
    assert together.facts["leaves"] > 1
    together.discard()


@pytest.mark.parametrize("bucket_rows", [500_000, 130])
def test_the_figures_are_those_of_the_release_check(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bucket_rows: int
) -> None:
    monkeypatch.setattr(judging, "BUCKET_ROWS", bucket_rows)
    saved = release_of(data, Here()).save(tmp_path / "out")
    check = shoal.check(records(), cells(tmp_path / "out"), quasi=["age", "income", "x"], k=5, **ROLES)
    assert saved.findings.figures.facts() == check.figures.facts()
    assert {f.check: f.status for f in check} == {f.check: f.status for f in saved.findings if f.check != "written"}


def test_the_scale_of_a_column_is_that_of_all_files() -> None:
    files = [np.array([1.0, 2.0, 6.0]), np.array([40.0]), np.empty(0), np.array([100.0, 101.0])]
    moments = [(float(x.size), x.mean(), ((x - x.mean()) ** 2).sum()) if x.size else (0.0, 0.0, 0.0) for x in files]
    assert judging._deviation(moments) == pytest.approx(np.concatenate(files).std())


def test_a_large_table_is_drawn(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = release_of(data, Here()).save(tmp_path / "one").findings.figures
    monkeypatch.setattr(whole, "ALL_ROWS", 400)
    monkeypatch.setattr(whole, "ALL", 300)
    monkeypatch.setattr(whole, "SAMPLE", 300)
    findings = release_of(data, Here()).save(tmp_path / "out").findings
    drawn = findings.figures
    assert findings["drawn"].figure < ROWS
    for name in ("protected", "known", "released"):
        one, other = getattr(complete, name), getattr(drawn, name)
        assert (one.k, one.uniques) == (other.k, other.uniques)
        assert abs(one.linked - other.linked) < 5 * other.linked_se


# -- the same bits ---------------------------------------------------------------------------------


def test_the_same_bits_for_other_files(expected: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (starts, batch) in enumerate([((0,), 1), ((0, 1, 7, 450, 899), 10**6), ((0, 1, 7, 450, 899), 450)]):
        monkeypatch.setattr(leaves, "BATCH_ROWS", batch)
        folder, place = write(records(), tmp_path / f"in{number}", starts), Here()
        release_of(folder, place).save(tmp_path / f"out{number}")
        assert cells(tmp_path / f"out{number}").equals(expected)
        batches = (1, 1, 2)[number]  # of 450 records at most: three files, then two
        assert place.units.count("route") == batches
        assert place.units.count("collect") == (0 if batches == len(starts) else batches)


def test_the_same_bits_on_processes_that_are_killed(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    place = Killing(2, "route", "search", "write")
    try:
        release_of(data, place).save(tmp_path / "out")
    finally:
        place.close()
    assert place.kills == 3
    assert cells(tmp_path / "out").equals(expected)


def test_the_same_bits_from_a_recipe(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    saved = release_of(data, Here()).save(tmp_path / "out")
    saved.recipe.save(tmp_path / "run.toml")
    assert "leaves_above = 100000000" in (tmp_path / "run.toml").read_text()  # the same on every machine
    shoal.run_files(tmp_path / "run.toml", on=Here()).save(tmp_path / "again")
    assert cells(tmp_path / "again").equals(expected)
    with pytest.raises(UsageError, match="folder of files"):
        shoal.run(tmp_path / "run.toml")


def test_a_recipe_names_its_files(tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in")
    release_of(folder, Here()).save(tmp_path / "out").recipe.save(tmp_path / "run.toml")
    records()[::-1][:400].write_parquet(folder / "part-2.parquet")
    with pytest.raises(InputError, match=r"part-2.parquet has changed since the recipe was written"):
        shoal.run_files(tmp_path / "run.toml", on=Here())


# -- what breaks -----------------------------------------------------------------------------------


def test_a_killed_driver_continues(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    arguments = [
        *("microaggregate", str(data), "-k", "5", "--confidential", "diagnosis", "--no-unit", "--effort", "quick"),
        *("--leaf", "250", "--rounds", "2", "--workers", "1", "-o", str(tmp_path / "out")),
    ]
    driver = subprocess.Popen([sys.executable, "-m", "shoal", *arguments])
    staged = tmp_path / ".out.staging"
    while not (staged / "search-0" / "000001.json").exists():
        assert driver.poll() is None
        time.sleep(0.01)
    children = [text.read_text().split() for text in Path(f"/proc/{driver.pid}/task").glob("*/children")]
    workers = [int(child) for listed in children for child in listed]
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert not (tmp_path / "out").exists()
    place = Here()
    release = release_of(data, place, staging=staged)
    release.save(tmp_path / "out")
    assert place.units.count("search") <= 3 * release.facts["leaves"] - 2  # those that had ended were not run again
    assert "read" not in place.units
    assert cells(tmp_path / "out").equals(expected)
    assert workers and not any(map(_is_running, workers))


def _is_running(process: int) -> bool:
    """Whether a process still runs shortly after its parent has ended."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("batch", [1, 10**6])
def test_a_lost_staging_file_is_made_again(
    data: Path, expected: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(leaves, "BATCH_ROWS", batch)
    staged = tmp_path / "staged"
    lost = {"search": "route/000001.arrow", "write": "search-2/000002.arrow", "count_within": "write/000000.arrow"}
    if batch > 1:  # the files are routed and collected together
        lost |= {"search": "route/000000.arrow", "write": "collect/000000.arrow"}

    def lose(work: str) -> None:
        if work in lost:
            (staged / lost.pop(work)).unlink()

    with pytest.warns(shoal.errors.ShoalWarning, match="was lost, so its part of the work was done again"):
        release_of(data, Here(lose), staging=staged).save(tmp_path / "out")
    assert not lost
    assert cells(tmp_path / "out").equals(expected)


@pytest.mark.usefixtures("one_file_per_batch")
def test_a_staged_file_with_other_bytes_is_made_again(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    staged = tmp_path / "staged"
    release_of(data, Here(), staging=staged).close()
    path = staged / "search-2" / "000000.arrow"
    content = bytearray(path.read_bytes())
    frame = pl.read_ipc(bytes(content))
    place = content.find(np.float64(frame["x0"][0]).tobytes())
    assert place > 0
    content[place : place + 8] = np.float64(frame["x0"][0] + 1).tobytes()
    path.write_bytes(content)
    with pytest.warns(shoal.errors.ShoalWarning, match="was lost, so its part of the work was done again"):
        release_of(data, Here(), staging=staged).save(tmp_path / "out")  # that part needs dropped results, too
    assert cells(tmp_path / "out").equals(expected)


def test_a_full_staging_disk(
    data: Path, expected: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged, write_staged = tmp_path / "staged", staging_module.pl.DataFrame.write_ipc
    left = 9

    def write_until_full(frame: pl.DataFrame, path: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            Path(path).write_bytes(b"half a file")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write_staged(frame, path, **named)

    with monkeypatch.context() as patch:
        patch.setattr(staging_module.pl.DataFrame, "write_ipc", write_until_full)
        with pytest.raises(WriteError, match="No space left on device"):
            release_of(data, Here(), staging=staged)
    assert not list(staged.rglob("*.part"))
    release_of(data, Here(), staging=staged).save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(expected)


def test_a_file_that_is_changed_after_its_check_is_refused(data: Path, tmp_path: Path) -> None:
    def tamper(work: str) -> None:
        if work == "seal":
            path = tmp_path / ".out.part" / "part-1.parquet"
            pl.read_parquet(path).with_columns(age=pl.lit(20.0)).write_parquet(path)

    with pytest.raises(PromiseError, match=r"part-1.parquet was changed after its check"):
        release_of(data, Here(tamper)).save(tmp_path / "out")
    assert nothing_left(tmp_path)


def test_a_file_that_shoal_did_not_write_is_refused(data: Path, tmp_path: Path) -> None:
    def add(work: str) -> None:
        if work == "count_within":
            (tmp_path / ".out.part" / "part-9.parquet").write_bytes(b"")

    with pytest.raises(PromiseError, match=r"a file that Shoal did not write: part-9.parquet"):
        release_of(data, Here(add)).save(tmp_path / "out")
    assert nothing_left(tmp_path)


@pytest.mark.usefixtures("one_file_per_batch")
@pytest.mark.parametrize("all_rows", [ROWS, 400])
def test_staged_values_that_are_changed_are_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, all_rows: int
) -> None:
    staged = tmp_path / "staged"
    monkeypatch.setattr(whole, "ALL_ROWS", all_rows)

    def change(work: str) -> None:
        if work == "write":
            path = staged / "search-2" / "000000.arrow"
            frame = pl.read_ipc(path, memory_map=False) if _maps() else pl.read_ipc(path.read_bytes())
            x = frame["x0"].to_list()
            frame.with_columns(x0=pl.Series([x[0] + 1.0, *x[1:]])).write_ipc(path)

    with pytest.raises(PromiseError, match="k is 1 instead of 5") as refused:
        release_of(data, Here(change), staging=staged).save(tmp_path / "out")
    assert refused.value.findings["joint-k"].status == "block"
    assert nothing_left(tmp_path)


def _maps() -> bool:
    import inspect

    return "memory_map" in inspect.signature(pl.read_ipc).parameters


def test_an_input_that_changes_during_the_run_is_refused(tmp_path: Path) -> None:
    folder = write(records(), tmp_path / "in")

    def change(work: str) -> None:
        if work == "write":
            records()[500:][::-1].write_parquet(folder / "part-2.parquet")

    with pytest.raises(InputError, match=r"part-2.parquet has changed since the run began"):
        release_of(folder, Here(change)).save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_unit_that_runs_twice_changes_nothing(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    class Twice(Here):
        def map(self, function: Any, units: Any, **named: Any) -> list[Any]:
            super().map(function, units)
            return super().map(function, units, **named)

    release_of(data, Twice()).save(tmp_path / "out")
    assert cells(tmp_path / "out").equals(expected)


# -- the gate --------------------------------------------------------------------------------------


def test_a_column_without_a_role_counts_as_known(tmp_path: Path) -> None:
    folder = write(records().with_columns(place=pl.Series(range(ROWS)) % 7), tmp_path / "in")
    with pytest.raises(PromiseError, match=r"has no role and would be released unchanged: place") as refused:
        release_of(folder, Here(), quasi=["age", "income", "x"]).save(tmp_path / "out")
    assert refused.value.findings.figures.known.k == 1
    assert nothing_left(tmp_path)
    saved = release_of(folder, Here(), quasi=["age", "income", "x"]).save(tmp_path / "out", accept_k=1)
    assert saved.findings.figures.known.uniques > 0


def test_a_class_over_two_files_is_counted_as_one(data: Path, expected: pl.DataFrame) -> None:
    first = expected[:300].group_by("age", "income", "x").len()["len"].min()
    assert first is not None and first < 5


def test_a_column_that_gives_a_value_away_is_refused(tmp_path: Path) -> None:
    folder = write(records().with_columns(tax=pl.col("income") * 0.3), tmp_path / "in")
    with pytest.raises(PromiseError, match="gives 'income' away"):
        release = shoal.microaggregate(
            shoal.scan(folder, on=Here(), quasi=["age", "income", "x"], as_is=["tax"], **ROLES), 5, **LEAF
        )
        release.save(tmp_path / "out")
    assert nothing_left(tmp_path)


def test_the_order_of_the_rows_is_checked(tmp_path: Path) -> None:
    folder = write(records().sort("income"), tmp_path / "in")
    with pytest.raises(PromiseError, match="row order follows 'income'"):
        release_of(folder, Here()).save(tmp_path / "out")
    release_of(folder, Here()).save(tmp_path / "out", keep_order=True)


# -- odd input -------------------------------------------------------------------------------------


def test_many_duplicates_are_divided(tmp_path: Path) -> None:
    twin = pl.DataFrame({"age": 30, "income": 20.0, "x": 0.1, "diagnosis": "a"})
    frame = pl.concat([records(), *[twin.select(pl.col("age").cast(pl.Int64), "income", "x", "diagnosis")] * 1200])
    frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    folder = write(frame, tmp_path / "in")
    release = release_of(folder, Here())
    release.save(tmp_path / "out")
    new = cells(tmp_path / "out")
    assert new.group_by("age", "income", "x").len()["len"].min() >= 5
    assert int(((new["x"] == 0.1) & (new["age"] == 30.0)).sum()) >= 1170


def test_a_skewed_leaf_is_divided(tmp_path: Path) -> None:
    """Most records are so near each other that the tree sends them to one leaf."""
    rng = np.random.default_rng(2)
    near = pl.DataFrame({name: 30 + rng.normal(scale=1e-9, size=1100) for name in ("age", "income", "x")})
    frame = pl.concat([near, records(100).select(pl.col("age").cast(pl.Float64), "income", "x")])
    frame = frame.with_columns(diagnosis=pl.lit("a")).sample(fraction=1.0, shuffle=True, seed=1)
    place = Here()
    release = release_of(write(frame, tmp_path / "in"), place)
    assert release.facts["largest_group"] < 250 and place.units.count("search") >= 3 * 4
    release.save(tmp_path / "out")
    assert cells(tmp_path / "out").group_by("age", "income", "x").len()["len"].min() >= 5


def test_text_files_with_whole_and_broken_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    frame = records().with_columns(age=pl.col("age").cast(pl.String))
    frame[:300].write_csv(folder / "a.csv")
    frame[300:].with_columns(age=pl.col("age") + ".0").write_csv(folder / "b.csv")
    saved = release_of(folder, Here(), round=True).save(tmp_path / "out")
    texts = pl.concat([pl.read_csv(path, infer_schema=False) for path in sorted((tmp_path / "out").glob("*.csv"))])
    assert texts.group_by("age", "income", "x").len()["len"].min() >= 5
    assert saved.findings.figures.known.k >= 5
    assert (texts["age"].cast(pl.Float64) % 1 == 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("x"), r"part-1.parquet lacks 'x', unlike part-0.parquet"),
        (lambda f: f.with_columns(more=1), r"part-1.parquet has 'more'"),
        (lambda f: f.select("x", "age", "income", "diagnosis"), r"part-1.parquet has the columns in another order"),
        (
            lambda f: f.with_columns(pl.col("x").cast(pl.String) + " EUR"),
            r"part-1.parquet: the column 'x' holds labels, but numbers in part-0.parquet",
        ),
        (lambda f: f[:0], r"part-1.parquet has no records. Each file of a folder is released as a file: move"),
        (None, r"part-1.parquet has no records. Each file of a folder"),
        (lambda f: f.with_columns(x=pl.when(pl.col("age") > 80).then(pl.col("x"))), r"part-1.parquet: .*missing"),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, change: Any, message: str) -> None:
    folder = write(records(), tmp_path / "in")
    path = folder / "part-1.parquet"
    path.write_bytes(b"") if change is None else change(records()[300:500]).write_parquet(path)
    with pytest.raises(InputError, match=message):
        release_of(folder, Here())


def test_messages_for_what_a_folder_cannot_do(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leaf must be at least 20 k = 160"):
        release_of(data, Here(), k=8, leaf=100)
    with pytest.raises(UsageError, match="the method must be auto or blocks, not 'mdav'"):
        shoal.microaggregate(shoal.scan(data, on=Here(), **ROLES), 5, method="mdav")
    with pytest.raises(UsageError, match="does not support bound in a folder"):
        release_of(data, Here(), bound=True)
    with pytest.raises(UsageError, match="does not support --derived yet"):
        shoal.microaggregate(shoal.scan(data, on=Here(), derived={"x": ["age"]}), 5, **LEAF)
    with pytest.raises(UsageError, match=r"shoal group cannot protect a folder of files\. "):
        shoal.group_attributes(shoal.scan(data, on=Here()), 5)
    with pytest.raises(UsageError, match="leaf applies to a folder of files"):
        shoal.microaggregate(records(), 5, leaf=1000)
    with pytest.raises(InputError, match="No file matches"):
        shoal.scan(tmp_path / "*.parquet")
    mixed = write(records(100), tmp_path / "mixed", (0, 50))
    records(50).write_csv(mixed / "part-2.csv")
    with pytest.raises(UsageError, match=r"part-0.parquet and part-2.csv have different formats.*'\*.parquet'"):
        shoal.scan(mixed)
    with pytest.raises(UsageError, match="Cannot run on 'moon'"):
        release_of(data, "moon")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with pytest.raises(UsageError, match=r"exists\. Name a new folder"):
        release_of(data, Here()).save(tmp_path / "out")


def test_a_staging_folder_of_another_run_is_refused(data: Path, tmp_path: Path) -> None:
    release = release_of(data, Here(), staging=tmp_path / "staged")
    with pytest.raises(UsageError, match="Another run is using the staging folder"):
        release_of(data, Here(), staging=tmp_path / "staged")
    release.close()
    with pytest.raises(UsageError, match="results of another run: the arguments differ"):
        release_of(data, Here(), k=6, staging=tmp_path / "staged")


# -- the command line ------------------------------------------------------------------------------


def test_the_command_writes_a_folder(
    data: Path, expected: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shoal.places.place_named", lambda name, workers: Here())
    roles = ["--confidential", "diagnosis", "--no-unit", "--effort", "quick", "--leaf", "250", "--rounds", "2"]
    recipe = tmp_path / "run.toml"
    result = run(
        "microaggregate",
        f"{data}/*.parquet",
        "-k",
        5,
        *roles,
        "-o",
        tmp_path / "out",
        "--json",
        "--save-recipe",
        recipe,
    )
    facts = json.loads(result.stdout)
    assert facts["n"] == ROWS and facts["files"] == 3 and facts["written"] is True
    assert facts["figures"]["known"]["k"] == 5
    assert cells(tmp_path / "out").equals(expected)
    assert not (tmp_path / ".out.staging").exists()
    run("run", recipe, "-o", tmp_path / "again")
    assert cells(tmp_path / "again").equals(expected)
    report = tmp_path / "report.html"
    run("run", recipe, "-o", tmp_path / "third", "--report", report)
    text = report.read_text()
    assert len(text) < 200_000 and "</html>" in text
    assert "part-2.parquet" in text and "All checks" in text and "people found" in text and "quasi-identifier" in text
    for option in (["--round-weight"], ["--external-report", "r.html"]):
        refused = attempt("microaggregate", data, "-k", 5, *roles, "-o", tmp_path / "more", *option)
        assert refused.exit_code == 2 and "folder of files does not support" in refused.output
    assert "needs an output folder" in attempt("microaggregate", data, "-k", 5, *roles).output
    assert "cannot protect a folder" in attempt("group", data, "-k", 5, "-o", tmp_path / "more").output


def test_staged_results_go_with_the_release(data: Path, tmp_path: Path) -> None:
    release = release_of(data, Here())
    folder = release.staging.folder
    assert folder.stat().st_mode & 0o077 == 0
    release.save(tmp_path / "out")
    assert not folder.exists()
    with pytest.raises(UsageError, match="was saved or discarded"):
        release.save(tmp_path / "again")
    unsaved = release_of(data, Here())
    folder = unsaved.staging.folder
    assert folder.exists()
    del unsaved
    assert not folder.exists()


# -- one large file --------------------------------------------------------------------------------


def options_of(path: Path, out: Path) -> list[str]:
    return [
        *("microaggregate", str(path), "-k", "5", "--confidential", "diagnosis", "--no-unit", "--effort", "quick"),
        *("--leaf", "250", "--rounds", "2", "--workers", "1", "-o", str(out)),
    ]


def test_a_file_with_many_cells_is_searched_in_leaves(expected: pl.DataFrame, tmp_path: Path) -> None:
    path, out, recipe = tmp_path / "one.parquet", tmp_path / "out.parquet", tmp_path / "run.toml"
    records().write_parquet(path)
    arguments = [argument for argument in options_of(path, out) if argument not in ("--workers", "1")]
    shown = run(*arguments, "--leaves-above", "3000", "--save-recipe", str(recipe))
    assert (
        "The file has 3,600 cells, more than 3,000 (--leaves-above), so processes search it in leaves" in shown.stderr
    )
    assert pl.read_parquet(out).equals(expected)
    assert "leaves_above = 3000" in recipe.read_text() and "one.parquet" in recipe.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.parquet", "out.parquet", "run.toml"]
    out.unlink()
    run("run", str(recipe))
    assert pl.read_parquet(out).equals(expected)
    policy = ["--policy", "default", "--first-release", "--shuffle"]
    shown = run(*arguments[:-1], tmp_path / "more.parquet", "--leaves-above", "3000", *policy)
    assert "processes search it in leaves" in shown.stderr
    assert sorted(pl.read_parquet(tmp_path / "more.parquet")["x"]) == sorted(expected["x"])


def test_a_file_with_fewer_cells_is_searched_as_a_whole(tmp_path: Path) -> None:
    path, out = tmp_path / "one.csv", tmp_path / "out.csv"
    records(100).write_csv(path)
    arguments = ["microaggregate", str(path), "-k", "5", "--confidential", "diagnosis", "--no-unit", "-o", str(out)]
    for more in ([], ["--leaves-above", "400"], ["--leaves-above", "3", "--method", "mdav"]):
        assert "leaves" not in json.loads(run(*arguments, *more, "--json").stdout)
    assert cells_of(path, 3) == 400
    assert cells_of(path, 10**6) == 0


def test_one_file_on_processes(expected: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    records().write_parquet(path)
    release_of([path], Here()).save(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").equals(expected)
    with pytest.raises(UsageError, match="is an input file"):
        release_of([path], Here()).save(path)
