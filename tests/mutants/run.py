"""Plant the faults of `faults.toml` one at a time in a copy of the project, and see whether the tests notice each.

Usage: python tests/mutants/run.py [--only ID_OR_AREA ...] [--workers N] [--all-tests]

Mutation testers for Python cannot see compiled kernels and change every operator, which would take days. The list has
faults that matter, each with the tests that should notice it. A fault in a kernel makes the compiled library stale, so
Numba compiles the kernels that the tests call, in a cache folder of this fault alone.

`noticed.toml` names the test that noticed each fault last. That test runs first, and the others only if it passes. So a
second run takes minutes, and a run that was stopped continues where it was. At the end, the tests that noticed a fault
run without any: one that fails then has noticed nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue

TOP = Path(__file__).parents[2]
LIST = Path(__file__).with_name("faults.toml")
NOTICED = Path(__file__).with_name("noticed.toml")
LEAST_SHARE = 0.95
SECONDS = 900  # wall-clock limit of the tests of one fault; a fault in a kernel has twice as much
LEFT_OUT = (".git", ".venv", "out", "site", "dist", "__pycache__", ".*_cache", ".hypothesis", "*.egg-info")
PASSED, FAILED, NOT_COLLECTED, NOT_FOUND, NOTHING_RAN = 0, 1, 2, 4, 5  # exit codes of pytest


@dataclass(frozen=True)
class Fault:
    """A planted fault, as `faults.toml` describes it; `file` is below src/shoal."""

    id: str
    area: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    occurrence: int | None = None
    harmless: str = ""

    @property
    def is_in_kernel(self) -> bool:
        return "kernels" in Path(self.file).parts

    def planted(self, source: str) -> str:
        """Return the source with the fault. Raise a ValueError if the list does not fit the source."""
        count = source.count(self.old)
        if count == 0:
            raise ValueError(f"{self.id}: {self.file} does not have the text {self.old!r}. Renew the fault.")
        if count > 1 and self.occurrence is None:
            raise ValueError(f"{self.id}: {self.file} has the text {count} times. Add an occurrence from 1 to {count}.")
        place = (self.occurrence or 1) - 1
        if place >= count:
            raise ValueError(f"{self.id}: {self.file} has the text only {count} times.")
        parts = source.split(self.old)
        before, after = self.old.join(parts[: place + 1]), self.old.join(parts[place + 1 :])
        mutant = before + self.new + after
        ast.parse(mutant)
        if mutant == source:
            raise ValueError(f"{self.id}: the fault does not change {self.file}.")
        return mutant


@dataclass(frozen=True)
class Result:
    """What the tests said of a fault. `test`: the one that failed, if pytest names one."""

    fault: Fault
    caught: bool
    how: str
    test: str
    seconds: float


def read_faults(path: Path = LIST) -> list[Fault]:
    """Return the faults of the list; a fault without tests has those of its area."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return [
        Fault(**{**table, "tests": tuple(table.get("tests", tables["areas"][table["area"]]))})
        for table in tables["fault"]
    ]


def read_noticed(path: Path = NOTICED) -> dict[str, str]:
    """Return the test that noticed each fault last, by the fault's id."""
    return dict(tomllib.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def write_noticed(noticed: Mapping[str, str], faults: Sequence[Fault], path: Path = NOTICED) -> None:
    """Write the tests that noticed the faults, in the order of the list."""
    lines = [f"{fault.id} = {json.dumps(noticed[fault.id])}" for fault in faults if fault.id in noticed]
    text = (
        "# The test that noticed each fault last, written by run.py, which runs it first.\n" + "\n".join(lines) + "\n"
    )
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)


class Copy:
    """A copy of the project in a temporary folder, in which one fault at a time is planted."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "project"
        self.cache = folder / "compiled"
        shutil.copytree(TOP, self.top, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def run(self, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
        """Run tests on the copy; return pytest's exit code, or None after a timeout, and what it printed."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.top / "src"),
            "NUMBA_CACHE_DIR": str(self.cache),
        }
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "--tb=line"]
        process = subprocess.Popen(
            [*pytest, "--hypothesis-profile=mutants", *tests], cwd=self.top, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the tests may have started processes
            process.communicate()
            return None, ""
        return process.returncode, printed

    def try_fault(self, fault: Fault, first: str | None) -> Result:
        """Plant a fault, run the test that noticed it last, then all of its tests, and restore the source."""
        path = self.top / "src" / "shoal" / fault.file
        source = path.read_text(encoding="utf-8")
        begin = time.monotonic()
        limit = 2 * SECONDS if fault.is_in_kernel else SECONDS
        _write(path, fault.planted(source))
        try:
            code, printed = self.run([first], limit) if first else (PASSED, "")
            if code in (PASSED, NOT_FOUND, NOTHING_RAN):
                code, printed = self.run(fault.tests, limit)
        finally:
            _write(path, source)
            if fault.is_in_kernel:
                shutil.rmtree(self.cache, ignore_errors=True)
        return Result(fault, *_judged(fault, code, printed), time.monotonic() - begin)


def _write(path: Path, source: str) -> None:
    """Write a source and remove its bytecode, which could be of another fault: Python compares only time and size."""
    path.write_text(source, encoding="utf-8")
    Path(cache_from_source(path)).unlink(missing_ok=True)


def _judged(fault: Fault, code: int | None, printed: str) -> tuple[bool, str, str]:
    if code is None:
        return True, "timeout", ""
    if code == PASSED:
        return False, "survived", ""
    if code < 0:
        return True, f"crash, signal {-code}", ""
    if code not in (FAILED, NOT_COLLECTED):
        raise RuntimeError(f"{fault.id}: pytest cannot run {' '.join(fault.tests)}:\n{printed[-2000:]}")
    noticed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed, re.M)
    return True, noticed[1] if noticed else "tests failed", noticed[1] if noticed else ""


def without_false_alarms(copy: Copy, results: Sequence[Result]) -> list[Result]:
    """Run the tests that noticed faults on the sources without a fault. What a failing test noticed was not a fault."""
    left = sorted({result.test for result in results if result.test})
    failing: set[str] = set()
    while left:  # usually once: -x ends at the first failure
        code, printed = copy.run(left, SECONDS)
        if code == PASSED:
            break
        noticed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", printed, re.M)
        if not noticed or noticed[1] not in left:
            sys.exit(f"The tests that noticed a fault cannot run without a fault:\n{printed[-4000:]}")
        left.remove(noticed[1])
        failing.add(noticed[1])
    how = "the test also fails without the fault"
    return [replace(r, caught=False, how=how, test="") if r.test in failing else r for r in results]


def try_all(faults: Sequence[Fault], workers: int, all_tests: bool) -> list[Result]:
    """Return the result of each fault; print each as soon as it is known."""
    everything, noticed = read_faults(), read_noticed()
    with tempfile.TemporaryDirectory(prefix="shoal-mutants-") as folder:
        copies: Queue[Copy] = Queue()
        for worker in range(workers):
            copies.put(Copy(Path(folder, str(worker))))

        def one(fault: Fault) -> Result:
            copy = copies.get()
            try:
                result = copy.try_fault(fault, None if all_tests else noticed.get(fault.id))
            finally:
                copies.put(copy)
            print(f"{fault.area:<10}  {fault.id:<40}  {result.seconds:5.0f} s  {result.how}", flush=True)
            if result.test != noticed.get(fault.id, ""):
                noticed[fault.id] = result.test
                write_noticed({id: test for id, test in noticed.items() if test}, everything)
            return result

        with ThreadPoolExecutor(workers) as pool:
            try:
                results = list(pool.map(one, faults))
            finally:  # after Ctrl-C, only the faults that are being tried end
                pool.shutdown(cancel_futures=True)
        return without_false_alarms(copies.get(), results)


def report(results: Sequence[Result]) -> int:
    """Print the share caught by area, and every survivor with its reason; return the exit code."""
    print(f"\n{'area':<12}{'planted':>8}{'caught':>8}{'share':>8}")
    for area in [*dict.fromkeys(result.fault.area for result in results), "all"]:
        part = [result for result in results if area in ("all", result.fault.area)]
        caught = sum(result.caught for result in part)
        print(f"{area:<12}{len(part):>8}{caught:>8}{100 * caught / len(part):>7.1f}%")
    late = [result.fault.id for result in results if result.how == "timeout"]
    if late:
        print(f"\nCaught by a timeout: {', '.join(late)}.")
    survivors = [result.fault for result in results if not result.caught]
    for fault in survivors:
        print(f"\nSurvived: {fault.id} ({fault.file}). {fault.breaks}")
        print(f"  {'Harmless: ' + fault.harmless if fault.harmless else 'No reason is given: write a test.'}")
    for result in results:
        if result.caught and result.fault.harmless:
            print(f"\n{result.fault.id} is caught by {result.how}: remove its reason from the list.")
    share = 1 - len(survivors) / len(results)
    explained = all(fault.harmless for fault in survivors)
    return 0 if share >= LEAST_SHARE and explained else 1


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults one at a time and see whether the tests notice.")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="ID_OR_AREA", help="some faults, or those of an area, in this order"
    )
    parser.add_argument("--workers", type=int, default=2, help="faults that are tried at the same time")
    parser.add_argument("--all-tests", action="store_true", help="do not begin with the test that noticed a fault last")
    options = parser.parse_args()
    faults = read_faults()
    known = {name for fault in faults for name in (fault.id, fault.area)}
    if unknown := sorted(set(options.only) - known):
        parser.error(f"The list has no fault or area {', '.join(unknown)}.")
    wanted = options.only or list(dict.fromkeys(fault.area for fault in faults))
    chosen = [fault for name in wanted for fault in faults if name in (fault.id, fault.area)]
    chosen = sorted(dict.fromkeys(chosen), key=lambda fault: fault.is_in_kernel)  # these take long
    try:
        for fault in faults:
            fault.planted((TOP / "src" / "shoal" / fault.file).read_text(encoding="utf-8"))
    except (ValueError, OSError, SyntaxError) as error:
        sys.exit(f"The list does not fit the sources. {error}")
    os.nice(10)
    return report(try_all(chosen, options.workers, options.all_tests))


if __name__ == "__main__":
    sys.exit(main())
