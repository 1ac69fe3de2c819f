"""What must never be released: half a folder, a file of a full disk, a mixture of two runs of one unit."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from folders.here import Here
from folders.test_folders import cells, nothing_left, records, release_of, write
from shoal.engine.warming import kernels_of_node, prepare_node
from shoal.folders.staging import Unit
from shoal.notices import collecting

ROWS = 400
SMALL_FILE = 7_000  # bytes: less than a staged file, more than its facts


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(records(ROWS), tmp_path_factory.mktemp("data") / "claims", (0, 200))


@pytest.fixture(scope="module")
def expected(data: Path) -> pl.DataFrame:
    release_of(data, Here(), leaf=150, rounds=1).save(data.parent / "out")
    return cells(data.parent / "out")


def test_a_disk_that_is_full_for_every_process(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    """Worker processes and the driver get errors from the system when they write more than a few kilobytes."""
    options = "-k 5 --confidential diagnosis --no-unit --effort quick --leaf 150 --rounds 1 --workers 1"
    command = [
        sys.executable,
        "-m",
        "shoal",
        "microaggregate",
        str(data),
        *options.split(),
        "-o",
        str(tmp_path / "out"),
    ]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL_FILE, resource.RLIM_INFINITY))

    full = subprocess.run(command, preexec_fn=limited, capture_output=True, text=True)
    assert full.returncode == 1
    assert "File too large" in full.stderr and "Traceback" not in full.stderr
    assert "Run the same command to continue" in full.stderr
    assert nothing_left(tmp_path)
    subprocess.run(command, check=True, capture_output=True)
    assert cells(tmp_path / "out").equals(expected)


def test_a_unit_that_runs_twice_at_the_same_time(data: Path, expected: pl.DataFrame, tmp_path: Path) -> None:
    """As a speculative task of Spark, on two executors."""

    class Speculative(Here):
        def map(self, function: Any, units: Sequence[Any], *, done: Any = None, going: Any = None) -> list[Any]:
            results = []
            for unit in units:
                both = threading.Barrier(2)

                def one(unit: Any = unit, both: threading.Barrier = both) -> Any:
                    both.wait()
                    return function(unit)

                with ThreadPoolExecutor(2) as pool:
                    first, second = (pool.submit(one) for _ in range(2))
                    results.append(first.result())
                    second.result()
                if isinstance(unit, Unit):
                    self.units.append(unit.function.__name__)
            return results

    place = Speculative()
    release_of(data, place, leaf=150, rounds=1).save(tmp_path / "out")
    assert {"search", "write"} <= set(place.units)
    assert cells(tmp_path / "out").equals(expected)
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".part"]


def test_a_reader_never_sees_half_a_release(data: Path, tmp_path: Path) -> None:
    """Whatever a reader finds under the name of the release, at any moment, is the whole release."""
    target, seen, ended = tmp_path / "out", set(), threading.Event()

    def read() -> None:
        while not ended.is_set():
            try:
                seen.add(tuple(sorted(os.listdir(target))))
            except FileNotFoundError:
                seen.add(())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        release_of(data, Here(lambda work: seen.add(tuple(sorted(os.listdir(target))) if target.exists() else ())),
                   leaf=150, rounds=1).save(target)  # fmt: skip
    finally:
        ended.set()
        reader.join()
    assert seen <= {(), ("_SUCCESS", "part-0.parquet", "part-1.parquet")}
    assert () in seen


# -- kernels on a node without a library that fits ---------------------------------------------------

PREPARE = """
from shoal.engine import warming
from shoal.engine.kernels.compiling import kernel_named
from shoal.notices import collecting

cut = kernel_named("shoal.engine.partition.kernels.trees:cut")
warming.shipped_kernels = lambda generic: [(cut, ())]
warming.warm_up = lambda generic: cut.compiled()
notices = []
with collecting(notices):
    warming.prepare_node(tuple)
    warming.prepare_node(tuple)
print(warming.kernels_of_node(), len(notices), cut.is_ready(), *notices)
"""


def test_kernels_are_compiled_once_per_node(tmp_path: Path) -> None:
    """Of two processes without the library, one compiles and says so, and the other waits."""
    environment = {**os.environ, "SHOAL_KERNELS": "jit", "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    started = [
        subprocess.Popen([sys.executable, "-c", PREPARE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    printed = sorted(process.communicate()[0] for process in started)
    assert printed[0] == "jit 0 True\n"
    assert printed[1].startswith("jit 1 True The node") and "compiled them there once" in printed[1]


def test_a_node_with_the_library_compiles_nothing() -> None:
    if kernels_of_node() != "ahead":
        pytest.skip("the library of compiled kernels was not built: make library")
    notices: list[str] = []
    with collecting(notices):
        prepare_node(lambda: pytest.fail("the kernels were looked for"))
    assert notices == []
