"""`shoal run`: repeat the run of a recipe, to the bit."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.delivery import Pages, check_external, check_previous, checked_facts, deliver
from shoal.cli.options import (
    external_option,
    print_json,
    progress_bar,
    say_when_compiling,
)
from shoal.errors import PromiseError, printable

if TYPE_CHECKING:
    from shoal.recipe import Recipe
    from shoal.release import Release

IDENTICAL = "The output is identical to the recipe's."
DIFFERENT = "The output differs from the one recorded in the recipe."
# What prints a step's release: the module and its function.
SHOWN_BY = {
    "microaggregate": ("tables", "print_release"),
    "group": ("group", "show"),
    "generalize": ("generalize", "show"),
    "apply": ("generalize", "show"),
    "mask": ("mask", "show"),
}


@click.command("run")
@click.argument("recipe", type=click.Path())
@click.option("-o", "--output", type=click.Path(), default=None, help="Write the table here, not where RECIPE says.")
@click.option("--report", type=click.Path(), default=None, help="Write an HTML page on loss and risk here.")
@external_option
@click.option("--changed-input", is_flag=True, help="Go on if the input is no longer the file of the recipe.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="At most this many; the answer is the same.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def command(
    recipe: str,
    output: str | None,
    report: str | None,
    external: bool,
    changed_input: bool,
    threads: int | None,
    as_json: bool,
) -> None:
    """Do again what RECIPE says: same input, same steps, same seed, hence the same output to the bit.

    RECIPE is a TOML file that --save-recipe wrote, or one of your own; its steps are done one after the other.
    """
    from shoal.gate.policy import check_policy
    from shoal.recipe import naming_line
    from shoal.running import load_recipe, run
    from shoal.sources.files import check_distinct, check_place, check_target

    say_when_compiling()
    check_external(external, report)
    asked = load_recipe(recipe)
    source = Path(recipe)
    target = output or (asked.output.file if asked.output else None)
    inputs = [asked.input.file] if asked.input.file else []
    if asked.output is not None:
        with naming_line(source, ("output", "policy")):
            check_policy(asked.output.policy)
        with naming_line(source, ("output", "previous")):
            check_previous(asked.output.previous)
    if target is not None:
        with naming_line(None if output else source, ("output", "file")):
            check_target(target, recipe, *inputs)
    if report is not None:
        check_place(report, recipe, *inputs)
    check_distinct({"the output": target, "--report": report}, {"RECIPE": recipe, **files_read(asked, source.parent)})
    with progress_bar("running") as progress:
        release = run(recipe, changed_input=changed_input, threads=threads, progress=progress)
    facts: dict[str, Any] = dict(release.facts)
    if facts.get("stopped"):
        click.echo("Stopped before its end; this is the best so far.", err=True)
    saving = asked.output.saving if asked.output else {}
    pages = Pages(release, {report: external})
    try:
        deliver(release, target, saving, lambda made: show(made, [s.do for s in asked.steps]), pages, as_json=as_json)
    except PromiseError as error:
        hint = "In a recipe, roles stand under [input], and accept_k, shuffle, keep_order and the like under [output]."
        raise PromiseError(f"{error} {hint}") from None
    if target is not None:
        facts |= _written(asked, target)
    pages.write()
    if as_json:
        print_json({**facts, **checked_facts(release.findings, written=target is not None)})
        return
    if facts.get("identical") is not None:
        click.echo(IDENTICAL if facts["identical"] else DIFFERENT)
    for path in (target, report):
        if path is not None:
            click.echo(f"Written: {printable(str(path))}")


def files_read(recipe: Recipe, folder: Path) -> dict[str, str | Path]:
    """Every file that a recipe reads, by what it is for: none of them may be written over."""
    read: dict[str, Any] = {"the input": recipe.input.file, "the roles file": recipe.input.roles}
    if recipe.output is not None:
        policy = recipe.output.policy
        read["the earlier release"] = recipe.output.previous
        read["the policy"] = policy if policy is not None and policy.endswith(".toml") else None
    for number, step in enumerate(recipe.steps, start=1):
        mapping, taxonomies = step.arguments.get("mapping"), step.arguments.get("taxonomy")
        read[f"the mapping of step {number}"] = folder / mapping if isinstance(mapping, str) else None
        for column, taxonomy in taxonomies.items() if isinstance(taxonomies, dict) else ():
            named = f"the taxonomy of {column} in step {number}"
            read[named] = folder / taxonomy if isinstance(taxonomy, str) else None
    return {name: path for name, path in read.items() if path is not None}


def _written(recipe: Recipe, target: str) -> dict[str, Any]:
    """The checksum of what was written, and whether it is that of the recipe, if this can be said."""
    from shoal.sources.files import checksum, format_of

    found, known = checksum(target), recipe.output
    timed = format_of(Path(target)).family == "labelled"  # SPSS, Stata and SAS files hold the time of writing
    if known is None or known.sha256 is None or timed or Path(known.file).suffixes != Path(target).suffixes:
        return {"output_sha256": found, "identical": None}
    return {"output_sha256": found, "identical": found == known.sha256}


def show(release: Release, names: list[str]) -> None:
    """Each step as its own command prints it; of several, what holds for all of them."""
    from shoal.cli.tables import print_assessment

    steps = getattr(release, "steps", (release,))
    for name, step in zip(names, steps, strict=True):
        module, function = SHOWN_BY[name]
        getattr(importlib.import_module(f"shoal.cli.{module}"), function)(step)
    if len(steps) > 1:
        print_assessment(release.assessment)
        alike = release.facts["joint_k"]
        click.echo(
            f"Over all protected columns together, the smallest class of records that look alike has {alike} "
            f"record{'s'[: alike > 1]}: measured, not promised."
        )
