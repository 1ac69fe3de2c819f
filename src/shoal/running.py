"""`shoal.run`: what a recipe says, done again; its steps one after the other, each on the last one's table."""

from __future__ import annotations

import functools
import inspect
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from shoal.composition import compose
from shoal.engine.progress import Progress, silent
from shoal.errors import InputError, ShoalError, ShoalWarning
from shoal.gate.row_order import new_secret
from shoal.protections.generalization.protect import apply_mapping, generalize
from shoal.protections.grouping.protect import group_attributes
from shoal.protections.microaggregation.protect import microaggregate
from shoal.protections.microaggregation.register import method as method_named
from shoal.protections.recorded import NOT_IN_STEPS
from shoal.protections.regions.by_evolution import Settings
from shoal.protections.regions.by_flow import mask_by_flow
from shoal.protections.regions.protect import FLOW_OPTIONS, MEMETIC_OPTIONS, mask_group
from shoal.recipe import Parameters, Recipe, Step, naming_line, place_in, read_recipe, versions
from shoal.release import Release
from shoal.sources.files import checksum
from shoal.sources.reading import read
from shoal.table.table import Table

FUNCTIONS: dict[str, Callable[..., Release]] = {
    "microaggregate": microaggregate,
    "group": group_attributes,
    "generalize": generalize,
    "apply": apply_mapping,
    "mask": mask_group,
}


def run(
    recipe: str | os.PathLike[str] | Recipe,
    *,
    changed_input: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Repeat the run of a recipe; the answer is the same to the bit, on any number of threads.

    recipe: its file, or the recipe of a release. changed_input: go on if the input is no longer the recipe's.
    """
    source = None if isinstance(recipe, Recipe) else Path(recipe)
    known = recipe if isinstance(recipe, Recipe) else load_recipe(recipe)
    if known.secret is None and "seed" not in known.model_fields_set:
        known = known.model_copy(update={"secret": new_secret()})  # nobody asked for a repeatable choice
    table = _input(known, changed_input, source)
    _compare_versions(known)
    releases: list[Release] = []
    for number, step in enumerate(known.steps):
        current = table if not releases else _next_table(table, releases[-1])
        try:
            releases.append(_done(step, current, known, source, threads, progress))
        except ShoalError as error:
            where = "" if source is None else f"{place_in(source, ('steps', number))}: "
            raise type(error)(f"{where}step {number + 1} ({step.do}): {error}") from None
    made = releases[0] if len(releases) == 1 else compose(table, [step.do for step in known.steps], releases)
    made = replace(
        made, recipe=known, seed=known.seed, secret=known.secret, versions=versions(), checksum=releases[0].checksum
    )
    made.verify()
    return made


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """The recipe of a file, its steps' arguments checked; an error names the line."""
    return read_recipe(path, {name: functools.partial(step_parameters, name) for name in FUNCTIONS})


def step_parameters(name: str, arguments: Mapping[str, Any]) -> Parameters:
    """What a step may be given: its function's parameters, and the options of the method that was asked for."""
    function = FUNCTIONS[name]
    signature = inspect.signature(function, eval_str=True)
    own = {p.name: p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD}
    method = arguments.get("method", own["method"].default if "method" in own else None)
    if function is microaggregate:
        chosen = method_named(str(method))
        options = inspect.signature(chosen.function, eval_str=True).parameters
        own |= {name: options[name] for name in chosen.options if name != "start"}  # a partition: no text holds it
    elif function is mask_group:
        own |= _flow_options() if method == "flow" else _memetic_options()
    return {key: parameter for key, parameter in own.items() if key not in NOT_IN_STEPS}


def _flow_options() -> dict[str, inspect.Parameter]:
    options = inspect.signature(mask_by_flow, eval_str=True).parameters
    return {name: options[name] for name in FLOW_OPTIONS}


def _memetic_options() -> dict[str, inspect.Parameter]:
    kinds = {"int": int, "float": float, "bool": bool, "float | None": float}
    types: dict[str, Any] = {f.name: kinds[str(f.type)] for f in fields(Settings)}
    return {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=types.get(name, bool))
        for name in MEMETIC_OPTIONS
    }


def _input(recipe: Recipe, changed_input: bool, source: Path | None) -> Table:
    """The table of the recipe's file, if it is still that file; an error names the line."""
    asked = recipe.input
    with naming_line(source, ("input", "file")):
        if asked.file is None:
            raise InputError(
                "the recipe names no input file: it was made for a frame in memory. Write the frame to a file and name "
                'it under [input] as file = "…", or call the function itself with the frame'
            )
    if asked.sha256 is not None and Path(asked.file).is_file() and checksum(asked.file) != asked.sha256:
        told = f"the input {asked.file} has changed since the recipe was written: its checksum is another one"
        if not changed_input:
            with naming_line(source, ("input", "sha256")):
                raise InputError(f"{told}. Bring back the file, or run on it as it is now with --changed-input")
        warnings.warn(f"{told}; the result will be another one too", ShoalWarning, stacklevel=3)
    given = asked.model_dump(exclude={"file", "sha256"}, exclude_defaults=True)
    with naming_line(source, lambda error: ("input", _named_in(str(error), given) or "file")):
        return read(asked.file, **given)


def _named_in(message: str, given: Mapping[str, Any]) -> str | None:
    """The key of the value that a message names first."""
    places = {}
    for key, value in given.items():
        values = value if isinstance(value, tuple) else () if value is None else (value,)
        found = [place for place in (message.find(repr(v)) for v in values) if place >= 0]
        if found:
            places[key] = min(found)
    return min(places, key=places.__getitem__, default=None)


def _compare_versions(recipe: Recipe) -> None:
    written = recipe.versions.get("shoal")
    here = versions()["shoal"]
    if written is not None and written != here:
        warnings.warn(
            f"the recipe was written by shoal {written}, and this is {here}: the result may be another one. "
            f"Install shoal {written} to repeat it to the bit{_since_roles(written)}",
            ShoalWarning,
            stacklevel=3,
        )


def _since_roles(written: str) -> str:
    """What a recipe from before roles and secrets must be told."""
    if not written.startswith("0.1."):
        return ""
    return (
        ". Since 0.2 a column without a role counts as known to an intruder ('shoal look FILE --save-roles roles.toml' "
        "drafts the roles), and what hides draws from a secret: run the command again to get a new recipe"
    )


def _next_table(given: Table, last: Release) -> Table:
    """The table that the last step protected, with the roles that the recipe gave its columns."""
    return Table(last.frame, given.roles.released(), last.original.source, numbering=last.original.numbering)


def _done(
    step: Step, table: Table, recipe: Recipe, source: Path | None, threads: int | None, progress: Progress
) -> Release:
    """The release of one step; the files of a taxonomy and of a mapping are relative to the recipe's folder."""
    function, given = FUNCTIONS[step.do], step.arguments
    if source is not None and "taxonomy" in given:
        given["taxonomy"] = {c: source.parent / t if isinstance(t, str) else t for c, t in given["taxonomy"].items()}
    if source is not None and isinstance(given.get("mapping"), str):
        given["mapping"] = source.parent / given["mapping"]
    if threads is not None and "threads" in inspect.signature(function).parameters:
        given["threads"] = threads
    if recipe.secret is not None and "secret" in inspect.signature(function).parameters:
        given["secret"] = recipe.secret
    return function(table, seed=recipe.seed, progress=progress, **given)
