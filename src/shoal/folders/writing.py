"""The release of a folder: write and check each file, judge the whole, rename once.

    write      a file: new values, the written file read back and checked, its tuples staged by bucket
    …          buckets of all files (`shoal.folders.judging`)
    seal       a file: its checksum, compared with that of the checked file

The files are written into a hidden folder beside the target. It gets the target's name, in one step, after every check.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from shoal.errors import PromiseError, UsageError, WriteError
from shoal.folders.judging import STAGES, FolderJudge, FolderSaving, order_of_file, stage_checked
from shoal.folders.judging import Rows as Rows
from shoal.folders.staging import Facts, StagedOutput, Staging, check_unchanged, plan_of_files
from shoal.gate.findings import Findings
from shoal.gate.folders.by_file import FileCheck, check_file
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import Policy, policy_named
from shoal.gate.reading import frame_of
from shoal.gate.saving import sentences
from shoal.sources.files import as_polars, checksum, write_file
from shoal.sources.scanning import Files
from shoal.table.roles import Roles
from shoal.table.table import Table

SUCCESS = "_SUCCESS"  # an empty file that says that the folder is complete, as Hadoop and Spark write it


class NewValues(Protocol):
    """What puts the new values into the table of one file; it must be picklable."""

    def frame(self, table: Table) -> Any:
        """Return the protected data frame of the file."""
        ...


class NewValuesOfFiles(Protocol):
    """What has the new values of every file."""

    def of_file(self, number: int) -> NewValues:
        """Return the new values of one file."""
        ...


@dataclass(frozen=True)
class WriteTask:
    """A file to write and check. number: its place among the files. key: the secret or seed of shuffled rows."""

    files: Files
    number: int
    path: Path
    target: Path
    sha256: str
    roles: Roles
    new: NewValues
    changed: tuple[str, ...]
    check: FileCheck
    key: int | str


def write(task: WriteTask, output: StagedOutput) -> Facts:
    """Write the released file of an input file, if it passes the checks of a file, and stage what the whole needs."""
    check_unchanged(task.path, task.sha256)
    table = task.files.read(task.path, task.roles)
    after = as_polars(task.new.frame(table))
    before, source = frame_of(table.frame), table.source
    if task.check.shuffled:
        order = order_of_file(task.key, task.number, before, task.changed)
        before, after = before[order], after[order]
        source = None if source is None else source.take(order)
    dialect = None if source is None else source.dialect
    check = FileCheck(**{**task.check.__dict__, "encoding": None if dialect is None else dialect.encoding})
    facts: Facts = {}

    def verify(temporary: Path) -> None:
        checked = check_file(temporary, before, after, check)
        facts.update(stage_checked(checked, output))
        facts["released"] = {str(task.target): checksum(temporary)}

    write_file(after, task.target, source, protected=task.changed, check=verify)
    return facts


def seal(task: tuple[Path, str]) -> None:
    """Raise an error if a written file is not the one that was checked."""
    path, sha256 = task
    if not path.is_file() or checksum(path) != sha256:
        raise PromiseError(
            f"Nothing was written. {path.name} was changed after its check. Delete the staging folder, find out what "
            "writes into the folder, and run again."
        )


@dataclass(frozen=True, eq=False)
class FolderWriter:
    """Writes the release of many files into a hidden folder, checks it, and gives it its name."""

    files: Files
    rows: Rows
    roles: Roles
    released: tuple[str, ...]
    guarantees: Guarantees
    new: NewValuesOfFiles
    staging: Staging
    key: int | str = 0

    def save(self, target: Path, saving: FolderSaving) -> Findings:
        """Write the folder `target`, if every file and the whole release pass the checks.

        Raises:
            PromiseError: A guarantee does not hold or the policy blocks the release; nothing is written.
            WriteError: The files cannot be written.
        """
        policy = policy_named(saving.policy_name)
        saving.check(self.files.names)
        self._check_policy(policy, saving)
        check_new_folder(target)
        hidden = target.with_name(f".{target.name}.part")
        try:
            hidden.mkdir(exist_ok=True)
        except OSError as error:
            raise WriteError(f"Cannot write in the folder {target.parent}: {error.strerror}.") from error
        try:
            findings = self._checked(hidden, saving, policy)
            if findings.blocking:
                error_ = PromiseError(" ".join(["Nothing was written.", *sentences(findings.blocking)]))
                error_.findings = findings
                raise error_
            self._seal(hidden)
            _rename(hidden, target)
        except PromiseError:
            shutil.rmtree(hidden, ignore_errors=True)
            raise
        return findings

    @property
    def _judge(self) -> FolderJudge:
        return FolderJudge(self.files.names, self.rows, self.released, self.guarantees, self.staging)

    def _check_policy(self, policy: Policy, saving: FolderSaving) -> None:
        if policy.order == "shuffled" and not saving.shuffle:
            raise UsageError(
                f"The policy {policy.name} demands shuffled rows. Add --shuffle, or choose another policy."
            )

    def _checked(self, hidden: Path, saving: FolderSaving, policy: Policy) -> Findings:
        """Write every file, and return the findings on the whole release."""
        checks = self._judge.file_checks(policy, saving)
        tasks = [
            WriteTask(
                self.files.for_workers, i, path, hidden / path.name, self.rows.sha256[i], self.roles,
                self.new.of_file(i), self.guarantees.changed, check, self.key,
            )
            for i, (path, check) in enumerate(zip(self.files.paths, checks, strict=True))
        ]  # fmt: skip
        earlier = [check.previous for check in checks if check.previous is not None]
        plan = {
            "target": str(hidden), "policy": policy.name, "released": list(self.released), "shuffle": saving.shuffle,
            "key": self.key if saving.shuffle else None, "previous": plan_of_files([p for p in earlier if p.is_file()]),
        }  # fmt: skip
        self.staging.begin(("write", *STAGES), plan)
        return self._judge.judged(self.staging.run("write", write, tasks, self._judge.suffixes), saving, policy)

    def _seal(self, hidden: Path) -> None:
        """Check once more that the folder holds the checked files and nothing else."""
        released: dict[str, str] = {}
        for facts in self.staging.facts("write"):
            released |= facts["released"]
        (hidden / SUCCESS).unlink(missing_ok=True)
        strange = sorted(set(os.listdir(hidden)) - {Path(path).name for path in released})
        if strange:
            raise PromiseError(
                f"Nothing was written. The folder of the release holds a file that Shoal did not write: {strange[0]}."
            )
        self.staging.place.map(seal, [(Path(path), sha256) for path, sha256 in released.items()])


def check_new_folder(target: Path) -> Path:
    """Return the path if a release can get this name: it must be new, or an empty folder."""
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise UsageError(f"The output {target} exists. Name a new folder: Shoal never replaces or mixes releases.")
    if not target.absolute().parent.is_dir():
        raise UsageError(
            f"Cannot write {target}: the folder {target.absolute().parent} does not exist. Create it first."
        )
    return target


def _rename(hidden: Path, target: Path) -> None:
    """Mark the folder as complete, and give it its name in one step."""
    try:
        (hidden / SUCCESS).touch()
        handle = os.open(hidden, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(hidden, target)  # replaces an empty folder, never another
    except OSError as error:
        raise WriteError(f"Cannot write {target}: {error.strerror}.") from error
