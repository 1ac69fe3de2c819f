"""`shoal.run`: repeats a recipe, one step after the other, each on the table of the step before it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.composition import compose
from shoal.engine.control import Control, control_of
from shoal.engine.progress import Progress
from shoal.errors import InputError, ShoalError, Stopped, UsageError
from shoal.notices import notice
from shoal.protections import declared, register
from shoal.protections.protection import Protection
from shoal.recipe import Recipe, Step, naming_line, new_secret, place_in, read_recipe, type_problem, versions
from shoal.release import Release
from shoal.sources.files import checksum
from shoal.sources.reading import read
from shoal.sources.scanning import scan
from shoal.table.table import Table

if TYPE_CHECKING:
    from shoal.folders.release import FolderRelease


def run(
    recipe: str | os.PathLike[str] | Recipe,
    *,
    changed_input: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    control: Control | None = None,
) -> Release:
    """Repeat the run saved in a recipe. The result is identical bit for bit, on any number of threads.

    Args:
        recipe: The recipe file, or the recipe of a release.
        changed_input: Run although the input file has changed since the recipe was written.
        threads: The largest number of threads; all cores by default.
        progress: A function that is called with the progress.
        control: An object for threads, progress and stopping, instead of `threads` and `progress`.

    Returns:
        The release of the last step, with the guarantees of all steps.

    Raises:
        InputError: The recipe or its input cannot be read, or the input has changed.
        UsageError: A step has an invalid argument; the message names the line.
        PromiseError: A guarantee does not hold.
    """
    source = None if isinstance(recipe, Recipe) else Path(recipe)
    known = _with_absent(recipe if isinstance(recipe, Recipe) else load_recipe(recipe))
    if known.secret is None and not known.has_seed:
        known = replace(known, secret=new_secret())  # the recipe has no seed: the run need not repeat
    if known.input.files:
        raise UsageError(
            "The recipe is for a folder of files. Run it with shoal.run_files, or with 'shoal run' on the command line."
        )
    table = _input(known, changed_input, source)
    control = control_of(control, threads, progress)
    _compare_versions(known)
    releases: list[Release] = []
    for number, step in enumerate(known.steps):
        current = table if not releases else _next_table(table, releases[-1])
        try:
            releases.append(_done(step, current, known, source, control))
        except Stopped:
            raise
        except ShoalError as error:
            where = "" if source is None else f"{place_in(source, ('steps', number))}: "
            raise type(error)(f"{where}step {number + 1} ({step.do}): {error}") from None
        if releases[-1].guarantees.bounds and len(known.steps) > 1:
            raise UsageError(
                f"Step {number + 1} ({step.do}) replaces columns by pairs of bounds, so it cannot be combined with "
                'other steps. Use style = "text", or run it alone.'
            )
    made = releases[0] if len(releases) == 1 else compose(table, [step.do for step in known.steps], releases)
    made = replace(
        made, recipe=known, seed=known.seed, secret=known.secret, versions=versions(), checksum=releases[0].checksum
    )
    made = replace(made, notices=tuple(dict.fromkeys(text for release in releases for text in release.notices)))
    made.verify()
    return made


def run_files(
    recipe: str | os.PathLike[str] | Recipe,
    *,
    on: str = "processes",
    workers: int | None = None,
    staging: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FolderRelease:
    """Repeat the run of a recipe for a folder of files; see `shoal.scan` for the other arguments.

    Raises:
        InputError: The recipe or its files cannot be read, or a file has changed.
    """
    source = None if isinstance(recipe, Recipe) else Path(recipe)
    known = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    if len(known.steps) != 1:
        raise UsageError(f"A folder of files takes one step, but the recipe has {len(known.steps)}. Run them in turn.")
    settings = known.input
    if not settings.files or len(settings.files) != len(settings.checksums):
        raise InputError("The recipe does not name files and a checksum for each. Add both under [input].")
    [step] = known.steps
    protection = declared(step.do)
    arguments = step.arguments if source is None else located(protection, step.arguments, source.parent)
    with naming_line(source, ("input", "files")):
        files = scan(settings.files, on=on, workers=workers, staging=staging, **settings.stated("files", "checksums"))
        checked = replace(files, checksums=settings.checksums)
        release: FolderRelease = protection.function(checked, seed=known.seed, progress=progress, **arguments)
    return replace(release, recipe=replace(release.recipe, secret=known.secret), secret=known.secret)


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Read a recipe file and check the arguments of its steps; an error names the line."""
    return read_recipe(path, {name: functools.partial(step_problems, p) for name, p in register().items()})


def step_problems(protection: Protection, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the problems with the arguments of a step, each with the argument's name in the recipe."""
    typed = dict(zip(protection.current_names(arguments), arguments, strict=True))
    fitting = {}
    for name, value in protection.current_names(arguments).items():
        parameter = protection.parameters.get(name)
        if parameter is not None and not (parameter.option.in_recipe and parameter.option.on_command_line):
            where = f"on the command line ({parameter.flag})"
            if name == "seed":
                where = "in the top of the recipe, above all tables"
            elif not parameter.option.on_command_line:
                where = "in a call from Python, because no text holds its value"
            yield typed[name], f"A step has no argument {name!r}: it belongs {where}."
            continue
        is_name = parameter is not None and parameter.choices and isinstance(value, str)
        problem = None if parameter is None or is_name else type_problem(typed[name], parameter.type, value)
        if problem is not None:
            yield typed[name], problem
        fitting[name] = None if problem else value
    wrong = [name for name, value in fitting.items() if value is None]
    for name, message in protection.problems(fitting):
        if name not in wrong:
            yield typed.get(name, name), message


def _with_absent(recipe: Recipe) -> Recipe:
    """Return the recipe with the arguments that a recipe of an earlier version does not have."""
    steps = []
    for step in recipe.steps:
        recorded = declared(step.do).always_recorded(step.arguments, on_files=bool(recipe.input.files))
        absent = {name: parameter.option.absent_in_recipe for name, parameter in recorded.items()}
        steps.append(Step(do=step.do, **{**absent, **step.arguments}))
    return replace(recipe, steps=tuple(steps))


def _input(recipe: Recipe, changed_input: bool, source: Path | None) -> Table:
    """Read the recipe's input file if its checksum is right; an error names the line."""
    settings = recipe.input
    with naming_line(source, ("input", "file")):
        if settings.file is None:
            raise InputError(
                "The recipe does not name an input file, because it was made for a data frame in memory. Write it "
                'to a file and add file = "FILE" under [input], or call the Python function with the data frame.'
            )
    if settings.sha256 is not None and Path(settings.file).is_file() and checksum(settings.file) != settings.sha256:
        problem = f"The input {settings.file} has changed since the recipe was written: its checksum differs."
        if not changed_input:
            with naming_line(source, ("input", "sha256")):
                raise InputError(f"{problem} Restore the file, or add --changed-input to run on the changed file.")
        notice(f"{problem} The result will differ too.")
    arguments = settings.stated("file", "sha256")
    with naming_line(source, lambda error: ("input", _named_in(str(error), arguments) or "file")):
        return read(settings.file, **arguments)


def _named_in(message: str, arguments: Mapping[str, Any]) -> str | None:
    """Return the key of the value that a message names first."""
    first = {}
    for key, value in arguments.items():
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        positions = [position for position in (message.find(repr(v)) for v in values) if position >= 0]
        if positions:
            first[key] = min(positions)
    return min(first, key=first.__getitem__, default=None)


def _compare_versions(recipe: Recipe) -> None:
    written = recipe.versions.get("shoal")
    here = versions()["shoal"]
    if written is not None and written != here:
        notice(
            f"The recipe was written by shoal {written}, and this is shoal {here}: the result may differ. "
            f"Install shoal {written} to repeat it bit for bit.{_since_roles(written)}"
        )


def _since_roles(written: str) -> str:
    """Return what the user of a recipe from before roles and secrets must know."""
    if not written.startswith("0.1."):
        return ""
    return (
        " Since 0.2, a column without a role counts as known to an intruder, and random choices depend on a secret. "
        "Draft the roles with 'shoal look FILE --save-roles roles.toml', then run the command again to get a new "
        "recipe."
    )


def _next_table(first: Table, last: Release) -> Table:
    """Return the table of the last step, with the roles of the recipe's input."""
    return Table(last.frame, first.roles.released(), last.original.source, numbering=last.original.numbering)


def _done(step: Step, table: Table, recipe: Recipe, source: Path | None, control: Control) -> Release:
    """Run one step; the paths of taxonomies and mappings are relative to the recipe's folder."""
    protection = declared(step.do)
    arguments = step.arguments if source is None else located(protection, step.arguments, source.parent)
    if recipe.secret is not None and protection.draws_from_secret:
        arguments["secret"] = recipe.secret
    release: Release = protection.function(table, seed=recipe.seed, control=control, **arguments)
    return release


def located(protection: Protection, arguments: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the arguments, with the files that they name relative to this folder."""
    spellings = {name: protection.parameters[name].spelling for name in arguments if name in protection.parameters}
    return {
        name: value if spelling is None else spelling.located(value, folder)
        for name, value in arguments.items()
        for spelling in [spellings.get(name)]
    }
