"""What a wheel carries and needs: compiled kernels of its own sources, or Numba."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from shoal.engine.kernels.library import PLACE, open_library
from shoal.engine.kernels.stamp import source_hash

pytest.importorskip("hatchling")
pytest.importorskip("editables")
TOP = Path(__file__).parents[1]
FILES = ("pyproject.toml", "build_kernels.py", "README.md", "LICENSE", ".gitignore")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what a build reads, without a library."""
    folder = tmp_path / "project"
    ignored = shutil.ignore_patterns("__pycache__", "kernels.library")
    shutil.copytree(TOP / "src", folder / "src", ignore=ignored)
    for name in FILES:
        shutil.copy(TOP / name, folder / name)
    return folder


def built(project: Path, how: str = "build_wheel") -> tuple[str, set[str], set[str]]:
    """The name of a wheel, the packages that it always needs, and its files."""
    code = f"import hatchling.build; print(hatchling.build.{how}('dist'))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    name = ended.stdout.split()[-1]
    with zipfile.ZipFile(project / "dist" / name) as wheel:
        metadata = next(path for path in wheel.namelist() if path.endswith("/METADATA"))
        needed = message_from_bytes(wheel.read(metadata)).get_all("Requires-Dist") or []
        packages = {line.split(">=")[0] for line in needed if "extra ==" not in line}
        return name, packages, {path.rpartition("/")[2] for path in wheel.namelist()}


def test_without_a_library_numba_is_needed(project: Path) -> None:
    for how in ("build_wheel", "build_editable"):
        name, packages, files = built(project, how)
        assert name.endswith("-py3-none-any.whl")
        assert {"numba", "llvmlite", "numpy"} <= packages
        assert "kernels.library" not in files


@pytest.mark.skipif(open_library(PLACE, source_hash()) is None, reason="no library was built: make library")
def test_a_library_of_these_sources_is_packed_and_numba_is_not_needed(project: Path) -> None:
    place = project / PLACE.relative_to(TOP)
    shutil.copy(PLACE, place)
    name, packages, files = built(project)
    assert "-py3-none-manylinux_2_" in name and name.endswith("_x86_64.whl")
    assert not {"numba", "llvmlite"} & packages and "numpy" in packages
    assert {"kernels.library", "run_time.c"} <= files
    assert {"numba", "llvmlite"} <= built(project, "build_editable")[1]
    source = place.with_name("distance.py")
    source.write_text(source.read_text() + "\n")
    name, packages, files = built(project)
    assert name.endswith("-py3-none-any.whl") and "numba" in packages and "kernels.library" not in files
