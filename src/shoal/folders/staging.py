"""Staged results: what the units of each stage write, so that a killed run continues and a lost file is made again.

A stage calls one function with each of its units at a place (`shoal.places`). A unit writes Arrow files and returns
facts. The facts and the checksums of the files are written last, as JSON: a unit without them has not ended. If a unit
finds a staged file missing, the stage that wrote the file runs again for it.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shoal.atomic import atomically
from shoal.engine.control import current
from shoal.errors import InputError, Stopped, UsageError, WriteError
from shoal.notices import collecting, notice
from shoal.places.place import Place
from shoal.sources.files import checksum

Facts = dict[str, Any]
PLAN, LOCK = "plan.json", "lock"
MAX_REPAIRS = 3  # per stage, so that a disk that loses files does not keep a run busy forever


class LostFile(Exception):
    """A staged file is missing or damaged; `path` names it."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True)
class StagedOutput:
    """Where a unit writes: `write` makes a staged file, whose name is that of the unit with a suffix."""

    base: Path

    def write(self, frame: pl.DataFrame, suffix: str = "") -> None:
        """Write a frame as an uncompressed Arrow file, which readers map into memory."""
        with atomically(staged_file(self.base, suffix)) as temporary:
            frame.rechunk().write_ipc(temporary, compression="uncompressed")


@dataclass(frozen=True)
class Unit:
    """One unit of a stage. suffixes: the files that it writes. function: called with the task and an `Output`.

    on_driver: it runs in the process that started the run, because it sees the whole table in some form.
    """

    function: Callable[[Any, StagedOutput], Facts]
    task: Any
    base: Path
    suffixes: tuple[str, ...]
    on_driver: bool = False


def staged_file(base: Path, suffix: str = "") -> Path:
    """Return the path of a staged file."""
    return base.with_name(f"{base.name}{suffix}.arrow")


def read_staged(base: Path, suffix: str = "", rows: tuple[int, int] | None = None) -> pl.DataFrame:
    """Read a staged file, or some of its rows; a missing or damaged file raises `LostFile`."""
    path = staged_file(base, suffix)
    try:
        if rows is None:
            return pl.read_ipc(path)
        part = pl.scan_ipc(path).slice(rows[0], rows[1] - rows[0]).collect()
    except (OSError, pl.exceptions.PolarsError):
        raise LostFile(str(path)) from None
    if part.height != rows[1] - rows[0]:
        raise LostFile(str(path))
    return part


def run_unit(unit: Unit) -> Facts:
    """Do the work of a unit, on a worker, and keep its facts; notices become facts."""
    if not unit.base.parent.is_dir():
        raise WriteError(
            f"The staging folder {unit.base.parent.parent} does not exist on the worker {platform.node()}. Name one "
            "that every worker has under the same path, with --staging DIR."
        )
    notices: list[str] = []
    with collecting(notices):
        facts = unit.function(unit.task, StagedOutput(unit.base))
    facts["notices"] = notices
    files = {suffix: _sum_of(staged_file(unit.base, suffix)) for suffix in unit.suffixes}
    with atomically(unit.base.with_suffix(".json")) as temporary:
        temporary.write_text(json.dumps({"facts": facts, "files": files}), encoding="utf-8")
    return facts


def _run_here(unit: Unit) -> Facts:
    """Do the work of a unit in this process; a search that was stopped has no result that later runs could use."""
    control = current()
    facts = run_unit(unit)
    if control.stopped:
        unit.base.with_suffix(".json").unlink(missing_ok=True)
        raise Stopped("The work was stopped before it had a result.")
    return facts


class Staging:
    """The staged results of one run, in a folder that no other run uses at the same time.

    Args:
        folder: The folder. It is made if it does not exist.
        plan: What the results depend on. A folder with the results of another plan is refused.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any], place: Place) -> None:
        self.folder, self.place = folder, place
        self.reused = 0
        self._stages: dict[str, list[Unit]] = {}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = open(folder / LOCK, "w")  # noqa: SIM115 -- open as long as the run
        except OSError as error:
            raise WriteError(
                f"Cannot use the staging folder {folder}: {error.strerror}. Name another with --staging DIR."
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"Another run is using the staging folder {folder}. Wait for it, or name another with --staging DIR."
            ) from None
        self._check_plan(json.loads(json.dumps(plan)))

    def run(
        self,
        stage: str,
        function: Callable[[Any, StagedOutput], Facts],
        tasks: Sequence[Any],
        suffixes: tuple[str, ...] = ("",),
        *,
        on_driver: bool = False,
    ) -> list[Facts]:
        """Call the function with each task, and return the facts in order; results of an earlier run are reused.

        Args:
            stage: The name of the stage, which progress shows.
            suffixes: The staged files of a unit; by default one without a suffix.
            on_driver: Whether the units run in this process, one after the other, with its threads and its progress.
        """
        if any(unit.function is not function for unit in self._stages.get(stage, ())[:1]):
            raise ValueError(f"Two kinds of work stage their results as {stage!r}: give one of them another name.")
        folder = self.folder / stage
        folder.mkdir(exist_ok=True)
        units = [Unit(function, task, folder / f"{i:06d}", suffixes, on_driver) for i, task in enumerate(tasks)]
        self._stages[stage] = units
        ended = {i: facts for i, unit in enumerate(units) if (facts := _kept(unit)) is not None}
        for i, unit in enumerate(units):
            if i not in ended:  # later, only the sizes of files are compared: this one may be damaged
                unit.base.with_suffix(".json").unlink(missing_ok=True)
        results = self._completed(stage, ended)
        for text in dict.fromkeys(text for one in results for text in one["notices"]):
            notice(text)
        return results

    def begin(self, stages: Sequence[str], plan: Mapping[str, Any]) -> None:
        """Keep the results of these stages only if an earlier run had the same plan for them."""
        path, text = self.folder / f"{stages[0]}-plan.json", json.dumps(plan)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            for stage in stages:
                shutil.rmtree(self.folder / stage, ignore_errors=True)
            with atomically(path) as temporary:
                temporary.write_text(text, encoding="utf-8")

    def facts(self, stage: str) -> list[Facts]:
        """Return the facts of every unit of a stage that has ended."""
        kept = [json.loads(unit.base.with_suffix(".json").read_text(encoding="utf-8")) for unit in self._stages[stage]]
        return [one["facts"] for one in kept]

    def bases(self, stage: str) -> list[Path]:
        """Return the bases of the files of every unit."""
        return [unit.base for unit in self._stages[stage]]

    def drop(self, stage: str, suffixes: tuple[str, ...] = ("",)) -> None:
        """Remove the files of a stage that nothing needs any more; its facts stay."""
        for unit in self._stages[stage]:
            for suffix in suffixes:
                staged_file(unit.base, suffix).unlink(missing_ok=True)
            _mark_dropped(unit, suffixes)

    def repair(self, error: LostFile) -> None:
        """Make a lost file again, with whatever that needs."""
        path = Path(error.path)
        stage = path.parent.name
        units = self._stages.get(stage, ())
        lost = [unit for unit in units if path.name.startswith(unit.base.name)]
        # Of a stage that was dropped, everything is needed again.
        lost += [u for u in units if u not in lost and not all(staged_file(u.base, s).exists() for s in u.suffixes)]
        if not lost:
            raise WriteError(f"The staged file {path} is missing. Run the command again to continue.") from None
        for unit in lost:
            unit.base.with_suffix(".json").unlink(missing_ok=True)
        notice(f"The staged file {stage}/{path.name} was lost, so its part of the work was done again.")
        units = self._stages[stage]
        kept = {i: facts for i, unit in enumerate(units) if (facts := _kept(unit, fast=True)) is not None}
        self._completed(stage, kept)

    def close(self) -> None:
        """Let another run use the folder; if it has no result from which that run could continue, it is removed."""
        if not any(path.is_file() and path.name not in (PLAN, LOCK) for path in self.folder.rglob("*")):
            shutil.rmtree(self.folder, ignore_errors=True)
        self._lock.close()

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _completed(self, stage: str, kept: dict[int, Facts]) -> list[Facts]:
        units, control = self._stages[stage], current()
        self.reused += len(kept)
        results = dict(kept)
        for repairs in range(MAX_REPAIRS + 1):
            left = [i for i in range(len(units)) if i not in results]
            done_before = len(results)

            def done(count: int, done_before: int = done_before) -> None:
                control.show(done_before + count, len(units), None, stage)

            try:
                if units and units[0].on_driver:
                    results |= {i: _run_here(units[i]) for i in left}
                    break
                made = self.place.map(run_unit, [units[i] for i in left], done=done, going=lambda: not control.stopped)
            except LostFile as error:
                if repairs == MAX_REPAIRS:
                    raise WriteError(
                        f"The staging folder keeps losing files: {error.path} is missing. "
                        "Name a folder that no other program empties, with --staging DIR."
                    ) from None
                self.repair(error)
                results |= {i: facts for i in left if (facts := _kept(units[i], fast=True)) is not None}
                continue
            results |= dict(zip(left, made, strict=True))
            break
        return [results[i] for i in range(len(units))]

    def _check_plan(self, plan: Any) -> None:
        path = self.folder / PLAN
        if not path.exists():
            if any(name != LOCK for name in os.listdir(self.folder)):
                raise UsageError(f"The staging folder {self.folder} holds other files. Name an empty or new folder.")
            with atomically(path) as temporary:
                temporary.write_text(json.dumps(plan), encoding="utf-8")
            return
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier != plan:
            differing = [key for key in plan if plan[key] != earlier.get(key)]
            raise UsageError(
                f"The staging folder {self.folder} holds the results of another run: {', '.join(differing)} "
                f"{'differs' if len(differing) == 1 else 'differ'}. Delete it, or name another with --staging DIR."
            )


def plan_of_files(paths: Sequence[Path]) -> list[list[Any]]:
    """Return what identifies the input files without reading them: path, size and time of the last change."""
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]


def check_unchanged(path: Path, sha256: str) -> None:
    """Raise an error if an input file has changed since it was first read."""
    if checksum(path) != sha256:
        raise InputError(f"{path.name} has changed since the run began. Delete the staging folder and run again.")


def _sum_of(path: Path) -> list[int]:
    """Return the size and the CRC-32 of a file."""
    total, size = 0, 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            total, size = zlib.crc32(block, total), size + len(block)
    return [size, total]


def _kept(unit: Unit, *, fast: bool = False) -> Facts | None:
    """Return the facts of a unit that has ended and whose files are intact; with `fast`, only sizes are compared."""
    try:
        kept = json.loads(unit.base.with_suffix(".json").read_text(encoding="utf-8"))
        for suffix, (size, total) in kept["files"].items():
            path = staged_file(unit.base, suffix)
            intact = path.stat().st_size == size if fast else _sum_of(path) == [size, total]
            if not intact:
                return None
        for path, sha256 in kept["facts"].get("released", {}).items():
            if not fast and checksum(path) != sha256:
                return None
    except (OSError, ValueError, KeyError):
        return None
    facts: Facts = kept["facts"]
    return facts


def _mark_dropped(unit: Unit, suffixes: tuple[str, ...]) -> None:
    path = unit.base.with_suffix(".json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    files = {suffix: size for suffix, size in kept["files"].items() if suffix not in suffixes}
    with atomically(path) as temporary:
        temporary.write_text(json.dumps({**kept, "files": files}), encoding="utf-8")


def staged_bytes(folder: Path) -> int:
    """Return the size of the staged files."""
    return sum(path.stat().st_size for path in folder.rglob("*.arrow"))
