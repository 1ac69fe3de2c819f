"""`shoal run`: repeat the run saved in a recipe file, bit for bit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.delivery import STOPPED, check_external, checked_facts, deliver
from shoal.cli.help import SectionedCommand
from shoal.cli.options import (
    FILE,
    external_option,
    json_option,
    print_json,
    progress_bar,
    say_when_compiling,
    threads_option,
)
from shoal.cli.protect import named_files
from shoal.errors import PromiseError, printable
from shoal.protections import declared

if TYPE_CHECKING:
    from shoal.recipe import Recipe

IDENTICAL = "The output is identical to the recipe's."
DIFFERENT = "The output differs from the one recorded in the recipe."


@click.command("run", cls=SectionedCommand)
@click.argument("recipe", type=click.Path())
@click.option(
    "-o", "--output", type=FILE, metavar="FILE", help="Write the release to FILE instead of the file in the recipe."
)
@click.option(
    "--report", type=FILE, metavar="FILE.html", help="Write an HTML report on information loss and disclosure risk."
)
@external_option
@click.option("--changed-input", is_flag=True, help="Run although the input file has changed.")
@threads_option
@json_option
def command(
    recipe: str,
    output: str | None,
    report: str | None,
    external: bool,
    changed_input: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Repeat the run saved in RECIPE. The output is identical, bit for bit.

    RECIPE is a TOML file that --save-recipe wrote, or that you wrote yourself. Each step protects the table of the
    step before it.
    """
    from shoal.job import Job
    from shoal.recipe import naming_line
    from shoal.running import load_recipe, run

    say_when_compiling()
    check_external(external, report)
    known = load_recipe(recipe)
    source = Path(recipe)
    if known.input.files:
        _run_on_folder(known, recipe, output, as_json, report, {"--external": external or None, "--threads": threads})
        return

    def place(key: str) -> AbstractContextManager[None]:
        return naming_line(None if key == "file" and output else source, ("output", key))

    job = Job(
        {"RECIPE": recipe, "the input": known.input.file},
        output or (known.output.file if known.output else None),
        known.output.saving if known.output else {},
        target_name="the output",
        reports={"--report": (report, external)},
        read=files_read(known, source.parent),
        place=place,
    )
    job.check()
    with progress_bar("running") as progress:
        release = run(recipe, changed_input=changed_input, threads=threads, progress=progress)
    facts: dict[str, Any] = dict(release.facts)
    if facts.get("stopped"):
        click.echo(STOPPED, err=True)
    try:
        release = deliver(release, job, as_json=as_json)
    except PromiseError as error:
        hint = "In a recipe, roles are set under [input]; accept_k, shuffle, keep_order and the like under [output]."
        raise PromiseError(f"{error} {hint}") from None
    if job.target is not None:
        facts |= _written(known, job.target)
    job.write_reports()
    if as_json:
        print_json({**facts, **checked_facts(release.findings, written=job.target is not None)})
        return
    if facts.get("identical") is not None:
        click.echo(IDENTICAL if facts["identical"] else DIFFERENT)
    for path in (job.target, report):
        if path is not None:
            click.echo(f"Written: {printable(str(path))}")


def _run_on_folder(
    known: Recipe, path: str, output: str | None, as_json: bool, report: str | None, unused: dict[str, Any]
) -> None:
    """Repeat the run of a recipe for a folder of files."""
    from shoal.cli.folders import default_staging, save_folder
    from shoal.errors import UsageError
    from shoal.folders.writing import check_new_folder
    from shoal.running import run_files
    from shoal.sources.files import check_place

    for option, value in unused.items():
        if value is not None:
            raise UsageError(f"The recipe is for a folder of files, which does not support {option}. Remove it.")
    named = output or (known.output.file if known.output else None)
    if named is None:
        raise UsageError("The recipe names no output folder. Add -o FOLDER.")
    target = check_new_folder(Path(named))
    staging = default_staging(target)
    saving = known.output.saving if known.output else {}
    title = declared(known.steps[0].do).title.lower()
    save_folder(
        lambda progress: run_files(path, staging=staging, progress=progress), title, target, staging, saving, None,
        report=None if report is None else check_place(report), as_json=as_json,
    )  # fmt: skip


def files_read(recipe: Recipe, folder: Path) -> dict[str, str | Path]:
    """Return the files that the roles and steps of a recipe read, by purpose: no output may overwrite them."""
    read: dict[str, Any] = {"the roles file": recipe.input.roles}
    for number, step in enumerate(recipe.steps, start=1):
        for name, path in named_files(declared(step.do), step.arguments, written=False).items():
            read[f"{name} of step {number}"] = folder / path
    return {name: path for name, path in read.items() if path is not None}


def _written(recipe: Recipe, target: str) -> dict[str, Any]:
    """Return the checksum of the output, and whether it is that of the recipe; None if they cannot be compared."""
    from shoal.sources.files import checksum, format_of

    sha256, known = checksum(target), recipe.output
    timed = format_of(Path(target)).is_dated  # SPSS, Stata and SAS files hold the time of writing
    if known is None or known.sha256 is None or timed or Path(known.file).suffixes != Path(target).suffixes:
        return {"output_sha256": sha256, "identical": None}
    return {"output_sha256": sha256, "identical": sha256 == known.sha256}
