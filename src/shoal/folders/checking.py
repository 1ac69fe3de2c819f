"""`shoal.check_files`: check a release in many files that exists already, file by file and as a whole.

look       the first file: its columns, its roles, and the guarantees that the publisher states
count      a file: its rows and its checksum
compare    a file: the released file compared with the original one, its tuples staged by bucket
…          buckets of all files (`shoal.folders.judging`)
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress
from shoal.errors import InputError, PromiseError, UsageError, counted
from shoal.folders.columns import same_columns
from shoal.folders.judging import FolderJudge, FolderSaving, Rows, order_of_file, stage_checked
from shoal.folders.staging import Facts, StagedOutput, Staging, check_unchanged, plan_of_files
from shoal.folders.writing import SUCCESS
from shoal.gate.check import StatedGuarantees
from shoal.gate.findings import BLOCK, WARN, Finding, Findings
from shoal.gate.folders.by_file import FileCheck, as_facts, check_file
from shoal.gate.folders.whole import worst_of_files
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import Policy, policy_named
from shoal.gate.reading import frame_of
from shoal.places import place_named
from shoal.sources.files import checksum
from shoal.sources.scanning import Files, scan
from shoal.table.roles import Roles

ONE_FILE = ("swapped", "vital", "decoys", "round_weight", "bounds")  # of protections that take one file


def check_files(
    original: Files,
    release: str | os.PathLike[str],
    *,
    policy: str | Path = "default",
    previous: str | os.PathLike[str] | None = None,
    first_release: bool = False,
    accept_k: int | None = None,
    keep_order: bool = False,
    shuffled: bool = False,
    seed: int | str | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
    **stated: Any,
) -> Findings:
    """Check a release in many files against its original files, its guarantees and a disclosure policy.

    No process holds the whole table.

    Args:
        original: The original files, from `shoal.scan`, with the columns' roles.
        release: The folder of the release: a file of the same name for each original file.
        policy: A policy's name or a TOML file.
        previous: The folder of an earlier release of the same records.
        first_release: State that there is no earlier release.
        accept_k: The smallest k over the known columns that is accepted instead of the guaranteed k.
        keep_order: Accept the original row order although it discloses values.
        shuffled: State that the rows of each file were shuffled. This needs the seed.
        seed: The seed or the secret of the shuffle, so that rows can be compared.
        progress: A function that is called with the progress.
        control: An object for progress and stopping, instead of `progress`.
        stated: The guarantees, as in `shoal.check`: k, column_groups, within, l, t, distance, star, subsets.

    Returns:
        One finding per check; those of a file name it.

    Raises:
        UsageError: An argument is invalid.
        InputError: A file does not exist or cannot be read.
    """
    for name in ONE_FILE:
        if stated.pop(name, None):
            raise UsageError(
                f"--{name.replace('_', '-')} is about a protection that takes one file, not a folder. Remove it."
            )
    if stated.pop("missing", "keep") != "keep":
        raise UsageError("A folder of files keeps every row, and fills in no value. Remove --missing.")
    if shuffled and seed is None:
        raise UsageError(
            "The rows of shuffled files can only be compared with the recipe of the run (--recipe FILE) or with the "
            "seed (--seed N), if a seed was typed."
        )
    saving = FolderSaving(seed is not None, keep_order and seed is None, policy, previous, first_release, accept_k)
    saving.check(original.names)
    folder = Path(release).expanduser().absolute()
    if not folder.is_dir():
        raise UsageError(f"The release {folder} is not a folder. Name the folder of the released files.")
    whole = control_of(control, None, progress)
    with temporary_staging(
        original, {"the files": plan_of_files(original.paths), "the release": str(folder)}
    ) as staged:
        return whole.call(lambda: _Check(original, folder, policy_named(policy), saving, seed, staged).run(stated))


@contextmanager
def temporary_staging(files: Files, plan: Mapping[str, Any]) -> Iterator[Staging]:
    """A staging folder for work that need not continue: it is removed in any case, because it holds original values."""
    folder = files.staging or Path(tempfile.mkdtemp(prefix="shoal-"))
    place = place_named(files.on, files.workers) if isinstance(files.on, str) else files.on
    staging: Staging | None = None
    try:
        staging = Staging(folder, plan, place)
        yield staging
    finally:
        if isinstance(files.on, str):
            place.close()
        if staging is not None:
            staging.remove()
        elif files.staging is None:
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class LookTask:
    """The first file, and what the publisher states of the release."""

    files: Files
    stated: Mapping[str, Any]


def look(task: LookTask) -> tuple[tuple[str, ...], Guarantees]:
    """Return the columns of the first file, and the guarantees with the roles of the columns."""
    table = task.files.read(task.files.paths[0])
    return tuple(table.columns), StatedGuarantees(**task.stated).of(table)


@dataclass(frozen=True)
class CountTask:
    """A file whose rows are counted; it must have the columns of the first one."""

    files: Files
    path: Path
    columns: tuple[str, ...]
    roles: Roles


def count(task: CountTask, output: StagedOutput) -> Facts:
    """Return the rows and the checksum of a file."""
    sha256 = checksum(task.path)
    return {"rows": same_columns(task.files.read(task.path, Roles()), task).rows, "sha256": sha256}


@dataclass(frozen=True)
class CompareTask:
    """A released file to compare with its original.

    Attributes:
        number: Its place among the files.
        key: The seed or secret of shuffled rows.
        suffixes: The staged files.
    """

    files: Files
    number: int
    path: Path
    target: Path
    sha256: str
    roles: Roles
    check: FileCheck
    key: int | str | None
    suffixes: tuple[str, ...]


def compare(task: CompareTask, output: StagedOutput) -> Facts:
    """Check a released file, and stage what the whole needs; without comparable rows there are only findings."""
    check_unchanged(task.path, task.sha256)
    table = task.files.read(task.path, task.roles)
    before = frame_of(table.frame)
    if task.key is not None:
        before = before[order_of_file(task.key, task.number, before, task.check.guarantees.changed)]
    dialect = None if table.source is None else table.source.dialect
    check = replace(task.check, encoding=None if dialect is None else dialect.encoding)
    try:
        return stage_checked(check_file(task.target, before, None, check), output)
    except PromiseError as error:
        if error.findings is None:
            raise
        for suffix in task.suffixes:
            output.write(before[:0], suffix)
        return {"findings": as_facts(tuple(error.findings)), "released": {}, "differs": True}


@dataclass(frozen=True, eq=False)
class _Check:
    files: Files
    folder: Path
    policy: Policy
    saving: FolderSaving
    seed: int | str | None
    staging: Staging

    def run(self, stated: Mapping[str, Any]) -> Findings:
        """Compare every file that both folders have, and judge the whole if all of them could be compared."""
        begin = time.process_time()
        files, staging = self.files, self.staging
        [(columns, guarantees)] = staging.place.map(look, [LookTask(files.for_workers, stated)])
        of_folder = self._of_the_folder()
        if of_folder.status == BLOCK:
            return Findings([of_folder], self.policy.name, None, time.process_time() - begin)
        roles = guarantees.roles
        tasks = [CountTask(files.for_workers, path, columns, roles) for path in files.paths]
        counts = staging.run("count", count, tasks, ())
        rows = Rows(tuple(f["rows"] for f in counts), tuple(f["sha256"] for f in counts))
        released = tuple(name for name in columns if name not in roles.removed)
        judge = FolderJudge(files.names, rows, released, guarantees, staging, "compare")
        checks = judge.file_checks(self.policy, self.saving, refuses=False)
        facts = staging.run(
            "compare",
            compare,
            [
                CompareTask(
                    files.for_workers,
                    i,
                    path,
                    self.folder / path.name,
                    rows.sha256[i],
                    roles,
                    check,
                    self.seed,
                    judge.suffixes,
                )
                for i, (path, check) in enumerate(zip(files.paths, checks, strict=True))
            ],
            judge.suffixes,
        )
        if any(f.get("differs") for f in facts):
            by_file = worst_of_files(judge.findings_by_file(facts)).values()
            findings = Findings([of_folder, *by_file], self.policy.name, None, time.process_time() - begin)
        else:
            judged = judge.judged(facts, self.saving, self.policy)
            findings = Findings([of_folder, *judged], self.policy.name, judged.figures, time.process_time() - begin)
        return findings

    def _of_the_folder(self) -> Finding:
        """Whether the release has a file for each original file, and nothing else."""
        wanted = set(self.files.names)
        there = {name for name in os.listdir(self.folder) if not name.startswith(("_", "."))}
        absent, strange = sorted(wanted - there), sorted(there - wanted)
        texts = [f"{counted(len(absent), 'file')} missing, such as {absent[0]}"] if absent else []
        texts += [f"{counted(len(strange), 'file')} that no original file has, such as {strange[0]}"] if strange else []
        if texts:
            todo = "release one file for each original file, under the same name, and nothing else"
            return Finding("files", BLOCK, "; ".join(texts), len(there), len(wanted), todo)
        if not (self.folder / SUCCESS).is_file():
            text = f"all {len(wanted):,} files are there, but not {SUCCESS}, which marks a folder as complete"
            return Finding(
                "files", WARN, text, len(there), len(wanted), "find out whether the folder is a whole release"
            )
        return Finding("files", "ok", f"all {counted(len(wanted), 'file')} are there", len(there), len(wanted))


def released_files(release: str | os.PathLike[str], original: Files) -> Files:
    """Return the files of a release, one for each original file."""
    folder = Path(release).expanduser()
    if not folder.is_dir():
        raise UsageError(f"The release {folder} is not a folder. Name the folder of the released files.")
    for name in original.names:
        if not (folder / name).is_file():
            raise InputError(
                f"The release has no file {name}. It needs a file of the same name for each original file."
            )
    options: dict[str, Any] = dict(original.text_options)
    return scan([folder / name for name in original.names], **options)
