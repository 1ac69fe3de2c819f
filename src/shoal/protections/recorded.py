"""The call of a protection, which is checked and recorded in the same way for all of them.

The arguments become the recipe of the release, and the progress becomes its trace.
"""

from __future__ import annotations

import importlib
import inspect
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from shoal.engine.clock import Clock
from shoal.engine.control import control_of
from shoal.engine.trace import Trace
from shoal.errors import ArgumentError, UsageError, check_seed
from shoal.protections.protection import OF_EVERY_RUN, Protection
from shoal.recipe import Input, Recipe, Step, absolute, new_secret, plain, versions
from shoal.sources.lazy import lazy_library
from shoal.sources.reading import as_table
from shoal.sources.scanning import Files, scan
from shoal.table.table import Table

R = TypeVar("R")

# Arguments that a function need not declare: the data, and arguments that only control the run.
UNDECLARED = ("data", "secret", *OF_EVERY_RUN)


def run_recorded(protection: Protection, function: Callable[..., R], bound: inspect.BoundArguments) -> R:
    """Check the arguments, call the function, and add recipe, seed, secret, versions and trace to its release.

    Without a seed, the search uses seed 0, and choices that must not be predictable are drawn from a new secret.
    """
    arguments: dict[str, Any] = bound.arguments
    data = lazy_as_files(protection, arguments["data"])
    if isinstance(data, Files):
        on_files: Any = run_on_files(protection, data, arguments)
        return on_files
    declared = {
        name: value for name, value in arguments.items() if name in protection.parameters or name not in UNDECLARED
    }
    protection.check(declared)
    for name in declared:
        if protection.parameters[name].option.on_files:
            raise ArgumentError(f"{name} applies to a folder of files. Remove it, or use shoal.scan.", name)
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


def lazy_as_files(protection: Protection, data: Any) -> Any:
    """Return a frame of Spark, Dask or polars that is not in memory as files; anything else as it is."""
    library = lazy_library(data)
    if library is None:
        return data
    if not protection.on_files:
        raise UsageError(
            f"shoal {protection.name} needs its data in memory. Pass {library.IN_MEMORY} instead of the frame."
        )
    return scan(data)


def run_on_files(protection: Protection, files: Files, arguments: dict[str, Any]) -> Any:
    """Check the arguments, protect many files together, and return their release with its recipe."""
    from shoal.folders.lazy_release import LazyRelease
    from shoal.folders.release import FolderRelease, input_of_files, refuse_on_files
    from shoal.folders.staging import Staging, plan_of_files
    from shoal.places import place_named

    if not protection.on_files:
        raise refuse_on_files(protection)
    declared = {
        name: value for name, value in arguments.items() if name in protection.parameters or name not in UNDECLARED
    }
    protection.check(declared)
    for name, value in declared.items():
        parameter = protection.parameters[name]
        is_usual = isinstance(value, int | float | str) and value == parameter.default
        if not (name in protection.on_files_options or name == "threads" or is_usual) and parameter.is_set(value):
            raise ArgumentError(
                f"{protection.name} does not support {name} in a folder of files. Remove {parameter.flag}, or protect "
                "one file.",
                name,
            )
    typed = arguments.get("seed")
    secret = arguments.get("secret") or (new_secret() if typed is None else None)
    seed = 0 if typed is None else check_seed(typed)
    if arguments.get("threads") is not None:
        raise UsageError("In a folder of files, workers stands for threads: each worker uses one core.")
    whole = control_of(arguments.get("control"), None, arguments.get("progress"))
    trace = Trace(whole.progress)
    part = whole.part(progress=trace)
    part.notices = []
    values = {p.name: p.default for p in protection.parameters.values() if p.name in protection.on_files_options}
    values |= {name: value for name, value in declared.items() if name in protection.on_files_options}
    steps = _recorded_values(protection, declared, on_files=True)
    steps |= {name: values[name] for name in protection.on_files_options if protection.parameters[name].option.on_files}
    plan = {
        "the files": plan_of_files(files.paths),
        "the arguments": plain({n: v for n, v in {**values, **steps}.items() if v is not None}),
        "the roles": [repr(files.roles), repr(files.stated)],
        "how text is read": dict(files.text_options),
        "the seed": seed,
        "the versions": versions(),
    }
    folder = files.staging or Path(tempfile.mkdtemp(prefix="shoal-"))
    place = place_named(files.on, files.workers) if isinstance(files.on, str) else files.on
    staging: Staging | None = None
    try:
        staging = Staging(folder, plan, place)
        module = importlib.import_module(f"{protection.function.__module__}.{protection.on_files}")
        staged = staging
        result = part.call(lambda: module.protect_files(files, staged, values, seed))
    except BaseException:
        if isinstance(files.on, str):
            place.close()
        if staging is not None:
            staging.close()
        if files.staging is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    for text in part.notices:
        whole.notice(text)
    step = _step(protection, steps)
    recipe = Recipe(
        seed=seed, secret=secret, input=input_of_files(files, result.rows, result.roles), steps=(step,),
        versions=versions(),
    )  # fmt: skip
    if files.staging is None:
        weakref.finalize(staging, shutil.rmtree, folder, ignore_errors=True)  # it holds original values
    kind = FolderRelease if files.lazy is None else LazyRelease
    return kind(
        files, result, staging, place, protection, recipe, typed, secret, versions(), trace.points,
        tuple(part.notices), whole,
    )  # fmt: skip


def _recorded_values(protection: Protection, arguments: Mapping[str, Any], *, on_files: bool = False) -> dict[str, Any]:
    """Return the arguments for the recipe; a file is replaced by its content."""
    values = {name: p.default for name, p in protection.always_recorded(arguments, on_files=on_files).items()}
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
    try:
        step = _step(protection, steps)
    except TypeError:
        return None
    return Recipe(seed=int(seed), secret=secret, input=input_of(table), steps=(step,), versions=versions())


def _step(protection: Protection, steps: Mapping[str, Any]) -> Step:
    """Return the step of a recipe without defaults; raise a TypeError if an argument is not a text, number or list."""
    arguments = {}
    for name, value in steps.items():
        default, option = protection.parameters[name].default, protection.parameters[name].option
        is_always_written = option.absent_in_recipe is not None or option.on_files
        written = None if value is None else plain(value)
        has_default = not is_always_written and default not in (None, inspect.Parameter.empty)
        if written is not None and not (has_default and written == plain(default)):
            arguments[name] = written
    return Step(do=protection.name, **arguments)
