"""The names of arrays and the number of cores are declared in one file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import shoal
from shoal.arrays import cores

SOURCES = Path(shoal.__file__).parent


def test_each_alias_is_declared_once() -> None:
    declared = re.compile(
        r"^(Floats|Ints|Indices|Bools|Flags|Codes|Counts)(: TypeAlias)? = NDArray\[np\.\w+\]", re.MULTILINE
    )
    found = {
        path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*.py") if declared.search(path.read_text())
    }
    assert found == {"arrays.py"}


def test_cores_are_counted_in_one_place() -> None:
    found = [p.name for p in SOURCES.rglob("*.py") if re.search("sched_getaffinity|cpu_count", p.read_text())]
    assert found == ["arrays.py"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot bind a process to cores")
def test_cores_are_those_of_the_process() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
