"""What a command writes: all places and options are checked before any work, the files are written after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import print_json

if TYPE_CHECKING:
    from shoal.release import Release


class Delivery:
    """The output options of one command (`output_options`), taken out of its arguments."""

    def __init__(self, given: dict[str, Any], *others: str | None) -> None:
        """`others`: further files that the command is to write. What cannot be done is an error now."""
        from shoal.data.files import check_place, check_target

        self.output: str | None = given.pop("output")
        self.report: str | None = given.pop("report")
        self.external: bool = given.pop("external")
        self.as_json: bool = given.pop("as_json")
        self._recipe: str | None = given.pop("save_recipe")
        self._saving = {name: given.pop(name) for name in ("shuffle", "policy", "previous")}
        self._check_options()
        if self.output is not None:
            check_target(self.output, given["file"])
        for path in (self.report, *others):
            if path is not None:
                check_place(path, given["file"])

    def write(
        self, release: Release, show: Callable[[Any], None], also: Mapping[str, Callable[[str], Any]] | None = None
    ) -> None:
        """Write what was asked for and print the figures; `also`: other files to write, by their paths."""
        stopped = release.facts.get("stopped")
        if stopped:
            click.echo("Stopped before its end; this is the best so far.", err=True)
        if self.output is not None:
            release.save(self.output, **self._saving)
        if self._recipe is not None and release.recipe is not None:
            if stopped:
                click.echo("Warning: the recipe repeats the stopped run to its end.", err=True)
            release.recipe.save(self._recipe)
            click.echo(f"Written: {self._recipe}", err=True)
        for path, write in (also or {}).items():
            write(path)
        if self.report is not None:
            release.report(self.report, self.external)
        if self.as_json:
            print_json(release.facts)
            return
        show(release)
        for target in (self.output, *(also or ()), self.report):
            if target is not None:
                click.echo(f"Written: {target}")

    def _check_options(self) -> None:
        """An option that nothing uses is an error, and so is a policy or an earlier release that cannot be read."""
        from shoal.errors import UsageError
        from shoal.gate.policy import check_policy
        from shoal.recipe import check_recipe_place

        if self._recipe is not None:
            check_recipe_place(self._recipe)
        for name, value in self._saving.items():
            if value and self.output is None:
                raise UsageError(f"--{name} is about the file that is written: name one with -o, or leave it out")
        check_policy(self._saving["policy"])
        check_previous(self._saving["previous"])
        check_external(self.external, self.report)


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
