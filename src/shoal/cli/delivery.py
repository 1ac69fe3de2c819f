"""What a command writes: all places and options are checked before any work, the files are written after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import print_json
from shoal.errors import printable

if TYPE_CHECKING:
    from shoal.gate.findings import Findings
    from shoal.release import Release
    from shoal.report.page import Page


SAVING = ("shuffle", "keep_order", "policy", "previous", "first_release", "accept_k", "round_weight")
WORST = 5  # findings on the screen; JSON has all


class Delivery:
    """The output options of one command (`output_options`), taken out of its arguments."""

    def __init__(
        self, given: dict[str, Any], written: Mapping[str, Any] | None = None, read: Mapping[str, Any] | None = None
    ) -> None:
        """`written`, `read`: further files of the command, by their options. What cannot be done is an error now."""
        from shoal.sources.files import check_distinct, check_place, check_target

        self.output: str | None = given.pop("output")
        self.report: str | None = given.pop("report")
        self.external: bool = given.pop("external")
        self.external_report: str | None = given.pop("external_report")
        self.as_json: bool = given.pop("as_json")
        self._recipe: str | None = given.pop("save_recipe")
        self._saving = {name: given.pop(name) for name in SAVING}
        if given.get("seed") is None:
            given.pop("seed", None)
        self._check_options()
        if self.output is not None:
            check_target(self.output, given["file"])
        others = dict(written or {})
        for path in (self.report, self.external_report, *others.values()):
            if path is not None:
                check_place(path, given["file"])
        policy = self._saving["policy"]
        check_distinct(
            {
                "-o": self.output,
                "--report": self.report,
                "--external-report": self.external_report,
                "--save-recipe": self._recipe,
                **others,
            },
            {
                "FILE": given["file"],
                "--previous": self._saving["previous"],
                "--policy": policy if policy is not None and str(policy).endswith(".toml") else None,
                "--roles": given.get("roles"),
                **(read or {}),
            },
        )

    def write(
        self, release: Release, show: Callable[[Any], None], also: Mapping[str, Callable[[str], Any]] | None = None
    ) -> None:
        """Write what was asked for and print the figures; `also`: other files to write, by their paths."""
        stopped = release.facts.get("stopped")
        if stopped:
            click.echo("Stopped before its end; this is the best so far.", err=True)
        pages = Pages(release, {self.report: self.external, self.external_report: True})
        deliver(release, self.output, self._saving, show, pages, as_json=self.as_json)
        if self._recipe is not None and release.recipe is not None:
            if stopped:
                click.echo("Warning: the recipe repeats the stopped run to its end.", err=True)
            release.recipe.save(self._recipe)
            click.echo(f"Written: {printable(self._recipe)}", err=True)
        for path, write in (also or {}).items():
            write(path)
        pages.write()
        if self.as_json:
            print_json({**release.facts, **checked_facts(release.findings, written=self.output is not None)})
            return
        for target in (self.output, *(also or ()), self.report, self.external_report):
            if target is not None:
                click.echo(f"Written: {printable(target)}")

    def _check_options(self) -> None:
        """An option that nothing uses is an error, and so is a policy or an earlier release that cannot be read."""
        from shoal.errors import UsageError
        from shoal.gate.policy import check_policy
        from shoal.recipe import check_recipe_place

        if self._recipe is not None:
            check_recipe_place(self._recipe)
        for name, value in self._saving.items():
            if value and self.output is None:
                option = name.replace("_", "-")
                raise UsageError(f"--{option} is about the file that is written: name one with -o, or leave it out")
        if self._saving["shuffle"] and self._saving["keep_order"]:
            raise UsageError("either --shuffle or --keep-order, not both")
        if self._saving["previous"] is not None and self._saving["first_release"]:
            raise UsageError("either --previous or --first-release, not both")
        check_policy(self._saving["policy"])
        check_previous(self._saving["previous"])
        check_external(self.external, self.report)


class Pages:
    """The reports of a command: made before the release is put in place, and written after it.

    So what a report cannot show is an error that leaves no file behind.
    """

    def __init__(self, release: Release, external: Mapping[str | None, bool]) -> None:
        """`external`: the reports by their paths, and whether each is for the outside."""
        self._release = release
        self._external = {path: outside for path, outside in external.items() if path is not None}
        self._made: dict[str, Page] = {}

    def make(self) -> None:
        from shoal.report.release import release_page

        self._made = {path: release_page(self._release, outside) for path, outside in self._external.items()}

    def write(self) -> None:
        from shoal.report.release import write_page

        for path, page in self._made.items():
            write_page(page, self._release, Path(path))


def deliver(
    release: Release,
    target: str | None,
    saving: Mapping[str, Any],
    show: Callable[[Any], None],
    pages: Pages,
    *,
    as_json: bool,
) -> None:
    """Save the release if a target is named, and show its figures; a refusal shows them too, then ends with 1."""
    from shoal.errors import PromiseError
    from shoal.gate.saving import Saving

    error: PromiseError | None = None
    release.original.weights()  # what cannot be measured is an error now, not once the file is written
    losses = [] if as_json else loss_warnings(release)
    if target is None:
        pages.make()
    else:
        try:
            release.save_with(target, Saving(**saving), pages.make)
        except PromiseError as refused:
            if refused.findings is None:
                raise
            error = refused
    findings = release.findings if error is None else error.findings
    if as_json and error is not None:
        print_json({**release.facts, **checked_facts(findings, written=False)})
    elif not as_json:
        show(release)
        print_findings(findings)
        for text in losses:
            click.echo(f"Warning: {printable(text)}", err=True)
    if error is not None:
        raise error
    broken = [finding for finding in findings.blocking if target is None]
    if broken:
        from shoal.gate.saving import sentences

        problem = " ".join(sentences(broken))
        click.echo(f"Warning: This table could not be written as it is. {printable(problem)}", err=True)


def loss_warnings(release: Release) -> list[str]:
    """What an analyst must know of: a large loss, or values and totals that are far off."""
    from shoal.losses import large_losses

    release.column_changes()
    loss = release.facts.get("information_loss")
    return list(large_losses(release.original, release.protected, release.changed, loss))


def checked_facts(findings: Findings, *, written: bool) -> dict[str, Any]:
    """What the release check adds to a command's JSON."""
    facts = findings.facts()
    kept: dict[str, Any] = {name: facts[name] for name in ("figures", "findings", "check_cpu_seconds") if name in facts}
    return {**kept, "written": written}


def print_findings(findings: Findings) -> None:
    """The three figures, the worst findings and the verdict."""
    from shoal.cli.tables import print_figures, print_table

    print_figures(findings.figures)
    worst = findings.worst(WORST)
    if worst:
        rows = [[f.status.upper(), f.check, f.finding] for f in worst]
        grave = len(findings.blocking) + len(findings.warnings)
        more = f" ({WORST} of {grave}; 'shoal check' and --json show all)" if grave > WORST else ""
        print_table(f"Findings{more}", ["", "check", "finding"], rows, left=3)
    click.echo(printable(findings.verdict))


def check_external(external: bool, report: str | None) -> None:
    """An option that nothing uses is an error."""
    from shoal.errors import UsageError

    if external and report is None:
        raise UsageError("--external is about the page of --report: give --report FILE.html, or leave it out")


def check_previous(path: str | None) -> None:
    """An error now, before any work, if an earlier release that is named is not there."""
    from shoal.errors import InputError

    if path is not None and not Path(path).is_file():
        raise InputError(f"the earlier release {path} is no file: check its path, or leave out --previous")
