"""Build the wheel and the sdist, install each into a fresh environment, and protect a file with it.

    python .ci/try_packages.py

Every Python from 3.11 on that the machine has tries the wheel, which must not need Numba. The first one then tries the
sdist, which must bring Numba. All of them must write the same release. `make library` comes before.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).parents[1]
RECORDS = 300
SURVEY, ROLES = TOP / "examples/survey.csv", TOP / "examples/roles.toml"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SHOAL_KERNELS")}


def pythons() -> Iterator[Path]:
    """This Python, then those of other versions on the path or beside it."""
    yield Path(sys.executable)
    beside = Path(sys.base_prefix).parent
    for minor in (11, 12, 13, 14):
        if minor != sys.version_info.minor:
            name = f"python3.{minor}"
            known = [shutil.which(name), *sorted(map(str, beside.glob(f"3.{minor}.*/bin/{name}")))]
            yield from [Path(path) for path in known if path and is_usable(path)][:1]


def is_usable(python: str) -> bool:
    """Does it start, and can it make environments?"""
    return subprocess.run([python, "-c", "import ctypes, ssl, venv"], capture_output=True).returncode == 0


def built(folder: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of these sources."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", folder], cwd=TOP, check=True
    )
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    if "manylinux" not in wheel.name:
        sys.exit(f"{wheel.name} carries no compiled kernels. Build them first: make library")
    return wheel, sdist


def environment(python: Path, folder: Path) -> Path:
    """A fresh environment without pip; returns its Python."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin/python"


def pip(python: Path, *words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True, env=ENVIRONMENT)


def has_numba(python: Path) -> bool:
    return subprocess.run([python, "-c", "import numba"], capture_output=True, env=ENVIRONMENT).returncode == 0


def release(python: Path, folder: Path, version: str) -> bytes:
    """Protect the first records of the survey away from the sources, with an empty cache; returns the release."""
    folder.mkdir()
    lines = SURVEY.read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "data.csv").write_text("".join(lines[: RECORDS + 1]), encoding="utf-8")
    shoal = python.with_name("shoal")
    shown = subprocess.run([shoal, "--version"], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True).stdout
    if shown.split()[-1:] != [version]:
        sys.exit(f"shoal --version prints {shown!r}, but the version is {version}.")
    outputs = ["-o", "release.csv", "--report", "report.html", "--save-recipe", "recipe.toml"]
    ended = subprocess.run(
        [shoal, "microaggregate", "data.csv", "-k", "5", "--roles", ROLES, "--method", "mdav", *outputs],
        cwd=folder,
        env={**ENVIRONMENT, "XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        sys.exit(ended.stderr)
    return (folder / "release.csv").read_bytes()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = built(folder / "dist")
        version = sdist.name.removeprefix("shoal-").removesuffix(".tar.gz")
        releases: dict[str, bytes] = {}
        for number, interpreter in enumerate(pythons()):
            python = environment(interpreter, folder / f"venv{number}")
            pip(python, "install", "--no-compile", wheel)
            if has_numba(python):
                sys.exit("The wheel carries compiled kernels, but its installation brings Numba.")
            label = f"wheel, {interpreter}"
            releases[label] = release(python, folder / f"run{number}", version)
            print(f"{label}: good", flush=True)
        python = folder / "venv0/bin/python"
        pip(python, "uninstall", "--yes", "shoal")
        pip(python, "install", "--no-compile", sdist)
        if not has_numba(python):
            sys.exit("The sdist has no compiled kernels, but its installation does not bring Numba.")
        releases["sdist"] = release(python, folder / "run-sdist", version)
        print("sdist: good", flush=True)
        if len(set(releases.values())) != 1:
            sys.exit("The releases differ: " + ", ".join(f"{key} {hash(data):x}" for key, data in releases.items()))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} CPU s")


if __name__ == "__main__":
    main()
