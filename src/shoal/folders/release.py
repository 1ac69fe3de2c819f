"""A release of many files: what the search staged, and how to write it as a folder."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.engine.control import Control
from shoal.engine.trace import TracePoint
from shoal.errors import UsageError
from shoal.folders.judging import FolderSaving, Rows
from shoal.folders.staging import Staging, staged_bytes
from shoal.folders.writing import FolderWriter, NewValuesOfFiles
from shoal.gate.findings import Findings
from shoal.gate.guarantees import Guarantees
from shoal.gate.policy import policy_named
from shoal.gate.promises import Promise
from shoal.gate.saving import Saving, policy_notices
from shoal.notices import notice
from shoal.places.place import Place
from shoal.recipe import Input, Recipe
from shoal.release import SEED_NOTICE
from shoal.sources.files import checksum
from shoal.sources.scanning import Files, is_one_file
from shoal.table.roles import Roles

if TYPE_CHECKING:
    from shoal.protections.protection import Protection


@dataclass(frozen=True, eq=False)
class StagedResult:
    """What a protection of many files returns.

    Attributes:
        rows: The rows of each file.
        roles: The roles of the columns.
        columns: The columns of the files.
        changed: The protected columns.
        k: The guaranteed class size, if there is one.
        facts: The values of the run that the command line prints.
        promises: The guarantees that the release check verifies.
        new: What has the new values of every file.
        settings: What the recipe records besides the arguments.
        also: Further results that the command can write, by the name of its option.
    """

    rows: Rows
    roles: Roles
    columns: tuple[str, ...]
    changed: tuple[str, ...]
    k: int | None
    facts: dict[str, Any]
    promises: tuple[Promise, ...]
    new: NewValuesOfFiles
    settings: Mapping[str, Any] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class FolderRelease:
    """A protected table in many files, staged but not yet written; see `shoal.Release` for the attributes."""

    files: Files
    result: StagedResult
    staging: Staging
    place: Place
    protection: Protection
    recipe: Recipe
    seed: int | None = None
    secret: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    trace: tuple[TracePoint, ...] = ()
    notices: tuple[str, ...] = ()
    control: Control | None = None

    @property
    def facts(self) -> dict[str, Any]:
        return self.result.facts

    @property
    def k(self) -> int | None:
        return self.result.k

    @property
    def changed(self) -> tuple[str, ...]:
        return self.result.changed

    @property
    def title(self) -> str:
        return self.protection.title

    @property
    def guarantees(self) -> Guarantees:
        """The guarantees that the release check verifies."""
        roles = self.result.roles
        if not roles.quasi:  # every column without a role was protected
            roles = replace(roles, quasi=tuple(name for name in self.changed if name not in roles.assigned))
        return Guarantees(roles, self.changed, self.result.promises)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        shuffle: bool = False,
        keep_order: bool = False,
        policy: str | os.PathLike[str] | None = None,
        previous: str | os.PathLike[str] | None = None,
        first_release: bool = False,
        accept_k: int | None = None,
    ) -> SavedFolder:
        """Write one file per input file into a new folder, verify every file and the whole, and name the folder.

        Args:
            folder: The folder to write. It must not exist, or be empty. For a single input file, also the name of a
                file of the same format.
            shuffle: Write the rows of each file in random order, drawn from the run's secret, or from the seed if you
                set one. Which file a record is in stays the same.
            keep_order: Keep the original order of the rows although it discloses values.
            policy: A policy's name or a TOML file; a release that it blocks is not written.
            previous: The folder of an earlier release of the same records: files of the same names with the same rows.
            first_release: State that these records were never released before.
            accept_k: The smallest k over all known columns that you accept instead of the guaranteed k.

        Returns:
            The folder, with its recipe and findings.

        Raises:
            PromiseError: A guarantee does not hold or the policy blocks the release; nothing is written.
            WriteError: The folder cannot be written.
        """
        if not self.staging.folder.exists():
            raise UsageError(
                "The staged results are gone: this release was saved or discarded. Protect the files again."
            )
        saving = FolderSaving(shuffle, keep_order, policy, previous, first_release, accept_k)
        name = Path(folder).expanduser().absolute()
        one_file = len(self.files.paths) == 1 and is_one_file(self.files.paths[0], name)
        target = name.with_name(f".{name.name}.folder") if one_file else name
        policy_named(saving.policy_name)
        saving.check(self.files.names)
        removed = set(self.result.roles.removed)
        released = tuple(name for name in self.result.columns if name not in removed)
        writer = FolderWriter(
            self.files, self.result.rows, self.result.roles, released, self.guarantees, self.result.new, self.staging,
            self.secret if self.secret is not None else self.seed or 0,
        )  # fmt: skip
        control = self.control or Control()
        if name in self.files.paths:
            raise UsageError(f"The output {name} is an input file. Name another file: Shoal never changes the input.")
        if one_file:
            shutil.rmtree(target, ignore_errors=True)  # of a run that was killed
        findings = control.call(lambda: writer.save(target, saving))
        notices = (SEED_NOTICE,) if shuffle and self.secret is None else ()
        for text in (notices := (*notices, *policy_notices(findings, Saving(policy=policy, previous=previous)))):
            notice(text)
        recipe = self.recipe.with_output_folder(name, **asdict(saving))
        if one_file:
            written = target / self.files.paths[0].name
            recipe = self.recipe.with_output(name, checksum(written), **asdict(saving))
            os.replace(written, name)
            shutil.rmtree(target)
        self.facts["staged_bytes"] = staged_bytes(self.staging.folder)
        if self.files.staging is None:
            self.discard()
        return SavedFolder(name, recipe, findings, (*self.notices, *notices), self)

    def save_also(self, method: str, path: str | os.PathLike[str]) -> None:
        """Write a further file of the protection, such as its mapping; `method` is that of a release of one file."""
        module = importlib.import_module(f"{self.protection.function.__module__}.{self.protection.on_files}")
        getattr(module, method)(self.result.also, Path(path))

    def discard(self) -> None:
        """Remove the staged results, which hold original values, and end the workers."""
        self.close()
        self.staging.remove()

    def close(self) -> None:
        """End the workers and leave the staged results, from which another run can continue."""
        if isinstance(self.files.on, str):
            self.place.close()
        self.staging.close()


@dataclass(frozen=True, eq=False)
class SavedFolder:
    """A saved release: its folder, and what belongs to it."""

    path: Path
    recipe: Recipe
    findings: Findings
    notices: tuple[str, ...]
    release: FolderRelease

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write an internal HTML report: settings, result, loss per column, risk and findings.

        Raises:
            WriteError: The file cannot be written.
        """
        from shoal.report.folder import folder_page

        page = folder_page(self.release, self.recipe, self.findings)
        return page.write(Path(path), *self.release.files.paths)

    def __fspath__(self) -> str:
        return str(self.path)


def input_of_files(files: Files, rows: Rows, roles: Roles) -> Input:
    """Return the files with their checksums in order, and the roles of their columns."""
    options: dict[str, Any] = {**files.text_options, **roles.as_dict()}
    if files.lazy is not None:  # the files are temporary, so no recipe can name them
        return Input(**options)
    return Input(files=tuple(str(path) for path in files.paths), checksums=rows.sha256, **options)


def refuse_on_files(protection: Protection) -> UsageError:
    """Return the error for a protection that cannot run on many files; it says what to do instead."""
    return UsageError(f"shoal {protection.name} cannot protect a folder of files. {protection.instead_of_files}")
