"""Where and how people start Shoal: a small run loads little, and no run needs a network or a home folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.engine.kernels.library import PLACE, open_library
from shoal.engine.kernels.stamp import source_hash

TOP = Path(__file__).parents[1]
NOBODY = 65534
COMMAND = ["microaggregate", "data.csv", "-k", "5", "--roles", str(TOP / "examples/roles.toml"), "--method", "mdav"]
# Runs a command with the method of the environment, then prints the packages that it loaded.
LOADED = f"""
import os, sys
from shoal.cli import main
try:
    main([*{COMMAND!r}, "--method", os.environ["METHOD"], "-o", "release.csv"])
except SystemExit as ended:
    assert not ended.code
charts = [name for name in sys.modules if name == "shoal.report.charts"]
print("loaded:", *sorted({{name.partition(".")[0] for name in sys.modules}}), *charts)
"""
# Ends the process when anything asks for a name or a connection.
OFFLINE = """
import os, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, f"{event} {arguments}".encode())
        os._exit(99)
sys.addaudithook(refuse)
"""
needs_library = pytest.mark.skipif(
    open_library(PLACE, source_hash()) is None, reason="no library was built: make library"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with 50 records."""
    lines = (TOP / "examples/survey.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "data.csv").write_text("".join(lines[:51]), encoding="utf-8")
    return tmp_path


def run(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A new Python in the folder, with the sources that are tested."""
    environment = {**os.environ, "PYTHONPATH": str(TOP / "src"), **environment}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


@needs_library
@pytest.mark.parametrize(("method", "solver"), [("mdav", set()), ("auto", {"highspy"})])
def test_a_small_run_loads_only_what_it_uses(method: str, solver: set[str], folder: Path) -> None:
    ended = run(LOADED, folder, SHOAL_KERNELS="ahead", METHOD=method)
    assert (folder / "release.csv").exists(), ended.stderr
    loaded = set(ended.stdout.split("loaded:")[-1].split())
    assert {"numpy", "polars", "shoal", *solver} <= loaded
    heavy = {"numba", "llvmlite", "scipy", "pydantic", "pydantic_core", "jinja2", "highspy", "pandas", "pyarrow"}
    assert not loaded & {*heavy, "markupsafe", "shoal.report.charts", "multiprocessing"} - solver


@needs_library
def test_linear_algebra_has_one_thread_unless_the_user_says_otherwise(folder: Path) -> None:
    code = "import os, shoal.cli; print(os.environ['OPENBLAS_NUM_THREADS'])"
    assert run(code, folder, OPENBLAS_NUM_THREADS="3").stdout == "3\n"
    alone = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**alone, "PYTHONPATH": str(TOP / "src")}, capture_output=True, text=True
    )
    assert ended.stdout == "1\n"


@needs_library
def test_a_run_with_a_report_asks_for_no_network(folder: Path) -> None:
    words = [*COMMAND, "-o", "release.csv", "--report", "report.html"]
    ended = run(f"{OFFLINE}\nfrom shoal.cli import main\nmain({words!r})", folder)
    assert ended.returncode == 0, ended.stderr
    assert (folder / "report.html").stat().st_size < 200_000
    seen = run(f"{OFFLINE}\nimport socket\nsocket.getaddrinfo('localhost', 80)", folder)
    assert seen.returncode == 99  # the hook works


@pytest.fixture
def folder_of_nobody() -> Iterator[Path]:
    """A folder that another user owns; those of pytest may be closed to others."""
    with tempfile.TemporaryDirectory() as place:
        os.chown(place, NOBODY, NOBODY)
        yield Path(place)


@needs_library
@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")
def test_a_user_without_a_home_folder_can_run_it(folder: Path, folder_of_nobody: Path) -> None:
    shutil.copy(folder / "data.csv", folder_of_nobody)
    start = next((start for start in starts() if works(start, folder_of_nobody)), None)
    if start is None:
        pytest.skip("another user can start no Python with these packages")
    ended = as_nobody([*start, "-m", "shoal", *COMMAND, "-o", "release.csv"], folder_of_nobody)
    assert ended.returncode == 0, ended.stderr
    assert (folder_of_nobody / "release.csv").stat().st_uid == NOBODY


def starts() -> list[list[str]]:
    """Ways to start Python as another user.

    Either this Python, or one of the system of the same version, or this one with the right to read every file and to
    write nowhere, if it is in a folder that the user cannot read.
    """
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    system = shutil.which(f"python{sys.version_info.major}.{sys.version_info.minor}", path="/usr/local/bin:/usr/bin")
    reads = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return [[*user, sys.executable], *([[*user, system]] if system else []), [*user, *reads, sys.executable]]


def works(start: list[str], folder: Path) -> bool:
    """Whether the user can load the packages, read the files of the test, write into the folder, and not elsewhere."""
    code = (
        "import numpy, os, polars, shoal, sys; [open(name, 'rb').read(1) for name in sys.argv[1:]]; "
        "open(os.path.abspath('probe'), 'w').close(); sys.exit(os.access('/', os.W_OK))"
    )
    try:
        return as_nobody([*start, "-c", code, str(PLACE), str(TOP / "examples/roles.toml")], folder).returncode == 0
    except OSError:
        return False


def as_nobody(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python as a user without a home folder."""
    path = f"{TOP / 'src'}{os.pathsep}{sysconfig.get_path('purelib')}"
    known = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NUMBA_"))}
    alone = {**known, "PYTHONPATH": path, "HOME": "/nonexistent", "SHOAL_KERNELS": "ahead"}
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("pyreadstat", "from shoal.sources.labelled import library; library()"),
        ("scikit-posthocs", "from shoal.studies.analysis import _library; _library('scikit_posthocs')"),
    ],
)
def test_a_message_names_the_package_that_is_missing_and_not_one_of_a_stranger(
    folder: Path, package: str, code: str
) -> None:
    """Shoal is on no registry, so that its name there may be anybody's."""
    hidden = f"import sys; sys.modules[{package.replace('-', '_')!r}] = None; {code}"
    assert run(hidden, folder).stderr.rstrip().endswith(f": pip install {package}")
