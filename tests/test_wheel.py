"""What a wheel carries and needs, compiled kernels of its own sources or Numba, and which version it has."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from shoal.engine.kernels.library import PLACE, open_library
from shoal.engine.kernels.stamp import source_hash

pytest.importorskip("hatchling")
pytest.importorskip("editables")
TOP = Path(__file__).parents[1]
FILES = ("pyproject.toml", "build_kernels.py", "build_version.py", "CHANGELOG.md", "README.md", "LICENSE", ".gitignore")


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


# -- the version -----------------------------------------------------------------------------------


def version_of(project: Path) -> str:
    """The version that a build of these sources gets."""
    found: str = runpy.run_path(str(project / "build_version.py"))["version"]()
    return found


def git(project: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"]
    return subprocess.run(["git", *who, *words], cwd=project, capture_output=True, text=True, check=True).stdout.strip()


def changelog(project: Path, *lines: str) -> None:
    (project / "CHANGELOG.md").write_text("\n".join(["# Changelog", "", "## [Unreleased]", *lines, ""]))


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """The little that decides a version."""
    shutil.copy(TOP / "build_version.py", tmp_path)
    changelog(tmp_path, "## [1.2.3] - 2026-01-01", "- A change.")
    return tmp_path


def test_a_tag_is_the_version_and_commits_after_it_are_the_next_ones_development(sources: Path) -> None:
    git(sources, "init", "-q")
    git(sources, "add", ".")
    git(sources, "commit", "-qm", "one")
    git(sources, "tag", "v4.5.6")
    assert version_of(sources) == "4.5.6"
    git(sources, "commit", "-qm", "two", "--allow-empty")
    git(sources, "tag", "unrelated")
    assert version_of(sources) == f"4.5.7.dev1+g{git(sources, 'rev-parse', '--short', 'HEAD')}"


def test_without_tags_the_changelog_has_the_version(sources: Path) -> None:
    assert version_of(sources) == "1.2.3"
    changelog(sources, "- A new change.", "## [1.2.3] - 2026-01-01")
    assert version_of(sources) == "1.2.4.dev0"
    git(sources, "init", "-q")
    git(sources, "add", ".")
    git(sources, "commit", "-qm", "one")
    assert version_of(sources) == f"1.2.4.dev0+g{git(sources, 'rev-parse', '--short', 'HEAD')}"
    inside = sources / "inside"  # a folder of another repository, whose tags say nothing about it
    inside.mkdir()
    shutil.copy(sources / "build_version.py", inside)
    changelog(inside, "## [7.8.9] - 2026-01-01")
    git(sources, "tag", "v4.5.6")
    assert version_of(inside) == "7.8.9"


def test_an_sdist_keeps_its_version_and_gives_a_wheel_of_it(project: Path) -> None:
    changelog(project, "## [1.2.3] - 2026-01-01")
    code = "import hatchling.build; print(hatchling.build.build_sdist('dist'))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    name = ended.stdout.split()[-1]
    assert name == "shoal-1.2.3.tar.gz"
    with tarfile.open(project / "dist" / name) as archive:
        archive.extractall(project / "unpacked", filter="data")
    unpacked = project / "unpacked/shoal-1.2.3"
    changelog(unpacked, "- A change.", "## [9.9.9] - 2026-01-01")  # the version of the sdist counts
    name, packages, files = built(unpacked)
    assert name == "shoal-1.2.3-py3-none-any.whl"
    assert "numba" in packages and "kernels.library" not in files


def test_the_citation_names_the_newest_version_of_the_changelog() -> None:
    newest = re.search(r"^## \[(\d.*?)\]", (TOP / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert f"\nversion: {newest[1]}\n" in (TOP / "CITATION.cff").read_text()
