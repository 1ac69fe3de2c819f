"""Kernels: imports compile nothing, a call compiles what it needs, and no stale code is ever loaded."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import shoal
from shoal.engine.kernels import compiling
from shoal.engine.kernels.compiling import Kernel, balanced, every_kernel, inner, kernel, kernel_modules
from shoal.engine.kernels.stamp import source_hash
from shoal.protections.microaggregation.kernels.squares import Squares

PACKAGE = Path(shoal.__file__).parent


def python(code: str, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_every_kernel_module_does_not_even_import_numba() -> None:
    code = """
import importlib, sys
from shoal.engine.kernels.compiling import kernel_modules
for name in kernel_modules():
    if name != "shoal.engine.kernels.cache_files":
        importlib.import_module(name)
print("numba" in sys.modules, "llvmlite" in sys.modules)
"""
    assert python(code).split() == ["False", "False"]


def test_one_method_loads_its_own_kernels_only() -> None:
    code = """
import json, numpy as np, polars, shoal
from shoal.engine.kernels.compiling import every_kernel
frame = polars.DataFrame({"x": np.arange(12.0), "y": np.arange(12.0) ** 2})
shoal.microaggregate(frame, 3, method="mdav", quasi=["x", "y"])
print(json.dumps([k.py_func.__name__ for k in every_kernel() if k._compiled]))
"""
    called = set(json.loads(python(code)))
    assert "groups_by_tree" in called or "groups_by_sweep" in called
    assert not called & {"anneal", "sweep", "evolve", "group_labels", "price", "all_pairs", "start"}


def test_every_entry_point_is_a_kernel_with_a_name() -> None:
    kernels = every_kernel()
    assert len(kernels) > 45 and len({k.name for k in kernels}) == len(kernels)
    assert all(isinstance(k, Kernel) and k.name.split(":")[0] in kernel_modules() for k in kernels)


def test_a_kernel_takes_no_array_of_another_layout() -> None:
    @kernel("float64(float64[:, ::1])")
    def corner(x):
        return x[0, 0]

    assert corner(np.ones((2, 3))) == 1.0
    with pytest.raises(TypeError):
        corner(np.asfortranarray(np.ones((2, 3))))


def test_an_inner_function_runs_as_python_too() -> None:
    @inner
    def twice(x):
        return 2.0 * x

    @kernel("float64(float64)")
    def four_times(x):
        return twice(twice(x))

    assert twice(3.0) == 6.0 and four_times(3.0) == 12.0 == four_times.py_func(3.0)


def test_two_threads_that_call_a_kernel_for_the_first_time_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(compiling, "_compile", lambda function, *_: made.append(1) or function)

    @kernel("float64(float64)")
    def same(x):
        return x

    barrier = threading.Barrier(8)

    def call() -> None:
        barrier.wait()
        same(1.0)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_kernels_of_one_folder_stay_together_and_the_lists_are_even() -> None:
    kernels = [(k, ()) for k in every_kernel()]
    lists = balanced(kernels, 2)
    assert sorted(k.name for part in lists for k, _ in part) == sorted(k.name for k, _ in kernels)
    assert max(map(len, lists)) <= 1.5 * min(map(len, lists))
    assert [len(part) for part in balanced(kernels[:1], 4)] == [1]


# -- the cache folder's name covers everything that decides the code -------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package."""
    return Path(shutil.copytree(PACKAGE, tmp_path / "shoal", ignore=shutil.ignore_patterns("__pycache__")))


def test_a_changed_byte_or_a_moved_file_changes_the_name(package: Path) -> None:
    before = source_hash(package)
    assert before == source_hash(PACKAGE)
    for source in sorted([*package.glob("**/kernels/**/*.py"), *package.glob("**/kernels/**/*.c")]):
        text = source.read_text()
        source.write_text(text + "\n")
        assert source_hash(package) != before, source
        source.write_text(text)
    assert source_hash(package) == before
    moved = package / "engine/kernels/distance.py"
    moved.rename(package / "engine/partition/kernels/distance.py")
    assert source_hash(package) != before
    (package / "engine/partition/kernels/distance.py").rename(moved)
    (package / "errors.py").write_text("")  # not a kernel: the code of kernels does not depend on it
    assert source_hash(package) == before


def test_a_constant_of_another_file_is_never_stale(package: Path, tmp_path: Path) -> None:
    """Numba looks at the kernel's own file only; here the constant stands in a file that it calls."""
    folder = package / "toy" / "kernels"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").write_text("")
    (folder / "entry.py").write_text(
        "from shoal.engine.kernels.compiling import kernel\nfrom shoal.toy.kernels.part import plus\n\n"
        '@kernel("float64(float64)")\ndef entry(x):\n    return plus(x)\n'
    )
    answers = []
    for constant in (1.0, 2.0, 1.0):
        (folder / "part.py").write_text(
            "from shoal.engine.kernels.compiling import inner\n\n"
            f"MORE = {constant}\n\n@inner\ndef plus(x):\n    return x + MORE\n"
        )
        code = "from shoal.toy.kernels.entry import entry; print(entry(10.0))"
        place = {
            "PYTHONPATH": str(tmp_path),
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "SHOAL_KERNELS": "jit",
        }
        answers.append(float(python(code, **place)))
    assert answers == [11.0, 12.0, 11.0]
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_only_modules_in_kernels_folders_import_numba() -> None:
    """And those import NumPy, Numba and each other alone: a constant from elsewhere is compiled in and goes stale.

    The names of array types are not constants: they occur in annotations, which Numba does not read.
    """
    types = re.compile(r"from shoal\.arrays import (Bools|Bytes|Floats|Indices|Ints|, )+")
    for source in PACKAGE.rglob("*.py"):
        lines = [line.strip() for line in source.read_text().splitlines()]
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        if "kernels" not in source.relative_to(PACKAGE).parts:
            assert not [line for line in imports if "numba" in line or "llvmlite" in line], source
        elif source.name not in ("building.py", "compiling.py", "__init__.py"):
            other = [line for line in imports if line.startswith("from shoal") and ".kernels" not in line]
            assert not [line for line in other if not types.fullmatch(line)], source


def test_a_loss_from_outside_the_package_is_not_kept_in_the_cache() -> None:
    """The folder's name covers the package's sources alone, so a changed loss could load old code."""

    class Outside(NamedTuple):
        number: int

    assert compiling.is_ours((Squares(),)) and not compiling.is_ours((Squares(), Outside(1)))


def test_two_processes_number_the_functions_of_kernels_apart() -> None:
    """A number is part of a function's name: with one name for two functions, a kernel would call the other one's."""
    code = """
from shoal.engine.kernels.compiling import load_numba
load_numba()
from numba.core.bytecode import FunctionIdentity
print(next(FunctionIdentity._unique_ids))
"""
    words = [sys.executable, "-c", code]
    first, second = (int(subprocess.run(words, capture_output=True, text=True, check=True).stdout) for _ in range(2))
    assert abs(first - second) > 10_000


def test_a_cache_folder_that_cannot_be_written_gives_way_to_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code = "from shoal.engine.kernels.compiling import cache_folder; print(cache_folder())"
    place = {"XDG_CACHE_HOME": str(tmp_path / "file"), "NUMBA_CACHE_DIR": "", "TMPDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    assert Path(ended.stdout.strip()).parent == tmp_path / f"shoal-{os.getuid()}"
    assert "cannot be kept in" in ended.stderr and "Set XDG_CACHE_HOME" in ended.stderr
    (tmp_path / f"shoal-{os.getuid()}").rmdir()
    (tmp_path / f"shoal-{os.getuid()}").symlink_to(tmp_path)  # anyone may have put it there
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    assert Path(ended.stdout.strip()).parent == tmp_path / "file" / "shoal"
