"""What a careless call, a full disk, a damaged file or a signal may not do: lose a file, leave half of one, crash."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import attempt, run
from shoal.atomic import atomically, finished, forget
from shoal.engine.kernels import cache_files, compiling
from shoal.engine.partition.chains import Chain
from shoal.engine.partition.checkpoint import Checkpoint, _digest
from shoal.engine.partition.recombine import Recombination, is_sound
from shoal.errors import InputError, UsageError, WriteError
from shoal.protections.microaggregation.squared_error import SquaredError


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- no two paths of one call are the same file ------------------------------------------------------------------------

K = ["-k", "3", "--method", "mdav", "--quasi", "age,income"]
SAME_FILE: dict[str, list[str]] = {
    "release and report": ["microaggregate", "in.csv", *K, "-o", "out.csv", "--report", "./out.csv"],
    "release and second report": ["microaggregate", "in.csv", *K, "-o", "out.csv", "--external-report", "out.csv"],
    "release and earlier release": ["microaggregate", "in.csv", *K, "-o", "old.csv", "--previous", "old.csv"],
    "report and input": ["microaggregate", "in.csv", *K, "--report", "in.csv"],
    "report and a link to the input": ["microaggregate", "in.csv", *K, "--report", "link.csv"],
    "report and a hard link to the input": ["microaggregate", "in.csv", *K, "--report", "hard.csv"],
    "recipe and roles": ["microaggregate", "in.csv", *K, "--roles", "roles.toml", "--save-recipe", "roles.toml"],
    "recipe and policy": ["microaggregate", "in.csv", *K, "-o", "out.csv", "--policy", "my.toml", "--save-recipe",
                          "my.toml"],
    "checkpoint and input": ["microaggregate", "in.csv", "-k", "3", "--checkpoint", "in.csv"],
    "checkpoint and a link to the input": ["microaggregate", "in.csv", "-k", "3", "--checkpoint", "link.csv"],
    "checkpoint and release": ["microaggregate", "in.csv", "-k", "3", "--checkpoint", "out.csv", "-o", "out.csv"],
    "checkpoint and another file": ["microaggregate", "in.csv", "-k", "3", "--checkpoint", "old.csv"],
    "checkpoint and a workbook": ["microaggregate", "in.csv", "-k", "3", "--checkpoint", "book.xlsx"],
    "mapping and release": ["generalize", "in.csv", "-k", "3", "--quasi", "age", "-o", "o.csv", "--mapping", "o.csv"],
    "mapping and taxonomy": ["generalize", "in.csv", "-k", "3", "--quasi", "town", "--taxonomy", "town=tree.json",
                             "--mapping", "tree.json"],
    "swaps and release": ["mask", "in.csv", "--vital", "town=a", "--parameter", "age", "--influential", "income",
                          "-o", "o.csv", "--swaps", "o.csv"],
    "groups and report": ["group", "in.csv", "-k", "3", "--groups", "tree.json", "--report", "tree.json"],
    "output and report of a recipe": ["run", "run.toml", "-o", "out.csv", "--report", "out.csv"],
    "output and earlier release of a recipe": ["run", "run.toml", "-o", "old.csv"],
    "report and recipe": ["run", "run.toml", "-o", "out.csv", "--report", "run.toml"],
    "report and roles of a recipe": ["run", "run.toml", "-o", "out.csv", "--report", "roles.toml"],
    "report and mapping of a recipe's first step": ["run", "steps.toml", "-o", "out.csv", "--report", "map.json"],
    "output and taxonomy of a recipe's first step": ["run", "steps.toml", "-o", "tree.csv"],
    "report and original": ["report", "in.csv", "old.csv", "-o", "in.csv"],
    "report and release": ["report", "in.csv", "old.csv", "-o", "old.csv"],
    "report and its roles": ["report", "in.csv", "old.csv", "--roles", "roles.toml", "-o", "roles.toml"],
    "report and its recipe": ["report", "in.csv", "old.csv", "--recipe", "run.toml", "-o", "run.toml"],
    "roles and file": ["look", "in.csv", "--save-roles", "in.csv"],
    "roles and roles": ["look", "in.csv", "--roles", "roles.toml", "--save-roles", "roles.toml"],
    "study and its runs": ["study", "sensitivity", "study/runs.parquet", "-o", "study", "--grid", "quick"],
    "operators and their table": ["study", "operators", "study/operators.parquet", "-o", "study"],
}  # fmt: skip
RECIPE = """
[input]
file = "in.csv"
roles = "roles.toml"

[[steps]]
do = "microaggregate"
k = 3
method = "mdav"

[output]
file = "out.csv"
previous = "old.csv"
"""


STEPS = """
[input]
file = "in.csv"

[[steps]]
do = "apply"
mapping = "map.json"

[[steps]]
do = "generalize"
k = 3
quasi = ["town"]
taxonomy = { town = "tree.csv" }

[[steps]]
do = "microaggregate"
k = 3
method = "mdav"
quasi = ["age", "income"]
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file of each kind, and links to the input; commands run in it."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"age": rng.integers(18, 90, 60), "income": rng.normal(size=60).round(3), "town": rng.choice(list("abc"), 60)}
    )
    frame.write_csv(tmp_path / "in.csv")
    frame.write_csv(tmp_path / "old.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    os.link(tmp_path / "in.csv", tmp_path / "hard.csv")
    (tmp_path / "roles.toml").write_text('[quasi]\ncolumns = ["age", "income"]\n\n[as-is]\ncolumns = ["town"]\n')
    shutil.copy(Path(shoal.__file__).parent / "gate" / "policies" / "public.toml", tmp_path / "my.toml")
    (tmp_path / "tree.json").write_text('[["age"], ["income"]]')
    (tmp_path / "run.toml").write_text(RECIPE)
    (tmp_path / "steps.toml").write_text(STEPS)
    (tmp_path / "map.json").write_text("{}")
    (tmp_path / "tree.csv").write_text("a,north\nb,north\nc,south\n")
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as packed:
        packed.writestr("sheet.xml", "years of work")
    (tmp_path / "study").mkdir()
    for name in ("runs", "operators"):
        frame.drop("town").write_parquet(tmp_path / "study" / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SAME_FILE)
def test_no_two_paths_of_a_call_are_one_file(name: str, desk: Path) -> None:
    before = contents(desk)
    result = attempt(*SAME_FILE[name])
    assert result.exit_code == 2 and "Error: " in result.stderr, result.output
    assert any(words in result.stderr for words in ("same file", "is the input", "not a checkpoint")), result.stderr
    assert contents(desk) == before and (desk / "link.csv").is_symlink()


def test_in_python_a_recipe_is_not_saved_over_what_it_reads(desk: Path) -> None:
    table = shoal.read("in.csv", roles="roles.toml")
    release = shoal.microaggregate(table, 3, method="mdav")
    recipe = release.save("out.csv", keep_order=True, policy=None).recipe
    assert recipe is not None and recipe.output is not None
    output = dataclasses.replace(recipe.output, policy=str(desk / "my.toml"))
    before = contents(desk)
    with pytest.raises(UsageError, match="same file"):
        dataclasses.replace(recipe, output=output).save("my.toml")
    with pytest.raises(UsageError, match="not a checkpoint"):
        shoal.microaggregate(table, 3, effort="quick", checkpoint="in.csv")
    assert contents(desk) == before


# -- damaged checkpoints -----------------------------------------------------------------------------------------------

VALUES = np.random.default_rng(0).normal(size=(12, 2))
LABELS = np.arange(12, dtype=np.int32) // 3


def checkpoint(path: Path, values: Any = VALUES) -> Checkpoint:
    return Checkpoint(path, SquaredError(values, 3), ("quick", 0), 1000)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A sound checkpoint of twelve records in groups of three."""
    path = tmp_path / "state.npz"
    chain = Chain(LABELS.copy(), 7, 1000, 0.1, 2, 10, 0.5, False, np.ones(12), [LABELS.copy()])
    checkpoint(path).save([chain], stage=1, kept=[LABELS], now=True)
    assert os.listdir(tmp_path) == ["state.npz"]
    return path


def loaded(path: Path) -> tuple[Any, ...]:
    chains, stage, kept, recombined = checkpoint(path).load()
    told = [(c.labels.tolist(), c.random_state, c.proposals, c.done, c.loss, c.finished, len(c.seen)) for c in chains]
    return told, stage, [labels.tolist() for labels in kept], recombined


def test_a_damaged_checkpoint_is_refused_or_read_as_it_was(state: Path) -> None:
    sound, expected, draw = state.read_bytes(), loaded(state), random.Random(5)
    assert expected[0][0][0] == LABELS.tolist() and expected[1] == 1
    refused = 0
    for _ in range(150):
        damaged = bytearray(sound)
        for _ in range(draw.choice([1, 1, 8])):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        state.write_bytes(damaged)
        try:
            assert loaded(state) == expected  # the time of writing, say
        except (InputError, UsageError):
            refused += 1
    assert refused > 100
    for length in (0, 1, 4, 30, 64, len(sound) // 2, len(sound) - 1):
        state.write_bytes(sound[:length])
        with pytest.raises((InputError, UsageError), match=r"checkpoint"):
            loaded(state)


TAMPERED: dict[str, tuple[str, Any]] = {
    "a label beyond the records": ("labels", np.full((1, 12), 10**6, dtype=np.int32)),
    "a negative label": ("labels", np.full((1, 12), -1, dtype=np.int32)),
    "too few labels": ("labels", np.zeros((1, 3), dtype=np.int32)),
    "labels of another type": ("labels", np.zeros((1, 12), dtype=np.float64)),
    "a group of one": ("labels", np.array([[*([0] * 11), 1]], dtype=np.int32)),
    "a group of all": ("labels", np.zeros((1, 12), dtype=np.int32)),
    "a number that no group can have": ("labels", np.array([[*([0] * 4), *([1] * 4), *([11] * 4)]], dtype=np.int32)),
    "a partition kept with a group of one": ("kept", np.array([[*([0] * 11), 1]], dtype=np.int32)),
    "a partition kept with a group of all": ("kept", np.zeros((1, 12), dtype=np.int32)),
    "a snapshot of nobody": ("seen", np.zeros((1, 0), dtype=np.int32)),
    "a snapshot with a group of all": ("seen", np.zeros((1, 12), dtype=np.int32)),
    "unsettled of another size": ("unsettled", np.ones((1, 5))),
    "unsettled that is not a number": ("unsettled", np.full((1, 12), np.nan)),
    "unsettled beyond its range": ("unsettled", np.full((1, 12), 1e300)),
    "steps below zero": ("done", np.array([-5])),
    "steps beyond the end": ("done", np.array([10**12])),
    "proposals without end": ("proposals", np.array([2**62])),
    "a temperature that is not a number": ("hot", np.array([np.nan])),
    "a temperature of zero": ("hot", np.array([0.0])),
    "snapshots without end": ("snapshots", np.array([2**40])),
    "a loss that is not a number": ("loss", np.array([np.nan])),
    "a stage below zero": ("stage", np.array(-1)),
    "a stage that is a list": ("stage", np.arange(3)),
    "words of text": ("words", np.array(["x"])),
    "recombinations that are none": ("recombined", np.frombuffer(b'[{"no": 1}]', dtype=np.uint8)),
    "recombinations nested deeply": ("recombined", np.frombuffer(b"[" * 100_000, dtype=np.uint8)),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_no_search_would_write_never_reaches_a_kernel(name: str, state: Path) -> None:
    """Even with its checksum made right."""
    with np.load(state) as file:
        arrays = {key: file[key] for key in file.files if key != "digest"}
    key, value = TAMPERED[name]
    arrays[key] = value
    with open(state, "wb") as out:
        np.savez(out, **arrays, digest=np.array(_digest(arrays)))
    with pytest.raises(InputError, match="damaged"):
        loaded(state)


RECOMBINED: dict[str, dict[str, Any]] = {
    "a best of nobody": {"best": []},
    "a best with a group of one": {"best": [0] * 11 + [1]},
    "a best of text": {"best": ["x"] * 12},
    "a group of records that are not there": {"groups": [[0, 1, 10**9]]},
    "a group of negative records": {"groups": [[-1, -2, -3]]},
    "a group with a record twice": {"groups": [[0, 0, 1]]},
    "a group of all": {"groups": [list(range(12))]},
    "groups that are none": {"groups": {}},
    "a cut of records that are not there": {"cuts": [[0, 1, 99]]},
    "a cut of two": {"cuts": [[0, 1]]},
    "a basis of one part": {"basis": [[0]]},
    "a basis of unknown states": {"basis": [[9], [9]]},
    "a basis of text": {"basis": ["ab", "cd"]},
    "duals of another size": {"duals": [1.0] * 5, "width": 3.0},
    "duals beyond whole numbers": {"duals": [2**70] * 12, "width": 3.0},
    "duals that are not numbers": {"duals": [float("nan")] * 12, "width": 3.0},
    "a width of nothing": {"duals": [1.0] * 12, "width": 0.0},
    "a width of text": {"duals": [1.0] * 12, "width": "3"},
    "a bound that is not a number": {"bound": float("inf")},
    "rounds of nothing": {"rounds": None},
    "an end that is a list": {"finished": []},
}


@pytest.mark.parametrize("name", RECOMBINED)
def test_a_recombination_that_was_none_is_not_gone_on_with(name: str) -> None:
    sound = Recombination(LABELS.tolist())
    assert is_sound(sound, 12, 3, 5)
    assert is_sound(sound._replace(cuts=[[0, 1, 2]], duals=[0.5] * 13, width=2.0, groups=[[0, 4, 8]]), 12, 3, 5)
    assert not is_sound(sound._replace(**RECOMBINED[name]), 12, 3, 5)


# Contents that no search writes, with a right checksum, in a search that goes on from them; in a process of its own,
# because what this guards against ends the process.
FUZZED = """
import json, random, sys
import numpy as np, polars as pl
from click.testing import CliRunner
from shoal.cli import main
from shoal.engine.partition import checkpoint

path, draw, states = "state.npz", random.Random(4), []
write, due = checkpoint._write, checkpoint.Checkpoint._due
checkpoint._write = lambda path, arrays: (states.append(dict(arrays)), write(path, arrays))
checkpoint.Checkpoint._due = lambda *_: True
call = ["microaggregate", "in.csv", "-k", "3", "--quasi", "age,income", "--as-is", "town", "--method", sys.argv[1],
        "--effort", "quick", "--threads", "1", "--checkpoint", path]
assert CliRunner().invoke(main, call).exit_code == 0 and len(states) > 2
checkpoint._write, checkpoint.Checkpoint._due = write, due

def spoiled(array):
    some = array.copy().reshape(-1)
    if not some.size or draw.random() < 0.2:
        return draw.choice([some[:0], np.zeros(3, array.dtype), array.astype(str)])
    odd = {"i": [-1, 10**6, 2**31 - 1], "u": [0, 255], "f": [np.nan, np.inf, -1.0, 1e300], "b": [True, False]}
    for _ in range(draw.choice([1, 4])):
        some[draw.randrange(some.size)] = draw.choice(odd.get(array.dtype.kind, ["x"]))
    return some.reshape(array.shape)

codes = []
for _ in range(40):
    arrays = {name: array for name, array in draw.choice(states).items() if name != "digest"}
    name = draw.choice([name for name in arrays if name != "fingerprint"])
    arrays[name] = spoiled(arrays[name])
    with open(path, "wb") as out:
        np.savez(out, **arrays, digest=np.array(checkpoint._digest(arrays)))
    result = CliRunner().invoke(main, [*call, "--resume"])
    known = result.exception is None or isinstance(result.exception, SystemExit)
    codes.append(result.exit_code if known else repr(result.exception) + name)
print(json.dumps(codes))
"""


@pytest.mark.parametrize("method", ["anneal", "blocks", "memetic"])
def test_a_search_goes_on_from_a_forged_checkpoint_or_refuses_it(method: str, desk: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FUZZED, method], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)
    assert set(codes) <= {0, 2} and codes.count(2) > 10, codes


def test_through_the_command_line(desk: Path) -> None:
    call = ["microaggregate", "in.csv", "-k", "3", "--quasi", "age,income", "--as-is", "town", "--effort", "quick",
            "--threads", "1", "-o", "out.csv", "--checkpoint", "state.npz"]  # fmt: skip
    run(*call)
    (desk / "out.csv").unlink()
    sound = (desk / "state.npz").read_bytes()
    middle = len(sound) // 2
    for damaged in (sound[:middle], sound[:middle] + b"\x00" * 64 + sound[middle + 64 :], b""):
        (desk / "state.npz").write_bytes(damaged)
        before = contents(desk)
        result = attempt(*call, "--resume")
        assert result.exit_code == 2 and "state.npz" in result.stderr and "--resume" in result.stderr, result.output
        assert contents(desk) == before
    (desk / "state.npz").write_bytes(sound)
    other = attempt(*call[:3], "4", *call[4:], "--resume")
    assert other.exit_code == 2 and "another search" in other.stderr
    run(*call, "--resume")
    run(*call)  # a checkpoint of an earlier run is replaced


@pytest.mark.parametrize("line", ['{"a', "[]", '{"run": 1}', '{"run": "x"}', "[" * 100_000, "\x00\xff"])
def test_damaged_runs_of_a_study(line: str, desk: Path) -> None:
    call = ["study", "sensitivity", "12x2", "--grid", "quick", "--repeats", "1", "--generations", "2", "-o", "runs"]
    run(*call)
    lines = (desk / "runs" / "runs.jsonl").read_text().split("\n")
    (desk / "runs" / "runs.jsonl").write_text("\n".join([*lines[:2], line, *lines[3:]]), encoding="latin-1")
    before = contents(desk)
    result = attempt(*call)
    assert result.exit_code == 2 and "runs.jsonl is damaged" in result.stderr, (result.output, result.exception)
    assert contents(desk) == before


@pytest.mark.parametrize("words", [
    ["sensitivity", "0x2"], ["sensitivity", "5x0"], ["sensitivity", "12x2", "--mutation", "nan"],
    ["sensitivity", "12x2", "--crossover", "2"], ["sensitivity", "12x2", "--population", "1e300"],
    ["sensitivity", "12x2", "--population", "nan"], ["sensitivity", "12x2", "--population", "2.5"],
    ["sensitivity", "12x2", "--mutation", "0:1e300:1e-9"],
    ["operators", "in.csv", "--quasi", "age,income", "-k", "nan"],
    ["operators", "in.csv", "--quasi", "age,income", "-k", "2.5"],
])  # fmt: skip
def test_numbers_that_no_study_can_use(words: list[str], desk: Path) -> None:
    before = contents(desk)
    result = attempt("study", *words, "-o", "fresh")
    assert result.exit_code == 2 and "Error: " in result.stderr, (result.output, result.exception)
    assert contents(desk) == before and not (desk / "fresh").exists()


@pytest.mark.parametrize("weight", ["inf", "nan", "-1"])
def test_weights_that_are_not_shares(weight: str, desk: Path) -> None:
    result = attempt("generalize", "in.csv", "-k", "3", "--quasi", "age,town", "--weights", f"age={weight}")
    assert result.exit_code == 2 and "weights" in result.stderr, (result.output, result.exception)


@pytest.mark.parametrize("command", ["sensitivity", "operators"])
def test_the_folder_of_a_study_is_checked_before_any_work(command: str, desk: Path) -> None:
    result = attempt("study", command, "in.csv", "-o", "old.csv/inside")
    assert result.exit_code == 2 and "old.csv" in result.stderr, (result.output, result.exception)


# -- a damaged cache of kernels ----------------------------------------------------------------------------------------


def total(values: Any) -> Any:
    found = 0.0
    for value in values:
        found += value
    return found


@pytest.mark.parametrize("damage", ["flipped", "truncated", "emptied", "replaced", "index"])
def test_a_damaged_kernel_cache_heals_itself(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)

    def compiled() -> tuple[float, int]:
        """What a new kernel answers, and how often the cache had it."""
        made: Any = compiling.kernel("float64(float64[::1])")(total)
        return float(made(np.arange(5.0))), sum(made.compiled().stats.cache_hits.values())

    assert compiled() == (10.0, 0) and compiled() == (10.0, 1)
    files = [path for path in tmp_path.rglob("*") if path.suffix == (".nbi" if damage == "index" else ".nbc")]
    assert files
    for path in files:
        sound = path.read_bytes()
        half = len(sound) // 2
        flipped = sound[:half] + bytes([sound[half] ^ 255]) + sound[half + 1 :]
        texts = {"truncated": sound[:half], "emptied": b"", "replaced": b"no cache at all"}
        path.write_bytes(texts.get(damage, flipped))
    assert compiled() == (10.0, 0)
    assert compiled() == (10.0, 1)


def test_without_a_place_for_the_cache_kernels_are_compiled_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(cache_files.CheckedCacheFile, "_save", full)
    made: Any = compiling.kernel("float64(float64[::1])")(total)
    assert made(np.arange(5.0)) == 10.0


# -- a full disk, two writers at once ----------------------------------------------------------------------------------

# No file may grow beyond the limit: the system call fails as it does on a full disk. One process for all calls.
LIMITED = """
import json, resource, sys
from click.testing import CliRunner
from shoal.cli import main
answers = []
for words in json.loads(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
    result = CliRunner().invoke(main, words)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    known = result.exception is None or isinstance(result.exception, SystemExit)
    answers.append([result.exit_code, result.stderr, known or repr(result.exception)])
print(json.dumps(answers))
"""


def test_on_a_full_disk_nothing_is_left_and_nothing_is_lost(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n = 1500
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.integers(0, 10**9, n)})
    frame.write_parquet(tmp_path / "in.parquet")
    plain = ["microaggregate", "in.parquet", "-k", "3", "--quasi", "a,b", "--confidential", "c", "--threads", "1"]
    names = [f"out.{ending}" for ending in ("csv", "csv.gz", "parquet", "arrow", "sav", "dta")]
    calls = [[*plain, "--method", "mdav", "-o", name] for name in names]
    calls.append([*plain, "--method", "mdav", "--report", "page.html"])
    calls.append([*plain, "--method", "anneal", "--effort", "quick", "--checkpoint", "state.npz"])
    for name in (*names, "page.html"):
        (tmp_path / name).write_bytes(b"an older file")
    before = contents(tmp_path)
    code = [sys.executable, "-c", LIMITED, json.dumps(calls)]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for words, (exit_code, message, known) in zip(calls, json.loads(done.stdout), strict=True):
        assert known is True, (words, known)
        assert exit_code == 1 and "Error: " in message and words[-1] in message, (words, exit_code, message)
    assert contents(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "words",
    [["look", "in.csv"], ["look", "in.csv", "--json"], ["data", "list"], ["--help"], ["--version"], ["mask", "--help"]],
)
def test_an_output_that_accepts_no_more_bytes_is_reported(words: list[str], desk: Path) -> None:
    with open("/dev/full", "w") as full:
        code = [sys.executable, "-m", "shoal", *words]
        done = subprocess.run(code, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.startswith("Error: Cannot write the output: "), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_checkpoint_without_room_leaves_the_state_before_it(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = state.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    chain = Chain(LABELS.copy(), 7, 1000, 0.1, 2, 20, 0.5, False, np.ones(12), [])
    with pytest.raises(WriteError, match=r"No space left on device\. It still holds the previous state\. .* --resume"):
        checkpoint(state).save([chain], now=True)
    assert state.read_bytes() == sound and os.listdir(state.parent) == ["state.npz"]


SAVING = """
import sys
import polars as pl
from shoal.sources.files import check_place, write_file
frame = pl.DataFrame({"x": list(range(20))})
for _ in range(150):
    check_place(sys.argv[1])
    write_file(frame, sys.argv[1])
"""


def test_several_processes_save_to_one_target_at_once(tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    command = [sys.executable, "-c", SAVING, str(target)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    messages = [writer.communicate()[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, messages
    assert os.listdir(tmp_path) == ["out.csv"] and pl.read_csv(target)["x"].to_list() == list(range(20))


# -- SIGTERM -----------------------------------------------------------------------------------------------------------

# The command line with a slow disk: it prints a line when a file is half written, and then waits to be ended.
SLOW = """
import sys, time
import shoal.atomic
from contextlib import contextmanager
real = shoal.atomic.atomically
@contextmanager
def slow(path):
    with real(path) as temporary:
        temporary.write_text("half")
        if str(path).endswith(sys.argv[1]):
            print("now", flush=True)
            time.sleep(60)
        yield temporary
shoal.atomic.atomically = slow
from shoal.cli import main
main(sys.argv[2:])
"""
WHOLE = ["microaggregate", "in.csv", "-k", "3", "--quasi", "age,income", "--as-is", "town", "--effort", "quick"]
FILES = ["-o", "out.csv", "--report", "page.html", "--save-recipe", "made.toml", "--checkpoint", "state.npz"]


@pytest.mark.parametrize("slow", ["out.csv", "page.html", "made.toml", "state.npz"])
def test_sigterm_leaves_no_half_written_file(slow: str, desk: Path) -> None:
    before = set(contents(desk))
    code = [sys.executable, "-c", SLOW, slow, *WHOLE, *FILES]
    process = subprocess.Popen(code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "now\n" in itertools.takewhile(lambda line: line, iter(process.stdout.readline, "")), process.communicate()
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 143 and "Traceback" not in message
    left = set(contents(desk)) - before
    assert not [name for name in left if name.endswith(".part")] and slow not in left
    assert "Stopped" in message and all(name in message for name in left)


# A kernel of a minute in the main thread: Python itself would answer the signal after it.
BUSY = """
import numba
from shoal.cli import _clean_up
from shoal.cli.sigterm import ending_on_sigterm

@numba.njit("int64(int64)", nogil=True)
def spin(n):
    found = 1
    for i in range(n):
        found = found * 6364136223846793005 + (found >> 33) + i
    return found

with ending_on_sigterm(_clean_up):
    print("now", flush=True)
    print(spin(10**12))
"""


def test_sigterm_ends_a_kernel_at_once() -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "now\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 143
    assert process.communicate()[1] == "Stopped; nothing was written.\n"


def test_a_program_keeps_its_own_answer_to_sigterm() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    try:
        run("data", "list")
        os.kill(os.getpid(), signal.SIGTERM)
        assert told == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGTERM) is before


# -- refusals instead of tracebacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [-1, 2**63, 2**70])
@pytest.mark.parametrize("command", ["microaggregate", "group", "generalize"])
def test_a_seed_out_of_range(command: str, seed: int, desk: Path) -> None:
    before = contents(desk)
    result = attempt(command, "in.csv", "-k", "3", "--quasi", "age,income", "--seed", seed, "-o", "out.csv")
    assert result.exit_code == 2 and "seed" in result.stderr and "Traceback" not in result.stderr, result.output
    assert not result.exception or isinstance(result.exception, SystemExit)
    assert contents(desk) == before


def test_the_largest_seed_can_be_used_and_repeated(desk: Path) -> None:
    for command, method in (("microaggregate", "hybrid"), ("microaggregate", "anneal"), ("generalize", "search")):
        words = ["--generations", "5"] if method == "hybrid" else ["--effort", "quick"]
        run(command, "in.csv", "-k", "3", "--quasi", "age,income", "--as-is", "town", "--method", method, *words,
            "--seed", 2**63 - 1, "-o", "out.csv", "--save-recipe", "made.toml")  # fmt: skip
        assert "identical" in run("run", "made.toml", "-o", "again.csv").stdout


@pytest.mark.parametrize("value", [-1, 1.5, True, "1", 2**63])
def test_a_seed_that_is_none_in_python(value: Any, desk: Path) -> None:
    with pytest.raises(UsageError, match="seed"):
        shoal.microaggregate("in.csv", 3, quasi=["age", "income"], seed=value)


@pytest.mark.parametrize("encoding", ["rot13", "base64", "hex", "bz2", "zlib", "no-such", "", "undefined"])
def test_an_encoding_that_is_none_of_text(encoding: str, desk: Path) -> None:
    before = contents(desk)
    result = attempt("microaggregate", "in.csv", *K, "--encoding", encoding, "-o", "out.csv")
    assert result.exit_code == 2 and "encoding" in result.stderr.lower(), (result.output, result.exception)
    assert contents(desk) == before


GROUP = {"label": "[1-2]", "low": 1.0, "high": 2.0, "closed": True}
COLUMN = {"name": "age", "numeric": True, "groups": [GROUP]}
SOUND = {"format": "shoal generalization", "version": 1, "k": 2, "columns": [COLUMN]}
DAMAGED_MAPPINGS: dict[str, Any] = {
    "a text bound": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "low": "one"}]}]},
    "a bound that is true": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "low": True}]}]},
    "an infinite bound": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "high": float("inf")}]}]},
    "one bound": {**SOUND, "columns": [{**COLUMN, "groups": [{"label": "x", "low": 1.0}]}]},
    "bounds in the wrong order": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "low": 3.0}]}]},
    "no columns": {**SOUND, "columns": []},
    "columns missing": {"format": SOUND["format"], "k": 2},
    "columns that are none": {**SOUND, "columns": 3},
    "a column that is none": {**SOUND, "columns": [7]},
    "a column twice": {**SOUND, "columns": [COLUMN, COLUMN]},
    "no groups": {**SOUND, "columns": [{**COLUMN, "groups": []}]},
    "an empty label": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "label": ""}]}]},
    "a label that is a number": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "label": 5}]}]},
    "a label that is missing": {**SOUND, "columns": [{**COLUMN, "groups": [{"low": 1.0, "high": 2.0}]}]},
    "two groups of one label": {**SOUND, "columns": [{**COLUMN, "groups": [GROUP, {**GROUP, "low": 0.5}]}]},
    "values that are numbers": {**SOUND, "columns": [{"name": "town", "numeric": False,
                                                      "groups": [{"label": "x", "values": [1, 2]}]}]},
    "a text of values": {**SOUND, "columns": [{"name": "town", "numeric": False,
                                               "groups": [{"label": "x", "values": "abc"}]}]},
    "a group of nothing": {**SOUND, "columns": [{**COLUMN, "groups": [{"label": "x"}]}]},
    "an unknown key": {**SOUND, "columns": [{**COLUMN, "groups": [{**GROUP, "colour": "red"}]}]},
    "numeric that is a text": {**SOUND, "columns": [{**COLUMN, "numeric": "no"}]},
    "a k that is a text": {**SOUND, "k": "two"},
    "a k of zero": {**SOUND, "k": 0},
    "a list": [1, 2],
    "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED_MAPPINGS)
def test_a_damaged_mapping(name: str, desk: Path) -> None:
    (desk / "map.json").write_text(json.dumps(DAMAGED_MAPPINGS[name]))
    before = contents(desk)
    result = attempt("generalize", "in.csv", "--apply", "map.json", "-o", "out.csv")
    assert result.exit_code == 2 and "map.json" in result.stderr, (result.output, result.exception)
    assert contents(desk) == before
    with pytest.raises(InputError):
        shoal.apply_mapping("in.csv", "map.json")


DEEP_JSON, DEEP_TOML = "[" * 100_000 + "]" * 100_000, "x = " + "[" * 5000 + "]" * 5000
NESTED: dict[str, tuple[str, str, list[str]]] = {
    "mapping": ("deep.json", DEEP_JSON, ["generalize", "in.csv", "--apply", "deep.json"]),
    "taxonomy": ("deep.json", DEEP_JSON,
                 ["generalize", "in.csv", "-k", "3", "--quasi", "town", "--taxonomy", "town=deep.json"]),
    "taxonomy that can be read": ("deep.json", '{"a": ' * 900 + '["a", "b", "c"]' + "}" * 900,
                                  ["generalize", "in.csv", "-k", "3", "--quasi", "town", "--taxonomy",
                                   "town=deep.json"]),
    "taxonomy in TOML": ("deep.toml", DEEP_TOML,
                         ["generalize", "in.csv", "-k", "3", "--quasi", "town", "--taxonomy", "town=deep.toml"]),
    "column groups": ("deep.json", DEEP_JSON, ["group", "in.csv", "-k", "3", "--groups", "deep.json"]),
    "column groups to check": ("deep.json", "", ["check", "in.csv", "old.csv", "--groups", DEEP_JSON]),
    "recipe": ("deep.toml", DEEP_TOML, ["run", "deep.toml"]),
    "recipe with a deep argument": ("deep.toml", f"[[steps]]\ndo = 'microaggregate'\nk = {'[' * 300}{']' * 300}\n",
                                    ["run", "deep.toml"]),
    "recipe with a version that is a number": ("deep.toml", "[[steps]]\ndo = 'microaggregate'\nk = 3\n[versions]\n"
                                               "shoal = 1\n", ["run", "deep.toml"]),
    "roles": ("deep.toml", DEEP_TOML, ["microaggregate", "in.csv", *K, "--roles", "deep.toml"]),
    "policy": ("deep.toml", DEEP_TOML, ["microaggregate", "in.csv", *K, "-o", "out.csv", "--policy", "deep.toml"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_files_that_are_nested_too_deeply(name: str, desk: Path) -> None:
    path, text, words = NESTED[name]
    (desk / path).write_text(text)
    before = contents(desk)
    result = attempt(*words)
    assert result.exit_code == 2 and "Error: " in result.stderr, (result.output, result.exception)
    assert contents(desk) == before


ODD_NUMBERS: dict[str, list[Any]] = {
    "huge whole numbers": [2**62, -(2**62), 2**53 + 1, 2**53],
    "beyond 64 bits": [2**64 + 1, 10**30, 5, 7],
    "signs of zero": [-0.0, 0.0, 1.5, 2.5],
    "huge and tiny": [1.7e308, -1.7e308, 5e-324, 0.0],
}


@pytest.mark.parametrize("name", ODD_NUMBERS)
@pytest.mark.parametrize("options", [[], ["--suppress", "0.2"], ["--granularity", "x=2"], ["--cuts", "x=0,3"]])
def test_odd_numbers_are_generalized_or_refused(name: str, options: list[str], desk: Path) -> None:
    values = ODD_NUMBERS[name]
    text = "x,y\n" + "".join(f"{values[i % 4]!r},{i % 3}\n" for i in range(24))
    (desk / "odd.csv").write_text(text)
    before = contents(desk)
    result = attempt("generalize", "odd.csv", "-k", "3", "--quasi", "x", "--as-is", "y", "--effort", "quick", *options,
                     "--mapping", "map.json", "-o", "out.csv", "--keep-order")  # fmt: skip
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code:
        assert "Error: " in result.stderr and contents(desk) == before
        return
    written = pl.read_csv("out.csv", infer_schema=False)
    assert written.height == 24 and written.group_by("x").len()["len"].min() >= 3
    assert attempt("generalize", "odd.csv", "--apply", "map.json", "--as-is", "y").exit_code in (0, 1, 2)


# -- names are data ----------------------------------------------------------------------------------------------------

NASTY = ("[/b]", "[bold red]", "\x1b[31mred", "<i id=x>", "{task}", "%s", "\u202egnp")


@pytest.mark.parametrize("words", [
    ["microaggregate", "-k", "3", "--method", "mdav"],
    ["generalize", "-k", "3", "--effort", "quick"],
    ["group", "-k", "3", "--method", "all", "--accept-k", "1"],
    ["look"],
    ["compare", "-k", "3", "--effort", "quick"],
])  # fmt: skip
def test_names_are_never_markup(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(0, 30, 60) for name in NASTY})
    frame.write_parquet("in.parquet")
    saving = [] if words[0] in ("look", "compare") else ["-o", "out.parquet"]
    page = [] if words[0] == "look" else ["--report", "page.html"]
    result = run(words[0], "in.parquet", *words[1:], *saving, *page)
    shown = result.stdout + result.stderr
    assert "\x1b" not in shown and "\u202e" not in shown
    assert words[0] == "compare" or ("[/b]" in shown and "[bold red]" in shown)  # it names no columns
    if page:
        text = Path("page.html").read_text(encoding="utf-8")
        assert "<i id=x>" not in text
    if saving:
        assert pl.read_parquet("out.parquet").columns == list(NASTY)


def test_a_failure_after_the_file_was_written_says_so(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise InputError("the page cannot be made")

    monkeypatch.setattr("shoal.report.release.write_page", fails)
    result = attempt("microaggregate", "in.csv", *K, "--as-is", "town", "-o", "out.csv", "--report", "page.html")
    assert result.exit_code == 2 and "Already written: out.csv." in result.stderr
    again = attempt("microaggregate", "in.csv", *K, "-k", "1000", "-o", "out.csv")
    assert again.exit_code == 2 and "Already written" not in again.stderr


def test_a_file_that_was_removed_again_is_not_listed_as_written(tmp_path: Path) -> None:
    forget()
    for name in ("stays.csv", "goes.csv"):
        with atomically(tmp_path / name) as temporary:
            temporary.write_text("x")
    (tmp_path / "goes.csv").unlink()
    assert finished() == (tmp_path / "stays.csv",)


@pytest.mark.parametrize("command", ["microaggregate", "run"])
def test_a_report_that_fails_leaves_no_release(command: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are made before the release is put in place."""
    call = ["in.csv", *K, "--as-is", "town"]
    run("microaggregate", *call, "--save-recipe", "run.toml")
    before = contents(desk)

    def fail(*_: Any) -> None:
        raise InputError("This report cannot show the column 'x'.")

    monkeypatch.setattr("shoal.report.release.release_page", fail)
    words = ["run.toml"] if command == "run" else call
    found = run(command, *words, "-o", "out.csv", "--report", "page.html", code=2)
    assert found.stderr == "Error: This report cannot show the column 'x'.\n" and found.stdout == ""
    assert contents(desk) == before


@pytest.mark.parametrize("words", [["--json"], []])
def test_infinite_labels_are_labels_in_the_report_too(words: list[str], tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": [float("inf"), 1.5] * 12, "sex": ["f", "m", "m", "f"] * 6, "age": [20, 30, 40] * 8})
    frame.write_parquet(tmp_path / "in.parquet")
    roles = ["--quasi", "code,age", "--nominal", "code", "--confidential", "sex", "--no-unit", "--keep-order"]
    out = ["-o", tmp_path / "out.parquet", "--report", tmp_path / "page.html"]
    run("microaggregate", tmp_path / "in.parquet", "-k", 3, "--method", "mdav", *roles, *out, *words)
    assert "code" in (tmp_path / "page.html").read_text()


def test_what_cannot_be_measured_is_null_in_json(tmp_path: Path) -> None:
    """Spreads of the largest numbers overflow; JSON has no infinity."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"x": rng.choice([1e300, -1e300, 1.7e308, 0.0], 40), "y": rng.normal(size=40)})
    frame.write_csv(tmp_path / "in.csv")
    for method in ("mdav", "path"):
        result = attempt("microaggregate", tmp_path / "in.csv", "-k", 3, "--method", method, "--no-unit", "--json")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code or json.loads(result.stdout, parse_constant=pytest.fail)


def test_too_little_memory_is_reported(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shoal.cli.look as command

    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(command, "_print", fails)
    result = attempt("look", "in.csv")
    assert result.exit_code == 1 and "memory" in result.stderr
