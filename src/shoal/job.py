"""The order of work around a protection: check every path, protect, save, report.

Everything that writes a release, such as the commands and `shoal run`, makes a `Job`. Before any work, it raises an
error for a path that cannot be written. It makes the reports before the release gets its name, and writes them after
it. So a problem with one file leaves no other file behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError
from shoal.gate.policy import check_policy
from shoal.gate.saving import Saving
from shoal.sources.files import check_distinct, check_place, check_target

if TYPE_CHECKING:
    from shoal.release import Release, Saved
    from shoal.report.page import Page


@dataclass(eq=False)
class Job:
    """The files of one run. The keys of the mappings name a file in messages, such as "--report".

    Attributes:
        inputs: Files that no output may replace.
        target: The file of the release, or None.
        target_name: The name of the target in messages.
        saving: How the release is saved (`shoal.gate.saving.Saving`).
        reports: The reports, each with True for a public report.
        written: Other files that the run writes.
        read: Other files that the run reads.
        place: A context for the check of "policy", "previous" or "file" that adds the line of the recipe to a message.
    """

    inputs: Mapping[str, Any]
    target: str | None
    saving: Mapping[str, Any]
    target_name: str = "-o"
    reports: Mapping[str, tuple[str | None, bool]] = field(default_factory=dict)
    written: Mapping[str, Any] = field(default_factory=dict)
    read: Mapping[str, Any] = field(default_factory=dict)
    place: Callable[[str], AbstractContextManager[Any]] = lambda key: nullcontext()

    def __post_init__(self) -> None:
        self._release: Release | None = None  # the saved release
        self._pages: dict[str, Page] = {}

    def check(self) -> None:
        """Raise an error, before any work, for a policy, an earlier release or a path that cannot be used."""
        policy, previous = self.saving.get("policy"), self.saving.get("previous")
        with self.place("policy"):
            check_policy(policy)
        with self.place("previous"):
            check_previous(previous)
        inputs = [path for path in self.inputs.values() if path is not None]
        if self.target is not None:
            with self.place("file"):
                check_target(self.target, *inputs)
        reports = {name: path for name, (path, _) in self.reports.items()}
        for path in (*reports.values(), *self.written.values()):
            if path is not None:
                check_place(path, *inputs)
        policy_file = policy if policy is not None and str(policy).endswith(".toml") else None
        check_distinct(
            {self.target_name: self.target, **reports, **self.written},
            {**self.inputs, "--previous": previous, "--policy": policy_file, **self.read},
        )

    def save(self, release: Release) -> Release:
        """Save the release if there is a target, make its reports, and return the release with its file."""
        release.original.weights()  # raises an error before the file is written, not after
        if self.target is None:
            self._make_pages(release)
            return release
        return release.save_with(self.target, Saving(**self.saving), self._of_saved).release

    def write_reports(self) -> None:
        """Write the reports that were made with the release."""
        for path, page in self._pages.items():
            from shoal.report.release import write_page

            assert self._release is not None
            write_page(page, self._release, Path(path))

    def _of_saved(self, saved: Saved) -> None:
        self._make_pages(saved.release)

    def _make_pages(self, release: Release) -> None:
        self._release = release
        wanted = {path: public for path, public in self.reports.values() if path is not None}
        if wanted:
            from shoal.report.release import release_page

            self._pages = {path: release_page(release, public) for path, public in wanted.items()}


def check_previous(path: Any) -> None:
    """Raise an error before any work if the earlier release does not exist."""
    if path is not None and not Path(path).is_file():
        raise InputError(f"The earlier release {path} does not exist. Check its path, or remove --previous.")
