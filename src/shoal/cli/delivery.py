"""The outputs of a command: Shoal checks all paths and options before the work, and writes the files after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import print_json
from shoal.errors import printable

if TYPE_CHECKING:
    from shoal.gate.findings import Findings
    from shoal.job import Job
    from shoal.release import Release


SAVING = ("shuffle", "keep_order", "policy", "previous", "first_release", "accept_k", "round_weight")
WORST = 5  # number of findings on the screen; JSON has all


STOPPED = "Stopped before the search had finished; this is the best result so far."


class Delivery:
    """The output options of one command (`output_list`), taken out of its arguments."""

    def __init__(
        self, arguments: dict[str, Any], written: Mapping[str, Any] | None = None, read: Mapping[str, Any] | None = None
    ) -> None:
        """Check all outputs. `written` and `read` are further files of the command, by option."""
        from shoal.job import Job

        self.output: str | None = arguments.pop("output")
        self.report: str | None = arguments.pop("report")
        self.external: bool = arguments.pop("external")
        self.external_report: str | None = arguments.pop("external_report")
        self.as_json: bool = arguments.pop("as_json")
        self._recipe: str | None = arguments.pop("save_recipe")
        self._saving = {name: arguments.pop(name) for name in SAVING}
        if arguments.get("seed") is None:
            arguments.pop("seed", None)
        self._check_options()
        self._job = Job(
            {"FILE": arguments["file"]},
            self.output,
            self._saving,
            reports={"--report": (self.report, self.external), "--external-report": (self.external_report, True)},
            written={"--save-recipe": self._recipe, **(written or {})},
            read={"--roles": arguments.get("roles"), **(read or {})},
        )
        self._job.check()

    def write(self, release: Release, also: Mapping[str, Callable[[str], Any]] | None = None) -> None:
        """Write the outputs and print the measures; `also` writes further files, by path."""
        stopped = release.facts.get("stopped")
        if stopped:
            click.echo(STOPPED, err=True)
        release = deliver(release, self._job, as_json=self.as_json)
        if self._recipe is not None and release.recipe is not None:
            if stopped:
                click.echo("Warning: The recipe repeats the run without stopping it, so its result differs.", err=True)
            release.recipe.save(self._recipe)
            click.echo(f"Written: {printable(self._recipe)}", err=True)
        for path, write in (also or {}).items():
            write(path)
        self._job.write_reports()
        if self.as_json:
            print_json({**release.facts, **checked_facts(release.findings, written=self.output is not None)})
            return
        for target in (self.output, *(also or ()), self.report, self.external_report):
            if target is not None:
                click.echo(f"Written: {printable(target)}")

    def _check_options(self) -> None:
        """Raise an error for an option without effect."""
        from shoal.errors import UsageError
        from shoal.recipe import check_recipe_place

        if self._recipe is not None:
            check_recipe_place(self._recipe)
        for name, value in self._saving.items():
            if value and self.output is None:
                option = name.replace("_", "-")
                raise UsageError(f"--{option} needs an output file. Add -o FILE or remove --{option}.")
        for first, second in (("shuffle", "keep_order"), ("previous", "first_release")):
            if self._saving[first] and self._saving[second]:
                flags = f"--{first} and --{second.replace('_', '-')}"
                raise UsageError(f"{flags} cannot be combined. Remove one of them.")
        check_external(self.external, self.report)


def deliver(release: Release, job: Job, *, as_json: bool) -> Release:
    """Save the release if the job has a target, and print its measures; they are printed for a refused release, too.

    Returns:
        The release as it was saved, with the findings on the file.
    """
    from shoal.cli.tables import print_release
    from shoal.errors import PromiseError

    error: PromiseError | None = None
    losses = [] if as_json else loss_warnings(release)
    try:
        release = job.save(release)
    except PromiseError as refused:
        if refused.findings is None:
            raise
        error = refused
    findings = release.findings if error is None else error.findings
    if as_json and error is not None:
        print_json({**release.facts, **checked_facts(findings, written=False)})
    elif not as_json:
        print_release(release)
        print_findings(findings)
        for text in losses:
            click.echo(f"Warning: {printable(text)}", err=True)
    if error is not None:
        raise error
    broken = [finding for finding in findings.blocking if job.target is None]
    if broken:
        from shoal.gate.saving import sentences

        problem = " ".join(sentences(broken))
        click.echo(f"Warning: The release check would block this table. {printable(problem)}", err=True)
    return release


def loss_warnings(release: Release) -> list[str]:
    """Return warnings for the analyst: a large information loss, or values and totals that are far off."""
    from shoal.losses import large_losses

    release.column_changes()
    loss = release.facts.get("information_loss")
    return list(large_losses(release.before, release.protected, release.changed, loss))


def checked_facts(findings: Findings, *, written: bool) -> dict[str, Any]:
    """Return what the release check adds to a command's JSON."""
    facts = findings.facts()
    kept: dict[str, Any] = {name: facts[name] for name in ("figures", "findings", "check_cpu_seconds") if name in facts}
    return {**kept, "written": written}


def print_findings(findings: Findings) -> None:
    """Print the known-column figures, the worst findings and the verdict."""
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
    """Raise an error for --external without --report."""
    from shoal.errors import UsageError

    if external and report is None:
        raise UsageError("--external needs a report. Add --report FILE.html or remove --external.")
