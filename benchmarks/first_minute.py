"""Time to the first result: from the wheel, from this checkout and by `make demo` in a fresh clone.

    python benchmarks/first_minute.py [--wheel dist/shoal-….whl] [--without-checkout] [--without-demo]

The wheel is installed into a new virtual environment, away from the sources (`make wheel` builds it). Every run is
a separate process that writes a release of the bundled survey, or of its first 50 records. It runs once with an empty
cache of compiled code, and once with the cache that the first run filled. The clone has the last commit. The script
prints the seconds by the clock, the CPU seconds and the peak memory of each run, with those of the processes that
compile. It also prints the installed size of each package. The clock depends on what else the machine does, so compare
only rows of one run of this script.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[1]
SURVEY, ROLES = TOP / "examples/survey.csv", TOP / "examples/roles.toml"
REPORT = ["--report", "report.html"]
# The name of a run, its options, and whether it takes only the first 50 records. The checkout makes only the quick run.
RUNS = (
    ("50 records, mdav", ["--method", "mdav"], True),
    ("50 records", [], True),
    ("quick, report", ["--effort", "quick", *REPORT], False),
    ("standard, report", ["--effort", "standard", *REPORT], False),
)


def spent(command: list[Any], folder: Path, environment: dict[str, str]) -> tuple[float, float, float]:
    """Seconds by the clock, CPU seconds and peak megabytes of one command and what it starts."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            errors.seek(0)
            sys.exit(f"{' '.join(map(str, command))} failed: {errors.read().decode()}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def alone(cache: Path, kernels: str | None) -> dict[str, str]:
    """The environment variables of a run: its cache folder, and no settings of Shoal or Python from outside."""
    outside = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "SHOAL_KERNELS")
    kept = {name: value for name, value in os.environ.items() if name not in outside}
    return kept | {"NUMBA_CACHE_DIR": str(cache), **({"SHOAL_KERNELS": kernels} if kernels else {})}


def measured(
    python: Path, words: list[str], small: bool, cache: Path, kernels: str | None
) -> tuple[float, float, float]:
    """Seconds by the clock, CPU seconds and peak megabytes of one run of microaggregate."""
    with tempfile.TemporaryDirectory() as folder:
        source = SURVEY.read_text(encoding="utf-8").splitlines(keepends=True)
        (Path(folder) / "data.csv").write_text("".join(source[:51] if small else source), encoding="utf-8")
        command = ["-m", "shoal", "microaggregate", "data.csv", "-k", "5", "--roles", str(ROLES), "-o", "out.csv"]
        return spent([python, *command, *words], Path(folder), alone(cache, kernels))


def demo_rows(folder: Path) -> Iterator[str]:
    """`make demo` in a fresh clone with an empty cache: the installation, and the run after it."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
    environment = {name: value for name, value in alone(folder / "cache", None).items() if not name.startswith("MAKE")}
    for label, goal in (("venv and pip", ".venv/bin/shoal"), ("make demo after it", "demo")):
        yield row("clone", label, "empty", spent(["make", goal], clone, environment))


def row(name: str, label: str, state: str, figures: tuple[float, float, float]) -> str:
    wall, cpu, memory = figures
    return f"{name:9s} {label:18s} {state:7s} {wall:8.2f} {cpu:8.2f} {memory:8.0f}"


def rows(name: str, python: Path, kernels: str | None) -> Iterator[str]:
    """Each run twice: with an empty cache, then with the cache that the first one filled."""
    for label, words, small in RUNS if kernels is None else RUNS[2:3]:
        with tempfile.TemporaryDirectory() as cache:
            for state in ("empty", "filled"):
                yield row(name, label, state, measured(python, words, small, Path(cache), kernels))


def installed(wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel; gives its Python, and prints the seconds and the size of each package."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True)
    print(f"virtual environment and pip: {time.perf_counter() - started:.1f} s by the clock; sizes in MB:")
    packages = next((folder / "lib").glob("python*/site-packages"))
    sizes = {path.name: size_of(path) for path in packages.iterdir() if not path.name.endswith(".dist-info")}
    for package, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size >= 1.0:
            print(f"  {package:24s} {size:8.1f}")
    print(f"  {'all':24s} {sum(sizes.values()):8.1f}\n")
    return python


def size_of(path: Path) -> float:
    """Megabytes of a file or folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    newest = max((TOP / "dist").glob("shoal-*.whl"), key=lambda path: path.stat().st_mtime, default=None)
    parser.add_argument("--wheel", type=Path, default=newest)
    parser.add_argument("--without-checkout", action="store_true", help="Measure the wheel alone.")
    parser.add_argument("--without-demo", action="store_true", help="Do not run make demo in a fresh clone.")
    chosen = parser.parse_args()
    if chosen.wheel is None:
        sys.exit("There is no wheel in dist. Build one with: make wheel")
    folder = Path(tempfile.mkdtemp())
    try:
        python = installed(chosen.wheel.resolve(), folder / "venv")
        print(f"{'install':9s} {'run':18s} {'cache':7s} {'clock, s':>8s} {'CPU, s':>8s} {'peak, MB':>8s}")
        ways = [("wheel", python, None)]
        if not chosen.without_checkout:
            ways.append(("checkout", Path(sys.executable), "jit"))  # as where no library was built
        for way in ways:
            for line in rows(*way):
                print(line, flush=True)
        for line in [] if chosen.without_demo else demo_rows(folder):
            print(line, flush=True)
        loop = spent([sys.executable, "-c", "for _ in range(20_000_000): pass"], folder, dict(os.environ))
        print(f"an empty loop of 20 million rounds: {loop[1]:.2f} CPU s")
        print(f"load of the machine, over 15 minutes: {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
