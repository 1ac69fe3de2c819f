"""The call of a protection, which is checked and recorded in the same way for all of them.

The arguments become the recipe of the release, and the progress becomes its trace.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from shoal.engine.clock import Clock
from shoal.engine.control import control_of
from shoal.engine.trace import Trace
from shoal.errors import check_seed
from shoal.protections.protection import OF_EVERY_RUN, Protection
from shoal.recipe import Input, Recipe, Step, absolute, new_secret, plain, versions
from shoal.sources.reading import as_table
from shoal.table.table import Table

R = TypeVar("R")

# Arguments that a function need not declare: the data, and arguments that only control the run.
UNDECLARED = ("data", "secret", *OF_EVERY_RUN)


def run_recorded(protection: Protection, function: Callable[..., R], bound: inspect.BoundArguments) -> R:
    """Check the arguments, call the function, and add recipe, seed, secret, versions and trace to its release.

    Without a seed, the search uses seed 0, and choices that must not be predictable are drawn from a new secret.
    """
    arguments: dict[str, Any] = bound.arguments
    declared = {
        name: value for name, value in arguments.items() if name in protection.parameters or name not in UNDECLARED
    }
    protection.check(declared)
    steps = _recorded_values(protection, declared)
    table = arguments["data"] = as_table(arguments["data"])
    typed = arguments.get("seed")
    secret = arguments.pop("secret", None) or (new_secret() if typed is None else None)
    seed = arguments["seed"] = 0 if typed is None else check_seed(typed)
    usual_threads = protection.parameters["threads"].default if "threads" in protection.parameters else None
    control, threads, progress = (arguments.pop(name, None) for name in ("control", "threads", "progress"))
    whole = control_of(control, threads, progress, usual_threads)
    trace = Trace(whole.progress)
    if "secret" in bound.signature.parameters:
        arguments["secret"] = secret
    part = whole.part(progress=trace)
    part.notices = []  # only those of this run
    clock = Clock()
    release: Any = part.call(lambda: function(*bound.args, **bound.kwargs))
    undeclared = {type(promise).__name__ for promise in release.promises} - {p.__name__ for p in protection.promises}
    if undeclared:
        raise TypeError(f"{protection.name} does not declare {', '.join(sorted(undeclared))} in its promises")
    for text in part.notices:
        whole.notice(text)
    recorded: R = replace(
        release,
        facts={**release.facts, **{name: spent for name, spent in clock.read().items() if name not in release.facts}},
        protection=protection,
        recipe=_recipe(protection, table, steps, seed, secret),
        seed=seed,
        secret=secret,
        versions=versions(),
        checksum=None if table.source is None else table.source.sha256,
        trace=trace.points,
        notices=tuple(dict.fromkeys((*table.notices, *part.notices))),
    )
    return recorded


def _recorded_values(protection: Protection, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for the recipe; a file is replaced by its content."""
    values = {name: p.default for name, p in protection.parameters.items() if p.option.absent_in_recipe is not None}
    for name, value in arguments.items():
        option = protection.parameters[name].option
        if option.in_recipe:
            values[name] = option.recorded(value) if option.recorded is not None and value else value
    return values


def input_of(table: Table) -> Input:
    """Return the source of a table and the roles of its columns; a table that was changed has no file."""
    source, roles = table.source, table.roles
    as_read = source is not None and table.frame is source.frame
    file: dict[str, Any] = (
        {"file": str(absolute(source.path)), "sha256": source.sha256, **source.text_options}
        if source and as_read
        else {}
    )
    return Input(**file, **roles.as_dict())


def _recipe(
    protection: Protection, table: Table, steps: Mapping[str, Any], seed: int, secret: str | None
) -> Recipe | None:
    """Return the recipe of one step, without defaults; None if an argument is not a text, number or list."""
    arguments = {}
    for name, value in steps.items():
        default = protection.parameters[name].default
        is_always_written = protection.parameters[name].option.absent_in_recipe is not None
        try:
            written = None if value is None else plain(value)
        except TypeError:
            return None
        has_default = not is_always_written and default not in (None, inspect.Parameter.empty)
        if written is not None and not (has_default and written == plain(default)):
            arguments[name] = written
    step = Step(do=protection.name, **arguments)
    return Recipe(seed=int(seed), secret=secret, input=input_of(table), steps=(step,), versions=versions())
